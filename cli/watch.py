"""A live line for each host of a run in real time."""
from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from emulation.world import Progress, Report

HEAD = f"{'host':<12} {'state':<9} {'life':>4} {'neighbors':>9} {'published':>9} {'delivered':>9} {'unsent':>6}"


@contextmanager
def for_terminal(stream: TextIO, names: list[str]) -> Iterator[Report]:
    """A context whose value takes emulation.world.Progress and shows its hosts: on a terminal in place,
    in a log one table a second."""
    height = 0

    def report(progress: Progress) -> None:
        nonlocal height
        lines = [f"{progress.now:.0f} of {progress.duration:g} s, {progress.delivered:,} delivered", HEAD]
        rows = [_row(name, host) for name, host in zip(names, progress.hosts or (), strict=False)]
        room = shutil.get_terminal_size().lines - len(lines) - 2 if stream.isatty() else len(rows)
        if len(rows) > room:
            rows[room:] = [f"and {len(rows) - room} more hosts"]
        lines += rows
        back = f"\x1b[{height}F\x1b[J" if stream.isatty() and height else ""
        print(back + "\n".join(lines), file=stream, flush=True)
        height = len(lines)

    yield report


def _row(name: str, host: Mapping[str, object]) -> str:
    return (f"{name[:12]:<12} {host['state']:<9} {host['epoch']:>4} {host['neighbors']:>9} {host['published']:>9} "
            f"{host['delivered']:>9} {host['unsent']:>6}")
