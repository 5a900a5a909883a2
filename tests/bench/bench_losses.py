"""Why the shipped scenarios lose events: the share of each cause, and of `unknown`; in `sim`.

Run by name: python tests/bench/bench_losses.py [--write] [ROW ...]      (default: all rows)
A row is a scenario of topologies/ as it is, or park-30 in a setting that loses more. With --write the table takes its place
in docs/lab/losses.md. In virtual time, so the machine's load changes nothing; some 5 minutes on an idle one.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis import run as runs  # noqa: E402
from analysis.local import Local  # noqa: E402
from analysis.losses import REASONS  # noqa: E402
from analysis.study import study  # noqa: E402
from tests.bench import measured  # noqa: E402

PAGE, COMMAND = ROOT / "docs" / "lab" / "losses.md", "tests/bench/bench_losses.py --write"
PARK = "park-30"
NO_REPLAY = {"node.replay_window": 0}
SETTINGS: dict[str, dict[str, object]] = {  # values as --set takes them
    "without replay": NO_REPLAY,
    "without replay, informed": NO_REPLAY | {"node.reconcile": "informed"},
    "without replay, 5 to 15 m/s": NO_REPLAY | {"mobility.speed": "[5, 15]"},
    "events sent once, 20 % of frames lost, no retries": NO_REPLAY | {"node.retransmission": "false", "radio.loss": 0.2, "radio.retries": 0},
    "queues of 4 kB, events of 3 kB, slow radio": NO_REPLAY | {"node.channel_queue": 4096, "workload.payload": 3000, "radio.data_rate": 1000000},
    "flooding": {"node.tree": '"none"', "node.strategy": '"flood"'},
}
ROWS: dict[str, tuple[str, dict[str, object]]] = {
    **{path.stem: (path.stem, {}) for path in sorted((ROOT / "topologies").glob("*.toml"))},
    **{f"{PARK}, {name}": (PARK, keys) for name, keys in SETTINGS.items()}}


def outcomes(name: str, keys: dict[str, object], out: Path) -> pd.DataFrame:
    """The pairs of a run that count; of the run that is there, or of a new one."""
    sets = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    if not out.exists():
        subprocess.run([ROOT / "roamcast", "run", ROOT / "topologies" / f"{name}.toml", "--no-analysis", "--out", out,
                        "--set", "run.capture=false", *sets], check=True, stdout=subprocess.DEVNULL)
    pairs = pd.read_parquet(study(Local(), runs.read(out)).run.tables / "outcomes.parquet")
    return pairs[~pairs["local"] & ~pairs["node_down"]]


def measure(names: Iterable[str], folder: Path) -> str:
    """The lines of the table, with a column for each cause that occurs."""
    found = {name: outcomes(*ROWS[name], folder / re.sub(r"\W+", "-", name)) for name in names}
    lost = {name: pairs.loc[~pairs["in_time"], "reason"].value_counts() for name, pairs in found.items()}
    causes = [reason for reason in REASONS if reason == "unknown" or any(reason in counts for counts in lost.values())]
    head = ["scenario", "expected", "lost", *(f"`{cause}`" for cause in causes)]
    rows = [[name, f"{len(pairs):,}", f"{int(lost[name].sum()):,}", *(cell(lost[name], cause) for cause in causes)] for name, pairs in found.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def cell(counts: pd.Series, cause: str) -> str:
    """The cause's share of the losses; nothing for none of them."""
    return f"{100 * counts[cause] / counts.sum():.1f} %" if cause in counts else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path, help="a folder for the runs, which stay there; those that are there already are taken")
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = f"{measured.stamp(load=False)}\n{measure(args.rows, args.keep or Path(folder))}\n"
    print(text)
    if args.write:
        measured.write(PAGE, COMMAND, text)


if __name__ == "__main__":
    main()
