"""One scenario with several seeds in `sim`, a run directory each, by the engine of the sweeps."""
from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import topologies
from analysis.errors import AnalysisError
from emulation import rundir, runner
from emulation.studies import engine
from emulation.studies.analysed import outcome
from topologies import Scenario

MOST = 1000  # run directories


def run(scenario: Scenario, seeds: Sequence[int], out: Path | None, report: Callable[[int, int, int], None],
        at_once: int | None = None, master: str | None = None) -> tuple[list[Path], dict[int, str]]:
    """The run directories that were made, in the order of the seeds, and why others were not: `out`/sSEED, or
    runs/NAME-sSEED-DATE-TIME. `report(ended, of, failed)` hears of each. Raises AnalysisError, before anything has started for a
    folder that is there already."""
    paths = {seed: rundir.default_path(scenario.run.name, seed) if out is None else out / f"s{seed}" for seed in seeds}
    for path in paths.values():
        if path.exists() or path.is_symlink():
            raise AnalysisError(f"{path}: exists already; choose another folder with --out, or remove it")
    made: dict[int, Path] = {}
    failed: dict[int, str] = {}

    def ended(given: dict[str, Any], result: dict[str, Any]) -> None:
        if "failed" in result:
            failed[given["seed"]] = result["failed"]
        else:
            made[given["seed"]] = paths[given["seed"]]
        report(len(made) + len(failed), len(seeds), len(failed))

    report(0, len(seeds), 0)
    text = scenario.to_toml()
    engine.work(_recorded, [{"scenario": text, "seed": seed, "path": str(paths[seed].absolute())} for seed in seeds], ended, at_once, master)
    return [made[seed] for seed in seeds if seed in made], dict(sorted(failed.items()))


def _recorded(given: dict[str, Any]) -> dict[str, Any]:
    """In a worker: one run with its run directory."""
    tables = tomllib.loads(given["scenario"])
    tables["run"]["seed"] = given["seed"]
    try:
        path = runner.run(topologies.build(tables), Path(given["path"]))
    except Exception as error:  # one run's fault is not the next one's
        return {"failed": f"{type(error).__name__}: {error}"}
    return {} if (why := outcome(path)) is None else {"failed": why}
