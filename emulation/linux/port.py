"""Radios in the loop: an interface of this machine is the radio of one host, and a real device behind it is the host.

What the device sends arrives here and goes on the emulated air as that host's; what the host would receive is sent out
to the device. packet(7).
"""
from __future__ import annotations

import socket
import struct

from emulation.linux.kernel import Unsupported

SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_IGNORE_OUTGOING, PROMISCUOUS = 263, 1, 23, 1
ALL_PROTOCOLS = 0x0003
LONGEST = 1518  # bytes: what a host with 1500 takes; longer ones were merged by this machine's card (GRO)


def check(interface: str) -> None:
    """Whether an interface can be a port. Raises Unsupported."""
    with socket.socket(fileno=open_port(interface)):
        pass


def open_port(interface: str) -> int:
    """The descriptor at which frames of the device come and go. Raises Unsupported."""
    names = [name for _, name in socket.if_nameindex()]
    if interface not in names:
        raise Unsupported(f"there is no interface {interface} for a host's radio; there are {', '.join(names)}")
    try:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise Unsupported(f"{interface} as a host's radio needs root, or the capability CAP_NET_RAW") from None
    try:
        index = socket.if_nametoindex(interface)
        opened.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        opened.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("=iHH8x", index, PROMISCUOUS, 0))
        opened.bind((interface, ALL_PROTOCOLS))
    except OSError as error:
        opened.close()
        raise Unsupported(f"{interface} cannot be a host's radio ({error.strerror}); is it up? "
                          f"(ip link set {interface} up)") from None
    opened.setblocking(False)
    return opened.detach()
