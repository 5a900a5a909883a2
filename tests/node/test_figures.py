"""The exact message oracle: what the node sends over each link is what the figures send, message by message.

Random histories by the clock, on the overlay; beside them the literal simulator of figures 2, 7, 8 and 9 (figures.py). The
oracle of tables (test_oracle.py) looks once all is quiet; this one sees what was sent too much, too early or in the wrong order.
"""
from __future__ import annotations

import random
from collections import defaultdict

import pytest

from node import wire
from node.broker import RECONCILERS
from node.filters import parse
from tests.node.figures import FIGURES, Net
from tests.node.timed_world import LINK, TimedWorld

FILTERS = [parse(f'kind = "{kind}"') for kind in "abc"]
T_U, T_S, T_WAIT = 0.15, 0.2, 0.31


def delay(link, sender):
    """Of its own for each direction of each link, so that no two messages come at once."""
    return LINK * (1 + (link.low * 31 + link.high * 17 + link.nonce * 7 + sender * 3) % 211 / 1000)


class Beside(TimedWorld):
    """The real thing, and the figures beside it: what happens, happens to both."""

    def __init__(self, nodes, edges, protocol):
        self.sends = defaultdict(list)  # (sender, far end) -> (type, patterns), in order
        self.activates = 0
        self.net = Net(nodes, FIGURES[protocol], T_U, T_S, T_WAIT, delay)
        super().__init__(nodes, edges, RECONCILERS[protocol], unsubscription_timer=T_U, subscription_timer=T_S, activate_wait=T_WAIT)

    def _notify(self, node, name, arguments):
        self.net.run(self.time)
        super()._notify(node, name, arguments)
        one, net = self.net.dispatchers[node], self.net
        if name == "lost":
            net.closed(arguments[0])
            one.remove_link_to(arguments[0])
        elif name == "gained":
            net.opened(arguments[0])
            net.at(net.time, lambda: one.add_link_to(arguments[0]))
        elif name == "replaced":
            rid, _, new, path, role = arguments
            net.at(net.time, lambda: one.substitute_link_to(rid, new, path, role))
        else:
            net.at(net.time, lambda: one.abandoned(arguments[0]))

    def sent(self, node, link, message):
        kind, filters = message.name, getattr(message, "filters", ())
        assert kind in ("SUB", "UNSUB", "FLUSH")
        keys = {"SUB": lambda: frozenset(one.hash for one in filters), "UNSUB": lambda: frozenset(filters), "FLUSH": lambda: None}[kind]()
        self.sends[node, link.far_end(node)].append((kind, keys))
        far = link.far_end(node)
        self.at(self.time + delay(link, node), lambda: link in self.script.links and self.cores[far].receive(link, message))

    def relay(self, route, message):
        assert type(message) is wire.InformedActivate
        self.activates += 1
        self.at(self.time + LINK, lambda: self.cores[route[-1]].reconciler.routed_messages[type(message)](route, message))

    def client(self, node, wanted, more):
        self.net.run(self.time)
        if more:
            self.cores[node].clients.subscribe("c", wanted)
        else:
            self.cores[node].clients.unsubscribe("c", wanted)
        self.net.dispatchers[node].local[wanted.hash] = int(more)
        self.net.dispatchers[node].update()

    def compare(self):
        self.net.run(self.time)
        told = defaultdict(list)
        for sender, far, kind, patterns in self.net.log:
            told[sender, far].append((kind, patterns))
        assert dict(self.sends) == dict(told)
        assert self.activates == self.net.counts["ACTIVATE"]


def history(protocol, seed):
    """Clients come and go while links break and are replaced, one after another or overlapping; compared once it is over."""
    chance = random.Random(f"figures {seed}")
    count = chance.randrange(3, 9)
    world = Beside(count, [(node, node - 1 - chance.randrange(min(node, 3))) for node in range(1, count)], protocol)
    broken = []
    for _ in range(chance.randrange(4, 22)):
        what = chance.choice(["subscribe", "subscribe", "unsubscribe", "exchange", "exchange", "cut", "repair", "wait"])
        node, wanted = chance.randrange(count), chance.choice(FILTERS)
        wants = wanted.hash in world.cores[node].clients._filters["c"]
        if what in ("subscribe", "unsubscribe") and wants == (what == "unsubscribe"):
            world.client(node, wanted, what == "subscribe")
        elif what in ("exchange", "cut") and world.script.links:
            link = chance.choice(list(world.script.links))
            broken.append(world.cut(*link[:2]))
            if what == "exchange":
                world.run(world.time + chance.choice([0.00031, 0.1]))
        if what in ("exchange", "repair") and broken:
            rid = broken.pop(chance.randrange(len(broken)))
            choices = list(world.script.choices(rid, 9))
            if choices:
                world.replace(rid, *chance.choice(choices), name_path=chance.random() < 0.8)
            else:
                world.script.abandon(rid, rid[:2])
        world.run(world.time + chance.choice([0.00007, 0.00133, 0.00291, 0.05017, 0.40003]))
    world.run(world.time + 2.0)
    world.compare()


@pytest.mark.parametrize("protocol", FIGURES)
def test_the_node_sends_what_the_figures_send(protocol):
    for seed in range(60):
        try:
            history(protocol, seed)
        except AssertionError as error:
            error.add_note(f"history({protocol!r}, {seed})")
            raise


@pytest.mark.slow
@pytest.mark.parametrize("protocol", FIGURES)
def test_in_thousands_of_histories(protocol):
    for seed in range(1000, 4000):
        history(protocol, seed)
