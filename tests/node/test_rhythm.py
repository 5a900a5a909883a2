"""What repeats keeps its rhythm on a clock that runs every timer late."""
from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.rhythm import Rhythm
from tests.node.lossy_air import Air, Host


class Late:
    """An environment whose timers run late; `lateness` says by how many s each."""

    def __init__(self, lateness) -> None:
        self.time, self.lateness = 0.0, lateness

    def now(self) -> float:
        return self.time

    def runs(self, delay: float) -> float:
        """The time at which a timer that is set now runs, which it then is."""
        self.time += delay + self.lateness()
        return self.time


def beats(env: Late, first: float, interval: float, until: float) -> list[float]:
    rhythm = Rhythm(env)
    found = [env.runs(rhythm.begin(first))]
    while found[-1] < until:
        found.append(env.runs(rhythm.next(interval)))
    return found


def test_lateness_does_not_add_up():
    draw = random.Random(1)
    found = beats(Late(lambda: draw.uniform(0.0, 0.02)), 0.3, 0.5, 1000.0)
    assert len(found) == 2001
    assert all(0.3 + k * 0.5 <= at < 0.3 + k * 0.5 + 0.0201 for k, at in enumerate(found))


@given(st.floats(0.0, 2.0), st.lists(st.floats(1e-3, 10.0), min_size=1, max_size=50), st.floats(0.0, 1e6))
def test_where_nothing_is_late_the_delays_are_the_intervals(first, intervals, begins):
    env = Late(lambda: 0.0)
    env.time = begins
    rhythm = Rhythm(env)
    assert rhythm.begin(first) == first
    env.runs(first)
    for interval in intervals:
        assert rhythm.next(interval) == interval  # to the last bit: a simulated run stays what it was
        env.runs(interval)


def test_what_a_frozen_host_missed_is_not_made_up_for():
    stops = iter([0.0, 30.0, *[0.0] * 100])
    found = beats(Late(lambda: next(stops)), 0.5, 0.5, 35.0)
    assert found[:2] == [0.5, 31.0] and [round(b - a, 9) for a, b in zip(found[1:], found[2:], strict=False)] == [0.5] * 8


@pytest.mark.parametrize("late", [0.0, 0.01])
def test_beacons_are_as_many_on_a_late_clock(late):
    """A host whose every timer is late says as much in 500 s as one in virtual time."""
    air = Air(1)
    host = Host(air, 1, hello_interval=0.5)
    punctual = host.call_later
    host.call_later = lambda delay, action: punctual(delay + late, action)
    host.neighbors.start()
    air.run(500.0)
    assert host.neighbors._sequence == pytest.approx(1000, abs=8)  # each is jittered by a tenth
