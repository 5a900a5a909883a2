"""ns-2's `setdest` files: Tcl lines that place nodes and send them off.

    $node_(0) set X_ 83.4
    $ns_ at 2.0 "$node_(0) setdest 90.4 44.9 1.37"

A leg begins at its time from wherever the node then is, and the node stands after it arrives; a
later setdest replaces an unfinished leg; of two at one instant the later line holds; speed 0 stops
the node. What else such a file holds (god's hop counts, agents, settings) is not movement and is
passed over. Length and area are not in the file; NSFile of BonnMotion puts them into a
.ns_params file beside it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mobility.movement import Movement
from mobility.textfile import FARTHEST, TraceError, base_name, read_lines, write_text
from mobility.trajectory import Trajectory

# any array or variable name will do: $node_(3), $n(3), $node(3), $n3
_NODE = re.compile(r"\$[A-Za-z_]+(?:\(([^()$]{1,64})\)|(\d{1,64}))")
_AXES = {"X_": 0, "Y_": 1, "Z_": 2}
_DURATION = re.compile(r"set\s+\w+\(duration\)\s+(\S+)")
_QUOTES = str.maketrans('"\\{}', "    ")


@dataclass(slots=True)
class _Node:
    place: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])  # ns-2 puts unplaced nodes at 0
    legs: list[tuple[float, tuple[float, ...], int]] = field(default_factory=list)  # time, numbers, line


def read(path: Path) -> Movement:
    """Raises TraceError. Nodes are named by their ids as written, in the order of the numbers.

    Without a declared duration the movement ends where the last leg does.
    """
    nodes: dict[str, _Node] = {}
    high = False  # the file places nodes in z, so a setdest of four numbers is x y z speed
    for number, line in enumerate(read_lines(path), 1):
        if "setdest" in line or "set " in line:
            high |= _take(path, number, line, nodes)
    if not nodes:
        raise TraceError(path, None, "no node in it; an ns-2 file has lines like `$node_(0) set X_ 83.4`")
    flat = not any(
        node.place[2] or (high and any(len(leg[1]) == 4 for leg in node.legs)) for node in nodes.values()
    )
    names = sorted(nodes, key=lambda name: (0, int(name), name) if name.isdecimal() else (1, 0, name))
    trajectories = [_drive(path, nodes[name], high, 2 if flat else 3) for name in names]
    declared = _declared_duration(path)
    last = max(0.0, *(float(t.times[-1]) for t in trajectories))
    return Movement(names, trajectories, last if declared is None else declared)


def _take(path: Path, number: int, line: str, nodes: dict[str, _Node]) -> bool:
    """Take what one line says about a node; True if it places one in z."""
    words = line.translate(_QUOTES).split()
    if not words or words[0].startswith("#"):
        return False
    for at, word in enumerate(words):
        if word.startswith(("#", ";#")):
            words = words[:at]
            break
    if "setdest" in words:
        _take_setdest(path, number, words, nodes)
    elif len(words) >= 3 and words[1] == "set" and words[2] in _AXES and _NODE.fullmatch(words[0]):
        if len(words) < 4:
            raise TraceError(path, number, f"{words[2]} without a number; `set {words[2]} 83.4`")
        _node(path, number, words[0], nodes).place[_AXES[words[2]]] = _number(path, number, words[3])
        return words[2] == "Z_"
    elif words[1:2] == ["at"] and len(words) > 5 and words[4] == "set" and words[5] in _AXES:
        raise TraceError(
            path, number, f"{words[5]} set at a time; only setdest can move a node of a running trace"
        )
    return False


def _take_setdest(path: Path, number: int, words: list[str], nodes: dict[str, _Node]) -> None:
    verb = words.index("setdest")
    if verb != 4 or words[1] != "at":
        raise TraceError(
            path, number, f'"{" ".join(words)[:60]}"; `$ns_ at TIME "$node_(ID) setdest X Y SPEED"`'
        )
    numbers = tuple(_number(path, number, word.rstrip(";")) for word in words[5:] if word != ";")
    if len(numbers) not in (3, 4):
        raise TraceError(
            path,
            number,
            f"setdest with {len(numbers)} numbers; x y speed, x y z speed (3D) "
            "or x y speed status (DisasterArea)",
        )
    time = _number(path, number, words[2])
    _node(path, number, words[3], nodes).legs.append((time, numbers, number))


def _node(path: Path, number: int, word: str, nodes: dict[str, _Node]) -> _Node:
    match = _NODE.fullmatch(word)
    if not match:
        raise TraceError(path, number, f'"{word[:40]}"; a node, such as $node_(0)')
    name = (match[1] or match[2]).strip()
    return nodes.setdefault(str(int(name)) if name.isdecimal() else name, _Node())


def _number(path: Path, number: int, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TraceError(path, number, f'"{word[:40]}"; a number')
    if abs(value) > FARTHEST:
        raise TraceError(path, number, f'"{word[:40]}"; a number within +-{FARTHEST:g}')
    return value


def _drive(path: Path, node: _Node, high: bool, dimensions: int) -> Trajectory:
    """Carry out a node's legs in order of time; sorting is stable, so the later line comes last."""
    place = tuple(node.place)
    legs = sorted(node.legs, key=lambda leg: leg[0])
    times, points = [legs[0][0] if legs and legs[0][0] < 0 else 0.0], [place]
    origin, left, target, arrival = place, times[0], place, times[0]
    for time, numbers, line in legs:
        if time >= arrival:
            place = target
        else:
            share = (time - left) / (arrival - left)
            place = tuple(o + share * (d - o) for o, d in zip(origin, target))
        _reach(times, points, min(arrival, time), place)
        _reach(times, points, time, place)
        target, speed = _leg(numbers, place, high)
        if speed < 0:
            raise TraceError(path, line, f"speed {speed:g}; 0 m/s (stop) or more")
        if speed == 0:
            target = place
        origin, left, arrival = place, time, time + (math.dist(place, target) / speed if speed else 0.0)
        if arrival > FARTHEST:
            raise TraceError(path, line, f"speed {speed:g}, with which it never arrives; 0 m/s (stop) or more")
    if target != points[-1]:
        _reach(times, points, arrival, target)
    return Trajectory(np.array(times), np.array(points)[:, :dimensions])


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


def _declared_duration(path: Path) -> float | None:
    beside = path.with_name(base_name(path, ".ns_movements") + ".ns_params")
    if not beside.is_file():
        return None
    for number, line in enumerate(read_lines(beside), 1):
        match = _DURATION.match(line.strip())
        if match:
            return _number(beside, number, match[1])
    return None


def write(movement: Movement, path: Path) -> None:
    """Write the trace and, beside it, its .ns_params.

    Node ids are the hosts' names if all of them are numbers, else 0, 1, .. Raises TraceError for
    what the format cannot say: hosts that are absent at times, jumps. Positions read back to
    within rounding, as the format gives speeds and not times of arrival.
    """
    plain = all(name.isdecimal() and str(int(name)) == name for name in movement.names)
    lines = []
    for host, (name, trajectory) in enumerate(zip(movement.names, movement.trajectories)):
        if not trajectory.always_present:
            raise TraceError(
                path, None, f"host {name} is absent at times, which ns-2 cannot say; write BonnMotion"
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
                path, None, f"host {name} jumps at {t:g} s, which ns-2 cannot say; write BonnMotion"
            )
        speed = math.dist(origin, target) / (until - t)
        where = " ".join(map(repr, target))
        lines.append(f'$ns_ at {t!r} "{node} setdest {where} {speed!r}"')
    return lines
