"""The shell around a node on a real host: UDP on one interface, timers, records, the control socket.

It implements the port of `node.environment` over trio and gives the broker its inputs one at a time.
Datagrams go out as UDP broadcasts of the interface, or to the address that a node was last heard from;
what cannot be sent is lost, as over any radio. The boot epoch lives in a state file and grows at
every start, with or without a clock.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import heapq
import json
import os
import random
import signal
import socket
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import trio

from node import schema, wire
from node.broker import DATAGRAMS, Broker
from node.config import NodeConfig
from node.control import Control, ControlError
from node.ids import Epoch, NodeId
from node.journal import JournaledBroker, open_journal

MAX_ADDRESSES = 1024  # nodes whose address is remembered
STALE = 60.0  # s after which an address may be learned anew from a datagram that looks older
RECEIVE = 2048  # bytes; longer than any datagram of ours, so that an oversized one is seen to be one
BATCH = 64  # datagrams read before timers and programs have their turn
FLUSH = 1.0  # s between two writes of the records
SIOCGIFADDR, SIOCGIFBRDADDR = 0x8915, 0x8919  # netdevice(7)


class DaemonError(Exception):
    """The daemon cannot start or go on; the text says why and what would do, in one sentence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a daemon is started with. One of `interface` and `address` is set."""

    node: NodeId
    interface: str | None = None  # by its name
    address: str | None = None  # or by its IPv4 address
    broadcast: str | None = None  # another broadcast address than the interface's
    port: int = schema.header().port
    control: Path | None = None
    records: Path | None = None
    state: Path | None = None  # default: below the user's state folder
    journal: Path | None = None
    began: float | None = None  # unix time at which the run began; default: now
    config: NodeConfig = field(default_factory=NodeConfig)


def run(settings: Settings) -> None:
    """Run a node until SIGTERM or SIGINT, then end its life in order. Raises DaemonError."""
    try:
        trio.run(_main, settings)
    except ControlError as error:
        raise DaemonError(str(error)) from None


async def _main(settings: Settings) -> None:
    radio = Radio(settings)
    control = None
    try:
        port = Port(settings, radio, next_epoch(settings.state or default_state(settings.node), settings.node))
        broker = make_broker(settings, port)
        if settings.control is not None:
            control = Control(settings.control, broker, port.tick)
        await serve(port, broker, control, started=lambda: _say(
            f"node {settings.node}, epoch {port.epoch}, on {radio.interface} "
            f"({radio.address}, broadcast {radio.broadcast_address}, UDP port {settings.port})"))
    finally:
        if control is not None:
            control.close()
        radio.close()
    port.records.close()


async def serve(port: Port, broker: Broker, control: Control | None, *others: Callable[[], Awaitable[None]],
                started: Callable[[], object] = lambda: None) -> None:
    """A node's life from its start to SIGTERM or SIGINT, which end it in order. `others` run beside it;
    `started` is called when the signals are heeded."""
    port.tick()
    broker.start()
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with trio.open_nursery() as world:
            world.start_soon(port.run, broker)
            world.start_soon(port.flush_records)
            async with trio.open_nursery() as programs:
                for program in (*others, *([control.serve] if control is not None else [])):
                    programs.start_soon(program)
                started()
                await anext(signals)
                programs.cancel_scope.cancel()  # programs leave before the node does
            port.tick()
            broker.stop()
            world.cancel_scope.cancel()


def make_broker(settings: Settings, port: Port) -> Broker:
    """The node's broker on its port, with a journal where the settings want one. Raises DaemonError."""
    decode = port.radio.learning(wire.decode)
    if settings.journal is None:
        return Broker(settings.node, port.epoch, settings.config, port, decode)
    try:
        journal = open_journal(settings.journal)
    except OSError as error:
        raise DaemonError(f"{settings.journal}: {error.strerror}; choose another path for --journal") from None
    return JournaledBroker(_Journal(journal), settings.node, port.epoch, settings.config, port, decode)


class _Journal:
    """A journal that ends at the first line that cannot be written: with a gap it would not replay."""

    def __init__(self, file: TextIO) -> None:
        self._file: TextIO | None = file

    def write(self, text: str) -> None:
        if self._file is not None:
            try:
                self._file.write(text)
            except OSError as error:
                _say(f"{self._file.name}: {error.strerror}; the journal ends here, the node goes on")
                with contextlib.suppress(OSError):  # it tries once more to write
                    self._file.close()
                self._file = None


def _say(text: str) -> None:
    print(f"roamcast: {text}", file=sys.stderr, flush=True)


# ---- the epoch -------------------------------------------------------------------------------------
def default_state(node: NodeId) -> Path:
    """Where a node's epoch is kept when nothing else is said."""
    if os.geteuid() == 0:
        folder = Path("/var/lib/roamcast")
    else:
        folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state", "roamcast")
    return folder / f"node-{node}.json"


def next_epoch(path: Path, node: NodeId) -> Epoch:
    """Begin a new life: one more than the last one's epoch, and on disk before it is used.

    Where there was no life, or its memory is gone, the clock gives the first, so that a node whose card
    was wiped still comes back with a higher epoch; where there is no clock either, it is 1.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        last = _last_epoch(path, node)
        clock = int(time.time())
        epoch = max(last + 1, clock if last == 0 and clock < 2**32 - 2**20 else 1)
        if epoch >= 2**32:
            raise DaemonError(f"{path}: epoch {last} is the last there is; give the node another id")
        scratch = path.with_name(path.name + ".new")
        with scratch.open("w") as file:
            json.dump({"node": node, "epoch": epoch}, file)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise DaemonError(f"{path}: the boot epoch cannot be kept ({error.strerror}); "
                          "choose another path for --state") from None
    return epoch


def _last_epoch(path: Path, node: NodeId) -> Epoch:
    """0 when there was none."""
    if not path.exists():
        return 0
    try:
        state = json.loads(path.read_bytes())
        owner, epoch = state["node"], state["epoch"]
        if not (type(epoch) is int and 0 < epoch < 2**32):
            raise ValueError
    except (ValueError, TypeError, KeyError):
        raise DaemonError(f"{path}: not the state of a node; remove it if it may be forgotten "
                          "(the clock then gives the next epoch)") from None
    if owner != node:
        raise DaemonError(f"{path}: the state of node {owner}, not of {node}; choose another path for --state")
    return epoch


# ---- records ---------------------------------------------------------------------------------------
class Records:
    """JSON Lines, appended once a second; a full disk loses records, counts them and stops nothing."""

    def __init__(self, path: Path | None, node: NodeId) -> None:
        self.lost = 0
        self._node = node
        self._waiting: list[str] = []
        self._file = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("ab+", buffering=0)
                self._cut_torn_line()
            except OSError as error:
                raise DaemonError(f"{path}: {error.strerror}; choose another path for --records") from None

    def append(self, t: float, kind: str, fields: dict[str, object]) -> None:
        if self._file is not None:
            line = {"t": round(t, 6), "node": self._node, "kind": kind, **fields}
            self._waiting.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False))

    def flush(self) -> None:
        if not self._waiting:
            return
        count, data = len(self._waiting), ("\n".join(self._waiting) + "\n").encode("utf-8", "replace")
        self._waiting.clear()
        whole = os.fstat(self._file.fileno()).st_size
        try:
            while data:
                data = data[self._file.write(data):]
        except OSError as error:
            if not self.lost:
                _say(f"{self._file.name}: {error.strerror}; records are lost until that is mended")
            self.lost += count
            with contextlib.suppress(OSError):  # no half a line before the next good one
                self._file.truncate(whole)

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()

    def _cut_torn_line(self) -> None:
        """What an earlier life was cut off in the middle of would spoil the line that comes after it."""
        end = size = self._file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(end - 65536, 0)
            self._file.seek(start)
            if (at := self._file.read(end - start).rfind(b"\n")) >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            self._file.truncate(end)


# ---- the environment -------------------------------------------------------------------------------
class _Timer:
    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Port:
    """node.environment.Environment over trio's clock, one heap of timers, the radio and the records."""

    def __init__(self, settings: Settings, radio: Radio, epoch: Epoch) -> None:
        self.epoch = epoch
        self.radio = radio
        self.random = random.Random(f"{settings.node}/{epoch}/{random.SystemRandom().getrandbits(64)}")
        self.records = Records(settings.records, settings.node)
        self.broadcast = radio.broadcast
        self.unicast = radio.unicast
        wall = time.time()
        self._offset = wall - (wall if settings.began is None else settings.began) - trio.current_time()
        self._now = 0.0
        self._heap: list[tuple[float, int, _Timer]] = []
        self._set = 0  # timers ever set: equal times fire in this order
        self._waiting: trio.CancelScope | None = None  # ends when the next timer is due
        self.late: Callable[[float], object] = lambda seconds: None  # told how late each timer is, for a world

    def tick(self) -> float:
        """Before each input: now() moves on, and then stays while the input is handled."""
        self._now = trio.current_time() + self._offset
        return self._now

    def now(self) -> float:
        return self._now

    def record(self, kind: str, **fields: object) -> None:
        self.records.append(self._now, kind, fields)
        if kind == "identity_conflict":  # nothing works as it should before somebody mends that
            other, epochs = fields["other"], " and ".join(map(str, fields["epochs"]))
            _say(f"two living nodes have the id {other} (boot epochs {epochs}); give one of them another --id")
        elif kind == "refused" and fields["what"] == DATAGRAMS:
            _say("this life has sent all the datagrams it may and is silent now; start the node again")

    def call_later(self, delay: float, action: Callable[[], None]) -> _Timer:
        timer = _Timer(action)
        self._set += 1
        heapq.heappush(self._heap, (self._now + delay, self._set, timer))
        if self._waiting is not None and self._heap[0][2] is timer:
            self._waiting.deadline = self._now + delay - self._offset
        if len(self._heap) > 1024 and self._set % 1024 == 0:  # cancelled ones do not pile up
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
        return timer

    async def run(self, broker: Broker) -> None:
        """Hand the broker what the radio hears and run its timers when they are due: in one task, so that a timer
        that a datagram sets wakes up nobody."""
        while True:
            due = self._heap[0][0] - self._offset if self._heap else float("inf")
            if due > trio.current_time():
                with trio.CancelScope(deadline=due) as self._waiting:
                    await self.radio.wait()
                self._waiting = None
            else:
                await trio.lowlevel.checkpoint()
            if not self.radio.read(self, broker):
                await trio.sleep(0.01)
            self._run_due()

    def _run_due(self) -> None:
        """What was due when it begins: timers that keep setting others let datagrams have their turn."""
        limit = trio.current_time() + self._offset
        while self._heap and self._heap[0][0] <= limit:
            asked, _, timer = heapq.heappop(self._heap)
            action, timer.action = timer.action, None
            if action is not None:
                self.late(self.tick() - asked)
                action()

    async def flush_records(self) -> None:
        try:
            while True:
                await trio.sleep(FLUSH)
                self.records.flush()
        finally:
            self.records.flush()


# ---- UDP -------------------------------------------------------------------------------------------
class Radio:
    """One UDP socket on one interface. What cannot be sent is lost and counted in `unsent`."""

    def __init__(self, settings: Settings) -> None:
        self.unsent = 0
        self.interface = _interface(settings)
        self.address = _interface_address(self.interface, SIOCGIFADDR)
        self.broadcast_address = settings.broadcast or _interface_address(self.interface, SIOCGIFBRDADDR)
        self._port = settings.port
        self._from = ""  # the address of the datagram being handled
        self._known: OrderedDict[NodeId, tuple[tuple[int, int], float, str]] = OrderedDict()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            try:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self.interface.encode() + b"\0")
            except PermissionError:
                pass  # older kernels keep this for root; the addresses do without
            self._socket.bind(("", settings.port))
        except OSError as error:
            self._socket.close()
            if error.errno == errno.EADDRINUSE:
                raise DaemonError(f"UDP port {settings.port} is in use on {self.interface}, by another node "
                                  "perhaps; stop it or choose another --port") from None
            raise DaemonError(f"UDP port {settings.port} on {self.interface}: {error.strerror}") from None

    def close(self) -> None:
        self._socket.close()

    def broadcast(self, datagram: bytes) -> None:
        self._send(datagram, self.broadcast_address)

    def unicast(self, to: NodeId, datagram: bytes) -> None:
        known = self._known.get(to)
        if known is None:
            self.unsent += 1
        else:
            self._send(datagram, known[2])

    def _send(self, datagram: bytes, address: str) -> None:
        try:
            self._socket.sendto(datagram, (address, self._port))
        except OSError as error:  # a full queue, an interface that is down, a route that went
            if not self.unsent and not isinstance(error, BlockingIOError):
                _say(f"{self.interface}: cannot send to {address} ({error.strerror}); going on")
            self.unsent += 1

    async def wait(self) -> None:
        """Until there is something to read."""
        await trio.lowlevel.wait_readable(self._socket)

    def read(self, port: Port, broker: Broker) -> bool:
        """Hand the datagrams that have come to the broker, but for the echoes of our own broadcasts. False after an
        error that an earlier datagram met on its way, or when the interface went down."""
        for _ in range(BATCH):
            try:
                datagram, (self._from, source_port) = self._socket.recvfrom(RECEIVE)
            except BlockingIOError:
                return True
            except OSError:
                self.unsent += 1
                return False
            if (self._from, source_port) != (self.address, self._port):
                port.tick()
                broker.datagram_received(datagram)
        return True

    def learning(self, decode: Callable[[bytes, bytes], wire.Datagram]) -> Callable[[bytes, bytes], wire.Datagram]:
        """`decode`, which then notes where the sender of a sound datagram is; a replayed one moves nobody."""

        def noting(datagram: bytes, secret: bytes) -> wire.Datagram:
            decoded = decode(datagram, secret)
            sender, age, now = decoded.sender, (decoded.sender.epoch, decoded.counter), trio.current_time()
            known = self._known.get(sender.node)
            if known is None or age > known[0] or now - known[1] > STALE:
                self._known[sender.node] = (age, now, self._from)
                self._known.move_to_end(sender.node)
                if len(self._known) > MAX_ADDRESSES:
                    self._known.popitem(last=False)
            return decoded

        return noting


def _interface(settings: Settings) -> str:
    """The name of the interface that the settings mean. Raises DaemonError."""
    names = [name for _, name in socket.if_nameindex()]
    if settings.interface is not None:
        if settings.interface in names:
            return settings.interface
        raise DaemonError(f"there is no interface {settings.interface}; there are {', '.join(names)}")
    for name in names:
        try:
            if _interface_address(name, SIOCGIFADDR) == settings.address:
                return name
        except DaemonError:
            continue  # it has none
    raise DaemonError(f"no interface has the address {settings.address}; `ip address` shows what there is")


def _interface_address(name: str, request: int) -> str:
    """The IPv4 or the broadcast address of an interface. Raises DaemonError where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe, request, struct.pack("256s", name.encode()[:15]))
        except OSError:
            raise DaemonError(f"interface {name} has no IPv4 address; give it one, for example "
                              f"`ip address add 10.77.0.1/24 brd + dev {name}`") from None
    found = socket.inet_ntoa(answer[20:24])
    if request == SIOCGIFBRDADDR and found == "0.0.0.0":
        raise DaemonError(f"interface {name} has no broadcast address; set one "
                          f"(`ip address change ... brd + dev {name}`) or give --broadcast")
    return found

