"""Virtual time: a heap of timed actions.

Actions of one instant run in the order in which they were asked for, so that a run depends on
nothing but its input.
"""
from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

_SWEEP = 4096  # cancelled timers that may lie in the heap before they are looked for


class Clock:
    """A scheduler whose time jumps from action to action."""

    def __init__(self) -> None:
        self.time = 0.0
        self.actions = 0  # run so far
        self.stopping = False
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self.cancelled = 0  # timers in the heap that will do nothing

    def now(self) -> float:
        return self.time

    def call_at(self, time: float, action: Callable[[], None]) -> None:
        """Run `action` at `time`, or at once after what is due now when `time` has passed."""
        self._order += 1
        time = max(time, self.time)
        heappush(self._heap, (time, self._order, action))

    def run(self, until: float) -> None:
        """Run all actions before `until` (s) in order of time; returns early once `stopping`."""
        heap = self._heap
        while heap and heap[0][0] < until and not self.stopping:
            self.time, _, action = heappop(heap)
            self.actions += 1
            action()
            if self.cancelled > _SWEEP and 2 * self.cancelled > len(heap):
                self._sweep()
        if not self.stopping:
            self.time = until

    def _sweep(self) -> None:
        """Take the cancelled timers out, so that they cost no more memory than those that live."""
        self._heap[:] = [item for item in self._heap
                         if type(item[2]) is not Timer or item[2].action is not None]
        heapify(self._heap)
        self.cancelled = 0


class Timer:
    """An action that has not run yet; one that was cancelled, or whose owner died, does nothing."""

    __slots__ = ("_clock", "_owner", "action")

    def __init__(self, clock: Clock, owner, action: Callable[[], None]) -> None:
        """`owner.alive` is asked when the time has come."""
        self._clock = clock
        self._owner = owner
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        if self.action is not None:
            self.action = None
            self._clock.cancelled += 1

    def __call__(self) -> None:
        action = self.action
        if action is None:
            self._clock.cancelled -= 1
            return
        self.action = None
        if self._owner.alive:
            action()
