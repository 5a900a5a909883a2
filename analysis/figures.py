"""The charts of the report, as SVG that takes its colors from the page.

Matplotlib draws; each color it is given is a stand-in that becomes a CSS variable afterwards, so that
one drawing serves light and dark pages. Text stays text: it can be selected and read aloud.
"""
from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("svg")
from matplotlib.axes import Axes  # noqa: E402  the backend must be chosen first
from matplotlib.figure import Figure  # noqa: E402

from analysis.summary import seconds  # noqa: E402

INK, FAINT, GRID = "#010101", "#020202", "#030303"
MAIN, BOUND, WARM, QUIET = "#0a0101", "#0a0202", "#0a0303", "#0a0404"
_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--rule", MAIN: "--main", BOUND: "--bound", WARM: "--warm",
              QUIET: "--quiet"}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "roamcast", "font.family": "sans-serif", "font.size": 10,
    "axes.edgecolor": FAINT, "axes.labelcolor": INK, "axes.linewidth": 0.8, "axes.grid": True, "grid.color": GRID,
    "grid.linewidth": 0.8, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
    "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "text.color": INK,
    "legend.frameon": False, "legend.fontsize": 9, "axes.labelsize": 10, "lines.linewidth": 1.8,
}


def _svg(draw: Callable[[Axes], None], label: str, width: float = 6.4, height: float = 2.9) -> str:
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


def delivery_over_time(bins: pd.DataFrame, width: float, window: tuple[float, float], bounded: bool) -> str:
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
    return _svg(draw, "Delivery ratio and physical bound by time of publication")


def latency(percentiles: np.ndarray) -> str:
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
    return _svg(draw, "Cumulative distribution of the latency of delivered events")


def hops(counts: pd.DataFrame) -> str:
    """How many deliveries took how many hops."""
    def draw(axes: Axes) -> None:
        axes.bar(counts["hops"].to_numpy(float), counts["expected"].to_numpy(float), color=MAIN, width=0.8)
        axes.set(xlabel="hops", ylabel="deliveries")
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        axes.grid(axis="x", visible=False)
    return _svg(draw, "Deliveries by number of hops")


def losses(reasons: pd.DataFrame) -> str:
    """Lost pairs by reason."""
    def draw(axes: Axes) -> None:
        counts = reasons.groupby("reason")["expected"].sum().sort_values()
        names = [name.replace("_", " ") for name in counts.index]
        bars = axes.barh(names, counts.to_numpy(float), height=0.7,
                         color=[BOUND if name == "partitioned" else WARM for name in counts.index])
        axes.bar_label(bars, fmt="{:,.0f}", padding=4, fontsize=9)
        axes.set(xlabel="pairs not delivered in time")
        axes.margins(x=0.12)
        axes.grid(axis="y", visible=False)
    return _svg(draw, "Pairs not delivered in time, by reason")


def overhead(sent: pd.DataFrame) -> str:
    """Bytes sent by message type."""
    def draw(axes: Axes) -> None:
        shown = sent[sent["bytes"] > 0].head(12)[::-1]
        bars = axes.barh(shown["type"].to_list(), shown["bytes"].to_numpy(float) / 1000, color=MAIN, height=0.7)
        axes.bar_label(bars, fmt="{:,.0f}", padding=4, fontsize=9)
        axes.set(xlabel="sent in the run (kB)")
        axes.margins(x=0.12)
        axes.grid(axis="y", visible=False)
    return _svg(draw, "Bytes sent in the run by message type")


def shape(samples: pd.DataFrame) -> str:
    """Radio partitions and tree fragments over time."""
    def draw(axes: Axes) -> None:
        axes.step(samples["t"], samples["fragments"], where="mid", color=WARM, label="tree fragments", linewidth=1.4)
        axes.step(samples["t"], samples["partitions"], where="mid", color=BOUND, label="radio partitions", linewidth=1.8)
        axes.set(xlabel="time (s)", ylim=(0, None), xlim=(0, float(samples["t"].iloc[-1])))
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
        _legend(axes)
    return _svg(draw, "Tree fragments and radio partitions over time")


def seeking_times(percentiles: np.ndarray) -> str:
    """The distribution of the time from noticing a lost link until joined, from percentiles 0 to 100 in s."""
    def draw(axes: Axes) -> None:
        axes.plot(percentiles, np.arange(101) / 100, color=WARM)
        axes.fill_between(percentiles, np.arange(101) / 100, color=WARM, alpha=0.15, linewidth=0)
        axes.set(ylim=(0, 1.03), xlim=(0, None), xlabel="from noticing the loss to joining (s)")
        axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    return _svg(draw, "Cumulative distribution of the seeking time")


def outages(seconds: np.ndarray, left: np.ndarray) -> str:
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
    return _svg(draw, "Share of tree link outages that are over, by time since the radio loss")
