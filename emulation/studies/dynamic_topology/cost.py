"""From what one run counted to the paper's quantities: normalized cost, misrouted events, dispatchers involved.

cugola-frey-murphy-picco-dynamic-topology, section V-C.1. The cost is that of one reconfiguration: what was sent
from the first reconfiguration on, over their number. Table II's weights are in analysis/weights.toml.
"""
from __future__ import annotations

from collections.abc import Iterator

from analysis.weights import weights
from emulation.studies.evaluation import Result


def parts(result: Result) -> Iterator[tuple[str, float, float]]:
    """(message type, messages, normalized cost) of all overhead of the run, misrouted events last."""
    for name, counts in result["sent"].items():
        each, pattern = weights()[name]
        yield name, counts["messages"], each * counts["messages"] + pattern * counts["patterns"]
    lost = misrouted(result)
    if lost:
        yield "EVENT", lost, weights()["EVENT"][0] * lost


def normalized(result: Result) -> float:
    """Of the whole run."""
    return sum(row[2] for row in parts(result))


def absolute(result: Result) -> float:
    return sum(row[1] for row in parts(result))


def misrouted(result: Result) -> int:
    """Event messages that led to no dispatcher that wanted the event, from the first reconfiguration on."""
    return sum(result["misrouted"][_bin(result, "first"):])


def involved(result: Result) -> float:
    """Mean share of the dispatchers that a reconfiguration involves, section V-C.5."""
    counts = result["involved"]
    return sum(counts) / len(counts) / result["parameters"]["dispatchers"] if counts else 0.0


def good(result: Result) -> int:
    """Event messages that were not misrouted, from the first reconfiguration to the last (figure 24)."""
    span = slice(_bin(result, "first"), _bin(result, "last"))
    return sum(result["events"][span]) - sum(result["misrouted"][span])


def traffic(result: Result) -> int:
    """All messages from the first reconfiguration to the last (figure 26)."""
    return sum(result["messages"][_bin(result, "first"):_bin(result, "last")])


def density(result: Result) -> tuple[int, int]:
    """Dispatchers that got events, and how many could have, while nothing changes: equation (2)."""
    span = slice(_bin(result, "settled"), _bin(result, "first"))
    return sum(result["receivers"][span]), sum(result["published"][span]) * result["parameters"]["dispatchers"]


def _bin(result: Result, key: str) -> int:
    return round(result["parameters"][key] / result["bin"])
