"""A scenario run in `sim` and analysed in the same process: every metric of analysis/metrics.py, and no run directory is left."""
from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import topologies
from analysis import metrics, run, sides
from analysis.local import Local
from analysis.metrics import METRICS
from analysis.study import study
from emulation import rundir, runner

_SCRATCH = "roamcast-run-"  # and the process that works there


def analysed(given: dict[str, Any]) -> dict[str, Any]:
    """given["scenario"]: the tables of a complete scenario. `numbers`: every metric by key, nan as null; `notes` of the
    analysis. Raises what a scenario's checks, its run and its analysis raise."""
    scenario = topologies.build(given["scenario"])
    with _folder() as folder:
        path = runner.run(scenario, folder / "run")
        if (why := outcome(path)) is not None:
            raise OSError(why)
        found = study(Local(), run.read(path))
        numbers = found.numbers | metrics.numbers(sides.families_sent(found.run, found.deliveries["remote"]))
    return {"numbers": {metric.key: None if math.isnan(value := numbers[metric.key]) else value for metric in METRICS},
            "notes": found.notes}


def outcome(path: Path) -> str | None:
    """Why a run in its directory ended early; None if it did not."""
    manifest = json.loads((path / "manifest.json").read_text())
    return None if manifest["outcome"] == rundir.COMPLETE else f"the run ended early: {manifest['outcome']}, {manifest['reason']}"


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for this run; removes those of processes that were killed before they could."""
    for left in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}{os.getuid()}-*"):
        with suppress(OSError, ValueError):
            if not Path("/proc", str(int(left.name.split("-")[3]))).exists() and left.lstat().st_uid == os.getuid():
                shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getuid()}-{os.getpid()}-") as path:
        yield Path(path)
