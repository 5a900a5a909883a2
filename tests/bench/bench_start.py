"""What a start by the launcher costs beside the program's own: python tests/bench/bench_start.py

Needs a checkout that is set up. The fastest of many, on a machine that does nothing else: docs/lab/set-up.md has the number.
"""
from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def fastest(*command: str | Path, times: int = 40) -> float:
    """s, of the clock on the wall."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run([*command, "--version"], check=True, capture_output=True, cwd=ROOT,
                       env={**os.environ, "PYTHONPATH": str(ROOT)})
        took.append(time.perf_counter() - began)
    return min(took)


if __name__ == "__main__":
    launcher, program = fastest(ROOT / "roamcast"), fastest(ROOT / ".venv/bin/python", "-P", "-m", "cli")
    print(f"the launcher adds {1000 * (launcher - program):.0f} ms to the {1000 * program:.0f} ms of the program's own start")
