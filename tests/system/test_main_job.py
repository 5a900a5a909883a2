"""The main job as a newcomer does it: one command, from a scenario to a report."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.system.runs import LIBRARY, ROOT

pytestmark = pytest.mark.needs("java")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_a_run_ends_with_its_table_and_its_report(tmp_path):
    shown = subprocess.run(command("run", LIBRARY / "chain-5.toml", "--out", "run"), cwd=tmp_path, text=True,
                           env=environment(), capture_output=True, check=False)
    assert shown.returncode == 0, shown.stderr
    ratio = next(line for line in shown.stdout.splitlines() if "delivery ratio" in line)
    assert ratio.split("delivery ratio")[1].split()[:2] == ["100.0", "%"]
    report = Path(shown.stdout.rsplit("Report: ", 1)[1].strip())
    assert (tmp_path / report).stat().st_size > 10_000
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["correct"] is True


def test_after_ctrl_c_what_was_recorded_is_analysed(tmp_path):
    (tmp_path / "long.toml").write_text((LIBRARY / "chain-5.toml").read_text().replace("duration = 60",
                                                                                       "duration = 36000"))
    process = subprocess.Popen(command("run", "long.toml", "--out", "run"), cwd=tmp_path, text=True,
                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    world = tmp_path / "run" / "world.jsonl"
    deadline = time.monotonic() + 600
    while not (world.exists() and world.stat().st_size > 15_000):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert "Interrupted: the run stopped after" in out and "delivery ratio" in out
    assert (tmp_path / "run" / "report.html").exists()
