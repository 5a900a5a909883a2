"""A run that is only listened to is the run that a directory is written of; who is involved in a change of the tree."""
from __future__ import annotations

import json

import pytest

import topologies
from emulation import runner
from emulation.worlds.sim.involvement import Involvement
from emulation.worlds.sim.observe import observe

GIVEN = {"run": {"duration": 15, "seed": 2}, "hosts": {"count": 9}, "workload": {"publish_interval": 1},
         "mobility": {"area": [300, 300], "speed": [5, 15], "pause": [0, 1]}}


def scenario(**node):
    return topologies.build({key: dict(value) for key, value in GIVEN.items()} | {"node": node})


@pytest.mark.parametrize("watched", [False, True])
def test_the_records_are_those_of_a_run_directory(tmp_path, watched):
    """Also under the eyes of who looks for the involved: to be watched changes nothing."""
    path = runner.run(scenario(reconcile="path"), tmp_path / "run")
    heard: dict[int, list] = {}
    observe(scenario(reconcile="path"), lambda t, node, kind, fields: heard.setdefault(node, []).append(
        {"t": t, "node": node, "kind": kind, **fields}), Involvement() if watched else None)
    files = {-1: path / "world.jsonl"} | {host: path / "nodes" / f"{host}.jsonl" for host in range(9)}
    for node, file in files.items():
        assert json.loads(json.dumps(heard[node])) == [json.loads(line) for line in file.read_text().splitlines()]


def line(hosts: int, gap: float = 100.0):
    return [[gap * host, 0.0] for host in range(hosts)]


def test_who_is_involved_by_a_link_that_is_lost_for_good():
    """A line of six, each wanting what nobody else wants, is cut in the middle: with strawman all unsubscribe."""
    tables = {"run": {"duration": 30, "warm_up": 10}, "mobility": {"model": "static", "positions": line(6)},
              "workload": {"subscribe": [{"hosts": [host], "filter": f"x = {host}"} for host in range(6)]},
              "faults": [{"at": 15, "link": [2, 3], "action": "cut"}]}
    found = {}
    for reconcile in ("strawman", "timed"):
        involvement = Involvement()
        observe(topologies.build(json.loads(json.dumps(tables)) | {"node": {"reconcile": reconcile}}), lambda *_: None, involvement)
        (cause,) = [cause for cause in involvement.changes if cause[0] == "lost" and involvement.began[cause] >= 10]
        assert cause[1][:2] == (2, 3)
        found[reconcile] = involvement.changes[cause]
        assert involvement.lost(10.0) == [len(involvement.changes[cause])]
        assert involvement.lost(20.0) == []
    assert found == {"strawman": set(range(6)), "timed": set(range(6))}  # timed: T_u later, and still for that link


def test_a_repair_is_one_change_with_its_new_link():
    """Two ways lead around a ring: the tree replaces the link that is cut, and its new link is no change of its own."""
    ring = [[0, 0], [100, 0], [100, 100], [0, 100]]
    tables = {"run": {"duration": 30}, "mobility": {"model": "static", "positions": ring}, "radio": {"range": 120},
              "workload": {"subscribe": [{"hosts": [host], "filter": f"x = {host}"} for host in range(4)]}}
    quiet = Involvement()
    observe(topologies.build(json.loads(json.dumps(tables))), lambda *_: None, quiet)
    used = next(cause[1] for cause in quiet.changes if cause[0] == "gained")
    involvement = Involvement()
    tables["faults"] = [{"at": 15, "link": list(used[:2]), "action": "cut"}]
    observe(topologies.build(json.loads(json.dumps(tables))), lambda *_: None, involvement)
    later = [cause for cause in involvement.changes if involvement.began[cause] > 15]
    assert later == [("lost", used)]
    assert involvement.changes["lost", used] >= set(used[:2])
