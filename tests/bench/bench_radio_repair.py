"""From the loss of the radio to one tree again, in whole runs of `sim`, for several beacon intervals.

Run by name: python tests/bench/bench_radio_repair.py [--seeds N] [--scenario FILE] [--write] [INTERVAL ...]
Target: repaired within 2 s of the loss at walking speed. With --write the table takes its place in
docs/protocols.md. In virtual time, so the machine's load changes nothing.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import topologies  # noqa: E402
from emulation import records, runner  # noqa: E402
from tests.bench import measured  # noqa: E402
from tests.system import repairs  # noqa: E402

PAGE, COMMAND = ROOT / "docs" / "protocols.md", "tests/bench/bench_radio_repair.py --write"
HEAD = ("| `hello_interval`, s | repairs | median, s | 95th perc., s | worst, s | within 2 s | delivered "
        "| bytes per delivery | closed in error | cut off / radio back / open at the end |\n"
        "|---|---|---|---|---|---|---|---|---|---|")


def _sent(directory: Path) -> dict[str, int]:
    """Bytes of UDP payload by message type."""
    found: dict[str, int] = {}
    for file in (directory / "nodes").iterdir():
        for record in records.read(file):
            if record["kind"] == "traffic":
                for row in record["sent"]:
                    found[row["type"]] = found.get(row["type"], 0) + row["bytes"]
    return found


def _flaps(directory: Path) -> int:
    """Tree links given up for silence although their radio was there."""
    radio: set[tuple[int, int]] = set()
    flaps = 0
    for record in repairs.read(directory, "radio_up", "radio_down", "link_lost"):
        if record["kind"] == "radio_up":
            radio.add((record["from"], record["to"]))
        elif record["kind"] == "radio_down":
            radio.discard((record["from"], record["to"]))
        elif record["reason"] in ("silent", "unanswered", "channel", "one_way"):
            a, b = record["node"], record["neighbor"]
            flaps += (a, b) in radio and (b, a) in radio
    return flaps


def measure(path: Path, interval: float, seeds: range) -> str:
    """The table's row of one interval."""
    seconds, sent, flaps, got, due, other = [], 0, 0, 0, 0, [0, 0, 0]
    for seed in seeds:
        overrides = {"node.hello_interval": interval, "run.seed": seed, "run.capture": False}
        scenario = topologies.load(path, overrides)
        with tempfile.TemporaryDirectory() as folder:
            directory = runner.run(scenario, Path(folder) / "run")
            run = scenario.run
            found = repairs.measure(directory, run.warm_up)
            had, should = repairs.delivered(directory, *run.window, run.deadline, run.grace)
            sent += sum(_sent(directory).values())
            flaps += _flaps(directory)
        seconds += found.seconds
        other = [a + b for a, b in zip(other, found[1:])]
        got, due = got + had, due + should
    seconds.sort()
    row = (f"{interval:g}", len(seconds), f"{statistics.median(seconds):.2f}",
           f"{seconds[int(0.95 * len(seconds))]:.2f}", f"{seconds[-1]:.2f}",
           f"{100 * sum(s <= 2 for s in seconds) / len(seconds):.1f} %", f"{100 * got / due:.1f} %",
           f"{sent / got:.0f}", flaps, f"{other[0]} / {other[1]} / {other[2]}")
    return f"| {' | '.join(map(str, row))} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("intervals", nargs="*", type=float, default=[0.33, 0.5, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scenario", type=Path, default=ROOT / "topologies" / "park-30.toml")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args()
    stamp = measured.stamp(load=False)
    print(stamp, HEAD, sep="\n", flush=True)
    rows = []
    for interval in options.intervals:
        rows.append(measure(options.scenario, interval, range(1, options.seeds + 1)))
        print(rows[-1], flush=True)
    if options.write:
        measured.write(PAGE, COMMAND, "\n".join([stamp, HEAD, *rows, ""]))


if __name__ == "__main__":
    main()
