"""Forged counters and epochs: without a secret one datagram may silence a node for seconds, not for good."""
from __future__ import annotations

import pytest

from node import wire
from node.ids import Peer
from tests.node.radio_world import RadioWorld


def forged(world: RadioWorld, sender: Peer, counter: int, receiver: int, secret: bytes = b"") -> None:
    hello = wire.Hello(1, 1000, ((receiver, world.epochs[receiver]),), 1, 0, 0, False, ())
    world.brokers[receiver].datagram_received(wire.encode(sender, counter, [hello], secret))


def chain(**config) -> tuple[RadioWorld, list]:
    world = RadioWorld(3, seed=5, **config)
    world.link(0, 1, 2)
    world.run(12.0)
    got = []
    world.brokers[2].attach("c", got.append)
    world.brokers[2].subscribe("c", "x exists")
    world.brokers[0].attach("c", print)
    world.run(3.0)
    return world, got


@pytest.mark.parametrize(("epoch", "counter"), [(1, 2**32 - 1), (1, 5_000), (2, 1), (2**32 - 1, 2**32 - 1)])
def test_a_node_is_heard_again_soon_after_a_forged_counter_or_epoch(epoch, counter):
    world, got = chain()
    for receiver in (0, 2):
        forged(world, Peer(1, epoch), counter, receiver)
    world.run(30.0)
    world.brokers[0].publish("c", {"x": 1})
    world.run(2.0)
    assert len(got) == 1
    assert {record["other"] for record in world.of_kind("identity_conflict")} == {1}


def test_a_restart_with_an_older_epoch_is_heard_once_the_newer_life_is_silent():
    world, got = chain()
    world.crash(1)
    world.epochs[1] = 41
    world.boot(1)
    world.run(12.0)
    world.crash(1)
    world.epochs[1] = 6  # its memory of epochs is lost
    world.boot(1)
    world.run(30.0)
    world.brokers[0].publish("c", {"x": 1})
    world.run(2.0)
    assert len(got) == 1


def test_with_a_secret_what_looks_old_is_a_replay_and_stays_out():
    world, _ = chain(secret="open sesame")
    taped = []
    world.brokers[1].env.broadcast, air = lambda datagram: (taped.append(datagram), air(datagram)), \
        world.brokers[1].env.broadcast
    world.run(10.0)
    world.run(60.0)
    world.crash(1)
    world.run(20.0)
    assert not world.brokers[0].neighbors.two_way
    for datagram in taped[:9] * 9:
        world.brokers[0].datagram_received(datagram)
        world.run(0.5)
    assert not world.brokers[0].neighbors.two_way and not world.brokers[0].neighbors._table[1].beacons
