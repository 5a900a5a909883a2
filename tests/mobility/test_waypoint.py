"""Random waypoint: that the steady start is steady, that the classic one is not, and the streams."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

import mobility
from mobility.waypoint import mean_leg, mean_pace, mean_speed, moving_share

AREA, SPEED, PAUSE = (800.0, 500.0), (0.5, 2.0), (0.0, 60.0)
HOSTS = 3000


def _state(movement: mobility.Movement, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 2) and speeds (n,) of all hosts."""
    return movement.positions(t), np.array([np.linalg.norm(x.velocity(t)) for x in movement.trajectories])


@pytest.fixture(scope="module")
def steady():
    return mobility.random_waypoint(HOSTS, AREA, SPEED, PAUSE, 1001.0, seed=11)


@pytest.fixture(scope="module")
def classic():
    return mobility.random_waypoint(HOSTS, AREA, SPEED, PAUSE, 3001.0, seed=12, start="classic")


def test_steady_start_is_stationary(steady):
    """x, y, speed of the moving and the distance from the middle have the same distribution at 0 and at
    1000 s: Kolmogorov-Smirnov's p above 0.01 for 3000 hosts and this seed."""
    (p0, v0), (p1, v1) = _state(steady, 0.0), _state(steady, 1000.0)
    middle = np.array(AREA) / 2
    for one, other in (
        (p0[:, 0], p1[:, 0]),
        (p0[:, 1], p1[:, 1]),
        (v0[v0 > 0], v1[v1 > 0]),
        (np.linalg.norm(p0 - middle, axis=1), np.linalg.norm(p1 - middle, axis=1)),
    ):
        assert stats.ks_2samp(one, other).pvalue > 0.01
    share = moving_share(AREA, SPEED, PAUSE)
    deviation = math.sqrt(share * (1 - share) / HOSTS)
    for speeds in (v0, v1):
        assert abs((speeds > 0).mean() - share) < 3 * deviation
        assert speeds.mean() == pytest.approx(mean_speed(AREA, SPEED, PAUSE), rel=0.05)


def test_speed_of_the_moving_has_density_one_over_v(steady):
    """F(v) = ln(v/v0) / ln(v1/v0) (Navidi and Camp, theorem 3)."""
    _, speeds = _state(steady, 0.0)
    moving = speeds[speeds > 0]
    law = stats.loguniform(*SPEED)
    assert stats.kstest(moving, law.cdf).pvalue > 0.01
    assert moving.mean() == pytest.approx((SPEED[1] - SPEED[0]) / math.log(SPEED[1] / SPEED[0]), rel=0.02)


def test_residual_pauses_have_their_density():
    """(1 - F(p)) / E[P] for uniform pauses on [10, 40] s."""
    low, high = 10.0, 40.0
    movement = mobility.random_waypoint(HOSTS, (30.0, 30.0), (1.0, 1.0), (low, high), 1.0, seed=5)
    left = np.array([t.times[1] for t in movement.trajectories if not np.linalg.norm(t.velocity(0.0))])

    def cdf(p):
        p = np.clip(p, 0.0, high)
        beyond = np.clip(p - low, 0.0, None)
        return (p - beyond**2 / (2 * (high - low))) / ((low + high) / 2)

    assert len(left) > 0.4 * HOSTS
    assert stats.kstest(left, cdf).pvalue > 0.01


def test_classic_start_slows_down_and_gathers_in_the_middle(classic):
    """Yoon, Liu, Noble: the mean speed falls from (v0 + v1) / 2 to that of the steady state; the share of
    hosts in the middle quarter of the area rises from 1/4."""
    (p0, v0), (p1, v1) = _state(classic, 0.0), _state(classic, 3000.0)
    assert v0.mean() == pytest.approx(1.25, rel=0.03)
    assert v1.mean() == pytest.approx(mean_speed(AREA, SPEED, PAUSE), rel=0.05)
    assert v1.mean() < 0.8 * v0.mean()
    central = [(np.abs(p / AREA - 0.5) < 0.25).all(axis=1).mean() for p in (p0, p1)]
    assert central[0] == pytest.approx(0.25, abs=0.025)
    assert central[1] > 0.33
    assert (
        stats.ks_2samp(
            np.linalg.norm(p0 - np.array(AREA) / 2, axis=1), np.linalg.norm(p1 - np.array(AREA) / 2, axis=1)
        ).pvalue
        < 1e-6
    )


def test_mean_speed_over_time_is_the_analytic_one():
    """Way over time of 400 hosts during 2000 s, without pauses and with them."""
    for pause in ((0.0, 0.0), (5.0, 40.0)):
        movement = mobility.random_waypoint(400, (500.0, 300.0), (1.0, 6.0), pause, 2000.0, seed=2).window(
            0.0, 2000.0
        )
        way = sum(np.linalg.norm(np.diff(t.points, axis=0), axis=1).sum() for t in movement.trajectories)
        assert way / (400 * 2000.0) == pytest.approx(mean_speed((500.0, 300.0), (1.0, 6.0), pause), rel=0.02)


def test_mean_leg_of_rectangles():
    assert mean_leg((1.0, 1.0)) == pytest.approx(0.5214054331647207)  # (2 + sqrt 2 + 5 ln(1 + sqrt 2)) / 15
    draw = random.Random(4)
    for area in ((600.0, 600.0), (1500.0, 300.0)):
        legs = [
            math.dist(
                (draw.random() * area[0], draw.random() * area[1]),
                (draw.random() * area[0], draw.random() * area[1]),
            )
            for _ in range(40_000)
        ]
        assert sum(legs) / len(legs) == pytest.approx(mean_leg(area), rel=0.01)
    assert mean_pace((2.0, 2.0)) == 0.5
    assert mean_pace((1.0, math.e)) == pytest.approx(1 / (math.e - 1))


@pytest.mark.parametrize("start", ["steady", "classic"])
def test_more_hosts_and_longer_runs_change_nobody(start):
    few = mobility.random_waypoint(5, AREA, SPEED, PAUSE, 200.0, seed=9, start=start)
    many = mobility.random_waypoint(9, AREA, SPEED, PAUSE, 700.0, seed=9, start=start)
    for one, other in zip(few.trajectories, many.trajectories):
        known = len(one.times)
        assert (one.times == other.times[:known]).all() and (one.points == other.points[:known]).all()
    assert (
        few.positions(0.0)
        != mobility.random_waypoint(5, AREA, SPEED, PAUSE, 200.0, seed=10, start=start).positions(0.0)
    ).any()


def test_stays_in_the_area_and_within_the_speeds():
    movement = mobility.random_waypoint(50, (300.0, 200.0), (3.0, 7.0), (0.0, 0.0), 500.0, seed=1)
    for trajectory in movement.trajectories:
        assert (trajectory.points >= 0).all() and (trajectory.points <= (300.0, 200.0)).all()
        assert trajectory.times[-1] >= 500.0
        pace = np.linalg.norm(np.diff(trajectory.points, axis=0), axis=1) / np.diff(trajectory.times)
        assert ((pace > 3.0 - 1e-9) & (pace < 7.0 + 1e-9)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"speed": (0.0, 2.0)}, "there is no steady state"),
        ({"speed": (-1.0, 2.0)}, "above 0 m/s"),
        ({"speed": (2.0, 1.0)}, "the lower one first"),
        ({"pause": (5.0, 1.0)}, "the lower one first"),
        ({"pause": (-1.0, 1.0)}, "0 s or more"),
        ({"area": (0.0, 5.0)}, "above 0 m"),
        ({"duration": -1.0}, "0 s or more"),
        ({"start": "late"}, "steady, classic"),
        ({"count": -1}, "0 or more"),
    ],
)
def test_refusals_say_why(change, words):
    arguments = {
        "count": 2,
        "area": AREA,
        "speed": SPEED,
        "pause": PAUSE,
        "duration": 10.0,
        "seed": 1,
        "start": "steady",
    } | change
    with pytest.raises(ValueError, match=words):
        mobility.random_waypoint(**arguments)
