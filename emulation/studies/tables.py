"""From result files to the points of the figures: means over seeds with 95% confidence intervals.

A plain quantity has Student's interval over the runs. A comparison is a ratio of means, each
run paired with its rival's of the same seed; its interval is Student's over the linearized residuals.
"""
from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from emulation.studies import results, sweep
from emulation.studies.evaluation import Evaluation, Panel


class Point(NamedTuple):
    mean: float
    low: float  # nan with fewer than two runs
    high: float
    runs: int


NOTHING = Point(math.nan, math.nan, math.nan, 0)


class Tables:
    """The points of panels, by (panel name, series name, x)."""

    def __init__(self) -> None:
        self.points: dict[tuple[str, str, object], Point] = {}
        self.missing: list[str] = []  # runs that are not there, and why
        self.failures: set[str] = set()
        self.runs = 0
        self.compared = 0  # runs whose subscription tables were compared at their end
        self.wrong = 0  # table entries that were wrong at the end of some run
        self.messages = 0
        self.seconds = 0.0  # of a processor
        self.codes: set[str] = set()

    def at(self, panel: str, series: str, x: object) -> Point:
        return self.points.get((panel, series, x), NOTHING)

    def curve(self, panel: str, series: str) -> list[tuple[object, Point]]:
        return [(x, point) for (name, one, x), point in self.points.items() if name == panel and one == series]


def build(evaluation: Evaluation, panels: Iterable[Panel], seeds: int, common: dict, folder: Path) -> Tables:
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
        self._values: dict[tuple[str, str], object] = {}
        self._known: dict[str, bool] = {}

    def value(self, given: dict, quantity: str):
        """The quantity of a run, None if there is no such run."""
        key, known = results.key(given), self.evaluation.quantities
        if self._known.get(key) is False:
            return None
        if (key, quantity) not in self._values:
            result = self._read(key, given)
            if result is None:
                return None
            wanted = {quantity} if quantity in known.over_time else {quantity, *known.names}
            try:
                for name in wanted:
                    ask = known.over_time.get(name)
                    self._values[key, name] = ask(result) if ask else known.scalar(name, result)
            except (LookupError, TypeError, AttributeError) as error:
                self._lacking(key, given, f"its file is of another version of the code and lacks {error}; remove "
                                          f"{self.folder / key}.json to have it done again")
                return None
        return self._values[key, quantity]

    def _read(self, key: str, given: dict) -> dict | None:
        tables, path = self.tables, self.folder / f"{key}.json"
        try:
            result = results.read(path)
            why = result.get("failed")
        except (FileNotFoundError, results.Damaged):
            result, why = None, "not there"
        if why is not None:
            self._lacking(key, given, why)
            return None
        if key not in self._known:
            self._known[key] = True
            tables.runs += 1
            tables.compared += "wrong" in result
            tables.wrong += result.get("wrong", 0)
            tables.messages += result.get("link_messages", 0)
            tables.seconds += result.get("cpu", 0.0)
            tables.codes.add(result.get("code", "unknown"))
        return result

    def _lacking(self, key: str, given: dict, why: str) -> None:
        self._known[key] = False
        told = " ".join(f"{name}={value}" for name, value in given.items())
        self.tables.missing.append(f"{told}: {why}")
        if why != "not there":
            self.tables.failures.add(f"{told}: {why}")


def _points(reader: _Reader, panel: Panel, series, x, given: list[dict]) -> None:
    quantity, points, evaluation = series.quantity or panel.quantity, reader.tables.points, reader.evaluation
    if quantity in evaluation.quantities.over_time:
        bins: dict[float, list[float]] = {}
        for one in given:
            for at, value in reader.value(one, quantity) or ():
                bins.setdefault(round(at, 6), []).append(value)
        name = series.name if len(panel.sweep[1]) == 1 else f"{series.name} {x:g}"
        points.update(((panel.name, name, at), mean(values)) for at, values in sorted(bins.items()))
    elif quantity in evaluation.quantities.relative:
        compared = evaluation.quantities.relative[quantity]
        pairs = [(reader.value(one, compared), reader.value(evaluation.rival(one), compared)) for one in given]
        points[panel.name, series.name, x] = less([pair for pair in pairs if None not in pair])
    else:
        values = [reader.value(one, quantity) for one in given]
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
