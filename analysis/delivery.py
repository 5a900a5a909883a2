"""For every event and every client that should have had it: delivered or not, when, and when it could have been."""
from __future__ import annotations

import math
from typing import NamedTuple

from analysis.event import Event, Published
from analysis.expected import Client, Pair
from analysis.run import Rules


class Outcome(NamedTuple):
    """What became of a pair. Times in s."""

    source_down: bool  # the publisher's host went down before the deadline
    delivered: float | None  # the first time
    hops: int | None  # of that
    recovered: bool | None
    times: int  # how often
    bound: float | None  # earliest possible arrival; None when not by the deadline, or when no radio links are known
    connected: bool  # the radio led from source to client at the time of publication
    in_time: bool
    latency: float | None  # of what was in time


def deliveries(event: Event) -> dict[Client, list[tuple[float, int, bool]]]:
    """To whom it was handed, and each time when (s), over how many hops, and whether out of its publisher's order."""
    found: dict[Client, list[tuple[float, int, bool]]] = {}
    for t, node, client, hops, recovered, _ in event.of("delivered"):
        found.setdefault((node, client), []).append((t, hops, recovered))
    return found


def outcome(rules: Rules, event: Published, pair: Pair, got: list[tuple[float, int, bool]], arrival: float,
            source_down: bool) -> Outcome:
    """`got`: the pair's own of `deliveries`; `arrival`: when it could have come (s), inf for never."""
    delivered, hops, recovered = min(got) if got else (None, None, None)
    bound = event.at if pair.node == event.source else None if math.isinf(arrival) else float(arrival)
    latency = delivered - event.at if delivered is not None and delivered <= event.at + rules.deadline else None
    return Outcome(source_down, delivered, hops, recovered, len(got), bound, bound == event.at, latency is not None, latency)
