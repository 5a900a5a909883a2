"""In the medium's place, where wmediumd carries the frames: it moves the stations, captures, and knows who is in range.

Each tenth of a second the stations are told their places of that instant; how late that was done is the fidelity of the
positions. How late wmediumd is with its frames nobody can ask it; what it lost, because it did not read in time, the radios
have counted. Who is in range of whom is written down as in the other worlds, from the trace and the scenario's range.
"""
from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterable
from functools import partial
from os import read, write
from typing import Any

from emulation import addresses
from emulation.capture import ETHERNET, file_header
from emulation.linux import kernel, port
from emulation.linux.sniffer import Ring
from emulation.medium import propagation_of
from emulation.neighborhood import Neighborhood
from emulation.realtime.carrier import BATCH, LONGEST, device_drops
from emulation.realtime.channel import Channel
from emulation.realtime.clock import RealTime
from emulation.realtime.plan import Plan, Setting
from emulation.records import AppendOnly
from emulation.scheduler import Scheduler
from emulation.worlds.hwsim import radio
from emulation.worlds.mininet import loop, station
from emulation.worlds.mininet.replay import Replay

STEP = 0.1  # s between two places of a station
LEAVING = 0.1  # s for what a host that stops has sent last to leave its radio
_HEAD = struct.Struct("<IIII")  # of a pcap file's record


class NetworkEnded(kernel.Unsupported):
    """Mininet-WiFi or wmediumd went away during a run; str() is one sentence."""


class Truth:
    """What a medium of ours knows: who is in range of whom, whose radio is on. It carries nothing."""

    def __init__(self, scheduler: Scheduler, plan: Plan, record: Callable[..., None],
                 switch: Callable[[int, bool], None]) -> None:
        """`switch(host, on)` is told of the radios of hosts."""
        scenario = plan.scenario
        propagation = propagation_of(scenario.radio, plan.movement, scenario.run.seed)
        self.neighborhood = Neighborhood(scheduler, plan.movement, propagation, lambda sender, receiver: 0.0, record,
                                         scenario.run.duration, plan.late())
        self.receptions = 0
        self._scheduler = scheduler
        self._switch = switch

    def host_up(self, host: int) -> None:
        self._switch(host, True)
        self.neighborhood.up(host)

    def host_leaves(self, host: int) -> None:
        self._scheduler.call_at(self._scheduler.now() + LEAVING, partial(self.host_down, host))

    def host_down(self, host: int) -> None:
        self._switch(host, False)
        self.neighborhood.down(host)

    def record_traffic(self) -> None:
        """wmediumd does not tell what it carries."""


class Network:
    """Mininet-WiFi's process, as it is asked: one order at a time is on its way, and what comes meanwhile is made up for."""

    def __init__(self, plan: Plan, scheduler: RealTime) -> None:
        assert plan.network is not None  # made by network.begin
        self.channel: Channel = plan.network
        self._replay = Replay(plan.movement)
        self._replay.moved(0.0)  # where they were made
        self._scheduler, self._positions = scheduler, plan.positions
        self._asked: list[float] = []  # s, when the places were due that are being told
        self._missed: list[float] = []  # s, when further ones were, while that took too long

    def step(self) -> None:
        """The stations are to be where the trace has them."""
        now = self._scheduler.now()
        if self._asked:
            self._missed.append(now)
        else:
            self._tell([now])
        self._scheduler.call_at(now + STEP, self.step)

    def switch(self, host: int, on: bool) -> None:
        """A host's radio; as for all orders, that the network has ended is heard when its answer is read."""
        self.channel.send({"radio": [host, on]})

    def heard(self) -> int | None:
        """Take an answer; the host whose radio went on by it. Raises NetworkEnded."""
        answer: dict[str, Any] | None = self.channel.receive()
        if answer is None or "failed" in answer:
            raise NetworkEnded((answer or {}).get("failed", "Mininet-WiFi's process was killed"))
        if answer["done"] is not None:
            host, on = answer["done"]
            return int(host) if on else None
        self._done(self._asked)
        due, self._asked, self._missed = self._missed, [], []
        if due:
            self._tell(due)
        return None

    def end(self) -> None:
        """What was never done is as late as the end."""
        self._done([*self._asked, *self._missed])

    def _tell(self, due: list[float]) -> None:
        self._asked = due
        self.channel.send({"at": self._replay.moved(self._scheduler.elapsed())})

    def _done(self, due: list[float]) -> None:
        for at in due:
            self._positions.late(self._scheduler.elapsed() - at, at)


class Watcher:
    """emulation.realtime.plan.Carrier, which carries nothing but to and from real devices."""

    def __init__(self, setting: Setting) -> None:
        plan, self._setting = setting.plan, setting
        self._scheduler, self._stations, self._spaces = setting.scheduler, setting.stations, setting.spaces
        self.refused = 0
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._from = 0  # ns since 1970: the run's begin, before which nothing is captured
        self._network = Network(plan, setting.scheduler)
        self.air = Truth(setting.scheduler, plan, setting.record, self._network.switch)
        self._captured: list[AppendOnly] = []
        if plan.scenario.run.capture:
            head = file_header(ETHERNET)
            self._captured = [AppendOnly(plan.path / "captures" / f"{host}.pcap", head, plan.scenario.run.capture_most) for host in range(plan.hosts)]
        self._hosts = {descriptor: host for host, descriptor in enumerate(setting.ends)}
        self._rings = {descriptor: Ring(socket.socket(fileno=descriptor), station.BLOCKS) for descriptor in setting.ends}
        self._behind: dict[int, int] = {}  # the descriptor of a port -> its host
        self._ports: dict[int, int] = {}
        for host, interface in plan.ports.items():
            kernel.setns(setting.spaces[host], kernel.CLONE_NEWNET)
            self._ports[host] = opened = port.open_port(interface)
            self._behind[opened] = host
        for descriptor in (*setting.ends, *self._behind, self._network.channel.fileno()):
            plan.poll.register(descriptor, select.EPOLLIN)
        for host in plan.late():
            self._network.switch(host, False)

    def probing(self, scheduler: RealTime) -> None:
        """wmediumd carries the probes."""

    def begin(self, epoch: float) -> None:
        self._from = round(epoch * 1e9)
        self._scheduler.call_at(0.0, self._network.step)

    def discard(self) -> None:
        for descriptor, ring in self._rings.items():
            self.read(descriptor)
            ring.dropped = 0

    def read(self, descriptor: int) -> None:
        if descriptor == self._network.channel.fileno():
            self._hear_network()
        elif descriptor in self._behind:
            self._from_device(self._behind[descriptor], descriptor)
        else:
            self._from_ring(self._hosts[descriptor], descriptor)

    def switch_interface(self, host: int, on: bool) -> None:
        """As its host did itself: the network has nothing to switch."""
        (self.air.neighborhood.up if on else self.air.neighborhood.down)(host)

    def end(self) -> None:
        self._network.end()
        for host, interface in self._setting.plan.ports.items():
            kernel.setns(self._spaces[host], kernel.CLONE_NEWNET)
            loop.back(interface, self._home)

    def files(self) -> Iterable[AppendOnly]:
        return self._captured

    def dropped(self, host: int, interface: str) -> int:
        return device_drops(interface) + radio.dropped(interface)

    def told(self) -> dict[str, int]:
        """What the captures lack."""
        return {"capture_drops": sum(ring.dropped for ring in self._rings.values())}

    # ---- what comes in ---------------------------------------------------------------------------
    def _hear_network(self) -> None:
        host = self._network.heard()
        if host is None or host in self._ports or host in self._stations.unplugged:  # gone, or put down by hand
            return
        kernel.setns(self._spaces[host], kernel.CLONE_NEWNET)  # its radio went on; its IPv6 addresses went with it
        station.address(self._setting.plan, host)

    def _from_ring(self, host: int, descriptor: int) -> None:
        """What a station's interface has seen."""
        begun = self._from
        own = self._stations.own(host)
        file = self._captured[host] if self._captured else None
        device, ring = self._ports.get(host), self._rings[descriptor]
        ring.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # it is told, again and again, that the interface is down
        for head, data in ring.records():
            seconds, nanoseconds = struct.unpack_from("<II", head)
            if not begun or seconds * 1_000_000_000 + nanoseconds < begun:
                continue
            if file is not None:
                file.append(head + data)
            if data[6:12] != own:
                self.air.receptions += 1
                if device is not None:
                    self._pass(device, data)

    def _from_device(self, host: int, descriptor: int) -> None:
        """What a real device sends goes out by its station's radio, if it has that one's address."""
        try:
            for _ in range(BATCH):
                frame = read(descriptor, LONGEST)
                self._stations.heard(host, frame[6:12])
                if frame[6:12] != addresses.mac(host) or len(frame) > port.LONGEST:
                    self.refused += 1
                    continue
                self._pass(self._setting.ends[host], frame)
                if self._captured and self._from:  # a socket does not see what it sends itself
                    stamp = divmod(time.time_ns(), 1_000_000_000)
                    self._captured[host].append(_HEAD.pack(*stamp, len(frame), len(frame)) + frame)
        except BlockingIOError:
            pass
        except OSError:
            self._stations.went_down(host, self._scheduler.elapsed())

    def _pass(self, descriptor: int, frame: bytes) -> None:
        try:
            write(descriptor, frame)
        except OSError:
            self.refused += 1
