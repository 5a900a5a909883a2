"""Each cause of loss injected alone, and the share that the analysis names rightly; in `sim`, or another world.

Run by name: python tests/bench/bench_causes.py [--write] [--world netns] [--seeds N] [INJECTION ...]      (default: all, in sim)
The injections and what counts as right are those of tests/analysis/test_causes.py. With --write the table takes its place in
docs/lab/losses.md; netns is real time, a minute and a half each.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis import run as runs  # noqa: E402
from analysis.local import Local  # noqa: E402
from analysis.study import Study, study  # noqa: E402
from tests.analysis.injections import INJECTIONS  # noqa: E402
from tests.analysis.test_causes import TIMES, lost, named  # noqa: E402
from tests.bench import measured  # noqa: E402

PAGE, COMMAND = ROOT / "docs" / "lab" / "losses.md", "tests/bench/bench_causes.py --write"
HEAD = "| injection | cause | losses | named rightly |\n|---|---|---|---|"


def studied(path: Path) -> Study:
    return study(Local(), runs.read(path))


def line(name: str, world: str, seeds: int) -> str:
    right = losses = 0
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            found = lost(INJECTIONS[name], Path(folder) / "run", studied, patch, TIMES, seed, world)
        right, losses = right + int(named(INJECTIONS[name], found).sum()), losses + len(found)
    return f"| {name} | `{INJECTIONS[name].reason}` | {losses} | {100 * right / losses:.1f} % |" if losses else f"| {name} | `{INJECTIONS[name].reason}` | 0 | |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--world", default="sim")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_args()
    names = args.names or [name for name, one in INJECTIONS.items() if one.real or args.world == "sim"]
    lines = [HEAD]
    for name in names:
        lines.append(line(name, args.world, args.seeds))
        print(lines[-1], flush=True)
    if args.write:
        measured.write(PAGE, COMMAND, f"{measured.stamp(load=False)}\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
