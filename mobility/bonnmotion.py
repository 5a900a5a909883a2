"""BonnMotion's .movements files: one line of `t x y` (or `t x y z`) waypoints per node.

The .params file next to it has the trace's duration and number of nodes. A 3D file says so in a line "#3D" or
by J=3D in its .params. The DisasterArea model writes another dialect, one number per line: `t x y status`, with
a new node wherever t decreases; status 2 = leaves, 1 = is back, 0 = no change.

Any table of numbers could be such a file. So an ambiguous file is refused until the scenario says which
reading is right, and a file that looks like another format is refused unless .params give the right number of
nodes. Remaining doubts become notes (mobility/doubts.py).
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mobility import comments, doubts, lookalikes, marks
from mobility.area import outside
from mobility.movement import Movement
from mobility.textfile import (
    FARTHEST,
    MOST_NODES,
    NotUnderstood,
    TraceError,
    base_name,
    companion,
    read_lines,
    write_text,
)
from mobility.trajectory import Trajectory

LEAVES, RETURNS = 2.0, 1.0
ENDINGS = (".movements",)
_NOTHING = np.empty(0)
_AT_ONCE = 1 << 20  # characters of a line that are split at once; more would take memory with their words
_DIMENSIONS = re.compile(r"\s*#\s*([23])\s*D\b", re.IGNORECASE)
_SAYING = re.compile(r"\s*#+\s*(duration|nn|J)\s*(?:[=:]|\s\d)", re.IGNORECASE)
_NAMED = re.compile(r"\s*#+\s*(node|host|id|vehicle|user|person|device)\b\W*(\d{1,9})\b(?!\.\d)", re.IGNORECASE)
_AFTER = 1.0  # s; GPXImport's tracks end so much after their duration
_FIRST = 40  # lines by which a table of another format is told


@dataclass(slots=True)
class _Lines:
    """What a file holds, before it is known what its numbers mean."""

    rows: list[np.ndarray] = field(default_factory=list)  # the numbers of a line each
    numbers: list[int] = field(default_factory=list)  # of those lines in the file
    first: list[list[str]] = field(default_factory=list)  # the words of the first of them
    singles: array[float] = field(default_factory=lambda: array("d"))  # of a file of one number a line
    at: array[int] = field(default_factory=lambda: array("q"))  # their lines in the file
    dimensions: set[int] = field(default_factory=set)  # that comments tell
    asides: list[str] = field(default_factory=list)  # sentences about comments
    doubts: list[str] = field(default_factory=list)  # sentences of the reader of lines
    misnamed: list[str] = field(default_factory=list)  # a sentence about a comment that numbers hosts in another way
    off: list[int] = field(default_factory=list)  # lines of nodes that are comments
    comments: list[tuple[int, str]] = field(default_factory=list)  # the first of them, with their lines
    breaks: dict[int, int] = field(default_factory=dict)  # how many numbers stood alone before a line that may part nodes -> its line
    blank: list[int] = field(default_factory=list)  # lines without a word between those of nodes


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What the .params beside a trace says; None for what it does not."""

    path: Path
    duration: float | None = None
    nodes: int | None = None
    dimensions: int | None = None
    area: tuple[float | None, ...] = (None, None, None)  # m: x, y and z
    idle: bool = False  # the file is there, and holds nothing of this
    doubts: tuple[str, ...] = ()  # sentences about lines that say nothing


def read(path: Path, dimensions: int | None = None) -> Movement:
    """Nodes are named by their line's number among nodes, from "0". Raises TraceError.

    dimensions: 2 or 3, for a file that does not say which and may be read as either.
    """
    lines = _take(path)
    parameters = _parameters(path)
    told = _told_dimensions(path, lines, parameters, dimensions)
    notes = [*lines.doubts, *lines.asides[:3], *lines.misnamed]
    if 0 < len(lines.singles) < 4:  # too few for the dialect of one number a line
        _node(path, lines.at[0], np.array(lines.singles[:1]), 3)
    if lines.singles:
        if told == 3:
            raise TraceError(path, None, "found one number per line (DisasterArea) in 3D; expected 2D, `t x y status`")
        nodes = _disaster_area(path, lines, parameters)
        trajectories = [Trajectory(node[:, 0], node[:, 1:3], _lives(node)) for node in nodes]
        notes.append("one number per line is read as DisasterArea's dialect, `t x y status`, with a new node "
                     "wherever t decreases")
        notes += [*comments.doubts(lines.comments, 4, status=True), *_there_already(nodes)]
        if parameters.nodes is None:
            notes += [*_unparted(lines, nodes), *doubts.order(trajectories)]
    elif lines.rows:
        width = 1 + (told or _only_reading(path, lines))
        if parameters.nodes is None and all(len(row) % width == 0 for row in lines.rows):
            _refuse_tables(path, lines, parameters)
        trajectories = _nodes(path, lines, width)
        if not lines.misnamed:
            notes += comments.labels(lines.comments, lines.numbers)
        notes += [*comments.doubts(lines.comments, width), *(marks.heights(trajectories) if width == 4 else ())]
        if parameters.nodes is None:
            notes += _blank(lines)
            notes += _off(lines)
            notes += doubts.names(trajectories, lines.numbers[0])
            notes += [*doubts.header(trajectories, lines.numbers[0]), *doubts.counting(trajectories), *doubts.contacts(trajectories)]
            notes += doubts.order(trajectories)
        if dimensions == 3 and not lines.dimensions and not parameters.dimensions:  # the file itself does not say so
            notes += _statuses(trajectories)
    else:
        raise NotUnderstood(
            path, None, "found no node; expected a line of `t x y ...` for each node"
        )
    if parameters.nodes not in (None, len(trajectories)):
        raise TraceError(
            path,
            None,
            f"found {len(trajectories)} nodes, but nn={parameters.nodes} in {parameters.path.name} next to it; "
            "use files from one BonnMotion run",
        )
    last = max(t.times[-1] for t in trajectories)
    notes += [*_nowhere(trajectories), *marks.places(trajectories), *marks.clock(trajectories)]
    notes += _partial(trajectories, last if parameters.duration is None else -math.inf)
    notes += _beside(trajectories, parameters)
    names = [str(k) for k in range(len(trajectories))]
    if parameters.duration is None:
        return Movement(names, trajectories, last, notes,
                        f"from its last waypoint; a line duration=SECONDS in {parameters.path.name} next to it declares more")
    return Movement(names, trajectories, parameters.duration, notes, f"from duration= in {parameters.path.name}")


def _blank(lines: _Lines) -> Iterator[str]:
    """Lines that may stand for nodes without waypoints: those after them have other numbers then."""
    if lines.blank:
        yield (f"{len(lines.blank)} blank line{'s' if len(lines.blank) > 1 else ''} between those of nodes (line {lines.blank[0]}) "
               f"{'are' if len(lines.blank) > 1 else 'is'} ignored and not counted as a host")


def _off(lines: _Lines) -> Iterator[str]:
    """Nodes that somebody made comments of: those after them have other numbers now."""
    if lines.off and lines.off[0] < lines.numbers[-1]:
        yield (f"{len(lines.off)} comment{'s' if len(lines.off) > 1 else ''} of numbers only (line {lines.off[0]}): ignored and not counted as a host, so "
               "later hosts are numbered as if it were not there")


def _unparted(lines: _Lines, nodes: list[np.ndarray]) -> Iterator[str]:
    """Blank lines and comments that may part nodes of DisasterArea's dialect, where no time falls."""
    begins = {0, *np.cumsum([node.size for node in nodes]).tolist()}
    if idle := [line for count, line in lines.breaks.items() if count not in begins]:
        yield (f"found a blank line or a node's comment where no time decreases (line {idle[0]}, {len(idle)} in all): no new node begins "
               "there")


def _nowhere(trajectories: list[Trajectory]) -> Iterator[str]:
    """Places that others write for a host that is not there: all coordinates -1, where nothing else is below 0."""
    count, total = 0, 0
    for points in (t.points for t in trajectories):
        away = (points == -1).all(axis=1)
        if (points[~away] < 0).any():
            return
        count, total = count + int(away.sum()), total + len(points)
    if count:
        yield (f"{count} of {total} places {'are' if count > 1 else 'is'} -1, -1 and no others are below 0: read as places in m, not as absence; use "
               "DisasterArea's dialect for absence")


def _statuses(trajectories: list[Trajectory]) -> Iterator[str]:
    """Heights that may be DisasterArea's statuses, four numbers a waypoint."""
    heights = [t.points[:, 2] for t in trajectories]
    if any(z.any() for z in heights) and all(np.isin(z, (0.0, RETURNS, LEAVES)).all() for z in heights):
        yield ("all heights are 0, 1 or 2, like a status (DisasterArea, `t x y status`): they are read as z in m; write one number per line "
               "if they are statuses")


def _partial(trajectories: list[Trajectory], last: float) -> Iterator[str]:
    """Hosts whose waypoints do not cover the time of the others'.

    Where BonnMotion itself declares a duration, hosts that pause at its end lack a last waypoint as a rule.
    """
    first = min(t.times[0] for t in trajectories)
    late = [(t.times[0], k) for k, t in enumerate(trajectories) if t.times[0] > first and t.always_present]
    if late:
        yield (f"{len(late)} of {len(trajectories)} hosts {'begin' if len(late) > 1 else 'begins'} later than the first (host {min(late)[1]} at "
               f"{min(late)[0]:.15g} s): until then a host stays at its first place")
    early = [(t.times[-1], k) for k, t in enumerate(trajectories)
             if t.times[-1] < last and t.always_present and (t.points != t.points[0]).any()]
    if early:
        yield (f"{len(early)} of {len(trajectories)} hosts {'end' if len(early) > 1 else 'ends'} before the last (host {min(early)[1]} at "
               f"{min(early)[0]:.15g} s): from then on a host stays at its last place")


def _beside(trajectories: list[Trajectory], parameters: _Parameters) -> Iterator[str]:
    """Parameters that may be those of another run."""
    if parameters.idle:
        yield f"{parameters.path.name} next to it is ignored, because it has no line nn=, duration= or J="
    yield from parameters.doubts
    last = max(float(t.times[-1]) for t in trajectories)
    if parameters.duration is not None and last > parameters.duration + _AFTER:
        yield (f"the last waypoint is at {last:.15g} s, but {parameters.path.name} next to it says duration={parameters.duration:.15g}; check that "
               "both are from one run")
    for axis, (name, most) in enumerate(zip("xyz", parameters.area)):
        if most is None or axis >= trajectories[0].points.shape[1]:
            continue
        low = min(float(t.points[:, axis].min()) for t in trajectories)
        high = max(float(t.points[:, axis].max()) for t in trajectories)
        if (farthest := outside(low, high, most)) is not None:
            yield (f"hosts reach {name} = {farthest:.15g} m, but {parameters.path.name} next to it says {name}={most:.15g}; check that "
                   "both are from one run")


def _take(path: Path) -> _Lines:
    lines = _Lines()
    blank: list[int] = []  # since the last line of a node
    for number, line in enumerate(read_lines(path, lines.doubts), 1):
        if not line or line.isspace():
            blank.append(number)
            lines.breaks[len(lines.singles)] = number
            continue
        if line.lstrip().startswith("#"):
            if len(lines.comments) < comments.MOST:
                lines.comments.append((number, line))
            if match := _DIMENSIONS.match(line):
                lines.dimensions.add(int(match[1]))
            elif (match := _NAMED.match(line)) and lines.singles:
                lines.breaks[len(lines.singles)] = number
            elif match and int(match[2]) != len(lines.rows) and not lines.misnamed:
                lines.misnamed.append(f"the comment in line {number} names {match[1].lower()} {match[2]}, but the host after it is {len(lines.rows)}: hosts are "
                                      "numbered by their lines, from 0")
            elif len(words := line[:4096].strip("# \t").split()) > (2 if lines.rows else 5) and all(map(_is_number, words)):  # a head may have a date, a size
                lines.off.append(number)
            elif match := _SAYING.match(line):
                lines.asides.append(f"the comment in line {number} about {match[1]} is ignored; put it into the .params next to the trace")
            continue
        if not lines.rows and len(line) < 64 and len(line.split(None, 1)) == 1 and _is_number(line.strip()):
            value = float(line.strip())
            if abs(value) <= FARTHEST:  # nor nan; else as below, which tells it
                lines.singles.append(value)
                lines.at.append(number)
                continue
        values = _floats(path, number, line)
        if lines.singles:
            raise NotUnderstood(path, number, f"found {len(values)} numbers in a line; expected one, as in the lines before")
        if len(lines.rows) == MOST_NODES:
            raise TraceError(path, number, f"found more than {MOST_NODES} nodes; give at most that many")
        if len(lines.first) < _FIRST:
            lines.first.append(line[:4096].split())
        if lines.rows:
            lines.blank += blank
        blank.clear()
        lines.rows.append(values)
        lines.numbers.append(number)
    return lines


def _told_dimensions(path: Path, lines: _Lines, parameters: _Parameters, option: int | None) -> int | None:
    """2 or 3, as the file, its .params or the caller say; None where nobody does."""
    said = [(f"#{found}D", found) for found in sorted(lines.dimensions)]
    if parameters.dimensions:
        said.append((f"J={parameters.dimensions}D in {parameters.path.name}", parameters.dimensions))
    if option:
        said.append((f"dimensions = {option} in the scenario", option))
    for what, found in said[1:]:
        if found != said[0][1]:
            raise TraceError(path, None, f"found {said[0][0]} and {what}; keep one of them")
    return said[0][1] if said else None


def _only_reading(path: Path, lines: _Lines) -> int:
    """2 or 3 for a file that does not say it; TraceError if it may be either."""
    fits = {d: all(_fits(row, 1 + d) for row in lines.rows) for d in (2, 3)}
    if fits[2] and fits[3]:
        raise TraceError(
            path,
            None,
            "could be 2D (`t x y`) or 3D (`t x y z`), and nothing says which; "
            'give dimensions = 2 or 3, or a first line "#2D" or "#3D"',
        )
    return 2


def _fits(values: np.ndarray, width: int) -> bool:
    return len(values) % width == 0 and not (values[width::width] < values[:-width:width]).any()


def _refuse_tables(path: Path, lines: _Lines, parameters: _Parameters) -> None:
    """Tables of another format whose lines would each become a host."""
    if found := lookalikes.columns(lines.first, {float(row[0]) for row in lines.rows}):
        raise TraceError(
            path,
            None,
            f"looks like {found[0]}; {found[1]}. If it is BonnMotion, put its number of nodes, nn={len(lines.rows)}, "
            f"into {parameters.path.name} next to it",
        )


def _nodes(path: Path, lines: _Lines, width: int) -> list[Trajectory]:
    trajectories = []
    for k, number in enumerate(lines.numbers):
        trajectories.append(_node(path, number, lines.rows[k], width))
        lines.rows[k] = _NOTHING  # a trajectory holds copies
    return trajectories


def _node(path: Path, number: int, values: np.ndarray, width: int) -> Trajectory:
    if len(values) % width:
        hint = ""
        if len(values) % (7 - width) == 0:
            hint = (
                ' (if it is 3D, give a first line "#3D" or dimensions = 3)'
                if width == 3
                else " (if it is 2D, give dimensions = 2)"
            )
        raise NotUnderstood(
            path,
            number,
            f"found {len(values)} numbers; expected a multiple of {width}, "
            f"`t x y{' z' * (width - 3)}` for each waypoint{hint}",
        )
    table = values.reshape(-1, width)
    falls = np.flatnonzero(np.diff(table[:, 0]) < 0)
    if len(falls):
        before, after = table[falls[0], 0], table[falls[0] + 1, 0]
        raise NotUnderstood(path, number, f"found time {after:g} after {before:g}; expected times that never decrease")
    return Trajectory(table[:, 0], table[:, 1:])


def _floats(path: Path, number: int, line: str) -> np.ndarray:
    plain = line.isascii() and "_" not in line  # float() takes 1_000 and digits of all scripts
    try:
        if not plain:
            raise ValueError
        if len(line) > _AT_ONCE:
            values = np.fromiter((float(word[0]) for word in re.finditer(r"\S+", line)), dtype=np.float64)
        else:
            words = line.split()
            values = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        raise NotUnderstood(path, number, f"found {_wrong_word(line)}; expected numbers") from None
    if not np.isfinite(values).all():
        wrong = line.split()[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise NotUnderstood(path, number, f'found "{wrong[:40]}"; expected a finite number')
    if len(values) and max(values.max(), -values.min()) > FARTHEST:
        wrong = line.split()[int(np.argmax(np.abs(values)))]
        raise NotUnderstood(path, number, f'found "{wrong[:40]}"; expected a number within +-{FARTHEST:g}')
    return values


def _wrong_word(line: str) -> str:
    """The first word that is no number; quoted only in a line that otherwise is one of numbers.

    A name may lead to a file that is no trace and nobody's business.
    """
    words = line[:4096].split()
    wrong = [word for word in words if not _is_number(word)]
    if not wrong:
        return "a character that is not ASCII"
    return f'"{wrong[0][:40]}"' if 2 * len(wrong) < len(words) else "words"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word


def _disaster_area(path: Path, lines: _Lines, parameters: _Parameters) -> list[np.ndarray]:
    """The waypoints of each node, (k, 4): t, x, y, status."""
    values = np.frombuffer(lines.singles, dtype=np.float64)
    if len(values) % 4:
        raise NotUnderstood(
            path,
            lines.at[-1],
            f"found {len(values)} numbers, one per line; expected a multiple of 4, `t x y status` (DisasterArea)",
        )
    table = values.reshape(-1, 4)
    strange = np.flatnonzero(~np.isin(table[:, 3], (0.0, RETURNS, LEAVES)))
    if len(strange):
        row = int(strange[0])
        raise NotUnderstood(path, lines.at[4 * row + 3], f"found status {table[row, 3]:g}; expected 0, 1 or 2 (DisasterArea)")
    at_once = np.flatnonzero((np.diff(table[:, 0]) == 0) & (np.diff(table[:, 1:3], axis=0) != 0).any(axis=1))
    if len(at_once) and parameters.nodes is None:
        raise TraceError(
            path, lines.at[4 * int(at_once[0]) + 4], f"found a second place at {table[at_once[0], 0]:g} s: either the node jumps, or "
            f"the next node begins; put the number of nodes, nn=, into {parameters.path.name} next to it"
        )
    borders = np.flatnonzero(np.diff(table[:, 0]) < 0) + 1
    if len(borders) >= MOST_NODES:
        raise TraceError(path, None, f"found more than {MOST_NODES} nodes; give at most that many")
    return np.split(table, borders)


def _lives(node: np.ndarray) -> np.ndarray:
    """When a node is there: until it first leaves, or from when it first is back."""
    lives: list[tuple[float, float]] = []
    since: float | None = None if _comes(node) else -math.inf
    for t, status in zip(node[:, 0], node[:, 3]):
        if status == LEAVES and since is not None:
            if t > max(since, 0.0):  # status 2 at 0: not there from the outset
                lives.append((since, t))
            since = None
        elif status == RETURNS and since is None:
            since = t
    return np.array(lives if since is None else [*lives, (since, math.inf)]).reshape(-1, 2)


def _comes(node: np.ndarray) -> bool:
    """Whether the first thing told of a node is that it is back after the begin: until then it is not there."""
    return bool(node[0, 3] == RETURNS and node[0, 0] > 0)


def _there_already(nodes: list[np.ndarray]) -> Iterator[str]:
    """Hosts that are back without having left, which says nothing; a line may be missing."""
    idle: list[tuple[float, int]] = []  # s, host
    for host, node in enumerate(nodes):
        changes = node[(node[:, 3] != 0) & (node[:, 0] > 0)]
        there = not (_comes(node) or node[0, 0] <= 0 and node[0, 3] == LEAVES)
        for t, status in changes[:, [0, 3]].tolist():
            if there and status == RETURNS:
                idle.append((t, host))
            there = status == RETURNS
    if idle:
        yield (f"found status 1 (is back) of a host that had not left, {len(idle)} in all (the first: host {min(idle)[1]} at {min(idle)[0]:.15g} s): "
               "the host is present all along")


def _parameters(path: Path) -> _Parameters:
    """What the key=value lines of the .params file beside the trace say of its length and its nodes."""
    beside = companion(path, ".params", ".movements")
    found: dict[str, str] = {}
    strange: list[int] = []  # lines
    if beside.is_file():
        for number, line in enumerate(read_lines(beside), 1):
            key, equals, value = (part.strip() for part in line.partition("="))
            key = key.lower()
            if not equals and key and not key.startswith("#"):
                strange.append(number)
            elif key in ("duration", "nn", "j", "x", "y", "z") and found.setdefault(key, value) != value:
                raise TraceError(beside, number, f"found {key} a second time, with another value; keep one of them")
    idle = beside.is_file() and not found
    doubts = [f"{key}={found[key][:40]} in {beside.name} next to it is not a length in m, so places are not compared with it"
              for key in "xyz" if key in found and _side(found[key]) is None and not (key == "z" and found[key] in ("0", "0.0"))]
    if strange and not idle:
        doubts.append(f"{len(strange)} {'lines' if len(strange) > 1 else 'line'} of {beside.name} next to it (line {strange[0]}) "
                      f"{'are' if len(strange) > 1 else 'is'} ignored; expected key=value")
    return _Parameters(beside, _declared_duration(beside, found.get("duration")),
                       _declared_nodes(beside, found.get("nn")), _declared_dimensions(beside, found.get("j")),
                       tuple(_side(found.get(key)) for key in "xyz"), idle, tuple(doubts))


def _side(text: str | None) -> float | None:
    """A side of the area; only compared with, so what is no number says nothing."""
    return float(text) if text is not None and _is_number(text) and 0 < float(text) <= FARTHEST else None


def _declared_duration(beside: Path, text: str | None) -> float | None:
    if text is None:
        return None
    if not _is_number(text) or not 0 <= float(text) <= FARTHEST:
        raise TraceError(beside, None, f"found duration={text[:40]}; expected a number of seconds")
    return float(text)


def _declared_nodes(beside: Path, text: str | None) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise TraceError(beside, None, f"found nn={text[:40]}; expected the number of nodes")
    return int(text)


def _declared_dimensions(beside: Path, text: str | None) -> int | None:
    if text is None:
        return None
    match = re.fullmatch(r"([23])\s*D", text, re.IGNORECASE)
    if not match:
        raise TraceError(beside, None, f"found J={text[:40]}; expected 2D or 3D")
    return int(match[1])


def write(movement: Movement, path: Path) -> None:
    """Write the trace and, next to it, its .params; names are lost, because the format has none.

    A movement with absent hosts is written in the DisasterArea dialect, the only one that can
    express absence. Numbers read back exactly. Raises TraceError for absent hosts in 3D.
    """
    absent = not all(t.always_present for t in movement.trajectories)
    if absent and movement.dimensions == 3:
        raise TraceError(path, None, "found absent hosts in 3D, which BonnMotion cannot express together; use 2D, or hosts that stay")
    lines = ["#3D"] if movement.dimensions == 3 else []
    for trajectory in movement.trajectories:
        lines += (
            _status_lines(trajectory, movement.duration)
            if absent
            else [_line(trajectory, movement.dimensions)]
        )
    write_text(path, "\n".join(lines) + "\n")
    parameters = [f"nn={len(movement)}", f"duration={movement.duration!r}", f"J={movement.dimensions}D"]
    write_text(path.with_name(base_name(path, ".movements") + ".params"), "\n".join(parameters) + "\n")


def _line(trajectory: Trajectory, dimensions: int) -> str:
    table = np.column_stack((trajectory.times, trajectory.points))
    if table.shape[1] <= dimensions:
        table = np.column_stack((table, np.zeros(len(table))))
    return " ".join(map(repr, table.ravel().tolist()))


def _status_lines(trajectory: Trajectory, duration: float) -> list[str]:
    """`t x y status`, one a line; a waypoint more at 0, at the end and at each coming and going."""
    marks = {0.0: 0.0 if trajectory.present(0.0) else LEAVES}
    for since, until in trajectory.lives.tolist():
        marks |= {t: status for t, status in ((since, RETURNS), (until, LEAVES)) if 0 < t < math.inf}
    end = max(duration, trajectory.times[-1]) or 1.0  # above 0, or the next node would not show
    extra = [t for t in (*marks, end) if t not in trajectory.times]
    times = np.concatenate((trajectory.times, extra))
    points = np.vstack([trajectory.points, *(trajectory.held(t)[None] for t in extra)])
    order = np.argsort(times, kind="stable")
    numbers = []
    for t, point in zip(times[order].tolist(), points[order].tolist()):
        numbers += [t, *point, marks.pop(t, 0.0)]
    return list(map(repr, numbers))
