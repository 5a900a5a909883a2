"""A run directory (world `field`) from what field nodes recorded, each by its own clock, for the analysis.

The files of a node are put together from their pieces and checked (`emulation.fieldlog`), the clocks of all lives are
aligned (`emulation.alignment`), and every time is written anew, in s since the first node began. Nobody recorded which
radio links existed, so there is no world.jsonl and no physical bound. The manifest and the command's output say
what was left out: `left_out` lists lives, `notes` all of it in sentences.
"""
from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import tomli_w

from emulation import fieldlog
from emulation.alignment import WALL, Aligned, Clock, Life, LifeId, NoSuchWalk, Walk, align
from emulation.fieldlog import MIXED, Record, Survey, publisher
from emulation.records import AppendOnly
from emulation.rundir import COMPLETE, RunDirectory
from node.config import NodeConfig
from node.ids import NodeId
from node.shell.locks import LOCK
from node.shell.logs import pieces
from topologies.run import Run

MOST_ID = 9_999  # the analysis has tables that grow with the highest id
MOST_CLOCKS = 60  # that a manifest names
STEP = 2.0  # s by which a wall clock jumps ahead; less is correction
NAMED = 6  # kinds, lives or files that a sentence names
QUIET = 2.0  # intervals of its reports on traffic that a living node may be without a record, with some to spare
DEADLINE, GRACE = (float(Run.model_fields[key].default) for key in ("deadline", "grace"))  # s
UNTOLD = ("the nodes' settings were not given: [node] in the report shows the defaults, and reasons for losses depend on them; pass "
          "the real ones with collect --config node.toml")


class CollectError(Exception):
    """The files cannot be put together; str() is one line with the cure."""


@dataclass(frozen=True)
class Collected:
    """What became of them."""

    path: Path
    nodes: list[NodeId]  # those of which at least one life is analysed
    duration: float  # s
    clocks: dict[LifeId, Clock]
    lives_left_out: dict[LifeId, str]  # and why
    left_out: int  # lines that are no records, or of no life
    moved: int  # deliveries that were put at the time of their publication
    notes: list[str]  # what to know besides, a sentence each
    when: str  # it was, by the wall clocks
    early: list[str]  # lives that end before the walk does, in sentences


def collect(sources: Sequence[Path], out: Path, config: NodeConfig | None = None, walk: int | None = None) -> Collected:
    """Make the run directory `out` from record files of nodes, or folders of such: all of it or nothing. `config`: of the
    nodes; None where nobody knows it. `walk`: the number of the one to take, where there are several; None for that of the
    most nodes. Raises CollectError, RunDirError and DiskFull."""
    told, config = config is not None, config or NodeConfig()
    files = _files(sources)
    surveys = {node: fieldlog.survey(path, node) for node, path in files.items()}
    for found in surveys.values():
        _refuse_mixed_nodes(found)
    gathered = _Gathered()
    for found in surveys.values():
        gathered.take(found)
    if not gathered.lives:
        raise CollectError(_no_life(sources, surveys))
    try:
        aligned = align(gathered.lives, walk)
    except NoSuchWalk as error:
        raise CollectError(_no_walk(walk, error.walks)) from None
    left_out = dict(sorted((aligned.left_out | {name: why for found in surveys.values()
                                                for name, why in found.mixed.items()}).items()))
    clocks = aligned.clocks
    duration = max(clock.run_time(gathered.lives[name].last) for name, clock in clocks.items())
    nodes = sorted({node for node, _ in clocks})
    unread = list(_unread(sources, files))  # before there is an output, which may lie in one of these folders
    made = RunDirectory(out, _scenario(out.name, nodes, duration, config), world="field", now=lambda: duration)
    try:
        writer = _Writer(clocks, gathered)
        for node in nodes:
            writer.write(surveys[node], out / "nodes" / f"{node}.jsonl")
        notes = [*_walks(aligned), *_lives(left_out), *_forgotten(gathered, surveys, clocks), *_slept(gathered, clocks), *_short(duration),
                 *_notes(surveys, aligned, writer), *unread,
                 *([] if told else [UNTOLD])]
        made.manifest["started"] = _wall(gathered.lives, clocks)
        lives = [{"node": node, "epoch": epoch, "why": why} for (node, epoch), why in left_out.items()]
        made.finish(COMPLETE, duration, clocks=_told(clocks), nodes=nodes, left_out=lives, notes=notes)
    except BaseException:  # a full disk, Ctrl-C: half of it would look like a run
        made.discard()
        raise
    wrong = sum(bool(why) for found in surveys.values() for why in found.wrong.values())
    # the analysis finds the early ends, too, and says them: they are not in the manifest
    return Collected(out, nodes, duration, clocks, left_out, wrong, writer.moved, notes, _when(aligned.walks[aligned.walk - 1]),
                     list(_early(surveys, gathered.lives, clocks, duration, config)))


def lines(path: Path) -> Iterator[bytes]:
    """The records of a rotated file as they were written, oldest first."""
    for line in fieldlog.read(path):
        if line.record is not None:
            yield _written(line.record)


def _written(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


# ---- files ----------------------------------------------------------------------------------------------
def _files(sources: Sequence[Path]) -> dict[NodeId, Path]:
    """The record file of each node. Raises CollectError."""
    found: dict[NodeId, Path] = {}
    for source in sources:
        inside = sorted(source.glob("*.jsonl")) if source.is_dir() else [source]
        if not inside:
            raise CollectError(f"{source}: no records in this folder; give one with .jsonl files")
        for path in inside:
            _refuse_part(path)
            node = _node(path)
            if node in found:
                raise CollectError(f"{path}: records of node {node}, and so has {found[node]}; give one file per "
                                   "node, and each node its own id")
            if node > MOST_ID:
                raise CollectError(f"{path}: records of node {node}; the analysis takes ids up to {MOST_ID}: give "
                                   "the nodes lower ones")
            found[node] = path
    return dict(sorted(found.items()))


def _refuse_part(path: Path) -> None:
    """Refuse a piece without its file, which is only a part of what its node did, and anything that is not a regular file."""
    whole = path.with_suffix("")
    if path.suffix[1:].isdecimal() and (whole.exists() or len(pieces(whole)) > 1):
        raise CollectError(f"{path}: a piece of {whole}; give {whole}, which brings its pieces along "
                           "(if it is lost, make an empty one)")
    for piece in (path, *pieces(path)):
        if piece.exists() and not piece.is_file():
            raise CollectError(f"{piece}: not a regular file; give files that roamcast node --records wrote")


def _node(path: Path) -> NodeId:
    try:
        node = fieldlog.first_node(path)
    except OSError as error:
        raise CollectError(f"{path}: {error.strerror}; give files that roamcast node --records wrote") from None
    if node is None:
        raise CollectError(f"{path}: holds no record of a node; give files that roamcast node --records wrote")
    return node


def _refuse_mixed_nodes(found: Survey) -> None:
    """One line of another node is damage; many are another node's records, of which nothing would be said."""
    others = found.nodes.total() - found.nodes[found.node]
    if others >= MIXED[0] and others >= MIXED[1] * found.nodes.total():
        both = " and ".join(map(str, sorted(found.nodes)[:NAMED]))
        raise CollectError(f"{found.path}: mixes records of nodes {both}; give each node's records in a file of "
                           "its own")


def _no_life(sources: Sequence[Path], surveys: dict[NodeId, Survey]) -> str:
    mixed = [name for found in surveys.values() for name in found.mixed]
    if mixed:
        return (f"{_names(sources)}: no life can be analysed: the file of {_several(mixed)} mixes its records with those of "
                "another life; two nodes wrote it at once")
    return f"{_names(sources)}: found no record of a life; give files that roamcast node --records wrote"


def _unread(sources: Sequence[Path], files: dict[NodeId, Path]) -> Iterator[str]:
    """What lies in the folders and was not read."""
    read = {path for file in files.values() for path in (file, *pieces(file))}
    for source in sources:
        if source.is_dir():
            left = sorted(p.name for p in source.iterdir() if p not in read and p.is_file() and p.suffix != LOCK)
            if left:
                some = ", ".join(left[:NAMED]) + (f" and {len(left) - NAMED} more" if len(left) > NAMED else "")
                yield f"{source}: not read, because neither NAME.jsonl nor a piece of one: {some}"
            if below := sorted({p.parent.name for p in source.glob("*/*.jsonl*")}):
                yield f"{source}: its subfolders with records were not read: {_several(below)}; give them too"


# ---- clocks and publications -------------------------------------------------------------------------------------
class _Gathered:
    """What all files tell of clocks and of publications."""

    def __init__(self) -> None:
        self.lives: dict[LifeId, Life] = {}
        self.published: dict[str, tuple[LifeId, float]] = {}  # event -> by whose clock, when
        self.steps: dict[LifeId, tuple[float, float]] = {}  # life -> when its wall clock jumped ahead last, and by how much (s)
        self.heard: dict[LifeId, set[LifeId]] = {}  # life -> those that it was a neighbor of, or had datagrams of

    def take(self, found: Survey) -> None:
        """The lives of one node but for those that are mixed."""
        starts = {life.start: life.name for life in found.lives}
        name: LifeId | None = None
        life: Life | None = None
        for number, line in enumerate(fieldlog.read(found.path)):
            if number in starts:
                name = starts[number]
                life = None if name in found.mixed else self.lives.setdefault(name, Life())
            if name is None or life is None or line.record is None or number in found.wrong:
                continue
            t = line.record["t"]
            if line.record["kind"] not in fieldlog.OF_THE_SHELL:
                life.first, life.last = min(life.first, t), max(life.last, t)
            self._note(name, life, t, line.record)

    def _note(self, name: LifeId, life: Life, t: float, record: Record) -> None:
        match record["kind"]:
            case "clock":
                life.walls.append(record["wall"] - t)
                if len(life.walls) > 1 and (step := life.walls[-1] - life.walls[-2]) > STEP:
                    self.steps[name] = t, step
            case "datagram_sent":
                life.sent[record["counter"]] = t
            case "datagram_heard":
                life.heard[record["other"], record["epoch"]].append((record["counter"], t))
                self.heard.setdefault(name, set()).add((record["other"], record["epoch"]))
            case "neighbor_up":
                self.heard.setdefault(name, set()).add((record["neighbor"], record["epoch"]))
            case "published":
                self.published[record["event"]] = name, t
            case "delivered":
                other = publisher(record["event"])
                if other != name:
                    life.followed[other].append((record["published"], t))


class _Writer:
    """Writes records by the run's time."""

    def __init__(self, clocks: dict[LifeId, Clock], gathered: _Gathered) -> None:
        self.moved = 0
        self.untold = 0  # deliveries of what lives without a clock published
        self.furthest = 0.0  # s that a delivery was moved
        self._clocks = clocks
        self._lives = gathered.lives
        self._published = gathered.published

    def write(self, found: Survey, to: Path) -> None:
        """The records of one node, all its lives that have a clock."""
        file = AppendOnly(to)
        clock: Clock | None = None
        life: Life | None = None
        starts = {life.start: life.name for life in found.lives}
        for number, line in enumerate(fieldlog.read(found.path)):
            if number in starts:
                clock, life = self._clocks.get(starts[number]), self._lives.get(starts[number])
            if clock is None or life is None or line.record is None or number in found.wrong and number not in starts:
                continue
            record = line.record
            # a life begins with its start, also where that has a time that cannot be
            own = min(max(record["t"], life.first), life.last)
            record["t"] = max(round(clock.run_time(own), 6), 0.0)
            if record["kind"] == "delivered":
                self._deliver(record)
            file.append(_written(record))
        file.flush()

    def _deliver(self, record: Record) -> None:
        """By the run's time on both sides; what clocks a little off put before its publication is put there."""
        # where its record is lost, the delivery says when it was published, by the publisher's clock
        by, at = self._published.get(record["event"], (publisher(record["event"]), record["published"]))
        if by not in self._clocks:
            self.untold += 1
            return
        began = max(round(self._clocks[by].run_time(at), 6), 0.0)
        if record["t"] < began:
            self.moved += 1
            self.furthest = max(self.furthest, began - record["t"])
            record["t"] = began
        record["published"] = began


def _scenario(name: str, nodes: Sequence[NodeId], duration: float, config: NodeConfig) -> str:
    """The scenario that the field was, as far as anybody knows."""
    run = {"name": name, "world": "field", "seed": 0, "duration": duration, "warm_up": 0.0, "deadline": DEADLINE,
           "grace": GRACE, "window": [0.0, max(duration - DEADLINE, 0.0)]}
    return tomli_w.dumps({"run": run, "hosts": {"count": len(nodes)}, "node": asdict(config) | {"secret": ""}})


# ---- notes -----------------------------------------------------------------------------------
def _walks(aligned: Aligned) -> Iterator[str]:
    """Which walk this is, where the records hold others, of lives that are left out."""
    others = [one for one in aligned.walks if not aligned.clocks.keys() & set(one.lives)]
    if others:
        taken = aligned.walks[aligned.walk - 1]
        some = "; ".join(f"{one.number}, {_walk(one)}" for one in others[:NAMED])
        more = f"; and {len(others) - NAMED} more" if len(others) > NAMED else ""
        yield (f"these records hold {len(aligned.walks)} walks; this is number {taken.number}, {_walk(taken)}; left out: {some}{more}; "
               "choose another with --walk NUMBER")


def _no_walk(number: int | None, walks: Sequence[Walk]) -> str:
    there = "; ".join(f"{one.number}, {_walk(one)}" for one in walks[:NAMED])
    return f"--walk {number}: the records hold {_count(len(walks), 'walk')}: {there}" + (
        f"; and {len(walks) - NAMED} more" if len(walks) > NAMED else "") + "; give one of these numbers"


def _walk(walk: Walk) -> str:
    return f"{_when(walk)} ({_of(sorted({node for node, _ in walk.lives}))})"


def _when(walk: Walk) -> str:
    if walk.began is None:
        return f"{walk.seconds:,.0f} s at an unknown time (no wall clock can be believed)"
    began, ended = (datetime.fromtimestamp(t, UTC) for t in (walk.began, walk.began + walk.seconds))
    return f"{began:%Y-%m-%d %H:%M:%S} to {ended:{'%H:%M:%S' if began.date() == ended.date() else '%Y-%m-%d %H:%M:%S'}} UTC"


def _early(surveys: dict[NodeId, Survey], lives: dict[LifeId, Life], clocks: dict[LifeId, Clock], duration: float,
           config: NodeConfig) -> Iterator[str]:
    """Nodes whose records break off: the last life has no end on record, and is over before the walk is."""
    for node, found in surveys.items():
        ends = [(clocks[life.name].run_time(lives[life.name].last), life.stopped) for life in found.lives if life.name in clocks]
        if ends and not ends[-1][1] and ends[-1][0] < duration - QUIET * max(config.traffic_interval, config.hello_interval):
            yield (f"host {node}'s records end at {ends[-1][0]:.1f} s of {duration:.1f} s, without the end of its life: the power failed, "
                   "or the file is not complete. Its life counts as ended there")


def _lives(left_out: dict[LifeId, str]) -> list[str]:
    return [f"node {node}, life {epoch} is left out: {why}" for (node, epoch), why in left_out.items()]


def _forgotten(gathered: _Gathered, surveys: dict[NodeId, Survey], clocks: dict[LifeId, Clock]) -> Iterator[str]:
    """Lives that were there by the records of others and have none here: of a device whose card nobody read."""
    known = {life.name for found in surveys.values() for life in found.lives}
    by: dict[LifeId, set[NodeId]] = {}
    for name in clocks:
        for other in gathered.heard.get(name, set()) - known:
            by.setdefault(other, set()).add(name[0])
    for node in sorted({node for node, _ in by}):
        lives = sorted(life for life in by if life[0] == node)
        what = f"node {node}" if node not in surveys else _several(lives)
        yield (f"{what}: heard by {_of(sorted(set().union(*(by[life] for life in lives))))}, and no records of it are here: what it published "
               "and received is missing; give its file, too")


def _slept(gathered: _Gathered, clocks: dict[LifeId, Clock]) -> Iterator[str]:
    """Lives whose wall clock jumped ahead when they had heard others and before they heard nobody any more. A laptop that slept
    shows no more than that: the clock of its records stands still meanwhile."""
    for name, clock in clocks.items():
        if name not in gathered.steps:
            continue
        (at, step), life = gathered.steps[name], gathered.lives[name]
        came = [t for heard in life.heard.values() for _, t in heard] + [t for followed in life.followed.values() for _, t in followed]
        if came and max(came) < at < life.last:
            yield (f"node {name[0]}: its wall clock jumped ahead by {step:.1f} s before {clock.run_time(at):.1f} s, and it heard nobody after that: "
                   "the clock was set, or the host slept; if it slept, all that it recorded later lies that much too early here")


def _short(duration: float) -> list[str]:
    """What has no time left to be delivered in is not counted: of a short run, nothing is."""
    if duration > DEADLINE:
        return []
    return [f"the records cover {duration:.1f} s, and an event counts only if {DEADLINE:g} s remain to deliver it: none counts; "
            "let the nodes run longer"]


def _notes(surveys: dict[NodeId, Survey], aligned: Aligned, writer: _Writer) -> Iterator[str]:
    for why, count in Counter(why for found in surveys.values() for why in found.wrong.values() if why).items():
        nodes = [node for node, found in surveys.items() if why in found.wrong.values()]
        yield f"{_count(count, 'line')} of {_of(nodes)} left out: {why}"
    for (a, b), (count, worst) in aligned.disagreeing.items():
        yield (f"{_count(count, 'record')} of when nodes {a[0]} and {b[0]} heard each other left out of the alignment of their clocks: "
               f"up to {worst:.3g} s off from the rest")
    if writer.moved:
        yield (f"{_count(writer.moved, 'delivery', 'deliveries')} moved to the time of publication: clocks that are "
               f"a little off put them up to {1000 * writer.furthest:,.1f} ms before it")
    if writer.untold:
        yield (f"{_count(writer.untold, 'delivery', 'deliveries')} of events from lives that are not here: their time of publication "
               "is by a clock that nothing aligns with the others")
    for node, found in surveys.items():
        yield from _notes_of(node, found)
        yield from _holes(node, found, aligned.clocks)
    if len(aligned.clocks) > MOST_CLOCKS:
        yield f"the manifest names the clocks of {MOST_CLOCKS} lives; there are {len(aligned.clocks) - MOST_CLOCKS} more"


def _notes_of(node: NodeId, found: Survey) -> Iterator[str]:
    if found.begun_late:
        yield (f"node {node}: its oldest records were removed to keep within its disk limit; what it did then is "
               "unknown")
    if found.missing:
        yield (f"node {node}: {_several([f'{found.path.name}.{k}' for k in found.missing])} missing among the pieces of its "
               "records; what it did then is unknown")
    if found.lost:
        yield f"node {node}: {_count(found.lost, 'record')} could not be written; what they said is unknown"
    if found.kinds["identity_conflict"]:
        yield f"node {node}: two living nodes had this id; their records of each other are mixed up"
    if found.unknown:
        yield (f"node {node}: {_count(found.unknown.total(), 'record')} from another version of Roamcast "
               f"({_several(sorted(found.unknown))}): what this version does not know is ignored")


def _holes(node: NodeId, found: Survey, clocks: dict[LifeId, Clock]) -> Iterator[str]:
    holes = [tuple(map(clocks[life.name].run_time, hole)) for life in found.lives if life.name in clocks for hole in fieldlog.pauses(life)]
    if holes:
        some = ", ".join(f"{a:.1f} to {b:.1f} s" for a, b in holes[:NAMED])
        yield (f"node {node}: no records from {some}" + (f" and {len(holes) - NAMED} more times" if len(holes) > NAMED else "")
               + ": it stood still, or records are missing, and what it did then is unknown")


def _count(number: int, one: str, more: str = "") -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {more or one + 's'}"


def _of(nodes: Sequence[NodeId]) -> str:
    return f"node {nodes[0]}" if len(nodes) == 1 else "nodes " + _several(nodes)


def _several(names: Sequence[object]) -> str:
    some = [f"node {name[0]}, life {name[1]}" if isinstance(name, tuple) else str(name) for name in names[:NAMED]]
    return ", ".join(some) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _told(clocks: dict[LifeId, Clock]) -> list[dict[str, object]]:
    """For the manifest."""
    return [{"node": node, "epoch": epoch, "by": clock.by,
             "wrong": None if math.isnan(clock.wrong) else round(clock.wrong, 6)}
            for (node, epoch), clock in sorted(clocks.items())[:MOST_CLOCKS]]


def _wall(lives: dict[LifeId, Life], clocks: dict[LifeId, Clock]) -> str | None:
    """The wall clock at time 0 of the run by the latest of the nodes' clocks: one that stood still is late."""
    walls = [wall - clock.offset(lives[name].first) for name, clock in clocks.items()
             if (wall := lives[name].wall) is not None and clock.by != WALL]
    return datetime.fromtimestamp(max(walls), UTC).isoformat(timespec="seconds") if walls else None


def _names(sources: Sequence[Path]) -> str:
    return ", ".join(map(str, sources[:3])) + (" and others" if len(sources) > 3 else "")
