"""The tree of dispatchers while links break and are replaced: sides, paths, and links that reconnect.

cugola-frey-murphy-picco-dynamic-topology, section V-A. While links are missing, the parts of the tree and
the missing links together are a tree again. So the parts at the two ends of a missing link are never the
same part, and any link between them keeps the graph without cycles, however many are missing.
"""
from __future__ import annotations

import random
from collections import deque

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
        """
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
