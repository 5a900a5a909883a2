"""Records and journals within their disk budget, on a disk that is full, and put together again from their pieces."""
from __future__ import annotations

import json
import os
import subprocess

import pytest
import trio

from emulation.collect import lines
from node.journal import JournaledBroker, replay
from node.shell import logs
from node.shell.logs import FieldRecords, Journal, pieces
from tests.node.radio_world import RadioWorld

BUDGET = 80_000  # bytes
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


def kept(records: FieldRecords) -> None:
    trio.run(records.keep)


def taken(path) -> int:
    return sum(p.stat().st_size for p in [*pieces(path), path])


def a_long_life(path, budget: int = BUDGET, rounds: int = 400) -> list[dict]:
    """A node that subscribes twice, takes one subscription back, meets a neighbor and loses it, and publishes much."""
    records, told = FieldRecords(path, 3, budget, None), []

    def record(t: float, kind: str, **fields: object) -> None:
        told.append({"t": round(t, 6), "node": 3, "kind": kind, **fields})
        records.append(t, kind, fields)

    record(0.0, "node_started", epoch=7, version="1")
    record(0.1, "subscribed", client="a", filter="x", hash="01", constraints=[])
    record(0.2, "subscribed", client="a", filter="y", hash="02", constraints=[])
    record(0.3, "neighbor_up", neighbor=4, epoch=1)
    record(0.4, "link_gained", link="3-4.00000001", neighbor=4)
    for k in range(rounds):
        if k == 20:
            record(k, "unsubscribed", client="a", hash="02")
            record(k, "neighbor_down", neighbor=4, epoch=1, reason="silent")
        record(float(k), "tree_state", leader=3, depth=0, parent=None, seeking=bool(k % 2))
        for n in range(8):
            record(k + 0.1 * n, "published", client="a", event=f"3.7.{8 * k + n}", attributes=[], bytes=100)
        kept(records)
        assert taken(path) <= budget, "the budget is exceeded"
    records.close()
    return told


def test_what_a_budget_has_room_for_is_read_back_as_it_was_written(tmp_path):
    path = tmp_path / "3.jsonl"
    told = a_long_life(path, budget=10**6)
    assert len(pieces(path)) >= 2
    assert [json.loads(line) for line in lines(path)] == told


def test_the_oldest_records_go_and_what_still_stands_stays(tmp_path):
    path = tmp_path / "3.jsonl"
    told = a_long_life(path)
    assert pieces(path)[0].suffix != ".1" and taken(path) > BUDGET // 2
    found = [json.loads(line) for line in lines(path)]
    assert [(r["kind"], r["t"] < 1) for r in found[:4]] == [
        ("node_started", True), ("subscribed", True), ("link_gained", True), ("tree_state", False)]
    assert found[1]["hash"] == "01"
    assert found[4:] == told[told.index(found[4]):] and len(found) > 500


def test_each_piece_is_whole_by_itself(tmp_path):
    path = tmp_path / "3.jsonl"
    a_long_life(path)
    for piece in [*pieces(path), path]:
        found = [json.loads(line) for line in piece.read_text().splitlines()]
        assert found[0]["kind"] == "continued" and found[1]["kind"] == "node_started"
        assert found[0]["carried"] == 4  # this life, a subscription, a link, where it stands in its tree
        assert [r["kind"] for r in found[1:5]] == ["node_started", "subscribed", "link_gained", "tree_state"]


def test_pieces_of_a_name_are_no_others(tmp_path):
    for name in ("1.jsonl.2", "1.jsonl.10", "1.jsonl.1x", "11.jsonl.1", "1.jsonl.", "1_jsonl.3"):
        (tmp_path / name).touch()
    assert [p.name for p in pieces(tmp_path / "1.jsonl")] == ["1.jsonl.2", "1.jsonl.10"]
    assert pieces(tmp_path / "[1].jsonl") == []


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB and four files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=5", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this system mounts no tmpfs")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@as_root
def test_a_full_disk_is_said_once_and_what_was_recorded_is_kept(small_disk, capsys):
    path, ballast = small_disk / "3.jsonl", small_disk / "ballast"
    records = FieldRecords(path, 3, None, None)
    records.append(0.5, "node_started", {"epoch": 7, "version": "1"})
    kept(records)
    before = path.read_bytes()
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))
    for k in range(5):
        for n in range(200):
            records.append(1.0 + k, "published", {"client": "a", "event": f"3.7.{200 * k + n}", "attributes": [], "bytes": 1})
        kept(records)
    assert path.read_bytes().startswith(before) and path.read_bytes().endswith(b"\n")
    assert records.lost > 0 and capsys.readouterr().err.count("No space left") == 1
    lost = records.lost
    ballast.unlink()
    records.append(9.0, "node_stopped", {"epoch": 7})
    records.close()
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert found[-2:] == [{"t": 9.0, "node": 3, "kind": "records_lost", "records": lost},
                          {"t": 9.0, "node": 3, "kind": "node_stopped", "epoch": 7}]
    assert len(found) == 1001 - lost + 2 and capsys.readouterr().err == ""


@as_root
def test_where_no_more_files_fit_the_records_go_on_in_the_last(small_disk, capsys):
    path = small_disk / "3.jsonl"
    records = FieldRecords(path, 3, BUDGET, None)
    records.append(0.0, "node_started", {"epoch": 7, "version": "1"})
    for k in range(700):
        records.append(float(k), "published", {"client": "a", "event": f"3.7.{k}", "attributes": [], "bytes": 100})
        kept(records)
    records.close()
    assert capsys.readouterr().err.count("cannot be rotated") == 1 and records.lost == 0
    found = [json.loads(line) for line in lines(path)]
    assert [r["t"] for r in found if r["kind"] == "published"] == [float(k) for k in range(700)]


@as_root
def test_a_full_disk_ends_the_journal_and_nothing_else(small_disk, capsys):
    journal = Journal(small_disk / "3.journal")
    for k in range(300):
        journal.write(f'{{"n":{k},"x":"{"y" * 2000}"}}\n')
    journal.close()
    assert capsys.readouterr().err.count("the journal ends here") == 1
    whole = (small_disk / "3.journal").read_bytes().splitlines(True)
    assert [json.loads(line)["n"] for line in whole if line.endswith(b"\n")] == list(range(len([
        line for line in whole if line.endswith(b"\n")])))


def lived(path, budget: int, inputs: int) -> int:
    """A life that is journaled; how many inputs are in its file afterwards."""
    journal = Journal(path, budget)
    world = RadioWorld(1, seed=3, make=lambda *arguments: JournaledBroker(journal, *arguments))
    for k in range(inputs):
        world.brokers[0].datagram_received(bytes(50 + k % 7))
    journal.close()
    return len(path.read_text().splitlines()) - 1


def test_a_journals_earlier_lives_go_first_and_then_it_ends(tmp_path, capsys):
    path = tmp_path / "0.journal"
    size = 60_000
    for life in range(8):
        lived(path, size, 150)
        assert taken(path) <= size, life
    assert pieces(path) and pieces(path)[0].suffix != ".1" and capsys.readouterr().err == ""
    for piece in [*pieces(path), path]:
        assert [r["kind"] for r in replay(piece)][0] == "node_started"
    before = lived(path, size, 20_000)
    assert 300 < before < 20_000 and capsys.readouterr().err.count("budget is used up; the journal ends here") == 1
    assert pieces(path) == [] and list(replay(path))[0]["kind"] == "node_started"


def test_a_slow_disk_is_told_of_once(tmp_path, monkeypatch, capsys):
    clock = iter([0.0, 0.1, 1.0, 2.5, 3.0, 9.0])
    monkeypatch.setattr(logs.time, "monotonic", lambda: next(clock))
    records = FieldRecords(tmp_path / "3.jsonl", 3, None, None)
    for t in range(3):
        records.append(float(t), "node_stopped", {"epoch": 1})
        records.flush()
        records._sync_all(None)
    monkeypatch.undo()
    records.close()
    slow = [r for r in map(json.loads, (tmp_path / "3.jsonl").read_text().splitlines()) if r["kind"] == "slow_sync"]
    assert [r["seconds"] for r in slow] == [1.5] and capsys.readouterr().err.count("to sync") == 1
