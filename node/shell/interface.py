"""The interface of a node's radio: which one it is, its current state, and a bell that rings when that changes.

The kernel reports over rtnetlink that links or addresses changed. Their new state is looked up by name, because
a device that vanished and returned is another one with the old name.
"""
from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import socket
import struct
from pathlib import Path
from typing import NamedTuple

import trio

from node.shell import DaemonError

SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFBRDADDR = 0x8913, 0x8915, 0x8919  # netdevice(7)
SIOCGIWMODE = 0x8B07  # wireless.h
IFF_UP, IFF_RUNNING = 0x1, 0x40
LINKS, IPV4, IPV6 = 0x1, 0x10, 0x100  # multicast groups, rtnetlink(7)
LINK_SCOPE, TENTATIVE = 0x20, 0x40  # of an address in if_inet6
MANAGED = 2
ALL_NODES = "ff02::1"  # on the link: RFC 4291, section 2.7.1
POLL = 5.0  # s after which one looks without a bell
SETTLE = 0.05  # s in which several bells are one


class Look(NamedTuple):
    """The state of an interface: its number in the kernel, whether it can carry frames, its address and broadcast address."""

    number: int
    up: bool
    address: str | None
    broadcast: str | None


def look(name: str, family: str) -> Look | None:
    """The current state of an interface, or None if it does not exist. `family`: ipv4 or ipv6."""
    try:
        index = socket.if_nametoindex(name)
        flags = struct.unpack_from("H", _asked(name, SIOCGIFFLAGS), 16)[0]
    except OSError:
        return None
    up: bool = flags & (IFF_UP | IFF_RUNNING) == IFF_UP | IFF_RUNNING
    if family == "ipv6":
        return Look(index, up, _link_local(name), ALL_NODES)
    return Look(index, up, _ipv4(name, SIOCGIFADDR), _ipv4(name, SIOCGIFBRDADDR))


def named(interface: str | None, address: str | None) -> str:
    """The name of an interface that is given by its name or by its IPv4 address. Raises DaemonError."""
    names = [name for _, name in socket.if_nameindex()]
    if interface is not None:
        if interface in names:
            return interface
        raise DaemonError(f"there is no interface {interface}; there are {', '.join(names)}")
    for name in names:
        if _ipv4(name, SIOCGIFADDR) == address:
            return name
    raise DaemonError(f"found no interface with the address {address}; `ip address` lists all addresses")


def managed(name: str) -> bool:
    """Whether the interface is a radio that talks only to an access point."""
    try:
        return bool(struct.unpack_from("I", _asked(name, SIOCGIWMODE), 16)[0] == MANAGED)
    except OSError:
        return False  # no radio, or a kernel without this question


def _asked(name: str, request: int) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return fcntl.ioctl(probe, request, struct.pack("256s", name.encode()[:15]))


def _ipv4(name: str, request: int) -> str | None:
    try:
        found = socket.inet_ntoa(_asked(name, request)[20:24])
    except OSError:
        return None
    return None if found == "0.0.0.0" else found


def _link_local(name: str) -> str | None:
    try:
        lines = Path("/proc/net/if_inet6").read_text().splitlines()
    except OSError:
        return None  # a kernel without IPv6
    for line in lines:
        address, _, _, scope, flags, device = line.split()
        if device == name and int(scope, 16) == LINK_SCOPE and not int(flags, 16) & TENTATIVE:
            return str(ipaddress.IPv6Address(int(address, 16)))
    return None


class Bell:
    """Rings when the kernel reports changed links or addresses, and otherwise from time to time."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        with contextlib.suppress(OSError):  # without it one looks now and then
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK,
                                         socket.NETLINK_ROUTE)
            self._socket.bind((0, LINKS | IPV4 | IPV6))

    async def rings(self) -> None:
        """Wait until the bell rings."""
        if self._socket is None:
            await trio.sleep(POLL / 5)
            return
        with trio.move_on_after(POLL):
            await trio.lowlevel.wait_readable(self._socket)
            await trio.sleep(SETTLE)
        try:
            while self._socket.recv(65536):
                pass
        except OSError:  # all read, or more than the kernel would keep: one looks anyway
            pass

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
