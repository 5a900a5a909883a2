"""The process between all hosts, whatever carries their frames: what it does in every world in real time.

It keeps the run's time, does what the supervisor says of the hosts' radios, writes down who is in range of whom, writes files
out, and counts what kernels dropped. What carries the frames is the world's (emulation.realtime.plan.Carrier).
"""
from __future__ import annotations

import gc
import select
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from emulation.linux import kernel
from emulation.realtime.channel import Channel
from emulation.realtime.clock import RealTime
from emulation.realtime.fidelity import NEIGHBORS
from emulation.realtime.plan import Plan, Setting
from emulation.realtime.stations import Stations
from emulation.records import DiskFull, Flushable, RecordWriter, flush_all
from topologies.faults import LinkFault

NAP = 0.5  # s of sleep at most
TICK = 1.0  # s between two records of the traffic
FLUSH = 0.01  # s between two files that are written out, one at a time
LEAVES = 60.0  # s that the hosts' programs have to end
GC_THRESHOLD = 50_000


class Drops(NamedTuple):
    """What kernels dropped: datagrams at each host's full sockets, frames at its device."""

    sockets: list[int]
    devices: list[int]


class MediumProcess:
    """What the process is made of. `ends` and `spaces` by host: descriptors of its wlan0's other end and its namespace."""

    def __init__(self, plan: Plan, ends: list[int], spaces: list[int], channel: Channel) -> None:
        self._plan = plan
        self._spaces = spaces
        self._channel = channel
        self._up = set(range(plan.hosts)) - plan.late()  # hosts whose radios are on by the scenario
        self._running = True
        self.scheduler = RealTime()
        self.stations = Stations(plan.hosts, plan.ports)
        world = RecordWriter(plan.path / "world.jsonl", -1, self.scheduler.now)
        self._record = world.record
        self.carrier = plan.fabric.carrier(Setting(plan, ends, spaces, self.stations, self.scheduler, world.record))
        self._files: list[Flushable] = [world, *self.carrier.files()]
        self._before = Drops([0] * plan.hosts, [0] * plan.hosts)
        plan.poll.register(channel.fileno(), select.EPOLLIN)

    def probing(self, until: float) -> None:
        """Carry the probes of the self-check, with the hosts where they are at time 0."""
        scheduler = RealTime()
        self.carrier.probing(scheduler)
        scheduler.began = time.monotonic()
        self._carry(scheduler, until - scheduler.began, lambda: None)

    def run(self, began: float, epoch: float) -> None:
        """Carry the run's frames from `began` (of the monotonic clock; `epoch` of the wall clock) to its
        end. Raises DiskFull."""
        scheduler, carrier = self.scheduler, self.carrier
        self._before = self._dropped()
        scheduler.call_at(0.0, self._start)
        carrier.begin(epoch)
        scheduler.call_at(FLUSH, partial(self._flush, 0))
        time.sleep(max(began - time.monotonic(), 0.0))
        carrier.discard()
        scheduler.began = began
        try:
            self._carry(scheduler, self._plan.scenario.run.duration, self._heed)
        finally:
            carrier.end()
            carrier.air.record_traffic()
            flush_all(self._files)

    def report(self) -> dict[str, Any]:
        """What the supervisor is told when the run is over."""
        now, before = self._dropped(), self._before
        sockets, devices = ([max(count - first, 0) for count, first in zip(*both, strict=True)]
                            for both in zip(now, before, strict=True))
        return {"receptions": self.carrier.air.receptions, "ended": self.scheduler.now(), "tap_refused": self.carrier.refused,
                "ports": self.stations.told(), "disturbances": self.stations.disturbances(), "socket_drops": sum(sockets),
                "device_drops": sum(devices), "socket_drops_of": sockets, **self.carrier.told()}

    # ---- running ---------------------------------------------------------------------------------
    def _start(self) -> None:
        late = self._plan.late()
        for host in range(self._plan.hosts):
            if host not in late:
                self._record("host_up", host=host, epoch=1)
        for fault in self._plan.scenario.faults:
            if isinstance(fault, LinkFault):
                action = getattr(self.carrier.air.neighborhood, fault.action)
                self.scheduler.call_at(fault.at, partial(action, *fault.link))
        self.scheduler.call_at(TICK, self._tick)

    def _tick(self) -> None:
        air = self.carrier.air
        air.record_traffic()
        for host, tally in enumerate(self._plan.nodes):
            tally.words[NEIGHBORS] = len(air.neighborhood.of[host])
        self.scheduler.call_at(self.scheduler.now() + TICK, self._tick)

    def _flush(self, turn: int) -> None:
        self._files[turn % len(self._files)].flush()
        self.scheduler.call_at(self.scheduler.elapsed() + FLUSH, partial(self._flush, turn + 1))

    def _carry(self, scheduler: RealTime, until: float, heed: Callable[[], None]) -> None:
        """What comes from the hosts, and what is due by time, up to `until` s."""
        poll, channel, take = self._plan.poll, self._channel.fileno(), self.carrier.read
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
                    take(descriptor)
        scheduler.advance(until)

    # ---- what the supervisor says ----------------------------------------------------------------
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

    def _act(self, what: str, host: int, fields: dict[str, Any]) -> None:
        """A radio is on while the scenario has its host up and its interface is not down."""
        stations, air = self.stations, self.carrier.air
        if what == "station":
            stations.give(host, bytes.fromhex(fields["address"].replace(":", "")))
        elif what == "name":
            stations.rename(host, fields["name"])
        elif what == "unplug":
            stations.unplug(host)
            self.carrier.switch_interface(host, False)
        elif what == "plug":
            stations.plug(host)
            if host in self._up:
                self.carrier.switch_interface(host, True)
        elif what == "up":
            self._up.add(host)
            if host not in stations.unplugged:
                air.host_up(host)
        elif what in ("leave", "down"):
            self._up.discard(host)
            (air.host_leaves if what == "leave" else air.host_down)(host)

    # ---- what was lost ---------------------------------------------------------------------------
    def _dropped(self) -> Drops:
        """What the kernels of all hosts have dropped so far."""
        drops = Drops([0] * len(self._spaces), [0] * len(self._spaces))
        for host, space in enumerate(self._spaces):
            if space < 0:
                continue  # a real device's host
            kernel.setns(space, kernel.CLONE_NEWNET)
            snmp = [line.split()[1:] for line in Path("/proc/self/net/snmp").read_text().splitlines()
                    if line.startswith("Udp:")]
            drops.sockets[host] = int(dict(zip(*snmp, strict=True)).get("RcvbufErrors", 0))
            if host not in self.stations.disturbed:  # an interface that goes down drops what is on its way, and late is nobody
                with suppress(OSError):  # removed in the last moment
                    drops.devices[host] = self.carrier.dropped(host, self.stations.name(host))
        return drops


def run(plan: Plan, ends: list[int], spaces: list[int], channel: Channel) -> None:
    """The life of the medium's process, as the supervisor orders it."""
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    kernel.wake_on_time()
    process = MediumProcess(plan, ends, spaces, channel)
    report: dict[str, Any] = {"priority": kernel.prefer()}
    while "began" not in (order := channel.receive() or {"began": None}):
        process.probing(order["probe"])
    if order["began"] is None:
        return  # the run ended before it began
    setting_up = time.process_time()
    try:
        process.run(order["began"], order["epoch"])
    except DiskFull as error:
        report["disk_full"] = str(error)
    processor = time.process_time() - setting_up
    channel.send({"report": {**report, **process.report(), "processor": processor, "whole_processor": time.process_time()}})
    while channel.receive(LEAVES):
        pass  # the hosts have their interfaces until their programs have ended, and the channel is closed
