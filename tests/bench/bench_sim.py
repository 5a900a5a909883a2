"""The simulator with everything on: park-30 with all protocols, records and captures, on one core.

Run by name: python tests/bench/bench_sim.py [scenario] [--profile]
Targets: 25 times real time, 30,000 node-level receptions a second. Times are of the processor.
"""
from __future__ import annotations

import cProfile
import pstats
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import topologies  # noqa: E402
from emulation import records, runner  # noqa: E402
from node import schema  # noqa: E402


def run(path: Path, **overrides) -> dict[str, float]:
    """CPU seconds of one run, and what happened in it."""
    import json

    scenario = topologies.load(path, overrides)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        directory = runner.run(scenario, Path(folder) / "run")
        seconds = time.process_time() - begun
        manifest = json.loads((directory / "manifest.json").read_text())
        messages = sum(row["messages"] for file in (directory / "nodes").iterdir() for record in records.read(file)
                       if record["kind"] == "traffic" for row in record["received"])
        size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return {"seconds": seconds, "speed": manifest["ended"] / seconds,
            "messages": messages, "datagrams": manifest["fidelity"]["receptions"], "actions": manifest["fidelity"]["actions"],
            "bytes": size, **manifest["workload"]}


def main() -> None:
    names = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    path = Path(names[0]) if names else ROOT / "topologies" / "park-30.toml"
    schema.messages()
    if "--profile" in sys.argv:
        profile = cProfile.Profile(time.process_time)
        profile.runcall(run, path)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(70)
        return
    for what, overrides in (("records and captures", {}), ("records only", {"run.capture": False}),
                            ("records, captures, journals", {"run.journal": True})):
        result = run(path, **overrides)
        print(f"{what:28} {result['seconds']:6.2f} s CPU, {result['speed']:5.1f} x real time, "
              f"{result['messages'] / result['seconds']:7.0f} messages/s, "
              f"{result['datagrams'] / result['seconds']:7.0f} datagrams/s, "
              f"{result['actions'] / result['seconds']:7.0f} actions/s, {result['bytes'] / 1e6:5.1f} MB, "
              f"{result['published']} published, {result['delivered']} delivered")


if __name__ == "__main__":
    main()
