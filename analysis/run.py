"""A run directory, as far as the analysis needs it: the scenario's [run], the manifest, the files.

`scenario.toml` in a run directory is resolved (every default written out), so it is read as plain
TOML: the checks on what people write were made before the run.
"""
from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.errors import AnalysisError


@dataclass(frozen=True)
class Run:
    """One run. Times in s since the run started."""

    path: Path
    name: str
    world: str
    seed: int
    duration: float  # as the scenario wants it
    ended: float  # as far as the run came; nan until `settle` when only the records know
    warm_up: float
    grace: float
    deadline: float
    window: tuple[float, float]  # events published in it count
    hosts: tuple[str, ...]  # name of host 0, 1, ...
    area: tuple[float, float] | None  # m
    scenario: dict = field(repr=False)
    manifest: dict = field(repr=False)
    notes: tuple[str, ...]  # what a reader of the numbers must know

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def radio_known(self) -> bool:
        """Whether the world recorded which radio links existed."""
        return (self.path / "world.jsonl").is_file()

    @property
    def treeless(self) -> bool:
        """Whether events are broadcast and no tree is kept."""
        node = self.scenario.get("node", {})
        return node.get("tree") == "none" or node.get("strategy") == "flood"

    @property
    def logs(self) -> list[Path]:
        world = self.path / "world.jsonl"
        return sorted((self.path / "nodes").glob("*.jsonl")) + ([world] if world.is_file() else [])


def read(path: Path | str) -> Run:
    """The run in `path`. Raises AnalysisError when there is none."""
    path = Path(path)
    if not path.is_dir():
        raise AnalysisError(f"{path}: no such folder; give a run directory, as `roamcast run` writes one")
    scenario = _toml(path / "scenario.toml")
    notes: list[str] = []
    manifest = _manifest(path / "manifest.json", notes)
    table = scenario.get("run", {})

    def number(key: str, default: float | None = None) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise AnalysisError(f"{path / 'scenario.toml'}: run.{key}: found {value!r}; a number of seconds is needed")
        return float(value)

    duration, deadline, warm_up = number("duration"), number("deadline", 10.0), number("warm_up", 0.0)
    window = table.get("window") or [warm_up, duration - deadline]
    hosts = _hosts(scenario)
    run = Run(path, str(table.get("name", path.name)), str(table.get("world", "sim")), int(table.get("seed", 0)),
              duration, _ended(manifest), warm_up, number("grace", 5.0), deadline,
              (float(window[0]), float(window[1])), hosts, _area(scenario),
              scenario, manifest, ())
    missing = [i for i in range(len(hosts)) if not (path / "nodes" / f"{i}.jsonl").is_file()]
    if missing:
        some = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        notes.append(f"no records of {len(missing)} of {len(hosts)} hosts ({some}): what they sent and received is not known")
    if not run.radio_known:
        notes.append("world.jsonl is missing: radio contacts are not known, so there is no physical bound")
    return replace(run, notes=tuple(notes))


def settle(run: Run, last: float) -> Run:
    """The run with its end known: a run that was killed ended with its last record, at `last` s.

    Events whose deadline lies behind the end do not count, whatever the window says.
    """
    ended = min(run.duration, last if math.isnan(run.ended) else run.ended)
    notes = run.notes
    if ended < run.duration:
        notes = (*notes, f"the run ended after {ended:g} s of {run.duration:g} s; later events do not count")
    first, final = run.window
    return replace(run, ended=ended, window=(first, max(first, min(final, ended - run.deadline))), notes=notes)


def _toml(path: Path) -> dict:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise AnalysisError(f"{path.parent}: is no run directory, it has no {path.name}; "
                            "give one that `roamcast run` wrote") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AnalysisError(f"{path}: cannot be read: {error}") from None


def _manifest(path: Path, notes: list[str]) -> dict:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        notes.append("manifest.json is missing: the run did not end in order")
        return {}
    except (OSError, ValueError) as error:
        notes.append(f"manifest.json cannot be read ({error}): the run did not end in order")
        return {}
    return found if isinstance(found, dict) else {}


def _ended(manifest: dict) -> float:
    """The time that the run reached; nan when it did not write its last word."""
    ended = manifest.get("ended")
    if manifest.get("outcome", "running") == "running" or not isinstance(ended, int | float):
        return math.nan
    return float(ended)


def _hosts(scenario: dict) -> tuple[str, ...]:
    names = scenario.get("hosts", {}).get("names")
    if isinstance(names, list) and names:
        return tuple(map(str, names))
    return tuple(str(i) for i in range(int(scenario.get("hosts", {}).get("count") or 0)))


def _area(scenario: dict) -> tuple[float, float] | None:
    area = scenario.get("mobility", {}).get("area")
    return (float(area[0]), float(area[1])) if area else None
