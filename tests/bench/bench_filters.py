"""How fast events are matched against 10,000 filters. Target: 20,000 events/s on one core.

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

FILTERS, EVENTS, HOPS = 10_000, 20_000, 8


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
    """No equality at all: the hard case."""
    return Filter(
        [
            Constraint("value", ">", (chance.uniform(50, 200),)),
            Constraint("battery", "<", (chance.random(),)),
            Constraint("age", "<=", (chance.randrange(1000),)),
        ]
    )


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


def measure(make: Callable[[random.Random], Filter], count: int) -> dict[str, float]:
    """`count` events matched against FILTERS filters: events a second, hops an event, and what adding costs."""
    chance = random.Random(7)
    filters = [make(chance) for _ in range(FILTERS)]
    tracemalloc.start()
    index = Index()
    for number, one in enumerate(filters):
        index.add(one, number % HOPS)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    again = Index()
    start = time.process_time()
    for number, one in enumerate(filters):
        again.add(one, number % HOPS)
    adding = (time.process_time() - start) / FILTERS * 1e6
    events = [event(chance) for _ in range(count)]
    start = time.process_time()
    hits = sum(len(index.match(one)) for one in events)
    return {"rate": count / (time.process_time() - start), "hops": hits / count, "adding": adding,
            "bytes": memory / FILTERS}


def main() -> None:
    print(f"{FILTERS} filters of 3 constraints, {HOPS} hops, events of 10 attributes, one core, CPU time")
    for make, count in ((selective, EVENTS), (popular, EVENTS // 4), (ranges, EVENTS // 100)):
        found = measure(make, count)
        print(
            f"{make.__name__:10} {found['rate']:9.0f} events/s, {found['hops']:5.2f} hops an event, "
            f"{found['adding']:5.1f} us to add a filter, {found['bytes']:5.0f} bytes a filter beside the filter"
        )


if __name__ == "__main__":
    main()
