"""Whether a frame that was sent is received: models of the path between two hosts.

Two models: the unit disk of the papers' evaluations, and log-distance path loss with log-normal
shadowing (Rappaport, "Wireless communications", section 4.9), whose shadowing drifts slowly and
whose reception probability falls smoothly with the distance. A model gives the probability that
one frame is received; the medium draws.
"""
from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from emulation import chance
from mobility import Trajectory

LINK_EXISTS = 0.1  # a radio link "exists" while a base-rate frame is received with this probability
NOMINAL = -50.0  # dBm: what mac80211_hwsim itself shows of any frame
_TAIL = 3.0  # standard deviations beyond which a frame is not looked at


class Locator:
    """Where hosts are, for times that mostly grow: a cursor per host, no search, no arrays."""

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        self._times = [trajectory.times.tolist() for trajectory in trajectories]
        self._points = [[(*point, 0.0)[:3] for point in trajectory.points.tolist()] for trajectory in trajectories]
        self._at = [0] * len(self._times)

    def position(self, host: int, time: float) -> tuple[float, ...]:
        """(x, y, z) in meters; before the first waypoint the first, after the last the last."""
        times, points, k = self._times[host], self._points[host], self._at[host]
        if not (times[k] <= time and (k + 1 == len(times) or time < times[k + 1])):
            k = self._at[host] = max(0, bisect_right(times, time) - 1)
        if k + 1 == len(times) or time <= times[k]:
            return points[k]
        part = (time - times[k]) / (times[k + 1] - times[k])
        return tuple(a + (b - a) * part for a, b in zip(points[k], points[k + 1], strict=True))

    def distance(self, a: int, b: int, time: float) -> float:
        return math.dist(self.position(a, time), self.position(b, time))


class UnitDisk:
    """Everything within `reach` meters is received, nothing beyond."""

    varies = False  # the probability is constant while two hosts are in reach

    def __init__(self, reach: float) -> None:
        self.reach = reach

    def probability(self, sender: int, receiver: int, time: float, base_rate: bool) -> float:
        """Of one frame, for hosts within reach of each other."""
        return 1.0

    def power(self, sender: int, receiver: int, time: float) -> float:
        """dBm that a receiver shows; the model knows none, and everything that is received is strong."""
        return NOMINAL


class LogDistance:
    """Received power = tx_power - loss(d0) - 10 n log10(d/d0) + X(pair, time), in dBm.

    X is normal with `sigma` dB, the same in both directions, and drifts: values `coherence`
    seconds apart are independent. A frame is received with probability Phi((power -
    sensitivity) / fading): `fading` dB stands for what changes from frame to frame.
    """

    varies = True

    def __init__(self, locator: Locator, seed: int, *, tx_power: float, reference_loss: float,
                 reference_distance: float, exponent: float, sigma: float, coherence: float,
                 fading: float, sensitivity: float, data_sensitivity: float) -> None:
        self._locator = locator
        self._seed = seed
        self._budget = tx_power - reference_loss
        self._d0 = reference_distance
        self._slope = 10.0 * exponent
        self._sigma = sigma
        self._coherence = coherence
        self._fading = fading
        self._sensitivity = {True: sensitivity, False: data_sensitivity}
        self._knots: dict[tuple[int, int], tuple[int, float, float]] = {}
        margin = self._budget - min(sensitivity, data_sensitivity) + _TAIL * math.hypot(sigma, fading)
        self.reach = self._d0 * 10.0 ** (max(margin, 0.0) / self._slope)

    def mean_power(self, distance: float) -> float:
        """dBm at `distance` meters, shadowing and fading averaged out."""
        return self._budget - self._slope * math.log10(max(distance, self._d0) / self._d0)

    def shadowing(self, a: int, b: int, time: float) -> float:
        """dB that the path between two hosts is better than the mean, at this time."""
        if self._sigma == 0.0:
            return 0.0
        pair = (a, b) if a < b else (b, a)
        knot = int(time / self._coherence)
        known = self._knots.get(pair)
        if known is None or known[0] != knot:
            key = chance.key(self._seed, "shadowing", *pair)
            known = self._knots[pair] = knot, chance.normal(key, knot), chance.normal(key, knot + 1)
        angle = (time / self._coherence - knot) * (math.pi / 2)  # keeps the variance at all times
        return self._sigma * (known[1] * math.cos(angle) + known[2] * math.sin(angle))

    def probability(self, sender: int, receiver: int, time: float, base_rate: bool) -> float:
        """Of one frame received, the path's state at `time` (s) given."""
        margin = self.power(sender, receiver, time) - self._sensitivity[base_rate]
        return _normal_cdf(margin, self._fading)

    def power(self, sender: int, receiver: int, time: float) -> float:
        """dBm received at `time` (s), fading from frame to frame averaged out."""
        power = self.mean_power(self._locator.distance(sender, receiver, time))
        return power + self.shadowing(sender, receiver, time)


def _normal_cdf(margin: float, deviation: float) -> float:
    if deviation == 0.0:
        return 1.0 if margin >= 0.0 else 0.0
    return 0.5 * math.erfc(-margin / (deviation * math.sqrt(2.0)))
