"""Scenarios in `sim` whose numbers alone are kept: no run directory, no captures, no Spark.

The numbers are those that `roamcast run` would have printed (analysis/tally.py).
"""
from __future__ import annotations

import math
import time
from typing import Any

import topologies
from analysis.tally import Known, Tally
from emulation import runner
from emulation.worlds.sim.involvement import Involvement
from emulation.worlds.sim.observe import observe
from topologies import Scenario


class MeasureError(Exception):
    """Parameters that make no scenario to be measured; str() is one sentence."""


def only_sim(world: str) -> None:
    """Raises MeasureError for another world."""
    if world != "sim":
        raise MeasureError(f'run.world: found "{world}"; measure takes "sim"')


class Measure:
    """Runs, one after the other; those with the same movement share the physical bound."""

    def __init__(self) -> None:
        self._known = Known()

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        """values: dotted keys of the scenario -> what they are. Raises MeasureError and what a scenario's checks raise."""
        scenario = topologies.build(tables_of(values))
        only_sim(scenario.run.world)
        notes = list(runner.notes(scenario))
        return {"parameters": values} | self.measured(scenario) | ({"notes": notes} if notes else {})

    def measured(self, scenario: Scenario) -> dict[str, Any]:
        """`numbers` (nan as null), `records` by kind, `involved`: brokers of each link lost from the warm-up on, `cpu` in s."""
        began = time.process_time()
        tally = Tally(scenario)
        involvement = None if tally.treeless else Involvement()
        observe(scenario, tally.record, involvement)
        numbers = {key: None if math.isnan(value) else value for key, value in tally.numbers(self._known).items()}
        return {"numbers": numbers, "records": dict(sorted(tally.counts.items())), "link_messages": numbers["messages"],
                "involved": involvement.lost(scenario.run.warm_up) if involvement else [],
                "cpu": round(time.process_time() - began, 3)}


def tables_of(values: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as the tables of a scenario. Raises MeasureError for keys that shut each other out."""
    tables: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        table = tables
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise MeasureError(f"{key}: {section!r} is also given as a value; give one of them")
        if last in table:
            raise MeasureError(f"{key}: also given as a table; give one of them")
        table[last] = value
    return tables
