"""When a thing that repeats is due again, on clocks that run every timer a little late.

A beacon every 0.5 s whose timers fire 3 ms late, each counted from the one before, is a beacon every 0.503 s:
the real hosts of a run would say less than the simulated ones. Counted from when each was due, they keep the
rhythm. In virtual time nothing is late, and the delays are the intervals themselves.
"""
from __future__ import annotations

from node.environment import Runtime


class Rhythm:
    """The times of one repeated action, one after the other."""

    __slots__ = ("_due", "_env")

    def __init__(self, env: Runtime) -> None:
        self._env = env
        self._due = 0.0  # when the next one is

    def begin(self, delay: float) -> float:
        """The delay of the first one, as it is given, s."""
        self._due = self._env.now() + delay
        return delay

    def next(self, interval: float) -> float:
        """The delay of the one after this, which was due before and runs now: `interval` after that was due, or from
        now on when that has passed. Those that were missed are left out, not made up for."""
        now = self._env.now()
        late = max(now - self._due, 0.0)
        delay = interval - late if late < interval else interval
        self._due = now + delay
        return delay
