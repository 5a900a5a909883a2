"""A real device in a station's place: an interface of this machine moves into the station's namespace.

The kernel moves wired interfaces by rtnetlink and radios, with all of their interfaces, by nl80211. A radio leaves its network
when it moves. When the namespace ends the kernel gives back what is hardware; a virtual interface would end with it.
"""
from __future__ import annotations

import socket
import struct
from pathlib import Path

from emulation.linux import genetlink, netlink
from emulation.linux.netlink import attribute
from emulation.realtime.processes import Failed

IFLA_NET_NS_FD = 28
NL80211, SET_WIPHY_NETNS, WIPHY, NETNS_FD = "nl80211", 49, 1, 219


def move(host: int, interface: str, space: int) -> None:
    """Into the namespace behind a descriptor. Raises Failed."""
    target = struct.pack("=I", space)
    try:
        if (phy := Path("/sys/class/net", interface, "phy80211", "index")).exists():
            with genetlink.open_socket() as control:
                genetlink.ask(control, genetlink.family(control, NL80211), SET_WIPHY_NETNS,
                              attribute(WIPHY, struct.pack("=I", int(phy.read_text()))) + attribute(NETNS_FD, target))
        else:
            netlink.change(socket.if_nametoindex(interface), attribute(IFLA_NET_NS_FD, target))
    except OSError as error:
        raise Failed(f"host {host}: {interface} cannot be moved into its station ({error.strerror}); give an interface of "
                     "a device of its own (ip link); a bridge or a part of one cannot be moved") from None


def back(interface: str, home: int) -> None:
    """From this namespace into the one behind a descriptor, if it is there and no radio, which comes back by itself."""
    try:
        netlink.change(socket.if_nametoindex(interface), attribute(IFLA_NET_NS_FD, struct.pack("=I", home)))
    except OSError:
        pass


def switch_on(interface: str) -> None:
    """The interface in this namespace. Raises OSError."""
    netlink.change(socket.if_nametoindex(interface), up=True)
