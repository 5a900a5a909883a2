"""Gossip that lies, repeats itself or never ends: bounded, refused, counted, and the network goes on."""
from __future__ import annotations

import tracemalloc

import cbor2
import pytest

from node import wire
from node.broker import RECOVERIES
from node.ids import Peer
from node.recovery.answers import REMEMBERED, WAITING
from node.recovery.combined import Combined
from node.recovery.counters import HEARD
from node.recovery.digest import MOST
from node.recovery.gossip import HANDLED
from node.recovery.lost import MOST as MOST_LOST
from node.recovery.publisher_pull import SOURCES, PublisherPull
from node.recovery.push import Push
from node.recovery.subscriber_pull import SubscriberPull
from tests.node.recovery_core import ME, Core, event, hash_of, tagged
from tests.node.recovery_world import SETTLED, RecoveryWorld

A = hash_of("a")
MILLION = 1_000_000


# ---- a digest with a million identifiers --------------------------------------------------------------


def digest_of(count: int, head: tuple = (9, 1)) -> tuple:
    return tuple((*head[:-1], head[-1], tuple(range(at, min(at + 256, count)))) for at in range(0, count, 256))


@pytest.mark.parametrize("name", ["PushGossip", "SubscriberPull", "GossipRequest", "PublisherPull"])
def test_a_digest_of_a_million_identifiers_is_no_message(name):
    """It finds no room in a message of 64 kB, and a node that could make one could not send it."""
    digest = digest_of(MILLION, (A,)) if name == "PublisherPull" else digest_of(MILLION)
    fields = {"PushGossip": ((1,), A, digest), "SubscriberPull": ((1,), A, digest), "GossipRequest": (digest,),
              "PublisherPull": ((1, 2), 1, digest)}[name]
    with pytest.raises(ValueError):
        wire.encode_message(getattr(wire, name)(*fields))
    with pytest.raises(wire.Malformed) as found:
        wire.decode_message(cbor2.dumps([getattr(wire, name).code, *fields]))
    assert found.value.reason == "oversize"


def test_the_largest_digest_that_is_a_message_is_refused_before_it_is_looked_through():
    most = digest_of(64 * 256)
    wire.encode_message(wire.PushGossip((2,), A, most))
    core = Core(Push).wants("c", "a").wants(3, "a")
    core.over(2, wire.PushGossip((2,), A, most))
    core.routed((2, ME), wire.GossipRequest(most))
    assert core.drops == ["digest"] * 2 and not core.take() and not core.recovery._missed
    pull = Core(Combined).wants(3, "a")
    pull.over(2, wire.SubscriberPull((2,), A, most))
    pull.routed((2, ME), wire.PublisherPull((2, ME, 7), 1, tuple((A, numbers) for _, _, numbers in most)))
    assert pull.drops == ["digest"] * 2
    assert [message.name for _, message in pull.take()] == []
    core.over(2, wire.PushGossip((2,), A, digest_of(MOST)))
    assert core.drops == ["digest"] * 2 and len(core.recovery._missed) == MOST


# ---- routes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", [(), (1,), (7, 3, 7, 2), (ME, 2), (2, 7), (2, 2)])
def test_gossip_whose_route_cannot_be_is_refused(route):
    """It ends with who sent it, meets nobody twice, and not this node."""
    push = Core(Push).wants("c", "a").wants(3, "a")
    push.over(2, wire.PushGossip(route, A, digest_of(3)))
    pull = Core(SubscriberPull).wants(3, "a")
    pull.over(2, wire.SubscriberPull(route, A, digest_of(3)))
    assert push.drops == pull.drops == ["bad_route"] and not push.take()
    pull.run(2.0)
    assert {message.name for _, message in pull.take()} <= {"COUNTERS"}


@pytest.mark.parametrize("route", [(), (2,), (ME, 2), (2, 3, ME), (2, ME, 2, 9), (3, ME, 9), (7, 2, 8)])
def test_a_pull_along_a_route_that_cannot_be_is_refused(route):
    core = Core(PublisherPull)
    core.routed((2, ME), wire.PublisherPull(route, 1, ((A, (1,)),)))
    assert core.drops == ["bad_route"] and not core.take()


@pytest.mark.parametrize("route", [(9, 4, 9, 1), (4, 1), (9, 1, 4), (9, ME, 1), (1,)])
def test_an_event_whose_route_has_a_loop_loses_it_and_goes_on(route):
    core = Core(PublisherPull).wants("c", "a")
    onward, clients = core.passes(tagged(1, [("a", 1)], route=route), 1, ["c"])
    assert onward.route == () and clients == ["c"]
    assert core.drops == ["bad_route"] and not core.recovery._routes


# ---- answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECOVERIES)
def test_an_answer_never_asked_for_changes_nothing(name):
    core = Core(RECOVERIES[name]).wants("c", "a")
    for answer in (event(7), tagged(7, [("a", 7)]), tagged(8)):
        core.routed((2, ME), wire.GossipAnswer(0, answer))
    core.routed((2, ME), wire.GossipAnswer(0, wire.GossipRequest(())))
    assert core.drops == ["unasked"] * 3 + ["misplaced"]
    assert not core.delivered and not core.records and not len(core.recovery.cache)


def test_an_answer_to_a_question_of_long_ago_is_not_taken():
    core = Core(SubscriberPull, lost_patience=5.0).wants("c", "a").wants(2, "a")
    for number in (1, 3):
        core.passes(tagged(number, [("a", number)]), 1, ["c"])
    core.recovery.start_round()
    core.time = 6.0
    assert not core.recovery.start_round()
    core.routed((2, ME), wire.GossipAnswer(0, tagged(2, [("a", 2)])))
    assert core.drops == ["unasked"] and not core.delivered


def test_push_does_not_take_one_either():
    core = Core(Push, lost_patience=5.0).wants("c", "a")
    core.over(2, wire.PushGossip((2,), A, digest_of(1)))
    core.time = 6.0
    core.routed((2, ME), wire.GossipAnswer(0, event(0)))
    assert core.drops == ["unasked"] and not core.delivered


# ---- floods -------------------------------------------------------------------------------------------------


def test_a_flood_of_requests_is_answered_at_a_walk():
    core = Core(Push, cache_bytes=1 << 20).wants(2, "a")
    for k in range(1000):
        core.passes(event(k), 1)
    for k in range(20 * HANDLED):  # all at once, by the same neighbor
        core.routed((100 + k, 2, ME), wire.GossipRequest(digest_of(100)))
    assert len(core.recovery._answers._waiting) == WAITING
    assert set(core.drops) == {"flooded"} and core.drops.count("flooded") > 18 * HANDLED
    core.run(1.0)
    assert len(core.relayed) <= 8 * 51, "8 in 20 ms"
    assert len(core.recovery._answers._given) <= REMEMBERED


def test_who_asks_for_the_same_again_and_again_gets_it_once_an_interval():
    core = Core(Push).wants(2, "a")
    core.passes(event(1), 1)
    for _ in range(100):
        core.routed((7, 2, ME), wire.GossipRequest(((9, 1, (1, 1, 1)),)))
    core.run(0.9)
    assert len(core.relayed) == 1
    core.run(0.2)
    core.routed((7, 2, ME), wire.GossipRequest(((9, 1, (1,)),)))
    core.run(0.1)
    assert len(core.relayed) == 2


def test_a_neighbor_that_floods_does_not_silence_the_others():
    core = Core(Push).wants("c", "a")
    for k in range(10 * HANDLED):
        core.over(2, wire.PushGossip((2,), A, ((9, 1, (k,)),)))
    core.take()
    core.over(3, wire.PushGossip((3,), A, ((8, 1, (1,)),)))
    assert core.take() == [((ME, 3), wire.GossipRequest(((8, 1, (1,)),)))]
    core.time += 1.0
    core.over(2, wire.PushGossip((2,), A, ((8, 1, (2,)),)))
    assert core.take() == [((ME, 2), wire.GossipRequest(((8, 1, (2,)),)))]


def test_counters_of_any_sources_and_numbers_leave_bounded_memory_and_losses():
    core = Core(Combined).wants("c", "a").wants(3, "a")
    for k in range(300):
        core.time += 1.0
        rows = tuple((1000 + k * 64 + i, 1, 2**32 - 1 - k) for i in range(64))
        core.over(2, wire.Counters(((A, rows),)))
        core.over(2, wire.Counters(((A, tuple((7, 1 + k % 3, n * 1000) for n in range(k, k + 64))),)))
    assert len(core.recovery._latest.of(A)) == len(core.recovery._expected.of(A)) == HEARD
    assert len(core.recovery.lost) <= MOST_LOST
    core.run(5.0)
    assert len(core.sent) <= HEARD // 64 + 8, "each that is remembered is told once"


def test_routes_of_any_sources_are_bounded():
    core = Core(PublisherPull)
    for source in range(1000, 1000 + 2 * SOURCES):
        core.passes(tagged(1, source=source, route=(source, 1)), 1)
    assert len(core.recovery._routes) == SOURCES


FLOODS = {
    "gossip": lambda k: wire.PushGossip((1,), A, ((k, 1, tuple(range(100))),)),
    "pulls": lambda k: wire.SubscriberPull((1,), A, ((k, 1, tuple(range(100))),)),
    "counters": lambda k: wire.Counters(((A, tuple((k * 50 + i, 1, k) for i in range(50))),)),
    "tagged events": lambda k: wire.TaggedEvent(k, 1, k, 0.0, 1, {"kind": "a"}, b"x" * 200,
                                                tuple((i.to_bytes(8), k) for i in range(16)), (k, 1)),
    "requests": lambda k: wire.GossipRequest(((0, 1, tuple(range(k, k + 100))),)),
    "answers": lambda k: wire.GossipAnswer(0, wire.Event(k, 1, k, 0.0, 1, {"kind": "a"}, b"x" * 200)),
    "publisher pulls": lambda k: wire.PublisherPull((1, 2, 3), 1, ((A, tuple(range(k, k + 100))),)),
    "parts": lambda k: wire.Part(k, 0, 80, b"x" * 700),
}


@pytest.mark.parametrize("recovery", ["push", "combined"])
@pytest.mark.parametrize("flood", FLOODS)
def test_a_node_under_a_flood_of_gossip_stays_small_and_the_network_delivers(flood, recovery):
    world = RecoveryWorld(4, recovery, seed=1, retransmission=False)
    world.link(0, 1, 2, 3)
    for node in range(4):
        world.subscribe(node, "a")
    world.run(SETTLED)
    victim = world.brokers[2]
    link = next(link for link in victim.routing.links if 1 in link[:2])
    routed = FLOODS[flood](0).scope == "hop"

    def send(k):
        message = FLOODS[flood](k)
        entry = victim.neighbors._table[1]
        if routed:
            wrapped = wire.Relay(k, wire.Routed((1, 2), message))
        else:
            wrapped = wire.Once(((2, link.nonce),), message)
            if len(wire.encode_message(message)) > 1000:
                return
            if type(message) is wire.Counters:
                victim.link_message(link, message)
                return
        victim.datagram_received(wire.encode(Peer(1, 1), entry.counter + 1, [wrapped]))

    for k in range(200):
        send(k)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for k in range(200, 700):
        send(k)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 16 << 20  # 16,384 counters, a cache of a megabyte
    world.run(SETTLED)
    world.publish(0, "a")
    world.publish(3, "a")
    world.run(10.0)
    mine = {(name, node) for name in list(world.published)[-2:] for node in range(4)}
    assert mine <= {(event[:3], node) for _, node, event in world.got}
