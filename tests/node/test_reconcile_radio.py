"""The same protocols over the real tree and a radio that loses frames: all on the wire, no digest."""
from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from node.broker import RECONCILERS
from node.filters import parse
from tests.node.histories import UNFINISHED
from tests.node.radio_world import RadioWorld

FILTERS = [parse(text) for text in ("x > 1", "x > 3", "x > 5", "x = 4", 'kind = "a"', "*", "x in [4, 5]")]


class Walk:
    """Ten hosts walk about a square of 3 by 3, subscribe, take back and publish; then they come together."""

    def __init__(self, seed, loss=0.1, nodes=10, **config):
        self.world = RadioWorld(nodes, seed=seed, loss=loss, digest=False, **config)
        self.chance = random.Random(f"walk {seed}")
        self.places = {node: [self.chance.uniform(0, 3), self.chance.uniform(0, 3)] for node in range(nodes)}
        self.subscribed = {node: set() for node in range(nodes)}
        for broker in self.world.brokers.values():
            broker.attach("c", lambda event: None)

    def place(self, radius):
        self.world.hears = {a: {b for b in self.places if a != b and math.dist(
            self.places[a], self.places[b]) < radius} for a in self.places}

    def run(self, steps):
        chance = self.chance
        for _ in range(steps):
            for place in self.places.values():
                place[:] = [min(max(at + chance.gauss(0, 0.06), 0.0), 3.0) for at in place]
            self.place(1.3)
            node, wanted = chance.randrange(len(self.places)), chance.choice(FILTERS)
            if chance.random() < 0.5:
                self.world.brokers[node].subscribe("c", wanted)
                self.subscribed[node].add(wanted)
            elif chance.random() < 0.5:
                self.world.brokers[node].unsubscribe("c", wanted)
                self.subscribed[node].discard(wanted)
            self.world.brokers[node].publish("c", {"x": chance.randrange(8)})
            self.world.run(0.4)
        self.place(5.0)
        self.world.run(20.0)

    def told(self, node, to):
        wanted = {f.hash: f for f in self.subscribed[node]}
        for link in self.world.brokers[node].routing.links:
            if link.far_end(node) != to:
                wanted |= self.told(link.far_end(node), node)
        return wanted

    def check(self):
        assert len(self.world.leaders()) == 1
        for node, broker in self.world.brokers.items():
            routing, reconciler = broker.routing, broker.reconciler
            for link in routing.links:
                assert routing.table.filters_of(link) == self.told(link.far_end(node), node)
            assert not any(vars(routing.holding).values())
            for name in UNFINISHED:
                assert not getattr(reconciler, name, None)
        twice = Counter((record["node"], record["event"]) for record in self.world.of_kind("delivered"))
        assert max(twice.values(), default=1) == 1


@pytest.mark.parametrize("flush", ["broadcast", "path"])
@pytest.mark.parametrize("reconcile", RECONCILERS)
def test_tables_equal_those_from_scratch_after_walking_about(reconcile, flush):
    walk = Walk(seed=6, reconcile=reconcile, flush=flush)
    walk.run(100)
    walk.check()
    assert len(walk.world.of_kind("link_replaced")) > 5, "they hardly moved"
    dropped = Counter()
    for record in walk.world.of_kind("traffic"):
        dropped.update({one["reason"]: one["datagrams"] for one in record["dropped"]})
    assert not dropped["misplaced"] and not dropped["bad_path"]


def ring(reconcile, **config):
    """A ring of eight whose tree breaks on the far side of its open place, when 0 and 1 part."""
    world = RadioWorld(8, seed=5, loss=0.02, reconcile=reconcile, digest=False, **config)
    world.link(0, 1, 2, 3, 4, 5, 6, 7, 0)
    for node, broker in world.brokers.items():
        broker.attach("c", lambda event: None)
        broker.subscribe("c", parse(f"x = {node}"))
    world.run(12.0)
    (a, b), = [(a, b) for a, b in zip(range(8), [*range(1, 8), 0])
               if not any(link.far_end(a) == b for link in world.brokers[a].routing.links)]
    cut = [(k % 8, (k + 1) % 8) for k in (a + 4,)][0]
    world.records.clear()
    world.unlink(*cut)
    world.run(12.0)
    return world, (a, b), cut


def causes(world):
    return Counter(record["cause"] for record in world.of_kind("link_activated"))


def test_informed_activate_is_relayed_to_both_new_ends():
    world, new, cut = ring("informed")
    activated = {record["node"]: record for record in world.of_kind("link_activated")}
    assert set(activated) == set(new)
    assert {record["cause"] for record in activated.values()} == {"informed"}
    # 4 holds what the other half of the ring wants; 5 too, unless the UNSUBs are there first
    assert activated[new[0]]["held"] == 4
    assert {record["node"] for record in world.of_kind("unsubscriptions_processed")
            if record["cause"] == "flush"} == set(cut)


def test_path_walks_over_the_radio():
    world, new, cut = ring("path")
    assert len(world.of_kind("path_reserved")) == len(world.of_kind("path_done")) == 1
    assert world.of_kind("path_done")[0]["node"] in new
    path = world.of_kind("path_reserved")[0]["path"]
    assert len(path) == 8 and {path[0], path[-1]} == set(cut)
    assert {record["cause"] for record in world.of_kind("unsubscriptions_processed")} == {"rec"}


def test_an_old_end_that_is_dead_says_nothing_and_the_new_one_goes_on():
    world = RadioWorld(6, seed=2, reconcile="informed", digest=False)
    world.link(0, 1, 2, 3, 4, 5, 0)
    for node, broker in world.brokers.items():
        broker.attach("c", lambda event: None)
        broker.subscribe("c", parse(f"x = {node}"))
    world.run(12.0)
    parents = {node: broker.tree_status().parent for node, broker in world.brokers.items()}
    dead = next(node for node in parents if parents[node] is not None and node in parents.values())
    world.records.clear()
    world.crash(dead)
    for node in world.hears:
        world.hears[node].discard(dead)
    world.run(12.0)
    assert set(causes(world)) & {"timeout", "no_path", "shared"}
    assert len(world.leaders()) == 1
    for broker in world.brokers.values():
        assert len(broker.routing.table) == 5 and not broker.reconciler.new_end


def test_what_is_relayed_counts_as_what_it_is():
    world, new, cut = ring("informed")
    world.run(2.0)
    sent = Counter()
    for record in world.of_kind("traffic"):
        sent.update({one["type"]: one["messages"] for one in record["sent"]})
    assert sent["INFORMED_ACTIVATE"] >= 6  # three hops each, or more
    assert not sent["ROUTED"] and not sent["RELAY"]
