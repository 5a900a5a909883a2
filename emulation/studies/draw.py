"""The figures drawn: means over seeds, with their 95% confidence intervals as bars or bands."""
from __future__ import annotations

import io
import math
from contextlib import AbstractContextManager
from pathlib import Path

import matplotlib

matplotlib.use("agg")
from matplotlib.axes import Axes  # noqa: E402  the backend must be chosen first
from matplotlib.figure import Figure  # noqa: E402

from emulation.studies.evaluation import Evaluation, Look, Panel  # noqa: E402
from emulation.studies.points import Point, Tables  # noqa: E402
from mobility.wholefile import write_whole  # noqa: E402


def _style() -> AbstractContextManager[None]:
    return matplotlib.rc_context({
        "svg.fonttype": "none", "svg.hashsalt": "roamcast", "font.family": "sans-serif", "font.size": 9, "axes.labelsize": 8,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e5e7eb",
        "axes.axisbelow": True, "legend.frameon": False, "legend.fontsize": 8, "lines.linewidth": 1.5})


def draw(evaluation: Evaluation, panel: Panel, tables: Tables, folder: Path) -> Path:
    """Write figure-NAME.svg and .png; returns the SVG."""
    with _style():
        figure = chart(evaluation, panel, tables)
        for name, more in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 150})):
            drawn = io.BytesIO()
            figure.savefig(drawn, format=name, **more)
            write_whole(folder / f"figure-{panel.name}.{name}", drawn.getvalue())
    return folder / f"figure-{panel.name}.svg"


def chart(evaluation: Evaluation, panel: Panel, tables: Tables) -> Figure:
    with _style():
        figure = Figure(figsize=(6.0, 4.2), layout="constrained")
        axes = figure.subplots()
        if panel.bars:
            _bars(axes, panel, tables)
        else:
            _curves(axes, evaluation, panel, tables)
        named = axes.get_legend_handles_labels()
        if named[1]:  # below the chart, where it covers nothing
            figure.legend(*named, loc="outside lower center", ncols=2 if max(map(len, named[1])) > 20 else 4)
        axes.set_title(f"Figure {panel.name}: {panel.title}", fontsize=9, loc="left")
    return figure


def _curves(axes: Axes, evaluation: Evaluation, panel: Panel, tables: Tables) -> None:
    over_time = panel.quantity in evaluation.quantities.over_time
    names = list(dict.fromkeys(series for name, series, _ in tables.points if name == panel.name))
    for name in names:
        points = [(x, point) for x, point in tables.curve(panel.name, name) if not math.isnan(point.mean)]
        if not points:
            continue
        protocol, _, rate = name.partition(" ") if over_time else (name, "", "")
        look = evaluation.looks.get(protocol) or evaluation.looks.get(name) or Look("#111827")
        xs, means = [x for x, _ in points], [point.mean for _, point in points]
        label = (look.label or name) + (f", ρ = {rate}" if rate else "")
        dashes = "--" if rate == "3" else "-"
        axes.plot(xs, means, dashes, color=look.color, label=label, markersize=3.5,
                  marker="" if over_time else look.marker)
        if not any(math.isnan(point.low) for _, point in points):
            axes.fill_between(xs, [p.low for _, p in points], [p.high for _, p in points], color=look.color, alpha=0.12,
                              linewidth=0)
    for x in panel.dots:
        axes.axvline(x, color="#9ca3af", linewidth=0.8, linestyle=":")
    if panel.log:
        axes.set_xscale("log")
        axes.set_xticks(panel.sweep[1], [f"{x:g}" for x in panel.sweep[1]])  # what was swept, not powers of ten
        axes.minorticks_off()
    shown = [point.mean for (name, _, _), point in tables.points.items()
             if name == panel.name and not math.isnan(point.mean)]
    if panel.ylog:
        axes.set_yscale("symlog", linthresh=1)
    elif shown:  # few seeds have bands wider than the means are apart
        least = min(shown) if panel.quantity == "delivery" else min(0.0, *shown)
        room = 0.08 * (max(shown) - least) or 1.0
        axes.set_ylim(least - room * (least != 0), max(shown) + 2 * room)
    axes.set(xlabel=panel.xlabel, ylabel=panel.ylabel)


def _bars(axes: Axes, panel: Panel, tables: Tables) -> None:
    """Figure 13: for each protocol two bars, messages and normalized cost, in layers by message type."""
    places, labels = [], []
    shades: dict[str, str] = {}
    at = 0.0
    for rule in panel.sweep[1]:
        for protocol in dict.fromkeys(series.overrides["protocol"] for series in panel.series):
            for how in ("messages", "normalized"):
                bottom = 0.0
                for series in panel.series:
                    if not series.name.startswith(f"{protocol} ") or not series.name.endswith(how):
                        continue
                    kind = series.name.split()[1]
                    point: Point = tables.at(panel.name, series.name, rule)
                    if math.isnan(point.mean):
                        continue
                    new = kind not in shades
                    color = shades.setdefault(kind, f"C{len(shades)}")
                    axes.bar(at, point.mean, 0.8, bottom=bottom, color=color, label=kind if new else None)
                    bottom += point.mean
                at += 1
            places.append(at - 1.5)
            labels.append(f"{protocol}\n{rule}")
            at += 0.5
    axes.set_xticks(places, labels, fontsize=7)
    axes.set(ylabel="messages (left), normalized cost (right)")
    axes.grid(axis="x", visible=False)
