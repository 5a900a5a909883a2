"""For every event: when it could have come to each host, and along which way.

The one is the physical bound (bound.py), the other the path through the tree that was standing when the event
was published, from which losses.py finds where an event ended.
"""
from __future__ import annotations

import numpy as np

from analysis.bound import ContactGraph
from analysis.fragments import Forest, Hop

SLICE = 1.0  # s of publications that share one choice of contacts


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
