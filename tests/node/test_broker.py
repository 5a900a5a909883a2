"""Whole nodes over a small radio world: trees form, subscriptions spread, events arrive, faults heal."""
from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from node import schema, wire
from node.filters import covers, parse
from node.ids import Peer
from tests.node.radio_world import RadioWorld


def chain(nodes, **options):
    world = RadioWorld(nodes, **options)
    world.link(*range(nodes))
    return world


def settle(world, seconds=12.0):
    """Long enough for beacons, elections and merges."""
    world.run(seconds)
    assert_one_tree(world)


def assert_one_tree(world):
    """All running nodes, which hear each other somehow, are one tree whose two ends of each link agree."""
    links = world.tree_links()
    for node, own in links.items():
        for link in own:
            assert link in links[link.far_end(node)], f"{link} is open at {node} alone"
        assert own == set(world.brokers[node].tree.links.values())
    assert len(set().union(*links.values())) == len(links) - 1
    assert len(world.leaders()) == 1


def attach(world, node, *filters, client="c"):
    got = []
    world.brokers[node].attach(client, got.append)
    for text in filters:
        world.brokers[node].subscribe(client, text)
    return got


def test_a_chain_becomes_a_tree_and_events_cross_it():
    world = chain(6)
    settle(world)
    got = {node: attach(world, node, f'kind = "{"ab"[node % 2]}"') for node in range(6)}
    world.run(2.0)
    world.brokers[0].publish("c", {"kind": "b", "value": 1.5}, b"payload")
    world.run(1.0)
    assert {node: len(events) for node, events in got.items()} == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0, 5: 1}
    event = got[5][0]
    assert (event.source, event.hops, event.payload, dict(event.attributes)) == (
        0, 5, b"payload", {"kind": "b", "value": 1.5})
    delivered = {record["node"]: record for record in world.of_kind("delivered")}
    assert delivered[5]["hops"] == 5 and delivered[5]["event"] == "0.1.1"
    assert not world.of_kind("duplicate") and not world.of_kind("event_dropped")


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
def test_loss_delays_but_loses_nothing_on_a_standing_tree(forwarding):
    world = RadioWorld(9, seed=3, loss=0.15, forwarding=forwarding)
    for row in range(3):
        world.link(*range(3 * row, 3 * row + 3))
        world.link(row, row + 3, row + 6)
    settle(world, 20.0)
    got = {node: attach(world, node, f"x > {node}", f"x > {node + 2}") for node in range(9)}
    world.run(5.0)
    lost_before = len(world.of_kind("link_lost"))
    for i in range(40):
        world.brokers[i % 9].publish("c", {"x": i % 12})
        world.run(0.1)
    world.run(5.0)
    assert len(world.of_kind("link_lost")) == lost_before, "choose another seed: the tree moved"
    counts = {node: len(events) for node, events in got.items()}
    assert counts == {node: sum(i % 12 > node for i in range(40)) for node in range(9)}


def test_a_tree_repairs_itself_around_a_broken_link_and_the_routes_follow():
    world = RadioWorld(6, seed=2)
    world.link(0, 1, 2, 3, 4, 5, 0)
    settle(world)
    got = {node: attach(world, node, "*") for node in range(6)}
    world.run(2.0)
    link = min(set().union(*world.tree_links().values()))
    world.unlink(link.low, link.high)
    world.run(8.0)
    assert_one_tree(world)
    assert any(record["link"] == str(link) for record in world.of_kind("link_lost"))
    for node in range(6):
        world.brokers[node].publish("c", {"from": node})
    world.run(1.0)
    assert all(len(events) == 6 for events in got.values())


def test_two_parts_lead_themselves_and_merge_when_they_meet():
    world = RadioWorld(6, seed=4)
    world.link(0, 1, 2)
    world.link(3, 4, 5)
    world.run(12.0)
    assert len(world.leaders()) == 2
    got = attach(world, 5, 'kind = "x"')
    world.brokers[0].attach("p", print)
    world.link(2, 3)
    settle(world)
    world.run(1.0)
    world.brokers[0].publish("p", {"kind": "x"})
    world.run(1.0)
    assert len(got) == 1


def test_a_crashed_node_returns_with_a_new_epoch_and_finds_its_place():
    world = chain(3, seed=5)
    settle(world)
    got = attach(world, 2, "*")
    world.brokers[0].attach("p", print)
    world.run(1.0)
    world.crash(1)
    world.run(0.3)
    world.boot(1)
    settle(world)
    world.brokers[0].publish("p", {"x": 1})
    world.run(1.0)
    assert len(got) == 1
    assert [record["epoch"] for record in world.of_kind("node_started", 1)] == [1, 2]
    assert "restarted" in {record["reason"] for record in world.of_kind("neighbor_down")}


def test_a_node_that_stops_says_so_and_its_links_end_at_once():
    world = chain(3, seed=6)
    settle(world)
    world.stop(1)
    world.run(0.1)
    assert {(record["node"], record["reason"]) for record in world.of_kind("link_lost")} >= {
        (0, "reset"), (2, "reset")}
    assert world.of_kind("node_stopped", 1)
    assert world.tree_links() == {0: set(), 2: set()}


def test_a_tree_link_over_bad_air_does_not_flap():
    """A third of all datagrams get lost each way, and the MAC repeats none. The channel has its own measure
    of bad luck (test_links.py)."""
    world = RadioWorld(2, seed=5, loss=0.3, tries=1)
    world.link(0, 1)
    world.run(1500.0)
    assert_one_tree(world)
    reasons = Counter(record["reason"] for record in world.of_kind("link_lost"))
    assert reasons.keys() <= {"channel", "left"} and reasons["channel"] <= 2, reasons
    assert {record["reason"] for record in world.of_kind("neighbor_down")} <= {"channel"}


def test_a_link_that_vanishes_is_given_up_by_both_ends_within_a_beacon_and_a_probe():
    world = chain(2)
    settle(world)
    gone = world.time
    world.unlink(0, 1)
    world.run(4.0)
    lost = world.of_kind("link_lost")
    assert [record["reason"] for record in lost] == ["unanswered", "unanswered"]
    assert {record["node"] for record in lost} == {0, 1}
    assert max(record["t"] for record in lost) - gone < 1.25 * world.config.hello_interval + 0.5


def test_a_large_event_crosses_in_fragments():
    world = chain(3, seed=7, loss=0.05)
    settle(world)
    got = attach(world, 2, "*")
    world.brokers[0].attach("p", print)
    world.run(1.0)
    payload = random.Random(1).randbytes(32768)
    world.brokers[0].publish("p", {"x": 1}, payload)
    world.run(3.0)
    assert [event.payload for event in got] == [payload]


def test_same_seed_same_records():
    def records():
        world = RadioWorld(5, seed=8, loss=0.1)
        world.link(0, 1, 2, 3, 4, 0)
        for node in range(5):
            attach(world, node, "x > 1")
        world.run(8.0)
        world.brokers[0].publish("c", {"x": 2})
        world.unlink(0, 1)
        world.run(8.0)
        return world.records
    assert records() == records()


# ---- the oracle, over the radio ------------------------------------------------------------------------
def minimal_cover(wanted):
    return {key: f for key, f in wanted.items()
            if not any(other != key and covers(g, f) and (other < key or not covers(f, g))
                       for other, g in wanted.items())}


def told(world, subscribed, node, to):
    """What `node` should have told its tree neighbor `to`, from scratch."""
    wanted = {f.hash: f for f in subscribed[node]}
    for link in world.brokers[node].routing.links:
        other = link.far_end(node)
        if other != to:
            wanted |= told(world, subscribed, other, node)
    return minimal_cover(wanted) if world.config.forwarding == "covering" else wanted


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("seed", range(3))
def test_tables_equal_those_from_scratch_after_walking_about(seed, forwarding):
    """Ten hosts walk, subscribe, take back and publish, over 10 % loss and without the digest that heals."""
    world = RadioWorld(10, seed=seed, loss=0.1, forwarding=forwarding, digest=False)
    chance = random.Random(f"walk {seed}")
    places = {node: [chance.uniform(0, 3), chance.uniform(0, 3)] for node in range(10)}
    filters = [parse(text) for text in ("x > 1", "x > 3", "x > 5", "x = 4", 'kind = "a"', "*", "x in [4, 5]")]
    subscribed = {node: set() for node in range(10)}
    got = {node: attach(world, node) for node in range(10)}
    for step in range(200):
        for node, place in places.items():
            place[:] = [min(max(at + chance.gauss(0, 0.06), 0.0), 3.0) for at in place]
        radius = 1.3 if step < 199 else 5.0
        world.hears = {a: {b for b in places if a != b and math.dist(places[a], places[b]) < radius}
                       for a in places}
        node, wanted = chance.randrange(10), chance.choice(filters)
        if chance.random() < 0.5:
            world.brokers[node].subscribe("c", wanted)
            subscribed[node].add(wanted)
        elif chance.random() < 0.5:
            world.brokers[node].unsubscribe("c", wanted)
            subscribed[node].discard(wanted)
        world.brokers[node].publish("c", {"x": chance.randrange(8)})
        world.run(0.4)
    world.run(30.0)
    assert_one_tree(world)
    assert len(world.of_kind("link_lost")) > 5, "they hardly moved"
    for node, broker in world.brokers.items():
        for link in broker.routing.links:
            far = link.far_end(node)
            assert broker.routing.table.filters_of(link) == told(world, subscribed, far, node)
    delivered = Counter((record["node"], record["event"]) for record in world.of_kind("delivered"))
    assert max(delivered.values()) == 1, "nothing twice"
    for events in got.values():
        events.clear()
    world.brokers[0].publish("c", {"x": 4})
    world.run(2.0)
    assert {node for node, events in got.items() if events} == {
        node for node, own in subscribed.items() if any(f.matches({"x": 4}) for f in own)}


# ---- untrusted input --------------------------------------------------------------------------------
def state_of(broker):
    return (set(broker.neighbors.two_way), set(broker.routing.links), list(broker.routing.table),
            broker.tree.status())


def drops(world, node):
    total = Counter()
    for record in world.of_kind("traffic", node):
        for row in record["dropped"]:
            total[row["reason"]] += row["datagrams"]
    return total


def test_malformed_and_replayed_datagrams_are_counted_and_change_nothing():
    world = chain(2, seed=9)
    settle(world)
    broker = world.brokers[0]
    heard = []
    arrive = broker.datagram_received
    broker.datagram_received = lambda datagram: (heard.append(datagram), arrive(datagram))
    world.run(2.0)
    broker.datagram_received = arrive
    before, dropped, sent = state_of(broker), drops(world, 0), broker.station.counter
    chance = random.Random(1)
    bad = [b"", b"Rc", chance.randbytes(5000)] + [chance.randbytes(50) for _ in range(50)]
    bad += [heard[-1][:cut] for cut in range(len(heard[-1]))]
    for datagram in bad:
        broker.datagram_received(datagram)
    for datagram in heard:
        broker.datagram_received(datagram)
    assert state_of(broker) == before and broker.station.counter == sent
    world.run(1.5)
    new = drops(world, 0) - dropped
    assert new["stale"] == len(heard) and new.total() == len(bad) + len(heard)


class Hostile:
    """Well-formed messages with values that no honest node sends, made of ids and nonces near the real ones."""

    def __init__(self, chance, world, sender):
        self.chance = chance
        self.numbers = [0, 1, 2, 3, 4, 7, 64, 255, 2**16 - 1, 2**32 - 1]
        self.channels = []  # (far end, nonce, sequence number that it waits for)
        for node, broker in world.brokers.items():
            for link in broker.routing.links:
                self.numbers += [link.nonce, broker.links.received_position(link)]
                if link.far_end(node) == sender:
                    self.channels.append((node, link.nonce, broker.links.received_position(link)))
        self.filters = [parse(text) for text in ("*", "x > 1", 'kind = "a"')]
        self.inside = [table for table in schema.messages().values() if table.inside]

    def message(self, table):
        cls = getattr(wire, table.class_name)
        message = cls(*[self.value(field.type) for field in table.fields])
        if self.channels and hasattr(message, "addressees"):
            message = message._replace(addressees=[self.chance.choice(self.channels)])
        return message

    def value(self, kind):
        choice, bound = self.chance.choice, self.chance.randint(0, 4)
        if kind.kind in schema.UNSIGNED:
            return choice(self.numbers)
        return {
            "list": lambda: [self.value(kind.items[0]) for _ in range(min(bound, kind.bound))],
            "tuple": lambda: tuple(self.value(item) for item in kind.items),
            "optional": lambda: self.value(kind.items[0]) if bound else None,
            "text": lambda: choice(["", "busy", "met"]), "bytes": lambda: self.chance.randbytes(min(8, kind.bound)),
            "f64": lambda: choice([0.0, -1.0, 1e300]), "bool": lambda: bool(bound % 2),
            "attributes": lambda: {"x": bound}, "filter": lambda: choice(self.filters),
            "message": lambda: self.message(choice(self.inside)),
        }[kind.kind]()


@pytest.mark.parametrize("seed", range(4))
def test_a_hostile_tree_neighbor_neither_crashes_a_node_nor_keeps_it_from_healing(seed):
    world = RadioWorld(4, seed=seed)
    world.link(0, 1, 2, 3, 0)
    settle(world)
    for node in range(4):
        attach(world, node, f"x = {node}", client="honest")
    chance = random.Random(seed)
    tables = list(schema.messages().values())
    sent = 0
    for _ in range(2000):
        try:
            message = Hostile(chance, world, 1).message(chance.choice(tables))
            world.brokers[1].station.broadcast(message)
            sent += 1
        except ValueError:
            continue  # out of bounds: the codec would not have let it in either
        world.run(0.005)
    assert sent > 500
    world.run(40.0)
    assert_one_tree(world)
    world.run(60.0)  # digests and snapshots mend what forged channel messages did
    assert_one_tree(world)
    for broker in world.brokers.values():
        local = {f"x = {node}" for node in range(4)}
        assert {str(f) for _, f in broker.routing.table} == local
        for link, told in broker.routing.links.items():
            far = world.brokers[link.far_end(broker.me.node)]
            assert told.filters == far.routing.table.filters_of(link)


def test_a_life_that_has_sent_all_its_datagrams_falls_silent_and_says_so():
    world = chain(2)
    settle(world)
    world.brokers[1].station.counter = 2**32 - 1 - 3
    world.run(12.0)
    assert world.of_kind("refused") == [
        {"t": world.of_kind("refused")[0]["t"], "node": 1, "kind": "refused", "what": "datagrams of one life",
         "limit": 2**32 - 1}]
    assert world.brokers[1].station.counter == 2**32 - 1
    assert [record["neighbor"] for record in world.of_kind("neighbor_down", 0)] == [1]
    world.brokers[1].stop()


def test_a_shared_secret_keeps_strangers_out():
    world = chain(2, seed=10, secret="open sesame")
    settle(world)
    stranger = wire.encode(Peer(7, 1), 1, [wire.Reset(1)])
    world.brokers[0].datagram_received(stranger)
    world.brokers[0].datagram_received(wire.encode(Peer(7, 1), 1, [wire.Reset(1)], b"wrong"))
    world.run(1.5)
    assert drops(world, 0) == {"unauthenticated": 1, "forged": 1}


# ---- traffic records ----------------------------------------------------------------------------------
def test_traffic_adds_up_to_the_bytes_on_the_air():
    world = chain(3, seed=11)
    sent, received = Counter(), Counter()
    for node, env in world.envs.items():
        def count(send, node=node):
            def counting(*arguments):
                sent[node] += len(arguments[-1])
                send(*arguments)
            return counting
        env.broadcast, env.unicast = count(env.broadcast), count(env.unicast)
        broker = world.brokers[node]

        def receive(datagram, broker=broker, node=node, handle=broker.datagram_received):
            received[node] += len(datagram)
            handle(datagram)
        broker.datagram_received = receive
    settle(world)
    got = attach(world, 2, "*")
    world.brokers[0].attach("p", print)
    world.run(1.0)
    for _ in range(5):
        world.brokers[0].publish("p", {"x": 1})
    world.run(3.0)
    assert len(got) == 5
    for node in (0, 1, 2):
        world.brokers[node].stop()
        records = world.of_kind("traffic", node)
        assert sum(row["bytes"] for record in records for row in record["sent"]) == sent[node]
        assert sum(row["bytes"] for record in records for row in record["received"]) == received[node]
    events = sum(row["messages"] for record in world.of_kind("traffic", 0) for row in record["sent"]
                 if row["type"] == "EVENT")
    assert events == 5
    types = {row["type"] for record in world.records if record["kind"] == "traffic" for row in record["sent"]}
    assert {"HELLO", "SUB", "EVENT", "ACK", "LEADER", "JOIN"} <= types and "DATA" not in types


def test_a_quiet_interval_writes_no_traffic_record():
    world = RadioWorld(1, hello_interval=10.0, traffic_interval=1.0)
    world.run(30.0)
    assert 2 <= len(world.of_kind("traffic")) <= 4
