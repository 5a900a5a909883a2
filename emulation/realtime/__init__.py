"""What all worlds in real time share: the processes of a run, how they keep to time, and how that is judged.

    caller.py       the caller's process: progress, Ctrl-C, the end
    supervisor.py   the warm process, init of a pid namespace: forks all others, strikes faults
    medium.py       the medium's process, between all hosts
    host.py         one process a host: makes the namespace, answers probes, becomes the node (node.py)

What differs from world to world is its fabric (plan.py): how a host gets its namespace and its wlan0, and the carrier that
stands between all hosts. Where the simulator's radio model carries the frames (carrier.py) a world says only how a frame
is read from a device and written to one.

Everything depends on the supervisor: when it dies, of whatever, the kernel kills all of its pid
namespace, the last descriptor of every network namespace closes, and with it goes every interface.
"""
