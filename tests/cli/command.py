"""The command as a person starts it, in a process of its own."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*arguments: object, cwd: Path, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "cli", *map(str, arguments)], cwd=cwd, env=ENVIRONMENT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def roamcast(*arguments: object, cwd: Path, **options) -> subprocess.CompletedProcess:
    process = start(*arguments, cwd=cwd, **options)
    out, err = process.communicate(timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
