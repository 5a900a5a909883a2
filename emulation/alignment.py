"""The clocks of field nodes, brought together from what they recorded of each other's datagrams.

Every life of a node has a clock of its own that begins anywhere and goes a little wrong (20 millionths are usual for
a crystal). A datagram that A sent at a by its clock and B heard at b by its own bounds the offset of the two: b - a
is the offset and the datagram's delay. In the other direction the delay counts the other way, so the offset lies
between the smallest b - a of one direction and the largest of the other; their middle is taken, per minute, and half
of the gap is how wrong it may be (the symmetric-delay argument of NTP, RFC 5905, section 8, over broadcasts).

A record that is wrong makes a bound that contradicts the others. In each window of time the offset is sought that
contradicts the fewest (Marzullo's algorithm, which NTP uses to tell truechimers from falsetickers, RFC 5905, section
11.2.1); the bounds that it contradicts are thrown out and named.

Lives that heard nobody are placed by their wall clocks, as far as those can be believed (`_placed`); the others are
left out, and named.
"""
from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

MINUTE = 60.0  # s of one estimate
WINDOWS = (300.0, MINUTE)  # s in which bounds are compared, with those of the window before and behind
DRIFT = 1e-4  # by which two clocks part at most; crystals do by a fifth of that
SUPPORT = 1.0  # s within which the surest bound of one direction alone needs a second one ...
FEW = 8  # ... where there are at least so many
APART = 1.0  # s by which the wall clock of two lives of a node may let them overlap
BORN = 1_672_531_200.0  # unix time: the first day of 2023. No life of this software began before
REFERENCE, DATAGRAMS, ONE_WAY, WALL = "reference", "datagrams", "one way", "wall clock"

LifeId = tuple[int, int]  # node, boot epoch
Bound = tuple[float, float]  # when, and of what the offset is at most, or at least
Disagreeing = dict[tuple[LifeId, LifeId], tuple[int, float]]  # of two lives: how many bounds were thrown out, and off by how much (s) at most


@dataclass
class Life:
    """What one life of a node recorded that tells of clocks. Times in s of its own clock."""

    first: float = math.inf
    last: float = -math.inf
    walls: list[float] = field(default_factory=list)  # unix time less own time, at each look at the wall clock
    sent: dict[int, float] = field(default_factory=dict)  # counter -> when
    heard: dict[LifeId, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))  # counter, when
    followed: dict[LifeId, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """Of events: when the other published it by its clock, when it came here."""

    @property
    def wall(self) -> float | None:
        """Unix time less own time: the last that another look confirms, so that one bad record says nothing. None when
        nothing tells, or what does cannot be: a clock that stands before this software was made."""
        walls = self.walls
        sure = (walls[k] for k in reversed(range(1, len(walls))) if abs(walls[k] - walls[k - 1]) < 1.0)
        last = next(sure, walls[-1] if walls else -math.inf)
        return last if last + self.first >= BORN else None


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


class Walk(NamedTuple):
    """Lives that heard each other, and when that was."""

    number: int  # from 1 on, by when they began
    lives: list[LifeId]
    began: float | None  # unix time, by their latest wall clock; None when none can be believed
    seconds: float  # that it lasted


class Aligned(NamedTuple):
    """The clocks of the lives that can be placed, why the others cannot, and which records disagreed with the rest."""

    clocks: dict[LifeId, Clock]
    left_out: dict[LifeId, str]
    disagreeing: Disagreeing
    walks: list[Walk]  # that could be chosen, by their numbers
    walk: int  # the number of the one that was


class NoSuchWalk(Exception):
    """The walk that was asked for is not there; `walks` has those that are."""

    def __init__(self, walks: list[Walk]) -> None:
        super().__init__()
        self.walks = walks


def align(lives: Mapping[LifeId, Life], number: int | None = None) -> Aligned:
    """A clock for each life that can be placed. Time 0 of the run is when the first of them begins. `number`: of the walk;
    None for the one of the most nodes (`_weight`). Raises NoSuchWalk."""
    if not lives:
        return Aligned({}, {}, {}, [], 0)
    edges, disagreeing = _edges(lives)
    groups = _groups(edges)
    walk = max(groups, key=lambda group: _weight(group, groups, lives))
    walks = _walks(groups, walk, lives, edges)
    if number is not None:
        if not 1 <= number <= len(walks):
            raise NoSuchWalk(walks)
        walk = walks[number - 1].lives
    clocks: dict[LifeId, Clock] = {}
    left_out: dict[LifeId, str] = {}
    chief = _longest(walk, lives)
    clocks[chief] = Clock((0.0,), (0.0,), REFERENCE, 0.0)
    _spread(chief, clocks, edges)
    for group in groups:
        if group is not walk:
            placed = _placed(group, walk, lives, clocks)
            if isinstance(placed, str):
                left_out.update(dict.fromkeys(group, placed))
                continue
            root, offset = placed
            clocks[root] = Clock((0.0,), (offset,), WALL, math.nan)
            _spread(root, clocks, edges)
    for name in _twice(clocks, lives):
        del clocks[name]
        left_out[name] = "it exchanged no datagram with the others, and its wall clock puts it at the time of another life of its node"
    start = min(clock.run_time(lives[name].first) for name, clock in clocks.items())
    clocks = {name: clock._replace(offsets=tuple(o - start for o in clock.offsets)) for name, clock in clocks.items()}
    return Aligned(clocks, left_out, disagreeing, walks, next(one.number for one in walks if one.lives == walk))


def _twice(clocks: Mapping[LifeId, Clock], lives: Mapping[LifeId, Life]) -> list[LifeId]:
    """Lives that their wall clocks put where another life of the same node is, as no node can live twice."""
    def span(name: LifeId) -> tuple[float, float]:
        return clocks[name].run_time(lives[name].first), clocks[name].run_time(lives[name].last)

    found = []
    for name in sorted((name for name, clock in clocks.items() if clock.by == WALL), key=lambda name: span(name)[0] - span(name)[1]):
        begins, ends = span(name)
        if any(other[0] == name[0] and other != name and other not in found
               and min(ends, span(other)[1]) - max(begins, span(other)[0]) > APART for other in clocks):
            found.append(name)
    return found


def _walks(groups: Sequence[list[LifeId]], walk: list[LifeId], lives: Mapping[LifeId, Life],
           edges: Mapping[LifeId, Mapping[LifeId, _Edge]]) -> list[Walk]:
    """Groups of two nodes or more, and where the walk itself is of one node, all; those whose time is not known come last."""
    found = []
    for group in groups:
        if len({node for node, _ in group}) > 1 or len({node for node, _ in walk}) == 1:
            clocks = {(root := _longest(group, lives)): Clock((0.0,), (0.0,), REFERENCE, 0.0)}
            _spread(root, clocks, edges)
            begins = min(clocks[name].run_time(lives[name].first) for name in group)
            ends = max(clocks[name].run_time(lives[name].last) for name in group)
            wall = max(_walls(group, lives, clocks), default=None)  # a clock that stood still is late
            found.append(Walk(0, group, None if wall is None else wall + begins, ends - begins))
    found.sort(key=lambda one: (one.began is None, one.began or 0.0, one.lives))
    return [one._replace(number=k) for k, one in enumerate(found, 1)]


# ---- lives that exchanged nothing with the others ------------------------------------------------
def _groups(edges: Mapping[LifeId, Mapping[LifeId, _Edge]]) -> list[list[LifeId]]:
    """Lives that are connected, each group in order."""
    groups, done = [], set()
    for name in sorted(edges):
        if name not in done:
            group, waiting = [], [name]
            done.add(name)
            while waiting:
                one = waiting.pop()
                group.append(one)
                waiting += edges[one].keys() - done
                done.update(edges[one])
            groups.append(sorted(group))
    return groups


def _walls(group: Sequence[LifeId], lives: Mapping[LifeId, Life], clocks: Mapping[LifeId, Clock]) -> list[float]:
    """Unix time less the time of `clocks`, by each wall clock of the group that can be believed."""
    return [wall - clocks[name].offset(lives[name].first) for name in group if (wall := lives[name].wall) is not None]


def _longest(group: Sequence[LifeId], lives: Mapping[LifeId, Life]) -> LifeId:
    return min(group, key=lambda name: (lives[name].first - lives[name].last, name))


def _weight(group: Sequence[LifeId], groups: Sequence[Sequence[LifeId]], lives: Mapping[LifeId, Life]) -> tuple[int, int, bool, float]:
    """The walk is the group of the most nodes; of several the one whose wall clocks most others confirm, and then the
    longest."""
    times = _times(group, lives)
    confirmed = sum(any(_meet(mine, other) for mine in times for other in _times(one, lives))
                    for one in groups if one is not group)
    return (len({node for node, _ in group}), confirmed, bool(times),
            max(lives[name].last - lives[name].first for name in group))


def _times(group: Sequence[LifeId], lives: Mapping[LifeId, Life]) -> list[tuple[float, float]]:
    """When its lives were, by each of their wall clocks that can be believed."""
    return [(wall + lives[name].first, wall + lives[name].last) for name in group if (wall := lives[name].wall) is not None]


def _meet(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def _placed(group: Sequence[LifeId], walk: Sequence[LifeId], lives: Mapping[LifeId, Life],
            clocks: Mapping[LifeId, Clock]) -> tuple[LifeId, float] | str:
    """A life of the group and its clock's offset against the walk's, or why the group cannot be placed.

    A wall clock is believed when it puts its life, in part at least, into the time of the walk by a wall clock of the
    walk, the latest first (a clock that stood still is late). Outside of that time no delivery is expected from or to a life: if
    its clock were wrong, what it published would be missing from the result in silence.
    """
    alone = "it exchanged no datagram with the others, and "
    told = {name: wall for name in group if (wall := lives[name].wall) is not None}
    if not told:
        said = [wall + lives[name].first for name in group for wall in lives[name].walls[-1:]]
        return alone + (f"its wall clock said {_date(max(said))}" if said else "it recorded no wall clock")
    root = _longest(list(told), lives)
    known = sorted(_walls(walk, lives, clocks), reverse=True)
    if not known:
        return alone + "none of their wall clocks can be believed, so its time is unknown"
    begins = min(clocks[name].run_time(lives[name].first) for name in walk)
    ends = max(clocks[name].run_time(lives[name].last) for name in walk)
    own = told[root] + lives[root].first, told[root] + lives[root].last
    for apart in known:
        if _meet(own, (begins + apart, ends + apart)):
            return root, told[root] - apart
    early = begins + known[0] - own[1]
    when = f"ended {_span(early)} before they began" if early > 0 else \
        f"began {_span(own[0] - ends - known[0])} after they ended"
    return alone + f"by its wall clock ({_date(own[0])}) it {when}"


def _date(unix: float) -> str:
    return f"{datetime.fromtimestamp(unix, UTC):%Y-%m-%d %H:%M}"


def _span(seconds: float) -> str:
    for size, name in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {name}"
    return f"{seconds:.0f} s"


# ---- lives that are connected ----------------------------------------------------------------------
def _spread(root: LifeId, clocks: dict[LifeId, Clock], edges: Mapping[LifeId, Mapping[LifeId, _Edge]]) -> None:
    """Clocks for all who are connected with `root`, along the surest ways."""
    root_by = clocks[root].by
    waiting: list[tuple[float, LifeId, LifeId | None]] = [(0.0, root, None)]
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


def _edges(lives: Mapping[LifeId, Life]) -> tuple[dict[LifeId, dict[LifeId, _Edge]], Disagreeing]:
    edges: dict[LifeId, dict[LifeId, _Edge]] = {name: {} for name in lives}
    disagreeing: Disagreeing = {}
    pairs = {tuple(sorted((name, other))) for name, life in lives.items()
             for other in (*life.heard, *life.followed) if other in lives and other != name}
    for a, b in sorted(pairs):
        back = [(t, -difference) for t, difference in _delays(lives[b], b, lives[a], there=True)]
        highest, lowest, thrown = _agreeing(_delays(lives[a], a, lives[b]), back)
        if thrown:
            disagreeing[a, b] = len(thrown), max(thrown)
        edge = _estimate(highest, lowest)
        if edge is not None:
            edges[a][b], edges[b][a] = edge, edge.turned()
    return edges, disagreeing


def _delays(sender: Life, name: LifeId, hearer: Life, there: bool = False) -> list[Bound]:
    """(time, hearer's less sender's time) of what one got of the other; the time is the sender's, or with `there`
    the hearer's."""
    both = [(sender.sent[counter], t) for counter, t in hearer.heard.get(name, ()) if counter in sender.sent]
    both += hearer.followed.get(name, ())
    return [(heard if there else sent, heard - sent) for sent, heard in both]


# ---- which bounds agree -------------------------------------------------------------------------------
def _agreeing(highest: list[Bound], lowest: list[Bound]) -> tuple[list[Bound], list[Bound], list[float]]:
    """Both without the bounds that contradict the rest, and by how much each of those does (s)."""
    thrown: list[float]
    if not highest or not lowest:
        kept, thrown = _supported(highest or [(t, -bound) for t, bound in lowest])
        return (kept, [], thrown) if highest else ([], [(t, -bound) for t, bound in kept], thrown)
    thrown = []
    for width in WINDOWS:
        highest, lowest = _uncontradicted(highest, lowest, width, thrown)
    return highest, lowest, thrown


def _uncontradicted(highest: Sequence[Bound], lowest: Sequence[Bound], width: float,
                    thrown: list[float]) -> tuple[list[Bound], list[Bound]]:
    """The bounds that agree with most of those near them; by how much the others are off goes into `thrown`."""
    tops, floors = _by_window(highest, width), _by_window(lowest, width)
    slack = 3 * width * DRIFT  # s that true bounds may contradict each other
    kept: tuple[list[Bound], list[Bound]] = [], []
    for window in sorted(tops.keys() | floors.keys()):
        above, below = ([bound for k in (-1, 0, 1) for _, bound in side.get(window + k, ())] for side in (tops, floors))
        offset = _least_contradicted(above, below, slack)
        for bounds, sign, good in ((tops.get(window, ()), 1, kept[0]), (floors.get(window, ()), -1, kept[1])):
            for t, bound in bounds:
                off = 0.0 if offset is None else sign * (offset - bound)
                if off > slack:
                    thrown.append(off)
                else:
                    good.append((t, bound))
    return kept


def _least_contradicted(above: list[float], below: list[float], slack: float) -> float | None:
    """The offset that the fewest bounds contradict; of several the middle. None where nothing tells which of them is
    right: one against one."""
    if not above or not below:
        return None
    above, below = sorted(above), sorted(below)

    def cost(offset: float) -> int:
        return bisect_left(above, offset) + len(below) - bisect_right(below, offset)

    costs = [(cost(end), end) for end in sorted({*above, *below})]
    least = min(costs)[0]
    best = [end for found, end in costs if found == least]
    middle = (best[0] + best[-1]) / 2
    return middle if best[-1] - best[0] <= slack or cost(middle) == least else None


def _supported(bounds: Sequence[Bound]) -> tuple[list[Bound], list[float]]:
    """One direction alone: what lies far below all others is no datagram that was faster, but a record that is wrong."""
    kept, thrown = sorted(bounds, key=lambda x: x[1]), []
    while len(kept) >= FEW and kept[1][1] - kept[0][1] > SUPPORT + DRIFT * abs(kept[1][0] - kept[0][0]):
        thrown.append(kept[1][1] - kept[0][1])
        del kept[0]
    return kept, thrown


def _by_window(bounds: Sequence[Bound], width: float) -> dict[int, list[Bound]]:
    found: dict[int, list[Bound]] = defaultdict(list)
    for t, bound in bounds:
        found[int(t // width)].append((t, bound))
    return found


# ---- estimates --------------------------------------------------------------------------------------
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


def _by_minute(bounds: Sequence[tuple[float, float]], best: Callable[[float, float], float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for t, bound in bounds:
        minute = int(t // MINUTE)
        found[minute] = bound if minute not in found else best(found[minute], bound)
    return found
