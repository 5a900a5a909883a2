"""What all worlds in real time share: the processes of a run, how they keep to time, and how that is judged.

    caller.py       the caller's process: progress, Ctrl-C, the end
    supervisor.py   the warm process, init of a pid namespace: forks all others, strikes faults
    medium.py       the medium's process, between all hosts
    host.py         one process a host: makes the namespace, answers probes, becomes the node (node.py)

Everything depends on the supervisor: when it dies, of whatever, the kernel kills all of its pid
namespace, the last descriptor of every network namespace closes, and with it goes every interface.
"""
