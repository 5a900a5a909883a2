"""What a command prints may find no room, or no reader: a sentence and an exit code, and never a traceback."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import commands

ROOT = Path(__file__).resolve().parents[2]
SENTENCE = "roamcast: cannot write the output: No space left on device; free some space, or send it elsewhere\n"

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


def run(*words: str, **streams: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-P", "-m", "cli", *words], env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120,
                          text=True, **streams)


@pytest.mark.parametrize("words", [
    ["--help"], ["--version"], *([name, "--help"] for name in commands()),
    ["check", str(ROOT / "topologies" / "park-30.toml")],
    ["node", "--unit", "--config", "NODE"],
], ids=" ".join)
def test_a_full_disk_is_one_sentence_whatever_is_printed(words, tmp_path):
    (tmp_path / "node.toml").write_text('id = 1\ninterface = "lo"\n')
    words = [str(tmp_path / "node.toml") if word == "NODE" else word for word in words]
    with open("/dev/full", "w") as full:
        done = run(*words, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and done.stderr == SENTENCE, done.stderr


def test_nobody_who_reads_is_no_error(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as nobody:
        done = run("--help", stdout=nobody, stderr=subprocess.PIPE)
    assert done.returncode == 0 and done.stderr == ""


def test_complaints_that_find_no_room_leave_the_exit_code():
    with open("/dev/full", "w") as full:
        assert run("nonsense", stdout=subprocess.PIPE, stderr=full).returncode == 2
        assert run("--help", stdout=full, stderr=full).returncode == 1


def test_no_file_of_ours_becomes_a_standard_stream_of_programs_that_we_start():
    program = ("import os, sys\nfrom cli import terminal\nterminal.guard()\nfile = open(os.devnull)\n"
               "os.write(1, b'fine') if file.fileno() > 2 else None")
    for closed in (0, 2):
        done = subprocess.run([sys.executable, "-P", "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120,
                              stdout=subprocess.PIPE, preexec_fn=lambda closed=closed: os.close(closed))
        assert done.stdout == b"fine", closed


def test_no_output_at_all_is_none():
    done = run("--version", stdout=None, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert done.returncode == 0 and done.stderr == ""


def closed(*numbers: int):
    """What a child does before it becomes the command."""
    return lambda: [os.close(number) for number in numbers]


@pytest.mark.parametrize("numbers", [(1,), (2,), (0, 1, 2)], ids=str)
def test_a_stream_that_was_closed_gets_nothing_and_another_stream_none_of_it(numbers, tmp_path):
    scenario = str(ROOT / "topologies" / "chain-5.toml")
    done = run("run", scenario, "--no-analysis", "--out", str(tmp_path / "run"), stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, preexec_fn=closed(*numbers))
    assert done.returncode == 0
    assert ("recorded in" in done.stdout, "delivered" in done.stderr) == (1 not in numbers, 2 not in numbers)
    wrong = run("nonsense", stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=closed(*numbers))
    assert wrong.returncode == 2 and wrong.stdout == "" and ("no such command" in wrong.stderr) == (2 not in numbers)


def test_a_log_that_finds_no_room_ends_no_run(tmp_path):
    with open("/dev/full", "w") as full:
        done = run("run", str(ROOT / "topologies" / "chain-5.toml"), "--no-analysis", "--out", str(tmp_path / "run"),
                   stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 0 and "recorded in" in done.stdout
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["outcome"] == "complete"
