"""Everything that chance decides in a run, drawn before it starts and the same for every protocol.

cugola-frey-murphy-picco-dynamic-topology, section V-A: "the same random sequences were applied to all the
protocols". Each purpose has its stream, keyed by the seed, so that a parameter changes only what it is about:
a sweep over T_u sees the same reconfigurations, one over epsilon the same subscriptions.

How the evaluation picks the replacing link is not said, nor which end of a broken one has the lower number; both
are parameters.
"""
from __future__ import annotations

import random
from typing import NamedTuple

from emulation.studies.overlay.graph import Edge, Graph, balanced, kruskal, labelled, renamed, scattered
from emulation.studies.overlay.parameters import Parameters


class Reconfiguration(NamedTuple):
    """A link breaks at `at` and another takes its place at `replaced`."""

    at: float
    lost: Edge
    replaced: float
    path: tuple[int, ...]  # from lost[0] to lost[1] over the new link; that link alone where it joins other parts
    turn: int  # path[turn], path[turn + 1] is the new link

    @property
    def reconnects(self) -> bool:
        """Whether the new link joins the two parts that the lost one left."""
        return (self.path[0], self.path[-1]) == self.lost


class Subscription(NamedTuple):
    at: float
    node: int
    pattern: int
    wanted: bool  # False: an unsubscription


class Script(NamedTuple):
    edges: list[Edge]
    reconfigurations: list[Reconfiguration]
    subscriptions: list[Subscription]  # by time
    core: list[int]  # dispatchers of the stable core


GROW = {"balanced": balanced, "random": scattered, "recursive": scattered, "labelled": labelled, "kruskal": kruskal}


def write(parameters: Parameters) -> Script:
    edges = GROW[parameters.tree](parameters.dispatchers, parameters.degree, stream(parameters, "tree"))
    edges = renamed(edges, parameters.numbering, stream(parameters, "names"))
    core, subscriptions = _subscriptions(parameters)
    return Script(edges, _reconfigurations(parameters, edges), subscriptions, core)


def stream(parameters: Parameters, *purpose: object) -> random.Random:
    return random.Random(":".join(map(str, (parameters.seed, *purpose))))


def _reconfigurations(parameters: Parameters, edges: list[Edge]) -> list[Reconfiguration]:
    """At a regular frequency; any link may break, also one that is new. By the time of the break."""
    breaks = stream(parameters, "breaks")
    graph = Graph(parameters.dispatchers, parameters.degree, edges)
    found: list[Reconfiguration] = []
    missing: list[tuple[float, Edge]] = []
    count = round((parameters.last - parameters.first) * parameters.rate)
    times = [parameters.first + k / parameters.rate for k in range(count)]
    for at in [*times, parameters.duration + parameters.repair]:
        while missing and missing[0][0] + parameters.repair <= at:
            broken, lost = missing.pop(0)
            path = graph.replacement(lost, parameters.replacement, stream(parameters, "replacement", len(found)))
            turn = next(i for i in range(len(path) - 1) if path[i + 1] not in graph.near[path[i]])
            graph.add(path[turn], path[turn + 1])
            found.append(Reconfiguration(broken, lost, broken + parameters.repair, path, turn))
        if graph.edges and at < parameters.last:
            lost = graph.edges[breaks.randrange(len(graph.edges))]
            graph.remove(*lost)
            missing.append((at, lost))
    return found


def _subscriptions(parameters: Parameters) -> tuple[list[int], list[Subscription]]:
    """Who subscribes to what and when. The share of subscribers is the same in the core and outside."""
    chance = stream(parameters, "subscribers")
    nodes = list(range(parameters.dispatchers))
    chance.shuffle(nodes)
    inside = round(parameters.core * parameters.dispatchers)
    core, others = nodes[:inside], nodes[inside:]
    found = []
    for group in (core, others):
        for node in group[:round(parameters.subscribers * len(group))]:
            own = stream(parameters, "patterns", node)
            held = own.sample(range(parameters.available), parameters.patterns)
            found += [Subscription(own.uniform(0.0, parameters.settled), node, pattern, True) for pattern in held]
            if group is others:
                found += _churn(parameters, node, held, own)
    return sorted(core), sorted(found)


def _churn(parameters: Parameters, node: int, held: list[int], own: random.Random) -> list[Subscription]:
    """A subscriber outside the core gives up one of its patterns for another, now and then."""
    found, at = [], parameters.settled
    while parameters.churn and parameters.patterns < parameters.available:
        at += own.expovariate(parameters.churn / 2)  # each time two: an unsubscription and a subscription
        if at >= parameters.duration:
            break
        place = own.randrange(len(held))
        new = own.randrange(parameters.available)
        while new in held:
            new = own.randrange(parameters.available)
        found += [Subscription(at, node, held[place], False), Subscription(at, node, new, True)]
        held[place] = new
    return found
