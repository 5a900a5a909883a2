"""What a world is to the rest: it can be asked whether it holds a scenario here, and makes runs of it.

`emulation.runner` runs them; `emulation.worlds` has the table of all worlds by name.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from emulation.rundir import RunDirectory
from mobility import Movement
from topologies import Scenario
from topologies.faults import HostFault, LinkFault


class Progress(NamedTuple):
    """How far a run is, in s of its own time, and the events so far."""

    now: float
    duration: float
    published: int
    delivered: int
    hosts: list[dict[str, object]] | None = None  # what each one does, where somebody watches a run in real time


Report = Callable[[Progress], None]
Say = Callable[[str], None]


class WorldError(Exception):
    """The world cannot hold this run, or failed during it; str() is one sentence."""


class Run(Protocol):
    """One run of a scenario, from its begin to its end."""

    stopping: bool  # somebody wants it to end in order; set by a signal's handler

    @property
    def begun(self) -> bool:
        """Whether there is something to analyse."""

    def now(self) -> float:
        """How far it is, in s of its own time."""

    def run(self, directory: RunDirectory) -> None:
        """To its end, or until `stopping`. Raises WorldError and DiskFull."""

    def told(self) -> dict[str, object]:
        """What the manifest is to say of it: its epoch, fidelity and workload among others."""


class World(Protocol):
    """Where nodes run."""

    def check(self, scenario: Scenario) -> None:
        """Before anything has started: what this machine cannot hold. Raises WorldError."""

    def prepare(self, scenario: Scenario, movement: Movement, progress: Report | None, say: Say) -> Run:
        """A run that has not begun. `progress` hears of every second of it, `say` what a person should know before."""


def joining_late(faults: Iterable[HostFault | LinkFault]) -> set[int]:
    """Hosts whose first fault is `start`: they are not there before it."""
    first: dict[int, str] = {}
    for fault in sorted(faults, key=lambda fault: fault.at):
        if isinstance(fault, HostFault):
            first.setdefault(fault.host, fault.action)
    return {host for host, action in first.items() if action == "start"}
