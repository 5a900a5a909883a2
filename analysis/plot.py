"""Figures of a study's table: means over seeds with their 95 % intervals, and differences paired by seed, fit for a paper.

A key with numbers is the axis of x, and the other keys make a line each; where no key has numbers, settings stand one below
the other. Lines differ in color, dashes and marker, so that they survive black and white. The figure is as wide as a column.
"""
from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("agg")
from matplotlib.axes import Axes  # noqa: E402  the backend must be chosen first
from matplotlib.figure import Figure  # noqa: E402

from analysis.compare import difference  # noqa: E402
from analysis.errors import AnalysisError  # noqa: E402
from analysis.metrics import BY_KEY, FORMS, Metric  # noqa: E402
from analysis.summary import Summary  # noqa: E402
from analysis.table import Table  # noqa: E402
from mobility.wholefile import write_whole  # noqa: E402

COLUMN = 3.5  # inches: a column of a paper with two
MOST_LINES, MOST_SETTINGS, MOST_TICKS = 8, 30, 8  # that can be told apart in a figure
LABEL = 24  # characters of a setting's label in one line
_LOOKS = [(color, dashes, marker) for color, dashes, marker in zip(
    ("#000000", "#0072B2", "#D55E00", "#009E73", "#7F3C8D", "#56B4E9", "#8C6D00", "#CC79A7"),
    ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 1))), "os^Dv<>P", strict=True)]
_STYLE: Any = {"font.size": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7, "legend.fontsize": 7,
          "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.5,
          "axes.axisbelow": True, "axes.linewidth": 0.7, "legend.frameon": False, "legend.handlelength": 2.8, "lines.linewidth": 1.2,
          "lines.markersize": 3.5, "svg.hashsalt": "roamcast", "pdf.fonttype": 42}


class Point(NamedTuple):
    x: float  # or the place of a setting, from 0
    mean: float
    low: float  # nan with fewer than two runs
    high: float
    runs: int


class Chart(NamedTuple):
    metric: Metric
    x: str  # a key; "" where settings stand one below the other
    xlabel: str
    lines: dict[str, list[Point]]
    places: list[str]  # the settings, where there is no x
    against: str  # what the means are differences from; "" where they are none
    missing: list[str]  # points without any value: their settings


def chart(table: Table, metric: str, x: str | None = None, against: str | None = None) -> Chart:
    """A metric over a key. `against`: a line or a setting from which differences are shown. Raises AnalysisError."""
    known = BY_KEY.get(metric)
    if known is None:
        raise AnalysisError(f"{metric}: no metric; columns.csv of the study lists them, such as ratio, latency_median or bytes_per_delivery")
    axis = _axis(table, x)
    lines, places = _lines(table, axis), table.settings
    wide = MOST_LINES if axis else MOST_SETTINGS
    if len(lines if axis else places) > wide:
        raise AnalysisError(f"found {len(lines if axis else places)} {'lines' if axis else 'settings'} for one figure; at most {wide} can be "
                            f"told apart: choose another --x ({', '.join(_numeric(table)) or 'no key has numbers'}), or split the study")
    columns = {column.name: column for column in table.keys}
    unit = f" ({columns[axis].unit})" if axis and columns[axis].unit else ""
    xlabel = axis.rpartition(".")[2].replace("_", " ") + unit
    if against is None:
        points = {name: [_mean(at, table.values(setting, metric)) for at, setting in of] for name, of in lines.items()}
    else:
        points = _differences(table, metric, lines, against)
    found = {name: [point for point in of if not math.isnan(point.mean)] for name, of in points.items()}
    if not any(found.values()):
        raise AnalysisError(f"{metric}: no run has a value of it; choose another metric")
    missing = [setting for name, of in lines.items() for at, setting in of if (against is None or name in points)
               and (against is None or setting != against) and all(point.x != at for point in found.get(name, []))]
    return Chart(known, axis, xlabel, {name: of for name, of in found.items() if of}, places if not axis else [], against or "", missing)


def _numeric(table: Table) -> dict[str, int]:
    """Keys whose values are numbers, two at least, and how many."""
    found = {}
    for key in table.keys:
        values = {row.values[key.name] for row in table.rows}
        if len(values) > 1 and all(type(value) in (int, float) for value in values):
            found[key.name] = len(values)
    return found


def _axis(table: Table, x: str | None) -> str:
    """The key on the axis of x: the one that was asked for, or that takes most values; "" if none has numbers. Raises AnalysisError."""
    numeric = _numeric(table)
    if x is None:
        return max(numeric, key=lambda key: numeric[key], default="")
    named = [key for key in numeric if x in (key, key.rpartition(".")[2])]
    if len(named) != 1:
        raise AnalysisError(f"--x {x}: no key with several numbers in this study; {'give one of ' + ', '.join(numeric) if numeric else 'none has'}")
    return named[0]


def _lines(table: Table, axis: str) -> dict[str, list[tuple[float, str]]]:
    """Label of a line -> (x, setting) in order."""
    if not axis:
        return {"": [(float(at), setting) for at, setting in enumerate(table.settings)]}
    others = [key.name for key in table.keys if key.name != axis and len({str(row.values[key.name]) for row in table.rows}) > 1]
    values: dict[str, Mapping[str, Any]] = {row.setting: row.values for row in table.rows}
    found: dict[str, list[tuple[float, str]]] = {}
    for setting, of in values.items():
        label = ", ".join(_word(key, of[key]) for key in others)
        found.setdefault(label, []).append((float(of[axis]), setting))
    return {label: sorted(of) for label, of in found.items()}


def _word(key: str, value: object) -> str:
    name = key.rpartition(".")[2].replace("_", " ")
    return value if isinstance(value, str) and value and not value.startswith("[") else \
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def _mean(x: float, values: Mapping[int, float]) -> Point:
    estimate = Summary("", [{"": value} for value in values.values()] or [{"": math.nan}]).estimate("")
    half = estimate.half if estimate.runs > 1 else math.nan
    return Point(x, estimate.mean, estimate.mean - half, estimate.mean + half, estimate.runs)


def _differences(table: Table, metric: str, lines: dict[str, list[tuple[float, str]]], against: str) -> dict[str, list[Point]]:
    """Of every setting from the one of the same x on the line `against`, or from the setting of that label. Raises AnalysisError."""
    def pair(x: float, setting: str, base: str) -> Point:
        one, other = table.values(base, metric), table.values(setting, metric)
        found = difference(one, other, paired=True)
        return Point(x, found.mean, found.low, found.high, len(one.keys() & other.keys()))

    if against in lines and len(lines) > 1:
        bases = dict(lines[against])
        return {name: [pair(x, setting, bases[x]) for x, setting in of if x in bases] for name, of in lines.items() if name != against}
    if against not in table.settings:
        known = [*(lines if len(lines) > 1 else ()), *table.settings]
        raise AnalysisError(f"--against {against}: no line and no setting of this study; give one of {'; '.join(known[:12])}"
                            + (f" and {len(known) - 12} more" if len(known) > 12 else ""))
    return {name: [pair(x, setting, against) for x, setting in of if setting != against] for name, of in lines.items()}


# --- drawing -----------------------------------------------------------------------------------------------------

def draw(found: Chart, stem: Path) -> list[Path]:
    """Write STEM.svg, .pdf, .png (300 dpi) and .csv, the points in the metric's own unit; their paths. Raises AnalysisError."""
    with matplotlib.rc_context(_STYLE):
        figure = figure_of(found)
        files: list[tuple[Path, bytes | str]] = []
        for name, more in (("svg", {"metadata": {"Date": None}}), ("pdf", {"metadata": {"CreationDate": None}}), ("png", {"dpi": 300})):
            drawn = io.BytesIO()
            figure.savefig(drawn, format=name, **more)
            files.append((stem.with_name(f"{stem.name}.{name}"), drawn.getvalue()))
    files.append((stem.with_name(f"{stem.name}.csv"), _csv(found)))
    try:
        for path, content in files:
            write_whole(path, content)
    except OSError as error:
        raise AnalysisError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return [path for path, _ in files]


def figure_of(found: Chart) -> Figure:
    with matplotlib.rc_context(_STYLE):
        deepest = max((len(textwrap.wrap(place, LABEL)) for place in found.places), default=1)
        height = 2.5 if found.x else 0.7 + (0.1 + 0.12 * deepest) * len(next(iter(found.lines.values())))
        figure = Figure(figsize=(COLUMN, height + 0.14 * (len(found.lines) if len(found.lines) > 1 else 0)), layout="constrained")
        axes = figure.subplots()
        factor, label = _scaled(found)
        if found.x:
            _draw_lines(axes, found, factor)
            axes.set(xlabel=found.xlabel, ylabel=label)
        else:
            _draw_places(axes, found, factor)
            axes.set(xlabel=label)
        if len(found.lines) > 1:  # below, where it covers nothing
            longest = max(map(len, found.lines))
            figure.legend(loc="outside lower center", ncols=max(1, min(4, int((COLUMN - 0.2) / (0.55 + 0.062 * longest)))))
    return figure


def _scaled(found: Chart) -> tuple[float, str]:
    """What numbers are multiplied by, and the label of their axis, with the unit."""
    metric, means = found.metric, [abs(point.mean) for of in found.lines.values() for point in of]
    factor, unit, *_ = FORMS[metric.form]
    if metric.form == "seconds" and max(means) < 1:
        factor, unit = 1000, " ms"
    if metric.form == "share" and found.against:
        unit = " points"
    name = metric.name if not found.against else f"{metric.name}, difference from {found.against}"
    return factor, "\n".join(textwrap.wrap(name + (f" ({unit.strip()})" if unit else ""), 38))


def _draw_lines(axes: Axes, found: Chart, factor: float) -> None:
    xs = sorted({point.x for of in found.lines.values() for point in of})
    log = xs[0] > 0 and xs[-1] / xs[0] >= 8
    if log:
        axes.set_xscale("log")

    def beside(x: float, at: int) -> float:
        """Bars of lines that meet stand side by side."""
        step = (at - (len(found.lines) - 1) / 2) * 0.012
        return x * (xs[-1] / xs[0]) ** step if log else x + step * (xs[-1] - xs[0])

    for at, (name, of) in enumerate(found.lines.items()):
        color, dashes, marker = _LOOKS[at]
        axes.errorbar([beside(point.x, at) for point in of], [factor * point.mean for point in of], _bars(found, of, factor), label=name, color=color,
                      linestyle=dashes, marker=marker, capsize=2, elinewidth=0.8, capthick=0.8)
    if found.against:
        axes.axhline(0, color="#555555", linewidth=0.7)
    if len(xs) <= MOST_TICKS:
        axes.set_xticks(xs, [f"{x:g}" for x in xs])  # what was run
        axes.minorticks_off()
    axes.margins(x=0.06)


def _draw_places(axes: Axes, found: Chart, factor: float) -> None:
    [of] = found.lines.values()
    axes.errorbar([factor * point.mean for point in of], range(len(of)), xerr=_bars(found, of, factor), color="#000000",
                  linestyle="", marker="o", capsize=2, elinewidth=0.8, capthick=0.8)
    axes.set_yticks(range(len(of)), ["\n".join(textwrap.wrap(found.places[int(point.x)], LABEL)) for point in of])
    axes.set_ylim(len(of) - 0.5, -0.5)  # the first on top
    axes.grid(axis="y", visible=False)
    if found.against:
        axes.axvline(0, color="#555555", linewidth=0.7)


def _bars(found: Chart, of: Sequence[Point], factor: float) -> list[list[float]]:
    """How far the interval goes below and above; that of a share ends where shares end."""
    whole = found.metric.form == "share" and not found.against
    lows = [max(0.0, point.low) if whole else point.low for point in of]
    highs = [min(1.0, point.high) if whole else point.high for point in of]
    return [[0.0 if math.isnan(low) else factor * (point.mean - low) for low, point in zip(lows, of, strict=True)],
            [0.0 if math.isnan(high) else factor * (high - point.mean) for high, point in zip(highs, of, strict=True)]]


def _csv(found: Chart) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["line", found.x or "setting", "mean", "low", "high", "runs"])
    for name, of in found.lines.items():
        for point in of:
            place = f"{point.x:g}" if found.x else found.places[int(point.x)]
            writer.writerow([name, place, *("" if math.isnan(value) else repr(value) for value in point[1:4]), point.runs])
    return out.getvalue()
