"""Runs a scenario in the world it names and leaves a run directory behind.

Ctrl-C stops a run in order: what was recorded is kept. So does a full disk. The second Ctrl-C
does not wait.
"""
from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mobility
import topologies
from emulation import rundir, worlds
from emulation.neighborhood import TRUTH_INTERVAL
from emulation.propagation import LINK_EXISTS
from emulation.records import DiskFull, is_full
from emulation.rundir import RunDirectory
from emulation.workload import check_log, check_workload
from emulation.workload import notes as workload_notes
from emulation.world import Report, Run, Say, WorldError
from mobility import outside
from topologies import Scenario
from topologies.motion import Outside

LOG = "publications.csv"  # in a run directory: the log that is replayed


def check(scenario: Scenario) -> None:
    """Check what topologies cannot without the node. Raises WorkloadError."""
    check_workload(scenario.workload)
    check_log(scenario)


def notes(scenario: Scenario) -> list[str]:
    """What a person should know of a sound scenario (topologies.notes, and what needs the node). Raises
    mobility.TraceError."""
    return [*topologies.notes(scenario), *workload_notes(scenario)]


def run(scenario: Scenario, out: Path | None = None, progress: Report | None = None,
        say: Say = lambda sentence: None) -> Path:
    """Run a scenario to its end, Ctrl-C or a full disk; returns the run directory.

    `manifest.json` there says which of them it was. `progress` hears of every second of the run, `say`
    what a person should know before a run in real time begins. The records of a run that failed midway are kept,
    and the manifest says why it failed. Raises WorkloadError, mobility.TraceError and rundir.RunDirError before
    anything has started, and WorldError for a run that did not even begin.
    """
    check(scenario)
    world = worlds.named(scenario.run.world)
    world.check(scenario)
    movement = scenario.movement()
    run = world.prepare(scenario, movement, progress, say)
    path = out or rundir.default_path(scenario.run.name, scenario.run.seed)
    directory = RunDirectory(path, scenario.to_toml("trace.movements.gz", LOG), world=scenario.run.world, now=run.now,
                             notes=notes(scenario))
    if isinstance(scenario.mobility, Outside):
        directory.manifest["parts"] = [{"key": "mobility.name", **outside.models()[scenario.mobility.name].told()}]
    outcome, reason = rundir.FAILED, None
    try:
        _write_trace(movement, path)
        if scenario.workload.log is not None:
            directory.copy(Path(scenario.workload.log), LOG)
        with _stop_on_interrupt(run):
            run.run(directory)
        outcome = rundir.INTERRUPTED if run.stopping else rundir.COMPLETE
    except DiskFull as error:
        outcome, reason = rundir.DISK_FULL, str(error)
    except WorldError as error:
        reason = str(error)
        if not run.begun:
            raise
    except KeyboardInterrupt:
        outcome = rundir.INTERRUPTED
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        directory.finish(outcome, run.now(), reason, **run.told(),
                         truth={"link_exists": LINK_EXISTS, "looked_every": TRUTH_INTERVAL})
    return path


def _write_trace(movement: mobility.Movement, path: Path) -> None:
    """The movement as it is replayed, into the run directory. Raises DiskFull."""
    try:
        mobility.write(movement, path / "trace.movements.gz", "bonnmotion")
    except mobility.TraceError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and is_full(cause):
            raise DiskFull(f"{error.path.name}: {cause.strerror}") from None
        raise


@contextmanager
def _stop_on_interrupt(run: Run) -> Iterator[None]:
    """Ctrl-C or SIGTERM sets `run.stopping`, which ends the run in order; a second one does what it always does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual: dict[int, Callable[..., Any] | signal.Handlers] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}

    def stop(*_: object) -> None:
        run.stopping = True
        for number, handler in usual.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, stop) for number in usual}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
