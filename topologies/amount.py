"""Checks of the workload's tables: keys that need each other, distributions that do not fit, more than a run could do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from topologies import publications
from topologies.draws import bounds, mean
from topologies.workload import MOST_PAYLOAD, SHORTEST, Publish, Subscribe, planned_events

if TYPE_CHECKING:
    from topologies.scenario import Scenario

MOST_EVENTS = 100_000_000  # published in a run; each takes some hundred bytes of records
MOST_CHANGES = 10_000_000  # subscriptions and their ends in a run
MOST_BURST = 100_000  # events

Finding = tuple[str, str, str]  # key, what was found, what to do


def of_row(key: str, row: Subscribe | Publish) -> Iterator[Finding]:
    """One table by itself."""
    yield from _cycle(key, row.on, row.off)
    if isinstance(row, Subscribe):
        yield from _filters(key, row)
    else:
        yield from _times(key, row)


def _cycle(key: str, on: Any, off: Any) -> Iterator[Finding]:
    if (on is None) != (off is None):
        yield f"{key}.{'on' if off is None else 'off'}", f"it without `{'off' if off is None else 'on'}`", "give both, or neither"
        return
    for name, span in (("on", on), ("off", off)):
        if span is not None and mean(span) < SHORTEST:
            yield f"{key}.{name}", f"{mean(span):g} s on average", f"expected {SHORTEST:g} s or more"


def _filters(key: str, row: Subscribe) -> Iterator[Finding]:
    if row.filter is None and not row.filters:
        yield f"{key}.filter", "nothing", 'add it (such as `kind = "temp" and value > 30`), or filters'
    elif row.filter is not None and row.filters:
        yield f"{key}.filters", "it beside `filter`", "give one of the two"
    elif row.pick is not None and row.pick > len(row.filters):
        yield f"{key}.pick", f"{row.pick} of {len(row.filters)} filters", "expected at most as many as `filters` has"
    elif len(set(row.filters)) < len(row.filters):
        yield f"{key}.filters", "a filter twice", "give each once"


def _times(key: str, row: Publish) -> Iterator[Finding]:
    if row.every is None:
        for name, default in (("process", "periodic"), ("jitter", 0.0), ("on", None), ("day", None)):
            if getattr(row, name) != default:
                yield f"{key}.{name}", "it without `every`", "add `every`, the time between two events, or leave it out"
    elif row.spread is not None and row.spread > row.every:
        yield f"{key}.spread", f"{row.spread:g} with every = {row.every:g}", "expected at most `every`"
    if row.process == "poisson" and row.jitter:
        yield f"{key}.jitter", f'{row.jitter:g} with process = "poisson"', "leave it out; such events come at random moments anyway"
    if row.day is None:
        for name, default in (("night", 0.0), ("noon", None)):
            if getattr(row, name) != default:
                yield f"{key}.{name}", "it without `day`", "add `day`, the length of a day, or leave it out"
    if row.burst == 1 and row.gap != Publish.model_fields["gap"].default:
        yield f"{key}.gap", "it without `burst`", "add `burst`, the number of events, or leave it out"
    if not 0 <= mean(row.burst) <= MOST_BURST or bounds(row.burst)[0] == bounds(row.burst)[1] < 0.5:
        yield f"{key}.burst", f"{mean(row.burst):g} events on average", f"expected from 1 to {MOST_BURST:,}"
    if not 0 <= mean(row.payload) <= MOST_PAYLOAD:
        yield f"{key}.payload", f"{mean(row.payload):g} bytes on average", f"expected from 0 to {MOST_PAYLOAD:,}"


def of_events(scenario: Scenario) -> Iterator[Finding]:
    """More than a run should plan, in the whole."""
    workload, hosts, duration = scenario.workload, len(scenario.names), scenario.run.duration
    if (events := planned_events(scenario)) > MOST_EVENTS:
        yield "workload", f"about {_count(events)} publications in {duration:g} s", f"use a longer `every`, fewer hosts or a shorter run; at most {MOST_EVENTS:,} can be planned"
    changes = sum((hosts if row.hosts is None else len(row.hosts)) * row.changes(duration) for row in workload.subscribe if row.on is not None)
    if changes > MOST_CHANGES:
        yield "workload.subscribe", f"about {_count(changes)} subscriptions and their ends", f"use longer `on` and `off`, or fewer hosts; at most {MOST_CHANGES:,} can be planned"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"


def of_log(scenario: Scenario) -> Iterator[Finding]:
    """A log that cannot be replayed, or not at all in this run."""
    try:
        rows = publications.of(scenario)
    except publications.LogError as error:
        yield "workload.log", error.found, error.cure
        return
    if not rows:
        yield "workload.log", "no row below the first line", "give a log with publications, or leave it out"
    elif rows[0].time >= scenario.run.duration:
        yield "workload.log", f"a first publication at {rows[0].time:g} s in a run of {scenario.run.duration:g} s", "expected times within the run, from 0"
    for host in sorted({row.host for row in rows}):
        if not scenario.hosts.runs_node(host):
            yield "workload.log", f"publications of {scenario.naming.who(host)}, where our node does not run", "leave them out"
