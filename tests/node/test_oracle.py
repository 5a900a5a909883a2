"""The model: after any history of subscriptions, unsubscriptions, publications and link exchanges, with any
delays, once quiet every subscription table equals the table computed from scratch."""
from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_world import TreeWorld

from node.filters import covers, parse
from node.ids import EventId
from node.reconcile.strawman import Strawman

FILTERS = [parse(text) for text in (
    'kind = "a"', 'kind = "b"', 'kind = "a" and x > 3', 'kind = "a" and x > 5', 'x > 3', 'x > 3 and x > 2', 'x >= 4',
    'x = 4', 'x in [4, 9]', '*', 'kind prefix "a"', 'kind in ["a", "b"] and x < 9')]
EVENTS = [{"kind": kind, "x": x} for kind in "abc" for x in (2, 4, 9)]


class Deferring(Strawman):
    """Keeps what a lost link had told until the script lets it go: the routing's side of deferred
    unsubscription, and holds the first half of the table back on each new link until then."""

    def __init__(self, core):
        super().__init__(core)
        self.late = []

    def lost(self, link):
        self._core.remove_link(link, keep=True)
        self.late.append((self._core.routing.let_go, link))

    def gained(self, link):
        keys = [key for key, _ in self._core.routing.table]
        self._core.add_link(link, keys[:len(keys) // 2])
        self.late.append((self._core.routing.release, link))

    def end_one(self):
        action, link = self.late.pop(0)
        action(link)


class History:
    """Runs one history and checks safety (jaeger-self-managing-thesis, definition 5) at every step."""

    def __init__(self, nodes, parents, forwarding, reconciler):
        edges = [(node, parents[node - 1] % node) for node in range(1, nodes)]
        self.world = TreeWorld(nodes, forwarding, reconciler, edges)
        self.published = {}
        self.had = set()
        for core in self.world.cores:
            for client in ("one", "two"):
                core.attach(client)

    def operation(self, what, a, b, c):
        world = self.world
        core = world.cores[a % len(world.cores)]
        client = ("one", "two")[b % 2]
        if what == "subscribe":
            core.clients.subscribe(client, FILTERS[c % len(FILTERS)])
        elif what == "unsubscribe":
            own = list(core.clients._filters[client].values())
            if own:
                core.clients.unsubscribe(client, own[c % len(own)])
        elif what == "publish":
            self.publish(core, EVENTS[c % len(EVENTS)])
        elif what == "exchange" and world.links:
            cut = sorted(map(sorted, world.links))[a % len(world.links)]
            world.cut(*cut)
            near, far = sorted(world.side(*cut)), sorted(world.side(*cut[::-1]))
            world.join(near[b % len(near)], far[c % len(far)])
        elif what == "late" and getattr(core.reconciler, "late", None):
            core.reconciler.end_one()
        self.check_delivered()

    def publish(self, core, attributes):
        name = core.clients.publish("one", attributes)
        self.published[name] = attributes
        return name

    def run(self, steps):
        for choice in steps:
            self.world.step(choice)
            self.check_delivered()

    def check_delivered(self):
        for core in self.world.cores:
            for client, event in core.delivered:
                name = EventId(event.source, event.epoch, event.sequence)
                assert (core.me.node, client, name) not in self.had, "twice"
                self.had.add((core.me.node, client, name))
                assert self.published[name] == event.attributes, "unpublished"
                assert any(wanted.matches(event.attributes)
                           for wanted in core.clients._filters[client].values()), "unsubscribed"
            core.delivered.clear()

    def settle(self):
        while self.world.step() or self.end_late():
            self.check_delivered()

    def end_late(self):
        for core in self.world.cores:
            if getattr(core.reconciler, "late", None):
                core.reconciler.end_one()
                return True
        return False

    # ---- the model
    def local(self, node):
        return {wanted.hash: wanted for own in self.world.cores[node].clients._filters.values()
                for wanted in own.values()}

    def told(self, node, to, forwarding):
        """What `node` should have told its tree neighbor `to`, by hash."""
        wanted = reduce(dict.__or__, (self.told(other, node, forwarding)
                                      for other in self.world.neighbors(node) if other != to), self.local(node))
        return wanted if forwarding == "identity" else minimal_cover(wanted)

    def check_tables(self, forwarding):
        for core in self.world.cores:
            node = core.me.node
            links = {other: self.world.links[frozenset((node, other))] for other in self.world.neighbors(node)}
            assert set(core.routing.links) == set(links.values())
            for other, link in links.items():
                held = core.routing.table.filters_of(link)
                assert dict(held) == self.told(other, node, forwarding), f"at {node} of {other}"
                far = self.world.cores[other].routing.links[link]
                assert far.filters == dict(held) and far.digest == core.routing.table.digest(link)

    def check_events(self):
        for core in self.world.cores:
            for attributes in EVENTS:
                before = set(self.had)
                name = self.publish(core, attributes)
                self.settle()
                self.check_delivered()
                expected = {(other.me.node, client, name) for other in self.world.cores
                            for client, own in other.clients._filters.items()
                            if any(wanted.matches(attributes) for wanted in own.values())}
                assert self.had - before == expected


def minimal_cover(wanted):
    """Without those that another covers; of several that cover each other only the lowest hash stays."""
    return {key: f for key, f in wanted.items()
            if not any(other != key and covers(g, f) and (other < key or not covers(f, g))
                       for other, g in wanted.items())}


small = st.integers(0, 40)
operations = st.tuples(st.sampled_from(["subscribe"] * 3 + ["unsubscribe", "publish", "late"] + ["exchange"] * 2),
                       small, small, small, st.lists(small, max_size=6))


@pytest.mark.parametrize("reconciler", [Strawman, Deferring])
@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@settings(max_examples=100, deadline=None)
@given(nodes=st.integers(2, 7), parents=st.lists(small, min_size=6, max_size=6),
       history=st.lists(operations, max_size=25))
def test_tables_equal_those_from_scratch(forwarding, reconciler, nodes, parents, history):
    run = History(nodes, parents, forwarding, reconciler)
    for *operation, steps in history:
        run.operation(*operation)
        run.run(steps)
    run.settle()
    run.check_delivered()
    run.check_tables(forwarding)
    run.check_events()
