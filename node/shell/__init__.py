"""What surrounds a node on a real host, besides its timers: its radio, its files, its boot epoch."""
from __future__ import annotations

import contextlib
import sys


class DaemonError(Exception):
    """The daemon cannot start or go on; the text says why and what would do, in one sentence."""


def say(text: str) -> None:
    """A line for the people at the node. Where nobody can take it (a full disk), the node goes on without."""
    with contextlib.suppress(OSError):
        print(f"roamcast: {text}", file=sys.stderr, flush=True)
