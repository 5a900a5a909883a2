"""Interfaces set up over a routing socket, without a program in between: rtnetlink(7).

IPv6 addresses are set without duplicate address detection, which would keep them unusable for a
second, and the kernel is told to make none of its own.
"""
from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable, Iterator

from emulation import addresses

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWADDR, RTM_DELADDR, RTM_GETADDR, RTM_NEWNEIGH = 20, 21, 22, 28
RTM_NEWQDISC, RTM_DELQDISC = 36, 37
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST, ACKNOWLEDGE, CREATE, REPLACE, DUMP = 1, 4, 0x400, 0x100, 0x300
LINKS, QDISCS, IPV4, IPV6 = 0x1, 0x8, 0x10, 0x100  # groups to which the kernel tells changes
IFF_UP, IFF_LOWER_UP = 1, 0x10000
IFLA_ADDRESS, IFLA_AF_SPEC, IFLA_INET6_ADDR_GEN_MODE, MODE_NONE = 1, 26, 8, 1
IFLA_IFNAME, IFLA_MTU, IFLA_MASTER, TCA_KIND = 3, 4, 10, 1
IFA_ADDRESS, IFA_LOCAL, IFA_BROADCAST, IFA_FLAGS, IFA_F_NODAD = 1, 2, 4, 8, 2
NDA_DST, NDA_LLADDR, NUD_PERMANENT = 1, 2, 0x80
LINK_SCOPE, UNIVERSE = 253, 0
LOOPBACK = 1  # the index of `lo` in every namespace
BATCH = 32768  # bytes of messages sent at once

HEADER = struct.Struct("=IHHII")


def set_up(host: int, neighbors: bytes = b"", index: int = addresses.INDEX, ethernet: bool = True) -> None:
    """Give `lo` and the interface of that index in this namespace their addresses and bring them up. Raises OSError.

    `neighbors`: the messages of `permanent_neighbors`; `ethernet`: the Ethernet address too.
    """
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
        route.bind((0, 0))
        if ethernet:
            _ask(route, _link(index, attribute(IFLA_ADDRESS, addresses.mac(host))))
        inet6 = attribute(socket.AF_INET6, attribute(IFLA_INET6_ADDR_GEN_MODE, bytes([MODE_NONE])))
        has_ipv6 = _ask(route, _link(index, attribute(IFLA_AF_SPEC, inet6)), errno.EAFNOSUPPORT,
                        errno.EOPNOTSUPP)
        _solicit_no_routers()
        _ask(route, _link(LOOPBACK, up=True))
        _ask(route, _link(index, up=True))
        _ask(route, _address(index, addresses.ipv4(host).packed, addresses.IPV4_PREFIX,
                             attribute(IFA_BROADCAST, addresses.IPV4_BROADCAST.packed)))
        if has_ipv6:
            for message in ipv6_addresses(host, index, ACKNOWLEDGE):
                _ask(route, message)
        for piece in _pieces(neighbors):
            route.send(piece)
            _failures(route, ())


def ipv6_addresses(host: int, index: int, flags: int = 0) -> list[bytes]:
    """Messages that give the interface of that index a host's IPv6 addresses; refusals alone are answered."""
    without_detection = attribute(IFA_FLAGS, struct.pack("=I", IFA_F_NODAD))
    return [_address(index, own.packed, addresses.IPV6_PREFIX, without_detection, scope, flags)
            for own, scope in ((addresses.link_local(host), LINK_SCOPE), (addresses.ipv6(host), UNIVERSE))]


def change(index: int, attributes: bytes = b"", up: bool = False) -> None:
    """Set attributes of the interface of that index in this namespace, and bring it up. Raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
        route.bind((0, 0))
        _ask(route, _link(index, attributes, up))


def permanent_neighbors(hosts: int, index: int = addresses.INDEX) -> bytes:
    """Messages that make the addresses of all hosts known for ever at the interface of that index."""
    return b"".join(permanent_neighbor(host, addresses.mac(host), index) for host in range(hosts))


def permanent_neighbor(host: int, station: bytes, index: int = addresses.INDEX) -> bytes:
    """The same for one host, which has the Ethernet address `station`."""
    messages = []
    for address in (addresses.ipv4(host), addresses.link_local(host), addresses.ipv6(host)):
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        body = struct.pack("=BxxxiHBB", family, index, NUD_PERMANENT, 0, 0)
        body += attribute(NDA_DST, address.packed) + attribute(NDA_LLADDR, station)
        messages.append(_message(RTM_NEWNEIGH, REQUEST | CREATE | REPLACE, body))
    return b"".join(messages)


def dump(kind: int) -> bytes:
    """The question for all links or all addresses of a namespace."""
    return _message(kind, REQUEST | DUMP, struct.pack("=BxHiII", 0, 0, 0, 0, 0) if kind == RTM_GETLINK else bytes(8))


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(kind, body) of each message that was read at once."""
    at = 0
    while at + HEADER.size <= len(data):
        length, kind, *_ = HEADER.unpack_from(data, at)
        if length < HEADER.size:
            return
        yield kind, data[at + HEADER.size:at + length]
        at += (length + 3) & ~3


def attributes(data: bytes, at: int, end: int | None = None) -> dict[int, bytes]:
    """The attributes from `at` on. Raises ValueError for one that is cut off."""
    found, end = {}, len(data) if end is None else end
    while at + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4 or at + length > end:
            raise ValueError("an attribute that is cut off")
        found[kind & 0x3FFF] = data[at + 4:at + length]
        at += (length + 3) & ~3
    return found


def _pieces(messages: bytes) -> Iterator[bytes]:
    """The messages in pieces that end with whole ones, the last of each asking for an answer."""
    start = end = last = 0
    while end < len(messages):
        last, end = end, end + int.from_bytes(messages[end:end + 4], sys.byteorder)
        if end - start >= BATCH or end >= len(messages):
            piece = bytearray(messages[start:end])
            length, kind, flags, sequence, port = HEADER.unpack_from(piece, last - start)
            HEADER.pack_into(piece, last - start, length, kind, flags | ACKNOWLEDGE, sequence, port)
            yield bytes(piece)
            start = end


def _solicit_no_routers() -> None:
    """An ad hoc network has none; where sysctls are read-only the solicitations go on the air."""
    try:
        with open(f"/proc/sys/net/ipv6/conf/{addresses.INTERFACE}/router_solicitations", "w") as file:
            file.write("0")
    except OSError:
        pass


def _link(index: int, attributes: bytes = b"", up: bool = False) -> bytes:
    flags = IFF_UP if up else 0
    body = struct.pack("=BxHiII", 0, 0, index, flags, flags) + attributes
    return _message(RTM_NEWLINK, REQUEST | ACKNOWLEDGE, body)


def _address(index: int, address: bytes, prefix: int, attributes: bytes, scope: int = UNIVERSE,
             flags: int = ACKNOWLEDGE) -> bytes:
    family = socket.AF_INET if len(address) == 4 else socket.AF_INET6
    body = struct.pack("=BBBBI", family, prefix, 0, scope, index)
    body += attribute(IFA_LOCAL, address) + attribute(IFA_ADDRESS, address) + attributes
    return _message(RTM_NEWADDR, REQUEST | flags | CREATE | REPLACE, body)


def _message(kind: int, flags: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, flags, 0, 0) + body


def attribute(kind: int, value: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _ask(route: socket.socket, message: bytes, *tolerated: int) -> bool:
    """Send one message; whether it was done, not refused for a tolerated reason. Raises OSError."""
    route.send(message)
    return not _failures(route, tolerated)


def _failures(route: socket.socket, tolerated: Iterable[int]) -> int:
    """The error that the kernel answers with, 0 for none."""
    answer = route.recv(65536)
    kind = HEADER.unpack_from(answer)[1]
    error = -struct.unpack_from("=i", answer, HEADER.size)[0] if kind == NLMSG_ERROR else 0
    if error and error not in tolerated:
        raise OSError(error, os.strerror(error), "rtnetlink")
    return error
