"""What reaches a terminal: all that the command prints goes through here, so nothing in it can be obeyed by a terminal.

Texts come from the air, from records, scenarios and traces of other people: an escape code in one could clear the screen
or answer for the person at it, a bidi override could turn a line around. What does not print is written out as JSON would
write it, so that a line of JSON stays one.
"""
from __future__ import annotations

import sys
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

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str):
        return getattr(self.raw, name)


def guard() -> None:
    """From here on the standard streams are safe."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Visible):
            setattr(sys, name, Visible(stream))


def raw(stream: TextIO) -> TextIO:
    """The stream behind a safe one."""
    return stream.raw if isinstance(stream, Visible) else stream
