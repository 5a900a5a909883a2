"""Sentences about numbers of a BonnMotion file that are read as `t x y` but may mean something else.

Nothing in such a file says what its columns are, so suspicious ones are reported: a header among the hosts, columns in
another order, ids or marks in place of coordinates. A file with `nn=` has vouched for its lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mobility.trajectory import Trajectory

_ORDINALS = ("first", "second", "third", "fourth")
_ENOUGH = 5  # waypoints of one host whose coordinate rises throughout: one way out of 120 does so by chance
_ROUND = 10.0  # m; bounds are round
_EVEN = 1e-6  # share of a step by which even steps may differ


def header(trajectories: Sequence[Trajectory], line: int) -> Iterator[str]:
    """The first line, `line`, if it may be bounds or counts, such as `0 600 600`, rather than a host."""
    first, others = trajectories[0], trajectories[1:]
    if not others:
        return
    low, high = np.min([t.points.min(axis=0) for t in others], axis=0), np.max([t.points.max(axis=0) for t in others], axis=0)
    place, width = first.points[0], first.points.shape[1]
    corner = bool((low >= 0).all() and (place > high).all() and (place % _ROUND == 0).all())
    if len(first.times) == 1 and (all(len(t.times) > 1 for t in others) or corner and len(others) > 1):
        yield (f"line {line} has only one place, {_list(place)}, {'beyond all others' if corner else 'and all others have more'}: it is read as host 0, "
               "which stays there; delete the line if it is a header, such as the bounds of the area")
    elif (numbers := _pairs(first)) and len(numbers) == 2 * (1 + width) and all(a <= b for a, b in zip(numbers[::2], numbers[1::2])):
        times = [float(t.times[at]) for t in others for at in (0, -1)]
        spans = list(zip(numbers[::2], numbers[1::2]))
        around = [(min(times), max(times)), *zip(low.tolist(), high.tolist())]
        if all(a <= least and most <= b for (a, b), (least, most) in zip(spans, around)):
            yield (f"line {line} could be a header, {_list(numbers)}, whose bounds contain all other lines: it is read as host 0; delete the "
                   "line if it is a header")


def names(trajectories: Sequence[Trajectory], line: int) -> Iterator[str]:
    """The first line, `line`, where it counts 0, 1, 2, .. or 1, 2, 3, ..: names of columns, as tables are written with them."""
    first = np.column_stack((trajectories[0].times, trajectories[0].points)).ravel()
    if len(trajectories) > 1 and len(first) >= _ENOUGH and first[0] in (0, 1) and (np.diff(first) == 1).all():
        yield (f"line {line} counts {_list(first[:3])}, .. to {first[-1]:.15g}, as names of columns do: it is read as host 0; delete the line if it is a header")


def _pairs(way: Trajectory) -> list[float]:
    """The numbers of a line of two waypoints."""
    return [x for t, point in zip(way.times.tolist(), way.points.tolist()) for x in (t, *point)] if len(way.times) == 2 else []


def order(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """A coordinate that increases along every line, as times do, when the columns may be `x y t`."""
    moving = [t for t in trajectories if len(t.times) > 1]
    if not moving:
        return
    for axis in reversed(range(moving[0].points.shape[1])):
        if all((np.diff(t.points[:, axis]) > 0).all() for t in moving) and _likelier(moving, axis):
            yield (f"the {_ORDINALS[1 + axis]} numbers of all waypoints increase along each line, as times do: they are read as {'xyz'[axis]} in m, and the "
                   "first numbers as times in s; reorder the columns to `t x y` if that is wrong")
            return


def _likelier(moving: Sequence[Trajectory], axis: int) -> bool:
    """Whether a coordinate that rises is as likely the time as the times are: by where they begin, and how evenly they go."""
    times, coordinates = [t.times for t in moving], [t.points[:, axis] for t in moving]
    at_once, together = (len({float(column[0]) for column in columns}) == 1 for columns in (times, coordinates))
    from_zero = all(column[0] == 0 for column in coordinates) and not all(column[0] == 0 for column in times)
    if from_zero or max(map(len, times)) < 3:
        return from_zero
    if len(moving) > 1 and at_once != together:
        return together
    if all(map(_even, times)) != all(map(_even, coordinates)):
        return all(map(_even, coordinates))
    return len(moving) > 1 or len(times[0]) >= _ENOUGH


def _even(column: np.ndarray) -> bool:
    steps = np.diff(column)
    return bool(np.ptp(steps) <= _EVEN * np.abs(steps).max())


def counting(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """Columns of ids where BonnMotion has x: a table `t id x y ..` of one time."""
    first = [float(t.points[0, 0]) for t in trajectories]
    if len(first) > 2 and first[0] in (0, 1) and first == [first[0] + host for host in range(len(first))]:
        yield (f"the second numbers of the lines count {first[0]:g}, {first[1]:g}, {first[2]:g}, .., as ids do: they are read as x in m, and each "
               "line as a host")


def contacts(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """Lines `0 id start end count gap`: a table of contacts of host 0 looks like hosts that begin at 0 s."""
    ways = [_pairs(t) for t in trajectories]
    if all(len(row) == 6 and row[0] == 0 and all(x == int(x) >= 0 for x in row) and row[1] > 0 and row[2] <= row[3] and row[4] >= 1
           and row[5] <= row[2] for row in ways):
        yield "every line could be a contact of host 0, `i j start end count gap`: it is read as a host with two waypoints, `t x y`"


def _list(numbers: Sequence[float] | np.ndarray) -> str:
    return ", ".join(f"{x:.15g}" for x in numbers)
