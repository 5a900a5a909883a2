"""What the emulation asks of the Linux kernel: namespaces, netlink, packet sockets. Knows addresses, and no world.

    kernel.py     namespaces, TAP devices, priorities
    netlink.py    interfaces and their addresses (rtnetlink)
    genetlink.py  generic netlink, for radios
    watch.py      what becomes of a namespace's interfaces
    port.py       frames of an interface of this machine
    sniffer.py    what an interface sees, in a ring and in a pcap file
"""
