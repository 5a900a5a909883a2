"""Several runs in one report: seeds of a scenario, or settings side by side; one file that opens offline.

What each run did is in its own report, to which this one leads by relative paths: they hold while the folders stay together.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pyarrow.parquet as pq

from analysis import breakdown, compare, figures, means, page
from analysis.errors import AnalysisError
from analysis.metrics import METRICS, Metric
from analysis.sides import Side
from analysis.summary import SAFETY, Estimate, Summary, one, show

COLUMNS = ("ratio", "bound", "ratio_to_bound", "latency_median", "latency_p99", "hops_mean", "bytes_per_delivery")  # of the table of runs
SPREADS = ("ratio", "latency_median", "bytes_per_delivery", "outage_median")  # drawn run by run


class Entry(NamedTuple):
    """A run among several."""

    label: str  # of its side; "" where there is one
    seed: int
    folder: Path | None  # its run directory; None for a row of a study's table
    numbers: Mapping[str, float]  # by key
    invalid: Sequence[str]


class Table(NamedTuple):
    title: str
    says: list[str]  # sentences below it
    head: list[str]
    rows: list[list[str]]


def write_runs(summary: Summary, path: Path) -> None:
    """One report of the runs of one scenario. Raises AnalysisError."""
    folders = [Path(str(report)).parent for report in summary.reports]
    entries = [Entry("", seed, folder, numbers, []) for seed, folder, numbers in zip(summary.seeds, folders, summary.numbers, strict=True)]
    known = [metric for metric in METRICS if metric.key in summary and any(n[metric.key] == n[metric.key] for n in summary.numbers)]
    rows = [[f"{metric.section}: {metric.label}", show(summary.estimate(metric.key), metric.form),
             *(_text(numbers, metric) for numbers in summary.numbers)] for metric in known]
    table = Table("All numbers", ["Means with 95 % confidence intervals (Student's t), and each seed's value."],
                  ["number", "mean", *(f"seed {seed}" for seed in summary.seeds)], rows)
    _write(path, summary.title, entries, [table], summary.notes, summary.invalid, summary.correct)


def write_sides(found: Sequence[compare.Comparison], path: Path) -> None:
    """One report of settings side by side. Raises AnalysisError."""
    sides = [found[0].left, *(one.right for one in found)]
    entries = [entry for side in sides for entry in _entries(side)]
    tables = []
    for one_ in found:
        head, *rows = compare.cells(one_)
        tables.append(Table(compare.title(one_), compare.reading(one_), ["number", *head[2:]], [[f"{row[0]}: {row[1]}", *row[2:]] for row in rows]))
    invalid = [f"{entry.label}, seed {entry.seed}: {reason}" for entry in entries for reason in entry.invalid]
    notes = list(dict.fromkeys(note for one_ in found for note in one_.notes))
    name = found[0].left.members[0].run.name
    _write(path, f"{name}: {' | '.join(side.label for side in sides)}", entries, tables, notes, invalid,
           all(member.correct for side in sides for member in side.members))


def _entries(side: Side) -> list[Entry]:
    return [Entry(side.label, member.run.seed, None if member.swept else member.run.path, member.numbers, member.invalid_because)
            for member in side.members]


def _write(path: Path, title: str, entries: Sequence[Entry], tables: Sequence[Table], notes: Sequence[str], invalid: Sequence[str],
           correct: bool) -> None:
    means.check_name(path, (means.PAGE,))
    metrics = [metric for key in COLUMNS for metric in METRICS
               if metric.key == key and any(entry.numbers.get(key, float("nan")) == entry.numbers.get(key) for entry in entries)]
    runs = [{"name": entry.folder.name if entry.folder else "", "label": entry.label, "seed": entry.seed, "link": _link(entry, path.parent),
             "values": [_text(entry.numbers, metric) for metric in metrics], "broken": any(entry.numbers.get(key, 0) > 0 for key in SAFETY), "invalid": "; ".join(entry.invalid)} for entry in entries]
    page.write(path, "several.html", ("charts.js",), title=title, stem=path.stem, runs=runs, metrics=metrics, tables=tables, notes=notes,
               invalid=invalid, correct=correct, charts=_charts(entries), sides=len({entry.label for entry in entries}) > 1)


def _charts(entries: Sequence[Entry]) -> list[tuple[str, str, figures.Chart]]:
    """Title, key and chart of what there is to draw."""
    charts = []
    for key in SPREADS:
        metric = next(metric for metric in METRICS if metric.key == key)
        values = {label: {e.seed: value for e in entries if e.label == label and (value := e.numbers.get(key, float("nan"))) == value}
                  for label in dict.fromkeys(entry.label for entry in entries)}
        if any(values.values()):
            charts.append((metric.name.capitalize(), key, figures.spread(metric.name, metric.form, values, {
                label: Summary("", [{key: value} for value in of.values()]).estimate(key) if of else Estimate(float("nan"), 0.0, 0)
                for label, of in values.items()})))
    counted = [(entry, parts) for entry in entries if (parts := _parts(entry)) is not None]
    if counted:
        over_time = [(entry.label, f"{entry.label} seed {entry.seed}".strip(), parts.bins) for entry, parts in counted if len(parts.bins)]
        if over_time:
            charts.append(("Delivery over time", "delivery", figures.delivery_of_runs(over_time, counted[0][1].bin_width)))
        lost = [(entry.label, f"{entry.label} seed {entry.seed}".strip(), parts.reasons.groupby("reason")["expected"].sum()) for entry, parts in counted]
        if any(len(of) for *_, of in lost):
            charts.append(("Why pairs were lost", "losses", figures.losses_of_runs(lost)))
    return charts


def _parts(entry: Entry) -> breakdown.Breakdown | None:
    """The outcomes of a run counted, from its table; None where there is none."""
    if entry.folder is None:
        return None
    try:
        window = json.loads((entry.folder / "summary.json").read_text())["window"]
        files = sorted((entry.folder / "tables" / "outcomes.parquet").iterdir())
        counts = [breakdown.count(pq.read_table(file), tuple(window)) for file in files]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AnalysisError(f"{entry.folder}: its tables cannot be read ({error}); analyse it again") from None
    return breakdown.breakdown(counts, tuple(window)) if counts else None


def _link(entry: Entry, folder: Path) -> str:
    """The way from the page's folder to the run's report; "" where there is none."""
    if entry.folder is None or not (entry.folder / "report.html").is_file():
        return ""
    return quote(os.fsencode(os.path.relpath(entry.folder / "report.html", folder)))


def _text(numbers: Mapping[str, float], metric: Metric) -> str:
    value = numbers.get(metric.key, float("nan"))
    return one(value, metric.form) if value == value else "–"
