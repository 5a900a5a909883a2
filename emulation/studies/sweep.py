"""The runs that figures need, in batches that several processes do side by side (workers.py)."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from analysis.errors import AnalysisError
from emulation.studies import results
from emulation.studies.evaluation import Evaluation, Given, Panel, Series
from emulation.studies.points import Swept
from emulation.studies.simulators import command
from emulation.studies.workers import Batch, CannotGoOn, work

BATCH = 20.0  # s of work that a process gets at least: runs that share a movement stay together


def parameters(panel: Panel, series: Series, x: Swept, seed: int, common: Given) -> Given:
    """What a run of this curve is given; the same run in two figures is the same dictionary."""
    return (common if panel.seed == "seed" else {}) | panel.base | {panel.sweep[0]: x} | series.overrides | {panel.seed: seed}


def runs(evaluation: Evaluation, panels: Iterable[Panel], seeds: int, common: Given) -> list[Given]:
    """All runs that the panels need, each once."""
    found: dict[str, Given] = {}
    for panel in panels:
        for seed in range(1, seeds + 1):
            for x in panel.sweep[1]:
                for series in panel.series:
                    given = evaluation.plain(parameters(panel, series, x, seed, common))
                    found[results.key(given)] = given
                    if (series.quantity or panel.quantity) in evaluation.quantities.relative:
                        rival = evaluation.rival(given)
                        found[results.key(rival)] = rival
    return list(found.values())


def batches(todo: list[Given], expense: Callable[[Given], float]) -> list[Batch]:
    """Each of one simulator; the longest first, so that nothing long is left for the end."""
    found: list[Batch] = []
    left = 0.0
    for given in sorted(todo, key=lambda given: (command(given), -expense(given))):
        if left <= 0 or command(given) != found[-1].simulator:
            found.append(Batch(command(given), []))
            left = BATCH
        found[-1].runs.append(given)
        left -= expense(given)
    return found


def sweep(evaluation: Evaluation, todo: list[Given], folder: Path, report: Callable[[int, int], None]) -> None:
    """Do these runs; `report(done, of)` is called now and then. A Ctrl-C keeps what is done. Raises AnalysisError when results
    cannot be written."""
    try:
        work(batches(todo, evaluation.expense), folder, lambda done: report(done, len(todo)))
    except CannotGoOn as error:
        raise AnalysisError(f"{error}; finished runs are kept; start again to continue") from None
