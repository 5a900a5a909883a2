"""Contacts: against BonnMotion's, against The ONE's, and against every pair's closest approach."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mobility
from mobility import Movement, Trajectory, random_waypoint
from mobility.contacts import find_contacts
from mobility.textfile import read_lines

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
NAMES = ["gm25", "manh30", "rpgm40", "rwp100_strip", "rwp3d_15", "rwp50_ped", "ssrwp30", "static20"]


def _by_pair(contacts) -> dict[tuple[int, int], list[tuple[float, float]]]:
    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for i, j, up, down in contacts.tolist():
        found.setdefault((i, j), []).append((up, down))
    return found


def _movement(*tracks, duration=100.0, lives=None) -> mobility.Movement:
    """Tracks are lists of (t, x, y)."""
    parts = [mobility.Trajectory(np.array(track)[:, 0], np.array(track)[:, 1:], lives) for track in tracks]
    return mobility.Movement([str(k) for k in range(len(parts))], parts, duration)


@pytest.mark.parametrize("radius", [100, 250])
@pytest.mark.parametrize("name", NAMES)
def test_agree_with_bonnmotion_linkdump(name, radius):
    contacts = mobility.read(TRACES / f"bonnmotion/{name}.movements.gz").contacts(radius)
    dump = next((TRACES / "reference").glob(f"{name}.linkdump_{radius}.txt*"))
    wanted = {}
    for line in filter(None, read_lines(dump)):
        i, j, *spans = line.split()
        assert not any("E" in span for span in spans)
        wanted[int(i), int(j)] = [tuple(map(float, span.split("-"))) for span in spans]
    found = _by_pair(contacts)
    assert set(found) == set(wanted)
    for pair, spans in wanted.items():
        assert np.array(found[pair]) == pytest.approx(np.array(spans), abs=1e-6), pair
    assert (np.diff(contacts.up) >= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_agree_with_bonnmotion_statistics(name):
    """Mean degree, number of contacts and of their ends, mean durations at 100 m and 250 m."""
    movement = mobility.read(TRACES / f"bonnmotion/{name}.movements.gz")
    rows = {
        line.split('"')[1]: [float(v) for v in line.split('"')[2].split()]
        for line in read_lines(TRACES / f"reference/{name}.stats")
        if line.startswith('"')
    }
    for column, radius in enumerate(rows["tx range"]):
        contacts = movement.contacts(radius)
        lasts = contacts.down - contacts.up
        broken = (contacts.up > 0) & (contacts.down < movement.duration)  # seen from begin to end
        degree = 2 * lasts.sum() / (len(movement) * movement.duration)
        assert degree == pytest.approx(rows["avg. degree"][column], rel=1e-6)
        assert len(contacts) == rows["total links"][column]
        assert broken.sum() == rows["link breaks"][column]
        assert lasts.mean() == pytest.approx(rows["avg. link duration"][column], rel=1e-6)
        if broken.any():
            assert lasts[broken].mean() == pytest.approx(rows["avg. time to link break"][column], rel=1e-6)


def test_agree_with_the_one():
    """The ONE sees changes on whole seconds only: each of its instants is the next second after ours."""
    contacts = mobility.read(TRACES / "bonnmotion/rwp50_ped.movements.gz").contacts(100.0)
    told: dict[tuple[int, int], list[tuple[float, bool]]] = {}
    for line in filter(None, read_lines(TRACES / "reference/rwp50_ped.one_contacts_100m.txt")):
        t, _, a, b, change = line.split()
        told.setdefault((min(int(a), int(b)), max(int(a), int(b))), []).append((float(t), change == "up"))
    seconds = np.arange(1.0, 900.0)
    ours = {}
    for pair, spans in _by_pair(contacts).items():
        inside = np.zeros(len(seconds), dtype=bool)
        for up, down in spans:
            inside |= (up <= seconds) & (seconds <= down)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], inside))))
        if len(edges):
            ours[pair] = [(seconds[k], bool(inside[k])) for k in edges]
    assert ours == told


def test_a_radius_of_exactly_the_distance_counts():
    grid = mobility.read(TRACES / "ns2/cmu_puma-scenario-ex.gz", "ns2")  # 5 x 5, pitch 250 m
    assert len(grid.contacts(250.0, 0.0, 10.0)) == 40
    assert len(grid.contacts(np.nextafter(250.0, 0.0), 0.0, 10.0)) == 0


def test_exact_instants_of_a_simple_pass():
    """One stands, one passes at 3 m with 2 m/s; within 5 m from 4 m before to 4 m after."""
    found = _movement([(0, 0, 0)], [(0, -20, 3), (20, 20, 3)]).contacts(5.0)
    assert found.tolist() == [(0, 1, 8.0, 12.0)]


def test_a_touch_has_no_length():
    assert _movement([(0, 0, 0)], [(0, -20, 5), (20, 20, 5)]).contacts(5.0).tolist() == [(0, 1, 10.0, 10.0)]
    assert not len(_movement([(0, 0, 0)], [(0, -20, 5.0001), (20, 20, 5.0001)]).contacts(5.0))


def test_turning_within_range_is_one_contact():
    track = [(t, 3.0 if t % 2 else -3.0, 1.0) for t in range(61)]
    assert _movement([(0, 0, 0)], track, duration=60.0).contacts(5.0).tolist() == [(0, 1, 0.0, 60.0)]


def test_turning_back_on_the_border_is_two_contacts_or_a_touch():
    """Comes to exactly the radius and turns back: inside before, touching, inside after: one contact."""
    assert _movement([(0, 0, 0)], [(0, 0, 0), (5, 5, 0), (10, 0, 0)], duration=10.0).contacts(
        5.0
    ).tolist() == [(0, 1, 0.0, 10.0)]
    outside = _movement([(0, 0, 0)], [(0, 10, 0), (5, 5, 0), (10, 10, 0)], duration=10.0).contacts(5.0)
    assert outside.tolist() == [(0, 1, 5.0, 5.0)]


def test_clipped_to_the_span_asked_for():
    movement = _movement([(0, 0, 0)], [(0, -20, 3), (20, 20, 3)])
    assert movement.contacts(5.0, 9.0, 11.0).tolist() == [(0, 1, 9.0, 11.0)]
    assert movement.contacts(5.0, 10.0).tolist() == [(0, 1, 10.0, 12.0)]
    assert not len(movement.contacts(5.0, 13.0, 50.0))
    assert not len(movement.contacts(5.0, 50.0, 50.0))


def test_no_contact_with_a_host_that_is_absent():
    movement = _movement([(0, 0, 0)], [(0, 1, 0)], lives=[(10.0, 20.0), (30.0, 40.0)])
    assert movement.contacts(5.0).tolist() == [(0, 1, 10.0, 20.0), (0, 1, 30.0, 40.0)]


def test_a_jump_takes_no_time():
    movement = _movement(
        [(0, 0, 0)], [(0, 1, 0), (7, 1, 0), (7, 100, 0), (9, 100, 0), (9, 2, 0)], duration=20.0
    )
    assert movement.contacts(5.0).tolist() == [(0, 1, 0.0, 7.0), (0, 1, 9.0, 20.0)]


def test_a_radius_must_be_positive():
    for radius in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="above 0 m"):
            _movement([(0, 0, 0)], [(0, 1, 0)]).contacts(radius)


def test_none_and_one_host():
    assert not len(mobility.Movement([], [], 10.0).contacts(5.0))
    assert not len(_movement([(0, 0, 0)]).contacts(5.0))


@st.composite
def movements(draw):
    """A few hosts with short legs on a small grid, so that touches, standing and equal times are common."""
    parts = []
    for _ in range(draw(st.integers(2, 5))):
        count = draw(st.integers(1, 7))
        times = np.cumsum(draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))).astype(float)
        points = draw(st.lists(st.tuples(*[st.integers(-12, 12)] * 2), min_size=count, max_size=count))
        cuts = draw(st.sampled_from([None, None, None, [(2.0, 9.0)], [(-np.inf, 5.0), (8.0, np.inf)]]))
        parts.append(mobility.Trajectory(times, np.array(points, dtype=float), cuts))
    return mobility.Movement([str(k) for k in range(len(parts))], parts, draw(st.integers(1, 30)))


@settings(max_examples=120, deadline=None)
@given(movements(), st.sampled_from([1.0, 3.0, 5.0, 7.5]))
def test_against_every_closest_approach(movement, radius):
    """Within every span in which nobody turns, at its ends, at the closest approach and in between, two
    hosts are within the radius exactly when a contact says so; so none is missed and none is made up."""
    found = _by_pair(movement.contacts(radius))
    for i, j in combinations(range(len(movement)), 2):
        spans = found.get((i, j), [])
        assert all(up <= down for up, down in spans)
        assert all(a[1] + 1e-9 < b[0] for a, b in pairwise(spans))
        one, other = movement.trajectories[i], movement.trajectories[j]
        borders = np.concatenate((one.times, other.times, one.lives.ravel(), other.lives.ravel()))
        borders = np.unique(np.clip(borders, 0.0, movement.duration))
        borders = np.union1d(borders, [0.0, movement.duration])
        for a, b in pairwise(borders):
            middle = (a + b) / 2
            gap, v = (
                one.position(middle) - other.position(middle),
                one.velocity(middle) - other.velocity(middle),
            )
            closest = middle - gap @ v / (v @ v) if v @ v > 0 else middle
            for t in {middle, min(max(closest, a), b), a + (b - a) * 0.01, a + (b - a) * 0.93}:
                distance = np.linalg.norm(gap + v * (t - middle))
                inside = any(up - 1e-7 <= t <= down + 1e-7 for up, down in spans)
                if distance < radius - 1e-7:
                    assert inside, (i, j, t, distance)
                elif not distance <= radius + 1e-6:  # also when absent, where it is NaN
                    strictly = any(up + 1e-7 < t < down - 1e-7 for up, down in spans)
                    assert not strictly, (i, j, t, distance)


def test_the_index_loses_nothing():
    """At 300 instants the hosts in contact are those within the radius, pair by pair; and 60 pairs worked
    out on their own, where there is nothing to search, have the same contacts."""
    count, side = 120, (120 * 12_000.0) ** 0.5
    movement = mobility.random_waypoint(count, (side, side), (0.5, 20.0), (0.0, 30.0), 200.0, seed=3)
    contacts = movement.contacts(150.0)
    i, j = np.triu_indices(count, 1)
    for t in np.linspace(0.0, 200.0, 300):
        places = movement.positions(t)
        near = np.linalg.norm(places[i] - places[j], axis=1) <= 150.0
        now = contacts[(contacts.up <= t) & (t <= contacts.down)]
        assert set(zip(now.i.tolist(), now.j.tolist())) == set(zip(i[near].tolist(), j[near].tolist()))
    found = _by_pair(contacts)
    for k in np.random.default_rng(1).choice(len(i), 60, replace=False):
        ways = [movement.trajectories[i[k]], movement.trajectories[j[k]]]
        alone = mobility.Movement(["a", "b"], ways, 200.0).contacts(150.0)
        spans = np.array(found.get((int(i[k]), int(j[k])), [])).reshape(-1, 2)
        assert spans == pytest.approx(np.column_stack((alone.up, alone.down)), abs=1e-7)


def test_a_crowd_past_counting_is_refused_before_it_takes_the_memory(monkeypatch):
    monkeypatch.setattr("mobility.contacts.MOST_PAIRS", 10_000)
    crowd = [mobility.Trajectory(np.zeros(1), np.zeros((1, 2))) for _ in range(200)]
    names = [str(k) for k in range(200)]
    with pytest.raises(mobility.TooDense, match="more than 10,000 pairs of hosts .*; use fewer hosts"):
        mobility.Movement(names, crowd, 9.0).contacts(10.0)
    assert len(mobility.Movement(names[:100], crowd[:100], 9.0).contacts(10.0)) == 4950


def _comers(seed: int) -> Movement:
    """Hosts that wander far apart, some of them absent for a while."""
    movement = random_waypoint(40, (3000, 3000), (1, 20), (0, 10), 120, seed)
    parts = [Trajectory(t.times, t.points, ((20.0, 50.0), (70.0, 71.0)) if k % 5 == 0 else None) for k, t in enumerate(movement.trajectories)]
    return Movement(movement.names, parts, 120)


@pytest.mark.parametrize(("radius", "seed"), [
    *(pytest.param(0.5, seed, marks=pytest.mark.slow) for seed in range(2)), *((radius, seed) for radius in (40.0, 400.0) for seed in range(6))])
def test_who_ever_meets_somebody_is_who_has_a_contact(seed, radius):
    movement = _comers(seed)
    contacts = movement.contacts(radius)
    assert set(np.flatnonzero(movement.met(radius, 10**9)).tolist()) == {*contacts.i.tolist(), *contacts.j.tolist()}
    some = np.array([3, 10, 17])
    of = find_contacts(movement.pieces, radius, 0.0, 120.0, some)
    assert of.tolist() == contacts[np.isin(contacts.i, some) | np.isin(contacts.j, some)].tolist()
    assert movement.met(radius, 39) is None
