"""A run directory, as far as the analysis needs it: the scenario's [run], the manifest, the files.

`scenario.toml` in a run directory is resolved (every default written out), so it is read as plain
TOML: the checks on what people write were made before the run.
"""
from __future__ import annotations

import errno
import json
import math
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from analysis.errors import AnalysisError

SECTIONS = ("run", "hosts", "mobility", "radio", "node", "workload")
LONGEST = 1e9  # s, or m: what a run can have at most, and more
MOST_HOSTS = 100_000
MOST_NAMED = 10  # in one note
WORLDS = ("sim", "netns", "hwsim", "mininet", "field")
KNOWN = {"tree": ("maodv", "none"), "strategy": ("subscription", "hierarchical", "event", "flood"), "retransmission": (True, False)}
_RECORDS = re.compile(r"(0|[1-9]\d{0,5})\.jsonl", re.ASCII)


class Rules(NamedTuple):
    """What of a run decides which events count and how; times in s."""

    window: tuple[float, float]
    grace: float
    deadline: float
    radio_known: bool
    treeless: bool
    retransmits: bool


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
    hosts: dict[int, str]  # id -> name; in a field those that left records, whatever their numbers
    area: tuple[float, float] | None  # m
    scenario: dict[str, Any] = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...]  # what a reader of the numbers must know
    logs: tuple[Path, ...] = ()  # the record files that count: of the hosts, and the world's
    silent: tuple[int, ...] = ()  # hosts without a record file

    @property
    def tables(self) -> Path:
        return self.path / "tables"

    @property
    def rules(self) -> Rules:
        return Rules(self.window, self.grace, self.deadline, self.radio_known, self.treeless, self.retransmits)

    @property
    def radio_known(self) -> bool:
        """Whether the world recorded which radio links existed."""
        world = self.path / "world.jsonl"
        return world.is_file() and world.stat().st_size > 0

    @property
    def treeless(self) -> bool:
        """Whether events are broadcast and no tree is kept."""
        node = self.scenario.get("node", {})
        return bool(node.get("tree") == "none" or node.get("strategy") == "flood")

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
    def unplaced(self) -> list[int]:
        """Hosts of a field that exchanged nothing with the others and stand where their wall clocks put them, unjudged."""
        clocks = self.manifest.get("clocks")
        if self.world != "field" or "left_out" in self.manifest or not isinstance(clocks, list):
            return []  # who put the records together has judged these clocks
        by: dict[int, set[str]] = {}
        for clock in clocks:
            if isinstance(clock, dict) and type(clock.get("node")) is int:
                by.setdefault(clock["node"], set()).add(str(clock.get("by")))
        return [node for node, ways in by.items() if ways == {"wall clock"}]

    @property
    def began(self) -> float | None:
        """The wall clock at time 0 of the run, as s since 1970; None where the manifest does not tell."""
        epoch, started = self.manifest.get("epoch"), self.manifest.get("started")
        if isinstance(epoch, int | float) and not isinstance(epoch, bool) and math.isfinite(epoch):
            return float(epoch)
        try:
            began = datetime.fromisoformat(str(started))
            return began.timestamp() if began.tzinfo is not None else None  # without, it is the time of nobody knows where
        except (ValueError, OverflowError):
            return None

    @property
    def in_order(self) -> bool:
        """Whether the run came to an end that it knows of, so that all its records are written."""
        return not math.isnan(_ended(self.manifest)) and self.manifest.get("outcome") in ("complete", "interrupted")

    @property
    def invalid_because(self) -> list[str]:
        """Why the numbers are about the machine, by the manifest; empty for a valid run."""
        fidelity = self.manifest.get("fidelity") or {}
        because = [str(reason) for reason in fidelity.get("invalid_because") or ()]
        valid = fidelity.get("valid")
        if because or valid is True or valid is None:
            return because
        return ["its manifest says so and gives no reason" if valid is False else f"its manifest says valid = {str(valid)[:40]!r}"]


def read(path: Path | str) -> Run:
    """The run in `path`. Raises AnalysisError when there is none."""
    path = Path(path)
    try:
        there, is_folder = path.exists(), path.is_dir()
    except OSError as error:  # a folder above it may not be entered
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from None
    if there and (whole := _around(path)) is not None:
        raise AnalysisError(f"{path}: part of a run directory; give the whole one: {whole}")
    if not is_folder:
        what = "not a folder" if there else "no such folder"
        raise AnalysisError(f"{path}: {what}; give a run directory, as `roamcast run` writes it, or `roamcast collect` from "
                            "field records")
    try:
        str(path.resolve()).encode()
    except UnicodeEncodeError:
        raise AnalysisError(f"{path}: its name is not UTF-8, and Spark cannot open such a folder; rename it") from None
    scenario = _toml(path / "scenario.toml")
    notes: list[str] = []
    manifest = _manifest(path / "manifest.json", notes)
    try:
        run = _run(path, scenario, manifest, notes)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise AnalysisError(f"{path / 'scenario.toml'}: not in the form that `roamcast run` writes ({error}); "
                            "give a run directory that it wrote") from None
    run = _with_logs(run, notes)
    if run.world == "field":
        notes.append("a field run: no record says which radio links existed, so there is no physical "
                     "bound")
        notes += _clocks(path, manifest)
    elif not run.radio_known:
        notes.append(f"world.jsonl is {'empty' if (path / 'world.jsonl').is_file() else 'missing'}: radio contacts are unknown, so there is no physical bound")
    outcome = manifest.get("outcome")
    if manifest and outcome not in ("complete", "interrupted"):
        why = "the run is still going on, or was killed" if outcome in (None, "running") else \
            f"the run did not end in order ({outcome}: {str(manifest.get('reason'))[:200]})"
        notes.append(f"according to manifest.json {why}: its last records may be missing")
    for said in (manifest.get("notes"), manifest.get("fidelity", {}).get("notes")):  # before the run, and in it
        if isinstance(said, list):
            notes += map(str, said)
        elif said is not None:
            notes.append("notes in manifest.json are not a list and were not read: open the file")
    if manifest and outcome not in (None, "running"):
        if math.isnan(run.ended):
            notes.append(f"manifest.json says ended = {str(manifest.get('ended'))[:40]!r}, which is not a time: the run is taken to end with its last record")
        elif run.ended > run.duration + 1:
            notes.append(f"manifest.json says that the run ended at {run.ended:g} s, scenario.toml that it lasts {run.duration:g} s: the latter counts")
    return replace(run, notes=tuple(notes))


def _around(path: Path) -> Path | None:
    """The run directory that this lies in, in whichever folder of it; None for what lies in none, or is one."""
    try:
        if (path / "scenario.toml").is_file():
            return None
        above = [path.parent, path.parent.parent] if path.name not in ("", "..") else [path.resolve().parent]
        return next((folder for folder in above if (folder / "scenario.toml").is_file() and (folder / "nodes").is_dir()), None)
    except OSError:
        return None


def _with_logs(run: Run, notes: list[str]) -> Run:
    """The run with its hosts and their record files; what else lies beside these is named and not read."""
    folder, world = run.path / "nodes", run.path / "world.jsonl"
    found: dict[int, Path] = {}
    strange: list[str] = []
    for file in _inside(folder):
        named = _RECORDS.fullmatch(file.name)
        host = int(named[1]) if named else MOST_HOSTS
        if host < MOST_HOSTS and (run.world == "field" or host in run.hosts):
            found[host] = file
        else:
            strange.append(file.name)
    for file in found.values():
        if file.exists() and not os.access(file, os.R_OK, effective_ids=True):
            raise AnalysisError(f"{file}: cannot be read: {os.strerror(errno.EACCES)}")
    hosts = run.hosts
    if run.world == "field":  # whatever the scenario counts: numbers in a field need not begin at 0, nor go on
        named = run.manifest.get("nodes")
        given = {node for node in named if type(node) is int and 0 <= node < MOST_HOSTS} if isinstance(named, list) else set()
        hosts = {host: str(host) for host in sorted(found.keys() | given)}
    silent = sorted(hosts.keys() - found.keys())
    if silent:
        notes.append(f"no records of {len(silent)} of {len(hosts)} hosts ({some([hosts[host] for host in silent])}): what they sent and received is unknown")
    empty = [host for host, file in sorted(found.items()) if file.is_file() and not file.stat().st_size]
    if empty:
        notes.append(f"the record files of {len(empty)} of {len(hosts)} hosts are empty ({some([hosts[host] for host in empty])}): what they did is unknown")
    if strange:
        notes.append(f"files in the folder nodes that are not records of the run's hosts were left out: {some(strange)}")
    logs = [found[host] for host in sorted(found)] + ([world] if world.is_file() else [])
    return replace(run, hosts=hosts, logs=tuple(logs), silent=tuple(silent))


def _inside(folder: Path) -> list[Path]:
    """The files of a folder, which need not be there. Raises AnalysisError where it may not be read."""
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise AnalysisError(f"{folder}: cannot be read: {error.strerror}") from None


def some(names: Sequence[object]) -> str:
    """The first of many names, in words."""
    return ", ".join(map(str, names[:MOST_NAMED])) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _run(path: Path, scenario: dict[str, Any], manifest: dict[str, Any], notes: list[str]) -> Run:
    """What the scenario says; any error of Python's for one that no run wrote."""
    for name in SECTIONS:
        if not isinstance(scenario.get(name, {}), dict):
            raise ValueError(f"{name} is no table")
    table = scenario.get("run", {})

    def number(key: str, default: float | None = None) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST:
            raise AnalysisError(f"{path / 'scenario.toml'}: run.{key}: found {value!r}; give a number of seconds from 0 to "
                                f"{LONGEST:g}" + ("; a host's clock was off by years when the records were "
                                "collected: collect them again" if table.get("world") == "field" else ""))
        if key not in table:
            notes.append(f"scenario.toml has no run.{key}: using {value:g} s")
        return float(value)

    def seconds(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"run.window: found {value!r}; it is two numbers")
        return float(value)

    duration, deadline, warm_up = number("duration"), number("deadline", 10.0), number("warm_up", 0.0)
    if not table.get("window"):
        notes.append("scenario.toml has no run.window: using the time from the end of the warm-up to one deadline before the end")
    first, last = map(seconds, table.get("window") or (warm_up, duration - deadline))
    if not -LONGEST <= first <= last <= LONGEST:
        raise ValueError(f"run.window is {first:g} to {last:g}")
    seed = table.get("seed")
    if type(seed) is not int:
        notes.append(f"run.seed in scenario.toml is {seed!r}, not a whole number: using 0, and runs with one seed count once")
    if not isinstance(table.get("world"), str):
        notes.append("scenario.toml has no run.world: using sim")
    elif table["world"] not in WORLDS:
        notes.append(f"the world {table['world'][:40]!r} of scenario.toml is none of {', '.join(WORLDS)}: it counts as one that records "
                     "its radio")
    elif manifest.get("world") not in (None, table["world"]):
        notes.append(f"the worlds of scenario.toml ({table['world']}) and manifest.json ({str(manifest['world'])[:40]}) differ: "
                     "the former counts")
    node = scenario.get("node", {})
    if odd := [key for key, known in KNOWN.items() if key in node and (type(node[key]), node[key]) not in [(type(one), one) for one in known]]:
        notes.append(f"scenario.toml has unknown values in node.{', node.'.join(odd)}: losses are explained as with a "
                     "tree whose links retransmit")
    if missing := [key for key in KNOWN if key not in node]:
        notes.append(f"scenario.toml has no node.{', node.'.join(missing)}: losses are explained as with a tree whose links retransmit")
    hosts, roam = _hosts(scenario, notes), scenario.get("workload", {}).get("roam", [])
    if not isinstance(roam, list) or any(type(host) is not int or host not in hosts for host in roam):
        raise ValueError(f"workload.roam: found {str(roam)[:40]}; it is a list of the numbers of hosts")
    return Run(path, str(table.get("name", path.name)), str(table.get("world", "sim")), seed if type(seed) is int else 0,
               duration, _ended(manifest), warm_up, number("grace", 5.0), deadline, (first, last),
               hosts, _area(scenario), scenario, manifest, ())


def _clocks(path: Path, manifest: dict[str, Any]) -> list[str]:
    """How far the clocks of field nodes may be apart, of which latencies are wrong by as much. Raises AnalysisError."""
    found = manifest.get("clocks")
    clocks = [clock for clock in found if isinstance(clock, dict)] if isinstance(found, list) else []
    if not clocks:
        raise AnalysisError(f"{path / 'manifest.json'}: says nothing about clocks, and every field node writes its records by "
                            f"its own clock; align them: roamcast collect {path / 'nodes'} --out DIR")
    wrong = [c["wrong"] for c in clocks if isinstance(c.get("wrong"), int | float) and c.get("by") != "one way"]
    placed = [c for c in clocks if type(c.get("node")) is int]
    late = _nodes(c for c in placed if c.get("by") == "one way")
    loose = _nodes(c for c in placed if c.get("by") != "one way" and c.get("wrong") is None)
    notes = []
    if len(wrong) > 1:
        notes.append(f"the nodes' clocks agree to {1000 * max(wrong):.1f} ms or better; latencies are no more exact")
    if late:
        notes.append(f"the clocks of nodes {late} were aligned by one-way traffic only: they are late by its "
                     "shortest delay, which is unknown, and times between them and others are off by as much")
    if loose:
        notes.append(f"the clocks of nodes {loose} could not be aligned: times that "
                     "involve them mean little")
    return notes


def _nodes(clocks: Iterable[dict[str, Any]]) -> str:
    return ", ".join(map(str, sorted({clock["node"] for clock in clocks})))


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


def _toml(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        cure = f"roamcast collect {path.parent} --out DIR makes one from these records" if any(path.parent.glob("*.jsonl")) \
            else "give one that `roamcast run` wrote"
        raise AnalysisError(f"{path.parent}: not a run directory, it has no {path.name}; {cure}") from None
    except (OSError, ValueError, RecursionError) as error:  # of TOML and of UTF-8, too
        raise AnalysisError(f"{path}: cannot be read: {error}") from None


def _once(pairs: list[tuple[str, object]], notes: list[str]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        notes.append("manifest.json has a key twice: the last value counts")
    return found


def _manifest(path: Path, notes: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(), object_pairs_hook=lambda pairs: _once(pairs, notes))
        # half of a surrogate pair is JSON, and no text that could be written again
        found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except FileNotFoundError:
        notes.append("manifest.json is missing: the run did not end in order")
        return {}
    except (OSError, ValueError, RecursionError) as error:
        notes.append(f"manifest.json cannot be read ({error}): the run did not end in order")
        return {}
    if not isinstance(found, dict):
        notes.append("manifest.json is not in the form that a run writes: the run did not end in order")
        return {}
    fidelity = found.get("fidelity")
    if fidelity is not None and not isinstance(fidelity, dict):
        notes.append("fidelity in manifest.json is not in the form that a run writes: whether the run was valid is unknown")
    found["fidelity"] = fidelity if isinstance(fidelity, dict) else {}
    because = found["fidelity"].get("invalid_because")
    if because is not None and not isinstance(because, list):
        found["fidelity"]["invalid_because"] = [str(because)]
    return found


def _ended(manifest: dict[str, Any]) -> float:
    """The time that the run reached; nan when it did not write its last word."""
    ended = manifest.get("ended")
    if manifest.get("outcome", "running") == "running" or isinstance(ended, bool) or not isinstance(ended, int | float):
        return math.nan
    return float(ended) if 0 <= ended <= LONGEST else math.nan


def _hosts(scenario: dict[str, Any], notes: list[str]) -> dict[int, str]:
    names, count = scenario.get("hosts", {}).get("names", []), scenario.get("hosts", {}).get("count", 0)
    if not isinstance(names, list):
        raise ValueError(f"hosts.names: found {str(names)[:40]!r}; it is a list")
    if type(count) is not int or not 0 <= count <= MOST_HOSTS:
        raise ValueError(f"hosts.count is {count}")
    if names:
        if count not in (0, len(names)):
            notes.append(f"scenario.toml has hosts.count = {count} and {len(names)} hosts.names: the names count")
        if len(set(map(str, names))) < len(names):
            notes.append("scenario.toml gives several hosts one name: the report cannot tell them apart")
        return dict(enumerate(map(str, names)))
    return {i: str(i) for i in range(count)}


def _area(scenario: dict[str, Any]) -> tuple[float, float] | None:
    area = scenario.get("mobility", {}).get("area")
    if not area:
        return None
    width, height = map(float, area)
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise ValueError(f"mobility.area is {width:g} by {height:g}")
    return width, height
