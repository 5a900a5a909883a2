"""The process between all TAP devices: the radio model of the simulator, in real time.

It reads what the hosts' kernels send, puts it through emulation.medium and writes what arrives to
the receivers' devices. It captures whole frames per host, and for every try of a frame what became
of it, in captures/medium.jsonl:

    {"t", "from", "to" (null: broadcast), "bytes", "try", "delivered": [..], "lost": [..],
     "collided": [..], "out_of_range": [..]}

`t` is when the try began; for a broadcast those out of range are all that are not named.
"""
from __future__ import annotations

import gc
import json
import select
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from os import read, write
from pathlib import Path

from emulation import addresses
from emulation.capture import Captures
from emulation.linux import kernel, port
from emulation.linux.port import Devices
from emulation.medium import Frame, Medium, _Radio, _Transmission
from emulation.realtime import probe
from emulation.realtime.channel import Channel
from emulation.realtime.clock import RealTime
from emulation.realtime.fidelity import NEIGHBORS, REACHED, TAKEN, Tally
from emulation.realtime.plan import Plan
from emulation.records import AppendOnly, DiskFull, RecordWriter, flush_all
from node import wire
from node.airtime import LLC_BYTES, MAC_BYTES
from topologies.scenario import LinkFault

ETHERNET_BYTES = 14  # of a frame's own header, which is not on the air
OVERHEAD = MAC_BYTES + LLC_BYTES - ETHERNET_BYTES
LONGEST = 4096  # bytes; longer than any frame of an interface with 1500, with what comes around it
BATCH = 16  # frames read from one host before the others have their turn
NAP = 0.5  # s of sleep at most
TICK = 1.0  # s between two records of the traffic
BEAT = 0.005  # s between two looks at the clock: a frame that waits to be read does not tell since when
FLUSH = 0.01  # s between two files that are written out, one at a time
LEAVES = 60.0  # s that the hosts' programs have to end
GC_THRESHOLD = 50_000
KNOWN = {b"\x08\x00", b"\x08\x06", b"\x86\xdd"}  # IPv4, ARP, IPv6
_OUR_PORT, _UDP = wire.PORT.to_bytes(2), 17
_FRAGMENT, _LATER_FRAGMENT = 0x3FFF, 0x1FFF  # bits of the IPv4 header that any fragment has, and any but the first


class FrameCaptures(Captures):
    """The payloads of this medium are frames already."""

    def _bytes_of(self, frame: Frame) -> bytes:
        return frame.payload

    def begin(self, epoch: float) -> None:
        """`epoch`: the wall clock (s since 1970) at time 0, which is known when the files are there."""
        self._epoch_ns = round(epoch * 1e9)

    def files(self) -> list[AppendOnly]:
        return self._files


class Decided(Medium):
    """A medium that writes down what became of each try of each frame."""

    def __init__(self, *arguments, log: AppendOnly, **options) -> None:
        super().__init__(*arguments, **options)
        self._log = log
        self._fates: dict[str, list[int]] = {}

    def _broadcast_ends(self, radio: _Radio, life: int, transmission: _Transmission) -> None:
        self._fates = {"delivered": [], "lost": [], "collided": []}
        super()._broadcast_ends(radio, life, transmission)
        self._note(transmission)

    def _unicast_ends(self, radio: _Radio, life: int, transmission: _Transmission) -> None:
        self._fates = {"delivered": [], "lost": [], "collided": []}
        to = transmission.frame.destination
        if to not in transmission.receivers:
            self._fates["out_of_range"] = [to]
        super()._unicast_ends(radio, life, transmission)
        self._note(transmission)

    def _arrives(self, transmission: _Transmission, host: int, base_rate: bool) -> bool:
        arrives = super()._arrives(transmission, host, base_rate)
        spoiled = transmission.spoiled is not None and host in transmission.spoiled
        self._fates["delivered" if arrives else "collided" if spoiled else "lost"].append(host)
        return arrives

    def _hand_up(self, frame: Frame, hosts: list[int]) -> None:
        self._fates["delivered"] = hosts  # nobody was asked one by one when nothing could be lost
        super()._hand_up(frame, hosts)

    def _note(self, transmission: _Transmission) -> None:
        frame = transmission.frame
        line = {"t": round(transmission.start, 9), "from": frame.sender, "to": frame.destination,
                "bytes": len(frame.payload), "try": frame.tries, **self._fates}
        self._log.append(json.dumps(line, separators=(",", ":")).encode() + b"\n")


class Air:
    """The medium's process: one medium for the probing, one for the run."""

    plain, decided, captures = Medium, Decided, FrameCaptures  # what it is made of
    overhead = OVERHEAD  # bytes on the air with each frame that are not in it

    def __init__(self, plan: Plan, taps: list[int], spaces: list[int], channel: Channel) -> None:
        self._plan = plan
        self._taps = taps
        self._spaces = spaces
        self._channel = channel
        self._hosts = {tap: host for host, tap in enumerate(taps)}
        self.refused = 0  # frames that a host's device did not take, or that were too long
        self._unhandled = [0] * plan.hosts  # frames of which the kernel knows no protocol, and counts as dropped
        self._up = set(range(plan.hosts)) - plan.late()  # hosts whose radios are on by the scenario
        self._unplugged: set[int] = set()  # hosts whose interface is down or gone, by what was done there
        self._disturbed: set[int] = set()  # hosts whose interface ever was
        self._given: dict[bytes, int] = {}  # Ethernet addresses that hosts gave themselves -> host
        self._names: dict[int, str] = {}  # of interfaces that were renamed
        self.devices = Devices(plan.ports)
        self.scheduler = RealTime(self._late())
        self._files: list = []
        self._captures: FrameCaptures | None = None
        self.medium = self._medium()
        self._carrying = self.medium  # the one that has the frames now
        self._running = True
        for tap in taps:
            plan.poll.register(tap, select.EPOLLIN)
        plan.poll.register(channel.fileno(), select.EPOLLIN)

    def probing(self, until: float) -> None:
        """Carry the probes of the self-check, with the hosts where they are at time 0."""
        scheduler, radio = RealTime(lambda seconds: None), self._plan.scenario.radio
        medium = self._make(self.plain, scheduler, probe.standing(self._plan.movement), radio,
                            self._plan.scenario.run.seed, self._deliver, lambda kind, **fields: None,
                            off=self._plan.late())
        scheduler.began = time.monotonic()
        self._carry(scheduler, medium, until - scheduler.began, lambda: None)

    def run(self, began: float, epoch: float) -> None:
        """Carry the run's frames from `began` (of the monotonic clock; `epoch` of the wall clock) to its
        end. Raises DiskFull."""
        if self._captures is not None:
            self._captures.begin(epoch)
        time.sleep(max(began - time.monotonic(), 0.0))
        self._discard()
        self.scheduler.began = began
        self.scheduler.call_at(0.0, self._start)
        self.scheduler.call_at(BEAT, self._beat)
        self.scheduler.call_at(FLUSH, partial(self._flush, 0))
        try:
            self._carry(self.scheduler, self.medium, self._plan.scenario.run.duration, self._heed)
        finally:
            self.medium.record_traffic()
            flush_all(self._files)

    # ---- making ----------------------------------------------------------------------------------
    def _late(self) -> Callable[[float], None]:
        """What is told how late each action of this process was."""
        tally = self._plan.medium
        return lambda seconds: tally.late(seconds, self.scheduler.time)

    def _medium(self) -> Medium:
        plan, scenario = self._plan, self._plan.scenario
        world = RecordWriter(plan.path / "world.jsonl", -1, self.scheduler.now)
        self._files.append(world)
        self._record = self._measured(world.record, plan.positions)
        options = {"end": scenario.run.duration, "off": plan.late()}
        arguments = (self.scheduler, plan.movement, scenario.radio, scenario.run.seed, self._deliver,
                     self._record)
        if not scenario.run.capture:
            return self._make(self.plain, *arguments, **options)
        self._captures = self.captures(plan.path / "captures", plan.hosts, wire.PORT, 0.0)
        log = AppendOnly(plan.path / "captures" / "medium.jsonl")
        self._files += [log, *self._captures.files()]
        return self._make(self.decided, *arguments, log=log, capture=self._captures, **options)

    def _make(self, kind: type[Medium], *arguments, **options) -> Medium:
        return kind(*arguments, overhead=self.overhead, **options)

    def _measured(self, record: Callable[..., None], tally: Tally) -> Callable[..., None]:
        """Records of who is in range are made when the movement changes it: how late was that?"""
        def recording(kind: str, **fields: object) -> None:
            if kind.startswith("radio_") and self.scheduler.time > 0.0 and "from" in fields:
                tally.late(self.scheduler.elapsed() - self.scheduler.time, self.scheduler.time)
            record(kind, **fields)
        return recording

    # ---- running ---------------------------------------------------------------------------------
    def _start(self) -> None:
        late = self._plan.late()
        for host in range(self._plan.hosts):
            if host not in late:
                self._record("host_up", host=host, epoch=1)
        for fault in self._plan.scenario.faults:
            if isinstance(fault, LinkFault):
                action = getattr(self.medium.neighborhood, fault.action)
                self.scheduler.call_at(fault.at, partial(action, *fault.link))
        self.scheduler.call_at(TICK, self._tick)

    def _tick(self) -> None:
        self.medium.record_traffic()
        for host, tally in enumerate(self._plan.nodes):
            tally.words[NEIGHBORS] = len(self.medium.neighborhood.of[host])
        self.scheduler.call_at(self.scheduler.now() + TICK, self._tick)

    def _beat(self) -> None:
        """Its own lateness is what it is for: those that are missed are all made up for."""
        self.scheduler.call_at(self.scheduler.now() + BEAT, self._beat)

    def _flush(self, turn: int) -> None:
        self._files[turn % len(self._files)].flush()
        self.scheduler.call_at(self.scheduler.elapsed() + FLUSH, partial(self._flush, turn + 1))

    def _carry(self, scheduler: RealTime, medium: Medium, until: float, heed: Callable[[], None]) -> None:
        """Frames from the devices into the medium and what is due out of it, up to `until` s."""
        self._carrying = medium
        poll, channel = self._plan.poll, self._channel.fileno()
        sleeper = [poll.fileno()]  # select() takes microseconds, epoll's own wait only milliseconds
        while self._running and scheduler.elapsed() < until:
            scheduler.advance(until)
            due = scheduler.due()
            wait = min(until if due is None else due, until) - scheduler.elapsed()
            if wait > 0.0:
                select.select(sleeper, (), (), min(wait, NAP))
            ready = poll.poll(0)
            if ready:
                scheduler.advance(until)
            for descriptor, _ in ready:
                if descriptor == channel:
                    heed()
                else:
                    self._read(descriptor)
        scheduler.advance(until)

    def _read(self, descriptor: int) -> None:
        """What there is at a host's device, a batch of it."""
        host, take = self._hosts[descriptor], self._take
        try:
            for _ in range(BATCH):
                take(host, read(descriptor, LONGEST))
        except BlockingIOError:
            pass
        except OSError:
            if host in self.devices.ports:
                self.devices.gone.setdefault(host, self.scheduler.elapsed())
            else:  # the interface has been removed, which its host's kernel tells the supervisor
                self._plan.poll.unregister(descriptor)

    def _take(self, host: int, frame: bytes) -> None:
        """A frame that a host's kernel sends."""
        if host in self.devices.ports and not self._heard_device(host, frame):
            return
        if len(frame) > port.LONGEST:
            self.refused += 1
            return
        to = self._addressee(frame)
        if to is None and self.scheduler.time > 0.0 and _is_ours(frame, _LATER_FRAGMENT):
            self._plan.nodes[host].words[TAKEN] += 1
        if to != host:
            self._carrying.transmit(host, to, frame)

    def _heard_device(self, host: int, frame: bytes) -> bool:
        """An Ethernet frame came in from a real device; whether it may go on."""
        if len(frame) > port.LONGEST:
            self.refused += 1
            return False
        self.devices.heard(host, frame[6:12])
        return True

    def _addressee(self, address: bytes) -> int | None:
        """Whom a frame is for that begins with this address: a host, None for a group, NOBODY for a stranger."""
        to = addresses.host_of(address, self._plan.hosts)
        if to is not None and self._given:
            to = self._given.get(bytes(address[:6]), addresses.NOBODY if to in self._given.values() else to)
        return self.devices.host_of(address[:6], to) if to == addresses.NOBODY else to

    def _deliver(self, receiver: int, sender: int, frame: bytes) -> None:
        try:
            write(self._taps[receiver], frame)
        except OSError:
            self.refused += 1
            return
        self._unhandled[receiver] += frame[12:14] not in KNOWN
        if self.scheduler.time > 0.0 and _is_ours(frame, _FRAGMENT):
            self._plan.nodes[receiver].words[REACHED] += 1

    def _discard(self) -> None:
        """What the kernels sent before the run began is none of it."""
        for host, tap in enumerate(self._taps):
            try:
                while True:
                    self._refuse(host, read(tap, LONGEST))
            except OSError:
                continue

    def _refuse(self, host: int, frame: bytes) -> None:
        """A frame that nobody is to receive."""

    def _heed(self) -> None:
        """What the supervisor says of the hosts."""
        order = self._channel.receive()
        if order is None or "end" in order:
            self._running = False
            return
        host, fields = order["host"], order["fields"]
        if "record" in order:  # before what follows from it, as in the simulator
            self._record(order["record"], host=host, **fields)
        self._act(order["do"], host, fields)

    def _act(self, what: str, host: int, fields: dict[str, object]) -> None:
        """A radio is on while the scenario has its host up and its interface is not down."""
        if what == "station":
            self._given = {known: other for known, other in self._given.items() if other != host}
            self._given.setdefault(bytes.fromhex(fields["address"].replace(":", "")), host)
        elif what == "name":
            self._names[host] = fields["name"]
        elif what == "unplug":
            self._unplugged.add(host)
            self._disturbed.add(host)
            self._switch_interface(host, False)
        elif what == "plug":
            self._unplugged.discard(host)
            if host in self._up:
                self._switch_interface(host, True)
        elif what == "up":
            self._up.add(host)
            if host not in self._unplugged:
                self.medium.host_up(host)
        elif what in ("leave", "down"):
            self._up.discard(host)
            (self.medium.host_leaves if what == "leave" else self.medium.host_down)(host)

    def _switch_interface(self, host: int, on: bool) -> None:
        """An interface was put on or off inside its host."""
        (self.medium.host_up if on else self.medium.host_down)(host)

    def drops(self) -> dict[str, object]:
        """What the kernels of all hosts dropped: datagrams at full sockets, frames at full devices."""
        sockets, devices = [0] * len(self._spaces), 0
        for host, space in enumerate(self._spaces):
            if space < 0:
                continue  # a real device's host
            kernel.setns(space, kernel.CLONE_NEWNET)
            snmp = [line.split()[1:] for line in Path("/proc/self/net/snmp").read_text().splitlines()
                    if line.startswith("Udp:")]
            sockets[host] = int(dict(zip(*snmp, strict=True)).get("RcvbufErrors", 0))
            if host not in self._disturbed:  # an interface that goes down drops what is on its way, and late is nobody
                with suppress(OSError):  # removed in the last moment
                    devices += max(self._dropped(self._names.get(host, addresses.INTERFACE)) - self._unhandled[host], 0)
        return {"socket_drops": sum(sockets), "device_drops": devices, "socket_drops_of": sockets}

    def _dropped(self, interface: str) -> int:
        """Frames that the device of this name in this namespace dropped in both directions. Raises OSError."""
        for line in Path("/proc/self/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == interface:
                numbers = counts.split()
                return int(numbers[3]) + int(numbers[11])
        return 0


def _is_ours(frame: bytes, cut: int) -> bool:
    """Whether an Ethernet frame holds a datagram of our nodes; `cut`: what tells of a fragment that is none."""
    return (frame[36:38] == _OUR_PORT and frame[12:14] == b"\x08\x00" and frame[23] == _UDP
            and not int.from_bytes(frame[20:22]) & cut)


def run(plan: Plan, taps: list[int], spaces: list[int], channel: Channel) -> None:
    """The life of the medium's process, as the supervisor orders it."""
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    kernel.wake_on_time()
    air = plan.fabric.air(plan, taps, spaces, channel)
    report: dict[str, object] = {"priority": kernel.prefer()}
    while "began" not in (order := channel.receive() or {"began": None}):
        air.probing(order["probe"])
    if order["began"] is None:
        return  # the run ended before it began
    setting_up = time.process_time()
    try:
        air.run(order["began"], order["epoch"])
    except DiskFull as error:
        report["disk_full"] = str(error)
    processor = time.process_time() - setting_up
    report |= {"receptions": air.medium.receptions, "ended": air.scheduler.now(), "tap_refused": air.refused,
               "ports": air.devices.told(), "disturbances": air.devices.disturbances(), **air.drops()}
    channel.send({"report": {**report, "processor": processor, "whole_processor": time.process_time()}})
    while channel.receive(LEAVES):
        pass  # the hosts have their interfaces until their programs have ended, and the channel is closed
