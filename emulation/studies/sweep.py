"""The runs that the figures of an evaluation need, done side by side (engine.py)."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from analysis.errors import AnalysisError
from emulation.studies import engine, results, simulators
from emulation.studies.evaluation import Evaluation, Given, Panel, Series
from emulation.studies.points import Swept

Report = Callable[[int, int, int], None]  # runs that ended, of how many, failed ones among them


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


def sweep(evaluation: Evaluation, todo: list[Given], folder: Path, report: Report) -> None:
    """Do these runs, the longest first, so that nothing long is left for the end; `report` hears of each that ends.
    Whatever ends this early keeps what is done. Raises AnalysisError, also when results cannot be written."""
    ended = failed = 0

    def keep(given: Given, result: Given) -> None:
        nonlocal ended, failed
        try:
            results.keep(folder / f"{(key := results.key(given))}.json", result | {"key": key})
        except OSError as error:
            raise AnalysisError(f"{error.filename or folder}: {error.strerror}; finished runs are kept; start again to continue") from None
        ended, failed = ended + 1, failed + ("failed" in result)
        report(ended, len(todo), failed)

    engine.work(simulators.done, sorted(todo, key=lambda given: (simulators.command(given), -evaluation.expense(given))), keep)
