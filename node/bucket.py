"""A bucket that fills with time: so much at once, and so much a second on and on."""
from __future__ import annotations


class Bucket:
    def __init__(self, most: int, a_second: float, now: float) -> None:
        """Full to begin with; `now` in s."""
        self._most, self._a_second = float(most), a_second
        self._holds, self._at = float(most), now

    def take(self, amount: int, now: float) -> bool:
        """Take so much out, if it holds so much."""
        self._fill(now)
        if self._holds < amount:
            return False
        self._holds -= amount
        return True

    def charge(self, amount: int, now: float) -> None:
        """Take so much out, even if it does not hold so much."""
        self._fill(now)
        self._holds -= amount

    def wait(self, now: float) -> float:
        """How long until what was charged beyond what it held has flowed in, s."""
        self._fill(now)
        return max(-self._holds / self._a_second, 0.0)

    def _fill(self, now: float) -> None:
        self._holds = min(self._holds + (now - self._at) * self._a_second, self._most)
        self._at = now
