"""The transient oracle: at every step of a repair, an event published now reaches every subscriber that it must.

test_oracle.py looks once all is quiet. Reconciliation is for the time before: whoever is in one part with the publisher
over links that have been there all the while loses nothing, at no step; and once the new link's subscriptions have come
through, while the timers still run, nobody in the publisher's part does. Where an event published now would go is read off
the tables, so that looking changes nothing. What is published meanwhile has come to all of them in the end, by replay, and
to nobody who subscribed later.

An oracle that cannot fail says nothing: the last tests take a fault each, and it has to notice within the ordinary histories.
"""
from __future__ import annotations

import random

import pytest

from node import wire
from node.broker import RECONCILERS
from node.event import id_of
from node.filters import parse
from node.routing import strategy
from node.routing.forwarding import SubscriptionForwarding
from node.routing.recent import Recent
from tests.node.test_mutations import MUTANTS
from tests.node.tree_world import TreeWorld

KINDS = "abc"
FLUSHES = ("broadcast", "piggyback", "path")
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


class Publications:
    """What is published in the midst of it, by whom it is owed, and who may not have it."""

    def __init__(self, world, chance):
        self.world, self.chance = world, chance
        self.owed = {}  # event -> nodes
        self.later = {}  # (node, kind) -> when its client `later` subscribed

    def maybe(self):
        """One more publication, or a client that wants from now on what others wanted all the while."""
        node, kind = self.chance.choice(self.world.cores), self.chance.choice(KINDS)
        what = self.chance.random()
        if what < 0.25:
            name = node.clients.publish("c", {"kind": kind})
            self.owed[name] = {core.me.node for core in self.world.cores if FILTERS[kind].hash in core.clients._filters["c"]}
        elif what < 0.35 and (node.me.node, kind) not in self.later and not self.under_way():
            for core in self.world.cores:
                core.env.time += 1.0
            self.later[node.me.node, kind] = node.env.now()
            node.clients.subscribe("later", FILTERS[kind])

    def under_way(self):
        """Whether an event is on its way. Then the clock stands still, for an event's age lacks the time on the way."""
        return any(type(message) in (wire.Event, wire.Late) for queue in self.world.queues.values() for message in queue)

    def check(self):
        for name, nodes in self.owed.items():
            had = [core.me.node for core in self.world.cores for client, event in core.delivered if (client, id_of(event)) == ("c", name)]
            assert sorted(had) == sorted(nodes), f"{name} came to {had}, and is owed by {sorted(nodes)}"
        for core in self.world.cores:
            for client, event in core.delivered:
                assert client == "c" or event.published >= self.later[core.me.node, event.attributes["kind"]], "of before it subscribed"


def exchange(protocol, seed, forwarding="identity", flush="broadcast", publish=False):
    """Links are exchanged one at a time; notices and messages come in any order, timers last and in any order."""
    chance = random.Random(f"transient {seed}")
    count = chance.randrange(3, 10)
    world = TreeWorld(count, forwarding, protocol, flush=flush, replay_window=60 if publish else 0,
                      edges=[(node, node - 1 - chance.randrange(min(node, 3))) for node in range(1, count)])
    publications = Publications(world, random.Random(f"publications {seed}"))
    for core in world.cores:
        core.attach("c")
        core.attach("later")
        for kind in KINDS:
            if chance.random() < 0.35:
                core.clients.subscribe("c", FILTERS[kind])
    world.settle()

    def maybe_published():
        if publish:
            publications.maybe()

    for _ in range(3):
        old = chance.choice(list(world.script.links))
        world.cut(*old[:2])
        there = set(world.script.links)
        for _ in range(chance.randrange(4)):
            if prompt(world):
                world.happen(*chance.choice(prompt(world)))
                check(world, there, "the link is lost")
            maybe_published()
        world.replace(old, *chance.choice(list(world.script.choices(old, 9))))
        while prompt(world):
            world.happen(*chance.choice(prompt(world)))
            check(world, there, "over links that stand")
            if chance.random() < 0.5:
                maybe_published()
        check(world, world.script.links, "the new link's subscriptions have come")
        while world.steps():
            world.happen(*chance.choice(prompt(world) or world.steps()))
            check(world, world.script.links, "timers run out")
        publications.check()


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", RECONCILERS)
def test_at_every_step_who_must_be_reached_is(protocol, forwarding):
    for seed in range(25):
        exchange(RECONCILERS[protocol], seed, forwarding, FLUSHES[seed % 3])


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", RECONCILERS)
def test_what_is_published_meanwhile_comes_to_all_in_the_end(protocol, forwarding):
    for seed in range(25):
        exchange(RECONCILERS[protocol], seed, forwarding, FLUSHES[seed % 3], publish=True)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RECONCILERS)
def test_in_thousands_of_exchanges(protocol):
    for seed in range(1000, 3000):
        exchange(RECONCILERS[protocol], seed)
        exchange(RECONCILERS[protocol], seed, publish=True)


# ---- faults that it has to notice
def withdraws_what_others_want(around):
    """Timed, but what a lost link wanted is withdrawn whoever else wants it."""
    let_go = around.routing.let_go

    def instead(lost):
        wanted = around.routing.kept(lost)
        let_go(lost)
        for link, told in around.routing.links.items():
            for one in wanted:
                if one.hash in told.filters:
                    told.withdraw(one.hash)
                    around.routing.unsent[link] = told
        around.routing.flush()
    around.routing.let_go = instead
    return RECONCILERS["timed"](around)


def holds_back_what_others_want(around):
    """Informed, but P is all that the lost link wanted."""
    one = RECONCILERS["informed"](around)
    one.old_end.only = lambda rid: [wanted.hash for wanted in around.routing.kept(rid)]
    return one


def notices(protocol, publish):
    for forwarding in ("identity", "covering"):
        for seed in range(25):
            try:
                exchange(protocol, seed, forwarding, FLUSHES[seed % 3], publish)
            except AssertionError as error:
                return str(error)
    return ""


@pytest.mark.parametrize(("fault", "told"), [
    (MUTANTS["TimedThatTellsANewLinkNothing"], "does not reach"), (withdraws_what_others_want, "does not reach"),
    (holds_back_what_others_want, "does not reach")])
def test_it_notices_a_hole_in_the_tables(fault, told):
    assert told in notices(fault, publish=False)


@pytest.mark.parametrize(("of", "name", "instead", "told"), [
    (SubscriptionForwarding, "_missed_since", lambda self, link: self._env.now(), "is owed by"),  # a wrong `since`
    (strategy, "age_of", lambda born, now: 0, "of before it subscribed"),  # no age
    (Recent, "missed", lambda self, link, filters, since: [], "is owed by")])  # nothing is sent
def test_it_notices_a_fault_of_replay(of, name, instead, told, monkeypatch):
    monkeypatch.setattr(of, name, instead)
    assert told in notices(RECONCILERS["timed"], publish=True)
