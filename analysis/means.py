"""The numbers of one or several runs as a file: mean, interval and each seed's value of every metric."""
from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

from analysis.errors import AnalysisError
from analysis.metrics import METRICS, Metric
from analysis.summary import CONFIDENCE, Summary
from mobility.wholefile import check_place, write_whole

FORMATS = (".json", ".csv")
PAGE = ".html"  # several.py writes it


def check_name(path: Path, formats: Sequence[str] = FORMATS) -> None:
    """Whether a file's name says a known format, it has a folder, and may be written there. Raises AnalysisError."""
    if path.suffix not in formats:
        raise AnalysisError(f"{path}: its name names no known format; end it with {' or '.join(formats)}")
    if not path.parent.is_dir():
        raise AnalysisError(f"{path}: there is no folder {path.parent}; make it, or choose another")
    try:
        check_place(path)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None


def write(summary: Summary, path: Path) -> None:
    """Write the numbers as JSON or CSV, by the name's end; times in s, shares from 0 to 1. Raises AnalysisError."""
    check_name(path)
    text = _as_json(summary) if path.suffix == ".json" else _as_csv(summary)
    try:
        write_whole(path, text)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None


def _metrics(summary: Summary) -> list[Metric]:
    return [metric for metric in METRICS if metric.key in summary]


def _row(summary: Summary, metric: Metric) -> dict[str, object]:
    estimate = summary.estimate(metric.key)
    low, high = estimate.interval(metric.form)
    several = estimate.runs > 1
    return {"section": metric.section, "label": metric.label, "key": metric.key, "form": metric.form,
            "better": metric.better or None, "mean": _plain(estimate.mean), "half_width": estimate.half if several else None,
            "low": low if several else None, "high": high if several else None, "n": estimate.runs}


def _as_json(summary: Summary) -> str:
    rows = [{**_row(summary, metric), "values": {str(seed): _plain(numbers[metric.key]) for seed, numbers
                                                 in zip(summary.seeds, summary.numbers, strict=True)}}
            for metric in _metrics(summary)]
    return json.dumps({"title": summary.title, "confidence": CONFIDENCE, "seeds": summary.seeds, "correct": summary.correct,
                       "invalid_because": summary.invalid, "notes": summary.notes, "metrics": rows}, indent=1) + "\n"


def _as_csv(summary: Summary) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    for metric in _metrics(summary):
        row = _row(summary, metric)
        if not head:
            head = [*row, *(f"seed {seed}" for seed in summary.seeds)]
            writer.writerow(head)
        values = [_plain(numbers[metric.key]) for numbers in summary.numbers]
        writer.writerow(["" if cell is None else cell for cell in (*row.values(), *values)])
    return out.getvalue()


def _plain(x: float) -> float | None:
    return None if math.isnan(x) else x
