"""A log of publications, CSV: `time`, `host` and a column for each attribute; replayed by workload.log.

    time,host,kind,value,door:text
    12.5,ann,temp,21.5,
    13,3,door,,7

An empty cell is an attribute that the event does not have. A column whose cells are all numbers has numbers, one whose
cells are all true or false has truths, all others have texts; `NAME:text`, `NAME:number` and `NAME:truth` say it.
A column that mixes numbers with texts is refused, because no filter for a number finds a text.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from node.schema.numbers import beyond_doubles
from topologies.naming import Naming, NoHost
from topologies.problems import show

if TYPE_CHECKING:
    from topologies.scenario import Scenario

MOST_BYTES = 256 << 20
MOST_ROWS = 2_000_000
TYPES = ("text", "number", "truth")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Attributes = Mapping[str, str | int | float | bool]


class LogError(Exception):
    """A log that cannot be replayed; `found` and `cure` are for a sentence about the key workload.log."""

    def __init__(self, found: str, cure: str) -> None:
        super().__init__(f"{found}; {cure}")
        self.found, self.cure = found, cure


class Publication(NamedTuple):
    """One row: s since the run began, the host's id, what is published."""

    time: float
    host: int
    event: Attributes


def of(scenario: Scenario) -> Sequence[Publication]:
    """The rows that a scenario replays, by time, rows of one time in the order of the file. Raises LogError."""
    log = scenario.workload.log
    return () if log is None else read(Path(log), scenario.naming)


def read(path: Path, naming: Naming) -> Sequence[Publication]:
    """All rows by time. Raises LogError."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise LogError(f"{show(path.name)}, which cannot be read: {getattr(error, 'strerror', None) or error}",
                       "give the path of a CSV file, relative to the scenario") from None
    if not path.is_file() or status.st_size > MOST_BYTES:
        raise LogError(f"{show(path.name)}, {'too large' if path.is_file() else 'which is not a file'}", f"give a CSV file of at most {MOST_BYTES >> 20} MiB")
    names = None if naming.names is None else tuple(naming.names)
    return _read(path, names, naming.count, naming.numbers, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=4)
def _read(path: Path, names: tuple[str, ...] | None, count: int, numbers: str | None, stamp: object) -> Sequence[Publication]:
    naming = Naming(names, count, numbers)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            columns = _columns(next(rows, []))
            table: list[tuple[int, list[str]]] = []
            for row in rows:
                if not row:
                    continue
                if len(row) != len(columns):
                    raise LogError(f"{len(row)} cells in line {rows.line_num}", f"expected {len(columns)}, as in the first line")
                if len(table) == MOST_ROWS:
                    raise LogError(f"more than {MOST_ROWS:,} rows", "give fewer")
                table.append((rows.line_num, row))
    except OSError as error:
        raise LogError(f"{show(path.name)}, which cannot be read: {error.strerror}", "give a CSV file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise LogError(f"{show(path.name)}, which is not CSV in UTF-8 ({error})", "give a CSV file") from None
    types = [kind or _type_of(name, [(line, row[k]) for line, row in table]) for k, (name, kind) in enumerate(columns)]
    hosts: dict[str, int] = {}
    found = []
    for line, row in table:
        event: dict[str, str | int | float | bool] = {}
        time = host = None
        for (name, _), kind, cell in zip(columns, types, row):
            if name == "time":
                time = _time(line, cell)
            elif name == "host":
                host = hosts[cell] if cell in hosts else hosts.setdefault(cell, _host(line, cell, naming))
            elif cell:
                event[name] = cell if kind == "text" else _truth(line, name, cell) if kind == "truth" else _number(line, name, cell)
        if not event:
            raise LogError(f"no attribute in line {line}", "an event has one at least")
        assert time is not None and host is not None  # columns that are there
        found.append(Publication(time, host, event))
    return tuple(sorted(found, key=lambda row: row.time))


def _columns(header: list[str]) -> list[tuple[str, str | None]]:
    """(name, type or None where it is not said) of each column; time and host are texts here."""
    found: list[tuple[str, str | None]] = []
    for word in (cell.strip() for cell in header):
        name, colon, kind = word.rpartition(":")
        if not colon:
            name, kind = word, ""
        if colon and kind not in TYPES:
            raise LogError(f"the column {show(word)}", f"expected one of {', '.join(f':{kind}' for kind in TYPES)} behind the name, or nothing")
        if not name:
            raise LogError("a column without a name", "name every column in the first line")
        if name in (known for known, _ in found):
            raise LogError(f"the column {show(name)} twice", "give each column once")
        found.append((name, "text" if name in ("time", "host") else kind or None))
    for needed in ("time", "host"):
        if needed not in (name for name, _ in found):
            raise LogError(f"no column {show(needed)}", "expected a first line such as time,host,kind,value")
    if len(found) < 3:
        raise LogError("no column of an attribute", "expected a first line such as time,host,kind,value")
    return found


def _type_of(name: str, cells: list[tuple[int, str]]) -> str:
    """What a column holds that does not say it."""
    given = [(line, cell) for line, cell in cells if cell]
    numbers = [bool(_NUMBER.fullmatch(cell)) for _, cell in given]
    if all(numbers):
        return "number" if given else "text"
    if any(numbers):
        line, cell = given[numbers.index(False)]
        raise LogError(f"{show(cell)} in line {line} of the column {show(name)}, which has numbers elsewhere",
                       f"call the column {name}:text, or correct that cell")
    return "truth" if all(cell in ("true", "false") for _, cell in given) else "text"


def _time(line: int, cell: str) -> float:
    if not _NUMBER.fullmatch(cell.strip()) or not 0.0 <= (time := float(cell)) < math.inf:
        raise LogError(f"time {show(cell)} in line {line}", "expected seconds since the run began, 0 or more")
    return time


def _host(line: int, cell: str, naming: Naming) -> int:
    try:
        host = naming.host(cell)
    except NoHost as error:
        raise LogError(f"host {error.found} in line {line}", error.cure) from None
    if host >= naming.count:
        raise LogError(f"host {show(cell)} in line {line}", f"expected an id from 0 to {naming.count - 1}")
    return host


def _number(line: int, name: str, cell: str) -> int | float:
    if not _NUMBER.fullmatch(cell):
        raise LogError(f"{show(cell)} in line {line} of the column {show(name)}", "expected a number")
    if cell.lstrip("+-").isdecimal():
        return int(cell)
    if beyond_doubles(cell) or not math.isfinite(float(cell)):
        raise LogError(f"{show(cell)} in line {line} of the column {show(name)}, with more digits than a number can hold", f"call the column {name}:text, or shorten it")
    return float(cell)


def _truth(line: int, name: str, cell: str) -> bool:
    if cell not in ("true", "false"):
        raise LogError(f"{show(cell)} in line {line} of the column {show(name)}", "expected true or false")
    return cell == "true"
