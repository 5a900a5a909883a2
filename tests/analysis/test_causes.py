"""Each cause of loss injected alone, and named: by runs in which one thing goes wrong at moments that are known."""
from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import topologies
from analysis.losses import REASONS
from emulation import runner
from node.routing import strategy
from tests.analysis.injections import INJECTIONS, Injection

NAMED = 0.99  # of the losses of an injection, at least
ENOUGH = 100  # losses of each, in a run with so many injections:
TIMES = 3
IN_REAL_TIME = 30  # losses; a fault may come late there, when some of its events have passed
SEEDS = 10  # of the long sweep
REAL = {name: one for name, one in INJECTIONS.items() if one.real}
LIMITS = {"medium": 60, "nodes": 60, "positions": 60, "host": 60, "stall": 60, "dropped": 1}  # the machine may be busy


def lost(injection: Injection, out: Path, study, monkeypatch, times: int, seed: int = 1, world: str = "sim") -> pd.DataFrame:
    """Run the injection so many times in one run; its lost pairs."""
    tables = injection.scenario(times)
    tables["run"] |= {"seed": seed, "world": world}
    if world != "sim":
        tables["run"]["fidelity"] = LIMITS
    if injection.limit is not None:
        monkeypatch.setattr(strategy, "MAX_HOPS", injection.limit)
    path = runner.run(topologies.build(tables), out)
    if injection.silence is not None:
        (path / "nodes" / f"{injection.silence}.jsonl").unlink()
    pairs = pd.read_parquet(study(path).run.tables / "outcomes.parquet")
    return pairs[~pairs["local"] & ~pairs["node_down"] & ~pairs["in_time"]]


def named(injection: Injection, found: pd.DataFrame) -> pd.Series:
    return (found["reason"] == injection.reason) & found["detail"].str.contains(injection.detail, regex=False)


def check(injection: Injection, found: pd.DataFrame, enough: int = ENOUGH) -> None:
    right = named(injection, found)
    said = found[["reason", "detail"]].value_counts().to_dict()
    assert len(found) >= enough, said
    assert right.mean() >= NAMED, said


def test_every_cause_is_injected():
    assert {one.reason for one in INJECTIONS.values()} == set(REASONS)


@pytest.mark.parametrize("name", INJECTIONS)
def test_an_injected_cause_is_named(tmp_path, study, monkeypatch, name):
    check(INJECTIONS[name], lost(INJECTIONS[name], tmp_path / "run", study, monkeypatch, TIMES))


@pytest.mark.slow
@pytest.mark.parametrize("name", INJECTIONS)
def test_an_injected_cause_is_named_with_every_seed(tmp_path, study, monkeypatch, name):
    found = [lost(INJECTIONS[name], tmp_path / str(seed), study, monkeypatch, TIMES, seed) for seed in range(1, SEEDS + 1)]
    check(INJECTIONS[name], pd.concat(found), SEEDS * ENOUGH)


@pytest.mark.real_time
@pytest.mark.needs("ip", "nsenter")
def test_an_event_in_flight_over_a_link_that_breaks_is_named_in_real_time(tmp_path, study, monkeypatch):
    check(REAL["in flight"], lost(REAL["in flight"], tmp_path / "run", study, monkeypatch, 1, world="netns"), 20)


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.needs("ip", "nsenter")
@pytest.mark.parametrize("name", REAL)
def test_an_injected_cause_is_named_in_real_time(tmp_path, study, monkeypatch, name):
    check(REAL[name], lost(REAL[name], tmp_path / "run", study, monkeypatch, TIMES, world="netns"), IN_REAL_TIME)
