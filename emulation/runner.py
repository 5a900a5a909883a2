"""Runs a scenario in the world it names and leaves a run directory behind.

Ctrl-C stops a run in order: what was recorded is kept. So does a full disk. The second Ctrl-C
does not wait.
"""
from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import mobility
import topologies
from emulation import devices, rundir
from emulation.clock import Clock
from emulation.neighborhood import TRUTH_INTERVAL
from emulation.propagation import LINK_EXISTS
from emulation.records import DiskFull, is_full
from emulation.rundir import RunDirectory
from emulation.workload import Workload, check_workload
from emulation.workload import notes as workload_notes
from emulation.worlds.sim.simulation import Simulation
from node import wire
from node.broker import Broker
from node.config import NodeConfig
from node.journal import JournaledBroker
from topologies.scenario import HostFault

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z: the wall clock of virtual time 0, in captures
TICK = 1.0  # s between two records of the medium's traffic, and two reports of progress
FLUSH = 10.0  # s of virtual time after which all records are written out
GC_THRESHOLD = 50_000  # allocations between two collections; a run makes few cycles


class Progress(NamedTuple):
    """How far a run is, in s of its own time, and the events so far."""

    now: float
    duration: float
    published: int
    delivered: int
    hosts: list[dict] | None = None  # what each one does, where somebody watches a run in real time


class WorldError(Exception):
    """A world that cannot hold this run, or failed in the midst of it; str() is one sentence."""


def check(scenario) -> None:
    """What topologies could not check for want of the node. Raises WorkloadError."""
    check_workload(scenario.workload)


def notes(scenario) -> list[str]:
    """What a person should know of a scenario that is in order (topologies.notes, and what needs the node). Raises
    mobility.TraceError."""
    return [*topologies.notes(scenario), *workload_notes(scenario)]


def run(scenario, out: Path | None = None, progress: Callable[[Progress], None] | None = None,
        say: Callable[[str], None] = lambda sentence: None) -> Path:
    """Run a scenario (topologies.Scenario) to its end, Ctrl-C or a full disk; returns the run directory.

    `manifest.json` there says which of them it was. `progress` is told of every second of the run, `say` of
    what a person should know before a run in real time begins. Raises WorkloadError,
    mobility.TraceError and rundir.RunDirError before anything has started, and WorldError.
    """
    check(scenario)
    if scenario.run.world != "sim":
        from emulation.realtime import caller as world  # Linux only, and needed by nobody else

        return world.run(scenario, out, progress, say)
    movement = scenario.movement()
    clock = Clock()
    path = out or rundir.default_path(scenario.run.name, scenario.run.seed)
    directory = RunDirectory(path, scenario.to_toml("trace.movements.gz"), world=scenario.run.world,
                             now=clock.now, notes=notes(scenario))
    outcome, reason, world = rundir.FAILED, None, None
    began = time.perf_counter()
    try:
        write_trace(movement, path)
        with stop_on_interrupt(clock), few_collections():
            world = World(scenario, movement, directory, clock, progress)
            clock.run(scenario.run.duration)
            world.simulation.flush_records()
        outcome = rundir.INTERRUPTED if clock.stopping else rundir.COMPLETE
    except DiskFull as error:
        outcome, reason = rundir.DISK_FULL, str(error)
    except mobility.TooDense as error:
        reason = str(error)
        raise WorldError(reason) from None
    except KeyboardInterrupt:
        outcome = rundir.INTERRUPTED
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        seconds = time.perf_counter() - began
        directory.finish(outcome, clock.time, reason, fidelity=_fidelity(clock, world, seconds),
                         truth={"link_exists": LINK_EXISTS, "looked_every": TRUTH_INTERVAL},
                         epoch=EPOCH, workload=world.workload.counts() if world else {})
    return path


class World:
    """Everything that a run in `sim` is made of, wired together and set to begin at time 0.

    `directory` takes what is recorded: a RunDirectory, or what offers the same.
    """

    def __init__(self, scenario, movement: mobility.Movement, directory: RunDirectory, clock: Clock,
                 progress: Callable[[Progress], None] | None = None,
                 make_broker: Callable[..., Broker] = Broker) -> None:
        hosts = len(movement)
        self._clock = clock
        self._directory = directory
        self._duration = scenario.run.duration
        self._progress = progress
        captures = directory.captures(hosts, wire.PORT, EPOCH) if scenario.run.capture else None
        late, roaming = joining_late(scenario.faults), frozenset(scenario.workload.roam)
        if scenario.run.journal:
            make_broker = _journaling(directory, [host for host in range(hosts) if host not in roaming])
        self.simulation = Simulation(
            movement, scenario.radio, NodeConfig(**scenario.node.model_dump()), scenario.run.seed,
            self._duration, [directory.node_records(host) for host in range(hosts)],
            directory.world_records(), capture=captures, clock=clock,
            make_broker=devices.maker(scenario.run.seed, roaming, make_broker), off=late)
        self.workload = Workload(clock, scenario.workload, hosts, scenario.run.seed, self._duration,
                                 self.simulation.brokers.__getitem__)
        self.simulation.started.append(self.workload.started)
        for host in range(hosts):
            if host not in late:
                clock.call_at(0.0, partial(self.simulation.start, host))
        for fault in scenario.faults:
            clock.call_at(fault.at, partial(self._strike, fault))
        self._tick()

    def _strike(self, fault) -> None:
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
                self._directory.flush()
        if self._progress is not None:
            self._progress(Progress(now, self._duration, self.workload.published, self.workload.delivered))
        self._clock.call_at(now + TICK, self._tick)


def joining_late(faults) -> set[int]:
    """Hosts whose first fault is `start`: they are not there before it."""
    first: dict[int, str] = {}
    for fault in sorted(faults, key=lambda fault: fault.at):
        if isinstance(fault, HostFault):
            first.setdefault(fault.host, fault.action)
    return {host for host, action in first.items() if action == "start"}


def _journaling(directory: RunDirectory, hosts: Iterable[int]) -> Callable[..., Broker]:
    """Makes brokers that write their inputs to journals/N.journal, all lives of a node in one file."""
    journals = {host: directory.journal(host) for host in hosts}
    return lambda host, *rest: JournaledBroker(journals[host], host, *rest)


def write_trace(movement: mobility.Movement, path: Path) -> None:
    """The movement as it is replayed, into the run directory. Raises DiskFull."""
    try:
        mobility.write(movement, path / "trace.movements.gz", "bonnmotion")
    except mobility.TraceError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and is_full(cause):
            raise DiskFull(f"{error.path.name}: {cause.strerror}") from None
        raise


def _fidelity(clock: Clock, world: World | None, seconds: float) -> dict[str, object]:
    """Virtual time is never late; what there is to tell is how fast it went."""
    return {"real_time": False, "speed": round(clock.time / seconds, 2), "run_seconds": round(seconds, 3),
            "actions": clock.actions, "receptions": world.simulation.medium.receptions if world else 0}


@contextmanager
def stop_on_interrupt(clock) -> Iterator[None]:
    """Ctrl-C or SIGTERM sets `clock.stopping`, which ends the run in order; a second one does what it always does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}

    def stop(*_) -> None:
        clock.stopping = True
        for number, handler in usual.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, stop) for number in usual}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def few_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
