"""When a table of the workload acts: times of publications, spans of subscriptions, from streams of its own.

A host's times come from (seed, "workload.times", table, host), its spans of being on from "workload.on", its values from
"workload.values", so that an attribute more changes no time, and no host's draws depend on another's.
"""
from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

from emulation import chance, draws
from topologies.draws import Amount
from topologies.workload import MOST_PAYLOAD, SHORTEST, Publish, Subscribe

LOOKS = 60  # halvings of a span of time, until nothing is left of it


def spans(seed: int, key: str, on: Amount | None, off: Amount | None, begin: float, end: float, anywhere: bool) -> Iterator[tuple[float, float]]:
    """(from, to) of each span of being on between `begin` and `end`, in s. `key` names the table and the host.
    `anywhere`: the first cycle is entered at a random moment."""
    if on is None or off is None:
        yield begin, end
        return
    draw = chance.stream(seed, f"workload.on/{key}")
    on_of, off_of = draws.number(on), draws.number(off)
    time, first = begin, True
    while time < end:
        up, down = max(on_of(draw), SHORTEST), max(off_of(draw), SHORTEST)
        if first and anywhere:
            time -= draw.random() * (up + down)
        first = False
        if time + up > begin:
            yield max(time, begin), min(time + up, end)
        time += up + down


def publications(row: Publish, number: int, host: int, rank: int, hosts: int, seed: int, end: float) -> Iterator[float]:
    """The times before `end` at which a host publishes by a table, rising. `number`: of the table; `rank`: of the host
    among the `hosts` of the table."""
    key = f"{number}/{host}"
    draw = chance.stream(seed, f"workload.times/{key}")
    stop = min(end, math.inf if row.until is None else row.until)
    burst = draws.number(row.burst)
    waiting: list[float] = []  # events of bursts that go on
    for time in _occasions(row, key, rank, hosts, seed, stop):
        while waiting and waiting[0] <= time:
            yield heapq.heappop(waiting)
        for k in range(1 if row.burst == 1 else max(round(burst(draw)), 0)):
            if (then := time + k * row.gap) < stop:
                heapq.heappush(waiting, then)
    while waiting:
        yield heapq.heappop(waiting)


def _occasions(row: Publish, key: str, rank: int, hosts: int, seed: int, stop: float) -> Iterator[float]:
    """Times at which a host publishes an event or a burst. They are drawn in time that passes only while the host is on, faster by day."""
    draw = chance.stream(seed, f"workload.occasions/{key}")
    anywhere = row.spread is None and hosts > 1 and row.every is not None
    begin = row.at + (row.spread or 0.0) * rank / hosts
    if row.every is None:
        if begin < stop:
            yield begin
        return
    wait = draw.random() * row.every if anywhere else 0.0
    plain = row.on is None and row.day is None
    passing = iter(()) if plain else spans(seed, key, row.on, row.off, begin, stop, anywhere)
    time, count, span, before = begin + wait, 0, (0.0, 0.0), 0.0
    if row.process == "poisson":
        time = begin + draw.expovariate(1.0 / row.every)
    first = time
    while True:
        if plain:
            if time >= stop:
                return
            yield time
        else:
            while before + row.passed(span[1]) - row.passed(span[0]) <= time - begin:
                before += row.passed(span[1]) - row.passed(span[0])
                if (following := next(passing, None)) is None:
                    return
                span = following
            yield _when(row, span, time - begin - before)
        count += 1
        if row.process == "poisson":
            time += draw.expovariate(1.0 / row.every)
        else:
            shift = row.jitter * (2.0 * draw.random() - 1.0) if row.jitter else 0.0
            time = first + (count + shift) * row.every


def _when(row: Publish, span: tuple[float, float], passed: float) -> float:
    """The moment of a span at which so much of the day's rate has passed since its begin."""
    if row.day is None:
        return span[0] + passed
    low, high = span
    wanted = row.passed(low) + passed
    for _ in range(LOOKS):
        middle = (low + high) / 2
        low, high = (middle, high) if row.passed(middle) < wanted else (low, middle)
    return high


class Holding(NamedTuple):
    """Filters that a host holds for a while."""

    begin: float  # s
    until: float | None  # s; None: for good
    filters: tuple[str, ...]


def holdings(row: Subscribe, number: int, host: int, hosts: int, seed: int, end: float) -> Iterator[Holding]:
    """A host's subscriptions by a table, one after the other."""
    key = f"subscribe/{number}/{host}"
    draw = chance.stream(seed, f"workload.filters/{key}")
    stop = min(end, math.inf if row.until is None else row.until)
    for begin, until in spans(seed, key, row.on, row.off, row.at, stop, hosts > 1):
        picked = row.all_filters if row.pick is None else tuple(draw.sample(row.all_filters, row.pick))
        yield Holding(begin, row.until if until >= stop else until, picked)


def payloads(row: Publish, number: int, host: int, seed: int) -> Iterator[bytes]:
    """The bytes added to each event of a host."""
    draw, size = chance.stream(seed, f"workload.payload/{number}/{host}"), draws.number(row.payload)
    while True:
        yield draw.randbytes(min(max(round(size(draw)), 0), MOST_PAYLOAD)) if row.payload != 0 else b""
