"""From result files to the points of the figures: means over seeds with 95% confidence intervals.

A plain quantity has Student's interval over the runs. A comparison is a ratio of means, each
run paired with its rival's of the same seed; its interval is Student's over the linearized residuals.
"""
from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from emulation.studies import results, simulators, sweep
from emulation.studies.evaluation import Evaluation, Given, Panel, Result, Series
from emulation.studies.points import NOTHING, Point, Swept, Tables


def build(evaluation: Evaluation, panels: Iterable[Panel], seeds: int, common: Given, folder: Path) -> Tables:
    """Read what is there; what is missing is listed."""
    reader = _Reader(evaluation, folder)
    for panel in panels:
        for series in panel.series:
            for x in panel.sweep[1]:
                _points(reader, panel, series, x, [
                    evaluation.plain(sweep.parameters(panel, series, x, seed, common)) for seed in range(1, seeds + 1)])
    return reader.tables


class _Reader:
    """Each file is read once, and of its content only what was asked for is kept."""

    def __init__(self, evaluation: Evaluation, folder: Path) -> None:
        self.evaluation = evaluation
        self.folder = folder
        self.tables = Tables()
        self._numbers: dict[tuple[str, str], float | None] = {}
        self._over_time: dict[tuple[str, str], list[tuple[float, float]]] = {}
        self._known: dict[str, bool] = {}

    def number(self, given: Given, quantity: str) -> float | None:
        """A quantity of a run; None if there is no such run, or nothing to tell in it."""
        key, known = results.key(given), self.evaluation.quantities
        if (key, quantity) not in self._numbers:
            self._take(key, given, lambda result: self._numbers.update(
                {(key, name): known.scalar(name, result) for name in (quantity, *known.names)}))
        return self._numbers[key, quantity] if self._known[key] else None

    def over_time(self, given: Given, quantity: str) -> list[tuple[float, float]]:
        """A quantity over the time of a run; nothing if there is no such run."""
        key, known = results.key(given), self.evaluation.quantities
        if (key, quantity) not in self._over_time:
            self._take(key, given, lambda result: self._over_time.update({(key, quantity): known.over_time[quantity](result)}))
        return self._over_time[key, quantity] if self._known[key] else []

    def _take(self, key: str, given: Given, keep: Callable[[Result], None]) -> None:
        """Keep what is asked for of a result, if there is one."""
        if self._known.get(key) is False or (result := self._read(key, given)) is None:
            return
        try:
            keep(result)
        except (LookupError, TypeError, AttributeError) as error:
            self._lacking(key, given, f"its file is from another version of the code and lacks {error}; remove "
                                      f"{self.folder / key}.json to run it again")

    def _read(self, key: str, given: Given) -> Result | None:
        tables = self.tables
        try:
            result = results.read(self.folder / f"{key}.json")
        except (FileNotFoundError, results.Damaged):
            result = {"failed": "not there"}
        if (why := result.get("failed")) is not None:
            self._lacking(key, given, why)
            return None
        if key not in self._known:
            self._known[key] = True
            tables.runs += 1
            tables.compared += "wrong" in result
            tables.wrong += result.get("wrong", 0)
            tables.messages += result.get("link_messages", 0)
            tables.seconds += result.get("cpu", 0.0)
            tables.other_code += result.get("code") != simulators.simulator(simulators.command(given)).code
        return result

    def _lacking(self, key: str, given: Given, why: str) -> None:
        self._known[key] = False
        told = " ".join(f"{name}={value}" for name, value in given.items())
        self.tables.missing.append(f"{told}: {why}")
        if why != "not there":
            self.tables.failures.add(f"{told}: {why}")


def _points(reader: _Reader, panel: Panel, series: Series, x: Swept, given: list[Given]) -> None:
    quantity, points, evaluation = series.quantity or panel.quantity, reader.tables.points, reader.evaluation
    if quantity in evaluation.quantities.over_time:
        bins: dict[float, list[float]] = {}
        for one in given:
            for at, value in reader.over_time(one, quantity):
                bins.setdefault(round(at, 6), []).append(value)
        name = series.name if len(panel.sweep[1]) == 1 else f"{series.name} {x:g}"
        points.update(((panel.name, name, at), mean(values)) for at, values in sorted(bins.items()))
    elif quantity in evaluation.quantities.relative:
        compared = evaluation.quantities.relative[quantity]
        pairs = [(reader.number(one, compared), reader.number(evaluation.rival(one), compared)) for one in given]
        points[panel.name, series.name, x] = less([(own, other) for own, other in pairs if own is not None and other is not None])
    else:
        values = [reader.number(one, quantity) for one in given]
        points[panel.name, series.name, x] = mean([value for value in values if value is not None])


def mean(values: Sequence[float]) -> Point:
    """With Student's 95% interval."""
    if not values:
        return NOTHING
    middle, count = float(np.mean(values)), len(values)
    if count < 2:
        return Point(middle, math.nan, math.nan, count)
    half = float(stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / math.sqrt(count))
    return Point(middle, middle - half, middle + half, count)


def less(pairs: Sequence[tuple[float, float]]) -> Point:
    """How much less the first of the pairs are than the second, in percent of the second."""
    own, other = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    if not len(pairs) or not other.mean():
        return NOTHING
    ratio = own.mean() / other.mean()
    spread = mean(list((own - ratio * other) / other.mean()))
    half = spread.high - spread.mean
    gain = 100 * (1 - float(ratio))
    return Point(gain, gain - 100 * half, gain + 100 * half, len(pairs))


def write(evaluation: Evaluation, panel: Panel, tables: Tables, path: Path) -> None:
    """The panel's points as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        over_time = panel.quantity in evaluation.quantities.over_time
        out.writerow(["series", "time" if over_time else panel.sweep[0], "mean", "low", "high", "runs"])
        for (name, series, x), point in tables.points.items():
            if name == panel.name:
                out.writerow([series, x, *(f"{value:.6g}" for value in point[:3]), point.runs])
