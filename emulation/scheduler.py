"""What drives the medium: the simulator's heap of actions, or a loop that follows the machine's clock."""
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Scheduler(Protocol):
    """All times in s since the run started."""

    def now(self) -> float: ...

    def call_at(self, time: float, action: Callable[[], None]) -> object:
        """Run `action` once at `time`, not before what was asked for earlier times."""
