"""How fast events are matched against 10,000 filters, on one core.

Targets: 20,000 events/s with a selective equality, 50,000 with nothing but ranges on the same attributes.

Run by name: python tests/bench/bench_filters.py
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from node.filters import Constraint, Filter, Index

FILTERS, EVENTS, HOPS, CHANGES = 10_000, 20_000, 8, 200


def selective(chance: random.Random) -> Filter:
    """Three constraints, of which the equality selects one station in 5,000."""
    return Filter(
        [
            Constraint("station", "=", (f"S{chance.randrange(5000)}",)),
            Constraint("value", ">", (chance.randrange(100),)),
            Constraint("quality", "!=", (chance.choice(["bad", "poor"]),)),
        ]
    )


def popular(chance: random.Random) -> Filter:
    """The equality selects one kind in 20: large clusters, in which counting has to serve."""
    return Filter(
        [
            Constraint("kind", "=", (f"k{chance.randrange(20)}",)),
            Constraint("value", ">", (chance.uniform(50, 200),)),
            Constraint("room", "=", (chance.randrange(1000),)),
        ]
    )


def ranges(chance: random.Random) -> Filter:
    """No equality at all: one bound on each of three attributes; an event matches some 200 filters."""
    return Filter(
        [
            Constraint("value", ">", (chance.uniform(50, 200),)),
            Constraint("battery", "<", (chance.random(),)),
            Constraint("age", "<=", (chance.randrange(1000),)),
        ]
    )


def windows(chance: random.Random) -> Filter:
    """Narrow spans of one attribute; an event matches some five filters."""
    low = chance.uniform(0, 100)
    return Filter([Constraint("value", ">", (low,)), Constraint("value", "<", (low + 0.05,))])


def kind_windows(chance: random.Random) -> Filter:
    """The same behind an equality that 500 filters share."""
    low = chance.uniform(0, 100)
    kind = Constraint("kind", "=", (f"k{chance.randrange(20)}",))
    return Filter([kind, Constraint("value", ">", (low,)), Constraint("value", "<", (low + 1,))])


def wide_windows(chance: random.Random) -> Filter:
    """Spans so wide that an event matches some 950 filters: bounded by what comes out, when hops are many."""
    low = chance.uniform(0, 100)
    return Filter([Constraint("value", ">", (low,)), Constraint("value", "<", (low + 10,))])


def patterns(chance: random.Random) -> Filter:
    """A part of a text and a bound."""
    digits, op = str(chance.randrange(1000)), chance.choice(["prefix", "suffix", "contains"])
    part = Constraint("station", op, (f"S{digits}" if op == "prefix" else digits,))
    return Filter([part, Constraint("value", ">", (chance.uniform(0, 100),))])


def unequal(chance: random.Random) -> Filter:
    """All but one value, and a bound that little satisfies."""
    other = Constraint("station", "!=", (f"S{chance.randrange(5000)}",))
    return Filter([other, Constraint("value", ">", (chance.uniform(99, 200),))])


def event(chance: random.Random) -> dict:
    return {
        "kind": f"k{chance.randrange(20)}",
        "station": f"S{chance.randrange(5000)}",
        "quality": "good",
        "value": chance.uniform(0, 100),
        "room": chance.randrange(1000),
        "battery": chance.random(),
        "age": chance.randrange(1000),
        "indoors": True,
        "floor": 2,
        "serial": b"\x01\x02\x03\x04",
    }


def measure(make: Callable[[random.Random], Filter], count: int, hops: int = HOPS) -> dict[str, float]:
    """`count` events matched against FILTERS filters: events a second and hops an event; what it costs to add
    a filter, to remove it, and to do both with an event matched after each (us); bytes a filter."""
    chance = random.Random(7)
    filters = [make(chance) for _ in range(FILTERS)]
    tracemalloc.start()
    index = Index()
    for number, one in enumerate(filters):
        index.add(one, number % hops)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    again = Index()
    start = time.process_time()
    for number, one in enumerate(filters):
        again.add(one, number % hops)
    adding = (time.process_time() - start) / FILTERS * 1e6
    events = [event(chance) for _ in range(count)]
    start = time.process_time()
    hits = sum(len(index.match(one)) for one in events)
    rate = count / (time.process_time() - start)
    start = time.process_time()
    for number in range(CHANGES):
        again.remove(filters[number], number % hops)
        again.match(events[number])
        again.add(filters[number], number % hops)
        again.match(events[number])
    changing = (time.process_time() - start) / CHANGES * 1e6
    start = time.process_time()
    for number, one in enumerate(filters):
        again.remove(one, number % hops)
    removing = (time.process_time() - start) / FILTERS * 1e6
    return {"rate": rate, "hops": hits / count, "adding": adding, "removing": removing, "changing": changing,
            "bytes": memory / FILTERS}


def main() -> None:
    print(f"{FILTERS} filters, events of 10 attributes, one core, CPU time. us: to add a filter, to remove\n"
          "it, and to do both with an event matched after each; bytes: of a filter in the index\n")
    print("filters         hops  events/s hops/event    add remove   both  bytes")
    few = [(make, HOPS) for make in (selective, popular, ranges, windows, kind_windows, patterns, unequal,
                                     wide_windows)]
    for make, hops in (*few, (ranges, FILTERS), (windows, FILTERS), (wide_windows, FILTERS)):
        found = measure(make, EVENTS if make is selective else EVENTS // 10, hops)
        print(f"{make.__name__:13} {hops:6} {found['rate']:9,.0f} {found['hops']:10.2f} "
              f"{found['adding']:6.1f} {found['removing']:6.1f} {found['changing']:6.0f} "
              f"{found['bytes']:6.0f}")


if __name__ == "__main__":
    main()
