"""Virtual time: a heap of timed actions.

Actions of one instant run in the order in which they were asked for, so that a run depends on
nothing but its input.
"""
from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Protocol

_SWEEP = 4096  # cancelled timers that may lie in the heap whatever its size


class Lives(Protocol):
    """Whose timers do nothing once it is dead."""

    alive: bool


class Clock:
    """A scheduler whose time jumps from action to action."""

    def __init__(self) -> None:
        self.time = 0.0
        self.stopping = False
        self._heap: list[tuple[float, int, Callable[[], None] | Timer]] = []
        self._order = 0  # of what was asked for, and how much
        self._cancelled = 0  # timers in the heap that will do nothing
        self._swept = 0  # timers taken out of it

    @property
    def actions(self) -> int:
        """How many have come up so far, cancelled ones included."""
        return self._order - self._swept - len(self._heap)

    def now(self) -> float:
        return self.time

    def call_at(self, time: float, action: Callable[[], None]) -> None:
        """Run `action` at `time`, or at once after what is due now when `time` has passed."""
        self._order = order = self._order + 1
        if time < self.time:
            time = self.time
        heappush(self._heap, (time, order, action))

    def due(self) -> float | None:
        """When the next action is due; None when there is none."""
        return self._heap[0][0] if self._heap else None

    def timer(self, owner: Lives, delay: float, action: Callable[[], None]) -> Timer:
        """Run `action` in `delay` s if `owner.alive` then; the timer can be cancelled."""
        timer = Timer(self, owner, action)
        self._order = order = self._order + 1
        heappush(self._heap, (self.time + delay if delay > 0.0 else self.time, order, timer))
        return timer

    def run(self, until: float) -> None:
        """Run all actions before `until` (s) in order of time; returns early once `stopping`."""
        heap = self._heap
        while heap and not self.stopping:
            item = heappop(heap)
            time, _, action = item
            if time >= until:
                heappush(heap, item)
                break
            self.time = time
            if isinstance(action, Timer):
                wanted = action.take()
                if wanted is not None:
                    wanted()
            else:
                action()
        if not self.stopping:
            self.time = until

    def sweep(self) -> None:
        """Take the cancelled timers out, so that they cost no more memory than those that live."""
        before = len(self._heap)
        self._heap[:] = [item for item in self._heap
                         if type(item[2]) is not Timer or item[2].action is not None]
        heapify(self._heap)
        self._swept += before - len(self._heap)
        self._cancelled = 0


class Timer:
    """An action that has not run yet; one that was cancelled, or whose owner died, does nothing."""

    __slots__ = ("_clock", "_owner", "action")

    def __init__(self, clock: Clock, owner: Lives, action: Callable[[], None]) -> None:
        self._clock = clock
        self._owner = owner
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        if self.action is not None:
            self.action = None
            clock = self._clock
            clock._cancelled += 1
            if clock._cancelled > _SWEEP and 2 * clock._cancelled > len(clock._heap):
                clock.sweep()

    def take(self) -> Callable[[], None] | None:
        """What is to be done now that the time has come; None if that is nothing."""
        action = self.action
        if action is None:
            self._clock._cancelled -= 1
            return None
        self.action = None
        return action if self._owner.alive else None
