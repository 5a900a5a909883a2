"""Hosts that roam, in whole runs of the simulator: the scenario of the library, its records, and their replay."""

from __future__ import annotations

import pytest

import topologies
from emulation import records, runner
from node import schema
from node.journal import replay
from tests.system import runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The first 40 s of the scenario, with journals."""
    scenario = topologies.load(runs.LIBRARY / "roaming-clients.toml", {
        "run.duration": 40, "run.warm_up": 10, "run.window": [10.0, 30.0], "run.journal": True, "run.capture": False})
    return scenario, runner.run(scenario, tmp_path_factory.mktemp("fair") / "run")


def test_every_device_moves_in_and_gets_its_events(run):
    scenario, directory = run
    assert {r["node"] for r in runs.of_kind(directory, "moved_in")} == set(scenario.workload.roam)
    assert {r["node"] for r in runs.of_kind(directory, "delivered")} == set(range(18))
    assert any(r["outcome"] == "fetched" for r in runs.of_kind(directory, "handoff"))
    every = [(r["node"], r["event"]) for r in runs.of_kind(directory, "delivered")]
    assert len(every) == len(set(every))


def test_records_are_as_the_schema_says(run):
    _, directory = run
    for file in [*(directory / "nodes").iterdir(), directory / "world.jsonl"]:
        for record in records.read(file):
            assert schema.faults(record) == []


def test_a_broker_with_devices_is_replayed_exactly(run):
    """Sessions and handoffs come in by the doors that the journal writes down; devices have no journal."""
    scenario, directory = run
    assert {int(file.stem) for file in (directory / "journals").iterdir()} == set(range(18)) - set(scenario.workload.roam)
    brokers = {r["node"] for r in runs.of_kind(directory, "handoff")}
    for broker in sorted(brokers)[:2]:
        assert list(replay(directory / "journals" / f"{broker}.journal")) == list(
            records.read(directory / "nodes" / f"{broker}.jsonl"))
