"""The other routing strategies: hierarchical, event forwarding, and flooding without a tree."""
from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from node import wire
from node.broker import RECONCILERS
from node.config import NodeConfig
from node.filters import parse
from node.reconcile.strawman import Strawman
from node.routing import flooding
from node.routing.events import EventForwarding
from node.routing.hierarchical import HierarchicalForwarding
from tests.node import histories
from tests.node.radio_world import RadioWorld
from tests.node.tree_world import TreeWorld

BLACK, GRAY = parse('kind = "black"'), parse('kind = "gray"')
# Figure 1 of the mobile environment paper in small: root 0; 1 and 2 below it, 3 and 4 below 1, 5 below 2
FIGURE_1 = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]


def world_of(strategy):
    world = TreeWorld(6, strategy=strategy, edges=FIGURE_1)
    for core in world.cores:
        core.attach("c")
    world.cores[3].clients.subscribe("c", BLACK)
    world.cores[5].clients.subscribe("c", BLACK)
    world.cores[4].clients.subscribe("c", GRAY)
    world.settle()
    return world


def path_of(world, node, attributes):
    """The links that an event of this node crosses, and who gets it."""
    for core in world.cores:
        core.sent.clear()
        core.delivered.clear()
    world.cores[node].clients.publish("c", attributes)
    world.settle()
    return (sorted((core.me.node, link.far_end(core.me.node)) for core in world.cores
                   for links, message in core.sent for link in links),
            [core.me.node for core in world.cores if core.delivered])


def test_event_forwarding_sends_events_everywhere_and_subscriptions_nowhere():
    world = world_of(EventForwarding)
    assert not any(core.sent for core in world.cores)
    assert path_of(world, 4, {"kind": "black"}) == ([(0, 2), (1, 0), (1, 3), (2, 5), (4, 1)], [3, 5])
    assert path_of(world, 0, {"kind": "none"})[1] == []


def test_hierarchical_subscriptions_go_up_and_events_up_and_down():
    world = world_of(HierarchicalForwarding)
    told = {(core.me.node, link.far_end(core.me.node)) for core in world.cores
            for link, state in core.routing.links.items() if state.filters}
    assert told == {(3, 1), (4, 1), (1, 0), (5, 2), (2, 0)}
    assert path_of(world, 4, {"kind": "black"}) == ([(0, 2), (1, 0), (1, 3), (2, 5), (4, 1)], [3, 5])
    # up to the root for nothing
    assert path_of(world, 3, {"kind": "gray"}) == ([(1, 0), (1, 4), (3, 1)], [4])
    assert path_of(world, 0, {"kind": "none"}) == ([], [])


def test_hierarchical_turns_round_when_the_root_is_another():
    world = TreeWorld(4, strategy=HierarchicalForwarding, edges=[(1, 2), (2, 3)])
    for core in world.cores:
        core.attach("c")
        core.clients.subscribe("c", parse(f"x = {core.me.node}"))
    world.settle()
    assert {(core.me.node, len(state.filters)) for core in world.cores
            for state in core.routing.links.values()} == {(1, 0), (2, 2), (2, 0), (3, 1)}
    world.join(0, 3)
    world.settle()
    routing = world.cores[0].routing
    assert [len(routing.table.filters_of(link)) for link in routing.links] == [3]
    assert path_of(world, 1, {"x": 0})[1] == [0]


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@settings(max_examples=60, deadline=None)
@given(histories.wide)
def test_hierarchical_tables_equal_those_from_scratch(forwarding, history):
    class Below(histories.History):
        """What a node tells: its parent all that is wanted below it, others nothing."""

        def told(self, node, to, forwarding):
            if self.world.script.parent(node) != to:
                return {}
            wanted = dict(self.local(node))
            for other in self.world.neighbors(node):
                if other != to:
                    wanted |= self.told(other, node, forwarding)
            return wanted if forwarding == "identity" else histories.minimal_cover(wanted)

    histories.run(history, Strawman, forwarding, make=Below, strategy=HierarchicalForwarding)


@settings(max_examples=40, deadline=None)
@given(histories.wide)
def test_event_forwarding_reaches_all_after_any_history(history):
    class NothingTold(histories.History):
        def contested(self):
            return []

        def check_owed(self):
            """Nobody asks, so nothing is replayed."""

        def check_tables(self):
            for core in self.world.cores:
                assert set(core.routing.links) == set(self.world.script.neighbors[core.me.node].values())

    histories.run(history, Strawman, make=NothingTold, strategy=EventForwarding)


# ---- over the radio
def radio(nodes, **config):
    world = RadioWorld(nodes, seed=4, **config)
    world.link(*range(nodes), 0)
    got = {}
    for node, broker in world.brokers.items():
        got[node] = []
        broker.attach("c", got[node].append)
        broker.subscribe("c", "x > 0" if node % 2 else "x > 5")
    world.run(10.0)
    return world, got


@pytest.mark.parametrize("config", [{"strategy": "hierarchical"}, {"strategy": "event"},
                                    {"strategy": "flood", "tree": "none"}])
def test_over_the_radio_every_subscriber_gets_every_event_once(config):
    world, got = radio(8, loss=0.05 if config["strategy"] != "flood" else 0.0, **config)
    for node, broker in world.brokers.items():
        broker.publish("c", {"x": node})
        world.run(0.5)
    world.unlink(0, 7)
    world.run(12.0)
    world.brokers[0].publish("c", {"x": 9})
    world.run(2.0)
    for node, events in got.items():
        expected = [x for x in (*range(8), 9) if x > (0 if node % 2 else 5)]
        assert sorted(event.attributes["x"] for event in events) == expected


def test_flooding_is_one_broadcast_a_node_and_nothing_of_a_tree():
    world, got = radio(8, strategy="flood", tree="none")
    world.records.clear()
    world.brokers[0].publish("c", {"x": 6})
    world.run(1.0)
    world.run(2.0)
    sent = Counter()
    for record in world.of_kind("traffic"):
        sent.update({one["type"]: one["messages"] for one in record["sent"]})
    assert sent.keys() == {"BEAT", "FLOOD"} and sent["FLOOD"] == 8
    assert not world.of_kind("link_gained")
    assert {record["node"]: record["hops"] for record in world.of_kind("delivered")} == {
        node: min(node, 8 - node) for node in range(8)}


def test_messages_off_the_tree_travel_where_there_is_no_tree():
    world = RadioWorld(3, loss=0.1, tree="none", strategy="flood")
    world.link(0, 1, 2)
    world.run(12.0)
    arrived = []
    world.brokers[2].reconciler.routed_messages[wire.PathRefused] = lambda *what: arrived.append(what)
    world.brokers[0].courier.send((0, 1, 2), wire.PathRefused((0, 1, 7)))
    world.run(1.0)
    assert arrived == [((0, 1, 2), wire.PathRefused((0, 1, 7)))]


def test_an_event_too_large_to_flood_is_recorded_and_stays_here():
    world, got = radio(3, strategy="flood", tree="none")
    world.brokers[1].publish("c", {"x": 6}, b"." * flooding.MAX_EVENT)
    world.run(1.0)
    assert [len(events) for events in got.values()] == [0, 1, 0]
    assert [record["limit"] for record in world.of_kind("refused")] == [flooding.MAX_EVENT]


def test_a_flood_of_nonsense_is_dropped_and_repetition_is_bounded():
    world, got = radio(2, strategy="flood", tree="none")
    broker, sender = world.brokers[1], world.brokers[0].me
    broker.routing._flood_received(sender, wire.Flood(wire.Unsub(())))
    for sequence in range(flooding.WAITING + 10):
        broker.routing._flood_received(sender, wire.Flood(wire.Event(9, 1, sequence, 0.0, 3, {"x": 1}, b"")))
    assert broker.routing._waiting == flooding.WAITING and len(got[1]) == flooding.WAITING + 10
    world.run(1.0)
    assert broker.routing._waiting == 0


@pytest.mark.parametrize(("config", "key"), [
    ({"tree": "none", "reconcile": "path"}, "reconcile"), ({"tree": "none"}, "strategy"),
    ({"tree": "none", "strategy": "event"}, "strategy"),
    ({"tree": "none", "strategy": "flood", "reconcile": "informed"}, "reconcile"), ({"strategy": "flood"}, "strategy")])
def test_parts_that_do_not_go_together_are_refused(config, key):
    assert next(NodeConfig(**config).mismatches())[0] == key
    with pytest.raises(ValueError, match=key):
        RadioWorld(1, **config)


def test_every_part_goes_with_the_tree():
    for reconcile in RECONCILERS:
        assert not list(NodeConfig(reconcile=reconcile).mismatches())
    for reconcile in ("strawman", "timed"):  # the default is one of them: who chooses a strategy need not choose a protocol
        assert not list(NodeConfig(strategy="flood", tree="none", reconcile=reconcile).mismatches())
        for strategy in ("event", "hierarchical"):
            assert type(RadioWorld(1, strategy=strategy, reconcile=reconcile).brokers[0].reconciler) is Strawman
