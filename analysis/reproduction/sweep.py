"""The runs that figures need, done as a Spark job: batches of runs, each batch a subprocess.

The analysis does not know the simulators; `python -m cli COMMAND --batch` does, and leaves a file a run in a folder
that driver and workers both reach. A run that fails leaves the reason there; one that takes its process with it
is recorded here, and the rest of its batch goes on in another.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark import SparkContext

from analysis.errors import AnalysisError
from analysis.reproduction import results
from analysis.reproduction.evaluation import Evaluation, Panel
from analysis.session import child_environment

BATCH = 20.0  # s of work that a subprocess gets at least, so that its start is no matter
POLL = 0.5  # s
REFUSED = 2  # the exit code of a subprocess that cannot work here, for what it says
INTERRUPTED = (130, -2)  # how a subprocess ends that heard the same Ctrl-C: nothing failed


def parameters(panel: Panel, series, x, seed: int, common: dict) -> dict:
    """What a run of this curve is given; the same run in two figures is the same dictionary."""
    return (common if panel.seed == "seed" else {}) | panel.base | {panel.sweep[0]: x} | series.overrides | {panel.seed: seed}


def command(given: dict) -> str:
    """The subcommand that does such runs: `roamcast COMMAND --batch - --out DIR`."""
    return "measure" if "run.seed" in given else "overlay"


def runs(evaluation: Evaluation, panels: Iterable[Panel], seeds: int, common: dict) -> list[dict]:
    """All runs that the panels need, each once."""
    found: dict[str, dict] = {}
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


def batches(todo: list[dict], expense: Callable[[dict], float]) -> list[list[dict]]:
    """Of runs of one command; the longest first, so that nothing long is left for the end."""
    found: list[list[dict]] = []
    left, last = 0.0, ""
    for given in sorted(todo, key=lambda given: (command(given), -expense(given))):
        if left <= 0 or command(given) != last:
            found.append([])
            left, last = BATCH, command(given)
        found[-1].append(given)
        left -= expense(given)
    return found


def sweep(context: SparkContext, evaluation: Evaluation, todo: list[dict], folder: Path, report: Callable[[int, int], None]) -> None:
    """Do these runs; `report(done, of)` is called now and then. A Ctrl-C ends the job and keeps what is done. Raises
    AnalysisError when results cannot be written, or Spark ends."""
    tasks = [(command(batch[0]), batch, str(folder)) for batch in batches(todo, evaluation.expense)]
    errors, ended = [], []

    def job() -> None:
        try:
            ended.extend(context.parallelize(tasks, len(tasks)).map(run_batch).collect())
        except Exception as error:  # told by the main thread
            errors.append(error)

    began = time.time()
    waiting = threading.Thread(target=job, daemon=True)
    waiting.start()
    try:
        while waiting.is_alive():
            waiting.join(POLL)
            report(_done(folder, began), len(todo))
    except KeyboardInterrupt:
        context.cancelAllJobs()
        raise
    kept = "; what is done is kept, start again to go on"
    if errors:
        told = [line.strip(" :") for line in str(errors[0]).splitlines() if line.strip(" :")]
        raise AnalysisError(f"Spark ended the sweep: {told[0] if told else type(errors[0]).__name__}{kept}")
    for _, problem in ended:
        if problem:
            raise AnalysisError(problem + kept)


def _done(folder: Path, since: float) -> int:
    with os.scandir(folder) as entries:
        return sum(entry.name.endswith(".json") and entry.stat().st_mtime >= since for entry in entries)


def run_batch(task: tuple[str, list[dict], str]) -> tuple[int, str]:
    """On a Spark worker: the batch in a subprocess, or in several if it loses one. Returns how many runs ended, and
    why no others can, as a full disk."""
    program, pending, folder = task[0], list(task[1]), Path(task[2])
    ended = 0
    while pending:
        lines = "".join(json.dumps({"key": results.key(one), "parameters": one}) + "\n" for one in pending)
        done = subprocess.run([sys.executable, "-P", "-m", "cli", program, "--batch", "-", "--out", str(folder)],
                              input=lines, text=True, capture_output=True, cwd=folder,
                              env=os.environ | child_environment())
        finished = {line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("ended ")}
        ended += len(finished)
        pending = [one for one in pending if results.key(one) not in finished]
        if not pending or done.returncode in (0, *INTERRUPTED):
            break
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        if done.returncode == REFUSED:  # no fault of this run's
            return ended, said.removeprefix("roamcast: ")
        try:
            results.keep(folder / f"{results.key(pending[0])}.json", {
                "parameters": pending[0], "failed": f"the process ended with {done.returncode} and said: {said[:200]}"})
        except OSError as error:
            return ended, f"{folder}: {error.strerror}"
        pending = pending[1:]
    return ended, ""
