"""Reads, completes and writes scenarios: one TOML file says what happens, where and when.

Units are always s, m, m/s, dBm and bit/s. Everything is checked before anything starts. `to_toml` writes
every default, so that a run can be repeated from its own output.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tomli_w
from pydantic import Field, TypeAdapter, ValidationError

import mobility
from mobility import Movement
from topologies import check, file, fill
from topologies.faults import Fault, Faults, HostFault, LinkFault
from topologies.motion import Mobility, Outside, RandomWaypoint, Static, Trace, reader_options
from topologies.naming import Naming
from topologies.netns import Fidelity, Netns
from topologies.node import Node
from topologies.problems import ScenarioError, from_validation
from topologies.radio import LogDistanceRadio, Radio, RadioLink, UnitDiskRadio
from topologies.run import Hosts, Run
from topologies.section import Section
from topologies.workload import Publish, Subscribe, Workload

__all__ = [
    "Fault",
    "Fidelity",
    "HostFault",
    "Hosts",
    "LinkFault",
    "LogDistanceRadio",
    "Mobility",
    "Netns",
    "Node",
    "Publish",
    "Radio",
    "RadioLink",
    "RandomWaypoint",
    "Run",
    "Scenario",
    "ScenarioError",
    "Static",
    "Subscribe",
    "Trace",
    "UnitDiskRadio",
    "Workload",
    "build",
    "load",
]


MOST_ERRORS, MOST_ROWS = 10_000, 1000  # findings of the schema that are looked at; rows of a list, where there are more


class Scenario(Section):
    """A complete scenario. Everywhere in it, hosts are ids 0 .. count - 1."""

    run: Run = Field(description="the table [run]")
    hosts: Hosts = Field(description="the table [hosts]")
    mobility: Mobility = Field(description="the table [mobility]")
    radio: Radio = Field(default_factory=UnitDiskRadio, description="the table [radio]")
    node: Node = Field(default_factory=Node, description="the table [node]")
    workload: Workload = Field(description="the table [workload]")
    netns: Netns = Field(default_factory=Netns, description="the table [netns]")
    faults: Faults = Field((), description="the tables [[faults]]")

    @property
    def names(self) -> list[str]:
        """The hosts' names by id; hosts without names have their id as text."""
        return list(self.hosts.names or map(str, range(self.hosts.count or 0)))

    @property
    def naming(self) -> Naming:
        """The names and ids by which people may refer to hosts of this scenario."""
        return Naming(self.hosts.names, len(self.names), self.hosts.numbers)

    def trace(self) -> Movement | None:
        """The whole trace that is replayed, with all its hosts; None without a trace. Raises mobility.TraceError."""
        return _trace_of(self.mobility.model_dump()) if isinstance(self.mobility, Trace) else None

    def movement(self) -> Movement:
        """Where the hosts of this run are from 0 to its duration, from a model, places or a trace.

        A BonnMotion copy of the movement reads back as the same movement, bit by bit. Raises mobility.TraceError.
        """
        motion, names, duration = self.mobility, self.names, self.run.duration
        if isinstance(motion, Trace):
            return _trace_of(motion.model_dump()).first(len(names), names).window(motion.start, duration)
        if isinstance(motion, Outside):
            return motion.moved(len(names), duration, self.run.seed).first(len(names), names).window(0.0, duration)
        if isinstance(motion, Static):
            parts = [mobility.Trajectory(np.zeros(1), np.array([place])) for place in motion.positions]
            return mobility.Movement(names, parts, duration)
        model = mobility.random_waypoint(
            len(names), motion.area, motion.speed, motion.pause, duration, self.run.seed, motion.start
        )
        return model.first(len(names), names).window(0.0, duration)

    def to_toml(self, trace: str | None = None, log: str | None = None) -> str:
        """The scenario with all its defaults, as TOML; loading it gives an equal scenario.

        `trace`: path of a BonnMotion copy of `movement()`, relative to where the text will be; a
        scenario that replays a trace, or has a model from outside, then names this copy instead. `log`: of a copy of workload.log, likewise.
        """
        tables = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        tables["hosts"].update(tables["hosts"].pop("each"))
        if trace is not None and isinstance(self.mobility, Trace | Outside):
            tables["mobility"] = {"trace": trace, "format": "bonnmotion", "start": 0.0}
        if log is not None and self.workload.log is not None:
            tables["workload"]["log"] = log
        return tomli_w.dumps(tables)


def load(path: str | Path, overrides: Mapping[str, Any] = {}) -> Scenario:
    """Read, complete and check a scenario, with what it extends (`base`).

    overrides: values that replace the file's, under dotted keys ("run.seed": 3) or as tables.
    Raises ScenarioError with every problem found, one line each: file, key, finding, cure.
    """
    path = Path(path)
    found = file.layers(path)
    try:
        return build(file.override(file.whole(found), overrides), path)
    except ScenarioError as error:
        raise file.blamed(error, [(path, file.override({}, overrides)), *found]) from None


def build(tables: dict[str, Any], path: Path = Path("scenario")) -> Scenario:
    """Complete and check a scenario given as tables; errors name `path`, and traces are relative to it.

    Raises ScenarioError, as `load` does.
    """
    problems, broken = fill.defaults(path, tables, _trace_of)
    more = 0
    try:
        scenario = Scenario.model_validate(tables)
    except ValidationError as error:
        told, invalid, more = from_validation(path, _fewer(error, tables), Scenario)
        problems, broken = told + problems, broken | invalid
        scenario = _sound_part(tables, broken)
    problems += check.problems(path, scenario, lambda: _trace_of(tables["mobility"]), broken)
    if problems:
        raise ScenarioError(problems, more)
    return scenario


def _fewer(error: ValidationError, tables: dict[str, Any]) -> ValidationError:
    """The same findings, of the first rows of long lists where there are very many: each takes a kilobyte once it is looked at."""
    if error.error_count() <= MOST_ERRORS:
        return error

    def shortened(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shortened(item) for key, item in value.items()}
        return [shortened(item) for item in value[:MOST_ROWS]] if isinstance(value, list) else value

    try:
        Scenario.model_validate(shortened(tables))
    except ValidationError as shorter:
        return shorter
    return error  # the wrong ones come later


def _sound_part(tables: Mapping[str, Any], broken: set[str]) -> Scenario:
    """A scenario that lacks its broken tables, for checks of the others."""
    sound = {}
    for name, field in Scenario.model_fields.items():
        if name in broken:
            continue
        if name in tables:
            kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
            sound[name] = TypeAdapter(kind).validate_python(tables[name])
        else:
            sound[name] = field.get_default(call_default_factory=True)
    return Scenario.model_construct(**sound)


def _trace_of(motion: Mapping[str, Any]) -> mobility.Movement:
    options = tuple(sorted(reader_options(motion).items()))
    return _read_trace(motion["trace"], motion["format"], options, _stamp(motion["trace"]))


def _stamp(trace: str) -> tuple[int, int] | None:
    """What changes when the file does, so that a trace is read once and not served stale."""
    try:
        status = Path(trace).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _read_trace(trace: str, format: str, options: tuple[tuple[str, object], ...], stamp: object) -> mobility.Movement:
    return mobility.read(trace, format, **dict(options))
