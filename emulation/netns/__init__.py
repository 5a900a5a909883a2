"""The world `netns`: every host a Linux network namespace with real sockets, in real time.

The processes of a run, and what each is for:

    world.py        the caller's process: run directory, progress, Ctrl-C, the manifest's last word
    supervisor.py   the warm process, init of a pid namespace: forks all others, strikes faults
    medium.py       reads and writes the other ends of all TAP devices; the radio model in real time
    host.py         one process a host: makes the namespace, answers probes, becomes the node (node.py)

Everything hangs on the supervisor: when it dies, of whatever, the kernel kills all of its pid
namespace, the last descriptor of every network namespace closes, and with it goes every TAP.
"""
