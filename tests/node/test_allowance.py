"""What a tree neighbor may have others told (node/allowance.py): beyond that it waits, in order, and nothing is lost."""
from __future__ import annotations

from collections import Counter

import pytest

from node import wire
from node.allowance import FILTERS, FILTERS_A_SECOND, PASSED_ON, PASSED_ON_A_SECOND, Allowance
from node.channel import SPAN
from node.filters import parse
from node.ids import LinkId
from tests.node.lossy_air import Air, Host, event, linked
from tests.node.radio_world import RadioWorld

ATTACK = 5.0  # s
RID = (1, 2)


def flush(number: int) -> wire.Flush:
    return wire.Flush((*RID, number), ())


def counting(world: RadioWorld) -> Counter:
    """(node, type) -> messages that nodes hand to their channels, a link each."""
    counts: Counter = Counter()
    for node, broker in world.brokers.items():
        def send(links, message, node=node, send=broker.links.send):
            counts[node, type(message)] += len(links)
            send(links, message)
        broker.links.send = send
    return counts


FRESH = {
    "flush": ([wire.Flush], flush),
    "filters": ([wire.Sub, wire.Unsub], lambda i: wire.Sub((parse(f"x = {i // 2}"),), None) if i % 2 == 0 else wire.Unsub((parse(f"x = {i // 2}").hash,))),
    "snapshots": ([wire.Sub, wire.Unsub], lambda i: wire.Snapshot(0, True, (parse(f"x = {i}"),))),
}


@pytest.mark.parametrize("attack", FRESH)
def test_one_broker_that_never_stops_does_not_load_the_others(attack, monkeypatch):
    """A thousand a second go in; so many as the victim lets on are passed by those behind it."""
    monkeypatch.setattr("node.allowance.FILTERS", 200)
    kinds, message = FRESH[attack]
    world = RadioWorld(6, reconcile="informed", channel_queue=1 << 24)
    world.link(0, 1, 2, 3, 4, 5)
    world.run(20.0)
    (link,) = world.brokers[0].routing.links
    counts = counting(world)
    for i in range(int(ATTACK * 1000)):
        world.at(world.time + i / 1000, lambda i=i: world.brokers[0].links.send([link], message(i)))
    world.run(ATTACK)
    at_once, a_second = (PASSED_ON, PASSED_ON_A_SECOND) if attack == "flush" else (200, FILTERS_A_SECOND)
    most = (2 if attack == "snapshots" else 1) * (at_once + ATTACK * a_second + 2)
    for node in (1, 2, 3, 4):
        sent = sum(counts[node, kind] for kind in kinds)
        assert at_once < sent <= most, f"{node} sent {sent}"
    refused = [(record["node"], record["limit"]) for record in world.of_kind("refused")]
    # a snapshot makes two messages of one, so the next broker has to slow down the victim
    assert refused == [(1, int(a_second))] if attack != "snapshots" else (1, int(a_second)) in refused


def test_whoever_waits_loses_nothing_and_its_order_stays():
    for loss in (0.0, 0.1):
        air = Air(3, loss)
        a, b = Host(air, 1), Host(air, 2)
        (link,) = linked(a, b)
        sent = [one for i in range(150) for one in (flush(i), event(i, b"x" * (3000 if i % 40 == 7 else 10)))]
        for one in sent:
            a.links.send([link], one)
        air.run(1.0)
        assert sum(type(one) is wire.Flush for one in b.received[link]) in range(PASSED_ON, PASSED_ON + 20)
        air.run(20.0)
        assert b.received[link] == sent and not a.failed and not b.failed
        assert b.links.received_position(link) == a.links.sent_position(link)
        assert not b.links._links[link].held and not a.links._links[link].flights


def test_a_sender_that_knows_no_window_is_held_in_bounds():
    air = Air()
    a, b = Host(air, 1), Host(air, 2)
    (link,) = linked(a, b)
    channel = b.links._links[link]
    for i in range(1000):
        b.links._data(a.me, wire.Data(((2, link.nonce, i),), flush(i)))
    assert len(channel.held) == SPAN and channel.expected == PASSED_ON + 1
    assert channel.acknowledgement().beyond == 2 ** (SPAN - 1) - 1
    air.run(1.0)
    assert len(b.received[link]) in range(PASSED_ON + 15, PASSED_ON + 19)


def test_a_new_link_to_the_same_neighbor_brings_no_new_allowance():
    air = Air()
    a, b = Host(air, 1), Host(air, 2)
    received = 0
    for nonce in range(10):
        link = LinkId.between(1, 2, nonce)
        for host in (a, b):
            host.links.open(link)
        for i in range(100):
            a.links.send([link], flush(i))
        air.run(air.time + 0.4)
        received += len(b.received.get(link, ()))
        for host in (a, b):
            host.links.close(link)
    assert PASSED_ON < received <= PASSED_ON + 4.0 * PASSED_ON_A_SECOND + 10


def test_a_new_link_waits_from_the_start_for_what_an_old_one_has_used_up():
    air = Air()
    a, b = Host(air, 1), Host(air, 2)
    linked(a, b)
    a.links.send(list(a.links._links), flush(0))
    air.run(1.0)
    for i in range(PASSED_ON + int(PASSED_ON_A_SECOND)):
        b.links._allowances[1].charge(flush(i), air.time)
    (link,) = linked(a, b, nonce=8)
    a.links.send([link], event(1))
    air.run(1.5)
    assert link not in b.received
    air.run(3.0)
    assert b.received[link] == [event(1)]


def test_a_channel_that_closes_while_it_waits_delivers_nothing_any_more():
    air = Air()
    a, b = Host(air, 1), Host(air, 2)
    (link,) = linked(a, b)
    for i in range(100):
        a.links.send([link], flush(i))
    air.run(0.5)
    had = len(b.received[link])
    assert PASSED_ON < had < 100
    b.links.close(link)
    air.run(5.0)
    assert len(b.received[link]) == had


def test_a_whole_table_and_its_withdrawal_do_not_wait():
    one = Allowance(0.0)
    for _ in range(FILTERS):
        one.charge(wire.Sub((parse("x = 1"),), None), 0.0)
    assert not one.wait(0.0)
    one.charge(wire.Rec((1, 2, 3), (), (b"12345678",) * 640), 0.0)
    assert one.wait(0.0) == pytest.approx(11 / FILTERS_A_SECOND) and one.exceeded == ("changes of filters", FILTERS_A_SECOND)
    assert not one.wait(1.0)


def test_it_is_recorded_once_a_minute():
    one = Allowance(0.0)
    assert [one.is_news(t) for t in (0.0, 1.0, 59.0, 61.0, 62.0)] == [True, False, False, True, False]
