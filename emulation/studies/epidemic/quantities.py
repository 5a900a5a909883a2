"""The quantities that the figures on recovery show, each computed from one run.

From the overlay (`roamcast reproduce overlay`) and from scenarios (`roamcast run --measure`), whose results differ.
"""
from __future__ import annotations

import math

from emulation.studies.evaluation import Quantities, Result


def _span(result: Result) -> slice:
    """The bins of the events that are measured."""
    given = result["parameters"]
    return slice(round(given["first"] / result["bin"]), round(given["last"] / result["bin"]))


def _number(result: Result, key: str) -> float:
    """Of a scenario; what there is nothing to divide by is null."""
    value = result["numbers"][key]
    return math.nan if value is None else value


def _delivery(result: Result) -> float:
    if "numbers" in result:
        return 100 * _number(result, "ratio")
    span = _span(result)
    return 100 * sum(result["made"][span]) / max(sum(result["due"][span]), 1)


def _said(result: Result) -> float:
    """What lossy links deliver when nobody repeats anything: over d links of error rate e, (1 - e) ** d."""
    kept = 1 - result["parameters"]["loss"]
    whole = sum(count * kept ** links for links, count in enumerate(result["distances"]))
    return 100 * whole / max(sum(result["distances"]), 1)


def _overhead(result: Result) -> float:
    """Bits of recovery's messages and of the tags in events, over those of the events themselves, from `first` on."""
    bits = sum(counts["bits"] for counts in result["recovery"].values())
    return 100 * bits / (sum(result["events"][_span(result).start:]) * result["parameters"]["event_bits"])


def _round(result: Result) -> float:
    """kbit that a dispatcher adds to the traffic in a gossip interval: what goes to the events' tags with the rest. However
    many events are published, a round is a round."""
    given = result["parameters"]
    rounds = (given["duration"] - given["first"]) / given["gossip_interval"]
    return sum(counts["bits"] for counts in result["recovery"].values()) / 1000 / given["dispatchers"] / rounds


def _messages(result: Result) -> float:
    given = result["parameters"]
    count = sum(counts["messages"] for name, counts in result["recovery"].items() if name != "TAGGED_EVENT")
    return count / given["dispatchers"] / (given["duration"] - given["first"])


SCALAR = {
    "delivery": _delivery, "overhead": _overhead, "messages": _messages, "round": _round, "said": _said,
    "late": lambda r: r["late"][0] if r["late"] else math.nan,
    "bound": lambda r: 100 * _number(r, "bound"),
    "bytes": lambda r: _number(r, "bytes_per_host_second"),
}
QUANTITIES = Quantities(lambda name, result: SCALAR[name](result), ("delivery",))
