"""A walk of two devices, from their daemons to the report: the power is cut, the cards are read, the clocks aligned.

A power cut is made by hand: every fsync of the daemons is recorded (the real one is called, too), the daemons are
killed, and each file is cut back to what its last fsync had put on the disk.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from itertools import pairwise
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
    (lambda f: files(f, a=START % (1, 5), b=START % (1, 6)), "of node 1, and so is"),
    (lambda f: files(f, a=START % (70000, 5)), "ids up to 9999"),
    (lambda f: files(f, a="nonsense\n"), "no record of a node"),
    (lambda f: files(f, a='{"t":0.0,"node":1,"kind":"node_stopped","epoch":5}\n'), "no life of a node"),
    (lambda f: None, "no records in this folder"),
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
    assert done.returncode == 0 and "3 lines were left out" in done.stdout, done.stdout + done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["world"] == "field" and manifest["started"] == "2023-11-14T22:13:18+00:00"
    assert manifest["clocks"] == [{"node": 0, "epoch": 5, "by": "reference", "wrong": 0.0}]
