"""What the tree delivers, beside flooding: of the physical bound, at what cost and how late; in `sim`.

Run by name: python tests/bench/bench_delivery.py [--write | --seeds N] [ROW ...]      (default: all rows)
Random waypoint at park-30's density, range 150 m, 2 subscriptions of 20 kinds and an event every 5 s at each host, seeds
from 1 on. With --write the table takes its place in docs/protocols.md. In virtual time, so the machine's load changes
nothing; two runs side by side take about 20 minutes for all rows.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench import measured  # noqa: E402

PAGE, COMMAND = ROOT / "docs" / "protocols.md", "tests/bench/bench_delivery.py --write"
SIDE, HOSTS = 600.0, 30  # m: park-30's density
SETTINGS = {"tree": {}, "without replay": {"node.replay_window": 0},
            "flooding": {"node.tree": "none", "node.strategy": "flood"}}
HEAD = ("| hosts, speed | setting | seeds | of the bound, mean (least) | bytes per delivery | 95 % latency "
        "| delivered twice, unpublished, unsubscribed |\n|---|---|---|---|---|---|---|")


class Row(NamedTuple):
    hosts: int
    speed: tuple[float, float]  # m/s
    seconds: float
    seeds: int
    settings: tuple[str, ...] = ("tree", "flooding")

    def parameters(self, setting: str, seed: int) -> dict[str, object]:
        side = round(SIDE * (self.hosts / HOSTS) ** 0.5, 1)
        return {"run.duration": self.seconds, "run.warm_up": 30, "run.capture": False, "run.seed": seed,
                "hosts.count": self.hosts, "mobility.area": [side, side], "mobility.speed": list(self.speed),
                "mobility.pause": [0, 30], "radio.range": 150, "workload.kinds": 20, "workload.subscriptions": 2,
                "workload.publish_interval": 5, **SETTINGS[setting]}


ROWS = {"park-30": Row(30, (0.5, 2), 300, 10, ("tree", "without replay", "flooding")), "100": Row(100, (0.5, 2), 120, 3),
        "300": Row(300, (0.5, 2), 75, 1), "5 m/s": Row(50, (2.5, 7.5), 120, 5), "10 m/s": Row(50, (5, 15), 120, 5)}


def measure(names: Iterable[str]) -> str:
    """The lines of the table."""
    jobs = [(f"{at}-{setting.replace(' ', '-')}-{seed}", name, setting, seed) for at, name in enumerate(names)
            for seed in range(1, ROWS[name].seeds + 1) for setting in ROWS[name].settings]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        started = []
        for half in (jobs[::2], jobs[1::2]):
            batch = Path(folder) / f"{len(started)}.jsonl"
            batch.write_text("".join(json.dumps({"key": key, "parameters": ROWS[name].parameters(setting, seed)}) + "\n"
                                     for key, name, setting, seed in half))
            started.append(subprocess.Popen([ROOT / "roamcast", "run", "--batch", batch, "--out", out.with_name(f"out{len(started)}")]))
        assert all(process.wait() == 0 for process in started), "a run failed"
        numbers = {key: json.loads(file.read_text().splitlines()[1])["numbers"] for key, *_ in jobs
                   for file in Path(folder).glob(f"out?/{key}.json")}
    return "\n".join(line(name, setting, [numbers[key] for key, *job, _ in jobs if job == [name, setting]])
                     for name in names for setting in ROWS[name].settings)


def line(name: str, setting: str, found: list[dict[str, float]]) -> str:
    def mean(key: str) -> float:
        return statistics.mean(one[key] for one in found)

    row, shares = ROWS[name], [one["ratio_to_bound"] for one in found]
    wrong = int(sum(one[key] for one in found for key in ("twice", "unpublished", "unsubscribed")))
    cells = (f"{row.hosts}, {row.speed[0]:g} to {row.speed[1]:g} m/s", setting, len(found),
             f"{statistics.mean(shares):.1%} ({min(shares):.1%})".replace("%", " %"), f"{mean('bytes_per_delivery'):.0f}",
             f"{1000 * mean('latency_p95'):.0f} ms", wrong)
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--write", action="store_true")
    which.add_argument("--seeds", type=int, help="fewer than the page has")
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    args = parser.parse_args()
    if args.seeds:
        ROWS.update({name: row._replace(seeds=args.seeds) for name, row in ROWS.items()})
    text = f"{measured.stamp(load=False)}\n{HEAD}\n{measure(args.rows)}\n"
    print(text)
    if args.write:
        measured.write(PAGE, COMMAND, text)


if __name__ == "__main__":
    main()
