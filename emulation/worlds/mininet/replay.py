"""Where stations are, for wmediumd, and how its radio is given the scenario's range.

Positions are those of the trace at a time of the run, between its waypoints too, whenever they are asked for: nothing adds
up, so that a run that falls behind is late and does not drift.
"""
from __future__ import annotations

import math

import numpy as np

from emulation.realtime.probe import places
from mobility import Movement

MOVED = 0.01  # m from what was told last; a smaller step is not told
# wmediumd's log-distance loss in dB at d meters: FIRST + 10 exponent log10(d), whole dB; its file has one decimal of the exponent
FIRST = 20.0 * math.log10(4.0 * math.pi * 2.412e9 / 299_792_458.0)
EXPONENTS = [k / 10 for k in range(20, 51)]
TX_POWER, GAIN = 14, 5  # dBm, dB at both ends: Mininet-WiFi's defaults
LEAST = 1  # dB above the noise with which wmediumd delivers
RATES = (1.0, 2.0, 5.5, 6.0, 9.0, 11.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0)  # Mbit/s, of 802.11g


class Replay:
    """The movement of a run, told in steps: what has moved since it was told last."""

    def __init__(self, movement: Movement) -> None:
        self._movement = movement
        self._told = np.full((len(movement), 3), np.inf)

    def moved(self, t: float) -> list[tuple[int, float, float, float]]:
        """(host, x, y, z) in m at `t` s, of each host that is not where it was told to be."""
        now = np.zeros_like(self._told)
        at = places(self._movement, t)
        now[:, :at.shape[1]] = at
        far = np.abs(now - self._told).max(axis=1) > MOVED
        self._told[far] = now[far]
        return [(host, *now[host].tolist()) for host in np.flatnonzero(far).tolist()]


def path_loss(reach: float) -> tuple[float, int]:
    """(exponent, noise in dBm) with which wmediumd delivers up to `reach` m and not beyond, as nearly as it can."""
    found = []
    for exponent in EXPONENTS:
        for last in (math.floor(loss(exponent, reach)), math.ceil(loss(exponent, reach))):
            noise = TX_POWER + 2 * GAIN - LEAST - (last - 1)  # whole dB: a loss below `last` counts as last - 1
            found.append((abs(edge(exponent, noise) - reach), -exponent, noise))
    _, exponent, noise = min(found)
    return -exponent, noise


def loss(exponent: float, distance: float) -> float:
    return FIRST + 10.0 * exponent * math.log10(distance)


def edge(exponent: float, noise: int) -> float:
    """The distance, in m, at which wmediumd ceases to deliver."""
    last = TX_POWER + 2 * GAIN - LEAST - noise + 1
    return math.pow(10.0, (last - FIRST) / (10.0 * exponent))


def broadcast_rate(rate: float) -> float:
    """Mbit/s: the fastest of 802.11g that is no faster than `rate` bit/s, else the slowest."""
    return max((known for known in RATES if known * 1e6 <= rate), default=RATES[0])
