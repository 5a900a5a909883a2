"""The record files of field nodes, read with care: what came off a card may be cut, damaged or mixed up.

Every line is checked against the schema and against what its fields can be. The lines between two starts of a node
are a life's; they were written in the order of its clock, so what stands out of that order is no record of this life.
One line that is wrong is left out and counted. Many mean that two nodes wrote one file: such lives cannot be told
apart and are left out whole.
"""
from __future__ import annotations

import json
import re
import sys
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from node import schema
from node.ids import NodeId
from node.shell.logs import pieces

LONGEST_LINE = 1 << 20  # bytes
LATEST = 1e10  # s, of unix time: the year 2286
LIFE = 1e8  # s, three years: longer than the datagrams of one life last
PAUSE = 3600.0  # s between two records of a life at most: it looks at its clock each minute
HOLE = 3.0  # intervals of its reports on traffic without any record: some are missing
FEW = 10  # records that such a pause cuts off from all others at an end of their life, and that are not believed
MIXED = (3, 0.02)  # lines out of order, at least so many and this share: the records of two lives
TORN, ODD, FOREIGN, DISORDER, LIFELESS, BEHIND, OTHERS = (
    "cut short", "not records, or with impossible values", "from another node", "out of order by their life's clock",
    "before the start of the first life", "between the end of one life and the start of the next",
    "from another life than the lines around them")

_ID, _EPOCH = (0, 2**32 - 1), (1, 2**32 - 1)
RANGES: dict[str, tuple[float, float]] = {  # of numbers by the name of their field, wherever it stands
    **dict.fromkeys(("other", "neighbor", "leader", "parent", "giver", "device", "holder", "broker", "counter", "turn"), _ID),
    "epoch": _EPOCH, "epochs": _EPOCH, "hops": (0, 255), "depth": (0, 2**16), "wall": (0, LATEST), "published": (-LIFE, LIFE),
    "seconds": (0, LIFE), "away": (0, LIFE),
    "n": (-sys.float_info.max, sys.float_info.max)}  # of an attribute: what programs publish has no other bounds
COUNTS, NUMBERS = (0, 2**53), (-1e15, 1e15)  # of whole numbers and others that are not named above
_EVENT = re.compile(r"(0|[1-9]\d{0,9})\.([1-9]\d{0,9})\.(0|[1-9]\d{0,15})", re.ASCII)
_LINK = re.compile(r"(\d{1,10})-(\d{1,10})\.[0-9a-f]{8}", re.ASCII)
_HEX = re.compile("(?:[0-9a-f]{2})*")
_LINKS = ("link", "rid", "lost", "new", "from")  # text fields that name a link, or nothing
OF_THE_SHELL = ("records_lost", "slow_sync", "continued")  # written with the time of a later record

LifeId = tuple[int, int]
EventId = tuple[int, int, int]  # source, epoch, number
Record = dict[str, Any]  # of JSON, checked against the schema


class Line(NamedTuple):
    """One line: the record, or why there is none. `carried`: the piece before holds it too, and is missing."""

    record: Record | None
    wrong: str = ""
    carried: bool = False
    unknown: bool = False  # of a kind, or with fields, that this version does not know


def read(path: Path) -> Iterator[Line]:
    """The lines of a rotated file, oldest first; what a piece carries over from the one before is left out where that
    one is there. The number of a line is its place here."""
    before = None
    for piece in [*pieces(path), path]:
        carried, doubled = 0, False
        for raw in _raw(piece):
            if not raw.endswith(b"\n"):
                yield Line(None, TORN)
                continue
            line = _checked(raw)
            if carried:
                carried -= 1
                if not doubled:
                    yield line._replace(carried=True)
            elif line.record is not None and line.record["kind"] == "continued":
                carried = line.record["carried"]
                doubled = before is not None and before == line.record["piece"] - 1
            else:
                yield line
        before = int(piece.suffix[1:]) if piece != path else None


def _raw(piece: Path) -> Iterator[bytes]:
    """Lines of bounded length; of one that is too long, a beginning without a line end."""
    with piece.open("rb") as file:
        while raw := file.readline(LONGEST_LINE):
            yield raw
            while len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                raw = file.readline(LONGEST_LINE)


def _checked(raw: bytes) -> Line:
    try:
        record = json.loads(raw, parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return Line(None, ODD)
    if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
        return Line(None, ODD)
    t, node = record.get("t"), record.get("node")
    if (type(t) is not int and type(t) is not float) or not abs(t) <= LIFE or type(node) is not int or not 0 <= node <= _ID[1]:
        return Line(None, ODD)
    if record["kind"] not in schema.records():
        return Line(record, unknown=True)  # of another version; said, and the analysis passes it over
    faults = schema.faults(record)
    if any(not fault.endswith("no such field") for fault in faults) or not _possible("", record):
        return Line(None, ODD)
    return Line(record, unknown=bool(faults))


def _once(pairs: list[tuple[str, object]]) -> Record:
    """An object of JSON, in which nothing stands twice: which of the two is meant nobody knows."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _possible(name: str, value: object) -> bool:
    """Whether a value of JSON can be what a field of this name holds."""
    if isinstance(value, dict):
        return all(_possible(key, inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(_possible(name, inner) for inner in value)
    if isinstance(value, str):
        return _possible_text(name, value)
    if value is None or isinstance(value, bool):
        return True
    if name in ("t", "node"):
        return True
    low, high = RANGES.get(name) or (NUMBERS if isinstance(value, float) else COUNTS)
    return isinstance(value, int | float) and low <= value <= high


def _possible_text(name: str, text: str) -> bool:
    try:
        text.encode()  # half a surrogate pair is nothing that a file can hold
    except UnicodeEncodeError:
        return False
    if name == "event":
        return event_of(text) is not None
    if name == "x":
        return _HEX.fullmatch(text) is not None
    if name in _LINKS and text:
        ends = _LINK.fullmatch(text)
        return ends is not None and int(ends[1]) < int(ends[2]) <= _ID[1]
    return True


def event_of(text: str) -> EventId | None:
    """The source, epoch and number that an event's name says."""
    found = _EVENT.fullmatch(text)
    if found is None:
        return None
    source, epoch, number = map(int, found.groups())
    return (source, epoch, number) if source <= _ID[1] and 1 <= epoch <= _EPOCH[1] and number < 2**53 else None


def publisher(event: str) -> LifeId:
    """The life that published an event, by the name of one that has been checked."""
    source, epoch, _ = map(int, event.split("."))
    return source, epoch


# ---- the lives in a file -----------------------------------------------------------------------------
@dataclass
class Life:
    """The lines from one start of a node to the next."""

    name: LifeId
    start: int  # number of the line that says so
    lines: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    reports: array[float] = field(default_factory=lambda: array("d"))  # times of its reports on traffic: it lives, and in which rhythm
    movable: set[int] = field(default_factory=set)  # numbers of lines whose time is not their own
    others: set[LifeId] = field(default_factory=set)  # lives of this node that its lines name
    foreign: int = 0  # lines that name them
    stopped: bool = False  # in order
    late: bool = False  # its first records are gone, so that a pause behind its start means nothing


@dataclass
class Survey:
    """What a file holds, after one look at all of it."""

    node: NodeId
    path: Path
    lives: list[Life] = field(default_factory=list)
    wrong: dict[int, str] = field(default_factory=dict)  # line -> why it is left out
    mixed: dict[LifeId, str] = field(default_factory=dict)  # lives that cannot be told from others
    unknown: Counter[str] = field(default_factory=Counter)  # records of kinds and with fields of another version
    kinds: Counter[str] = field(default_factory=Counter)  # of what a note is made of
    lost: int = 0  # records that the node could not write
    nodes: Counter[NodeId] = field(default_factory=Counter)  # whose lines these are
    missing: list[int] = field(default_factory=list)  # pieces between others, or before the file itself
    begun_late: bool = False

    def note(self, number: int, line: Line) -> None:
        """Take in one line."""
        record = line.record
        if record is None:
            self.wrong[number] = line.wrong
            return
        self.nodes[record["node"]] += 1
        if record["node"] != self.node:
            self.wrong[number] = FOREIGN
            return
        kind = record["kind"]
        if kind == "node_started" and not (line.carried and self.lives and self.lives[-1].name[1] == record["epoch"]):
            self.lives.append(Life((self.node, record["epoch"]), number, late=line.carried))
        if not self.lives or self.lives[-1].stopped and kind not in OF_THE_SHELL:
            self.wrong[number] = BEHIND if self.lives else LIFELESS
            return
        self._note(self.lives[-1], number, line, record)

    def _note(self, life: Life, number: int, line: Line, record: Record) -> None:
        kind = record["kind"]
        if line.carried and life.times and record["t"] < life.times[-1]:
            self.wrong[number] = ""  # it stood before, too, and nothing is missing without it
            return
        self.kinds[kind] += 1
        if line.unknown:
            self.unknown[kind] += 1
        if kind in OF_THE_SHELL:
            life.movable.add(number)
            self.lost += record.get("records", 0) if kind == "records_lost" else 0
            return
        life.lines.append(number)
        life.times.append(record["t"])
        if kind == "traffic":
            life.reports.append(record["t"])
        named = publisher(record["event"]) if kind == "published" else (self.node, record["epoch"]) if kind == "node_stopped" else None
        if named is not None and named != life.name:
            life.others.add(named)
            life.foreign += 1
            self.wrong[number] = OTHERS
        life.stopped |= kind == "node_stopped" and named == life.name

    def settle(self) -> None:
        """All lines are in: which stand out of their life's order, and which lives are mixed."""
        known = [life.name for life in self.lives]
        for k, life in enumerate(self.lives):
            odd = _disorder(life.times, life.late)
            self.wrong |= {life.lines[i]: DISORDER for i in odd}
            doubtful = len(odd) + life.foreign  # also of a life whose start is on no line
            if doubtful >= MIXED[0] and doubtful >= MIXED[1] * len(life.times):
                for name in {life.name, *(life.others & set(known)), *self._running(k)}:
                    self.mixed[name] = "its file mixes its records with those of another life"
            if known.count(life.name) > 1:
                self.mixed[life.name] = "two lives of its node have this epoch"

    def _running(self, k: int) -> list[LifeId]:
        """The life before this one, unless it had ended."""
        return [self.lives[k - 1].name] if k and not self.lives[k - 1].stopped else []


def pauses(life: Life) -> list[tuple[float, float]]:
    """From when to when of its clock nothing is on record, though its reports on traffic come more often: also behind its
    start, and before its end in order."""
    between = [b - a for a, b in pairwise(sorted(life.reports))]
    if len(between) < FEW:
        return []
    most = HOLE * median(between) + 1.0
    return [(a, b) for a, b in pairwise(sorted(life.times)) if b - a > most]


def survey(path: Path, node: NodeId) -> Survey:
    found = Survey(node, path)
    for number, line in enumerate(read(path)):
        found.note(number, line)
    found.settle()
    numbers = [int(piece.suffix[1:]) for piece in pieces(path)]
    found.begun_late = bool(numbers) and numbers[0] > 1
    found.missing = sorted(set(range(numbers[0], numbers[-1])) - set(numbers)) if numbers else []
    if (last := _piece_before(path)) > max(numbers, default=0):
        found.missing.append(last)
    return found


def _piece_before(path: Path) -> int:
    """The number of the piece before the file itself by the file's own word, 0 for none: who copies `*.jsonl` leaves all
    pieces behind."""
    first = next(map(_checked, _raw(path)), Line(None)).record
    return int(first["piece"]) - 1 if first is not None and first["kind"] == "continued" else 0


def _disorder(times: array[float], late: bool) -> set[int]:
    """Which of these times, in the order of their lines, stand out of order: all but a longest run that never falls,
    and the few at an end of it that a long pause cuts off."""
    kept = list(range(len(times)))
    if any(times[i] < times[i - 1] for i in range(1, len(times))):
        kept = _longest_rise(times)
    begin, end = 0, len(kept)
    if len(kept) >= 2 * FEW:
        for k in range(1, FEW):
            if not late and times[kept[k]] - times[kept[k - 1]] > PAUSE:
                begin = k
            if times[kept[-k]] - times[kept[-k - 1]] > PAUSE:
                end = len(kept) - k
    return set(range(len(times))) - set(kept[begin:end])


def _longest_rise(times: array[float]) -> list[int]:
    """Places of a longest subsequence that never falls (patience sorting, Fredman 1975)."""
    tails: list[float] = []  # the least last time of a rise of each length
    ends: list[int] = []
    before = array("q", bytes(8 * len(times)))
    for i, t in enumerate(times):
        length = bisect_right(tails, t)
        before[i] = ends[length - 1] if length else -1
        if length == len(tails):
            tails.append(t)
            ends.append(i)
        else:
            tails[length], ends[length] = t, i
    rise, i = [], ends[-1] if ends else -1
    while i >= 0:
        rise.append(i)
        i = before[i]
    return rise[::-1]


def first_node(path: Path) -> NodeId | None:
    """Whose records a file holds, by its first."""
    return next((line.record["node"] for line in read(path) if line.record is not None), None)


