"""Processes that do the runs of a sweep side by side, batch by batch, and call the simulators directly.

A process that dies, of whatever, takes the run in its hands with it: that one is written down as failed, and the rest of its
batch goes on in a new process. When the caller ends, its processes end behind it, after the run in their hands at the latest.
"""
from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any, NamedTuple

from emulation.studies import results
from emulation.studies.simulators import LONGEST, Simulator, result_of, simulator

POLL = 0.5  # s between two reports
_FORKS = get_context("fork")  # all is imported already, and no file of the folder of the results is


class Batch(NamedTuple):
    """Runs of one simulator, which one process does one after the other."""

    simulator: str
    runs: list[dict[str, Any]]


class CannotGoOn(Exception):
    """Results cannot be written, which is no fault of any run; str() is one sentence."""


def work(batches: Sequence[Batch], folder: Path, report: Callable[[int], None], processes: int | None = None) -> None:
    """Do all runs of these batches, and leave a file of each in `folder`. `report` hears now and then how many have ended.
    Raises CannotGoOn, and lets a KeyboardInterrupt through: what is done is kept, and what was in hand is to be done again."""
    todo, ended = deque(batches), 0
    count = min(processes or len(os.sched_getaffinity(0)), len(batches))
    workers = [_Worker(folder) for _ in range(count)]
    try:
        while todo or any(worker.batch for worker in workers):
            for worker in workers:
                if todo and not worker.batch:
                    worker.give(todo.popleft())
            for way in connection.wait([worker.way for worker in workers if worker.batch], POLL):
                worker = next(worker for worker in workers if worker.way is way)
                if worker.hear():
                    ended += 1
                    continue
                workers.remove(worker)
                rest = worker.bury(folder)
                ended += 1
                if rest.runs:
                    todo.appendleft(rest)
                workers.append(_Worker(folder))
            report(ended)
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """One of the processes, seen from the caller. `batch`: what it has still to do."""

    def __init__(self, folder: Path) -> None:
        self.way, there = _FORKS.Pipe()
        self.batch: Batch | None = None
        self._process = _FORKS.Process(target=_live, args=(there, folder), daemon=True)
        self._process.start()
        there.close()

    def give(self, batch: Batch) -> None:
        self.batch = batch
        self.way.send(batch)

    def hear(self) -> bool:
        """One run has ended; False when the process has. Raises CannotGoOn."""
        assert self.batch is not None
        try:
            problem = self.way.recv()
        except (EOFError, ConnectionError):
            return False
        if problem:
            raise CannotGoOn(problem)
        rest = self.batch.runs[1:]
        self.batch = self.batch._replace(runs=rest) if rest else None
        return True

    def bury(self, folder: Path) -> Batch:
        """Write down that the process died of the first of its runs; the others. Raises CannotGoOn."""
        assert self.batch is not None
        self._process.join()
        code, lost = self._process.exitcode, self.batch.runs[0]
        why = f": it took more than {LONGEST} s" if code == -signal.SIGALRM else ""
        if problem := _keep(folder, lost, {"parameters": lost, "failed": f"the process ended with {code}{why}"}):
            raise CannotGoOn(problem)
        return self.batch._replace(runs=self.batch.runs[1:])

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.way.close()


def _live(way: connection.Connection, folder: Path) -> None:
    """The life of a process: batches come in, and "" goes out for each run that ended, or why results cannot be written."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the caller, who ends this
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    caller = os.getppid()
    made: dict[str, Simulator] = {}
    while os.getppid() == caller:
        try:
            batch = way.recv()
        except (EOFError, ConnectionError):  # once nobody has its other end: processes that were forked later have it, too
            return
        for given in batch.runs:
            if batch.simulator not in made:
                made[batch.simulator] = simulator(batch.simulator)
            way.send(_keep(folder, given, result_of(made[batch.simulator], given)))
            if os.getppid() != caller:
                return


def _keep(folder: Path, given: dict[str, Any], result: dict[str, Any]) -> str:
    """Why the result could not be written; "" when it is."""
    key = results.key(given)
    try:
        results.keep(folder / f"{key}.json", result | {"key": key})
    except OSError as error:
        return f"{error.filename or folder}: {error.strerror}"
    return ""
