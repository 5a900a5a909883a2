"""No text from the air, records, scenarios or file names reaches a terminal as anything that it would obey or hide."""
from __future__ import annotations

import io
import json
import sys
import time

import pytest
from scapy.all import wrpcap

import topologies
from analysis.metrics import METRICS
from analysis.summary import Summary
from cli.errors import visible
from cli.terminal import Visible
from node import wire
from node.ids import Peer
from tests.cli.command import ROOT, roamcast, start
from tests.emulation.test_dissect import frame

PARK = (ROOT / "topologies" / "park-12.toml").read_text()
EVIL = "\x1b[2J\x9b31m\u202e\u2066\u200b\u2028\x07\x00\r\t\x7f\U000e0041"  # an escape code, C1, directions, no width, line ends, tags
SHOWN = r"\u001b[2J\u009b31m\u202e\u2066\u200b\u2028\u0007\u0000\r\t\u007f\udb40\udc41"
TOML = '"' + "".join(f"\\U{ord(c):08x}" for c in EVIL) + '"'  # the same, as a scenario can hold it
PATIENCE = 30.0  # s


def harmless(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def test_what_would_not_print_is_written_as_json_writes_it():
    assert visible(EVIL) == SHOWN and json.loads(f'"{SHOWN}"') == EVIL
    assert visible("plain, gr\u00fcn, \u65e5\u672c\nnext line") == "plain, gr\u00fcn, \u65e5\u672c\nnext line"
    assert visible("\ud800") == r"\ud800"  # half a pair, which no terminal can be sent
    for code in range(sys.maxunicode + 1):
        assert harmless(visible(chr(code)))


def test_a_safe_stream_is_the_stream_otherwise():
    stream = io.StringIO()
    safe = Visible(stream)
    print(EVIL, 5, sep="|", file=safe, flush=True)
    safe.writelines([EVIL, "\n"])
    assert stream.getvalue() == f"{SHOWN}|5\n{SHOWN}\n" and safe.raw is stream and not safe.isatty()


def test_problems_and_notes_of_a_scenario(tmp_path):
    for text in (PARK.replace("range = 150", f"{TOML} = 150"), PARK.replace("range = 150", f"range = {TOML}"),
                 PARK + f"[[faults]]\nat = 1\nhost = {TOML}\naction = \"stop\"\n",
                 PARK + f"\n[[workload.subscribe]]\nfilter = {TOML}\n"):
        (tmp_path / "evil.toml").write_text(text, encoding="utf-8")
        told = roamcast("check", "evil.toml", cwd=tmp_path)
        assert told.returncode == 2 and harmless(told.stdout + told.stderr) and told.stderr.count("\n") == 1
        assert r"\u001b" in told.stderr


@pytest.mark.parametrize("command", ["run", "check", "analyse", "compare", "replay", "dissect", "exec"])
def test_names_of_files(tmp_path, command):
    name = EVIL.replace("\x00", "") + ".toml"
    for more in [["x"]] if command == "exec" else [[], ["--measure"]] if command == "run" else [[]]:
        told = roamcast(command, name, *more, cwd=tmp_path)
        assert told.returncode == 2 and harmless(told.stdout + told.stderr) and r"\u001b[2J" in told.stderr


def test_commands_that_a_scenario_names(tmp_path):
    text = PARK.replace("[hosts]", f'[hosts]\ncommand = ["echo", {TOML}]')
    (tmp_path / "evil.toml").write_text(text.replace("[run]", '[run]\nworld = "netns"'), encoding="utf-8")
    for command in ("check", "run"):
        told = roamcast(command, "evil.toml", cwd=tmp_path)
        assert harmless(told.stdout + told.stderr) and r"\u001b[2J" in told.stdout + told.stderr


def test_a_capture(tmp_path):
    event = wire.Event(1, 1, 1, 0.0, 0, {EVIL: EVIL}, b"")
    wrpcap(str(tmp_path / "air.pcap"), [frame(wire.encode(Peer(1, 1), 1, [wire.Data((), event)])), frame(EVIL.encode())])
    told = roamcast("dissect", "air.pcap", cwd=tmp_path)
    assert told.returncode == 0 and harmless(told.stdout) and told.stdout.count("\n") == 2


def test_events_that_programs_send(tmp_path):
    """`pub` and `sub` at a node of this host, which has nobody to talk to but its programs."""
    node = start("node", "--id", 1, "--bind", "127.0.0.1", "--broadcast", "127.255.255.255", "--port", 47_811, "--control", "n.sock",
                 "--state", "state.json", cwd=tmp_path)
    try:
        until((tmp_path / "n.sock").exists)
        sub = start("sub", "--control", "n.sock", "*", cwd=tmp_path)
        assert sub.stderr.readline() == "subscribed: *\n"
        evil = EVIL.replace("\x00", "")
        assert roamcast("pub", "--control", "n.sock", f"{evil}={evil}", cwd=tmp_path).returncode == 0
        line = sub.stdout.readline()
        assert harmless(line) and json.loads(line)["attributes"] == {evil: evil}
        told = roamcast("pub", "--control", "n.sock", evil, cwd=tmp_path)
        assert told.returncode == 2 and harmless(told.stderr)
    finally:
        node.terminate()
        node.communicate(timeout=PATIENCE)
    _, said = sub.communicate(timeout=PATIENCE)
    assert harmless(said)


def test_the_table_of_a_run_whose_names_were_changed_afterwards():
    """Names are checked when a run begins, not when it is read: no line end in one makes a line of its own."""
    correct = dict.fromkeys(("twice", "unpublished", "unsubscribed"), 0.0)
    table = Summary(f"{EVIL}\n", [dict.fromkeys([metric.key for metric in METRICS], 0.0) | correct], [f"{EVIL}\nVerdict      fine"]).table()
    assert harmless(table) and sum(line.startswith("Verdict ") for line in table.split("\n")) == 1


def test_a_problem_is_one_line():
    assert topologies.ScenarioError([f"{EVIL}\nb"]).problems == [f"{SHOWN}\\nb"]


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
