"""The charts of the report: SVG that takes its colors from the page, and the numbers that it draws as CSV.

Matplotlib draws; each color it is given is a stand-in that becomes a CSS variable afterwards, so that
one drawing serves light and dark pages. Text stays text: it can be selected and read aloud.
"""
from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("svg")
from matplotlib.axes import Axes  # noqa: E402  the backend must be chosen first
from matplotlib.figure import Figure  # noqa: E402

from analysis.summary import Estimate, seconds  # noqa: E402

INK, FAINT, GRID = "#010101", "#020202", "#030303"
MAIN, BOUND, WARM, QUIET = "#0a0101", "#0a0202", "#0a0303", "#0a0404"
SIDES = ("#1b9e77", "#c85a9a", "#b8860b", "#7b68c8", "#4aa3a2", "#8b93a1")  # more colors, as the map has them
_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--rule", MAIN: "--main", BOUND: "--bound", WARM: "--warm",
              QUIET: "--quiet"}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "roamcast", "font.family": "sans-serif", "font.size": 10,
    "axes.edgecolor": FAINT, "axes.labelcolor": INK, "axes.linewidth": 0.8, "axes.grid": True, "grid.color": GRID,
    "grid.linewidth": 0.8, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "text.color": INK,
    "legend.frameon": False, "legend.fontsize": 9, "axes.labelsize": 10, "lines.linewidth": 1.8,
}


class Chart(NamedTuple):
    svg: str  # an element
    csv: str  # a column for each thing drawn


def ceiling(values: np.ndarray) -> float | None:
    """Where to end an axis that a few high values, as at the start of a run, would flatten for all others; None: nowhere."""
    if not len(values):
        return None
    usual, most = max(float(np.percentile(values, 98)), 1.0), float(np.max(values))
    return max(1.25 * usual, usual + 1.2) if most > 2.5 * usual else None  # of small counts one more fits


def _chart(draw: Callable[[Axes], None], label: str, numbers: dict[str, Any], height: float = 2.6) -> Chart:
    """`numbers`: column -> what is drawn."""
    return Chart(_svg(draw, label, height=height), pd.DataFrame(numbers).to_csv(index=False, lineterminator="\n"))


def _svg(draw: Callable[[Axes], None], label: str, width: float = 5.4, height: float = 2.6) -> str:
    """The SVG element that `draw(axes)` makes; `label` says in words what it shows."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots()
        draw(axes)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, f"var({variable})")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"font: ([^;\"']*?)(\d+(?:\.\d+)?px) [^;\"]*", r"font: \1\2 system-ui, sans-serif", text)
    # ids must differ between the drawings of one page
    salt = f"f{zlib.crc32(label.encode()):x}-"
    text = re.sub(r'\bid="', f'id="{salt}', text)
    text = re.sub(r'url\(#', f"url(#{salt}", text)
    text = re.sub(r'href="#', f'href="#{salt}', text)
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', "", text, count=1).replace("<svg ", '<svg class="chart" ', 1)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _legend(axes: Axes) -> None:
    """Above the drawing, where no curve is."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)


def _cut_off(axes: Axes, where: str) -> None:
    axes.text(1.0, 1.03, f"cut off {where}", transform=axes.transAxes, ha="right", fontsize=9, color=FAINT)


def delivery_over_time(bins: pd.DataFrame, width: float, window: tuple[float, float], bounded: bool) -> Chart:
    """Delivery ratio and bound of the events published in each bin."""
    def draw(axes: Axes) -> None:
        at = bins["bin"].to_numpy(float)
        edges = np.append(at, at[-1:] + width)
        if bounded:
            bound = (bins["reachable"] / bins["expected"]).to_numpy(float)
            axes.step(edges, np.append(bound, bound[-1:]), where="post", color=BOUND, label="physical bound", linewidth=1.4)
        ratio = (bins["delivered"] / bins["expected"]).to_numpy(float)
        axes.step(edges, np.append(ratio, ratio[-1:]), where="post", color=MAIN, label="delivered in time")
        axes.fill_between(edges, np.append(ratio, ratio[-1:]), step="post", color=MAIN, alpha=0.15, linewidth=0)
        axes.set(ylim=(0, 1.03), xlim=window, xlabel="published at (s)")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
        _legend(axes)
    columns = ["expected", "delivered", *(["reachable"] if bounded else [])]
    return _chart(draw, "Delivery ratio and physical bound by time of publication",
                  {"published_from_s": bins["bin"], **{name: bins[name].astype(int) for name in columns}})


def delivery_of_runs(runs: Sequence[tuple[str, str, pd.DataFrame]], width: float) -> Chart:
    """Delivery ratio by time of publication: a thin line for each run (side, name, bins), a thick one for all of a side."""
    ratios = pd.DataFrame({name: (bins["delivered"] / bins["expected"]).set_axis(bins["bin"]) for _, name, bins in runs}).sort_index()
    sides = list(dict.fromkeys(side for side, *_ in runs))

    def draw(axes: Axes) -> None:
        at = ratios.index.to_numpy(float)
        for color, side in zip(_colors(len(sides)), sides, strict=True):
            names = [name for of, name, _ in runs if of == side]
            for name in names:
                axes.step(at + width / 2, ratios[name], where="mid", color=color, linewidth=0.8, alpha=0.35)
            counts = pd.concat([bins.set_index("bin")[["delivered", "expected"]] for of, _, bins in runs if of == side]).groupby(level=0).sum()
            axes.step(counts.index.to_numpy(float) + width / 2, counts["delivered"] / counts["expected"], where="mid", color=color, label=side or "all runs")
        axes.set(ylim=(0, 1.03), xlabel="published at (s)")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
        _legend(axes)
    return _chart(draw, "Delivery ratio by time of publication, of each run", {"published_from_s": ratios.index, **{name: ratios[name].to_numpy() for name in ratios}})


def losses_of_runs(runs: Sequence[tuple[str, str, pd.Series]]) -> Chart:
    """Lost pairs by reason: a dot for each run (side, name, pairs by reason)."""
    counts = pd.DataFrame({name: of for _, name, of in runs}).fillna(0).astype(int)
    counts = counts.loc[counts.sum(axis=1).sort_values().index]
    sides = list(dict.fromkeys(side for side, *_ in runs))

    def draw(axes: Axes) -> None:
        for place, (color, side) in enumerate(zip(_colors(len(sides)), sides, strict=True)):
            at = np.arange(len(counts)) - 0.5 * (place - (len(sides) - 1) / 2) / max(1, len(sides))
            names = [name for of, name, _ in runs if of == side]
            for name in names:
                axes.plot(counts[name], at, "o", color=color, markersize=4, alpha=0.6)
            axes.plot(counts[names].mean(axis=1), at, "|", color=color, markersize=18, markeredgewidth=2.5, label=side or "mean")
        axes.set(xlabel="pairs not delivered in time, a dot a run", xlim=(0, None), ylim=(-0.6, len(counts) - 0.4))
        axes.set_yticks(np.arange(len(counts)), [str(name).replace("_", " ") for name in counts.index])
        _legend(axes)
    return _chart(draw, "Pairs not delivered in time, by reason, of each run", {"reason": counts.index, **{name: counts[name].to_numpy() for name in counts}})


def spread(name: str, form: str, values: Mapping[str, Mapping[int, float]], means: Mapping[str, Estimate]) -> Chart:
    """A number of several runs: a dot for each (side -> seed -> value), and the mean with its 95 % interval."""
    small = all(abs(value) < 1 for of in values.values() for value in of.values())
    factor, unit = {"share": (100.0, "%"), "seconds": (1000.0, "ms") if small else (1.0, "s")}.get(form, (1.0, ""))

    def draw(axes: Axes) -> None:
        for place, (color, side) in enumerate(zip(_colors(len(values)), values, strict=True)):
            at, mean = -place, means[side]
            axes.plot([value * factor for value in values[side].values()], [at] * len(values[side]), "o", color=color, markersize=6, alpha=0.55)
            if mean.runs > 1:
                low, high = mean.interval(form)
                axes.plot([low * factor, high * factor], [at - 0.28] * 2, color=color, linewidth=2.5)
            axes.plot([mean.mean * factor], [at - 0.28], "D", color=color, markersize=6)
        axes.set(xlabel=f"{name}{f' ({unit})' if unit else ''}", ylim=(0.5 - len(values) - 0.3, 0.5))
        axes.set_yticks([-place for place in range(len(values))], [side or "runs" for side in values])
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.1)
        if axes.get_xlim()[0] < 0 <= min((value for of in values.values() for value in of.values()), default=0):
            axes.set_xlim(left=0)  # what is never negative: an interval runs to the edge
    rows = [(side, seed, value) for side, of in values.items() for seed, value in of.items()]
    return _chart(draw, f"{name} of each run, and the mean with its 95 % interval",
                  {"side": [row[0] for row in rows], "seed": [row[1] for row in rows], "value": [row[2] for row in rows]},
                  height=1.5 + 0.4 * len(values))


def _colors(sides: int) -> list[str]:
    """A color for each side, told apart on light and dark pages; the first is the page's own."""
    return [([MAIN, WARM, *SIDES])[k % (2 + len(SIDES))] for k in range(sides)]


def latency(percentiles: np.ndarray) -> Chart:
    """The distribution of latency, from percentiles 0 to 100 in s."""
    def draw(axes: Axes) -> None:
        milliseconds = np.maximum(percentiles * 1000, 0.01)
        axes.plot(milliseconds, np.arange(101) / 100, color=MAIN)
        axes.fill_between(milliseconds, np.arange(101) / 100, color=MAIN, alpha=0.15, linewidth=0)
        if milliseconds[-1] / milliseconds[1] > 50:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        for place in (50, 95):
            axes.axhline(place / 100, color=FAINT, linewidth=0.8, linestyle=(0, (3, 3)))
            axes.annotate(f"{place} %: {seconds(percentiles[place])}", (milliseconds[place], place / 100), xytext=(8, -13),
                          textcoords="offset points", fontsize=9)
            axes.plot([milliseconds[place]], [place / 100], "o", color=MAIN, markersize=5)
        axes.set(ylim=(0, 1.03), xlabel="latency (ms)")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    return _chart(draw, "Cumulative distribution of the latency of delivered events",
                  {"percentile": np.arange(101), "latency_s": percentiles})


def hops(counts: pd.DataFrame) -> Chart:
    """How many deliveries took how many hops."""
    def draw(axes: Axes) -> None:
        axes.bar(counts["hops"].to_numpy(float), counts["expected"].to_numpy(float), color=MAIN, width=0.8)
        axes.set(xlabel="hops", ylabel="deliveries")
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        axes.grid(axis="x", visible=False)
    return _chart(draw, "Deliveries by number of hops",
                  {"hops": counts["hops"].astype(int), "deliveries": counts["expected"].astype(int)})


def losses(reasons: pd.DataFrame) -> Chart:
    """Lost pairs by reason."""
    counts = reasons.groupby("reason")["expected"].sum().sort_values()

    def draw(axes: Axes) -> None:
        names = [name.replace("_", " ") for name in counts.index]
        bars = axes.barh(names, counts.to_numpy(float), height=0.7,
                         color=[BOUND if name == "partitioned" else WARM for name in counts.index])
        axes.bar_label(bars, fmt="{:,.0f}", padding=4, fontsize=9)
        axes.set(xlabel="pairs not delivered in time")
        axes.margins(x=0.12)
        axes.grid(axis="y", visible=False)
    return _chart(draw, "Pairs not delivered in time, by reason", {"reason": counts.index[::-1], "pairs": counts.to_numpy()[::-1]})


def overhead(sent: pd.DataFrame) -> Chart:
    """Bytes sent by message type."""
    shown = sent[sent["bytes"] > 0].head(12)[::-1]

    def draw(axes: Axes) -> None:
        bars = axes.barh(shown["type"].to_list(), shown["bytes"].to_numpy(float) / 1000, color=MAIN, height=0.7)
        axes.bar_label(bars, fmt="{:,.0f}", padding=4, fontsize=9)
        axes.set(xlabel="sent in the run (kB)")
        axes.margins(x=0.12)
        axes.grid(axis="y", visible=False)
    return _chart(draw, "Bytes sent in the run by message type", {"type": shown["type"][::-1], "bytes": shown["bytes"][::-1].astype(int)})


def shape(samples: pd.DataFrame, radio_known: bool) -> Chart:
    """Tree fragments over time, and radio partitions. A spike, as at the start, is cut off and named."""
    shown = ["fragments", *(["partitions"] if radio_known else [])]
    highest = samples[shown].max(axis=1)
    top = ceiling(highest.to_numpy(float))

    def draw(axes: Axes) -> None:
        axes.step(samples["t"], samples["fragments"], where="mid", color=WARM, label="tree fragments", linewidth=1.4)
        if radio_known:
            axes.step(samples["t"], samples["partitions"], where="mid", color=BOUND, label="radio partitions", linewidth=1.8)
        axes.set(xlabel="time (s)", ylim=(0, top), xlim=(0, float(samples["t"].iloc[-1])))
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        if top is not None:
            _cut_off(axes, f"above: up to {highest.max():,.0f}, at {samples['t'][highest.idxmax()]:.0f} s")
        _legend(axes)
    return _chart(draw, f"Tree fragments {'and radio partitions ' if radio_known else ''}over time",
                  {"t_s": samples["t"], **{name: samples[name].astype(int) for name in shown}})


def seeking_times(percentiles: np.ndarray) -> Chart:
    """The distribution of the time from noticing a lost link until joined, from percentiles 0 to 100 in s."""
    def draw(axes: Axes) -> None:
        axes.plot(percentiles, np.arange(101) / 100, color=WARM)
        axes.fill_between(percentiles, np.arange(101) / 100, color=WARM, alpha=0.15, linewidth=0)
        axes.set(ylim=(0, 1.03), xlim=(0, None), xlabel="from noticing the loss to joining (s)")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
        if percentiles[-1] > 4 * percentiles[95]:
            axes.set_xlim(0, 2 * percentiles[95])
            _cut_off(axes, f"at the right: up to {seconds(percentiles[-1])}")
    return _chart(draw, "Cumulative distribution of the seeking time", {"percentile": np.arange(101), "seconds": percentiles})


def outages(seconds: np.ndarray, left: np.ndarray) -> Chart:
    """The share of outages that are over after so many s: waits in ascending order, and the share that lasts longer."""
    def draw(axes: Axes) -> None:
        over = np.concatenate([[0.0], 1 - left])
        axes.step(np.concatenate([[0.0], seconds]), over, where="post", color=WARM)
        axes.fill_between(np.concatenate([[0.0], seconds]), over, step="post", color=WARM, alpha=0.15, linewidth=0)
        axes.axvline(2.0, color=FAINT, linewidth=0.8, linestyle=(0, (3, 3)))
        if seconds[-1] > 60:
            axes.set_xscale("symlog", linthresh=10)
            axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        axes.set(ylim=(0, 1.03), xlim=(0, None), xlabel="from radio loss to one tree again (s)")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    return _chart(draw, "Share of tree link outages that are over, by time since the radio loss",
                  {"seconds": seconds, "over": 1 - left})
