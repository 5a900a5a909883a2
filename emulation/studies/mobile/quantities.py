"""The quantities of the study, from what `roamcast run --measure` keeps of a run (analysis/tally.py).

What is paid is counted from the end of the warm-up on: the first subscriptions, which flood any tree, are not.
"""
from __future__ import annotations

from collections.abc import Callable

from emulation.studies.evaluation import Quantities, Result, counts, parameter


def _minutes(result: Result) -> float:
    return (parameter(result, "run.duration") - parameter(result, "run.warm_up")) / 60


def _of(key: str, factor: float = 1.0) -> Callable[[Result], float | None]:
    def value(result: Result) -> float | None:
        found = result["numbers"][key]
        return None if found is None else factor * found
    return value


def _airtime(result: Result) -> float:
    """ms that a host's frames take of each second; what a neighbor sends meanwhile waits."""
    share: float = result["numbers"]["paid_airtime_share"]
    return 1000 * share / parameter(result, "hosts.count")


def _cost(result: Result) -> float | None:
    found: float | None = result["numbers"]["paid_normalized_cost"]
    return None if found is None else found / parameter(result, "hosts.count") / _minutes(result)


def _involved(result: Result) -> float | None:
    """None where no link was lost."""
    involved = counts(result, "involved")
    return 100 * sum(involved) / len(involved) / parameter(result, "hosts.count") if involved else None


SCALAR: dict[str, Callable[[Result], float | None]] = {
    "delivered": _of("ratio", 100), "bound": _of("bound", 100), "bytes": _of("paid_bytes_per_host_second"),
    "price": _of("paid_bytes_per_delivery"), "airtime": _airtime, "cost": _cost, "misrouted": _of("paid_misrouted_share", 100),
    "involved": _involved, "losses": lambda result: result["numbers"]["paid_losses"] / _minutes(result),
    "healed": _of("healed"), "wrong": lambda result: sum(result["numbers"][key] for key in ("twice", "unpublished", "unsubscribed")),
}

QUANTITIES = Quantities(scalar=lambda name, result: SCALAR[name](result), names=tuple(SCALAR), relative={"gain": "cost", "saved": "bytes"})
