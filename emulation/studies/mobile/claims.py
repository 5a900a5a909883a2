"""What the paper found with links replaced on a schedule, asked of a tree that radios repair; and that nothing went wrong."""
from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress

from emulation.studies.evaluation import Claim
from emulation.studies.mobile.figures import FLOOD, PROTOCOLS
from emulation.studies.points import Point, Swept, Tables
from emulation.studies.verdicts import Unmeasured, average, curve, holds, points

DEFERRED, CONFINED = ("timed", "notified"), ("informed", "path")
SWEPT = ("hosts", "speed")
FIGURES = (*SWEPT, "rate", "interest")


def swept(tables: Tables, figures: tuple[str, ...], quantity: str, name: str) -> list[tuple[str, Swept, Point]]:
    """The points of a curve in those of the figures that were run: (figure, x, point)."""
    found = [(figure, x, point) for figure in figures for x, point in tables.curve(f"{figure}-{quantity}", name)
             if not math.isnan(point.mean)]
    if not found:
        raise Unmeasured(f"no runs for {name} in the figures {', '.join(figures)}")
    return found


def up_to(names: tuple[str, ...], stated: float) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        best = max((point.mean, name, figure, x) for name in names for figure, x, point in swept(tables, SWEPT, "gain", name))
        return f"at most {best[0]:.1f} %, of {best[1]} in figure {best[2]} at {best[3]}", points(best[0], stated)
    return check


def all_beat_strawman(tables: Tables) -> tuple[str, str]:
    least = min((point.mean, name, x) for name in DEFERRED + CONFINED for x, point in curve(tables, "speed-gain", name))
    return f"the least improvement is {least[0]:.1f} %, of {least[1]} at {least[2]} m/s", holds(least[0] > 0)


def fewer_involved(tables: Tables) -> tuple[str, str]:
    strawman = average(tables, "hosts-involved", ["strawman"])
    shares = {name: average(tables, "hosts-involved", [name]) / strawman for name in DEFERRED + CONFINED}
    return (f"strawman {strawman:.1f} % of all, over all sizes; of those " + ", ".join(
        f"{name} {100 * share:.0f} %" for name, share in shares.items()), holds(max(shares.values()) < 0.5))


def few_misrouted(tables: Tables) -> tuple[str, str]:
    most = {name: max(point.mean for *_, point in swept(tables, SWEPT, "misrouted", name)) for name in PROTOCOLS}
    return ("of the event messages at most " + ", ".join(f"{name} {share:.1f} %" for name, share in most.items()),
            holds(max(most.values()) < 5))


def none(quantity: str, names: tuple[str, ...]) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        found = {}
        for name in names:
            with suppress(Unmeasured):  # some figures leave some protocols out
                found[name] = sum(point.mean * point.runs for *_, point in swept(tables, FIGURES, quantity, name))
        if not found:
            raise Unmeasured("no runs")
        return "in all runs: " + ", ".join(f"{name} {count:.0f}" for name, count in found.items()), holds(not any(found.values()))
    return check


CLAIMS: tuple[Claim, ...] = (
    ("abstract", "up to 50 % less overhead than strawman with deferred unsubscription", up_to(DEFERRED, 50)),
    ("abstract", "up to 80 % less with informed link activation and the reconfiguration path", up_to(CONFINED, 80)),
    ("figure 18", "all protocols beat strawman, whatever the rate of reconfigurations", all_beat_strawman),
    ("figure 27", "less than half of strawman's dispatchers are involved", fewer_involved),
    ("figure 21", "misrouted events are negligible at a low rate of publications", few_misrouted),
    ("safety", "nothing is delivered twice, unpublished or unsubscribed", none("wrong", (*PROTOCOLS, FLOOD))),
    ("tables", "no table differs from what its neighbor told it, so that the digest in beacons would heal it", none("healed", PROTOCOLS)))
