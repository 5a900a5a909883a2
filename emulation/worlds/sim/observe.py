"""A run in `sim` that leaves nothing behind: whoever asked for it gets every record as it is made.

For sweeps of many runs, where run directories would be written only to be read once. What happens is what
happens in a run with a directory: the records are the same, in the same order (tests/emulation/test_observe.py).
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from emulation.clock import Clock
from emulation.runner import check
from emulation.worlds.sim.involvement import Involvement
from emulation.worlds.sim.world import Simulated, few_collections
from node.broker import Broker
from topologies import Scenario

Listener = Callable[[float, int, str, dict[str, Any]], None]  # t (s, to the microsecond), node (-1: the world), kind, fields


def observe(scenario: Scenario, listener: Listener, involvement: Involvement | None = None) -> None:
    """Run a scenario (topologies.Scenario) in virtual time; nothing is written, nothing captured.

    `involvement` learns which brokers each change of the tree involves. Raises WorkloadError, mobility.TraceError and
    mobility.TooDense.
    """
    check(scenario)
    clock = Clock()
    make = Broker if involvement is None else involvement.broker
    with few_collections():
        simulated = Simulated(scenario, scenario.movement(), _Told(clock, listener), clock, make_broker=make)
        clock.run(scenario.run.duration)
        simulated.simulation.flush_records()


class _Told:
    """In place of a run directory."""

    def __init__(self, clock: Clock, listener: Listener) -> None:
        self._clock = clock
        self._listener = listener

    def world_records(self) -> Callable[..., None]:
        return partial(self._record, -1)

    def node_records(self, node: int) -> Callable[..., None]:
        return partial(self._record, node)

    def flush(self) -> None:
        """There is nothing to write."""

    def _record(self, node: int, kind: str, **fields: object) -> None:
        self._listener(round(self._clock.time, 6), node, kind, fields)
