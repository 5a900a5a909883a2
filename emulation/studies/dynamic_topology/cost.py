"""From what one run counted to the paper's quantities: normalized cost, misrouted events, dispatchers involved.

cugola-frey-murphy-picco-dynamic-topology, section V-C.1. The cost is that of one reconfiguration: what was sent
from the first reconfiguration on, over their number. Table II's weights are in analysis/weights.toml.
"""
from __future__ import annotations

from collections.abc import Iterator

from analysis.weights import weights
from emulation.studies.evaluation import Result, counts, parameter


def parts(result: Result) -> Iterator[tuple[str, float, float]]:
    """(message type, messages, normalized cost) of all overhead of the run, misrouted events last."""
    for name, sent in result["sent"].items():
        each, pattern = weights()[name]
        yield name, sent["messages"], each * sent["messages"] + pattern * sent["patterns"]
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
    return sum(counts(result, "misrouted")[_bin(result, "first"):])


def involved(result: Result) -> float:
    """Mean share of the dispatchers that a reconfiguration involves, section V-C.5."""
    found = counts(result, "involved")
    return sum(found) / len(found) / parameter(result, "dispatchers") if found else 0.0


def good(result: Result) -> int:
    """Event messages that were not misrouted, from the first reconfiguration to the last (figure 24)."""
    span = slice(_bin(result, "first"), _bin(result, "last"))
    return sum(counts(result, "events")[span]) - sum(counts(result, "misrouted")[span])


def traffic(result: Result) -> int:
    """All messages from the first reconfiguration to the last (figure 26)."""
    return sum(counts(result, "messages")[_bin(result, "first"):_bin(result, "last")])


def density(result: Result) -> tuple[int, int]:
    """Dispatchers that got events, and how many could have, while nothing changes: equation (2)."""
    span = slice(_bin(result, "settled"), _bin(result, "first"))
    return sum(counts(result, "receivers")[span]), sum(counts(result, "published")[span]) * result["parameters"]["dispatchers"]


def _bin(result: Result, key: str) -> int:
    return round(parameter(result, key) / float(result["bin"]))
