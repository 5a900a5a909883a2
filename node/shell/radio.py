"""A node's radio on a real host: one UDP socket on one interface, over IPv4 broadcast or IPv6 multicast.

What cannot be sent is lost, as over any radio. If the interface goes down, changes its address, vanishes or
returns, the radio follows it by name.
"""
from __future__ import annotations

import errno
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import trio

from node import schema, wire
from node.ids import NodeId
from node.settings import Settings
from node.shell import DaemonError, say
from node.shell.interface import Bell, Look, look, managed, named

MAX_ADDRESSES = 1024  # nodes whose address is remembered
STALE = 60.0  # s after which an address may be learned anew from a datagram that looks older
RECEIVE = 2048  # bytes; longer than any datagram of ours, so that an oversized one is seen to be one
BATCH = 64  # datagrams read before timers and programs have their turn
ECHOES = 64  # broadcasts of ours of which the kernel may still bring us the echo
SAMPLE = 32  # one datagram in so many is recorded by who sends and who hears it: it aligns their clocks

_HEADER = schema.header().layout


class Ticking(Protocol):
    def tick(self) -> float:
        """Advance time, as before each input."""


class Receiver(Protocol):
    def datagram_received(self, datagram: bytes, /) -> None:
        """Handle a datagram that the radio received."""


class Radio:
    """Sends to and receives from one interface. What cannot be sent is counted in `unsent`."""

    def __init__(self, settings: Settings) -> None:
        self.unsent = 0
        self.refused = 0  # of these: by the kernel, not for want of an address
        self.called = self.heard = 0  # broadcasts that the kernel took, datagrams of others
        self.interface = named(settings.interface, settings.address)
        self.record: Callable[..., None] | None = None  # for a field node: what the shell itself has to say
        self._family = settings.family
        self._broadcast = settings.broadcast
        self._port = settings.port
        self._from = ""  # the address of the datagram being handled
        self._known: OrderedDict[NodeId, tuple[tuple[int, int], float, str]] = OrderedDict()
        self._echoes: dict[bytes, None] = {}
        self._seen = look(self.interface, self._family)
        self._check(self._seen)
        self._take(self._seen)
        self._socket = self._open()

    def close(self) -> None:
        self._socket.close()

    # ---- sending --------------------------------------------------------------------------------
    def broadcast(self, datagram: bytes) -> None:
        if self._family == "ipv4":
            self._echoes[datagram] = None
            if len(self._echoes) > ECHOES:
                del self._echoes[next(iter(self._echoes))]
        self.called += self._send(datagram, self.broadcast_address)
        if self.record is not None and (counter := _HEADER.unpack_from(datagram)[-1]) % SAMPLE == 0:
            self.record("datagram_sent", counter=counter)

    def unicast(self, to: NodeId, datagram: bytes) -> None:
        known = self._known.get(to)
        if known is None:
            self.unsent += 1
        else:
            self._send(datagram, known[2])

    def _send(self, datagram: bytes, address: str) -> bool:
        """Whether the kernel took it."""
        try:
            self._socket.sendto(datagram, (address, self._port, *self._scope))
        except OSError as error:  # a full queue, an interface that is down, a route that went
            if not self.unsent and not isinstance(error, BlockingIOError):
                say(f"{self.interface}: cannot send to {address} ({error.strerror}); the node continues")
            self.unsent += 1
            self.refused += 1
            return False
        return True

    # ---- receiving ------------------------------------------------------------------------------
    async def wait(self) -> None:
        """Wait until there is something to read, or the interface has changed."""
        try:
            await trio.lowlevel.wait_readable(self._socket)
        except trio.ClosedResourceError:
            pass

    def read(self, port: Ticking, broker: Receiver) -> bool:
        """Pass received datagrams to the broker, except echoes of our own broadcasts. Returns False after an error of an
        earlier datagram, or if the interface went down."""
        for _ in range(BATCH):
            try:
                datagram, (self._from, source_port, *_) = self._socket.recvfrom(RECEIVE)
            except BlockingIOError:
                return True
            except OSError:
                self.unsent += 1
                return False
            if self._from == self.address and source_port == self._port and datagram in self._echoes:
                continue
            self.heard += 1
            port.tick()
            broker.datagram_received(datagram)
        return True

    def learning(self, decode: Callable[[bytes, bytes], wire.Datagram]) -> Callable[[bytes, bytes], wire.Datagram]:
        """Wrap `decode` to remember the address of a valid datagram's sender; a replayed datagram changes nothing."""

        def noting(datagram: bytes, secret: bytes) -> wire.Datagram:
            decoded = decode(datagram, secret)
            sender, age, now = decoded.sender, (decoded.sender.epoch, decoded.counter), trio.current_time()
            known = self._known.get(sender.node)
            if known is None or age > known[0] or now - known[1] > STALE:
                self._known[sender.node] = (age, now, self._from)
                self._known.move_to_end(sender.node)
                if len(self._known) > MAX_ADDRESSES:
                    self._known.popitem(last=False)
                if self.record is not None and decoded.counter % SAMPLE == 0:
                    self.record("datagram_heard", other=sender.node, epoch=sender.epoch, counter=decoded.counter)
            return decoded

        return noting

    # ---- the interface --------------------------------------------------------------------------
    def describe(self) -> str:
        """Describe this node's interface and addresses for people."""
        to = f"broadcast {self.broadcast_address}" if self._family == "ipv4" else "to all on the link"
        return f"{self.interface} ({self.address}, {to}, UDP port {self._port})"

    def warn(self) -> None:
        """Tell people if the interface is in a mode in which the node hears no neighbors."""
        if managed(self.interface):
            say(f"{self.interface} is in managed mode, so it hears only what an access point forwards, and no "
                "neighbor directly; "
                f"use `roamcast radio up {self.interface} --ibss NAME --channel N` for ad hoc mode")

    async def follow(self, tick: Callable[[], object]) -> None:
        """Follow the interface when it goes down, changes its address, vanishes or returns. `tick()` is called before each
        record of that."""
        bell = Bell()
        try:
            self._tell(self._seen, tick)
            while True:
                await bell.rings()
                now = look(self.interface, self._family)
                if now != self._seen:
                    self._changed(now, tick)
        finally:
            bell.close()

    def _changed(self, now: Look | None, tick: Callable[[], object]) -> None:
        before, self._seen = self._seen, now
        name = self.interface
        if now is None:
            say(f"{name} has vanished; the node continues and uses it again when it returns")
        elif before is None or now.number != before.number:
            try:
                fresh = self._open()
            except DaemonError as error:
                say(f"{error}; trying again later")
                self._seen = before
                return
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
            self._socket = fresh
            say(f"{name} is back" + (f" with the address {now.address}" if now.address else ""))
            self.warn()
        elif now.up != before.up:
            say(f"{name} is {'up again' if now.up else 'down; the node continues and waits for it'}")
        elif now.address is not None:
            say(f"{name} now has the address {now.address}")
        else:
            say(f"{name} has no {_NAMES[self._family]} address any more; the node continues and waits for one")
        self._take(now)
        self._tell(now, tick)

    def _take(self, seen: Look | None) -> None:
        """Use the addresses that there are; without one the last stays, and sending fails by itself."""
        if seen is not None and seen.address is not None:
            self.address = seen.address
            self.broadcast_address = self._broadcast or seen.broadcast or ""  # which _check has seen
            # flow and link, behind address and port
            self._scope = (0, seen.number) if self._family == "ipv6" else ()

    def _tell(self, seen: Look | None, tick: Callable[[], object]) -> None:
        if self.record is not None:
            tick()
            state = "gone" if seen is None else "up" if seen.up and seen.address else "down"
            self.record("interface", name=self.interface, state=state, address=seen and seen.address)

    def _check(self, seen: Look | None) -> None:
        """Raises DaemonError for an interface that a node cannot begin on."""
        name = self.interface
        if seen is None or seen.address is None:
            example = "10.77.0.1/24 brd +" if self._family == "ipv4" else "fe80::77:1/64"
            raise DaemonError(f"interface {name} has no {_NAMES[self._family]} address; give it one, for "
                              "example "
                              f"`ip address add {example} dev {name}`, or use `ip link set {name} up` if it "
                              "then gets one itself")
        if seen.broadcast is None and self._broadcast is None:
            # the kernel takes none for a loopback, and says nothing
            cure = ("give --broadcast 127.255.255.255" if seen.address.startswith("127.") else
                    f"set one (`ip address change ... brd + dev {name}`) or give --broadcast")
            raise DaemonError(f"interface {name} has no broadcast address; {cure}")

    def _open(self) -> socket.socket:
        """The socket on the interface as it is now. Raises DaemonError."""
        opened = socket.socket(socket.AF_INET6 if self._family == "ipv6" else socket.AF_INET,
                               socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            if self._family == "ipv6":
                opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
            else:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            try:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self.interface.encode() + b"\0")
            except PermissionError:
                pass  # older kernels keep this for root; the addresses do without
            opened.bind(("", self._port))
        except OSError as error:
            opened.close()
            if error.errno == errno.EADDRINUSE:
                raise DaemonError(f"UDP port {self._port} is in use on {self.interface}, perhaps by another node; "
                                  "stop that, or give another --port") from None
            raise DaemonError(f"UDP port {self._port} on {self.interface}: {error.strerror}") from None
        return opened


_NAMES = {"ipv4": "IPv4", "ipv6": "IPv6 link-local"}
