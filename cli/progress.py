"""How far a run is, or how many of many runs are done: a bar on a terminal, a line now and then in a log."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from emulation.world import Progress, Report

LINES = 10  # of a run whose output is no terminal


def for_terminal(stream: TextIO) -> AbstractContextManager[Report]:
    """A context whose value takes emulation.world.Progress now and then."""
    return _bar(stream) if stream.isatty() else _lines(stream)


@contextmanager
def _bar(stream: TextIO) -> Iterator[Report]:
    from tqdm import tqdm

    layout = "{desc}{percentage:3.0f}% |{bar}| {n:.0f}/{total:.0f} s, {postfix[0]} delivered, {remaining} left"
    with tqdm(total=1.0, file=stream, bar_format=layout, postfix=["0"], leave=False, dynamic_ncols=True) as bar:
        def report(progress: Progress) -> None:
            bar.total = progress.duration
            bar.postfix[0] = f"{progress.delivered:,}"
            bar.update(progress.now - bar.n)

        yield report


@contextmanager
def _lines(stream: TextIO) -> Iterator[Report]:
    began = time.monotonic()
    told = 0.0

    def report(progress: Progress) -> None:
        nonlocal told
        share = progress.now / progress.duration
        if share < told + 1 / LINES:
            return
        told = share
        left = (time.monotonic() - began) * (1 / share - 1)
        print(f"{progress.now:.0f} of {progress.duration:g} s, {progress.delivered:,} delivered, "
              f"{left:.0f} s left", file=stream, flush=True)

    yield report


Counted = Callable[[int, int, int], None]  # runs that ended, of how many, failed ones among them


def for_runs(stream: TextIO) -> AbstractContextManager[Counted]:
    """A context whose value hears of the runs of a sweep, each time that one ends."""
    return _bar_of_runs(stream) if stream.isatty() else _lines_of_runs(stream)


@contextmanager
def _bar_of_runs(stream: TextIO) -> Iterator[Counted]:
    from tqdm import tqdm

    layout = "{percentage:3.0f}% |{bar}| {n} of {total} runs{postfix}, {remaining} left"
    with tqdm(total=1, file=stream, bar_format=layout, leave=False, dynamic_ncols=True) as bar:
        def report(done: int, whole: int, failed: int) -> None:
            if done < bar.n or whole != bar.total:  # the next ones, where a stopping rule asks for more
                bar.reset(whole)
            if failed:
                bar.set_postfix_str(f"{failed} failed", refresh=False)
            bar.update(done - bar.n)

        yield report


@contextmanager
def _lines_of_runs(stream: TextIO) -> Iterator[Counted]:
    began, told = time.monotonic(), 0.0

    def report(done: int, whole: int, failed: int) -> None:
        nonlocal began, told
        if not done:
            began, told = time.monotonic(), 0.0
        elif done / whole >= told + 1 / LINES or done == whole:
            told = done / whole
            left = (time.monotonic() - began) * (whole / done - 1)
            print(f"{done} of {whole} runs{f', {failed} failed' if failed else ''}, {left:.0f} s left", file=stream, flush=True)

    yield report
