"""Record files that a folder may hold beside, or in place of, those that a run wrote: left out and named, never counted."""
from __future__ import annotations

import gzip
import json
import shutil

import pytest

from analysis import AnalysisError, analyse
from analysis.run import read
from tests.analysis.rundirs import Log, network


def numbers(summary) -> dict:
    return {key: value for key, value in summary.numbers[0].items() if value == value}


@pytest.fixture(scope="module")
def sound(spark, tmp_path_factory):
    log = network(4, 40.0, 5, deadline=5.0)
    return log, numbers(analyse(log.write(tmp_path_factory.mktemp("sound") / "run")))


def test_copies_and_strangers_beside_the_record_files_change_nothing(sound, tmp_path):
    log, wanted = sound
    path = log.write(tmp_path / "run")
    data = (path / "nodes" / "0.jsonl").read_bytes()
    strangers = ["0 copy.jsonl", "00.jsonl", "7.jsonl", "0.jsonl.1", "0.jsonl~", ".0.jsonl", "notes.txt", "-1.jsonl", "٣.jsonl"]
    for name in strangers:
        (path / "nodes" / name).write_bytes(data)
    (path / "nodes" / "0.jsonl.gz").write_bytes(gzip.compress(data))
    summary = analyse(path)
    assert numbers(summary) == wanted and summary.correct
    [told] = [note for note in summary.notes if "that are not records of the run's hosts" in note]
    assert all(name in told for name in [*strangers, "0.jsonl.gz"])


def test_lines_of_another_node_are_counted_and_left_out(sound, tmp_path):
    log, wanted = sound
    path = log.write(tmp_path / "run")
    others = {node: (path / "nodes" / f"{node}.jsonl").read_bytes() for node in range(4)}
    with open(path / "nodes" / "1.jsonl", "ab") as file:
        file.write(others[2])
    with open(path / "world.jsonl", "ab") as file:
        file.write(others[3])
    with open(path / "nodes" / "0.jsonl", "a") as file:
        file.write('{"t":3.0,"node":-1,"kind":"host_down","host":2,"how":"crash"}\n')
    summary = analyse(path)
    assert numbers(summary) == wanted and summary.correct
    [told] = [note for note in summary.notes if "of another node" in note]
    assert told.startswith(f"{sum(len(others[node].splitlines()) for node in (2, 3)) + 1} lines ")
    assert all(part in told for part in ("1.jsonl of nodes 2", "world.jsonl of nodes 3", "0.jsonl of the world"))


def test_what_a_log_contradicts_is_said(spark, tmp_path):
    log = Log(3, 40.0, deadline=5.0)
    log.up(0, 1, t=0.0)
    log.add(1, 1.0, "node_stopped", epoch=1)
    log.add(1, 2.0, "node_started", epoch=2, version="other")
    log.subscribe(1, 3.0, "app", [("a", "near", [1])], "01")
    log.subscribe(1, 3.0, "b", [("a", "=", [1])], "02")
    log.subscribe(1, 3.0, "c", [("a", "=", [2])], "02")
    log.subscribe(1, 3.0, "d", [("a", "=", [1])], "03")
    log.deliver(1, 9.5, "0.1.1", 1, 10.0, "d")
    log.subscribe(1, 3.0, "e", [("a", "prefix", [1]), ("a", "=", []), ("a", "<", [1, 2]), ("a", "exists", [1]), ("a", "in", [])], "04")
    log.add(1, 3.5, "link_gained", link="2-3.1", neighbor=0)
    log.publish(0, 12.0, "0.1.2", {"a": 1})
    log.lines[0][-1][1]["attributes"] *= 2
    log.publish(0, 10.0, "0.1.1", {"a": 1})
    log.publish(1, 11.0, "0.1.1", {"a": 1})
    log.add(2, 5.0, "neighbor_up", neighbor=1, epoch=1)
    log.add(0, 70.0, "neighbor_up", neighbor=1, epoch=1)
    path = log.write(tmp_path / "run")
    first = (path / "nodes" / "0.jsonl").read_bytes()
    (path / "nodes" / "0.jsonl").write_bytes(first + first)
    told = " | ".join(analyse(path).notes)
    for part in ("times step back by more than 1 s within 0.jsonl (1 times)", "records go on until 70 s, past the run's end at 40 s",
                 "unknown operators (near)", "1 filters were recorded in different ways",
                 "2 events were published more than once", "1 events were published at another host",
                 "the nodes ran different versions: other, test", "1 hosts left records but none of a start (2)",
                 "1 deliveries are recorded before their publication", "1 events have an attribute more than once",
                 "1 changes of tree links name a link between other hosts", "5 filter constraints have values of the wrong type",
                 "3 hosts that left records did not report their traffic (0, 1, 2)"):
        assert part in told, told


@pytest.mark.parametrize("silent", [False, True])
def test_publications_in_no_record_are_counted_and_said(spark, tmp_path, silent):
    """Numbers 4, 5, 9, 11 and 12 of host 0 left no record of their own; with `silent` its whole file is gone."""
    log = Log(2, 60.0, deadline=5.0)
    log.up(0, 1)
    log.subscribe(1, 1.0, "app", [], "00")
    for number in (1, 2, 3, 6, 7, 8, 10):
        log.publish(0, 10.0 + number, f"0.1.{number}", {})
        log.deliver(1, 10.1 + number, f"0.1.{number}", 1, 10.0 + number)
    log.deliver(1, 22.1, "0.1.12", 1, 22.0)
    path = log.write(tmp_path / "run")
    if silent:
        (path / "nodes" / "0.jsonl").unlink()
    summary = analyse(path)
    missing, came = (12, 8) if silent else (5, 1)
    assert summary["unrecorded"] == missing
    [told] = [note for note in summary.notes if "publications are not on record" in note]
    assert told.startswith(f"{missing} publications are not on record ({missing} of host h0;") and f"though {came} of them reached" in told
    assert "not counted: no record" in summary.table()
    assert summary.numbers[0]["unpublished"] == (0 if silent else 1)  # where a file is gone, nobody can say that


def test_a_run_without_any_missing_number_says_nothing_of_it(sound):
    assert sound[1]["unrecorded"] == 0


def test_empty_files_and_missing_ones_are_named(tmp_path):
    path = network(4, 15.0, 1, deadline=5.0).write(tmp_path / "run")
    (path / "nodes" / "1.jsonl").write_bytes(b"")
    (path / "nodes" / "3.jsonl").unlink()
    told = " | ".join(read(path).notes)
    assert "the record files of 1 of 4 hosts are empty (h1)" in told and "no records of 1 of 4 hosts (h3)" in told


def test_what_the_scenario_of_a_run_lacks_is_said(tmp_path):
    log = Log(2, 50.0)
    for key in ("grace", "deadline", "warm_up", "window"):
        del log.scenario["run"][key]
    told = " | ".join(read(log.write(tmp_path / "run")).notes)
    assert all(f"scenario.toml has no run.{key}" in told for key in ("grace", "deadline", "warm_up", "window"))


def test_what_scenario_and_manifest_leave_open_or_contradict_is_said(tmp_path):
    log = Log(2, 50.0)
    log.manifest["world"] = "sim"

    def notes(**changes) -> str:
        run = {key: value for key, value in (log.scenario["run"] | changes.get("run", {})).items() if value is not None}
        other = Log(2, 50.0)
        other.scenario |= log.scenario | {"run": run} | {key: value for key, value in changes.items() if key in ("node",)}
        other.manifest = log.manifest | changes.get("manifest", {})
        return " | ".join(read(other.write(tmp_path / str(len(list(tmp_path.iterdir()))))).notes)

    assert [part.partition(": ")[0] for part in notes().split(" | ")] == [
        "the record files of 2 of 2 hosts are empty (h0, h1)", "world.jsonl is empty"]
    for seed in (None, 1.5, "1", True, [1]):
        assert "run.seed" in notes(run={"seed": seed})
    assert "no run.world: using sim" in notes(run={"world": None})
    assert "the worlds of scenario.toml (sim) and manifest.json (netns) differ" in notes(manifest={"world": "netns"})
    assert "no node.strategy, node.retransmission:" in notes(node={"tree": "none"})
    for outcome, told in ((None, "is still going on, or was killed"), ("running", "or was killed"), ("disk_full", "in order (disk_full: no room")):
        assert told in notes(manifest={"outcome": outcome, "reason": "no room"})


def test_records_of_a_field_that_were_not_brought_together_are_refused(tmp_path):
    path = Log(2, 50.0, world="field").write(tmp_path / "run")
    with pytest.raises(AnalysisError, match="says nothing about clocks.*roamcast collect"):
        read(path)
    cards = tmp_path / "cards"
    shutil.copytree(path / "nodes", cards)
    with pytest.raises(AnalysisError, match="has no scenario.toml; roamcast collect"):
        read(cards)
    with pytest.raises(AnalysisError, match="not a folder.*roamcast collect"):
        read(cards / "0.jsonl")


@pytest.mark.parametrize("part", ["nodes", "nodes/0.jsonl", "scenario.toml", "world.jsonl", "captures"])
def test_of_a_part_of_a_run_directory_the_whole_is_named(tmp_path, monkeypatch, part):
    path = Log(2, 50.0).write(tmp_path / "run")
    (path / "captures").mkdir()
    for given in (path / part, path / "nodes" / ".." / part):
        with pytest.raises(AnalysisError, match=f"part of a run directory; give the whole one: {path}"):
            read(given)
    monkeypatch.chdir(path / "nodes")
    with pytest.raises(AnalysisError, match=f"give the whole one: {path}$"):
        read(".")


def test_a_run_that_is_not_valid_says_so_wherever_its_numbers_stand(spark, tmp_path):
    log = network(3, 15.0, 4, deadline=5.0)
    log.manifest["fidelity"] = {"valid": False, "invalid_because": ["host h1 stood still for 9.97 s, over 1 s"]}
    path = log.write(tmp_path / "run")
    summary = analyse(path)
    assert "NOT VALID, the numbers are about the machine: host h1 stood still for 9.97 s" in summary.table()
    assert summary.invalid == json.loads((path / "summary.json").read_text())["invalid_because"] != []
    assert "This run is not valid" in (path / "report.html").read_text()
    log.manifest["fidelity"] = {"valid": False}
    assert read(log.write(tmp_path / "other")).invalid_because == ["its manifest says so and gives no reason"]


def test_records_that_begin_behind_the_start_of_a_life_are_said(sound, tmp_path):
    """As a file of which somebody kept the end: the world says that the host was up."""
    log, _ = sound
    path = log.write(tmp_path / "run")
    file = path / "nodes" / "2.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[len(lines) // 2:]))
    assert [note for note in analyse(path).notes if note.startswith("records of 1 hosts begin behind the start of their life (2)")]
