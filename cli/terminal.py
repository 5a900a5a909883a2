"""What reaches a terminal: all that the command prints goes through here, so nothing in it can be obeyed by a terminal.

Texts come from the air, from records, scenarios and traces of other people: an escape code in one could clear the screen
or answer for the person at it, a bidi override could turn a line around. What does not print is written out as JSON would
write it, so that a line of JSON stays one.
"""
from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import TextIO

from cli.errors import visible


class Visible:
    """A text stream that shows what would not print; all else is the stream's own. `raw` is that stream, for what moves
    the cursor itself: bars and live tables, whose texts are numbers and checked names."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.raw, name)


class Lossy:
    """stderr: a line that finds no room is lost. No run and no subscription ends for a line that tells of it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def guard() -> None:
    """From here on the standard streams are there, and safe."""
    _open_closed()
    if not isinstance(sys.stderr, Visible):
        sys.stderr = Lossy(sys.stderr)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, Visible):
            setattr(sys, name, Visible(stream))


def _open_closed() -> None:
    """Where whoever started us closed a standard stream, what goes there goes nowhere: `print` would put what is meant for
    stderr on stdout, and the next file that is opened would be the standard stream of programs that we start."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def raw(stream: TextIO) -> TextIO:
    """The stream behind a safe one."""
    return stream.raw if isinstance(stream, Visible) else stream
