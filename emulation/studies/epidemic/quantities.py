"""The quantities that the figures on recovery show, each computed from one run.

From the overlay (`roamcast reproduce overlay`) and from scenarios (`roamcast run --measure`), whose results differ.
"""
from __future__ import annotations

import math
from collections.abc import Callable

from emulation.studies.evaluation import Quantities, Result, counts, parameter


def _span(result: Result) -> slice:
    """The bins of the events that are measured."""
    width: float = result["bin"]
    return slice(round(parameter(result, "first") / width), round(parameter(result, "last") / width))


def _number(result: Result, key: str) -> float:
    """Of a scenario; what there is nothing to divide by is null."""
    value: float | None = result["numbers"][key]
    return math.nan if value is None else value


def _delivery(result: Result) -> float:
    if "numbers" in result:
        return 100 * _number(result, "ratio")
    span = _span(result)
    return 100 * sum(counts(result, "made")[span]) / max(sum(counts(result, "due")[span]), 1)


def _said(result: Result) -> float:
    """What lossy links deliver when nobody repeats anything: over d links of error rate e, (1 - e) ** d."""
    kept, distances = 1 - parameter(result, "loss"), counts(result, "distances")
    whole = sum(count * math.pow(kept, links) for links, count in enumerate(distances))
    return 100 * whole / max(sum(distances), 1)


def _overhead(result: Result) -> float:
    """Bits of recovery's messages and of the tags in events, over those of the events themselves, from `first` on."""
    return 100 * _bits(result) / (sum(counts(result, "events")[_span(result).start:]) * parameter(result, "event_bits"))


def _round(result: Result) -> float:
    """kbit that a dispatcher adds to the traffic in a gossip interval: what goes to the events' tags with the rest. However
    many events are published, a round is a round."""
    rounds = (parameter(result, "duration") - parameter(result, "first")) / parameter(result, "gossip_interval")
    return _bits(result) / 1000 / parameter(result, "dispatchers") / rounds


def _bits(result: Result) -> int:
    """Of recovery's messages, and of the tags in events."""
    bits: int = sum(sent["bits"] for sent in result["recovery"].values())
    return bits


def _messages(result: Result) -> float:
    count: int = sum(sent["messages"] for name, sent in result["recovery"].items() if name != "TAGGED_EVENT")
    return count / parameter(result, "dispatchers") / (parameter(result, "duration") - parameter(result, "first"))


SCALAR: dict[str, Callable[[Result], float]] = {
    "delivery": _delivery, "overhead": _overhead, "messages": _messages, "round": _round, "said": _said,
    "late": lambda r: r["late"][0] if r["late"] else math.nan,
    "bound": lambda r: 100 * _number(r, "bound"),
    "bytes": lambda r: _number(r, "bytes_per_host_second"),
}
QUANTITIES = Quantities(lambda name, result: SCALAR[name](result), ("delivery",))
