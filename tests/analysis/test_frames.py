"""What frames alone tell, frames against records, and that a run is ingested once."""
from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import functions as F

import topologies
from analysis import AnalysisError, frames, stored
from analysis import run as runs
from analysis.frames import agree, capture, show, source, store
from analysis.frames.walk import walk
from analysis.session import session
from cli.main import main
from emulation import airtime, runner
from node import __version__
from tests.analysis import captures as made
from tests.analysis.rundirs import Log

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> Path:
    """`chain-5` in the simulator, with captures."""
    folder = tmp_path_factory.mktemp("chain")
    return runner.run(topologies.load(ROOT / "topologies" / "chain-5.toml"), folder / "run", lambda *_: None)


def test_a_capture_that_was_cut_is_no_disagreement(spark, tmp_path):
    """Its frames are fewer than the records say, which the manifest's note explains."""
    scenario = topologies.load(ROOT / "topologies" / "chain-5.toml", {"run.capture_most": 5000, "run.duration": 30, "run.window": [5, 15]})
    run, sql = runs.read(runner.run(scenario, tmp_path / "run", lambda *_: None)), session()
    store.ingest(sql, run)
    frames = store.table_of(sql, run)
    assert not rows(agree.disagreements(sql, run, frames)) and any("reached run.capture_most" in note for note in run.notes)
    run.manifest.pop("captures_cut")
    assert rows(agree.disagreements(sql, run, frames))


def rows(table) -> list[dict]:
    return [row.asDict(recursive=True) for row in table.collect()]


def test_chain_5_by_its_frames_and_by_its_records(spark, chain):
    """Static and without loss: what nodes recorded and what radios saw agree to the byte, and both know the chain."""
    run, sql = runs.read(chain), session()
    done = store.ingest(sql, run)
    assert done.records and done.frames.fresh and not done.notes and not done.frames.malformed
    table = store.table_of(sql, run)
    assert not rows(agree.disagreements(sql, run, table))
    found = walk(table, True, (6e6, 24e6))
    heard = {(int(row["receiver"]), row["sender"]): row for row in rows(found.hearing)}
    assert heard.keys() == {(a, b) for a in range(5) for b in range(5) if abs(a - b) == 1}
    assert all(row["beacons_missed"] == 0 and row["beacons"] > 100 and row["said"] > 0 for row in heard.values())
    assert [(row["a"], row["b"], row["receivers"]) for row in rows(found.hidden.orderBy("a"))] == [(0, 2, ["1"]), (1, 3, ["2"]), (2, 4, ["3"])]
    traffic = pd.read_parquet(run.tables / "traffic.parquet")
    sent = pd.DataFrame([one for cell in traffic["sent"] for one in cell]).groupby("type")[["messages", "bytes"]].sum()
    air = {row["type"]: row for row in rows(found.airtime)}
    assert {name: (row["messages"], row["bytes"]) for name, row in air.items()} == {
        name: (row["messages"], row["bytes"]) for name, row in sent.iterrows()}
    medium = pd.read_parquet(run.tables / "radio_traffic.parquet")
    tries = 1 + medium["retries"].sum() / (medium["broadcasts"].sum() + medium["unicasts"].sum())  # captures do not repeat retries
    assert 1.0 <= medium["airtime"].sum() / sum(row["airtime"] for row in air.values()) <= tries + 0.001
    delivered = pd.read_parquet(run.tables / "delivered.parquet")
    reached = {row["event"]: row["reached"] for row in rows(found.events)}
    assert set(delivered["event"]) == reached.keys() and all(nodes == [1, 2, 3, 4] for nodes in reached.values())


def test_a_run_is_ingested_once_and_again_when_files_change(spark, chain, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(chain, path, ignore=shutil.ignore_patterns("tables"))
    sql = session()
    done = store.ingest(sql, runs.read(path))
    assert done.records and done.frames.fresh
    written = (path / "tables" / "frames.parquet" / "capture=0").stat().st_mtime_ns
    done = store.ingest(sql, runs.read(path))
    assert not done.records and not done.frames.fresh and store.all_current(runs.read(path))
    assert (path / "tables" / "frames.parquet" / "capture=0").stat().st_mtime_ns == written
    (path / "captures" / "3.pcap").write_bytes((path / "captures" / "3.pcap").read_bytes()[:-5])
    done = store.ingest(sql, runs.read(path))
    assert not done.records and done.frames.fresh and done.frames.malformed == {"cut": 1}
    state = stored.state(runs.read(path))
    del state["disagreements"]  # as after an interruption
    stored.write_state(path / "tables", state)
    assert not store.all_current(runs.read(path)) and not store.ingest(sql, runs.read(path)).frames.fresh and store.all_current(runs.read(path))
    os.utime(path / "nodes" / "0.jsonl", (1, 1))
    assert not stored.has_records(runs.read(path))
    assert store.ingest(sql, runs.read(path)).records


def test_an_analysis_takes_over_what_was_ingested_and_says_the_same(spark, study, chain, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(chain, path, ignore=shutil.ignore_patterns("tables"))
    fresh = study(path)
    store.ingest(session(), runs.read(path))
    again = study(path)
    assert again.numbers.keys() == fresh.numbers.keys() and repr(again.numbers) == repr(fresh.numbers) and again.notes == fresh.notes
    assert stored.has_frames(runs.read(path)) and (path / "tables" / "outcomes.parquet").exists()
    (path / "nodes" / "1.jsonl").write_text("")  # its tables are not taken over
    assert study(path).ingest.counts != again.ingest.counts and not stored.has_frames(runs.read(path))


def test_a_capture_without_some_frames_is_told_in_the_output_and_the_report(spark, study, chain, tmp_path, capsys):
    path = tmp_path / "run"
    shutil.copytree(chain, path, ignore=shutil.ignore_patterns("tables"))
    data = (path / "captures" / "4.pcap").read_bytes()
    (path / "captures" / "4.pcap").write_bytes(data[:24] + _records(data)[40:][0] + b"".join(_records(data)[300:]))
    assert main(["ingest", str(path)]) == 0
    said = capsys.readouterr().out
    assert "note: frames and records disagree about datagrams sent at 1 host (4)" in said
    assert "events delivered from other hosts" in said
    assert [note for note in study(path).notes if "disagree" in note] == [
        line.removeprefix("note: ") for line in said.splitlines() if "disagree" in line]


def _records(data: bytes) -> list[bytes]:
    at, found = 24, []
    while at < len(data):
        size = 16 + struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at:at + size])
        at += size
    return found


def walked(folder: Path, link: int = 127) -> Path:
    """A sniffer's capture: 0 and 2 do not hear each other, 1 hears both; beacon 3 of node 0 is lost, and a DATA comes twice."""
    frames, whom = [], {0: (1,), 1: (0, 2), 2: (1,)}
    for count in range(1, 6):
        frames += [made.FRAMES[link](node, made.hello(node, count, whom[node])) for node in whom if (node, count) != (0, 3)]
    event = made.message("EVENT", source=0, epoch=1, sequence=70007, published=1.0, hops=0, attributes={}, payload=b"")
    data = made.message("DATA", addressees=[[1, 9, 4]], message=event)
    frames += [made.FRAMES[link](0, made.datagram(0, count, data), 1) for count in (6, 7)]
    if link == 127:
        frames.append(made.radiotap(0, made.datagram(0, 7, data), 1, retry=True))
    frames.append(made.FRAMES[link](1, made.datagram(1, 6, made.message("ACK", to=0, nonce=9, expected=5, beyond=0)), 0))
    frames.append(made.FRAMES[link](1, b"Rc\x03\0" + bytes(30)))
    path = folder / "walk.pcap"
    path.write_bytes(made.pcap(frames, link))
    return path


def test_one_sniffer_tells_who_heard_whom_losses_retransmissions_and_hidden_terminals(spark, tmp_path):
    table = show.read(session(), [walked(tmp_path)])
    found = walk(table, False)
    heard = {(row["receiver"], row["sender"]): row for row in rows(found.hearing)}
    assert heard.keys() == {("walk", 0), ("walk", 1), ("walk", 2), ("0", 1), ("1", 0), ("1", 2), ("2", 1)}
    assert (heard["walk", 0]["beacons"], heard["walk", 0]["beacons_missed"], heard["walk", 0]["loss"]) == (4, 1, 0.2)
    assert (heard["walk", 0]["datagrams"], heard["walk", 0]["datagrams_missed"]) == (6, 1)
    assert heard["walk", 2]["signal_median"] == -60 and heard["1", 2]["said"] == 5
    assert [(row["a"], row["b"], row["receivers"]) for row in rows(found.hidden)] == [(0, 2, ["1", "walk"])]
    channel, = rows(found.channels)
    assert (channel["sender"], channel["receiver"], channel["transmissions"], channel["again"], channel["radio_retries"]) == (0, 1, 2, 1, 1)
    event, = rows(found.events)
    assert (event["event"], event["transmissions"], event["reached"], event["acknowledged"]) == ("0.1.70007", 2, [1], 1)
    air = {row["type"]: row for row in rows(found.airtime)}
    assert air["HELLO"]["messages"] == 14 and air["EVENT"]["messages"] == 3
    hello = airtime.frame_time(24 + 4 + 8 + 20 + 8 + len(made.hello(1, 1, (0, 2))), 6e6)
    assert air["HELLO"]["airtime"] == pytest.approx(14 * hello, rel=0.05)
    bad, = rows(found.malformed)
    assert (bad["capture"], bad["what"], bad["rows"]) == ("walk", "epoch", 1)


def test_the_command_on_captures_prints_and_writes(spark, tmp_path, capsys):
    path = walked(tmp_path, 1)
    assert main(["frames", str(path), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "18 frames, 17 of Roamcast, 1 malformed" in said and "have no rate" in said and "Hidden terminals" in said
    assert pd.read_parquet(tmp_path / "out" / "hidden.parquet")[["a", "b"]].to_numpy().tolist() == [[0, 2]]
    assert main(["frames", str(path), "--out", str(tmp_path / "out")]) == 2


def test_a_sniffer_beside_the_captures_of_hosts(spark, chain, tmp_path, capsys):
    """Its name is no host's: it counts as a receiver, and no host's records are compared with it."""
    path = tmp_path / "run"
    shutil.copytree(chain, path, ignore=shutil.ignore_patterns("tables"))
    shutil.copy(walked(tmp_path), path / "captures" / "walk.pcap")
    run = runs.read(path)
    store.ingest(session(), run)
    found = walk(store.table_of(session(), run), True)
    assert {row["receiver"] for row in rows(found.hearing)} == {"walk", *map(str, range(5))}
    assert rows(found.events.where("event = '0.1.70007'"))[0]["received"] == 0  # the sniffer is nobody to deliver to


def test_only_captures_of_the_whole_channel_tell_which_datagrams_were_missed(spark, tmp_path):
    """Radio 2 of the world hwsim hands up what is for 2 or for all; radio 3 here hands up everything."""
    event = made.message("EVENT", source=0, epoch=1, sequence=7, published=1.0, hops=0, attributes={}, payload=b"")
    frames = {
        2: [(1, None), (2, 2), (5, None)],
        3: [(1, None), (2, 2), (3, 1), (5, None)],
    }
    for host, sent in frames.items():
        made_of = [made.radiotap(0, made.datagram(0, count, made.message("DATA", addressees=[[to, 9, count]], message=event)), to)
                   if to is not None else made.radiotap(0, made.hello(0, count)) for count, to in sent]
        (tmp_path / f"{host}.pcap").write_bytes(made.pcap(made_of, 127))
    source.register(session())
    table = session().read.format("pcap").load(str(tmp_path)).withColumn("t", F.lit(0.0))
    found = {row["receiver"]: row["datagrams_missed"] for row in rows(walk(table, True).hearing)}
    assert found == {"2": None, "3": 1}


def test_a_capture_named_as_a_node_is_not_taken_for_it(spark, tmp_path):
    path = walked(tmp_path).rename(tmp_path / "1.pcap")
    found = walk(show.read(session(), [path]), False)
    heard = {(row["receiver"], row["sender"]): row for row in rows(found.hearing)}
    assert heard["capture 1", 0]["said"] is None and heard["1", 0]["frames"] is None
    assert "taken for a sniffer" in show._numbered([path])[0] and show._numbered([tmp_path / "walk.pcap"]) == []


def test_a_folder_without_captures_is_an_error_and_no_empty_table(tmp_path):
    (tmp_path / "walk.txt").write_text("")
    with pytest.raises(FileNotFoundError, match="no file in it ends in"):
        capture.files(tmp_path)


@pytest.mark.parametrize(("scenario", "rates"), [
    ({"radio": {"base_rate": 1e6, "data_rate": 11e6}}, ((1e6, 11e6), True)), ({"node": {"base_rate": 2e6, "data_rate": 12e6}}, ((2e6, 12e6), True)),
    ({"node": {"base_rate": 2e6}}, ((2e6, 24e6), False)), ({"radio": {"base_rate": True, "data_rate": "x"}}, ((6e6, 24e6), False)), ({}, ((6e6, 24e6), False))])
def test_rates_that_a_scenario_does_not_state_are_a_guess_that_is_said(scenario, rates):
    assert show._rates(scenario) == rates


@pytest.mark.parametrize(("command", "what", "why"), [
    ("ingest", "nothing", "no such folder"), ("ingest", "empty", "not a run directory"), ("ingest", "unfinished", "no manifest.json"),
    ("ingest", "run copy", "are one run"), ("frames", "run", "has no captures"), ("frames", "empty", "not a run directory"), ("frames", "gone.pcap", "gone.pcap: no such file; give a capture"),
    ("frames", "text.pcap", "not a capture"), ("frames", "walk.pcap other/walk.pcap.gz", "have one name")])
def test_what_cannot_be_read_is_one_sentence_and_nothing_is_begun(tmp_path, monkeypatch, capsys, command, what, why):
    monkeypatch.chdir(tmp_path)
    log = Log(2, 30.0)
    log.manifest["started"] = "2026-11-29T05:55:27+00:00"
    for name in ("run", "copy"):
        log.write(tmp_path / name)
    shutil.copytree(tmp_path / "run", tmp_path / "unfinished")
    (tmp_path / "unfinished" / "manifest.json").unlink()
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "text.pcap").write_text("not a capture at all, whatever")
    shutil.copy(walked(tmp_path), tmp_path / "other" / "walk.pcap.gz")
    assert main([command, *what.split()]) == 2
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1
    assert not (tmp_path / "run" / "tables").exists()


def test_a_run_of_another_version_is_said(tmp_path):
    log = Log(2, 30.0)
    log.manifest["roamcast"] = "0.0.1"
    run = runs.read(log.write(tmp_path / "run"))
    assert "version 0.0.1" in store.check([run], __version__)[0] and store.check([run], "0.0.1") == []


def test_a_damaged_state_is_as_none(tmp_path):
    run = runs.read(Log(2, 30.0).write(tmp_path / "run"))
    run.tables.mkdir()
    for text in ("", "[]", "{", json.dumps({"form": 3}), "\0"):
        (run.tables / stored.STATE).write_text(text)
        assert stored.state(run) == {} and not stored.has_records(run)
    stored.write_state(run.tables, {"records": stored._records_state(run), "kinds": ["../../x"]})
    assert not stored.has_records(run)
    with pytest.raises(AnalysisError):
        list(frames.ingest([tmp_path / "nothing"], __version__))
