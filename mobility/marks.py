"""Numbers of a BonnMotion file that stand for something else than times and places: marks of absence, speeds, times of a clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mobility.trajectory import Trajectory

_ENOUGH = 5  # legs whose height is their speed
_LIKE = 0.1  # share by which a speed that a device measured may differ from that of its leg
_OTHERS = 10  # places that others have, from which on one may be told to be far from them
_MOST_TIMES = 100_000  # that are looked at
_READINGS = 12  # of a clock; that so many times have no second above 59 by chance is one case in 400
_SECONDS = 5  # different ones among them


def places(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """A place far from all others that hosts leave or come to several times: 0, 0 where a GPS had no fix, -9999."""
    ways = [t.points[:, :2] for t in trajectories]
    low, high = (np.array([of(way, axis=0) for way in ways]) for of in (np.min, np.max))
    total = sum(map(len, ways))
    for place in sorted(_corners(ways, low, high) - {(-1.0, -1.0)}):  # of which another note speaks
        some = np.flatnonzero(((low <= place) & (place <= high)).all(axis=1)).tolist()
        at = {k: (ways[k] == place).all(axis=1) for k in some}
        count = sum(int(there.sum()) for there in at.values())
        rest = [way for k in some if len(way := ways[k][~at[k]])]
        others = np.concatenate([np.delete(low, some, axis=0), np.delete(high, some, axis=0), *rest])
        if total - count >= _OTHERS and _beyond(np.array(place), others) and _comes_and_goes(list(at.values()), place):
            yield (f"{count} of {total} places are {place[0]:.15g}, {place[1]:.15g}, {'far from' if any(place) else 'below'} all others: they are read "
                   "as places in m, not as absence or a missing fix, which DisasterArea's dialect can say")
            return


def _corners(ways: Sequence[np.ndarray], low: np.ndarray, high: np.ndarray) -> set[tuple[float, ...]]:
    """The places farthest out in each direction; `low` and `high` are those of each way."""
    return {tuple(ways[k][at(ways[k][:, axis])].tolist()) for axis in (0, 1)
            for at, k in ((np.argmin, int(low[:, axis].argmin())), (np.argmax, int(high[:, axis].argmax())))}


def _beyond(place: np.ndarray, others: np.ndarray) -> bool:
    """Whether a place is farther from all others than these are from each other; for 0, 0 it is enough to be below them."""
    low, high = others.min(axis=0), others.max(axis=0)
    if not place.any():
        return bool((low > 0).all())
    return bool(np.maximum(low - place, place - high).max() > (high - low).max() > 0)


def _comes_and_goes(at: Sequence[np.ndarray], place: tuple[float, ...]) -> bool:
    """Whether a host comes to 0, 0 from another place; or, far away, whether the place is one of several times, and not only of
    hosts that always stand there. `at`: for each way, which of its places it is."""
    if not any(place):
        return any((there[1:] & ~there[:-1]).any() for there in at)
    return sum(int(there.sum()) for there in at) > 1 and not all(there.all() for there in at if there.any())


def heights(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """Heights that are the speeds of the legs before or behind them, `t x y speed`."""
    behind, before, legs = 0, 0, 0
    for t in trajectories:
        took, way = np.diff(t.times), np.hypot(*np.diff(t.points[:, :2], axis=0).T)
        moves = (took > 0) & (way > 0)
        speed = way[moves] / took[moves]
        legs += len(speed)
        behind += int(np.isclose(t.points[:-1, 2][moves], speed, rtol=_LIKE, atol=0.01).sum())
        before += int(np.isclose(t.points[1:, 2][moves], speed, rtol=_LIKE, atol=0.01).sum())
    if legs >= _ENOUGH and max(behind, before) > 0.8 * legs:
        yield ("the fourth numbers of its waypoints are the speeds of its legs: they are read as z in m; leave them out, or every host flies")


def clock(trajectories: Sequence[Trajectory]) -> Iterator[str]:
    """Times such as 120059, 120100: hours, minutes and seconds in one number, as NMEA writes them."""
    times = np.unique(np.concatenate([t.times[:_MOST_TIMES] for t in trajectories[:_MOST_TIMES // 100]]))
    minutes, seconds = np.floor(times / 100), times % 100
    if (len(times) < _READINGS or times[0] < 0 or times[-1] >= 240_000 or minutes[0] == minutes[-1] or times[-1] < 10_000
            or not ((seconds < 60) & (minutes % 100 < 60)).all() or len(np.unique(np.floor(seconds))) < _SECONDS):
        return
    yield (f"its times could be those of a clock, hours, minutes and seconds in one number ({times[0]:.15g} to {times[-1]:.15g}): they are read "
           "in s, with a pause behind each minute")
