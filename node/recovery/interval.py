"""The gossip interval: fixed, or longer while there is nothing to do.

costa-epidemic-reliability, section 5, after PlanetP (Cuenca-Acuna and others, 2001): a round that comes to nothing
makes the interval longer, and the first sign of work makes it the shortest again.
"""
from __future__ import annotations

from random import Random

FACTOR = 1.5  # by which an idle round makes it longer
SLOWEST = 16  # times the shortest
JITTER = 0.1  # share by which a round is early or late at most, or all nodes gossip at once


class Interval:
    def __init__(self, shortest: float, adaptive: bool, chance: Random) -> None:
        """`shortest`: s."""
        self._shortest, self._adaptive, self._chance = shortest, adaptive, chance
        self._now = shortest

    def draw(self) -> float:
        """s until the next round."""
        return self._now * self._chance.uniform(1 - JITTER, 1 + JITTER)

    def idle(self) -> None:
        """A round came to nothing."""
        if self._adaptive:
            self._now = min(self._now * FACTOR, self._shortest * SLOWEST)

    def busy(self) -> bool:
        """Something was missing here or elsewhere; whether the interval was longer than the shortest."""
        longer, self._now = self._now > self._shortest, self._shortest
        return longer
