"""Verdicts that the program computes: what is stated of a figure, what we measure for it, and how the two compare.

    agrees      a number within 10% of ours (5 points where it is a percentage), or within our 95% interval where
                that is no wider than `close`; an order or an inequality that our means have
    close       a number within 25% of ours (10 points)
    unsure      a number within our interval, which is wider than that; an order against which only means speak whose
                intervals overlap: too few seeds
    differs     anything else
    unmeasured  the runs for it are not there
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from emulation.studies.evaluation import Claim
from emulation.studies.points import Point, Swept, Tables


class Verdict(NamedTuple):
    figure: str  # where it belongs; what names no figure is about the whole, as "equation" or "abstract"
    says: str
    measured: str
    verdict: str


class Unmeasured(Exception):
    """Points that a claim needs are not there."""


def judge(claims: Iterable[Claim], tables: Tables) -> list[Verdict]:
    """All claims, in the order of the paper."""
    found = []
    for figure, says, check in claims:
        try:
            measured, verdict = check(tables)
        except Unmeasured as error:
            measured, verdict = str(error), "unmeasured"
        found.append(Verdict(figure, says, measured, verdict))
    return found


# ---- reading points -----------------------------------------------------------------------------------


def at(tables: Tables, panel: str, series: str, x: Swept) -> Point:
    point = tables.at(panel, series, x)
    if math.isnan(point.mean):
        raise Unmeasured(f"no runs for {series} at {x} in figure {panel}")
    return point


def number(x: Swept) -> float:
    """A value of a parameter that is swept over numbers."""
    assert not isinstance(x, str)
    return x


def curve(tables: Tables, panel: str, series: str) -> list[tuple[float, Point]]:
    """The points that were measured of a curve over numbers."""
    return [(number(x), point) for x, point in _measured(tables, panel, series)]


def _measured(tables: Tables, panel: str, series: str) -> list[tuple[Swept, Point]]:
    points = [(x, point) for x, point in tables.curve(panel, series) if not math.isnan(point.mean)]
    if not points:
        raise Unmeasured(f"no runs for {series} in figure {panel}")
    return points


def average(tables: Tables, panel: str, series: Sequence[str]) -> float:
    """Over the curves and their points."""
    values = [point.mean for name in series for _, point in _measured(tables, panel, name)]
    return sum(values) / len(values)


def told(point: Point, digits: int = 1) -> str:
    if math.isnan(point.low):
        return f"{point.mean:.{digits}f}"
    return f"{point.mean:.{digits}f} ± {point.high - point.mean:.{digits}f}"


def near(stated: float, point: Point, percent: bool = False) -> str:
    """The verdict on a number."""
    off, half = abs(stated - point.mean), point.high - point.mean
    some, more = (5.0, 10.0) if percent else (0.1 * abs(point.mean), 0.25 * abs(point.mean))
    if off <= some or off <= half <= more:
        return "agrees"
    if off <= more:
        return "close"
    return "unsure" if off <= half else "differs"


def points(value: float, stated: float) -> str:
    return near(stated, Point(value, math.nan, math.nan, 0), percent=True)


def worst(*verdicts: str) -> str:
    return max(verdicts, key=("agrees", "close", "unsure", "differs").index)


def rising(found: Sequence[Point]) -> str:
    """The verdict on an order, least first. One run has no interval, and decides nothing against it."""
    against = [(before, after) for before, after in zip(found, found[1:]) if before.mean > after.mean]
    if not against:
        return "agrees"
    return "differs" if any(before.low > after.high for before, after in against) else "unsure"


def holds(true: bool) -> str:
    return "agrees" if true else "differs"
