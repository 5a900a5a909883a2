"""How the tree stood at a moment: which links each end held, the way over them, and whether a fragment sought a new parent.

A link that breaks is held by one end for longer than by the other. What is published meanwhile goes on where the near end
holds the link, and is lost on it; where the near end has closed it, the event meets a tree in pieces. So a way through the
tree goes by what the near ends hold.
"""
from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class Hop(NamedTuple):
    near: int
    far: int
    link: str


Beside = dict[int, list[tuple[int, str]]]  # host -> the far ends of links, and the links


class Forest:
    """Tree links over time: as both ends hold them, and as each end does."""

    def __init__(self, links: pd.DataFrame, ends: pd.DataFrame) -> None:
        """links: `link`, `i`, `j`, `up`, `down`, held by both; ends: `link`, `near`, `far`, `up`, `down`, held by `near`."""
        self._links = _Spans(links, "i", "j")
        self._ends = _Spans(ends, "near", "far")
        self._closed = {(near, link): down for near, link, down in zip(ends["near"], ends["link"], ends["down"], strict=True)}

    def paths(self, source: int, at: float) -> dict[int, list[Hop]]:
        """Host -> the hops from `source` to it over links whose near ends held them at `at`; those that both ends held come first."""
        both, one = self._both(at), self._ends.beside(at)
        paths: dict[int, list[Hop]] = {source: []}
        queue = deque([source])
        while queue:
            reached = _spread(both, paths, queue)
            queue.extend(_over(one, paths, reached))
        return paths

    def fragments(self, source: int, target: int, at: float) -> set[int]:
        """Hosts in one tree with either, over links that both ends held."""
        paths: dict[int, list[Hop]] = {source: [], target: []}
        _spread(self._both(at), paths, deque(paths))
        return set(paths)

    def half_closed(self, hosts: set[int], at: float) -> bool:
        """Whether one of these is an end of a link that one end had closed and the other had not."""
        return any(self._closed.get((far, link), np.inf) <= at for near, far, link in self._ends.at(at)
                   if near in hosts or far in hosts)

    def beside(self, hosts: set[int], at: float) -> set[int]:
        """Far ends of the links that these hosts held."""
        return {far for near, far, _ in self._ends.at(at) if near in hosts}

    def _both(self, at: float) -> Beside:
        found: Beside = {}
        for i, j, link in self._links.at(at):
            found.setdefault(i, []).append((j, link))
            found.setdefault(j, []).append((i, link))
        return found


def _spread(beside: Beside, paths: dict[int, list[Hop]], queue: deque[int]) -> list[int]:
    """Add to `paths` what links lead to from the hosts of the queue; the hosts met, in order."""
    met = []
    while queue:
        near = queue.popleft()
        met.append(near)
        for far, link in beside.get(near, ()):
            if far not in paths:
                paths[far] = [*paths[near], Hop(near, far, link)]
                queue.append(far)
    return met


def _over(beside: Beside, paths: dict[int, list[Hop]], hosts: list[int]) -> list[int]:
    """Add to `paths` what is one link from these hosts; the hosts added."""
    added = []
    for near in hosts:
        for far, link in beside.get(near, ()):
            if far not in paths:
                paths[far] = [*paths[near], Hop(near, far, link)]
                added.append(far)
    return added


class _Spans:
    """Links with two ends and a time, to be asked for those of a moment."""

    def __init__(self, frame: pd.DataFrame, near: str, far: str) -> None:
        self._names = frame["link"].to_numpy(dtype=object)
        self._near, self._far = frame[near].to_numpy(), frame[far].to_numpy()
        self._up, self._down = frame["up"].to_numpy(dtype=float), frame["down"].to_numpy(dtype=float)

    def at(self, t: float) -> list[Hop]:
        return [Hop(int(self._near[row]), int(self._far[row]), self._names[row])
                for row in np.flatnonzero((self._up <= t) & (self._down > t))]

    def beside(self, t: float) -> Beside:
        found: Beside = {}
        for near, far, link in self.at(t):
            found.setdefault(near, []).append((far, link))
        return found


class Standings:
    """Whether each node knew that its fragment had no leader, over time: the records `tree_state`."""

    def __init__(self, told: pd.DataFrame) -> None:
        """told: `t`, `node`, `seeking`, in the order of time for each node."""
        self._of: dict[int, tuple[list[float], list[bool]]] = {}
        for node, own in told.groupby("node"):
            self._of[int(node)] = own["t"].tolist(), own["seeking"].tolist()

    def seeking(self, node: int, at: float) -> bool:
        times, flags = self._of.get(node, ([], []))
        last = bisect_right(times, at) - 1
        return last >= 0 and bool(flags[last])


class Pieces:
    """Why no way led through the tree."""

    def __init__(self, forest: Forest, standings: Standings, ended: Mapping[int, float]) -> None:
        """ended: host that lived on -> when its records end (s)."""
        self._forest, self._standings, self._ended = forest, standings, ended

    def why(self, source: int, target: int, at: float) -> tuple[str, str]:
        """A reason of losses.REASONS, and in words."""
        hosts = self._forest.fragments(source, target, at)
        near = hosts | self._forest.beside(hosts, at)
        if any(self._ended.get(host, np.inf) <= at for host in near):
            return "unknown", "records of a host beside the tree that it met are missing"
        if any(self._standings.seeking(host, at) for host in hosts):
            return "seeking", "a fragment of the tree was looking for a new parent"
        if self._forest.half_closed(hosts, at):
            return "seeking", "one end of a link had closed it, and the other did not know yet"
        return "unmerged", "publisher and subscriber in two trees, neither of them looking for a parent"
