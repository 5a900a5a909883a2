"""The whole way: which runs are missing, the sweep, the points, the drawings, the page.

Everything is in one folder: results/ (a file a run), figure-*.csv, figure-*.svg, figure-*.png, verdicts.csv and
reproduction.html. Starting again does only what is missing or damaged.
"""
from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from analysis.errors import AnalysisError
from analysis.reproduction import claims, draw, page, results, sweep, tables
from analysis.reproduction.figures import FIGURES, of
from analysis.session import session


class Outcome(NamedTuple):
    page: Path
    verdicts: list[claims.Verdict]
    tables: tables.Tables
    done: int  # runs made now
    damaged: int  # of them because their file was damaged
    retried: int  # of them because they had failed before


def reproduce(out: Path, figures: Iterable[int] = FIGURES, seeds: int = 30, master: str | None = None,
              rule: str = "seeker", report: Callable[[int, int], None] = lambda done, of: None) -> Outcome:
    """Figures of section V into `out`. `report(done, of)` hears of the runs. Raises AnalysisError, one line."""
    chosen = tuple(figures)
    unknown = [number for number in chosen if number not in FIGURES]
    if unknown:
        raise AnalysisError(f"figure {unknown[0]}: section V has {FIGURES[0]} to {FIGURES[-1]}")
    if seeds < 1:
        raise AnalysisError(f"seeds: found {seeds}; at least 1, and 2 for confidence intervals")
    folder = out / "results"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnalysisError(f"{folder}: cannot be made: {error.strerror}") from None
    folder = folder.resolve()
    panels, common = of(chosen), {"replacement": rule}
    todo, damaged, failed = results.missing(folder, sweep.runs(panels, seeds, common))
    if todo:
        report(0, len(todo))
        sweep.sweep(session(master), todo, folder, report)
    found = tables.build(panels, seeds, common, folder)
    verdicts = [one for one in claims.judge(found) if not one.figure.isdigit() or int(one.figure) in chosen]
    drawings = {}
    for panel in panels:
        if panel.figure in FIGURES:
            tables.write(panel, found, out / f"figure-{panel.name}.csv")
            drawings[panel.name] = draw.draw(panel, found, out)
    with (out / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([claims.Verdict._fields, *verdicts])
    page.write(out / "reproduction.html", panels, drawings, verdicts, found, seeds, rule)
    return Outcome(out / "reproduction.html", verdicts, found, len(todo), damaged, failed)
