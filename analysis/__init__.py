"""From run directories to tables, figures and a report, on Spark.

`analyse` reads what a run recorded, whatever world it ran in, and answers: was what should have
been delivered delivered, when, and if not, why; was the run correct; what did it cost.
"""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.errors import AnalysisError

if TYPE_CHECKING:
    from analysis.run import Run
    from analysis.summary import Summary

__all__ = ["AnalysisError", "analyse", "prepare"]
RULES = 2  # of counting, in summary.json: a comparison takes no numbers that were counted by others


def analyse(run_dirs: str | Path | Sequence[str | Path], master: str | None = None,
            say: Callable[[str], None] = lambda sentence: None) -> Summary:
    """Analyse one run, or several runs of one scenario (other seeds), and return their Summary.

    Writes into each run directory `tables/*.parquet`, `summary.json` and `report.html`. `master` is any
    Spark master URL; without one, Spark runs embedded. `say` is called when the work begins, after every check that can
    refuse it. Of runs with one seed the first counts. Raises AnalysisError, in one line, also when the scenarios differ in
    more than their seed.
    """
    paths = [run_dirs] if isinstance(run_dirs, str | Path) else list(run_dirs)
    if not paths:
        raise AnalysisError("no run directory given; give one or several, as `roamcast run` writes them")
    from analysis import run as runs  # Spark and its kin are heavy: only who analyses loads them
    from analysis.seeds import samples
    read, about = samples([runs.read(path) for path in paths])
    for run in read:
        for name in ("report.html", "summary.json"):
            _may_write(run.path / name)
    from analysis import machine
    from analysis.session import begin, check_master
    check_master(master)
    machine.check()
    say(f"Analysing {f'{len(paths)} runs ' if len(paths) > 1 else ''}(Spark) ...")
    started = begin(master)
    from analysis.report import write
    from analysis.study import study
    from analysis.summary import Summary
    spark = started()
    numbers, notes, reports, invalid = [], [], [], []
    for run in read:
        found = study(spark, run)
        single = Summary(title(found.run), [found.numbers], found.notes, invalid=found.run.invalid_because)
        _save(run.path / "summary.json", found.run, single)
        reports.append(write(found, single))
        numbers.append(found.numbers)
        invalid += [f"{run.path.name}: {reason}" if len(read) > 1 else reason for reason in found.run.invalid_because]
        notes += found.notes if len(read) == 1 else [f"{run.path.name}: {note}" for note in found.notes]
    seeds = [run.seed for run in read]
    if len(read) == 1:
        return Summary(single.title, numbers, about + notes, reports, seeds, invalid)
    return Summary(f"{read[0].name}: mean of {len(read)} runs (seeds {', '.join(map(str, seeds))}) with 95% confidence "
                   "intervals", numbers, about + notes, reports, seeds, invalid)


def prepare(master: str | None = None) -> None:
    """Start Spark in the background, during a simulation for example; `analyse` reports it if Spark does not start."""
    from threading import Thread

    def start() -> None:
        from analysis.session import begin
        begin(master)

    Thread(target=start, daemon=True).start()


def _may_write(path: Path) -> None:
    """Before the work begins. Raises AnalysisError."""
    from mobility.wholefile import check_place
    try:
        check_place(path)
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None


def title(run: Run) -> str:
    """One line: which run this is and what counts in it."""
    from analysis.setting import hosts, lasted
    return (f"{run.name}: {hosts(run)}, {lasted(run)}, seed {run.seed}; events published "
            f"{run.window[0]:g}-{run.window[1]:g} s, grace {run.grace:g} s, deadline {run.deadline:g} s")


def _save(path: Path, run: Run, summary: Summary) -> None:
    from mobility.wholefile import write_whole
    numbers = {k: None if math.isnan(v) else v for k, v in summary.numbers[0].items()}
    text = json.dumps({"rules": RULES, "scenario": run.name, "world": run.world, "seed": run.seed, "window": run.window,
                       "grace": run.grace, "deadline": run.deadline, "ended": run.ended,
                       "correct": summary.correct, "numbers": numbers, "invalid_because": summary.invalid, "notes": summary.notes}, indent=1)
    try:
        write_whole(path, text + "\n")
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None
