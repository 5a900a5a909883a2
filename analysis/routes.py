"""For every event: when it could have come to each host, and along which way.

The one is the physical bound (bound.py), the other the path through the tree that was standing when the event
was published, from which losses.py finds where an event ended.
"""
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from analysis.bound import ContactGraph

if TYPE_CHECKING:
    import pandas as pd

SLICE = 1.0  # s of publications that share one choice of contacts


class Hop(NamedTuple):
    near: int
    far: int
    link: str


class Forest:
    """Tree links as arrays `link`, `i`, `j`, `up`, `down`."""

    def __init__(self, links: pd.DataFrame) -> None:
        self.names = links["link"].to_numpy(dtype=object)
        self.i, self.j = links["i"].to_numpy(), links["j"].to_numpy()
        self.up, self.down = links["up"].to_numpy(dtype=float), links["down"].to_numpy(dtype=float)

    def paths(self, source: int, at: float) -> dict[int, list[Hop]]:
        """Host -> the hops (near, far, link) from `source` to it over the links open at `at`."""
        beside: dict[int, list[tuple[int, str]]] = {}
        for row in np.flatnonzero((self.up <= at) & (self.down > at)):
            i, j = int(self.i[row]), int(self.j[row])
            beside.setdefault(i, []).append((j, self.names[row]))
            beside.setdefault(j, []).append((i, self.names[row]))
        paths: dict[int, list[Hop]] = {source: []}
        queue = deque([source])
        while queue:
            near = queue.popleft()
            for far, link in beside.get(near, ()):
                if far not in paths:
                    paths[far] = [*paths[near], Hop(near, far, link)]
                    queue.append(far)
        return paths


class Routes:
    """Ways of events that are asked for in the order of time."""

    def __init__(self, graph: ContactGraph, forest: Forest, deadline: float) -> None:
        self._graph, self._forest, self._deadline = graph, forest, deadline
        self._slice = 0.0
        self._near = graph.between(0.0, SLICE + deadline)  # the contacts that matter to publications of that slice

    def arrivals(self, source: int, start: float) -> np.ndarray:
        """Earliest arrival (s) at each host of what `source` publishes at `start`; inf when not by the deadline."""
        piece = start // SLICE
        if piece != self._slice:
            self._slice, self._near = piece, self._graph.between(piece * SLICE, (piece + 1) * SLICE + self._deadline)
        return self._near.earliest(source, start, start + self._deadline)

    def paths(self, source: int, start: float) -> dict[int, list[Hop]]:
        """Host -> the hops to it through the tree that stood at `start`; hosts that the tree did not connect are not in it."""
        return self._forest.paths(source, start)
