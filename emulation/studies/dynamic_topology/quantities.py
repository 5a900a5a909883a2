"""The quantities that the figures show, each computed from one run.

Those of RELATIVE compare a run with strawman's of the same seed; those of OVER_TIME give a value for each
bin of time. `name:TYPE` is about one type of message.
"""
from __future__ import annotations

import math
from collections.abc import Callable

from analysis.weights import weights
from emulation.studies.dynamic_topology import cost
from emulation.studies.evaluation import Quantities, Result, counts, parameter


def _changes(result: Result) -> int:
    changes: int = result["reconfigurations"]
    return max(changes, 1)


def _span(result: Result) -> float:
    return parameter(result, "last") - parameter(result, "first")


def _settled(result: Result) -> int:
    """The first bin after the last link was replaced."""
    return math.ceil((parameter(result, "last") + parameter(result, "repair")) / float(result["bin"]) - 1e-9)


SCALAR: dict[str, Callable[[Result], float]] = {
    "cost": lambda r: cost.normalized(r) / _changes(r),
    "control": lambda r: (cost.normalized(r) - weights()["EVENT"][0] * cost.misrouted(r)) / _changes(r),
    "misrouted": lambda r: cost.misrouted(r) / _changes(r),
    "involved": lambda r: 100 * cost.involved(r),
    "good": lambda r: cost.good(r) / _span(r),
    "overhead": lambda r: cost.normalized(r) / _span(r),
    "good in all": lambda r: sum(counts(r, "events")) - sum(counts(r, "misrouted")),
    "overhead in all": cost.normalized,
    "traffic": lambda r: cost.traffic(r) / _span(r),
    "settled due": lambda r: sum(counts(r, "due")[_settled(r):]),
    "settled made": lambda r: sum(counts(r, "made")[_settled(r):]),
    "density": lambda r: cost.density(r)[0] / max(cost.density(r)[1], 1),
}
RELATIVE = {"improvement": "cost", "fewer involved": "involved"}  # -> what is compared


def scalar(name: str, result: Result) -> float:
    about, _, kind = name.partition(":")
    if not kind:
        return SCALAR[name](result)
    return sum({"messages": messages, "normalized": normalized}[about] for one, messages, normalized in cost.parts(result)
               if one == kind) / _changes(result)


def _delivery(result: Result) -> list[tuple[float, float]]:
    return [(at * result["bin"], 100 * made / due) for at, (due, made) in enumerate(zip(result["due"], result["made"]))
            if due and at * result["bin"] >= result["parameters"]["settled"] - 1e-9]


def _traffic(result: Result) -> list[tuple[float, float]]:
    return [(at * result["bin"], count / result["bin"]) for at, count in enumerate(result["messages"])
            if at * result["bin"] >= 2.5 - 1e-9]


OVER_TIME: dict[str, Callable[[Result], list[tuple[float, float]]]] = {
    "delivery": _delivery, "traffic over time": _traffic}
QUANTITIES = Quantities(scalar, tuple(SCALAR), RELATIVE, OVER_TIME)
