"""Whole runs in `sim` with the real node: what is delivered, what is recorded, what repeats."""
from __future__ import annotations

import os
import subprocess
import sys

import pytest

from emulation import capture, records
from emulation.rundir import RunDirError
from node import schema
from node.journal import replay
from tests.system.runs import CHAIN, LIBRARY, ROOT, contents, manifest, of_kind, run, scenario_file

HEADERS = 14 + 20 + 8  # bytes of Ethernet, IPv4 and UDP before a datagram


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return run(LIBRARY / "chain-5.toml", tmp_path_factory.mktemp("chain") / "run")


@pytest.fixture(scope="module")
def park(tmp_path_factory):
    return run(LIBRARY / "park-12.toml", tmp_path_factory.mktemp("park") / "run", run__duration=60.0,
               run__journal=True)


def test_in_a_standing_chain_every_event_arrives_once_over_four_hops(chain):
    published = [record for record in of_kind(chain, "published")
                 if record["attributes"][1]["value"]["n"] == 35 and record["t"] >= 15.0]
    delivered = of_kind(chain, "delivered")
    by_event = {record["event"]: record for record in delivered}
    assert len(by_event) == len(delivered)  # nothing twice
    expected = {record["event"] for record in published if record["t"] < 55.0}
    assert len(expected) == 40 and expected <= set(by_event)
    assert {(record["node"], record["hops"]) for record in delivered} == {(4, 4)}
    assert all(record["t"] - record["published"] < 0.5 for record in delivered if record["event"] in expected)


def test_what_nobody_wants_is_not_sent(chain):
    unwanted = {record["event"] for record in of_kind(chain, "published") if record["t"] > 15.0
                and record["attributes"][1]["value"]["n"] == 20}
    assert len(unwanted) > 40
    assert not [record for record in of_kind(chain, "forwarded") if record["event"] in unwanted]


def test_every_record_is_as_the_schema_says(chain, park):
    for directory in (chain, park):
        seen = set()
        for file in [*(directory / "nodes").iterdir(), directory / "world.jsonl"]:
            last = 0.0
            for record in records.read(file):
                assert schema.faults(record) == []
                assert record["t"] >= last
                last = record["t"]
                seen.add(record["kind"])
        assert {"node_started", "delivered", "radio_up", "host_up", "radio_traffic", "traffic"} <= seen


def test_the_run_directory_is_complete(park):
    found = manifest(park)
    assert (found["outcome"], found["ended"], found["world"]) == ("complete", 60.0, "sim")
    assert found["workload"]["published"] == len(of_kind(park, "published"))
    assert found["workload"]["delivered"] == len(of_kind(park, "delivered"))
    assert found["fidelity"]["receptions"] > 1000 and found["fidelity"]["speed"] > 1
    for host in range(12):
        assert len(list(capture.read(park / "captures" / f"{host}.pcap"))) > 100


def test_traffic_records_reach_to_the_end_and_add_up_to_the_captures(chain, park):
    """To the byte: what each node sent and heard in the whole run, its last second included."""
    for directory in (chain, park):
        told, datagrams = {}, 0
        for record in of_kind(directory, "traffic"):
            sums = told.setdefault(record["node"], [0, 0])
            for k, way in enumerate(("sent", "received")):
                sums[k] += sum(row["bytes"] for row in record[way])
            datagrams += record["datagrams_received"]
        for node, sums in told.items():
            seen = [0, 0]
            for _, frame in capture.read(directory / "captures" / f"{node}.pcap"):
                seen[frame[8:12] != node.to_bytes(4, "big")] += len(frame) - HEADERS
            assert sums == seen
        on_the_air = of_kind(directory, "radio_traffic")
        assert sum(record["receptions"] for record in on_the_air) == datagrams
        assert on_the_air[-1]["t"] == manifest(directory)["ended"]


def test_a_park_delivers_most_of_what_is_published(park):
    published = {record["event"]: record["attributes"][0]["value"]["s"] for record in of_kind(park, "published")
                 if 20.0 <= record["t"] < 50.0}
    wanted = {(record["node"], record["constraints"][0]["values"][0]["s"]) for record in of_kind(park, "subscribed")}
    due = {(node, event) for event, kind in published.items() for node, want in wanted if want == kind}
    had = {(record["node"], record["event"]) for record in of_kind(park, "delivered")}
    assert len(due) > 100 and len(due & had) / len(due) > 0.7


def test_a_run_repeats_byte_for_byte_whatever_the_hash_seed(tmp_path):
    """With the radio model that takes most chances."""
    path = scenario_file(tmp_path, (LIBRARY / "park-12.toml").read_text().replace(
        "range = 150", 'model = "log_distance"\nloss = 0.05'))
    program = ("import sys, pathlib; from tests.system.runs import run; "
               "run(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), run__duration=40.0, "
               "run__seed=int(sys.argv[3]), run__journal=True)")

    def again(name: str, hash_seed: str, seed: int) -> dict[str, bytes]:
        subprocess.run([sys.executable, "-c", program, path, tmp_path / name, str(seed)],
                       check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hash_seed})
        return contents(tmp_path / name)

    one, two, other = again("one", "1", 7), again("two", "2", 7), again("other", "1", 8)
    assert one.keys() == two.keys() and [name for name in one if one[name] != two[name]] == []
    assert one["world.jsonl"] != other["world.jsonl"]


def test_a_run_repeats_from_its_own_directory(tmp_path, park):
    again = run(park / "scenario.toml", tmp_path / "again")
    assert contents(again) == contents(park)


def test_a_node_replays_from_its_journal(park):
    for host in (0, 7):
        again = list(replay(park / "journals" / f"{host}.journal"))
        assert [{**record, "t": round(record["t"], 6)} for record in again] == list(
            records.read(park / "nodes" / f"{host}.jsonl"))


def test_two_protocols_meet_the_same_channel_and_the_same_workload(tmp_path):
    """With shadowing, which is chance of its own: links come and go at the same instants, whatever is sent."""
    path = scenario_file(tmp_path, (LIBRARY / "park-12.toml").read_text().replace(
        "range = 150", 'model = "log_distance"\nloss = 0.05'))

    def met(name: str, **overrides) -> tuple[list, list, list, int]:
        found = run(path, tmp_path / name, run__duration=40.0, run__capture=False, **overrides)
        return ([(r["t"], r["kind"], r["from"], r["to"]) for r in of_kind(found, "radio_up", "radio_down")],
                [(r["t"], r["node"], r["attributes"]) for r in of_kind(found, "published")],
                [(r["node"], r["filter"]) for r in of_kind(found, "subscribed")],
                manifest(found)["fidelity"]["receptions"])

    one, flood = met("one"), met("flood", node__strategy="flood", node__tree="none")
    other = met("other", node__forwarding="covering", node__hello_interval=0.7)
    seed = met("seed", run__seed=2)
    assert len([change for change in one[0] if change[0] > 0.0]) > 30 and len(one[1]) > 50 and len(one[2]) == 24
    assert one[:3] == flood[:3] == other[:3]
    assert len({one[3], flood[3], other[3]}) == 3  # and yet they sent different things
    assert all(seed[k] != one[k] for k in range(3))


def test_hosts_stop_crash_and_return(tmp_path):
    path = scenario_file(tmp_path, CHAIN + """
        [[workload.subscribe]]
        hosts = [2]
        filter = "n exists"
        [[workload.publish]]
        hosts = [0]
        every = 0.5
        event = { n = 1 }
        [[faults]]
        at = 10
        host = 1
        action = "crash"
        [[faults]]
        at = 15
        host = 1
        action = "start"
        [[faults]]
        at = 25
        host = 2
        action = "stop"
        """)
    found = run(path, tmp_path / "run")
    lives = [(record["t"], record["kind"], record["host"]) for record in of_kind(found, "host_up", "host_down")]
    assert lives == [(0.0, "host_up", 0), (0.0, "host_up", 1), (0.0, "host_up", 2), (10.0, "host_down", 1),
                     (15.0, "host_up", 1), (25.0, "host_down", 2)]
    assert [(r["node"], r["epoch"]) for r in of_kind(found, "node_started")] == [(0, 1), (1, 1), (2, 1), (1, 2)]
    assert [r["node"] for r in of_kind(found, "node_stopped")] == [2]
    times = [record["t"] for record in of_kind(found, "delivered")]
    assert any(5 < t < 10 for t in times) and any(20 < t < 25 for t in times)
    assert not [t for t in times if 10.1 < t < 15 or t > 25]
    silent = [r for r in of_kind(found, "radio_down") if 1 in (r["from"], r["to"])]
    assert len(silent) == 6 and all(t == 10.0 or 25.0 <= t < 25.05 for t in (r["t"] for r in silent))


def test_a_host_whose_first_fault_is_start_joins_late(tmp_path):
    found = run(scenario_file(tmp_path, CHAIN + '\n[[faults]]\nat = 12\nhost = 2\naction = "start"\n'),
                tmp_path / "run")
    assert [(r["t"], r["host"]) for r in of_kind(found, "host_up")] == [(0.0, 0), (0.0, 1), (12.0, 2)]
    assert min(r["t"] for r in of_kind(found, "radio_up") if 2 in (r["from"], r["to"])) == 12.0


def test_a_cut_link_parts_and_returns(tmp_path):
    path = scenario_file(tmp_path, CHAIN + """
        [[faults]]
        at = 10
        link = [1, 2]
        action = "cut"
        [[faults]]
        at = 20
        link = [1, 2]
        action = "restore"
        """)
    found = run(path, tmp_path / "run")
    truth = [(r["t"], r["kind"], r["from"], r["to"]) for r in of_kind(found, "radio_up", "radio_down") if r["t"] > 0]
    assert sorted(truth) == [(10.0, "radio_down", 1, 2), (10.0, "radio_down", 2, 1),
                             (20.0, "radio_up", 1, 2), (20.0, "radio_up", 2, 1)]
    lost = [r["t"] for r in of_kind(found, "neighbor_down")]
    assert lost and all(10.0 < t < 16.0 for t in lost)


def test_an_existing_directory_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("x")
    with pytest.raises(RunDirError, match="exists already; choose another"):
        run(scenario_file(tmp_path, CHAIN), tmp_path / "mine")
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["precious"]
