"""Clocks that begin anywhere and run too fast or too slow are brought together as far as their datagrams tell."""
from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.alignment import DATAGRAMS, ONE_WAY, REFERENCE, WALL, Life, align


class Field:
    """Nodes whose clocks show (time - start) * rate; `talk` lets them hear each other's datagrams."""

    def __init__(self, clocks: dict[tuple[int, int], tuple[float, float]], until: float, seed: int = 1) -> None:
        self.clocks, self.until, self.dice = clocks, until, random.Random(seed)
        self.lives = {name: Life(first=0.0, last=(until - start) * rate) for name, (start, rate) in clocks.items()}

    def shown(self, name, time: float) -> float:
        start, rate = self.clocks[name]
        return (time - start) * rate

    def talk(self, a, b, every: float = 10.0, delay: float = 0.002, jitter: float = 0.02) -> None:
        """What `a` sends is heard by `b`, late by at least `delay`."""
        sender, hearer = self.lives[a], self.lives[b]
        time = max(self.clocks[a][0], self.clocks[b][0])
        while time < self.until:
            counter = len(sender.sent) + 1
            sender.sent[counter] = self.shown(a, time)
            hearer.heard[a].append((counter, self.shown(b, time + delay + self.dice.expovariate(1 / jitter))))
            time += self.dice.uniform(0.5, 1.5) * every

    def errors(self, clocks) -> dict:
        """How far each aligned clock is off the reference at most, at any time of its life."""
        chief = next(name for name, clock in clocks.items() if clock.by == REFERENCE)
        found = {}
        for name, clock in clocks.items():
            times = [self.clocks[name][0] + (self.until - self.clocks[name][0]) * k / 50 for k in range(51)]
            found[name] = max(abs(clock.run_time(self.shown(name, t)) - clocks[chief].run_time(self.shown(chief, t)))
                              for t in times if t >= self.clocks[chief][0])
        return found


def test_two_clocks_that_drift_apart_are_brought_together():
    field = Field({(0, 5): (0.0, 1.0), (1, 9): (300.0, 1 + 40e-6)}, until=3600)  # 130 ms apart at the end
    field.talk((0, 5), (1, 9))
    field.talk((1, 9), (0, 5))
    clocks = align(field.lives)
    assert clocks[0, 5].by == REFERENCE and clocks[1, 9].by == DATAGRAMS
    assert max(field.errors(clocks).values()) < min(0.02, clocks[1, 9].wrong + 0.005)


def test_over_several_hops_and_lives_the_surest_way_is_taken():
    field = Field({(0, 1): (0.0, 1.0), (1, 1): (20.0, 1 - 20e-6), (2, 1): (50.0, 1 + 20e-6), (1, 2): (900.0, 1.0)}, until=1800)
    for a, b, jitter in (((0, 1), (1, 1), 0.002), ((1, 1), (2, 1), 0.002), ((0, 1), (2, 1), 0.5), ((2, 1), (1, 2), 0.002)):
        field.talk(a, b, jitter=jitter)
        field.talk(b, a, jitter=jitter)
    clocks = align(field.lives)
    assert all(clock.by in (REFERENCE, DATAGRAMS) for clock in clocks.values())
    assert max(field.errors(clocks).values()) < 0.01  # and not by the way that is 500 ms unsure


def test_who_was_heard_one_way_only_and_who_by_nobody():
    field = Field({(0, 1): (0.0, 1.0), (1, 1): (100.0, 1.0), (2, 1): (200.0, 1.0)}, until=1000)
    field.talk((0, 1), (1, 1), delay=0.003)
    for name, (start, _) in field.clocks.items():
        field.lives[name].wall = 1_700_000_000 + start + (0.7 if name == (2, 1) else 0.0)
    clocks = align(field.lives)
    assert [clocks[name].by for name in sorted(clocks)] == [REFERENCE, ONE_WAY, WALL]
    errors = field.errors(clocks)
    assert errors[1, 1] < 0.02 and errors[2, 1] == pytest.approx(0.7, abs=1e-6)
    assert math.isnan(clocks[2, 1].wrong)


def test_events_align_where_no_datagram_was_recorded():
    field = Field({(0, 1): (0.0, 1.0), (1, 1): (7.0, 1.0)}, until=600)
    for k in range(20):
        for a, b in (((0, 1), (1, 1)), ((1, 1), (0, 1))):
            field.lives[b].followed[a].append((field.shown(a, 10.0 + 25 * k), field.shown(b, 10.004 + 25 * k)))
    clocks = align(field.lives)
    assert clocks[1, 1].by == DATAGRAMS and max(field.errors(clocks).values()) < 0.005


@given(st.dictionaries(st.tuples(st.integers(0, 4), st.integers(1, 3)), st.tuples(st.floats(0, 500), st.floats(-5e-5, 5e-5)),
                       min_size=1, max_size=6), st.integers(0, 10**6))
def test_time_zero_is_the_first_start_and_no_clock_is_further_off_than_it_says(found, seed):
    field = Field({name: (start, 1 + drift) for name, (start, drift) in found.items()}, until=1000, seed=seed)
    for a in field.clocks:
        for b in field.clocks:
            if a[0] != b[0] and field.dice.random() < 0.6:
                field.talk(a, b, every=15.0)
    clocks = align(field.lives)
    assert clocks.keys() == field.lives.keys()
    firsts = [clocks[name].run_time(life.first) for name, life in field.lives.items()]
    assert min(firsts) == pytest.approx(0.0, abs=1e-6)
    errors = field.errors(clocks)
    for name, clock in clocks.items():
        if clock.by == DATAGRAMS:  # between two estimates the clocks drift by a little more
            assert errors[name] <= clock.wrong + 0.05


def test_nobody_needs_no_clock():
    assert align({}) == {}
