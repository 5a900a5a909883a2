"""Where all hosts of a run are and when: named trajectories of one common length of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from mobility.contacts import TooDense, effort, find_contacts
from mobility.pieces import Pieces, pieces
from mobility.trajectory import Trajectory

GLANCES = 4  # instants


class Movement:
    """names[h] and trajectories[h] belong to host h; times run from 0 to `duration` (s).

    `duration` is what the trace declares, or else the time of the last waypoint. Positions exist
    for all times: a host stays at its first waypoint before it, and at its last one after it.

    notes: what the reader of a trace assumed or ignored, one sentence each.
    lasts: where the duration comes from, and how to declare a longer one; "" without a trace.
    """

    def __init__(
        self,
        names: Sequence[str],
        trajectories: Sequence[Trajectory],
        duration: float,
        notes: Sequence[str] = (),
        lasts: str = "",
    ) -> None:
        if len(names) != len(trajectories):
            raise ValueError(f"found {len(names)} names for {len(trajectories)} trajectories; expected one for each")
        if len(set(names)) != len(names):
            raise ValueError("host names must differ")
        self.names = [str(name) for name in names]
        self.trajectories = list(trajectories)
        self.duration = float(duration)
        self.notes = tuple(notes)
        self.lasts = lasts
        self.dimensions = max((t.points.shape[1] for t in self.trajectories), default=2)
        self._pieces: Pieces | None = None
        self._span = (np.inf, np.inf)  # while the current pieces hold
        self._current = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def pieces(self) -> Pieces:
        if self._pieces is None:
            self._pieces = pieces(self.trajectories, self.dimensions)
        return self._pieces

    def positions(self, t: float) -> np.ndarray:
        """All hosts at `t`: a new array (n, dimensions) in m, NaN where a host is absent.

        Cheap when `t` advances in small steps: the current pieces are remembered.
        """
        if not self._span[0] <= t < self._span[1]:
            self._seek(t)
        return np.asarray(self._origin + self._velocity * (t - self._reference))

    def present(self, t: float) -> np.ndarray:
        """(n,) of bool: which hosts exist at `t`."""
        return np.asarray(~np.isnan(self.positions(t)[:, 0]))

    def contacts(self, radius: float, start: float = 0.0, end: float | None = None) -> np.recarray:
        """Every contact within `radius` (m) in [start, end], in the form of `contacts.find_contacts`."""
        return find_contacts(self.pieces, radius, start, self.duration if end is None else end)

    def met(self, radius: float, most: int) -> np.ndarray | None:
        """(n,) of bool: which hosts are ever within `radius` (m) of another one, from 0 to the duration.

        Exact. None if that takes more than `most` positions, or if there are too many contacts to count.
        """
        found = np.zeros(len(self), dtype=bool)
        if effort(self.pieces, radius, 0.0, self.duration) > most:
            return None
        for t in np.linspace(0.0, self.duration, GLANCES):  # most hosts meet somebody soon, and need no more
            here = self.positions(t)
            there = np.flatnonzero(~np.isnan(here[:, 0]))
            if len(there) > 1:
                found[there] |= cKDTree(here[there]).query(here[there], k=2, distance_upper_bound=radius)[0][:, 1] < np.inf
        try:
            contacts = find_contacts(self.pieces, radius, 0.0, self.duration, np.flatnonzero(~found))
        except TooDense:
            return None
        found[contacts.i] = found[contacts.j] = True
        return found

    def window(self, start: float, duration: float) -> Movement:
        """`duration` seconds from `start`, with times relative to `start`."""
        parts = [trajectory.window(start, duration) for trajectory in self.trajectories]
        return Movement(self.names, parts, duration, self.notes)

    def first(self, count: int, names: Sequence[str] | None = None) -> Movement:
        """The first `count` hosts, under other names if given."""
        return Movement(
            names or self.names[:count], self.trajectories[:count], self.duration, self.notes, self.lasts
        )

    def _seek(self, t: float) -> None:
        """Find the piece of every host that holds at `t`, from the last ones if time went on."""
        p = self.pieces
        forward = t >= self._span[1]
        current = self._current if forward else p.first[:-1].copy()
        late = np.flatnonzero(p.end[current] <= t)
        while len(late):
            current[late] += 1
            late = late[p.end[current[late]] <= t]
        self._current = current
        self._span = (p.begin[current].max(initial=-np.inf), p.end[current].min(initial=np.inf))
        self._origin, self._velocity = p.origin[current], p.velocity[current]
        self._reference = p.reference[current][:, None]
