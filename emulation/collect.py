"""A run directory (world `field`) from what field nodes recorded, each by its own clock, for the analysis.

The files of a node are put together from their pieces, the clocks of all lives are aligned
(`emulation.alignment`), and every time is written anew, in s since the first node began. Nobody recorded which
radio links existed, so there is no world.jsonl and no physical bound.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import tomli_w

from emulation.alignment import WALL, Clock, Life, LifeId, align
from emulation.records import AppendOnly
from emulation.rundir import COMPLETE, RunDirectory
from node.config import NodeConfig
from node.ids import NodeId
from node.shell.logs import pieces

MOST_ID = 9_999  # the analysis has a row for every id up to the highest
MOST_CLOCKS = 60  # that a manifest names
DEADLINE, GRACE = 10.0, 5.0  # s, as a scenario's
LATEST = 1e10  # s, of unix time: the year 2286
TELLING = ("node_started", "clock", "datagram_sent", "datagram_heard", "published", "delivered")
_HEAD = re.compile(rb'\{"t":(-?\d+(?:\.\d*)?(?:e-?\d+)?),"node":(\d{1,10}),"kind":"(\w+)"')


class CollectError(Exception):
    """The files cannot be put together; str() is one line with the cure."""


@dataclass(frozen=True)
class Collected:
    """What became of them."""

    path: Path
    nodes: list[NodeId]
    duration: float  # s
    clocks: dict[LifeId, Clock]
    left_out: int  # lines that are no records, or of no life
    moved: int  # deliveries that were put at the time of their publication
    begun_late: list[NodeId]  # whose oldest records the disk budget removed


def collect(sources: Sequence[Path], out: Path, config: NodeConfig) -> Collected:
    """Make the run directory `out` from record files of nodes, or folders of such. Raises CollectError, RunDirError
    and DiskFull."""
    files = _files(sources)
    gathered = _Gathered()
    for node, path in files.items():
        gathered.take(path)
    if not gathered.lives:
        raise CollectError(f"{_names(sources)}: no life of a node is recorded there; give files that "
                           "roamcast node "
                           "--records wrote")
    clocks = align(gathered.lives)
    duration = max(clocks[name].run_time(life.last) for name, life in gathered.lives.items())
    hosts = max(files) + 1
    made = RunDirectory(out, _scenario(out.name, hosts, duration, config), world="field", now=lambda: duration)
    writer = _Writer(clocks, gathered)
    for node, path in files.items():
        writer.write(path, out / "nodes" / f"{node}.jsonl")
    made.manifest["started"] = _wall(gathered.lives, clocks)
    made.finish(COMPLETE, duration, clocks=_told(clocks))
    return Collected(out, sorted(files), duration, clocks, writer.left_out, writer.moved, gathered.begun_late)


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a rotated file, oldest first: what a piece carries over from the one before is left out where
    that one is there, and so is what is torn."""
    skip, before = 0, None
    for piece in [*pieces(path), path]:
        with piece.open("rb") as file:
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                if skip:
                    skip -= 1
                elif b'"kind":"continued"' in raw:
                    found = _parsed(raw) or {}
                    skip = found.get("carried", 0) if before == found.get("piece", 0) - 1 else 0
                else:
                    yield raw
        before = int(piece.suffix[1:]) if piece != path else None


def _parsed(raw: bytes) -> dict | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _files(sources: Sequence[Path]) -> dict[NodeId, Path]:
    """The record file of each node. Raises CollectError."""
    found: dict[NodeId, Path] = {}
    for source in sources:
        inside = sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
        if not inside:
            raise CollectError(f"{source}: no records in this folder; they are files that end in .jsonl")
        for path in inside:
            node = _node(path)
            if node in found:
                raise CollectError(f"{path}: of node {node}, and so is {found[node]}; give one of them, or "
                                   "two nodes had one id")
            if node > MOST_ID:
                raise CollectError(f"{path}: of node {node}; the analysis takes ids up to {MOST_ID}: number "
                                   "the nodes from 0")
            found[node] = path
    return dict(sorted(found.items()))


def _node(path: Path) -> NodeId:
    try:
        for raw in lines(path):
            if match := _HEAD.match(raw):
                return int(match[2])
    except OSError as error:
        raise CollectError(f"{path}: {error.strerror}; give files that roamcast node --records wrote") from None
    raise CollectError(f"{path}: no record of a node; give files that roamcast node --records wrote")


class _Gathered:
    """What all files tell of clocks and of publications."""

    def __init__(self) -> None:
        self.lives: dict[LifeId, Life] = {}
        self.published: dict[str, tuple[LifeId, float]] = {}  # event -> by whose clock, when
        self.begun_late: list[NodeId] = []

    def take(self, path: Path) -> None:
        """The records of one node."""
        name = life = None
        for raw in lines(path):
            match = _HEAD.match(raw)
            if match is None:
                continue
            t, kind = float(match[1]), match[3].decode()
            record = _parsed(raw) if kind in TELLING else None
            if kind == "node_started" and record is not None and isinstance(record.get("epoch"), int):
                name = int(match[2]), record["epoch"]
                life = self.lives.setdefault(name, Life())
                life.first = min(life.first, t)
            if life is None:
                continue
            life.last = max(life.last, t)
            if record is not None:
                try:
                    self._note(name, life, t, record)
                except (KeyError, TypeError, ValueError, AttributeError):
                    continue  # damaged: it tells nothing
        first = pieces(path)[:1]
        if first and first[0].suffix != ".1":
            self.begun_late.append(_node(path))

    def _note(self, name: LifeId, life: Life, t: float, record: dict) -> None:
        match record["kind"]:
            case "clock":
                life.wall = _number(record["wall"]) - t
            case "datagram_sent":
                life.sent[int(record["counter"])] = t
            case "datagram_heard":
                life.heard[int(record["other"]), int(record["epoch"])].append((int(record["counter"]), t))
            case "published":
                self.published[str(record["event"])] = name, t
            case "delivered":
                source, epoch, _ = map(int, record["event"].split("."))
                if (source, epoch) != name:
                    life.followed[source, epoch].append((_number(record["published"]), t))


def _number(value: object) -> float:
    """A time as a record can hold it. Raises ValueError or TypeError."""
    if not 0 <= float(value) < LATEST:
        raise ValueError
    return float(value)


class _Writer:
    """Writes records by the run's time."""

    def __init__(self, clocks: dict[LifeId, Clock], gathered: _Gathered) -> None:
        self.left_out = self.moved = 0
        self._clocks = clocks
        self._published = gathered.published

    def write(self, source: Path, to: Path) -> None:
        """The records of one node, all its lives."""
        file, clock = AppendOnly(to), None
        for raw in lines(source):
            match = _HEAD.match(raw)
            if match is not None and match[3] == b"node_started":
                clock = self._clocks.get((int(match[2]), (_parsed(raw) or {}).get("epoch", 0)))
            if match is None or clock is None:
                self.left_out += 1
                continue
            t = max(clock.run_time(float(match[1])), 0.0)
            if match[3] == b"delivered":
                file.append(self._delivered(raw, t))
            else:
                file.append(b'{"t":%s%s' % (f"{t:.6f}".encode(), raw[match.end(1):]))
        file.flush()

    def _delivered(self, raw: bytes, t: float) -> bytes:
        """By the run's time on both sides; what clocks a little off put before its publication is put there."""
        record = _parsed(raw) or {}
        publisher, at = self._published.get(str(record.get("event")), (None, 0.0))
        if publisher is not None:
            began = max(self._clocks[publisher].run_time(at), 0.0)
            if t < began:
                self.moved += 1
                t = began
            record["published"] = round(began, 6)
        record["t"] = round(t, 6)
        return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _scenario(name: str, hosts: int, duration: float, config: NodeConfig) -> str:
    """The scenario that the field was, as far as anybody knows."""
    run = {"name": name, "world": "field", "seed": 0, "duration": duration, "warm_up": 0.0, "deadline": DEADLINE,
           "grace": GRACE, "window": [0.0, max(duration - DEADLINE, 0.0)]}
    return tomli_w.dumps({"run": run, "hosts": {"count": hosts}, "node": asdict(config) | {"secret": ""}})


def _told(clocks: dict[LifeId, Clock]) -> list[dict[str, object]]:
    """For the manifest."""
    return [{"node": node, "epoch": epoch, "by": clock.by,
             "wrong": None if math.isnan(clock.wrong) else round(clock.wrong, 6)}
            for (node, epoch), clock in sorted(clocks.items())[:MOST_CLOCKS]]


def _wall(lives: dict[LifeId, Life], clocks: dict[LifeId, Clock]) -> str | None:
    """The wall clock at time 0 of the run by the latest of the nodes' clocks: one that stood still is late."""
    walls = [life.wall - clocks[name].offset(life.first) for name, life in lives.items()
             if life.wall is not None and clocks[name].by != WALL]
    return datetime.fromtimestamp(max(walls), UTC).isoformat(timespec="seconds") if walls else None


def _names(sources: Sequence[Path]) -> str:
    return ", ".join(map(str, sources[:3])) + (" and others" if len(sources) > 3 else "")
