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
from collections.abc import Callable
from functools import partial
from os import read, write

from emulation import addresses
from emulation.capture import ETHERNET, file_header
from emulation.linux import kernel, port
from emulation.linux.sniffer import Ring
from emulation.medium import propagation_of
from emulation.neighborhood import Neighborhood
from emulation.realtime import medium
from emulation.realtime.channel import Channel
from emulation.realtime.plan import Plan
from emulation.records import AppendOnly, RecordWriter
from emulation.worlds.hwsim import radio
from emulation.worlds.mininet import loop, station
from emulation.worlds.mininet.replay import Replay

STEP = 0.1  # s between two places of a station
LEAVING = 0.1  # s for what a host that stops has sent last to leave its radio
_HEAD = struct.Struct("<IIII")  # of a pcap file's record


class NetworkEnded(kernel.Unsupported):
    """Mininet-WiFi or wmediumd went away in the midst of a run; str() is one sentence."""


class Truth:
    """What a medium of ours knows: who is in range of whom, whose radio is on. It carries nothing."""

    def __init__(self, scheduler, plan: Plan, record: Callable[..., None], switch: Callable[[int, bool], None]) -> None:
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


class Air(medium.Air):
    """The process in the medium's place."""

    def __init__(self, plan: Plan, rings: list[int], spaces: list[int], channel: Channel) -> None:
        self._network = plan.network
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._replay = Replay(plan.movement)
        self._replay.moved(0.0)  # where they were made
        self._asked: list[float] = []  # s, when the places were due that are being told
        self._missed: list[float] = []  # s, when further ones were, while that took too long
        self._from = 0  # ns since 1970: the run's begin, before which nothing is captured
        self._captured: list[AppendOnly] = []
        super().__init__(plan, rings, spaces, channel)
        self._rings = {ring: Ring(socket.socket(fileno=ring), station.BLOCKS) for ring in rings}
        self._behind: dict[int, int] = {}  # the descriptor of a port -> its host
        self._ports: dict[int, int] = {}
        for host, interface in plan.ports.items():
            kernel.setns(spaces[host], kernel.CLONE_NEWNET)
            self._ports[host] = opened = port.open_port(interface)
            self._behind[opened] = host
            plan.poll.register(opened, select.EPOLLIN)
        plan.poll.register(self._network.fileno(), select.EPOLLIN)
        for host in plan.late():
            self._switch(host, False)

    def probing(self, until: float) -> None:
        """wmediumd carries the probes."""
        time.sleep(max(until - time.monotonic(), 0.0))

    def run(self, began: float, epoch: float) -> None:
        """Watch the run from `began` (of the monotonic clock; `epoch` of the wall clock) to its end. Raises DiskFull."""
        self._from = round(epoch * 1e9)
        self._before = super().drops()
        try:
            super().run(began, epoch)
        finally:
            self._told([*self._asked, *self._missed])  # what was never done is as late as the end
            for host, interface in self._plan.ports.items():
                kernel.setns(self._spaces[host], kernel.CLONE_NEWNET)
                loop.back(interface, self._home)

    def drops(self) -> dict[str, object]:
        """What was dropped since the run began, and what the captures lack."""
        now, before = super().drops(), self._before
        each = [count - first for count, first in zip(now["socket_drops_of"], before["socket_drops_of"], strict=True)]
        dropped = {name: max(now[name] - before[name], 0) for name in ("socket_drops", "device_drops")}
        return {**dropped, "socket_drops_of": each, "capture_drops": sum(ring.dropped for ring in self._rings.values())}

    # ---- making ----------------------------------------------------------------------------------
    def _late(self) -> Callable[[float], None]:
        return lambda seconds: None  # this process carries no frames: its lateness is not the medium's

    def _medium(self) -> Truth:
        plan = self._plan
        world = RecordWriter(plan.path / "world.jsonl", -1, self.scheduler.now)
        if plan.scenario.run.capture:
            head = file_header(ETHERNET)
            self._captured = [AppendOnly(plan.path / "captures" / f"{host}.pcap", head) for host in range(plan.hosts)]
        self._files += [world, *self._captured]
        self._record = world.record
        return Truth(self.scheduler, plan, world.record, self._switch)

    # ---- running ---------------------------------------------------------------------------------
    def _start(self) -> None:
        super()._start()
        self._step()

    def _beat(self) -> None:
        """Of a medium of ours."""

    def _step(self) -> None:
        """The stations are to be where the trace has them."""
        now = self.scheduler.now()
        if self._asked:
            self._missed.append(now)
        else:
            self._tell([now])
        self.scheduler.call_at(now + STEP, self._step)

    def _tell(self, due: list[float]) -> None:
        self._asked = due
        self._send({"at": self._replay.moved(self.scheduler.elapsed())})

    def _told(self, due: list[float]) -> None:
        for at in due:
            self._plan.positions.late(self.scheduler.elapsed() - at, at)

    def _switch(self, host: int, on: bool) -> None:
        self._send({"radio": [host, on]})

    def _switch_interface(self, host: int, on: bool) -> None:
        """As its host did itself: the network has nothing to switch."""
        (self.medium.neighborhood.up if on else self.medium.neighborhood.down)(host)

    def _send(self, message: dict) -> None:
        self._network.send(message)  # that it has ended is heard when its answer is read

    def _read(self, descriptor: int) -> None:
        if descriptor == self._network.fileno():
            self._hear_network()
        elif descriptor in self._behind:
            self._from_device(self._behind[descriptor], descriptor)
        else:
            self._from_ring(self._hosts[descriptor], descriptor)

    def _discard(self) -> None:
        for descriptor, ring in self._rings.items():
            self._read(descriptor)
            ring.dropped = 0

    def _hear_network(self) -> None:
        answer = self._network.receive()
        if answer is None or "failed" in answer:
            raise NetworkEnded((answer or {}).get("failed", "Mininet-WiFi's process was killed"))
        if answer["done"] is None:
            self._told(self._asked)
            due, self._asked, self._missed = self._missed, [], []
            if due:
                self._tell(due)
        elif answer["done"][1] and answer["done"][0] not in self._ports:  # a radio went on; its IPv6 addresses went with it
            host = answer["done"][0]
            if host in self._unplugged:
                return  # its interface is gone, or was put down by hand
            kernel.setns(self._spaces[host], kernel.CLONE_NEWNET)
            station.address(self._plan, host)

    def _from_ring(self, host: int, descriptor: int) -> None:
        """What a station's interface has seen."""
        begun = self._from
        own = next((station for station, other in self._given.items() if other == host), addresses.mac(host))
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
                self.medium.receptions += 1
                if device is not None:
                    self._pass(device, data)

    def _from_device(self, host: int, descriptor: int) -> None:
        """What a real device sends goes out by its station's radio, if it has that one's address."""
        try:
            for _ in range(medium.BATCH):
                frame = read(descriptor, medium.LONGEST)
                if frame[6:12] != addresses.mac(host) or len(frame) > port.LONGEST:
                    self.devices.heard(host, frame[6:12])
                    self.refused += 1
                    continue
                self.devices.heard(host, frame[6:12])
                self._pass(self._taps[host], frame)
                if self._captured and self._from:  # a socket does not see what it sends itself
                    stamp = divmod(time.time_ns(), 1_000_000_000)
                    self._captured[host].append(_HEAD.pack(*stamp, len(frame), len(frame)) + frame)
        except BlockingIOError:
            pass
        except OSError:
            self.devices.gone.setdefault(host, self.scheduler.elapsed())

    def _pass(self, descriptor: int, frame: bytes) -> None:
        try:
            write(descriptor, frame)
        except OSError:
            self.refused += 1

    def _dropped(self, interface: str) -> int:
        return super()._dropped(interface) + radio.dropped(interface)
