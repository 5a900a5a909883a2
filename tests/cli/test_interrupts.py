"""Ctrl-C and SIGTERM at inconvenient moments: one line, the right exit code, nothing left running."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.command import ENVIRONMENT, ROOT

SCENARIO = """
[run]
duration = 20
[mobility]
model = "static"
positions = [[0, 0], [100, 0]]
[workload]
kinds = 2
subscriptions = 2
publish_interval = 2
"""
LIBRARY = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.{name})
    time.sleep(60)
except BaseException as error:
    {outcome}
"""


def start(tmp_path: Path, *words: str, first: Path | None = None) -> subprocess.Popen:
    (tmp_path / "two.toml").write_text(SCENARIO)
    paths = os.pathsep.join(map(str, [*([first] if first else []), ROOT]))
    return subprocess.Popen([sys.executable, "-P", "-m", "cli", *words], cwd=tmp_path, env={**ENVIRONMENT, "PYTHONPATH": paths},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("outcome", ["raise", "raise ImportError('no capsule') from None",
                                     "raise type('PanicException', (BaseException,), {})() from None"])
def test_while_libraries_are_loaded(tmp_path, name, outcome):
    """Compiled modules make of an interrupt what they like."""
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "pydantic.py").write_text(LIBRARY.format(name=name, outcome=outcome))
    process = start(tmp_path, "run", "two.toml", first=tmp_path / "first")
    out, err = process.communicate(timeout=600)
    assert (process.returncode, out, err) == (130, "", "roamcast: interrupted\n")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_during_the_analysis_after_a_run(tmp_path, number):
    """The run is whole, and it is said where it lies; Spark ends with its program."""
    process = start(tmp_path, "run", "two.toml", "--out", "run")
    deadline = time.monotonic() + 600
    manifest = tmp_path / "run" / "manifest.json"
    while not ((java := children(process.pid)) and manifest.exists() and '"outcome": "complete"' in manifest.read_text()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode in (130, -signal.SIGINT) and "Traceback" not in err, err
    assert err.endswith("roamcast: interrupted\n") and out.startswith("Ran 20 s in ") and "recorded in run\n" in out
    assert '"outcome": "complete"' in manifest.read_text()
    while any(Path("/proc", str(pid)).exists() for pid in java):
        assert time.monotonic() < deadline, "Java outlives its program"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    """The Java that a process has started."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            found += [int(line) for line in (thread / "children").read_text().split()
                      if b"java" in Path("/proc", line, "cmdline").read_bytes()]
    return found


def test_two_runs_into_one_directory_at_once(tmp_path):
    processes = [start(tmp_path, "run", "two.toml", "--no-analysis", "--out", "run") for _ in range(3)]
    ended = [(*process.communicate(timeout=600), process.returncode) for process in processes]
    assert sorted(code for *_, code in ended) == [0, 2, 2]
    for out, err, code in ended:
        if code:
            assert out == "" and err == "roamcast: run: exists already; choose another with --out, or remove it\n"
    assert '"outcome": "complete"' in (tmp_path / "run" / "manifest.json").read_text()
