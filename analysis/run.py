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

SECTIONS = ("run", "hosts", "mobility", "radio", "node", "workload")
LONGEST = 1e9  # s, or m: what a run can have at most, and more
MOST_HOSTS = 100_000


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
    def retransmits(self) -> bool:
        """Whether events are sent over tree links until they are acknowledged."""
        return self.scenario.get("node", {}).get("retransmission") is not False

    @property
    def roaming(self) -> tuple[int, ...]:
        """Hosts that are clients only, by the scenario."""
        roam = self.scenario.get("workload", {}).get("roam", ())
        return tuple(host for host in roam if type(host) is int) if isinstance(roam, list) else ()

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
    try:
        run = _run(path, scenario, manifest)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise AnalysisError(f"{path / 'scenario.toml'}: not as `roamcast run` writes it ({error}); "
                            "give a run directory that it wrote") from None
    hosts = run.hosts
    missing = [i for i in range(len(hosts)) if not (path / "nodes" / f"{i}.jsonl").is_file()]
    if missing:
        some = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        notes.append(f"no records of {len(missing)} of {len(hosts)} hosts ({some}): what they sent and received is not known")
    if run.world == "field":
        notes.append("a run in the field: nobody recorded which radio links existed, so there is no physical "
                     "bound")
        notes += _clocks(manifest)
    elif not run.radio_known:
        notes.append("world.jsonl is missing: radio contacts are not known, so there is no physical bound")
    for said in (manifest.get("notes"), manifest.get("fidelity", {}).get("notes")):  # before the run, and in it
        notes += map(str, said if isinstance(said, list) else [])
    return replace(run, notes=tuple(notes))


def _run(path: Path, scenario: dict, manifest: dict) -> Run:
    """What the scenario says; any error of Python's for one that no run wrote."""
    for name in SECTIONS:
        if not isinstance(scenario.get(name, {}), dict):
            raise ValueError(f"{name} is no table")
    table = scenario.get("run", {})

    def number(key: str, default: float | None = None) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST:
            raise AnalysisError(f"{path / 'scenario.toml'}: run.{key}: found {value!r}; a number of seconds is needed")
        return float(value)

    duration, deadline, warm_up = number("duration"), number("deadline", 10.0), number("warm_up", 0.0)
    first, last = map(float, table.get("window") or (warm_up, duration - deadline))
    if not -LONGEST <= first <= last <= LONGEST:
        raise ValueError(f"run.window is {first:g} to {last:g}")
    return Run(path, str(table.get("name", path.name)), str(table.get("world", "sim")), int(table.get("seed", 0)),
               duration, _ended(manifest), warm_up, number("grace", 5.0), deadline, (first, last),
               _hosts(scenario), _area(scenario), scenario, manifest, ())


def _clocks(manifest: dict) -> list[str]:
    """How far the clocks of field nodes may be apart, of which latencies are wrong by as much."""
    found = manifest.get("clocks")
    clocks = [clock for clock in found if isinstance(clock, dict)] if isinstance(found, list) else []
    wrong = [c["wrong"] for c in clocks if isinstance(c.get("wrong"), int | float)]
    loose = sorted({str(c.get("node")) for c in clocks if c.get("wrong") is None})
    notes = []
    if len(wrong) > 1:
        notes.append(f"the nodes' clocks agree to {1000 * max(wrong):.1f} ms or better; latencies are no surer")
    if loose:
        notes.append(f"the clocks of nodes {', '.join(loose)} are as far off as they were set: times that "
                     "involve them mean little")
    return notes


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
    except (OSError, ValueError, RecursionError) as error:  # of TOML and of UTF-8, too
        raise AnalysisError(f"{path}: cannot be read: {error}") from None


def _manifest(path: Path, notes: list[str]) -> dict:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        notes.append("manifest.json is missing: the run did not end in order")
        return {}
    except (OSError, ValueError, RecursionError) as error:
        notes.append(f"manifest.json cannot be read ({error}): the run did not end in order")
        return {}
    if not isinstance(found, dict):
        notes.append("manifest.json is not as a run writes it: the run did not end in order")
        return {}
    fidelity = found.get("fidelity")
    found["fidelity"] = fidelity if isinstance(fidelity, dict) else {}
    because = found["fidelity"].get("invalid_because")
    if because is not None and not isinstance(because, list):
        found["fidelity"]["invalid_because"] = [str(because)]
    return found


def _ended(manifest: dict) -> float:
    """The time that the run reached; nan when it did not write its last word."""
    ended = manifest.get("ended")
    if manifest.get("outcome", "running") == "running" or not isinstance(ended, int | float) \
            or not 0 <= ended <= LONGEST:
        return math.nan
    return float(ended)


def _hosts(scenario: dict) -> tuple[str, ...]:
    names = scenario.get("hosts", {}).get("names")
    if isinstance(names, list) and names:
        return tuple(map(str, names))
    count = int(scenario.get("hosts", {}).get("count") or 0)
    if not 0 <= count <= MOST_HOSTS:
        raise ValueError(f"hosts.count is {count}")
    return tuple(str(i) for i in range(count))


def _area(scenario: dict) -> tuple[float, float] | None:
    area = scenario.get("mobility", {}).get("area")
    if not area:
        return None
    width, height = map(float, area)
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise ValueError(f"mobility.area is {width:g} by {height:g}")
    return width, height
