"""report.html: one file that opens offline, with everything the analysis found in one run."""
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis import codes, figures, page, recovery, roaming, setting
from analysis.facts import Sent, share
from analysis.metrics import METRICS, numbers
from analysis.outages import WAITED, survival
from analysis.playback import playback
from analysis.study import Study, delivered
from analysis.summary import Summary, one

_SCRIPTS = ("player.js", "map.js", "losses.js", "charts.js")
_OUTCOMES = {
    "complete": "The run came to its end.",
    "interrupted": "The run was interrupted; the analysis covers what it had recorded by then.",
    "disk_full": "The disk filled up and the run stopped; records of the last seconds may be missing.",
    "failed": "The run failed; the analysis covers what it had recorded by then.",
    "running": "The run did not record its end: it was killed, or it is still going on.",
}


def write(whole: Study, summary: Summary) -> Path:
    """Write the report into the run directory and return its path. Raises AnalysisError."""
    data, left_out, no_map = playback(whole)
    sections, more = setting.scenario(whole.run)
    n = whole.numbers
    path = whole.run.path / "report.html"
    page.write(
        path, "report.html", _SCRIPTS, run=whole.run, headline=setting.headline(whole.run), facts=setting.facts(whole.run), sections=sections,
        lines_left_out=more, summary=summary, n=n, v={metric.key: _text(n[metric.key], metric.form) for metric in METRICS if metric.key in n},
        name={metric.key: metric.name.capitalize() for metric in METRICS}, charts=_charts(whole), outcome=_outcome(whole),
        fidelity=_flat(whole.run.manifest.get("fidelity")), violations=whole.violations, losses=_losses(whole),
        sent=_sent(whole), repairs=whole.repairs.to_dict("records"), lost_links=whole.links.lost,
        event_kinds=_groups(whole, whole.parts.kinds, "kind"), nodes=_hosts(whole, whole.parts.nodes, "node"),
        sources=_hosts(whole, whole.parts.sources, "source"), drops=whole.drops.to_dict("records"), codes=codes,
        traffic=whole.traffic, givers=recovery.by_giver(whole.recoveries), moves=[] if whole.moves is None else roaming.by_speed(whole.moves), bin_width=whole.parts.bin_width, left_out=left_out, no_map=no_map, has_shape=bool(len(whole.shape)) and (whole.run.radio_known or not whole.run.treeless),
        data=data)
    return path


def _charts(whole: Study) -> dict[str, figures.Chart]:
    """Each chart that there is something to draw for."""
    parts, run, charts = whole.parts, whole.run, {}
    counted = parts.classes[parts.classes["class"] == "counted"]
    if len(parts.bins):
        charts["delivery"] = figures.delivery_over_time(parts.bins, parts.bin_width, run.window, run.radio_known)
    if len(counted) and counted["percentiles"].iloc[0] is not None:
        charts["latency"] = figures.latency(np.asarray(counted["percentiles"].iloc[0], dtype=float))
    if len(parts.hops):
        charts["hops"] = figures.hops(parts.hops)
    if len(parts.reasons):
        charts["losses"] = figures.losses(parts.reasons)
    if whole.sent["bytes"].sum() > 0:
        charts["overhead"] = figures.overhead(whole.sent)
    if len(whole.shape) and whole.shape["hosts"].max() > 0:
        charts["shape"] = figures.shape(whole.shape, run.radio_known)
    if len(whole.seeking_times):
        charts["seeking"] = figures.seeking_times(whole.seeking_times)
    waited = whole.outages[whole.outages["outcome"].isin(WAITED)].sort_values("seconds")
    if len(waited):
        charts["outages"] = figures.outages(waited["seconds"].to_numpy(float), survival(
            waited["seconds"].to_numpy(float), (waited["outcome"] == "joined").to_numpy()))
    return charts


def _outcome(whole: Study) -> tuple[str, str]:
    """("good" | "bad", a sentence) on how the run ended."""
    name = str(whole.run.manifest.get("outcome", "running"))
    said = _OUTCOMES.get(name, f"The run ended as {name!r}.")
    reason = whole.run.manifest.get("reason")
    because = whole.run.invalid_because
    if because and name != "failed":  # a run in real time that did not keep to it
        said = f"This run is not valid, its numbers are about the machine: {'; '.join(because)}. {said}"
    good = name == "complete" and not because
    return ("good" if good else "bad"), said + (f" ({reason})" if reason else "")


def _flat(found: object) -> list[tuple[str, str]]:
    """The fidelity of the manifest as lines of name and value."""
    if not isinstance(found, dict):
        return []
    lines: list[tuple[str, str]] = []
    for key, value in found.items():
        name = str(key).replace("_", " ")
        if isinstance(value, dict):
            lines += [(f"{name}, {inner}", text) for inner, text in _flat(value)]
        elif isinstance(value, list):
            lines.append((name, "; ".join(map(str, value)) or "nothing"))
        else:
            lines.append((name, _plain(value)))
    return lines


def _plain(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


def _losses(whole: Study) -> list[dict[str, Any]]:
    rows = whole.parts.reasons.sort_values("expected", ascending=False)
    total = rows["expected"].sum()
    return [{"reason": r.reason.replace("_", " "), "detail": r.detail, "count": int(r.expected),
             "share": share(r.expected, total)} for r in rows.itertuples()]


def _sent(whole: Study) -> dict[str, list[dict[str, Any]]]:
    """Overhead per type and per family, with what a delivery costs."""
    span = whole.run.ended

    def rows(frame: pd.DataFrame, name: str) -> list[dict[str, Any]]:
        return [{**numbers(Sent(whole.deliveries["remote"], int(r["messages"]), int(r["bytes"]), len(whole.run.hosts), span)),
                 "name": r[name], "family": r.get("family", ""), "bytes_per_second": share(r["bytes"], span), "cost": r["cost"]}
                for r in frame.to_dict("records")]

    families = (whole.sent.groupby("family", as_index=False)[["messages", "bytes", "cost"]].sum(min_count=1)
                .sort_values("bytes", ascending=False))
    return {"types": rows(whole.sent, "type"), "families": rows(families, "family")}


def _groups(whole: Study, frame: pd.DataFrame, key: str) -> list[dict[str, Any]]:
    return [{**numbers(delivered(row, whole.run.radio_known)), "name": row[key]}
            for row in frame.to_dict("records") if row[key] is not None and row[key] == row[key]]


def _hosts(whole: Study, frame: pd.DataFrame, key: str) -> list[dict[str, Any]]:
    names = whole.run.hosts
    return [{**row, "name": names.get(int(row["name"]), int(row["name"]))}
            for row in _groups(whole, frame, key)]


def _text(x: float, form: str) -> str:
    """A metric as the page shows it."""
    return "–" if math.isnan(x) else one(x, form).replace(" ", "\u00a0")
