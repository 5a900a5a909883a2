"""A walk of two devices, from their daemons to the report: the power is cut, the cards are read, the clocks aligned.

A power cut is made by hand: every fsync of the daemons is recorded (the real one is called, too), the daemons are
killed, and each file is cut back to what its last fsync had put on the disk.
"""
from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from itertools import cycle, pairwise
from pathlib import Path

import pytest

from emulation.alignment import DATAGRAMS, REFERENCE
from emulation.collect import CollectError, collect, lines
from node.client import Client
from node.config import NodeConfig
from node.shell.logs import pieces
from tests.node.field_hosts import Host, as_root, environment, hosts, received

__all__ = ["hosts"]  # a fixture

RECORDER = """
import json, os, stat, time
real = os.fsync
def fsync(fd):
    state, began = os.fstat(fd), time.time()
    folder = sorted(os.listdir(fd)) if stat.S_ISDIR(state.st_mode) else None
    real(fd)
    with open(os.environ["FSYNCS"], "a") as log:
        log.write(json.dumps([state.st_ino, state.st_size, folder, began, time.time()]) + "\\n")
os.fsync = fsync
"""


class Device(Host):
    """A host whose fsyncs are recorded, and whose card is what they have put there."""

    def __init__(self, namespace: str, node: int, folder: Path) -> None:
        folder.mkdir()
        super().__init__(namespace, node, folder)
        self.fsyncs = folder / "fsyncs"
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(RECORDER)
        (folder / "log").mkdir()
        self.records = folder / "log" / f"{node}.jsonl"

    def start(self, *more: str) -> None:
        names = environment() | {"FSYNCS": str(self.fsyncs)}
        names["PYTHONPATH"] = f"{self.folder / 'site'}{os.pathsep}{names['PYTHONPATH']}"
        command = self.command("--journal", str(self.folder / "log" / "journal"), "--disk", "1", *more)
        self.process = subprocess.Popen(command, env=names, stderr=subprocess.PIPE, text=True)

    def power_cut(self, card: Path) -> tuple[float, float]:
        """Leave on `card` what was synced. Returns when the power went (unix time), and how long a sync took at most."""
        self.process.kill()
        gone = time.time()
        self.process.communicate()
        synced, listed, slowest = {}, set(), 0.0
        for inode, size, folder, began, ended in map(json.loads, self.fsyncs.read_text().splitlines()):
            slowest = max(slowest, ended - began)
            if folder is None:
                synced[inode] = size
            else:
                listed = set(folder)
        card.mkdir()
        for path in self.records.parent.iterdir():
            if path.name in listed:
                (card / path.name).write_bytes(path.read_bytes()[:synced.get(path.stat().st_ino, 0)])
        return gone, slowest


def talk(a: Device, b: Device, least: float, most: float = 120.0) -> None:
    """Both publish what the other has subscribed to, for so many seconds and until the records of both were rotated."""
    with Client(a.socket) as one, Client(b.socket) as two:
        for client in (one, two):
            client.subscribe('kind = "walk"')
        received(one, two, {"kind": "walk"})
        received(two, one, {"kind": "walk"})
        began, count = time.monotonic(), 0
        while time.monotonic() < began + least or not all(pieces(device.records) for device in (a, b)):
            assert time.monotonic() < began + most, "no records were rotated"
            for client in (one, two):
                count += 1
                client.publish({"kind": "walk", "value": count})
                while client.receive(0.01) is not None:
                    pass


@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
@as_root
def test_a_power_cut_costs_the_last_second_and_the_rest_is_analysed(hosts, tmp_path):
    devices = [Device(name, node, tmp_path / f"device-{node}") for node, name in enumerate(hosts[:2])]
    try:
        for device in devices:
            device.start()
        for device in devices:
            device.ready()
        talk(*devices, least=5)
        cuts = [device.power_cut(tmp_path / f"card-{device.node}") for device in devices]
    finally:
        for device in devices:
            if device.process is not None and device.process.poll() is None:
                device.process.kill()
                device.process.communicate()
    for device, (gone, slowest) in zip(devices, cuts, strict=True):
        assert_only_the_last_second_is_lost(device, tmp_path / f"card-{device.node}", gone, 1.0 + max(slowest - 0.5, 0.0))
    cards = [tmp_path / f"card-{device.node}" / f"{device.node}.jsonl" for device in devices]
    assert all(pieces(card) for card in cards)
    found = collect(cards, tmp_path / "walk", NodeConfig())
    assert sorted(clock.by for clock in found.clocks.values()) == [DATAGRAMS, REFERENCE] and found.left_out == 0
    assert_aligned(found, cards)
    assert_analysed(tmp_path / "walk")
    shutil.copytree(tmp_path / "walk", tmp_path / "cut", ignore=shutil.ignore_patterns("tables", "report.html"))
    lose_the_last_seconds(tmp_path / "cut" / "nodes" / "0.jsonl", 2.0)
    assert_analysed(tmp_path / "cut")


def lose_the_last_seconds(records: Path, seconds: float) -> None:
    """As a slower card would have: the other node has deliveries of events whose publication is then on no record."""
    told = records.read_bytes().splitlines(keepends=True)
    end = json.loads(told[-1])["t"] - seconds
    kept = [line for line in told if json.loads(line)["t"] <= end]
    assert any(b'"kind":"published"' in line for line in told[len(kept):]) and len(kept) > 100
    records.write_bytes(b"".join(kept))


def assert_only_the_last_second_is_lost(device: Device, card: Path, gone: float, allowed: float) -> None:
    told = [json.loads(line) for line in lines(device.records)]
    kept = [json.loads(line) for line in lines(card / device.records.name)]
    assert kept == told[:len(kept)] and len(kept) > 100
    wall = next(r["wall"] - r["t"] for r in kept if r["kind"] == "clock")
    assert gone - (told[len(kept)]["t"] + wall if len(kept) < len(told) else gone) <= allowed
    assert kept[-1]["t"] + wall > gone - allowed - 1.5  # there is a record of traffic every second
    inputs = [json.loads(line)["t"] for line in (card / "journal").read_text().splitlines(True)[1:] if line.endswith("\n")]
    assert gone - (inputs[-1] + wall) <= allowed + 0.5 and all(a <= b for a, b in pairwise(inputs))


def assert_aligned(found, cards: list[Path]) -> None:
    """The two share a wall clock here, which the alignment did not use."""
    begins = {}
    for card in cards:
        start, clock = (next(r for r in map(json.loads, lines(card)) if r["kind"] == kind) for kind in ("node_started", "clock"))
        life = start["node"], start["epoch"]
        begins[life] = clock["wall"] - clock["t"] - found.clocks[life].offset(clock["t"])
    wrong = max(clock.wrong for clock in found.clocks.values())
    assert max(begins.values()) - min(begins.values()) <= wrong + 0.005


def assert_analysed(run: Path) -> None:
    from analysis import analyse

    summary = analyse(run)
    numbers = summary.numbers[0]
    assert numbers["expected"] == 0 or numbers["ratio"] > 0.9  # 8 s are less than the deadline's 10
    assert summary.correct and numbers["deliveries"] > 100
    assert (run / "report.html").is_file()
    assert any("field" in note and "no physical bound" in note for note in summary.notes)


def files(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.jsonl").write_text(text)


START = '{"t":0.0,"node":%d,"kind":"node_started","epoch":%d,"version":"1"}\n'


@pytest.mark.parametrize(("make", "says"), [
    (lambda f: files(f, a=START % (1, 5), b=START % (1, 6)), "of node 1, and so has"),
    (lambda f: files(f, a=START % (70000, 5)), "ids up to 9999"),
    (lambda f: files(f, a="nonsense\n"), "no record of a node"),
    (lambda f: files(f, a='{"t":0.0,"node":1,"kind":"node_stopped","epoch":5}\n'), "no record of a life"),
    (lambda f: None, "no records in this folder"),
    (lambda f: os.mkfifo(f / "a.jsonl"), "a.jsonl: not a regular file"),
    (lambda f: (files(f, a=START % (1, 5)), (f / "a.jsonl.1").mkdir()), "a.jsonl.1: not a regular file"),
])
def test_files_that_cannot_be_put_together_are_one_sentence(tmp_path, make, says):
    (tmp_path / "in").mkdir()
    make(tmp_path / "in")
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "collect", tmp_path / "in", "--out", tmp_path / "run"],
                          env=environment(), capture_output=True, text=True)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists()
    with pytest.raises(CollectError, match="such"):
        collect([tmp_path / "gone.jsonl"], tmp_path / "run", NodeConfig())


def test_damaged_lines_and_torn_ends_are_left_out_and_said(tmp_path):
    good = START % (0, 5) + '{"t":1.5,"node":0,"kind":"clock","wall":1700000000.0}\n'
    damage = '{"t":2.0,"node":0,"kind":"clock"}\n{"t":3.0,"node":0,"kind":"delivered","event":7}\nrubbish\n[[[\n\0\0\0\n'
    (tmp_path / "0.jsonl").write_text(good + damage + '{"t":4.0,"node":0,"kind":"tra')
    shutil.copy(tmp_path / "0.jsonl", tmp_path / "0.jsonl.bak")  # no piece
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "collect", tmp_path / "0.jsonl", "--out", tmp_path / "run"],
                          env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "5 lines of node 0 left out: not records, or with impossible values" in done.stdout
    assert "1 line of node 0 left out: cut short" in done.stdout
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["world"] == "field" and manifest["started"] == "2023-11-14T22:13:18+00:00"
    assert manifest["clocks"] == [{"node": 0, "epoch": 5, "by": "reference", "wrong": 0.0}]
    assert manifest["nodes"] == [0] and manifest["left_out"] == []
    assert manifest["notes"] == [line.strip() for line in done.stdout.splitlines()
                                 if "left out" in line or "the records cover 1.5 s" in line or "settings were not given" in line]
    assert "none counts" in manifest["notes"][0]


# ---- files as a card may have them


WALK = 1_700_000_000.0  # unix time at which the walks here begin
HASH = "aee9c7558fd0b442"
WANTED = [{"name": "kind", "op": "=", "values": [{"s": "walk"}]}]


def record(t: float, node: int, kind: str, **fields: object) -> dict:
    return {"t": round(t, 6), "node": node, "kind": kind, **fields}


def a_life(node: int, other: int | None, epoch: int = 100, wall: float = WALK, until: int = 60) -> list[dict]:
    """A life that publishes each second, and has what `other` published, which does the same."""
    found = [record(0, node, "node_started", epoch=epoch, version="1"), record(0, node, "clock", wall=wall),
             record(0.1, node, "subscribed", client="a", filter='kind = "walk"', hash=HASH, constraints=WANTED)]
    for k in range(1, until + 1):
        found.append(record(k, node, "published", client="a", event=f"{node}.{epoch}.{k}", bytes=0,
                            attributes=[{"name": "kind", "value": {"s": "walk"}}]))
        if other is not None:
            found.append(record(k + 0.005, node, "delivered", client="a", event=f"{other}.{epoch}.{k}", hops=1,
                                published=float(k), recovered=False))
    return [*found, record(until + 15, node, "node_stopped", epoch=epoch)]


def write(folder: Path, **lives: list[dict | bytes]) -> Path:
    """Record files `NAME.jsonl` in the folder."""
    folder.mkdir(exist_ok=True)
    for name, life in lives.items():
        (folder / f"{name.lstrip('n')}.jsonl").write_bytes(b"".join(
            one if isinstance(one, bytes) else json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in life))
    return folder


def written(run: Path) -> dict[int, list[dict]]:
    return {int(path.stem): [json.loads(line) for line in path.read_text().splitlines()]
            for path in (run / "nodes").iterdir()}


def test_a_host_without_a_clock_that_heard_nobody_is_named_and_left_out(tmp_path):
    for wall in (12.0, 1_600_000_000.0, 1.9e9):
        cards = write(tmp_path / f"{wall:g}", n0=a_life(0, 1), n1=a_life(1, 0, wall=WALK + 3), n2=a_life(2, None, wall=wall))
        run = tmp_path / f"run-{wall:g}"
        found = collect([cards], run, NodeConfig())
        manifest = json.loads((run / "manifest.json").read_text())
        assert [(one["node"], one["epoch"]) for one in manifest["left_out"]] == [(2, 100)]
        assert any(note.startswith("node 2, life 100 is left out: it exchanged no datagram") for note in manifest["notes"])
        assert found.nodes == manifest["nodes"] == [0, 1] and written(run).keys() == {0, 1}
        assert found.duration == pytest.approx(75.0, abs=0.1)


@pytest.mark.parametrize("spoiled", [
    lambda r: r | {"t": -1e12}, lambda r: r | {"t": 1e9}, lambda r: r | {"t": True}, lambda r: r | {"t": None},
    lambda r: r | {"t": 5e7}, lambda r: r | {"t": -5e7}, lambda r: r | {"node": -1}, lambda r: r | {"node": 2**40},
    lambda r: r | {"kind": "clock", "wall": -1.0}, lambda r: r | {"kind": "clock", "wall": 1e20},
    lambda r: r | {"kind": "datagram_heard", "other": 1, "epoch": 0, "counter": 1},
    lambda r: r | {"kind": "datagram_heard", "other": 1, "epoch": 100, "counter": -1},
    lambda r: r | {"kind": "node_started", "epoch": 2**32}, lambda r: r | {"kind": "node_started", "epoch": "100"},
    lambda r: r | {"attributes": [{"name": "a", "value": {"x": "AB"}}]}, lambda r: r | {"event": f"0{r['event']}"},
    lambda r: r | {"event": "0.100"}, lambda r: r | {"event": "0.100.1e9"}, lambda r: r | {"event": "x"},
    lambda r: r | {"client": "\ud800"}, lambda r: r | {"bytes": -1}, lambda r: r | {"bytes": 1e300}, lambda r: r | {"hops": "1"},
    lambda r: r | {"kind": "delivered", "hops": 10**6, "published": 1.0, "recovered": False},
    lambda r: r | {"kind": "delivered", "hops": 1, "published": 1e308, "recovered": False},
    lambda r: r | {"kind": "link_gained", "link": "7-3.00000001", "neighbor": 1},
])
def test_one_record_that_cannot_be_is_left_out_and_moves_nothing(tmp_path, spoiled):
    sound, bad = a_life(0, 1), a_life(0, 1)
    bad.insert(40, spoiled(sound[40]))
    collect([write(tmp_path / "sound", n0=sound, n1=a_life(1, 0))], tmp_path / "a", NodeConfig())
    found = collect([write(tmp_path / "bad", n0=bad, n1=a_life(1, 0))], tmp_path / "b", NodeConfig())
    assert written(tmp_path / "b") == written(tmp_path / "a") and found.left_out == 1
    assert sum("left out" in note for note in found.notes) == 1


def test_every_number_that_a_program_may_publish_is_kept(tmp_path):
    values = [1e300, -1e300, 2**53, 5e-324, 0.1]
    life = [r | {"attributes": [{"name": "a", "value": {"n": value}}]} if r["kind"] == "published" else r
            for r, value in zip(a_life(0, 1), cycle(values), strict=False)]
    found = collect([write(tmp_path / "in", n0=life, n1=a_life(1, 0))], tmp_path / "run", NodeConfig())
    told = [r["attributes"][0]["value"]["n"] for r in written(tmp_path / "run")[0] if r["kind"] == "published"]
    assert found.left_out == 0 and set(told) == set(values)


@pytest.mark.parametrize("raw", [b'{"t":1e999,"node":0,"kind":"node_stopped","epoch":100}\n',
                                 b'{"t":NaN,"node":0,"kind":"node_stopped","epoch":100}\n', b"[" * 5000 + b"\n",
                                 b'{"t":1' + b"0" * 5000 + b"}\n", b'{"t":1,"node":0,"kind":7}\n', b"x" * (3 << 20) + b"\n"])
def test_one_line_that_is_none_is_left_out_and_moves_nothing(tmp_path, raw):
    sound = a_life(0, 1)
    collect([write(tmp_path / "sound", n0=sound, n1=a_life(1, 0))], tmp_path / "a", NodeConfig())
    for place in (0, 1, 40, len(sound)):
        cards = write(tmp_path / f"bad-{place}", n0=[*sound[:place], raw, *sound[place:]], n1=a_life(1, 0))
        found = collect([cards], tmp_path / f"b-{place}", NodeConfig())
        assert written(tmp_path / f"b-{place}") == written(tmp_path / "a") and found.left_out == 1


@pytest.mark.parametrize("t", [-5000.0, 7200.0, 1e7])
@pytest.mark.parametrize("place", [0, 1, 40, -1])
def test_one_time_that_is_wrong_makes_no_life_longer(tmp_path, place, t):
    life = a_life(0, 1)
    life[place] |= {"t": t}
    found = collect([write(tmp_path / "in", n0=life, n1=a_life(1, 0))], tmp_path / "run", NodeConfig())
    assert found.duration == pytest.approx(75.0, abs=0.5) and found.left_out in (1, 2)  # with the start it contradicts
    assert [r["kind"] for r in written(tmp_path / "run")[0]][0] == "node_started"


def test_a_disk_that_was_full_for_hours_makes_no_record_wrong(tmp_path):
    life = a_life(0, None, until=30)[:-1]
    life += [record(9000, 0, "records_lost", records=700), record(8999.5, 0, "clock", wall=WALK + 8999.5)]
    life += [record(9001 + k, 0, "clock", wall=WALK + 9001 + k) for k in range(12)]
    found = collect([write(tmp_path / "in", n0=life)], tmp_path / "run", NodeConfig())
    assert found.duration == 9012.0 and found.notes == ["node 0: 700 records could not be written; what they said is unknown"]


def interleaved(apart: float) -> list[dict]:
    """What two lives of node 2 wrote into one file, the second of which began `apart` s after the first."""
    both = [(r["t"] + shift, r) for shift, life in ((0.0, a_life(2, 0)), (apart, a_life(2, 0, epoch=101))) for r in life]
    return [r for _, r in sorted(both, key=lambda pair: pair[0])]


@pytest.mark.parametrize("apart", [0.25, 7.0, 40.0])
def test_lives_that_two_nodes_wrote_into_one_file_are_noticed_and_left_out(tmp_path, apart):
    cards = write(tmp_path / "in", n0=a_life(0, 1), n1=a_life(1, 0), n2=interleaved(apart))
    found = collect([cards], tmp_path / "run", NodeConfig())
    assert found.nodes == [0, 1] and found.lives_left_out.keys() == {(2, 100), (2, 101)}
    assert "node 2, life 100 is left out: its file mixes its records with those of another life" in found.notes
    with pytest.raises(CollectError, match="two nodes wrote it at once"):
        collect([write(tmp_path / "alone", n2=interleaved(apart))], tmp_path / "none", NodeConfig())


def test_records_of_two_nodes_in_one_file_are_refused(tmp_path):
    with pytest.raises(CollectError, match="mixes records of nodes 0 and 1"):
        collect([write(tmp_path / "in", n0=a_life(0, 1) + a_life(1, 0))], tmp_path / "run", NodeConfig())


def test_a_piece_that_is_given_for_the_whole_is_refused(tmp_path):
    cards = write(tmp_path / "in", n0=a_life(0, 1), n1=a_life(1, 0))
    (cards / "1.jsonl").rename(cards / "1.jsonl.1")
    (cards / "1.jsonl").touch()
    with pytest.raises(CollectError, match="a piece of .*1.jsonl; give .*1.jsonl, which brings its pieces along"):
        collect([cards / "0.jsonl", cards / "1.jsonl.1"], tmp_path / "run", NodeConfig())
    assert collect([cards / "0.jsonl", cards / "1.jsonl"], tmp_path / "run", NodeConfig()).nodes == [0, 1]


def test_folders_in_a_folder_of_records_are_named_and_not_what_comes_out(tmp_path):
    cards = write(tmp_path / "in", n0=a_life(0, 1), n1=a_life(1, 0))
    (cards / "roam-2").mkdir()
    (cards / "roam-2" / "2.jsonl").write_bytes((cards / "1.jsonl").read_bytes())
    (cards / "pictures").mkdir()
    assert collect([cards], cards / "run", NodeConfig()).notes == [
        f"{cards}: its subfolders with records were not read: roam-2; give them too"]


def test_what_finds_no_room_leaves_nothing_that_looks_like_a_run(tmp_path):
    cards = write(tmp_path / "in", n0=a_life(0, 1)[:-1], n1=a_life(1, 0))
    longest = 24_000  # bytes of a file: the manifest fits, what follows does not
    with (cards / "0.jsonl").open("ab") as file:
        while file.tell() < 4 * longest:
            file.write(b'{"t":1e4,"node":0,"kind":"clock","wall":1.7e9}\n')
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "collect", cards, "--out", tmp_path / "run"], env=environment(),
                          capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest)))
    assert done.returncode == 2 and "the disk is full (0.jsonl" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not (tmp_path / "run").exists()


def test_what_is_not_read_or_not_there_is_said(tmp_path):
    cards = write(tmp_path / "in", n0=a_life(0, 1), n1=a_life(1, 0))
    (cards / "2.jsonl.1").touch()
    (cards / "0.jsonl.4").write_bytes(b'{"t":0,"node":0,"kind":"continued","piece":4,"carried":0}\n')
    (cards / "0.jsonl.2").write_bytes(b'{"t":0,"node":0,"kind":"continued","piece":2,"carried":0}\n')
    (cards / "0.jsonl").write_bytes((cards / "0.jsonl").read_bytes().replace(b'"kind":"node_stopped"', b'"kind":"new_kind"'))
    found = collect([cards], tmp_path / "run", NodeConfig())
    assert found.notes == [
        "node 0: its oldest records were removed to keep within its disk limit; what it did then is unknown",
        "node 0: 0.jsonl.3 missing among the pieces of its records; what it did then is unknown",
        "node 0: 1 record from another version of Roamcast (new_kind): what this version does not know is ignored",
        f"{cards}: not read, because neither NAME.jsonl nor a piece of one: 2.jsonl.1"]


def test_records_that_were_cut_in_the_middle_end_there_and_it_is_said(tmp_path):
    """By a line, at its end, and where the next life is there, too; what ended in order is not said to be cut."""
    for rest in (b'{"t":31.0,"node":1,"ki', b""):
        cut = [r for r in a_life(1, 0) if r["t"] <= 30.0]
        found = collect([write(tmp_path / f"in{len(rest)}", n0=a_life(0, 1), n1=[*cut, rest])], tmp_path / f"run{len(rest)}", NodeConfig())
        assert [note.partition(", ")[0] for note in found.early] == ["host 1's records end at 30.0 s of 75.0 s"]
    stopped = [*cut, record(30.5, 1, "node_stopped", epoch=100)]
    assert collect([write(tmp_path / "stopped", n0=a_life(0, 1), n1=stopped)], tmp_path / "a", NodeConfig()).early == []
    back = [*cut, *(r | {"t": r["t"] + 40.0} for r in a_life(1, None, epoch=101, wall=WALK + 40.0, until=10))]
    assert collect([write(tmp_path / "back", n0=a_life(0, 1), n1=back)], tmp_path / "b", NodeConfig()).early == []


def two_days() -> tuple[list[dict], list[dict]]:
    """Of nodes 0 and 1: a long test on a desk, and the walk of the day after."""
    def days(node: int, other: int) -> list[dict]:
        return a_life(node, other, until=300) + a_life(node, other, epoch=200, wall=WALK + 86400.0, until=60)

    return days(0, 1), days(1, 0)


def test_of_several_walks_one_is_taken_and_the_others_are_named_and_can_be_taken(tmp_path):
    zero, one = two_days()
    cards = write(tmp_path / "in", n0=zero, n1=one)
    said = [f"these records hold 2 walks; this is number {{}}, 2023-11-{day} 22:13:20 to 22:{end} UTC (nodes 0, 1); left out: "
            for day, end in ((14, "18:35"), (15, "14:35"))]
    for number, epoch, lasts in ((None, 100, 315.0), (1, 100, 315.0), (2, 200, 75.0)):
        found = collect([cards], tmp_path / f"run-{number}", NodeConfig(), number)
        assert {name[1] for name in found.clocks} == {epoch} and found.duration == pytest.approx(lasts, abs=0.1)
        assert found.notes[0].startswith(said[(number or 1) - 1].format(number or 1))
        assert found.notes[0].endswith("choose another with --walk NUMBER") and found.when in found.notes[0]
        assert found.notes == json.loads((tmp_path / f"run-{number}" / "manifest.json").read_text())["notes"]
    for number in (0, 3, -1):
        with pytest.raises(CollectError, match=rf"--walk {number}: the records hold 2 walks: 1, 2023-11-14 .*; 2, 2023-11-15 "):
            collect([cards], tmp_path / "none", NodeConfig(), number)
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "collect", cards, "--out", tmp_path / "run", "--walk", "2"],
                          env=environment(), capture_output=True, text=True)
    assert done.returncode == 0 and "75.0 s; 2023-11-15 22:13:20 to 22:14:35 UTC" in done.stdout.splitlines()[0]


def test_walks_whose_time_nobody_knows_come_last_and_can_be_taken(tmp_path):
    zero, one = ([r for r in day if r["kind"] != "clock" or r["wall"] > WALK + 1] for day in two_days())
    cards = write(tmp_path / "in", n0=zero, n1=one)
    found = collect([cards], tmp_path / "a", NodeConfig())
    assert found.duration == pytest.approx(75.0, abs=0.1) or "number 2" in found.notes[0]
    found = collect([cards], tmp_path / "b", NodeConfig(), 2)
    assert "this is number 2, 315 s at an unknown time (no wall clock can be believed)" in found.notes[0] and found.duration > 300
    assert found.when == "315 s at an unknown time (no wall clock can be believed)"


@pytest.mark.parametrize(("change", "told"), [
    (lambda life: [*life, *(r | {"t": r["t"] + 80.0} for r in a_life(1, 0, epoch=101, until=20)[1:] if r["kind"] != "published")],
     "23 lines of node 1 left out: between the end of one life and the start of the next"),
    (lambda life: [*life[:-1], life[-1] | {"epoch": 5}], "1 line of node 1 left out: from another life than the lines around them"),
    (lambda life: [r | {"event": "7.100.3"} if r.get("event") == "1.100.3" else r for r in life],
     "1 line of node 1 left out: from another life than the lines around them"),
    (lambda life: [*life[:9], b'{"t":3.0,"t":50.0,"node":1,"kind":"clock","wall":1.7e9}\n', *life[9:]],
     "1 line of node 1 left out: not records, or with impossible values"),
    (lambda life: [r | {"attributes": [r["attributes"][0] | {"unit": "m"}]} if "attributes" in r else r for r in life],
     "node 1: 60 records from another version of Roamcast (published): what this version does not know is ignored"),
    (lambda life: [r for r in reports(life) if not 20.0 < r["t"] < 40.0],
     "node 1: no records from 20.0 to 40.0 s: it stood still, or records are missing, and what it did then is unknown"),
    (lambda life: [r | {"event": "5.77.1"} if r["kind"] == "delivered" else r for r in life],
     "60 deliveries of events from lives that are not here: their time of publication is by a clock that nothing aligns with the others"),
])
def test_what_is_odd_in_the_records_of_a_node_is_said(tmp_path, change, told):
    found = collect([write(tmp_path / "in", n0=reports(a_life(0, 1)), n1=change(a_life(1, 0)))], tmp_path / "run", NodeConfig())
    assert found.notes == [told] and found.nodes == [0, 1]


def reports(life: list[dict]) -> list[dict]:
    """With a report on traffic each second."""
    node, end = life[0]["node"], int(life[-1]["t"])
    extra = [record(k + 0.5, node, "traffic", sent=[], received=[], dropped=[], datagrams_sent=1, datagrams_received=1) for k in range(end)]
    return sorted([*life, *extra], key=lambda r: r["t"])


def test_a_delivery_tells_when_by_the_publishers_clock_where_that_is_on_no_record(tmp_path):
    """The clock of node 0 began 100 s before that of node 1."""
    zero = [r for r in (r | {"t": r["t"] + 100.0} for r in a_life(0, 1, wall=WALK)) if r.get("event") != "0.100.30"]
    one = [r | {"published": r["published"] + 100.0} if r["kind"] == "delivered" else r for r in a_life(1, 0)]
    collect([write(tmp_path / "in", n0=zero, n1=one)], tmp_path / "run", NodeConfig())
    came = [r for r in written(tmp_path / "run")[1] if r.get("event") == "0.100.30"]
    assert [round(r["t"] - r["published"], 3) for r in came] == [pytest.approx(0.005, abs=0.002)]
