"""What a namespace's kernel tells of its interfaces: every change, over a routing socket (rtnetlink(7))."""
from __future__ import annotations

import errno
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from emulation import addresses
from emulation.linux import netlink

GROUPS = netlink.LINKS | netlink.QDISCS | netlink.IPV4 | netlink.IPV6
BUFFER = 1 << 20  # bytes of changes that nobody has read yet
READ = 65536  # bytes at once; longer than any of the kernel's answers
HARMLESS = {"noqueue", "noop", "mq", "pfifo_fast", "fq_codel", "fq"}  # queueing that drops nothing by itself
UNKNOWN, GONE = -1, -2  # in place of an index
BATCH = 16  # reads at one host before the others, and the scenario's faults, have their turn


class Link(NamedTuple):
    """An interface as its kernel tells of it."""

    name: str
    up: bool  # it is on and has a carrier: frames can pass
    station: bytes  # its Ethernet address
    mtu: int
    master: int  # index of the bridge or bond that it is a part of; 0 for none


class Change(NamedTuple):
    """`what`: link, gone, address, other (interface, `value` its name), qdisc (its kind; None: the usual one), refused
    (the error), missed (some changes are not known one by one)."""

    what: str
    value: Any = None


def open_watch() -> int:
    """The descriptor of a socket that this namespace's kernel tells of its interfaces. Raises OSError."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    opened.bind((0, GROUPS))
    return opened.detach()


class Watch:
    """A host's wlan0. `link` and `known` (its addresses, packed) are as of the change that was handed out last."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.index = UNKNOWN
        self.link: Link | None = None
        self.known: set[bytes] = set()
        self._others: dict[int, str] = {}
        while any(True for _ in self.read()):
            pass  # from before the run
        self._look()

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, message: bytes) -> None:
        """Have the namespace's kernel do something; a refusal comes as a change. One that asks for too much is lost."""
        try:
            self.socket.send(message)
        except OSError:
            pass  # the host's namespace goes on as it is, and what it lacks is told

    def read(self) -> Iterator[Change]:
        """All that has changed since, one by one."""
        for _ in range(BATCH):
            try:
                data = self.socket.recv(READ)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                self._look()
                yield Change("missed")
                continue
            for kind, body in netlink.messages(data):
                if (change := self._take(kind, body)) is not None:
                    yield change

    def _look(self) -> None:
        """See what there is now, in place of what was told."""
        self.link = None
        self.known.clear()
        self._others.clear()
        for question in (netlink.RTM_GETLINK, netlink.RTM_GETADDR):
            self.socket.setblocking(True)
            self.socket.send(netlink.dump(question))
            done = False
            while not done:
                for kind, body in netlink.messages(self.socket.recv(READ)):
                    done = done or kind == netlink.NLMSG_DONE
                    self._take(kind, body)
            self.socket.setblocking(False)

    def _take(self, kind: int, body: bytes) -> Change | None:
        if kind in (netlink.RTM_NEWLINK, netlink.RTM_DELLINK):
            return self._link(kind, body)
        if kind in (netlink.RTM_NEWADDR, netlink.RTM_DELADDR):
            return self._address(kind, body)
        if kind in (netlink.RTM_NEWQDISC, netlink.RTM_DELQDISC) and struct.unpack_from("=i", body, 4)[0] == self.index:
            name = _text(netlink.attributes(body, 20).get(netlink.TCA_KIND, b""))
            return Change("qdisc", None if kind == netlink.RTM_DELQDISC or name in HARMLESS else name)
        if kind == netlink.NLMSG_ERROR and (code := struct.unpack_from("=i", body)[0]):
            return Change("refused", -code)
        return None

    def _link(self, kind: int, body: bytes) -> Change | None:
        family, _, index, flags = struct.unpack_from("=BxHiI", body)
        if family != socket.AF_UNSPEC:
            return None  # of a bridge's ports, told beside
        found = netlink.attributes(body, 16)
        name = _text(found.get(netlink.IFLA_IFNAME, b""))
        if self.index == UNKNOWN and name == addresses.INTERFACE:
            self.index = index
        if index != self.index:
            return self._other(kind, index, name)
        if kind == netlink.RTM_DELLINK:
            self.link, self.index = None, GONE
            return Change("gone")
        both = netlink.IFF_UP | netlink.IFF_LOWER_UP
        self.link = Link(name, flags & both == both, found.get(netlink.IFLA_ADDRESS, b""),
                         _number(found.get(netlink.IFLA_MTU)), _number(found.get(netlink.IFLA_MASTER)))
        return Change("link", self.link)

    def _other(self, kind: int, index: int, name: str) -> Change | None:
        if kind == netlink.RTM_DELLINK:
            self._others.pop(index, None)
        elif index not in self._others and index != netlink.LOOPBACK:
            self._others[index] = name
            return Change("other", name)
        return None

    def _address(self, kind: int, body: bytes) -> Change | None:
        if struct.unpack_from("=i", body, 4)[0] != self.index:
            return None
        found = netlink.attributes(body, 8)
        address = found.get(netlink.IFA_LOCAL) or found.get(netlink.IFA_ADDRESS, b"")
        if kind == netlink.RTM_NEWADDR:
            self.known.add(address)
        else:
            self.known.discard(address)
        return Change("address", address)


def _text(name: bytes) -> str:
    """As people may read it: the kernel takes control characters in names."""
    text = name.rstrip(b"\0").decode(errors="replace")
    return "".join(character if character.isprintable() else "?" for character in text)


def _number(value: bytes | None) -> int:
    return 0 if value is None else int.from_bytes(value, sys.byteorder)
