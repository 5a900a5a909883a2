"""All trajectories of a movement, cut into pieces of constant velocity, in flat arrays.

The positions of all hosts and the search for contacts both use these arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mobility.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Pieces:
    """Piece p of a host covers [begin[p], end[p]) and is at origin[p] + velocity[p] * (t - reference[p]).

    The pieces of host h are first[h] .. first[h + 1] - 1, in order of time, without gaps from
    -inf to inf; a piece in which the host is absent has a NaN origin.
    """

    first: np.ndarray  # (n + 1,) int
    host: np.ndarray  # (p,) int
    begin: np.ndarray  # (p,) s
    end: np.ndarray  # (p,) s
    reference: np.ndarray  # (p,) s
    origin: np.ndarray  # (p, d) m
    velocity: np.ndarray  # (p, d) m/s


def pieces(trajectories: Sequence[Trajectory], dimensions: int) -> Pieces:
    """Cut `trajectories`; a missing third coordinate is 0."""
    parts = [_of_one(trajectory, dimensions) for trajectory in trajectories]
    counts = np.array([len(part[0]) for part in parts], dtype=np.intp)
    first = np.concatenate(([0], np.cumsum(counts)))
    empty = (np.empty(0),) * 3 + (np.empty((0, dimensions)),) * 2
    begin, end, reference, origin, velocity = (
        (np.concatenate(column) for column in zip(*parts)) if parts else empty
    )
    return Pieces(first, np.repeat(np.arange(len(parts)), counts), begin, end, reference, origin, velocity)


def _of_one(trajectory: Trajectory, dimensions: int) -> tuple[np.ndarray, ...]:
    times, points = trajectory.times, trajectory.points
    if points.shape[1] < dimensions:
        points = np.hstack((points, np.zeros((len(points), dimensions - points.shape[1]))))
    duration = np.diff(times)
    leg = duration > 0  # a jump takes no time and has no piece
    still = np.zeros((1, dimensions))
    velocity = np.diff(points, axis=0)[leg] / duration[leg, None]
    begin = np.concatenate(([-np.inf], times[:-1][leg], times[-1:]))
    end = np.concatenate((begin[1:], [np.inf]))
    reference = np.concatenate((times[:1], times[:-1][leg], times[-1:]))
    origin = np.vstack((points[:1], points[:-1][leg], points[-1:]))
    velocity = np.vstack((still, velocity, still))
    if trajectory.always_present:
        return begin, end, reference, origin, velocity
    return _with_absence(trajectory.lives, begin, reference, origin, velocity)


def _with_absence(lives: np.ndarray, begin: np.ndarray, reference: np.ndarray, origin: np.ndarray,
                  velocity: np.ndarray) -> tuple[np.ndarray, ...]:
    """Cut the pieces at the borders of the lives and blank those outside of any."""
    borders = lives[np.isfinite(lives)]
    cuts = np.union1d(begin, borders)
    source = np.searchsorted(begin, cuts, side="right") - 1
    alive = ((lives[:, 0] <= cuts[:, None]) & (cuts[:, None] < lives[:, 1])).any(axis=1)
    end = np.concatenate((cuts[1:], [np.inf]))
    blank = np.where(np.asarray(alive)[:, None], origin[source], np.nan)
    return cuts, end, reference[source], blank, velocity[source]
