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
from analysis.reproduction import draw, page, results, sweep, tables, verdicts
from analysis.reproduction.evaluation import Evaluation
from analysis.session import session


class Outcome(NamedTuple):
    page: Path
    verdicts: list[verdicts.Verdict]
    tables: tables.Tables
    done: int  # runs made now
    damaged: int  # of them because their file was damaged
    retried: int  # of them because they had failed before


def reproduce(evaluation: Evaluation, out: Path, figures: Iterable[int | str] = (), seeds: int = 30,
              master: str | None = None, rule: str = "seeker",
              report: Callable[[int, int], None] = lambda done, of: None) -> Outcome:
    """Figures of an evaluation, all unless given, into `out`. `report(done, of)` hears of the runs. Raises
    AnalysisError, one line."""
    chosen = _chosen(evaluation, figures)
    if seeds < 1:
        raise AnalysisError(f"seeds: found {seeds}; at least 1, and 2 for confidence intervals")
    folder = out / "results"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnalysisError(f"{folder}: cannot be made: {error.strerror}") from None
    folder = folder.resolve()
    panels, common = evaluation.of(chosen), {"replacement": rule}
    todo, damaged, failed = results.missing(folder, sweep.runs(evaluation, panels, seeds, common))
    if todo:
        report(0, len(todo))
        sweep.sweep(session(master), evaluation, todo, folder, report)
    found = tables.build(evaluation, panels, seeds, common, folder)
    unasked = set(map(str, evaluation.figures)) - set(map(str, chosen))
    judged = [one for one in verdicts.judge(evaluation.claims, found) if one.figure not in unasked]
    drawings = {}
    for panel in panels:
        if panel.drawn:
            tables.write(evaluation, panel, found, out / f"figure-{panel.name}.csv")
            drawings[panel.name] = draw.draw(evaluation, panel, found, out)
    with (out / "verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([verdicts.Verdict._fields, *judged])
    page.write(out / "reproduction.html", evaluation, panels, drawings, judged, found, seeds, rule)
    return Outcome(out / "reproduction.html", judged, found, len(todo), damaged, failed)


def _chosen(evaluation: Evaluation, figures: Iterable[int | str]) -> tuple[int | str, ...]:
    """Figures as the evaluation names them."""
    known = {str(figure): figure for figure in evaluation.figures}
    asked = [str(figure) for figure in figures]
    for figure in asked:
        if figure not in known:
            names = list(known)
            there = f"{names[0]} to {names[-1]}" if all(map(str.isdigit, names)) else ", ".join(names)
            raise AnalysisError(f"figure {figure}: {evaluation.place} has {there}")
    return tuple(known[figure] for figure in asked or known)
