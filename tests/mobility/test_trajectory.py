"""Trajectories and movements: exact at any time, cut to windows, checked when made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobility import Movement, Trajectory, random_waypoint


def _track(*rows, lives=None) -> Trajectory:
    table = np.array(rows, dtype=float)
    return Trajectory(table[:, 0], table[:, 1:], lives)


def test_linear_between_and_held_outside():
    track = _track((2, 0, 0), (4, 10, 0), (4, 10, 0), (8, 10, 8))
    assert [track.position(t).tolist() for t in (-5, 2, 3, 4, 6, 8, 99)] == [
        [0, 0],
        [0, 0],
        [5, 0],
        [10, 0],
        [10, 4],
        [10, 8],
        [10, 8],
    ]
    assert [track.velocity(t).tolist() for t in (1, 2, 3.9, 4, 8)] == [[0, 0], [5, 0], [5, 0], [0, 2], [0, 0]]


def test_absent_outside_of_its_lives():
    track = _track((0, 0, 0), (10, 10, 0), lives=[(2.0, 4.0), (6.0, np.inf)])
    assert [track.present(t) for t in (1.9, 2, 3.9, 4, 6, 1e9)] == [False, True, True, False, True, True]
    assert np.isnan(track.position(5.0)).all() and np.isnan(track.velocity(5.0)).all()
    movement = Movement(["a"], [track], 10.0)
    assert [bool(movement.present(t)[0]) for t in (1.9, 2, 3.9, 4, 6)] == [False, True, True, False, True]
    assert movement.positions(7.0).tolist() == [[7, 0]]


@st.composite
def tracks(draw):
    steps = draw(st.lists(st.floats(0.01, 20), min_size=0, max_size=8))
    times = np.cumsum([draw(st.floats(-5, 5)), *steps])
    points = draw(
        st.lists(
            st.tuples(*[st.sampled_from([0.0, 1.0, 3.7, -8.1])] * 2), min_size=len(times), max_size=len(times)
        )
    )
    lives = draw(st.sampled_from([None, None, [(1.5, 12.0)], [(-np.inf, 3.0), (3.5, 30.0)]]))
    return Trajectory(times, np.array(points), lives)


@settings(max_examples=100, deadline=None)
@given(st.lists(tracks(), min_size=1, max_size=4), st.lists(st.floats(-10, 60), min_size=1, max_size=12))
def test_positions_of_all_are_those_of_each(parts, instants):
    """In whatever order the times are asked for: the remembered pieces change nothing."""
    movement = Movement([str(k) for k in range(len(parts))], parts, 40.0)
    for t in instants:
        each = np.array([part.position(t) for part in parts])
        assert movement.positions(t) == pytest.approx(each, abs=1e-9, nan_ok=True)
        assert movement.present(t).tolist() == [part.present(t) for part in parts]


@settings(max_examples=100, deadline=None)
@given(tracks(), st.floats(0, 20), st.floats(0.5, 30))
def test_window_is_the_same_way_on_another_clock(track, start, length):
    cut = track.window(start, length)
    assert cut.times[0] == 0.0 and cut.times[-1] <= length
    for share in (0.0, 0.1, 0.5, 0.77, 0.999):
        t = share * length
        edges = np.abs(track.lives - (start + t))
        if edges.min() > 1e-6:
            assert cut.position(t) == pytest.approx(track.position(start + t), abs=1e-7, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(tracks(), st.floats(0, 20), st.floats(0.5, 30))
def test_window_of_a_window_is_bit_by_bit_the_same(track, start, length):
    once = track.window(start, length)
    again = once.window(0.0, length)
    assert (once.times == again.times).all() and (once.points == again.points).all()


def test_window_forgets_waypoints_of_a_host_that_stands():
    stands = _track(*[(t, 3, 3) for t in range(100)])
    assert stands.window(10.0, 40.0).times.tolist() == [0.0]
    comes = _track((0, 0, 0), (10, 10, 0), (20, 10, 0), (30, 10, 0), (40, 0, 0))
    assert comes.window(5.0, 30.0).times.tolist() == [0.0, 5.0, 25.0, 30.0]
    assert comes.window(5.0, 20.0).times.tolist() == [0.0, 5.0]


def test_first_takes_hosts_in_order_and_renames_them():
    movement = random_waypoint(4, (9, 9), (1, 2), (0, 0), 10, seed=1)
    two = movement.first(2, ["a", "b"])
    assert two.names == ["a", "b"]
    assert two.positions(3.0).tolist() == movement.positions(3.0)[:2].tolist()


@pytest.mark.parametrize(
    ("times", "points", "lives", "words"),
    [
        ([], np.empty((0, 2)), None, "at least one waypoint"),
        ([0, 1], [[0, 0]], None, "as many points"),
        ([0], [[0, 0, 0, 0]], None, "2 or 3 coordinates"),
        ([0, float("nan")], [[0, 0]] * 2, None, "finite"),
        ([1, 0], [[0, 0]] * 2, None, "must not decrease"),
        ([0], [[0, 0]], [(5, 3)], "lives must be sorted"),
    ],
)
def test_arrays_must_fit(times, points, lives, words):
    with pytest.raises(ValueError, match=words):
        Trajectory(np.array(times, dtype=float), np.array(points, dtype=float), lives)


def test_names_must_fit():
    track = _track((0, 0, 0))
    with pytest.raises(ValueError, match="1 names for 2"):
        Movement(["a"], [track, track], 1.0)
    with pytest.raises(ValueError, match="must differ"):
        Movement(["a", "a"], [track, track], 1.0)


def test_arrays_cannot_be_changed_behind_the_back():
    with pytest.raises(ValueError, match="read-only"):
        _track((0, 0, 0)).points[0, 0] = 1.0
