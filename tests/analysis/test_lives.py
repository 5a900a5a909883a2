"""Lives that end without a word, and hosts by whatever number: who is owed what, and who counts as a host."""
from __future__ import annotations

import json

import pandas as pd
import pytest

from analysis import analyse
from analysis.intervals import put_together
from node import schema
from tests.analysis.rundirs import Log, network

WANTED = ([("kind", "=", ["walk"])], "aee9c7558fd0b442")


def field(hosts: int, duration: float, ids: list[int] | None = None) -> Log:
    """A walk as `roamcast collect` leaves it: no world, clocks that were brought together."""
    log = Log(hosts, duration, grace=5.0, world="field")
    log.manifest |= {"clocks": [{"node": node, "epoch": 100, "by": "datagrams", "wrong": 0.001} for node in ids or range(hosts)],
                     "left_out": [], "notes": []}
    return log


def write(log: Log, path):
    log.write(path)
    if log.scenario["run"]["world"] == "field":
        (path / "world.jsonl").unlink()
    return path


def publish(log: Log, node: int, times: range) -> None:
    for number, t in enumerate(times, 1):
        log.publish(node, float(t), f"{node}.100.{number}", {"kind": "walk"}, "local-1")


def test_what_the_file_of_a_host_that_lived_on_does_not_hold_is_said(spark, tmp_path):
    log = network(3, 40.0, 5, deadline=5.0)
    path = log.write(tmp_path / "run")
    whole = (path / "nodes" / "1.jsonl").read_bytes()
    (path / "nodes" / "1.jsonl").write_bytes(whole[:len(whole) // 2])
    [told] = [note for note in analyse(path).notes if "break off" in note]
    assert told.startswith("records of hosts that lived on break off (1): host 1's records end at ") and "s of 40.0 s;" in told


@pytest.mark.parametrize(("tree", "cut"), [("maodv", 20.0), ("none", 20.0), ("maodv", 0.5)])
def test_what_the_file_of_the_world_does_not_hold_is_said(spark, tmp_path, tree, cut):
    log = network(3, 40.0, 5, deadline=5.0)
    log.scenario["node"]["tree"] = tree
    for t in range(1, 41):
        log.add(-1, float(t), "radio_traffic", **dict.fromkeys(schema.records()["radio_traffic"].fields, 0))
    path = log.write(tmp_path / "run")
    assert not [note for note in analyse(path).notes if "world's records" in note]
    lines = (path / "world.jsonl").read_text().splitlines(keepends=True)
    (path / "world.jsonl").write_text("".join(line for line in lines if json.loads(line)["t"] <= cut))
    [told] = [note for note in analyse(path).notes if "world's records" in note]
    last = max(json.loads(line)["t"] for line in (path / "world.jsonl").read_text().splitlines())
    assert told.startswith(f"the world's records end at {last:.1f} s of 40.0 s: what the radio and the hosts did later is unknown")


def power_cut(back: float | None, client: str) -> Log:
    """Host 0 publishes each second; the plug of host 1 is pulled at 20 s, and its program subscribes again when it is back."""
    log = field(2, 75.0)
    for node in (0, 1):
        log.add(node, 0.0, "node_started", epoch=100, version="0.1.0")
    publish(log, 0, range(1, 61))
    log.add(0, 75.0, "node_stopped", epoch=100)
    log.subscribe(1, 0.1, "local-1", *WANTED)
    for k in [*range(1, 20), *(range(31, 61) if back else ())]:
        log.deliver(1, k + 0.005, f"0.100.{k}", 1, float(k), "local-1" if k < 20 else client)
    if back:
        log.add(1, back, "node_started", epoch=101, version="0.1.0")
        log.subscribe(1, back + 0.1, client, *WANTED)
        log.add(1, 75.0, "unsubscribed", client=client, hash=WANTED[1])
        log.add(1, 75.0, "node_stopped", epoch=101)
    return log


@pytest.mark.parametrize(("back", "client", "expected", "down"), [(30.0, "local-2", 29, 25), (30.0, "local-1", 29, 25),
                                                                  (None, "", 4, 51)])
def test_a_life_that_a_power_cut_ended_is_owed_nothing_more(spark, tmp_path, back, client, expected, down):
    path = write(power_cut(back, client), tmp_path / "run")
    summary = analyse(path)
    assert (summary["expected"], summary["delivered"], summary["ratio"], summary["node_down"]) == (expected, expected, 1.0, down)
    lives = pd.read_parquet(path / "tables" / "lives.parquet")
    assert lives[lives["node"] == 1]["down"].tolist() == [19.005] + ([75.0] if back else [])
    told = [note for note in summary.notes if "without a recorded end" in note]
    assert len(told) == 1 and "host 1's records end at 19.0 s of 75.0 s" in told[0] and ("back at 30.0 s" in told[0]) == bool(back)


def served(log: Log, until: int) -> Log:
    """Host 0 publishes each second until 40 s, and host 1 gets it until its records end."""
    log.up(0, 1)
    log.contact(0, 1, 0.0)
    log.subscribe(1, 0.1, "app", *WANTED)
    publish(log, 0, range(1, 41))
    for k in range(1, until):
        log.deliver(1, k + 0.005, f"0.100.{k}", 1, float(k))
    return log


def test_a_run_that_was_killed_owes_nothing_behind_the_last_record_of_a_host(spark, tmp_path):
    log = served(Log(2, 90.0, deadline=5.0), 20)
    log.manifest = {"outcome": "running", "ended": 0.0}
    summary = analyse(write(log, tmp_path / "run"))
    assert summary["expected"] == 14 and summary["ratio"] == 1.0  # until 19.005 - 5 s
    assert summary["node_down"] == 21 and any("host 1's records end at 19.0 s" in note for note in summary.notes)


def test_in_a_run_that_ended_in_order_a_silent_host_is_owed_its_events(spark, tmp_path):
    summary = analyse(write(served(Log(2, 60.0, deadline=5.0), 20), tmp_path / "run"))
    assert (summary["expected"], summary["delivered"], summary["node_down"]) == (40, 19, 0)
    assert not any("without an end" in note for note in summary.notes)


def test_a_tree_link_does_not_outlive_the_lives_of_its_ends():
    """Both ends had a power cut and are back: nobody told of the link's end, and no life of today holds it."""
    life, tree = (("life", node, -1, "", "") for node in (0, 1)), (("tree", a, b, "0-1.1", "") for a, b in ((0, 1), (1, 0)))
    rows = [(*who, up, down) for who in life for up, down in ((0.0, 10.0), (12.0, 30.0))]
    rows += [(*who, 5.0, 30.0) for who in tree]
    found = put_together(pd.DataFrame(rows, columns=["family", "a", "b", "name", "hash", "up", "down"])).tree_links
    assert found[["up", "down"]].to_numpy().tolist() == [[5.0, 10.0]]


def test_hosts_of_a_field_are_those_with_records_whatever_their_numbers(spark, tmp_path):
    ids = [101, 102, 103]
    log = field(104, 40.0, ids)  # so many the scenario of older collections counts
    traffic = [{"type": "HELLO", "messages": 1, "bytes": 120}]
    for node in ids:
        log.add(node, 0.0, "node_started", epoch=100, version="0.1.0")
        log.subscribe(node, 0.1, "local-1", *WANTED)
        for t in range(1, 41):
            log.add(node, float(t), "traffic", sent=traffic, received=[], dropped=[], datagrams_sent=1, datagrams_received=2)
    publish(log, 101, range(10, 20))
    for k in range(10, 20):
        log.deliver(102, k + 0.005, f"101.100.{k - 9}", 1, float(k), "local-1")
    path = write(log, tmp_path / "run")
    for node in set(range(104)) - set(ids):
        (path / "nodes" / f"{node}.jsonl").unlink()
    summary = analyse(path)
    assert ": 3 hosts, 40 s" in summary.title and summary["bytes_per_host_second"] == 120.0
    assert summary["ratio"] == 0.5 and not any("no records" in note for note in summary.notes)
    page = (path / "report.html").read_text()
    assert "3 hosts" in page and "104 hosts" not in page and "<td>103</td>" in page


def test_a_host_that_its_wall_clock_puts_beside_all_others_is_named(spark, tmp_path):
    log = field(3, 1000.0)
    del log.manifest["left_out"]  # collected by an older version, which took every clock
    log.manifest["clocks"][2] |= {"by": "wall clock", "wrong": None}
    for node, began in ((0, 900.0), (1, 900.0), (2, 0.0)):
        log.add(node, began, "node_started", epoch=100, version="0.1.0")
        log.add(node, began + 90.0, "node_stopped", epoch=100)
    summary = analyse(write(log, tmp_path / "run"))
    assert any("host 2 heard no other host" in note and "ran before the others" in note for note in summary.notes)


def test_clocks_that_nothing_bounds_are_in_no_bound_of_the_others(tmp_path):
    from analysis.run import read
    log = field(4, 50.0)
    log.manifest["clocks"][2] |= {"by": "one way", "wrong": 1.0}
    log.manifest["clocks"][3] |= {"by": "wall clock", "wrong": None}
    notes = read(write(log, tmp_path / "run")).notes
    assert [note.partition(":")[0] for note in notes if "clocks" in note] == [
        "the nodes' clocks agree to 1.0 ms or better; latencies are no more exact",
        "the clocks of nodes 2 were aligned by one-way traffic only",
        "the clocks of nodes 3 could not be aligned"]


def test_a_host_by_digits_of_another_script_is_none(tmp_path):
    from analysis.run import read
    run = write(field(2, 50.0), tmp_path / "run")
    (run / "nodes" / "1\u0662.jsonl").write_text("")
    found = read(run)
    assert sorted(found.hosts) == [0, 1] and any("1\u0662.jsonl" in note for note in found.notes)


def test_what_the_collection_says_is_said(tmp_path):
    from analysis.run import read
    log = field(2, 50.0)
    log.manifest |= {"left_out": [{"node": 2, "epoch": 100, "why": "x"}], "notes": ["node 2, life 100 is left out: x"], "nodes": [0, 1, 5]}
    run = read(write(log, tmp_path / "run"))
    assert "node 2, life 100 is left out: x" in run.notes and list(run.hosts) == [0, 1, 5] and run.silent == (5,)
