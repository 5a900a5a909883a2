"""The transient oracle: at every step of a repair, an event published now reaches every subscriber that it must.

test_oracle.py looks once all is quiet. Reconciliation is for the time before: whoever is in one part with the publisher
over links that have been there all the while loses nothing, at no step; and once the new link's subscriptions have come
through, while the timers still run, nobody in the publisher's part does. Where an event published now would go is read off
the tables, so that looking changes nothing.
"""
from __future__ import annotations

import random

import pytest

from node.broker import RECONCILERS
from node.filters import parse
from tests.node.tree_world import TreeWorld

KINDS = "abc"
FILTERS = {kind: parse(f'kind = "{kind}"') for kind in KINDS}


def reached(world, source, kind):
    """Nodes with a client that an event published there now would come to, if nothing else happened meanwhile."""
    found, todo = set(), [(source, None)]
    while todo:
        node, arrival = todo.pop()
        links, clients = world.cores[node].routing.next_hops(_Event(kind), arrival)
        if clients:
            found.add(node)
        for link in links:
            far = link.far_end(node)
            if link != arrival and link in world.script.links and link in world.cores[far].routing.links:
                todo.append((far, link))
    return found


class _Event:
    def __init__(self, kind):
        self.attributes = {"kind": kind}


def part(world, source, links):
    """Who is connected to this node by these links."""
    found, todo = {source}, [source]
    while todo:
        node = todo.pop()
        for link in links:
            if node in link[:2] and link.far_end(node) not in found:
                found.add(link.far_end(node))
                todo.append(link.far_end(node))
    return found


def check(world, links, when):
    for kind in KINDS:
        wanting = {core.me.node for core in world.cores if FILTERS[kind].hash in core.clients._filters["c"]}
        for source in range(len(world.cores)):
            missed = wanting & part(world, source, links) - reached(world, source, kind)
            assert not missed, f"{when}: an event {kind} of {source} does not reach {sorted(missed)}"


def prompt(world):
    return [step for step in world.steps() if step[0] != "timer"]


def exchange(protocol, seed, forwarding="identity", flush="broadcast"):
    """Links are exchanged one at a time; notices and messages come in any order, timers last and in any order."""
    chance = random.Random(f"transient {seed}")
    count = chance.randrange(3, 10)
    world = TreeWorld(count, forwarding, RECONCILERS[protocol], flush=flush,
                      edges=[(node, node - 1 - chance.randrange(min(node, 3))) for node in range(1, count)])
    for core in world.cores:
        core.attach("c")
        for kind in KINDS:
            if chance.random() < 0.35:
                core.clients.subscribe("c", FILTERS[kind])
    world.settle()
    for _ in range(3):
        old = chance.choice(list(world.script.links))
        world.cut(*old[:2])
        there = set(world.script.links)
        for _ in range(chance.randrange(4)):
            if prompt(world):
                world.happen(*chance.choice(prompt(world)))
                check(world, there, "the link is lost")
        world.replace(old, *chance.choice(list(world.script.choices(old, 9))))
        while prompt(world):
            world.happen(*chance.choice(prompt(world)))
            check(world, there, "over links that stand")
        check(world, world.script.links, "the new link's subscriptions have come")
        while world.steps():
            world.happen(*chance.choice(prompt(world) or world.steps()))
            check(world, world.script.links, "timers run out")


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", RECONCILERS)
def test_at_every_step_who_must_be_reached_is(protocol, forwarding):
    for seed in range(25):
        exchange(protocol, seed, forwarding, ("broadcast", "piggyback", "path")[seed % 3])


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RECONCILERS)
def test_in_thousands_of_exchanges(protocol):
    for seed in range(1000, 3000):
        exchange(protocol, seed)
