"""BonnMotion's .movements files: a line per node of `t x y` (or `t x y z`) waypoints.

The length of the trace stands in the .params file beside it. A 3D file says so by a first line
"#3D" or by J=3D in its .params. The DisasterArea model writes another dialect, one number a line:
`t x y status`, a new node wherever t falls back, status 2 = leaves, 1 = is back, 0 = no change.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from mobility.movement import Movement
from mobility.textfile import FARTHEST, TraceError, base_name, read_lines, write_text
from mobility.trajectory import Trajectory

LEAVES, RETURNS = 2.0, 1.0


def read(path: Path) -> Movement:
    """Raises TraceError. Nodes are named by their line's number among nodes, from "0"."""
    lines = read_lines(path)
    parameters = _parameters(path)
    comments = {line.strip().upper() for line in lines if line.startswith("#")}
    rows = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not rows:
        raise TraceError(
            path, None, "no node in it; a BonnMotion file has a line of `t x y ...` for each node"
        )
    if len(rows) >= 4 and all(len(line.split()) == 1 for _, line in rows):
        trajectories = _disaster_area(path, rows)
    else:
        width = 4 if "#3D" in comments or parameters.get("J") == "3D" else 3
        trajectories = [_node(path, number, line, width) for number, line in rows]
    last = max(t.times[-1] for t in trajectories)
    return Movement(
        [str(k) for k in range(len(trajectories))], trajectories, _duration(path, parameters, last)
    )


def _node(path: Path, number: int, line: str, width: int) -> Trajectory:
    values = _floats(path, number, line.split())
    if len(values) % width:
        hint = ""
        if len(values) % (7 - width) == 0:
            hint = (
                ' (is it a 3D file? its first line should be "#3D")' if width == 3 else " (is it a 2D file?)"
            )
        raise TraceError(
            path,
            number,
            f"{len(values)} numbers; a multiple of {width}, "
            f"`t x y{' z' * (width - 3)}` for each waypoint{hint}",
        )
    table = values.reshape(-1, width)
    falls = np.flatnonzero(np.diff(table[:, 0]) < 0)
    if len(falls):
        before, after = table[falls[0], 0], table[falls[0] + 1, 0]
        raise TraceError(path, number, f"time {after:g} after {before:g}; times of a node that do not fall")
    return Trajectory(table[:, 0], table[:, 1:])


def _floats(path: Path, number: int, words: list[str]) -> np.ndarray:
    try:
        values = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        wrong = next(word for word in words if not _is_number(word))
        raise TraceError(path, number, f'"{wrong[:40]}"; a number') from None
    if not np.isfinite(values).all():
        wrong = words[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise TraceError(path, number, f'"{wrong[:40]}"; a finite number')
    if len(values) and max(values.max(), -values.min()) > FARTHEST:
        wrong = words[int(np.argmax(np.abs(values)))]
        raise TraceError(path, number, f'"{wrong[:40]}"; a number within +-{FARTHEST:g}')
    return values


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _disaster_area(path: Path, rows: list[tuple[int, str]]) -> list[Trajectory]:
    values = np.array([_floats(path, number, [line.strip()])[0] for number, line in rows])
    if len(values) % 4:
        raise TraceError(
            path,
            rows[-1][0],
            f"ends after {len(values)} numbers, one a line; a multiple of 4, `t x y status` (DisasterArea)",
        )
    table = values.reshape(-1, 4)
    strange = np.flatnonzero(~np.isin(table[:, 3], (0.0, RETURNS, LEAVES)))
    if len(strange):
        row = int(strange[0])
        raise TraceError(path, rows[4 * row + 3][0], f"status {table[row, 3]:g}; 0, 1 or 2 (DisasterArea)")
    borders = np.flatnonzero(np.diff(table[:, 0]) < 0) + 1
    return [Trajectory(node[:, 0], node[:, 1:3], _lives(node)) for node in np.split(table, borders)]


def _lives(node: np.ndarray) -> list[tuple[float, float]]:
    lives, since = [], -math.inf
    for t, status in zip(node[:, 0], node[:, 3]):
        if status == LEAVES and since is not None:
            if t > max(since, node[0, 0]):  # status 2 on the first waypoint: not there from the outset
                lives.append((since, t))
            since = None
        elif status == RETURNS and since is None:
            since = t
    return lives if since is None else [*lives, (since, math.inf)]


def _parameters(path: Path) -> dict[str, str]:
    """The key=value lines of the .params file beside the trace; empty without one."""
    beside = path.with_name(base_name(path, ".movements") + ".params")
    if not beside.is_file():
        return {}
    pairs = (line.partition("=") for line in read_lines(beside) if "=" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _duration(path: Path, parameters: dict[str, str], last: float) -> float:
    text = parameters.get("duration")
    if text is None:
        return last
    if not _is_number(text) or not 0 <= float(text) <= FARTHEST:
        beside = path.with_name(base_name(path, ".movements") + ".params")
        raise TraceError(beside, None, f"duration={text[:40]}; a number of seconds")
    return float(text)


def write(movement: Movement, path: Path) -> None:
    """Write the trace and, beside it, its .params; names are lost, as the format has none.

    A movement in which hosts are absent at times is written in the DisasterArea dialect, which is
    the only one that can say so. Numbers read back exactly as they were.
    """
    absent = not all(t.always_present for t in movement.trajectories)
    if absent and movement.dimensions == 3:
        raise TraceError(path, None, "hosts that come and go in 3D; BonnMotion can only say one of the two")
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
