"""A run in virtual time: the simulation, its workload and its faults, wired together, and how fast it went."""
from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

import mobility
from emulation import devices
from emulation.capture import Captures
from emulation.clock import Clock
from emulation.records import AppendOnly
from emulation.rundir import RunDirectory
from emulation.workload import Workload
from emulation.world import Progress, Report, Say, WorldError, joining_late
from emulation.worlds.sim.simulation import Simulation
from node import wire
from node.broker import Broker
from node.config import NodeConfig
from node.journal import JournaledBroker
from topologies import Scenario, publications
from topologies.faults import HostFault, LinkFault

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z: the wall clock of virtual time 0, in captures
TICK = 1.0  # s between two records of the medium's traffic, and two reports of progress
FLUSH = 10.0  # s of virtual time after which all records are written out
GC_THRESHOLD = 50_000  # allocations between two collections; a run makes few cycles


class Recorders(Protocol):
    """What takes the records of a simulated run: a RunDirectory, or what offers the same."""

    def world_records(self) -> Callable[..., None]: ...
    def node_records(self, node: int) -> Callable[..., None]: ...
    def flush(self) -> None: ...


class Simulated:
    """Everything that a run in `sim` is made of, wired together and set to begin at time 0."""

    def __init__(self, scenario: Scenario, movement: mobility.Movement, recorders: Recorders, clock: Clock,
                 progress: Report | None = None, make_broker: Callable[..., Broker] = Broker,
                 captures: Captures | None = None) -> None:
        hosts = len(movement)
        self._clock = clock
        self._recorders = recorders
        self._duration = scenario.run.duration
        self._progress = progress
        late, roaming = joining_late(scenario.faults), frozenset(scenario.workload.roam)
        self.simulation = Simulation(
            movement, scenario.radio, NodeConfig(**scenario.node.model_dump()), scenario.run.seed,
            self._duration, [recorders.node_records(host) for host in range(hosts)],
            recorders.world_records(), capture=captures, clock=clock,
            make_broker=devices.maker(scenario.run.seed, roaming, make_broker), off=late)
        self.workload = Workload(clock, scenario.workload, hosts, scenario.run.seed, self._duration,
                                 self.simulation.brokers.__getitem__, log=publications.of(scenario))
        self.simulation.started.append(self.workload.started)
        for host in range(hosts):
            if host not in late:
                clock.call_at(0.0, partial(self.simulation.start, host))
        for fault in scenario.faults:
            clock.call_at(fault.at, partial(self._strike, fault))
        self._tick()

    def _strike(self, fault: HostFault | LinkFault) -> None:
        if isinstance(fault, HostFault):
            getattr(self.simulation, fault.action)(fault.host)
        else:
            getattr(self.simulation.medium.neighborhood, fault.action)(*fault.link)

    def _tick(self) -> None:
        """Every second of the run: the medium's record, progress; now and then all goes to the disk."""
        now = self._clock.time
        if now > 0.0:
            self.simulation.medium.record_traffic()
            if round(now) % FLUSH == 0:
                self._recorders.flush()
        if self._progress is not None:
            self._progress(Progress(now, self._duration, self.workload.counts.published, self.workload.counts.delivered))
        self._clock.call_at(now + TICK, self._tick)


class SimRun:
    """emulation.world.Run."""

    def __init__(self, scenario: Scenario, movement: mobility.Movement, progress: Report | None) -> None:
        self._scenario, self._movement, self._progress = scenario, movement, progress
        self._clock = Clock()
        self._simulated: Simulated | None = None
        self._began = time.perf_counter()
        self.now = self._clock.now

    @property
    def begun(self) -> bool:
        return self._simulated is not None

    @property
    def stopping(self) -> bool:
        return self._clock.stopping

    @stopping.setter
    def stopping(self, wanted: bool) -> None:
        self._clock.stopping = wanted

    def run(self, directory: RunDirectory) -> None:
        try:
            with few_collections():
                self._simulated = self._made(directory)
                self._clock.run(self._scenario.run.duration)
                self._simulated.simulation.flush_records()
        except mobility.TooDense as error:
            raise WorldError(str(error)) from None

    def _made(self, directory: RunDirectory) -> Simulated:
        scenario, hosts = self._scenario, len(self._movement)
        captures = directory.captures(hosts, wire.PORT, EPOCH, scenario.run.capture_most) if scenario.run.capture else None
        make_broker: Callable[..., Broker] = Broker
        if scenario.run.journal:
            make_broker = _journaling({host: directory.journal(host) for host in range(hosts)
                                       if host not in scenario.workload.roam})
        return Simulated(scenario, self._movement, directory, self._clock, self._progress, make_broker, captures)

    def told(self) -> dict[str, object]:
        """Virtual time is never late; what there is to tell is how fast it went."""
        seconds, made = time.perf_counter() - self._began, self._simulated
        fidelity = {"real_time": False, "speed": round(self._clock.time / seconds, 2), "run_seconds": round(seconds, 3),
                    "actions": self._clock.actions, "receptions": made.simulation.medium.receptions if made else 0}
        return {"fidelity": fidelity, "epoch": EPOCH, "workload": {"published": made.workload.counts.published, "delivered": made.workload.counts.delivered} if made else {}}


class Sim:
    """emulation.world.World."""

    def check(self, scenario: Scenario) -> None:
        """Any machine can."""

    def prepare(self, scenario: Scenario, movement: mobility.Movement, progress: Report | None, say: Say) -> SimRun:
        return SimRun(scenario, movement, progress)


WORLD = Sim()


def _journaling(journals: dict[int, AppendOnly]) -> Callable[..., Broker]:
    """Makes brokers that write their inputs to their hosts' journals, all lives of a node in one file."""
    return lambda host, *rest: JournaledBroker(journals[host], host, *rest)


@contextmanager
def few_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
