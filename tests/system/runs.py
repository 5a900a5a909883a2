"""Small scenarios and what a run left behind, for the tests of whole runs."""
from __future__ import annotations

import json
from pathlib import Path

import topologies
from emulation import records, runner

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "topologies"

CHAIN = """
[run]
duration = 30

[hosts]
count = 3

[mobility]
model = "static"
positions = [[0, 0], [100, 0], [200, 0]]
"""


def scenario_file(folder: Path, text: str) -> Path:
    path = folder / "scenario-under-test.toml"
    path.write_text(text)
    return path


def run(path: Path, out: Path, **overrides) -> Path:
    """Run in this process; overrides with __ for the dot: run__seed=3."""
    scenario = topologies.load(path, {key.replace("__", "."): value for key, value in overrides.items()})
    return runner.run(scenario, out)


def manifest(directory: Path) -> dict:
    return json.loads((directory / "manifest.json").read_text())


def of_kind(directory: Path, *kinds: str) -> list[dict]:
    """The records of these kinds of all nodes and the world, in order of time."""
    files = [*(directory / "nodes").iterdir(), directory / "world.jsonl"]
    found = [record for file in files for record in records.read(file) if record["kind"] in kinds]
    return sorted(found, key=lambda record: (record["t"], record["node"]))


def contents(directory: Path) -> dict[str, bytes]:
    """Everything that must be the same in two runs of one scenario and seed."""
    return {str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*"))
            if file.is_file() and file.name != "manifest.json"}
