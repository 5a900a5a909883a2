"""`retransmission = false`: events and gossip go over tree links once, all else as reliably as ever."""
from __future__ import annotations

import pytest

from node import wire
from node.filters import parse
from node.ids import Peer
from node.links import LOOSE
from tests.node.radio_world import RadioWorld


def chain(lose=lambda message: False, **config):
    """Three brokers in a row that want everything; `sent` holds (sender, message) of all datagrams."""
    world = RadioWorld(3, seed=1, **{"retransmission": False, **config})
    world.sent, world.got = [], {node: [] for node in range(3)}
    transmit = world.transmit

    def heard(sender, receiver, datagram):
        messages = world.decode(datagram, b"").messages
        world.sent += [(sender, message) for message in messages]
        return True if any(map(lose, messages)) else transmit(sender, receiver, datagram)

    world.transmit = heard
    world.link(0, 1, 2)
    for node, broker in world.brokers.items():
        broker.attach("c", world.got[node].append)
        broker.subscribe("c", "x exists")
    world.run(12.0)
    world.sent.clear()
    return world


def carried(world, kind):
    return [message for _, message in world.sent if type(message) is kind]


def test_events_go_once_and_arrive_where_nothing_is_lost():
    world = chain()
    for k in range(10):
        world.brokers[0].publish("c", {"x": k})
        world.run(0.2)
    world.run(5.0)
    assert [event.attributes["x"] for event in world.got[2]] == list(range(10))
    assert len(carried(world, wire.Once)) == 20, "over two links each"
    assert not [message for message in carried(world, wire.Data) if type(message.message) in wire.EVENTS]
    assert len(carried(world, wire.Ack)) < 10, "nobody acknowledges an event"


@pytest.mark.parametrize("retransmission", [True, False])
def test_an_event_that_a_frame_loses_is_lost_without_retransmission_only(retransmission):
    lost = []

    def first_frame(message):
        """The first frame with each event over each link is lost."""
        inner = getattr(message, "message", None)
        if type(inner) not in wire.EVENTS or (key := (inner.sequence, inner.hops)) in lost:
            return False
        lost.append(key)
        return True

    world = chain(first_frame, retransmission=retransmission)
    for k in range(5):
        world.brokers[0].publish("c", {"x": k})
        world.run(1.0)
    world.run(5.0)
    assert len(world.got[1]) == len(world.got[2]) == (5 if retransmission else 0)
    assert not [record for record in world.records if record["kind"] == "link_lost" and record["t"] > 12.0]


def test_subscriptions_stay_reliable():
    lost = []

    def first_frame(message):
        inner = getattr(message, "message", None)
        if type(inner) is not wire.Sub or inner in lost:
            return False
        lost.append(inner)
        return True

    world = chain(first_frame)
    world.brokers[2].subscribe("c", "y exists")
    world.run(3.0)
    assert lost
    world.brokers[0].publish("c", {"y": 1})
    world.run(1.0)
    assert len(world.got[2]) == 1


def test_what_is_larger_than_a_datagram_goes_by_the_channel():
    world = chain()
    world.brokers[0].publish("c", {"x": 1}, bytes(5000))
    world.run(3.0)
    assert [len(event.payload) for event in world.got[2]] == [5000]
    assert not carried(world, wire.Once) and carried(world, wire.Fragment)


def test_only_what_nobody_counts_on_may_come_beside_the_channel():
    world = chain()
    broker = world.brokers[1]
    link = next(link for link in broker.routing.links if 0 in link[:2])
    dropped = []
    broker.station.dropped = dropped.append
    counter = broker.neighbors._table[0].counter

    def once(message, nonce=link.nonce):
        nonlocal counter
        counter += 1
        broker.datagram_received(wire.encode(Peer(0, 1), counter, [wire.Once(((1, nonce), (7, 9)), message)]))

    once(wire.Sub((parse("z = 1"),), None))
    once(wire.Unsub((parse("x exists").hash,)))
    assert dropped == ["misplaced"] * 2 and parse("z = 1").hash not in dict(broker.routing.table)
    once(wire.Event(0, 1, 99, 0.0, 0, {"x": 1}, b""), nonce=12345)
    assert dropped[2:] == ["dead_link"] and not world.got[1]
    once(wire.Event(0, 1, 99, 0.0, 0, {"x": 1}, b""))
    once(wire.Event(0, 1, 99, 0.0, 0, {"x": 1}, b""))
    assert len(world.got[1]) == 1
    assert wire.EVENTS < LOOSE


def test_what_is_sent_in_one_instant_is_bounded():
    world = chain(channel_queue=4096)
    for k in range(200):
        world.brokers[0].publish("c", {"x": k}, bytes(100))
    world.run(2.0)
    overflows = [record for record in world.records if record["kind"] == "event_dropped" and record["reason"] == "overflow"]
    assert 150 < len(overflows) < 200 and len(world.got[2]) == 200 - len(overflows)
