"""The named scenarios load, are listed in the README beside them, and are what they say they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import topologies

FOLDER = Path(__file__).resolve().parents[2] / "topologies"
TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))


def _load(name: str, overrides=None) -> topologies.Scenario:
    return topologies.load(FOLDER / f"{name}.toml", overrides or {})


def _parts(scenario: topologies.Scenario, t: float) -> np.ndarray:
    """The part of the network that each host is in at `t`, as numbers."""
    places = scenario.movement().positions(t)
    near = np.linalg.norm(places[:, None] - places[None], axis=2) <= scenario.radio.range
    return connected_components(near, directed=False)[1]


@pytest.mark.parametrize("name", NAMES)
def test_loads_and_moves(name):
    scenario = _load(name)
    movement = scenario.movement()
    assert movement.duration == scenario.run.duration
    assert len(movement.contacts(scenario.radio.range)) > 0
    assert movement.present(0.0).all()


def test_readme_lists_them_all():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert {name for name in NAMES if f"`{name}.toml`" in text} == set(NAMES)
    traces = {path.name for path in (FOLDER / "traces").iterdir()}
    assert {name for name in traces if name in text} == traces


def test_park_30_is_as_the_issue_says():
    scenario = _load("park-30")
    motion, work = scenario.mobility, scenario.workload
    assert (len(scenario.names), scenario.run.duration, scenario.run.warm_up) == (30, 300.0, 30.0)
    assert (motion.area, motion.speed, motion.pause, motion.start) == (
        (600, 600),
        (0.5, 2),
        (0, 30),
        "steady",
    )
    assert (scenario.radio.model, scenario.radio.range) == ("unit_disk", 150.0)
    assert (work.kinds, work.subscriptions, work.publish_interval) == (20, 2, 5.0)


def test_rwp50_ped_is_bonnmotions_trace():
    for ending in (".movements.gz", ".params"):
        copy = (FOLDER / f"traces/rwp50_ped{ending}").read_bytes()
        assert copy == (TRACES / f"bonnmotion/rwp50_ped{ending}").read_bytes()
    scenario = _load("rwp50-ped")
    assert (len(scenario.names), scenario.run.duration) == (50, 900.0)
    parts = [_parts(scenario, t) for t in np.arange(0.0, 900.0, 10.0)]
    assert 0.55 < np.mean([part.max() == 0 for part in parts]) < 0.65  # as its comment says
    assert 0.975 < np.mean([np.bincount(part).max() / 50 for part in parts]) < 0.985


def test_chain_5_hears_the_next_one_only():
    contacts = _load("chain-5").movement().contacts(150.0)
    assert list(zip(contacts.i.tolist(), contacts.j.tolist())) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_one_way_links_lie_within_range_and_leave_a_whole_network():
    scenario = _load("one-way-links")
    contacts = scenario.movement().contacts(scenario.radio.range)
    both = {(i, j) for i, j in zip(contacts.i.tolist(), contacts.j.tolist())}
    for link in scenario.radio.links:
        pair = (min(link.from_, link.to), max(link.from_, link.to))
        assert pair in both
        if link.loss == 1:
            both.discard(pair)
    near = np.zeros((6, 6))
    for i, j in both:
        near[i, j] = 1
    assert connected_components(near, directed=False)[0] == 1


def test_a_minute_apart_is_a_minute_apart():
    scenario = _load("minute-apart")
    assert [_parts(scenario, t).max() for t in (0.0, 109.0, 111.0, 140.0, 169.0, 171.0, 299.0)] == [0, 0, 1, 1, 1, 0, 0]


def test_split_and_merge_splits_and_merges():
    scenario = _load("split-and-merge")
    assert _parts(scenario, 100.0).max() == 0
    for t in (111.0, 170.0, 229.0):
        assert _parts(scenario, t).tolist() == [0] * 5 + [1] * 5
    assert _parts(scenario, 231.0).max() == 0
