"""The clocks of field nodes, brought together from what they recorded of each other's datagrams.

Every life of a node has a clock of its own that begins anywhere and goes a little wrong (20 millionths are usual for
a crystal). A datagram that A sent at a by its clock and B heard at b by its own bounds the offset of the two: b - a
is the offset and the datagram's delay. In the other direction the delay counts the other way, so the offset lies
between the smallest b - a of one direction and the largest of the other; their middle is taken, per minute, and half
of the gap is how wrong it may be (the symmetric-delay argument of NTP, RFC 5905, section 8, over broadcasts). Lives
that heard nobody are placed by their wall clocks, which is as good as those were set.
"""
from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MINUTE = 60.0  # s of one estimate
REFERENCE, DATAGRAMS, ONE_WAY, WALL = "reference", "datagrams", "one way", "wall clock"

LifeId = tuple[int, int]  # node, boot epoch


@dataclass
class Life:
    """What one life of a node recorded that tells of clocks. Times in s of its own clock."""

    first: float = math.inf
    last: float = -math.inf
    wall: float | None = None  # unix time less own time, as it was recorded last
    sent: dict[int, float] = field(default_factory=dict)  # counter -> when
    heard: dict[LifeId, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))  # counter, when
    followed: dict[LifeId, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """Of events: when the other published it by its clock, when it came here."""


class Clock(NamedTuple):
    """How the times of one life become the run's: `offsets` (s) at times `at` of its own clock, between them in
    proportion, beyond them as at the nearest."""

    at: tuple[float, ...]
    offsets: tuple[float, ...]
    by: str  # REFERENCE, DATAGRAMS, ONE_WAY or WALL
    wrong: float  # s it may be off against the reference at most; nan when nothing tells

    def run_time(self, t: float) -> float:
        """The run's time at `t` of this clock."""
        return t + self.offset(t)

    def offset(self, t: float) -> float:
        k = bisect_right(self.at, t)
        if k == 0 or k == len(self.at):
            return self.offsets[min(k, len(self.at) - 1)]
        share = (t - self.at[k - 1]) / (self.at[k] - self.at[k - 1])
        return self.offsets[k - 1] + share * (self.offsets[k] - self.offsets[k - 1])


class _Edge(NamedTuple):
    """What two lives know of each other: the offset of the second's clock against the first's at times of the
    first's, and how wrong it may be."""

    at: tuple[float, ...]
    offsets: tuple[float, ...]
    wrong: float
    by: str

    def turned(self) -> _Edge:
        at = tuple(t + o for t, o in zip(self.at, self.offsets, strict=True))
        return _Edge(at, tuple(-o for o in self.offsets), self.wrong, self.by)


def align(lives: Mapping[LifeId, Life]) -> dict[LifeId, Clock]:
    """A clock for each life. Time 0 of the run is when the first of them begins."""
    if not lives:
        return {}
    edges = _edges(lives)
    clocks: dict[LifeId, Clock] = {}
    chief = None
    for root in sorted(lives, key=lambda name: (lives[name].first - lives[name].last, name)):  # the longest first
        if root in clocks:
            continue
        if chief is None:
            chief = root
            clocks[root] = Clock((0.0,), (0.0,), REFERENCE, 0.0)
        else:
            apart = (lives[root].wall or 0.0) - (lives[chief].wall or 0.0)
            clocks[root] = Clock((0.0,), (apart,), WALL, math.nan)
        _spread(root, clocks, edges)
    start = min(clocks[name].run_time(life.first) for name, life in lives.items())
    return {name: clock._replace(offsets=tuple(o - start for o in clock.offsets)) for name, clock in clocks.items()}


def _spread(root: LifeId, clocks: dict[LifeId, Clock], edges: Mapping[LifeId, Mapping[LifeId, _Edge]]) -> None:
    """Clocks for all who are connected with `root`, along the surest ways."""
    root_by = clocks[root].by
    waiting = [(0.0, root, None)]
    done: set[LifeId] = set()
    while waiting:
        wrong, name, source = heapq.heappop(waiting)
        if name in done:
            continue
        done.add(name)
        if source is not None:
            edge = edges[name][source]  # of the source's clock against this one's
            other = clocks[source]
            offsets = tuple(o + other.offset(t + o) for t, o in zip(edge.at, edge.offsets, strict=True))
            by = WALL if root_by == WALL else ONE_WAY if ONE_WAY in (edge.by, other.by) else DATAGRAMS
            clocks[name] = Clock(edge.at, offsets, by, math.nan if root_by == WALL else wrong)
        for neighbor, edge in edges[name].items():
            if neighbor not in done:
                heapq.heappush(waiting, (wrong + edge.wrong, neighbor, name))


def _edges(lives: Mapping[LifeId, Life]) -> dict[LifeId, dict[LifeId, _Edge]]:
    edges: dict[LifeId, dict[LifeId, _Edge]] = {name: {} for name in lives}
    pairs = {tuple(sorted((name, other))) for name, life in lives.items()
             for other in (*life.heard, *life.followed) if other in lives and other != name}
    for a, b in sorted(pairs):
        back = [(t, -difference) for t, difference in _delays(lives[b], b, lives[a], there=True)]
        edge = _estimate(_delays(lives[a], a, lives[b]), back)
        if edge is not None:
            edges[a][b], edges[b][a] = edge, edge.turned()
    return edges


def _delays(sender: Life, name: LifeId, hearer: Life, there: bool = False) -> list[tuple[float, float]]:
    """(time, hearer's less sender's time) of what one got of the other; the time is the sender's, or with `there`
    the hearer's."""
    both = [(sender.sent[counter], t) for counter, t in hearer.heard.get(name, ()) if counter in sender.sent]
    both += hearer.followed.get(name, ())
    return [(heard if there else sent, heard - sent) for sent, heard in both]


def _estimate(highest: Sequence[tuple[float, float]], lowest: Sequence[tuple[float, float]]) -> _Edge | None:
    """From bounds of the offset from above and from below, each (time, bound)."""
    if not highest and not lowest:
        return None
    if not highest or not lowest:  # a datagram takes some time, at least none
        t, bound = min(highest, key=lambda x: x[1]) if highest else max(lowest, key=lambda x: x[1])
        return _Edge((t,), (bound,), 1.0, ONE_WAY)
    tops, floors = _by_minute(highest, min), _by_minute(lowest, max)
    minutes = sorted(tops.keys() & floors.keys())
    if not minutes:
        middle = (min(b for _, b in highest) + max(b for _, b in lowest)) / 2
        wrong = abs(min(b for _, b in highest) - max(b for _, b in lowest)) / 2
        return _Edge((highest[0][0],), (middle,), wrong, DATAGRAMS)
    at = tuple((m + 0.5) * MINUTE for m in minutes)
    offsets = tuple((tops[m] + floors[m]) / 2 for m in minutes)
    wrong = max(abs(tops[m] - floors[m]) / 2 for m in minutes)
    return _Edge(at, offsets, wrong, DATAGRAMS)


def _by_minute(bounds: Sequence[tuple[float, float]], best) -> dict[int, float]:
    found: dict[int, float] = {}
    for t, bound in bounds:
        minute = int(t // MINUTE)
        found[minute] = bound if minute not in found else best(found[minute], bound)
    return found
