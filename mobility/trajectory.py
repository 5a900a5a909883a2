"""The path of one host: waypoints joined by straight lines.

Positions are exact at any time; nothing is sampled. A host stays at its first waypoint until that time and
at its last one afterwards, as in BonnMotion and ns-2. `lives` has the spans in which the host exists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

ALWAYS = ((-np.inf, np.inf),)
_ALWAYS = np.array(ALWAYS)
_ALWAYS.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Trajectory:
    """times (k,) in s, never decreasing; points (k, d) in m, d = 2 or 3; both float64, k >= 1.

    Two waypoints at one instant are a jump: the later one applies from then on.
    lives (m, 2): the spans [from, until) in which the host exists, sorted and disjoint.
    Raises ValueError when the arrays do not fit together.
    """

    times: np.ndarray
    points: np.ndarray
    lives: np.ndarray = field(default=None)  # type: ignore[arg-type]  # made an array below

    def __post_init__(self) -> None:
        times = np.ascontiguousarray(self.times, dtype=np.float64)
        points = np.ascontiguousarray(self.points, dtype=np.float64)
        lives = _ALWAYS if self.lives is None else np.asarray(self.lives, dtype=np.float64).reshape(-1, 2)
        if times.ndim != 1 or not len(times):
            raise ValueError("a trajectory needs at least one waypoint")
        if points.ndim != 2 or len(points) != len(times) or points.shape[1] not in (2, 3):
            raise ValueError(f"found {len(times)} times; expected as many points, each with 2 or 3 coordinates")
        if not (np.isfinite(times).all() and np.isfinite(points).all()):
            raise ValueError("times and points must be finite numbers")
        if (times[1:] < times[:-1]).any():  # np.diff takes three times as long for few
            raise ValueError("times must not decrease")
        if lives is not _ALWAYS and (np.diff(lives.ravel()) < 0).any():
            raise ValueError("lives must be sorted and must not overlap")
        for name, value in (("times", times), ("points", points), ("lives", lives)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def always_present(self) -> bool:
        return self.lives is _ALWAYS or len(self.lives) == 1 and tuple(self.lives[0]) == ALWAYS[0]

    def present(self, t: float) -> bool:
        return bool(((self.lives[:, 0] <= t) & (t < self.lives[:, 1])).any())

    def position(self, t: float) -> np.ndarray:
        """Where the host is at `t`: (d,) in m, NaN where it is absent."""
        if not self.present(t):
            return np.full(self.points.shape[1], np.nan)
        return self.held(t)

    def velocity(self, t: float) -> np.ndarray:
        """(d,) in m/s; at a waypoint, the velocity of the leg that starts there; NaN where absent."""
        d = self.points.shape[1]
        if not self.present(t):
            return np.full(d, np.nan)
        leg = int(np.searchsorted(self.times, t, side="right")) - 1
        if leg < 0 or leg + 1 >= len(self.times):
            return np.zeros(d)
        return np.asarray((self.points[leg + 1] - self.points[leg]) / (self.times[leg + 1] - self.times[leg]))

    def window(self, start: float, duration: float) -> Trajectory:
        """`duration` seconds from `start`, with times relative to `start`."""
        end = start + duration
        inside = (self.times > start) & (self.times < end)
        times = np.concatenate(([0.0], np.minimum(self.times[inside] - start, duration), [duration]))
        points = np.vstack((self.held(start), self.points[inside], self.held(end, side="left")))
        same = (points[1:] == points[:-1]).all(axis=1)  # a host that stands needs its first and last
        keep = np.ones(len(times), dtype=bool)  # waypoint there, at the end of the window only the first
        keep[1:] = ~same | np.append(~same[1:], False)
        if self.lives is _ALWAYS:
            return Trajectory(times[keep], points[keep])
        lives = self.lives[(self.lives[:, 1] > start) & (self.lives[:, 0] < end)]
        lives = np.where(lives <= start, -np.inf, np.where(lives >= end, np.inf, lives - start))
        return Trajectory(times[keep], points[keep], lives)

    def held(self, t: float, side: Literal["left", "right"] = "right") -> np.ndarray:
        """The position at `t`, even while the host is absent; `side` chooses at a jump."""
        leg = int(np.searchsorted(self.times, t, side=side)) - 1
        if leg < 0:
            return np.array(self.points[0])
        if leg + 1 >= len(self.times):
            return np.array(self.points[-1])
        if t == self.times[leg + 1]:  # exactly, so that a window of a window is the same window
            return np.array(self.points[leg + 1])
        share = (t - self.times[leg]) / (self.times[leg + 1] - self.times[leg])
        return np.asarray(self.points[leg] + share * (self.points[leg + 1] - self.points[leg]))
