"""The tree of dispatchers while links break and are replaced: sides, paths, and links that reconnect.

cugola-frey-murphy-picco-dynamic-topology, section V-A. While links are missing, the parts of the tree and
the missing links together are a tree again. So the parts at the two ends of a missing link are never the
same part, and any link between them keeps the graph without cycles, however many are missing.
"""
from __future__ import annotations

import math
import random
from collections import deque
from heapq import heapify, heappop, heappush

Edge = tuple[int, int]  # the lower end first


def balanced(count: int, degree: int, chance: random.Random) -> list[Edge]:
    """Every dispatcher that is no leaf has `degree` neighbors, the last one perhaps fewer. The root is 0, and
    whoever is nearer to it has the lower number."""
    edges, parent, room = [], 0, degree
    for child in range(1, count):
        if room == 0:
            parent, room = parent + 1, degree - 1
        edges.append((parent, child))
        room -= 1
    return edges


def scattered(count: int, degree: int, chance: random.Random) -> list[Edge]:
    """Each dispatcher joins one of those before it that have fewer than `degree` neighbors."""
    edges, free, neighbors = [], [0], [0] * count
    for child in range(1, count):
        at = chance.randrange(len(free))
        parent = free[at]
        edges.append((parent, child))
        for end in (parent, child):
            neighbors[end] += 1
        if neighbors[parent] == degree:
            free[at] = free[-1]
            free.pop()
        free.append(child)
    return edges


def labelled(count: int, degree: int, chance: random.Random) -> list[Edge]:
    """All trees of `count` numbered dispatchers with at most `degree` neighbors are equally likely.

    Such a tree is a sequence of count - 2 numbers (Pruefer's code), in which a dispatcher stands as often as it has
    neighbors, less one. How often each stands is Poisson's, cut off at degree - 1, given that they make count - 2."""
    times = range(degree)
    weights = [_balancing(count, degree) ** k / math.factorial(k) for k in times]
    found: list[int] = []
    while len(found) != count - 2:
        found = [node for node, k in enumerate(chance.choices(times, weights, k=count)) for _ in range(k)]
    chance.shuffle(found)
    left = [1 + k for k in _counts(found, count)]
    leaves = [node for node in range(count) if left[node] == 1]
    heapify(leaves)
    edges = []
    for parent in found:
        edges.append((heappop(leaves), parent))
        left[parent] -= 1
        if left[parent] == 1:
            heappush(leaves, parent)
    return _from_root([*edges, (heappop(leaves), heappop(leaves))])


def _balancing(count: int, degree: int) -> float:
    """The parameter with which the cut-off Poisson numbers make count - 2 on average; any gives the same trees."""
    low, high = 0.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        weights = [middle ** k / math.factorial(k) for k in range(degree)]
        mean = sum(k * weight for k, weight in enumerate(weights)) / sum(weights)
        low, high = (middle, high) if mean < (count - 2) / count else (low, middle)
    return high


def _counts(numbers: list[int], count: int) -> list[int]:
    found = [0] * count
    for number in numbers:
        found[number] += 1
    return found


def kruskal(count: int, degree: int, chance: random.Random) -> list[Edge]:
    """Two dispatchers of different parts that have fewer than `degree` neighbors join, any two equally likely, until
    all are one part."""
    part = list(range(count))
    members = [[node] for node in range(count)]
    neighbors = [0] * count
    edges: list[Edge] = []
    while len(edges) < count - 1:
        a, b = chance.randrange(count), chance.randrange(count)
        if part[a] == part[b] or degree in (neighbors[a], neighbors[b]):
            continue
        edges.append((a, b))
        neighbors[a] += 1
        neighbors[b] += 1
        small, large = sorted((part[a], part[b]), key=lambda one: len(members[one]))
        for node in members[small]:
            part[node] = large
        members[large] += members[small]
    return _from_root(edges)


def _from_root(edges: list[Edge]) -> list[Edge]:
    """The same tree, numbered from one of its dispatchers: whoever is nearer to 0 has the lower number."""
    near: dict[int, list[int]] = {}
    for a, b in edges:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    names, found, todo = {0: 0}, [], deque([0])
    while todo:
        here = todo.popleft()
        for other in near[here]:
            if other not in names:
                names[other] = len(names)
                found.append((names[here], names[other]))
                todo.append(other)
    return found


def renamed(edges: list[Edge], numbering: str, chance: random.Random) -> list[Edge]:
    """The same tree with its dispatchers numbered by `chance`, the `root` first, or the `leaves`."""
    names = list(range(len(edges) + 1))
    if numbering == "chance":
        chance.shuffle(names)
    elif numbering == "leaves":
        names.reverse()
    return [edge(names[a], names[b]) for a, b in edges]


def edge(a: int, b: int) -> Edge:
    return (a, b) if a < b else (b, a)


FREE = {"any_two": "uniform", "end_any": "seeker"}  # what they are while the lost link's parts are all there are


class Graph:
    """Links that are there; `near` holds each dispatcher's neighbors in the order in which they came."""

    def __init__(self, count: int, degree: int, edges: list[Edge]) -> None:
        self.degree = degree
        self.edges: list[Edge] = []
        self.near: list[dict[int, None]] = [{} for _ in range(count)]
        for a, b in edges:
            self.add(a, b)

    def add(self, a: int, b: int) -> None:
        self.near[a][b] = self.near[b][a] = None
        self.edges.append(edge(a, b))

    def remove(self, a: int, b: int) -> None:
        del self.near[a][b], self.near[b][a]
        self.edges.remove(edge(a, b))

    def part(self, start: int) -> dict[int, int]:
        """The dispatchers that `start` reaches, each with the neighbor it is reached from."""
        found, todo = {start: start}, deque([start])
        while todo:
            here = todo.popleft()
            for other in self.near[here]:
                if other not in found:
                    found[other] = here
                    todo.append(other)
        return found

    def distances(self, start: int) -> list[int]:
        """Links from `start` to every dispatcher; -1 where it is not reached."""
        found = [-1] * len(self.near)
        for node, before in self.part(start).items():
            found[node] = found[before] + 1
        return found

    def replacement(self, lost: Edge, rule: str, chance: random.Random) -> tuple[int, ...]:
        """A link that reconnects the two sides of a lost one, as the reconfiguration path it makes: from the
        lower old end to the new link and over it to the higher old end. No dispatcher gets more than `degree`
        neighbors, and the lost link comes back only where no other is left.

        `uniform`: all such links are equally likely. `shared`: those that share an old end are, and no others.
        `seeker`: one of the old ends, equally likely, seeks; all that it may find on the other side are equally
        likely (where that is its old neighbor alone, the lost link comes back). An old end that has no room for another
        neighbor is passed over.

        `any_two` and `end_any`: any two parts that there are may be joined, not only the lost link's own. While there are
        no others these are `uniform` and `seeker`. Where the new link joins others, it alone is returned.
        """
        if rule in FREE:
            if len(self.part(lost[0])) + len(self.part(lost[1])) != len(self.near) or lost[1] in self.part(lost[0]):
                return self._anywhere(lost, rule, chance)
            rule = FREE[rule]
        ends = list(lost)
        parts = [self.part(end) for end in ends]
        sides = [[node for node in part if len(self.near[node]) < self.degree] for part in parts]
        keep = self._kept(ends, sides, rule, chance)
        if keep is not None:
            sides[keep] = [ends[keep]]
        while True:
            new = [side[chance.randrange(len(side))] for side in sides]
            if new != ends or len(sides[0]) * len(sides[1]) == 1:
                break
        back, onward = (self._way(part, node) for part, node in zip(parts, new))
        return tuple(back[::-1]) + tuple(onward)

    def _anywhere(self, lost: Edge, rule: str, chance: random.Random) -> tuple[int, ...]:
        """Of dispatchers with room any two of different parts; with `end_any` one of them an old end, if that has room.
        Each part has some: the sum of its neighbors is less than two for each."""
        part_of: dict[int, int] = {}
        for node in range(len(self.near)):
            if node not in part_of:
                part_of |= dict.fromkeys(self.part(node), node)
        able, room = ([node for node in nodes if len(self.near[node]) < self.degree] for nodes in (lost, part_of))
        seeker = able[chance.randrange(len(able))] if able and rule == "end_any" else None
        while True:
            one = room[chance.randrange(len(room))] if seeker is None else seeker
            other = room[chance.randrange(len(room))]
            if part_of[one] != part_of[other] and edge(one, other) != lost:
                break
        if {part_of[one], part_of[other]} != {part_of[end] for end in lost}:
            return one, other
        if part_of[one] != part_of[lost[0]]:
            one, other = other, one
        back, onward = (self._way(self.part(end), node) for end, node in zip(lost, (one, other)))
        return tuple(back[::-1]) + tuple(onward)

    @staticmethod
    def _kept(ends: list[int], sides: list[list[int]], rule: str, chance: random.Random) -> int | None:
        """Which of the old ends is an end of the new link; None: any link will do, also where both old ends have
        found other neighbors meanwhile and have no room."""
        able = [place for place in (0, 1) if ends[place] in sides[place]]
        if rule == "uniform" or not able:
            return None
        if rule == "seeker" or len(able) == 1:
            return able[chance.randrange(len(able))]
        # as many links to choose from as there are others on the far side
        return int(chance.randrange(max(len(sides[0]) + len(sides[1]) - 2, 1)) >= len(sides[1]) - 1)

    @staticmethod
    def _way(part: dict[int, int], node: int) -> list[int]:
        """From `node` to the start of its part."""
        way = [node]
        while part[node] != node:
            node = part[node]
            way.append(node)
        return way
