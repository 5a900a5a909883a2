"""What a node needs on a real host besides timers: its radio, its files, its boot epoch."""
from __future__ import annotations

import contextlib
import sys


class DaemonError(Exception):
    """The daemon cannot start or continue; the text says why and what to do, in one sentence."""


def say(text: str) -> None:
    """Print a line for people at the node. If it cannot be written, as on a full disk, the node continues."""
    with contextlib.suppress(OSError):
        print(f"roamcast: {text}", file=sys.stderr, flush=True)
