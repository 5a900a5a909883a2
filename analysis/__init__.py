"""From run directories to tables, figures and a report, on Spark.

`analyse` reads what a run recorded, whatever world it ran in, and answers: was what should have
been delivered delivered, when, and if not, why; was the run correct; what did it cost.
"""
from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from analysis.errors import AnalysisError

__all__ = ["AnalysisError", "analyse"]


def analyse(run_dirs: str | Path | Sequence[str | Path], master: str | None = None):
    """Analyse one run, or several runs of one scenario (other seeds), and return their Summary.

    Writes into each run directory `tables/*.parquet`, `summary.json` and `report.html`. `master` is any
    Spark master URL; without one Spark runs embedded. Of runs with one seed the first counts. Raises
    AnalysisError, one line: also when the scenarios differ in more than the seed.
    """
    from analysis import run as runs  # Spark and its kin are heavy: only who analyses loads them
    paths = [run_dirs] if isinstance(run_dirs, str | Path) else list(run_dirs)
    if not paths:
        raise AnalysisError("no run directory given; give one or several, as `roamcast run` writes them")
    from analysis.seeds import samples
    read, about = samples([runs.read(path) for path in paths])
    from analysis.report import write
    from analysis.session import session
    from analysis.study import study
    from analysis.summary import Summary
    spark = session(master)
    numbers, notes, reports = [], [], []
    for run in read:
        found = study(spark, run)
        single = Summary(title(found.run), [found.numbers], found.notes)
        _save(run.path / "summary.json", found.run, single)
        reports.append(write(found, single))
        numbers.append(found.numbers)
        notes += found.notes if len(read) == 1 else [f"{run.path.name}: {note}" for note in found.notes]
    seeds = [run.seed for run in read]
    if len(read) == 1:
        return Summary(single.title, numbers, about + notes, reports, seeds)
    return Summary(f"{read[0].name}: mean of {len(read)} runs (seeds {', '.join(map(str, seeds))}) with 95% confidence "
                   "intervals", numbers, about + notes, reports, seeds)


def title(run) -> str:
    """One line: which run this is and what counts in it."""
    from analysis.setting import lasted
    return (f"{run.name}: {len(run.hosts)} hosts, {lasted(run)}, seed {run.seed}; events published "
            f"{run.window[0]:g}-{run.window[1]:g} s, grace {run.grace:g} s, deadline {run.deadline:g} s")


def _save(path: Path, run, summary) -> None:
    numbers = {k: None if math.isnan(v) else v for k, v in summary.numbers[0].items()}
    text = json.dumps({"scenario": run.name, "world": run.world, "seed": run.seed, "window": run.window,
                       "grace": run.grace, "deadline": run.deadline, "ended": run.ended,
                       "correct": summary.correct, "numbers": numbers, "notes": summary.notes}, indent=1)
    try:
        path.write_text(text + "\n")
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None
