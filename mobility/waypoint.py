"""The random waypoint model: go to a random place at a random speed, pause, and again.

"steady" starts in the stationary distribution, so no warm-up has to be discarded (Navidi and
Camp, "Stationary distributions for the random waypoint mobility model"); "classic" starts every
host at a uniform place at the start of a leg, so hosts slow down and gather in the middle for
hundreds of seconds (Yoon, Liu and Noble, "Random waypoint considered harmful").
"""

from __future__ import annotations

import math
import random

import numpy as np

from mobility.movement import Movement
from mobility.trajectory import Trajectory

Pair = tuple[float, float]

STARTS = ("steady", "classic")
SLOWEST = 1e-6  # m/s; slower legs take longer than numbers can tell
MOST_WAYPOINTS = 50_000_000  # of all hosts together, to bound memory


def random_waypoint(
    count: int,
    area: tuple[float, float],
    speed: tuple[float, float],
    pause: tuple[float, float],
    duration: float,
    seed: int,
    start: str = "steady",
) -> Movement:
    """`count` hosts in [0, w] x [0, h] m, speeds uniform in `speed` m/s, pauses uniform in `pause` s.

    Each host has its own random stream, keyed by (seed, "mobility", host): adding hosts or time does
    not change how the others move. Raises ValueError for invalid parameters, such as a minimum speed
    of 0.
    """
    check(count, area, speed, pause, duration, start)
    trajectories = [
        _one_host(random.Random(f"{seed}/mobility/{host}"), area, speed, pause, duration, start)
        for host in range(count)
    ]
    return Movement([str(host) for host in range(count)], trajectories, duration)


def check(
    count: int,
    area: tuple[float, float],
    speed: tuple[float, float],
    pause: tuple[float, float],
    duration: float,
    start: str,
) -> None:
    """Raise ValueError, "parameter: found this; expected that", for parameters that the model cannot use."""
    if count < 0:
        raise ValueError(f"count: found {count}; expected 0 or more")
    if not all(0 < side < math.inf for side in area):
        raise ValueError(f"area: found {area}; expected both sides above 0 m")
    if not 0 <= duration < math.inf:
        raise ValueError(f"duration: found {duration}; expected 0 s or more")
    if not speed[0] > 0:
        raise ValueError(
            f"speed: found a minimum speed of {speed[0]:g}; expected above 0 m/s, because with 0 the mean "
            "speed keeps falling towards 0 and there is no steady state (Yoon, Liu, Noble)"
        )
    if speed[0] < SLOWEST:
        raise ValueError(f"speed: found a minimum speed of {speed[0]:g}; expected {SLOWEST:g} m/s or more")
    if not speed[0] <= speed[1] < math.inf:
        raise ValueError(f"speed: found {speed[0]:g} to {speed[1]:g}; expected the lower one first")
    if not 0 <= pause[0] <= pause[1] < math.inf:
        raise ValueError(f"pause: found {pause[0]:g} to {pause[1]:g}; expected 0 s or more, the lower one first")
    if start not in STARTS:
        raise ValueError(f'start: found "{start}"; expected one of {", ".join(STARTS)}')
    waypoints = 2 * count * (1 + duration / (mean_leg(area) * mean_pace(speed) + (pause[0] + pause[1]) / 2))
    if waypoints > MOST_WAYPOINTS:
        raise ValueError(
            f"area: found legs so short that there are {waypoints:.0e} waypoints; "
            "use a larger area, lower speeds, fewer hosts or a shorter run"
        )


def mean_leg(area: tuple[float, float]) -> float:
    """Mean distance (m) of two uniform points in a rectangle (Ghosh 1951)."""
    a, b = area
    d = math.hypot(a, b)
    return (
        a**3 / b**2
        + b**3 / a**2
        + d * (3 - a**2 / b**2 - b**2 / a**2)
        + 2.5 * (b**2 / a * math.log((a + d) / b) + a**2 / b * math.log((b + d) / a))
    ) / 15


def mean_pace(speed: tuple[float, float]) -> float:
    """Mean time (s) a leg takes per meter: the mean of 1/v over uniform v."""
    v0, v1 = speed
    return math.log(v1 / v0) / (v1 - v0) if v1 > v0 else 1 / v0


def moving_share(area: tuple[float, float], speed: tuple[float, float], pause: tuple[float, float]) -> float:
    """Share of time during which a host moves, in the steady state."""
    moving = mean_leg(area) * mean_pace(speed)
    return moving / (moving + (pause[0] + pause[1]) / 2)


def mean_speed(area: tuple[float, float], speed: tuple[float, float], pause: tuple[float, float]) -> float:
    """Mean speed (m/s) over time in the steady state, pauses counted as 0."""
    return moving_share(area, speed, pause) / mean_pace(speed)


def _one_host(stream: random.Random, area: Pair, speed: Pair, pause: Pair, duration: float, start: str) -> Trajectory:
    target: Pair | None
    if start == "classic":
        place, pending, target, pace = _place(stream, area), 0.0, None, 0.0
    else:
        place, pending, target, pace = _steady_state(stream, area, speed, pause)
    t, times, points = 0.0, [0.0], [place]
    if pending > 0:
        t += pending
        times.append(t)
        points.append(place)
    while t < duration:
        if target is None:
            target, pace = _place(stream, area), _between(stream, *speed)
        t += math.dist(place, target) / pace
        times.append(t)
        points.append(target)
        place, target = target, None
        rest = _between(stream, *pause)
        if rest > 0:
            t += rest
            times.append(t)
            points.append(place)
    # waypoints beyond the end stay: the last leg is under way when the run ends
    return Trajectory(np.array(times), np.array(points))


def _steady_state(stream: random.Random, area: Pair, speed: Pair,
                  pause: Pair) -> tuple[Pair, float, Pair | None, float]:
    """Place, residual pause (s), and, for a host under way, where it goes and how fast (m/s)."""
    if stream.random() >= moving_share(area, speed, pause):
        # a host is met in a long pause more often: density p on [p0, p1], and at a uniform point of it
        whole = math.sqrt(pause[0] ** 2 + stream.random() * (pause[1] ** 2 - pause[0] ** 2))
        return _place(stream, area), whole * stream.random(), None, 0.0
    diagonal = math.hypot(*area)
    while True:  # and on a long leg more often: accepted with probability proportional to its length
        origin, target = _place(stream, area), _place(stream, area)
        if stream.random() * diagonal < math.dist(origin, target):
            break
    along = stream.random()
    place = origin[0] + along * (target[0] - origin[0]), origin[1] + along * (target[1] - origin[1])
    u = stream.random()  # a slow leg lasts longer: density 1/v on [v0, v1], inverted
    return place, 0.0, target, speed[1] ** u / speed[0] ** (u - 1)


def _place(stream: random.Random, area: Pair) -> Pair:
    return stream.random() * area[0], stream.random() * area[1]


def _between(stream: random.Random, low: float, high: float) -> float:
    return low + stream.random() * (high - low)
