"""The whole way: which runs are missing, the sweep, the points, the drawings, the page.

Everything is in one folder: evaluation (its name), results/ (a file a run), figure-*.csv, figure-*.svg,
figure-*.png, verdicts.csv and reproduction.html. Starting again does only what is missing or damaged.
"""
from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from analysis.errors import AnalysisError
from emulation.studies import draw, page, results, sweep, tables, verdicts
from emulation.studies.evaluation import Evaluation, Figure, Given
from emulation.studies.folder import alone
from emulation.studies.points import Tables
from emulation.studies.sweep import Report
from mobility.wholefile import write_whole

MOST_SEEDS = 1000  # a point; all runs are listed before the first


class Outcome(NamedTuple):
    page: Path
    verdicts: list[verdicts.Verdict]
    tables: Tables
    done: int  # runs made now
    damaged: int  # of them because their file was damaged
    retried: int  # of them because they had failed before


def reproduce(evaluation: Evaluation, out: Path, figures: Iterable[Figure] = (), seeds: int = 30,
              readings: Given | None = None,
              report: Report = lambda done, of, failed: None) -> Outcome:
    """Figures of an evaluation, all unless given, into `out`. `readings`: parameters of the simulator that are not the
    evaluation's. `report` hears of the runs. Raises AnalysisError, one line."""
    chosen = _chosen(evaluation, figures)
    if not 1 <= seeds <= MOST_SEEDS:
        raise AnalysisError(f"seeds: found {seeds}; give 1 to {MOST_SEEDS}, at least 2 for confidence intervals")
    common = evaluation.readings | (readings or {})
    if common.keys() != evaluation.readings.keys():
        raise AnalysisError(f"{', '.join(common.keys() - evaluation.readings.keys())}: {evaluation.name} does not leave it open")
    try:
        with alone(out, "evaluation", evaluation.name, "page") as folder:
            return _reproduce(evaluation, out, folder, chosen, seeds, common, report)
    except OSError as error:
        raise AnalysisError(f"{error.filename or out}: cannot be written: {error.strerror}; finished runs are kept") from None


def _reproduce(evaluation: Evaluation, out: Path, folder: Path, chosen: tuple[Figure, ...], seeds: int, common: Given,
               report: Report) -> Outcome:
    panels = evaluation.of(chosen)
    todo, damaged, failed = results.missing(folder, sweep.runs(evaluation, panels, seeds, common))
    if todo:
        report(0, len(todo), 0)
        sweep.sweep(evaluation, todo, folder, report)
    found = tables.build(evaluation, panels, seeds, common, folder)
    judged = _judged(evaluation, chosen, found)
    drawings = {}
    for panel in panels:
        tables.write(evaluation, panel, found, out / f"figure-{panel.name.replace(' ', '-')}.csv")
        if panel.drawn:
            drawings[panel.name] = draw.draw(evaluation, panel, found, out)
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows([verdicts.Verdict._fields, *judged])
    write_whole(out / "verdicts.csv", lines.getvalue())
    page.write(out / "reproduction.html", evaluation, panels, drawings, judged, found, seeds, common)
    return Outcome(out / "reproduction.html", judged, found, len(todo), damaged, failed)


def _judged(evaluation: Evaluation, chosen: tuple[Figure, ...], found: Tables) -> list[verdicts.Verdict]:
    """What is claimed of these figures, and of the whole as far as they tell."""
    own, all_figures = set(map(str, chosen)), set(map(str, evaluation.figures))
    return [one for one in verdicts.judge(evaluation.claims, found)
            if one.figure in own or one.figure not in all_figures and (one.verdict != "unmeasured" or own == all_figures)]


def _chosen(evaluation: Evaluation, figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """Figures as the evaluation names them."""
    known = {str(figure): figure for figure in evaluation.figures}
    asked = [str(figure) for figure in figures]
    for figure in asked:
        if figure not in known:
            names = list(known)
            there = f"{names[0]} to {names[-1]}" if all(map(str.isdigit, names)) else ", ".join(names)
            raise AnalysisError(f"figure {figure}: {evaluation.place} has {there}")
    return tuple(known[figure] for figure in asked or known)
