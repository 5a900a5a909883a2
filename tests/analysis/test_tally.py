"""The numbers without Spark are those of the analysis of the same run, whatever happens in it."""
from __future__ import annotations

import math
import random

import pytest

import topologies
from analysis.constraints import matches
from analysis.tally import Known, Tally
from emulation import runner
from emulation.worlds.sim.observe import observe
from node import filters
from node.filters.language import attributes_as_record

WALK = {"run": {"duration": 40, "warm_up": 8, "deadline": 4, "capture": False, "seed": 3},
        "hosts": {"count": 14}, "mobility": {"area": [420, 420], "speed": [4, 16], "pause": [0, 2]},
        "workload": {"kinds": 4, "subscriptions": 2, "publish_interval": 1}}
CHURN = WALK | {"faults": [
    {"at": 12, "host": 3, "action": "crash"}, {"at": 14, "host": 3, "action": "start"},
    {"at": 18, "host": 5, "action": "stop"}, {"at": 18, "host": 5, "action": "start"}, {"at": 22, "host": 7, "action": "stop"}],
    "workload": {"kinds": 3, "subscriptions": 1, "publish_interval": 1, "subscribe": [
        {"hosts": [0, 5, 7], "filter": 'kind = "k01" and kind exists', "at": 2, "until": 30},
        {"hosts": [1], "filter": 'kind prefix "k"'}, {"hosts": [2], "filter": "heat > 2.5 and heat != 4"}],
        "publish": [{"hosts": [9, 10], "at": 3, "every": 0.5, "event": {"heat": 3, "wet": True}},
                    {"hosts": [9], "at": 3, "every": 2, "event": {"heat": "3"}}]},
    "radio": {"loss": 0.05, "links": [{"from": 1, "to": 2, "loss": 1.0}]}}
ROAM = WALK | {"run": WALK["run"] | {"duration": 60}, "workload": WALK["workload"] | {"roam": [10, 11, 12, 13]}, "faults": [
    {"at": 20, "host": 4, "action": "crash"}, {"at": 30, "host": 4, "action": "start"}, {"at": 25, "host": 11, "action": "crash"},
    {"at": 28, "host": 11, "action": "start"}]}
NARROW = {"run": {"duration": 30, "warm_up": 5, "deadline": 2, "capture": False, "window": [6, 29]}}


@pytest.mark.parametrize("given", [
    WALK | {"node": {"reconcile": "informed"}}, CHURN, WALK | NARROW | {"node": {"tree": "none", "strategy": "flood"}},
    WALK | {"node": {"strategy": "event"}, "workload": {"kinds": 0, "subscriptions": 0}}, ROAM],
    ids=["informed", "churn", "flood", "nothing", "roaming"])
def test_numbers_are_those_of_the_analysis(study, tmp_path, given):
    scenario = topologies.build(_copy(given))
    studied = study(runner.run(scenario, tmp_path / "run")).numbers
    tally = Tally(scenario)
    observe(scenario, tally.record)
    numbers = tally.numbers()
    compared = {key for key in numbers if key in studied}
    assert len(compared) >= 22
    for key in sorted(compared):
        assert numbers[key] == pytest.approx(studied[key], rel=1e-9, nan_ok=True), key
    if given is CHURN:
        assert numbers["expected"] > 500 and numbers["delivered"] < numbers["expected"]
    if given is ROAM:
        assert studied["roam_moves"] > 10 and 0 < numbers["misrouted_share"] < 0.5
        without = {key for key in studied if key not in numbers}
        assert {"lost_handoff", "lost_partitioned", "roam_moves", "roam_away"} <= without  # docs/analysis.md says so


def test_a_bound_is_kept_for_the_same_movement_only(monkeypatch):
    known, asked = Known(), []
    for name, changed in (("strawman", {}), ("timed", {}), ("timed", {"run.seed": 4})):
        scenario = topologies.build(_copy(WALK | {"run": WALK["run"] | {"seed": changed.get("run.seed", 3)},
                                                  "node": {"reconcile": name}}))
        tally = Tally(scenario)
        observe(scenario, tally.record)
        fresh = tally.numbers()
        before = known._bounds
        numbers = tally.numbers(known)
        assert {k: v for k, v in numbers.items() if not math.isnan(v)} == {k: v for k, v in fresh.items() if not math.isnan(v)}
        asked.append(known._bounds is before)
    assert asked == [False, True, False]


def test_a_filter_matches_what_it_matches_in_the_node():
    chance = random.Random(5)
    values = [0, 1, 2.5, -3, True, False, "", "a", "ab", "b", b"", b"a", b"ab", "1"]
    for _ in range(4000):
        event = {name: chance.choice(values) for name in chance.sample("abc", chance.randint(0, 3))}
        wanted = _filter(chance, values)
        record = filters.Filter(wanted).as_record()
        assert matches(attributes_as_record(event), record) == filters.Filter(wanted).matches(event), (event, record)


def _filter(chance: random.Random, values: list) -> list:
    found = []
    for _ in range(chance.randint(0, 2)):
        op, value = chance.choice(filters.language.OPERATORS), chance.choice(values)
        if op == "exists":
            given = ()
        elif op == "in":
            given = tuple(chance.sample(values, 3))
        elif op in filters.language.PATTERNS:
            given = (chance.choice(["", "a", "b", b"a", b""]),)
        else:
            given = (value,)
        if op in filters.language.ORDERINGS and type(given[0]) is bool:
            continue
        found.append(filters.Constraint(chance.choice("abc"), op, given))
    return found


def _copy(value):
    return {key: _copy(one) for key, one in value.items()} if isinstance(value, dict) else \
        [_copy(one) for one in value] if isinstance(value, list) else value
