"""What a handoff takes, against the client's speed: clients that walk to and fro between two rows of brokers.

Run by name: python tests/bench/bench_roaming.py [--seeds N] [--radio unit_disk|log_distance] [SPEED ...]
The tables of docs/roaming.md are its output. In virtual time, so the machine's load changes nothing.
"""
from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import topologies  # noqa: E402
from analysis.roaming import CONTROL  # noqa: E402
from emulation.worlds.sim.observe import observe  # noqa: E402

COLUMNS, SPACING, DEVICES, SETTLED = 8, 80, 4, 15.0  # brokers a row, m, clients, s
BROKERS = 2 * COLUMNS
RADIOS = {"unit_disk": "range = 120", "log_distance": 'model = "log_distance"'}
HEAD = ("| m/s | moves | radio lost to attached, median, 95th perc. | first event, median, 95th perc. | let in, median | "
        "fetched | duplicates | control messages | subscriptions | lost | late |")


def lasts(speed: float) -> float:
    """s: slow clients move seldom."""
    return 100.0 if speed >= 5 else 300.0


def scenario(folder: Path, speed: float, seed: int, radio: str) -> topologies.Scenario:
    draw, length = random.Random(f"{speed}/{seed}"), SPACING * (COLUMNS - 1)
    lines = [f"0 {SPACING * (k % COLUMNS)} {SPACING * (k // COLUMNS)}" for k in range(BROKERS)]
    for _ in range(DEVICES):
        x, y, ahead, t = draw.uniform(0, length), draw.uniform(10, 70), draw.choice((0, length)), 0.0
        way = [f"0 {x:.3f} {y:.3f}"]
        while t < lasts(speed):
            t, x, ahead = t + abs(ahead - x) / speed, ahead, length - ahead
            way.append(f"{t:.3f} {x} {y:.3f}")
        lines.append(" ".join(way))
    (folder / "walk.movements").write_text("\n".join(lines) + "\n")
    (folder / "walk.params").write_text(f"duration={lasts(speed) + 10 * length / speed}\n")
    devices = list(range(BROKERS, BROKERS + DEVICES))
    (folder / "walk.toml").write_text(f"""
[run]
duration = {lasts(speed)}
seed = {seed}
[mobility]
trace = "walk.movements"
[radio]
{RADIOS[radio]}
[workload]
roam = {devices}
subscribe = [{{ hosts = {devices}, filter = 'kind = "a"' }}]
publish = [{", ".join(f"{{ hosts = [{k}], at = {5 + k / BROKERS}, every = 1, event = {{ kind = 'a' }} }}" for k in range(BROKERS))}]
""")
    return topologies.load(folder / "walk.toml")


class Watch:
    """Takes the records of one run in."""

    def __init__(self) -> None:
        self.out: list[float] = []  # s from the loss of the broker's radio to the next attachment
        self.first: list[float] = []
        self.let_in: list[float] = []
        self.fetched = self.duplicates = self.attached = self.control = self.told = 0
        self.published: dict[str, float] = {}
        self.got: dict[int, dict[str, float]] = {}
        self._waits: dict[int, float] = {}  # device -> since when for its first event
        self._broker: dict[int, int] = {}
        self._lost: dict[int, float] = {}  # device -> when the radio of its broker was lost
        self.moves = 0

    def __call__(self, t: float, node: int, kind: str, fields: dict) -> None:
        if kind == "delivered":
            self.got.setdefault(node, {})[fields["event"]] = t
            if node in self._waits:
                self.first.append(t - self._waits.pop(node))
        elif kind == "published":
            self.published[fields["event"]] = t
        elif kind == "moved_in":
            self.attached += 1
            if self._broker.get(node, fields["broker"]) != fields["broker"]:
                self.moves += 1
                self._waits[node] = t
            if node in self._lost:
                self.out.append(t - self._lost.pop(node))
            self._broker[node] = fields["broker"]
        elif kind == "radio_down" and self._broker.get(fields["to"]) == fields["from"]:
            self._lost[fields["to"]] = t
        elif kind == "radio_up" and self._broker.get(fields["to"]) == fields["from"]:
            self._lost.pop(fields["to"], None)
        elif kind == "moved_out":
            self._waits.pop(node, None)
        elif kind == "let_in" and node in self._waits:
            self.let_in.append(fields["seconds"])
        elif kind == "handoff":
            self.fetched += fields["events"]
            self.duplicates += fields["duplicates"]
        elif kind == "duplicate" and node >= BROKERS:
            self.duplicates += 1
        elif kind == "traffic":
            self.control += sum(row["messages"] for row in fields["sent"] if row["type"] in CONTROL)
            if t > SETTLED:
                self.told += sum(row["messages"] for row in fields["sent"] if row["type"] in ("SUB", "UNSUB"))


def measure(speed: float, seeds: range, radio: str) -> str:
    runs = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            watch = Watch()
            observe(scenario(Path(folder), speed, seed, radio), watch)
            runs.append(watch)
    moves = sum(run.moves for run in runs)
    owed = lost = late = 0
    for run in runs:
        for event, t in run.published.items():
            if SETTLED <= t <= lasts(speed) - 10:
                for device in range(BROKERS, BROKERS + DEVICES):
                    came = run.got.get(device, {}).get(event)
                    owed, lost = owed + 1, lost + (came is None)
                    late += came is not None and came > t + 1

    def both(values: list[float]) -> str:
        values = sorted(values)
        p95 = values[math.ceil(0.95 * len(values)) - 1] if values else math.nan
        return f"{1e3 * statistics.median(values):.0f} ms, {1e3 * p95:.0f} ms" if values else "-"

    first, out = ([v for run in runs for v in getattr(run, name)] for name in ("first", "out"))
    let_in = [v for run in runs for v in run.let_in]

    def each(name: str, by: str = "moves") -> str:
        return f"{sum(getattr(run, name) for run in runs) / max(sum(getattr(run, by) for run in runs), 1):.1f}"

    return (f"| {speed:g} | {moves} | {both(out)} | {both(first)} | "
            f"{1e3 * statistics.median(let_in) if let_in else math.nan:.1f} ms | {each('fetched')} | {each('duplicates')} | "
            f"{each('control', 'attached')} | {each('told')} | {lost} of {owed} | {late / owed:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--radio", choices=RADIOS, default="unit_disk")
    parser.add_argument("speeds", nargs="*", type=float, default=[1.0, 2.0, 5.0, 10.0, 20.0])
    args = parser.parse_args()
    print(HEAD)
    print("|" + "---|" * HEAD.count(" | ") + "---|")
    for speed in args.speeds:
        print(measure(speed, range(1, args.seeds + 1), args.radio), flush=True)


if __name__ == "__main__":
    main()
