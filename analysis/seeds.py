"""Which runs a mean may be taken over: one scenario, of which every seed is another sample.

Two runs whose parameters differ are not samples of one quantity, and one seed run twice is one
sample, because a seed decides all chance: counted twice it would only narrow the interval.
"""
from __future__ import annotations

import json
from collections.abc import Sequence

from analysis.errors import AnalysisError
from analysis.run import Run
from analysis.sides import differing, flat

FREE = ("run.seed", "run.journal", "run.capture", "run.capture_most")  # they say what is drawn or kept, not what is measured
FEW = 5  # runs, below which an interval stands on little


def samples(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """The runs to average, one a seed, and notes on what a reader must know of them.

    Raises AnalysisError, naming the first key whose value differs.
    """
    first = runs[0]
    for run in runs[1:]:
        _must_agree(first, run)
    kept: dict[int, Run] = {}
    notes = []
    for run in runs:
        if run.seed in kept:
            notes.append(f"{run.path} was left out: it has seed {run.seed}, as has {kept[run.seed].path}, "
                         "and one seed is one sample")
        else:
            kept[run.seed] = run
    versions = {_version(run): run for run in kept.values()}
    if len(versions) > 1:
        notes.append("the runs were made by different versions: "
                     + ", ".join(f"{name} ({run.path.name})" for name, run in sorted(versions.items())))
    if len(kept) < FEW and len(runs) > 1:
        notes.append(f"{len(kept)} {'runs are' if len(kept) > 1 else 'run is'} few for an interval, which assumes that "
                     f"means over seeds are normally distributed; use {FEW} seeds or more")
    return list(kept.values()), notes


def _must_agree(first: Run, run: Run) -> None:
    one, other = _fixed(first), _fixed(run)
    for key in differing(one, other)[:1]:
        found, wanted = (json.dumps(keys[key], default=str) if key in keys else "nothing" for keys in (other, one))
        raise AnalysisError(f"{run.path / 'scenario.toml'}: {key}: found {found[:60]}, and {wanted[:60]} in {first.path}; a mean "
                            "needs runs that differ only in their seed; `roamcast compare` compares others")


def _fixed(run: Run) -> dict[str, object]:
    return {key: value for key, value in flat(run.scenario).items()
            if key not in FREE and not key.startswith("run.fidelity.")}


def _version(run: Run) -> str:
    commit = str(run.manifest.get("commit") or "")[:12]
    return str(run.manifest.get("roamcast") or "unknown") + (f" at {commit}" if commit else "")
