"""The points of figures: means over seeds with their 95% confidence intervals, and what the runs behind them were like."""
from __future__ import annotations

import math
from typing import NamedTuple

Swept = str | float  # a value of the parameter that a figure sweeps


class Point(NamedTuple):
    mean: float
    low: float  # nan with fewer than two runs
    high: float
    runs: int


NOTHING = Point(math.nan, math.nan, math.nan, 0)


class Tables:
    """The points of panels, by (panel name, series name, x)."""

    def __init__(self) -> None:
        self.points: dict[tuple[str, str, Swept], Point] = {}
        self.missing: list[str] = []  # runs that are not there, and why
        self.failures: set[str] = set()
        self.runs = 0
        self.compared = 0  # runs whose subscription tables were compared at their end
        self.wrong = 0  # table entries that were wrong at the end of some run
        self.messages = 0
        self.seconds = 0.0  # of a processor
        self.other_code = 0  # runs that were made by other code than this

    def at(self, panel: str, series: str, x: Swept) -> Point:
        return self.points.get((panel, series, x), NOTHING)

    def curve(self, panel: str, series: str) -> list[tuple[Swept, Point]]:
        return [(x, point) for (name, one, x), point in self.points.items() if name == panel and one == series]
