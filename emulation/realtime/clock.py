"""A scheduler for the medium whose time follows the machine's clock.

While an action runs, now() is the time for which it was asked, not the time at which it came to
run: frames that follow one another on the air keep their exact distances however late the process
is, and lateness does not add up. It reports how late each action was, so that a run can be judged.
Between actions now() is what the clock said last. It never goes back.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from heapq import heappop, heappush


class RealTime:
    """emulation.scheduler.Scheduler by CLOCK_MONOTONIC; all times in s since `began`. `late` is told by how many
    seconds each action was late."""

    def __init__(self, late: Callable[[float], None] = lambda seconds: None) -> None:
        self.time = 0.0
        self.began = float("inf")  # of the monotonic clock; until it is set, time stands at 0
        self.late = late
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0

    def now(self) -> float:
        return self.time

    def call_at(self, time: float, action: Callable[[], None]) -> None:
        """Run `action` at `time`, or with the next `advance` when that has passed."""
        self._order += 1
        heappush(self._heap, (max(time, self.time), self._order, action))

    def due(self) -> float | None:
        """When the next action is due; None when there is none."""
        return self._heap[0][0] if self._heap else None

    def elapsed(self) -> float:
        """What the clock says, which now() may lag behind."""
        return time.monotonic() - self.began

    def advance(self, until: float | None = None) -> None:
        """Run all that is due by the clock (and not after `until`), in order; then now() is the clock's time."""
        heap, clock, began, late = self._heap, time.monotonic, self.began, self.late
        real = clock() - began
        limit = real if until is None else min(real, until)
        while heap and heap[0][0] <= limit:
            self.time, _, action = heappop(heap)
            late(clock() - began - self.time)
            action()
        self.time = max(self.time, limit)
