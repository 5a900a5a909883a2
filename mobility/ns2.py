"""ns-2's `setdest` files: Tcl lines that place nodes and move them.

    $node_(0) set X_ 83.4
    $ns_ at 2.0 "$node_(0) setdest 90.4 44.9 1.37"

A leg begins at its time, wherever the node then is, and the node stays where it arrives. A later setdest
replaces an unfinished leg; of two at one instant, the later line applies; speed 0 stops the node. Each line is
understood, known not to be movement, or refused (mobility/tcl.py). Duration and area are not in the file:
BonnMotion's NSFile puts them into a .ns_params file next to it, CORE puts the duration into a comment, and SUMO
says in an activity file when each car is present.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mobility import nsparams, tcl
from mobility.area import outside
from mobility.movement import Movement
from mobility.textfile import (
    FARTHEST,
    MOST_NODES,
    NotUnderstood,
    TraceError,
    base_name,
    find_beside,
    read_lines,
    write_text,
)
from mobility.trajectory import Trajectory

ENDINGS = (".ns_movements", ".ns2", ".tcl", ".scen", ".setdest")
_AXES = ("X_", "Y_", "Z_")
_MOBILITY = re.compile("mobility", re.IGNORECASE)  # in the name of SUMO's file of movement
# the header that setdest and CORE write; CORE's has a time
_HEADER = re.compile(r"\s*#\s*nodes:\s*(\d{1,9})\s*(?:$|,)(?:\s*max time:\s*([^,\s]+))?", re.IGNORECASE)
_AREA = re.compile(r"\s*#.*\bmax\s+x:\s*([0-9.eE+]+)\s*,\s*max\s+y:\s*([0-9.eE+]+)", re.IGNORECASE)
_STATUS = (0, 1, 2)  # DisasterArea's
_FEW, _HASTY = 3, 0.01  # legs; share of the time between two: nobody waits a hundred times as long as it moves
_GOES_ON = "a comment that continues after a backslash, as in Tcl"
_MOST_COUNTS = 3  # wrong numbers of nodes that are reported
_APART = 0.01  # m; a setdest of speed 0 to a place farther away would have moved the node


@dataclass(slots=True)
class _Node:
    word: str  # as first written
    line: int  # where
    place: list[float | None] = field(default_factory=lambda: [None, None, None])
    legs: list[tuple[float, tuple[float, ...], int]] = field(default_factory=list)  # time, numbers, line

    @property
    def origin(self) -> tuple[float, ...]:
        return tuple(axis or 0.0 for axis in self.place)  # ns-2 puts unplaced nodes at 0


@dataclass(slots=True)
class _Script:
    """What a file says, as it was read."""

    nodes: dict[str, _Node] = field(default_factory=dict)
    high: bool = False  # it places nodes in z, so a setdest of four numbers is x y z speed
    switches: list[tuple[str, float, bool, int]] = field(default_factory=list)  # id, time, on, line
    asides: Counter[str] = field(default_factory=Counter)  # what -> lines
    first_aside: dict[str, int] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)  # nodes placed a second time, elsewhere
    header: tuple[int, float | None] | None = None  # nodes, and s if told, in the header that setdest and CORE write
    doubts: list[str] = field(default_factory=list)  # sentences of the reader of lines
    area: tuple[float, float] | None = None  # m, in that header
    made: dict[str, int] = field(default_factory=dict)  # nodes that ns-2 would have, as written -> line
    counts: dict[str, int] = field(default_factory=dict)  # commands that tell how many there should be -> how many
    still: int = 0  # legs of speed 0 that lead elsewhere
    shares: list[float] = field(default_factory=list)  # of the time until the next leg, that a leg takes


def read(path: Path, zero_speed: str = "stop") -> Movement:
    """Nodes are named by their ids as written, in numerical order. Raises TraceError.

    Without a declared duration, the movement ends with its last leg. zero_speed: whether a setdest of
    speed 0 makes the node "stop" (ns-2) or "jump" to the place (CORE).
    """
    script = _read(path)
    if not script.nodes:
        raise NotUnderstood(path, None, "found no node; expected lines like `$node_(0) set X_ 83.4`")
    nodes = script.nodes
    flat = not any(
        node.origin[2] or (script.high and any(len(leg[1]) == 4 for leg in node.legs)) for node in nodes.values()
    )
    names = sorted(nodes, key=lambda name: (0, int(name), name) if name.isdecimal() else (1, 0, name))
    lives, activity = _activity(path, script)
    trajectories = [
        _drive(path, nodes[name], script, 2 if flat else 3, zero_speed == "jump", lives.get(name)) for name in names
    ]
    last = max(0.0, *(float(t.times[-1]) for t in trajectories))
    beside = nsparams.read(path)
    duration, lasts = _duration(path, script, beside, last)
    low = np.min([t.points.min(axis=0) for t in trajectories], axis=0).tolist()
    high = np.max([t.points.max(axis=0) for t in trajectories], axis=0).tolist()
    notes = [*script.doubts, *_remarks(script, zero_speed, last), *_comings(path, script, activity, lives), *_outside(script, low, high),
             *beside.notes(low, high), *_beyond(script, beside)]
    return Movement(names, trajectories, duration, notes, lasts)


def _read(path: Path) -> _Script:
    script = _Script()
    comment = 0  # the line before, if it is one
    for number, line in tcl.joined(path, read_lines(path, script.doubts)):
        if comment and number > comment + 1:
            script.asides[_GOES_ON] += 1
            script.first_aside.setdefault(_GOES_ON, comment)
        comment = number if line.lstrip().startswith("#") else 0
        if script.header is None and (match := _HEADER.match(line)):
            script.header = int(match[1]), tcl.as_number(path, number, match[2]) if match[2] else None
        if script.area is None and (match := _AREA.match(line)):
            script.area = tcl.as_number(path, number, match[1]), tcl.as_number(path, number, match[2])
        for said in tcl.understand(path, number, line):
            _take(path, number, said, script)
    _refuse_heights(path, script)
    return script


def _refuse_heights(path: Path, script: _Script) -> None:
    """Four numbers where no Z_ says that they are x y z speed, and the last cannot be a status."""
    if script.high:
        return
    for node in script.nodes.values():
        for _, numbers, line in node.legs:
            if len(numbers) == 4 and numbers[3] not in _STATUS:
                raise TraceError(path, line, f"found setdest with four numbers, the last of them {numbers[3]:g}, in a file without Z_; "
                                 "for x y z speed, `set Z_` of the nodes; for a status (DisasterArea), use 0, 1 or 2")


def _take(path: Path, number: int, said: tcl.Said, script: _Script) -> None:
    if isinstance(said, tcl.Leg):
        _node(path, number, said.node, script).legs.append((said.time, said.numbers, number))
    elif isinstance(said, tcl.Place):
        node = _node(path, number, said.node, script)
        if node.place[said.axis] not in (None, said.value):
            script.twice.append(said.node)
        node.place[said.axis] = said.value
        script.high |= said.axis == 2
    elif isinstance(said, tcl.Switch):
        script.switches.append((_name(said.node), said.time, said.on, number))
    elif isinstance(said, tcl.Made):
        script.made.setdefault(said.node, number)
    elif isinstance(said, tcl.Count):
        script.counts[f"`{said.words}` (line {number})"] = said.nodes
    elif said.what:
        script.asides[said.what] += 1
        script.first_aside.setdefault(said.what, number)


def _name(written: str) -> str:
    return str(int(written)) if written.isdecimal() and written.isascii() else written


def _array_and_name(word: str) -> tuple[str, str]:
    match = tcl.NODE.fullmatch(word)
    assert match is not None  # as tcl.understand found it
    return match[1], match[2] or match[3]


def _node(path: Path, number: int, word: str, script: _Script) -> _Node:
    name = _name(_array_and_name(word)[1])
    node = script.nodes.get(name)
    if node is None:
        if len(script.nodes) == MOST_NODES:
            raise TraceError(path, number, f"found more than {MOST_NODES} nodes; give at most that many")
        node = script.nodes[name] = _Node(word, number)
    elif node.word != word:
        raise TraceError(
            path,
            number,
            f"found {word} and {node.word} (line {node.line}), which would both be host {name}; give each its own id",
        )
    return node


def _activity(path: Path, script: _Script) -> tuple[dict[str, list[tuple[float, float]]], Path | None]:
    """When each host is there, by the file that SUMO writes beside the movement; and which file said so."""
    switches, file = script.switches, path if script.switches else None
    if not switches and (beside := _activity_file(path)) and os.path.isfile(beside):
        file, switches = beside, []
        for number, line in tcl.joined(beside, read_lines(beside)):
            for said in tcl.understand(beside, number, line):
                if not isinstance(said, tcl.Switch):
                    raise TraceError(beside, number, 'found a line that is not of an activity file; expected `$ns_ at TIME "$g(ID) start"`')
                switches.append((_name(said.node), said.time, said.on, number))
    if file is None:
        return {}, None
    lives: dict[str, list[list[float]]] = {name: [] for name in script.nodes}
    for name, time, on, number in sorted(switches, key=lambda switch: switch[1]):
        if name not in lives:
            raise TraceError(file, number, f"found host {name}, which {path.name} does not move; use files from one SUMO run")
        spans = lives[name]
        if on == bool(spans and spans[-1][1] == math.inf):
            raise TraceError(file, number, f"host {name} {'starts' if on else 'stops'} twice in a row; expected start and stop in turn")
        if on:
            spans.append([time if time > 0 else -math.inf, math.inf])
        else:
            spans[-1][1] = time
    for name, spans in lives.items():
        if not spans:
            raise TraceError(file, None, f"found no start of host {name}; use files from one SUMO run")
    return {name: [(since, until) for since, until in spans] for name, spans in lives.items()}, file


def _activity_file(path: Path) -> Path | None:
    """Where SUMO's activity is, or would be, for a file of movement: x.ns2activity.tcl for x.ns2mobility.tcl.

    Raises TraceError for several.
    """
    name = _MOBILITY.sub(_activity_for, base_name(path))
    return None if name == base_name(path) else find_beside(path, [name]) or path.with_name(name)


def _activity_for(found: re.Match[str]) -> str:
    """In capitals where `mobility` is."""
    return "".join(new.upper() if old.isupper() else new for old, new in zip(found[0], "activity"))


def _remarks(script: _Script, zero_speed: str, last: float) -> list[str]:
    """What was assumed, and what was passed over."""
    notes, nodes = [], script.nodes
    if unplaced := [name for name, node in nodes.items() if None in node.place[:2]]:
        notes.append(f"{_some(unplaced)} without X_ or Y_: 0 is used, as in ns-2")
    if script.twice:
        notes.append(f"{_some(list(dict.fromkeys(script.twice)))} placed a second time before the start: "
                     "the later line applies")
    arrays = Counter(_array_and_name(node.word)[0] for node in nodes.values())
    if len(arrays) > 1:
        notes.append("hosts are written as " + " and ".join(f"${array} ({n})" for array, n in arrays.items())
                     + ": all are used as hosts, by their ids")
    if script.still and zero_speed == "stop":
        legs = sum(len(node.legs) for node in nodes.values())
        notes.append(f'{script.still} of {legs} setdest {"have" if script.still > 1 else "has"} speed 0 and a new place: the node stops, as in '
                     'ns-2; use zero_speed = "jump" to have it jump there, as in CORE')
    if len(script.shares) >= _FEW and max(script.shares) < _HASTY:
        notes.append(f"every leg takes at most {max(script.shares):.2g} of the time until the node's next one; expected speeds in m/s and places in m, "
                     "not km or degrees")
    if script.high and (low := [name for name, node in nodes.items() if node.place[2] is None]):
        notes.append(f"{_some(low)} without Z_, while others have one: 0 is used, as in ns-2")
    again = [name for name, node in nodes.items() if len({leg[0] for leg in node.legs}) < len({leg[:2] for leg in node.legs})]
    if again:
        notes.append(f"{_some(again)} with two setdest at one instant: the later line applies, as in ns-2")
    widths = {len(leg[1]) for node in nodes.values() for leg in node.legs}
    if len(widths) > 1:
        notes.append("some setdest have three numbers and some four: three are read as x y speed, four as x y "
                     + ("z speed, because the file has Z_" if script.high else "speed status"))
    lasts = [leg[1][3] for node in nodes.values() for leg in node.legs if len(leg[1]) == 4]
    if script.high and 0 in lasts and all(last in _STATUS for last in lasts):
        notes.append("setdest with four numbers are read as x y z speed, because the file has Z_; all these speeds are 0, 1 or 2, like a "
                     "status (DisasterArea, `x y speed status`); remove the Z_ lines if they are statuses")
    if lasts and not script.high or tcl.STATUS in script.asides:
        notes.append("the status of nodes (DisasterArea: who has left) is ignored, so all hosts stay; use the "
                     ".movements file of the same run, which has it")
    for what, count in script.asides.items():
        if what != tcl.STATUS:
            notes.append(f"{count} {'lines are' if count > 1 else 'line is'} not movement and ignored: {what} "
                         f"(line {script.first_aside[what]})")
    return [*notes, *_missing(script, last)]


def _missing(script: _Script, last: float) -> Iterator[str]:
    """What a file says about hosts and time but does not contain."""
    there = len(script.nodes)
    written = {node.word for node in script.nodes.values()}
    if unplaced := [word for word in script.made if word not in written]:
        named = [_name(match[2] or match[3]) if (match := tcl.NODE.fullmatch(word)) else word for word in unplaced]
        shown = [word if name in script.nodes else name for name, word in zip(named, unplaced)]
        yield (f"{_some(shown)} made (line {script.made[unplaced[0]]}) but neither placed nor moved: not used as a host, "
               "while ns-2 puts such a node at 0, 0; place it if it should take part")
    for said, count in [item for item in script.counts.items() if item[1] != there][:_MOST_COUNTS]:
        yield f"{said} says {count} nodes, but the file has {there}: those take part"
    if script.header and script.header[0] != there:
        yield f"the header says {script.header[0]} nodes, but the file has {there}: those take part"
    if script.header and script.header[1] is not None and script.header[1] < last:
        yield f"the header says {script.header[1]:g} s, but the last leg ends at {last:g} s: the trace lasts until then"


def _outside(script: _Script, low: list[float], high: list[float]) -> Iterator[str]:
    """Places beyond the area that its header tells."""
    for axis, most in zip(range(2), script.area or ()):
        if (farthest := outside(low[axis], high[axis], most)) is not None:
            yield f"hosts reach {'xy'[axis]} = {farthest:.15g} m, but the header says max {'xy'[axis]}: {most:.15g}"


def _beyond(script: _Script, beside: nsparams.Parameters) -> Iterator[str]:
    """Legs that begin after the end that the file of parameters declares."""
    last = max((leg[0] for node in script.nodes.values() for leg in node.legs), default=0.0)
    if beside.duration is not None and last > beside.duration:
        yield (f"its last setdest is at {last:.15g} s, and {beside.path.name} beside it says that it lasts {beside.duration:.15g} s: is it of the "
               "same run?")


def _comings(path: Path, script: _Script, activity: Path | None, lives: dict[str, list[tuple[float, float]]]) -> list[str]:
    """Cars that come late and leave, as SUMO writes them: by its activity file, or assumed."""
    if activity:
        where = "lines in the file" if activity == path else f"{activity.name} next to it"
        notes = [f"hosts are present from their `start` to their `stop`, according to {where}"]
        away = [(leg[0], name) for name, node in script.nodes.items() for leg in node.legs
                if not any(since <= leg[0] < until for since, until in lives[name])]
        if away:
            notes.append(f"{len(away)} setdest {'move' if len(away) > 1 else 'moves'} a host while it is absent (the first: host {min(away)[1]} at {min(away)[0]:.15g} s); "
                         "check that movement and activity are from one SUMO run")
        if activity == path and (other := _activity_file(path)) and os.path.isfile(other):
            notes.append(f"{other.name} next to it is ignored, because the file itself has such lines")
        return notes
    first_leg = min((leg[2] for node in script.nodes.values() for leg in node.legs), default=0)
    late = [name for name, node in script.nodes.items() if node.line > first_leg and _comes(node)]
    beside = _activity_file(path)
    if not late and not (beside and "ns2mobility" in path.name.lower()):
        return []
    cure = f"{beside.name} next to it" if beside else (
        "SUMO's activity file next to it, with `activity` in place of `mobility` in its name,")
    who = f"{_some(late)} with a first setdest to where they are, as SUMO writes for a car that appears then" if late \
        else "hosts that appear late or leave"
    return [f"{who}: they stay at their first place until their first leg, and at their last place after their "
            f"last one; add {cure} to say when they are present"]


def _comes(node: _Node) -> bool:
    """Whether its first setdest leads to where it is placed, after the start."""
    if not node.legs:
        return False
    time, numbers, _ = min(node.legs, key=lambda leg: leg[0])
    return time > 0 and math.dist(numbers[:2], node.origin[:2]) <= _APART  # with speed 0 as well: so cars depart, unless told otherwise


def _some(names: list[str]) -> str:
    shown = ", ".join(sorted(names, key=lambda name: (len(name), name))[:5]) + (", ..." if len(names) > 5 else "")
    return f"{len(names)} host{'s' if len(names) > 1 else ''} ({shown})"


def _drive(path: Path, node: _Node, script: _Script, dimensions: int, jump: bool,
           lives: list[tuple[float, float]] | None) -> Trajectory:
    """Carry out a node's legs in order of time; sorting is stable, so the later line comes last."""
    place = node.origin
    legs = sorted(node.legs, key=lambda leg: leg[0])
    times, points = [legs[0][0] if legs and legs[0][0] < 0 else 0.0], [place]
    origin, left, target, arrival = place, times[0], place, times[0]
    for time, numbers, line in legs:
        if left < time and target != origin:
            script.shares.append((arrival - left) / (time - left))
        if time >= arrival:
            place = target
        else:
            share = (time - left) / (arrival - left)
            place = tuple(o + share * (d - o) for o, d in zip(origin, target))
        _reach(times, points, min(arrival, time), place)
        _reach(times, points, time, place)
        target, speed = _leg(numbers, place, script.high)
        if speed < 0:
            raise TraceError(path, line, f"found speed {speed:g}; expected 0 m/s (stop) or more")
        if speed == 0:
            script.still += math.dist(target, place) > _APART
            target = place = target if jump else place
            _reach(times, points, time, place)
        origin, left, arrival = place, time, time + (math.dist(place, target) / speed if speed else 0.0)
        if arrival > FARTHEST:
            raise TraceError(path, line, f"found speed {speed:g}, too slow to ever arrive; use 0 m/s (stop) or a higher speed")
    if target != points[-1]:
        _reach(times, points, arrival, target)
    alive = () if lives is None else (np.array(lives).reshape(-1, 2),)
    return Trajectory(np.array(times), np.array(points)[:, :dimensions], *alive)


def _reach(
    times: list[float], points: list[tuple[float, ...]], time: float, place: tuple[float, ...]
) -> None:
    if time > times[-1] or place != points[-1]:
        times.append(time)
        points.append(place)


def _leg(numbers: tuple[float, ...], place: tuple[float, ...], high: bool) -> tuple[tuple[float, ...], float]:
    """Target and speed. A fourth number is the speed of a 3D leg, or DisasterArea's status, which
    says whether a node has left: ns-2 knows no such thing, so the node stays."""
    if len(numbers) == 4 and high:
        return numbers[:3], numbers[3]
    return (*numbers[:2], place[2]), numbers[2]


def _duration(path: Path, script: _Script, beside: nsparams.Parameters, last: float) -> tuple[float, str]:
    """How long the trace lasts, and where that comes from."""
    if beside.nodes is not None and beside.nodes[0] != len(script.nodes):
        raise TraceError(path, None, f"found {len(script.nodes)} nodes, but {beside.nodes[0]:.12g} in line {beside.nodes[1]} of {beside.path.name} "
                         "next to it; use files from one BonnMotion run")
    if beside.duration is not None:
        return beside.duration, f"from {beside.path.name}"
    more = f"a line `set val(duration) SECONDS` in {beside.path.name} next to it declares more"
    if script.header and script.header[1] is not None and script.header[1] >= last:
        return script.header[1], f"from max time in its header; {more}"
    return last, f"from its last leg; {more}"


def write(movement: Movement, path: Path) -> None:
    """Write the trace and, next to it, its .ns_params.

    Node ids are the hosts' names if all of them are numbers, else 0, 1, .. Raises TraceError for
    what the format cannot express: absent hosts and jumps. Positions read back within rounding,
    because the format has speeds, not arrival times.
    """
    plain = all(name.isdecimal() and str(int(name)) == name for name in movement.names)
    lines = []
    for host, (name, trajectory) in enumerate(zip(movement.names, movement.trajectories)):
        if not trajectory.always_present:
            raise TraceError(
                path, None, f"host {name} is absent at times, which ns-2 cannot express; use BonnMotion"
            )
        node = f"$node_({name if plain else host})"
        lines += _node_lines(path, name, node, trajectory, movement.dimensions)
    write_text(path, "\n".join(lines) + "\n")
    beside = path.with_name(base_name(path, ".ns_movements") + ".ns_params")
    write_text(beside, f"set val(nn) {len(movement)}\nset val(duration) {movement.duration!r}\n")


def _node_lines(path: Path, name: str, node: str, trajectory: Trajectory, dimensions: int) -> list[str]:
    times, points = trajectory.times.tolist(), trajectory.points.tolist()
    if dimensions == 3:
        points = [(*point, 0.0)[:3] for point in points]
    lines = [f"{node} set {axis} {value!r}" for axis, value in zip(_AXES, points[0])]
    for t, until, origin, target in zip(times, times[1:], points, points[1:]):
        if origin == target:
            continue
        if until == t:
            raise TraceError(
                path, None, f"host {name} jumps at {t:g} s, which ns-2 cannot express; use BonnMotion"
            )
        speed = math.dist(origin, target) / (until - t)
        where = " ".join(map(repr, target))
        lines.append(f'$ns_ at {t!r} "{node} setdest {where} {speed!r}"')
    return lines
