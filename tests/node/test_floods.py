"""Floods of valid messages with nonsense in them, against one node of a living network.

Each flood comes from a stranger or, forged, from a tree neighbor whose link, nonce and position the
forger knows. The node's memory stays bounded, nothing crashes, and soon after the flood the network
delivers again, at the flooded node too.
"""
from __future__ import annotations

import gc
import tracemalloc

import pytest

from node import wire
from node.filters import parse
from node.ids import Peer
from tests.node.radio_world import RadioWorld

VICTIM = 2
CHANCE = 2654435761  # a step through all 32-bit numbers, in place of chance


def spread(i: int) -> int:
    return i * CHANCE % 2**32


class Forger:
    """Sends to the victim what its neighbor 1 might."""

    def __init__(self, world: RadioWorld) -> None:
        self.world = world
        self.broker = world.brokers[VICTIM]
        self.link = next((link for link in self.broker.routing.links if 1 in link[:2]), None)

    def send(self, sender: Peer, counter: int, *messages: wire.Message) -> None:
        self.broker.datagram_received(wire.encode(sender, counter, messages))

    def hop(self, message: wire.Message) -> None:
        entry = self.broker.neighbors._table.get(1)
        if entry is not None:
            self.send(entry.peer, entry.counter + 1, message)

    def inside(self, message: wire.Message) -> None:
        self.hop(wire.Data(((VICTIM, self.link.nonce, self.broker.links.received_position(self.link)),), message))

    def fragment(self, i: int) -> None:
        position = self.broker.links.received_position(self.link)
        self.hop(wire.Fragment(((VICTIM, self.link.nonce, position),), False, b"x" * 1000))


def hello(i: int) -> wire.Hello:
    return wire.Hello(i, 1000, ((VICTIM, 1), *((spread(i + k), 1) for k in range(60))), 61, spread(i), i % 256, bool(i % 2), ())


def event(source: int, i: int, size: int = 200) -> wire.Event:
    return wire.Event(source, 1 + i % 1000, spread(i), 0.0, i % 256, {"x": i}, b"p" * size)


JOIN = ((7, 1, 2), (2, 1), (9, 1, 2, 1), (1, 2, 3), ())
FLOODS = {
    "strangers": lambda forger, i: forger.send(Peer(1000 + i, 1), 1, hello(i)),
    "lives of one stranger": lambda forger, i: forger.send(Peer(999, 1 + i), 1, hello(i)),
    "beacons of a neighbor": lambda forger, i: forger.hop(hello(i)),
    "counters of a neighbor": lambda forger, i: forger.send(forger.world.brokers[1].me, spread(i), hello(i)),
    "filters": lambda forger, i: forger.inside(wire.Sub(tuple(parse(f"x = {5 * i + k}") for k in range(5)), None)),
    "wide filters": lambda forger, i: forger.inside(wire.Sub((parse(f'y in ["{i}{"z" * 60}", "{"v" * 60}"]'),), None)),
    "hashes": lambda forger, i: forger.inside(wire.Unsub(tuple(spread(i + k).to_bytes(8) for k in range(100)))),
    "snapshots without end": lambda forger, i: forger.inside(wire.Snapshot(i % 2**16, False, (parse(f"s = {i}"),))),
    "sources": lambda forger, i: forger.inside(event(spread(i), i)),
    "numbers of one source": lambda forger, i: forger.inside(event(0, i)),
    "events of our own": lambda forger, i: forger.inside(event(VICTIM, i)),
    "pieces without end": lambda forger, i: forger.fragment(i),
    "numbers of a channel": lambda forger, i: forger.hop(wire.Data(((VICTIM, forger.link.nonce, spread(i)),), event(1, i))),
    "acknowledgements": lambda forger, i: forger.hop(wire.Ack(VICTIM, forger.link.nonce, spread(i), 2**64 - 1)),
    "dead links": lambda forger, i: forger.hop(wire.Data(((VICTIM, spread(i), 0),), wire.Sub((), None))),
    "resets": lambda forger, i: forger.hop(wire.Reset(spread(i))),
    "joins": lambda forger, i: forger.hop(wire.Relay(spread(i), wire.Join(i, None, (), JOIN[i % len(JOIN)], ()))),
    "walks": lambda forger, i: forger.hop(wire.Relay(spread(i), wire.Join(i, (1, 7, i), (), (7, 1), tuple(range(1, 90))))),
    "requests": lambda forger, i: forger.hop(wire.Rreq((1, 9, i), i, i % 9, i % 256, (spread(i),), (spread(i), 1), i % 3)),
    "routes": lambda forger, i: forger.hop(wire.Relay(spread(i), wire.Routed(
        JOIN[i % len(JOIN)], wire.InformedActivate((1, 2, i), i % 256, 255, (b"12345678",) * 90)))),
    "repairs": lambda forger, i: forger.inside(wire.Flush((1, spread(i), i), (2, 1, 2, 3) * (i % 9))),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_takes_bounded_memory_and_the_network_delivers_again(flood, monkeypatch):
    monkeypatch.setattr("node.routing.forwarding.MAX_FILTERS_PER_LINK", 400)  # full in the first half
    world = RadioWorld(5, seed=1, reconcile="informed" if flood in ("routes", "repairs") else "strawman")
    world.link(0, 1, 2, 3, 4)
    world.run(13.0)
    got = {node: [] for node in range(5)}
    for node, broker in world.brokers.items():
        broker.attach("c", lambda event, node=node: got[node].append(event))
        broker.subscribe("c", "news exists")
    world.run(3.0)
    forger = Forger(world)
    assert forger.link is not None
    held = []
    for round in range(2):
        world.records.clear()
        world.decode.cache_clear()
        gc.collect()
        tracemalloc.start()
        for i in range(1000 * round, 1000 * (round + 1)):
            FLOODS[flood](forger, i)
            if i % 100 == 99:
                world.run(0.02)
        world.records.clear()
        world.run(0.1)
        world.decode.cache_clear()  # the test's own memory, not the nodes'
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert held[0] < 64e6 and held[1] < 4e6, f"{held} bytes: the second half may not add what the first did"
    world.run(45.0)
    for source in (0, 4, VICTIM):
        world.brokers[source].publish("c", {"news": source})
    world.run(3.0)
    fresh = {node: sorted(event.attributes["news"] for event in events if "news" in event.attributes)
             for node, events in got.items()}
    assert fresh == {node: [0, 2, 4] for node in range(5)}
