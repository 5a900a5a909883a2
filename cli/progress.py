"""How far a run is: a bar on a terminal, a line now and then in a log."""
from __future__ import annotations

import time
from collections.abc import Iterator
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
