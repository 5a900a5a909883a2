"""Rules of the routing one by one, which histories reach too seldom, or whose breach they cannot see."""
from __future__ import annotations

from node import wire
from node.filters import parse
from node.ids import LinkId
from node.routing.duplicates import WINDOW, SeenEvents
from node.routing.forwarding import AGO
from node.routing.holding import Holding
from node.routing.told import Told
from tests.node.tree_world import TreeWorld

A, B = parse('kind = "a"'), parse('kind = "b"')
NEW, RID, OTHER = LinkId(0, 2, 9), LinkId(0, 3, 4), LinkId(0, 4, 4)


def core_of_two():
    """Node 0 of two that are linked, with a client; and the link."""
    world = TreeWorld(2, edges=[(0, 1)], replay_window=60)
    core = world.cores[0]
    core.env.time = 100.0
    core.attach("c")
    return core, next(iter(core.routing.links))


def sent(core, kind):
    return [message for _, message in core.sent if type(message) is kind]


def test_an_event_that_slid_out_of_the_window_of_a_jump_is_not_new_again():
    seen = SeenEvents()
    jump = 10 + WINDOW
    assert seen.first_time(1, 1, 10) and seen.first_time(1, 1, jump) and seen.first_time(1, 1, 100)
    assert seen.first_time(1, 1, jump + 200)
    assert seen.contains(1, 1, 100) and not seen.first_time(1, 1, 100)


def test_what_is_taken_back_and_wanted_anew_while_held_is_told_at_once():
    core, link = core_of_two()
    core.routing.subscribed(link, [A], None)
    core.routing.add_link(NEW, [A.hash])
    assert A.hash not in core.routing.links[NEW].filters
    core.routing.erase(link, [A.hash])
    core.routing.subscribed(link, [A], None)
    assert A.hash in core.routing.links[NEW].filters


def test_what_is_held_back_is_told_as_soon_as_a_local_client_wants_it():
    core, link = core_of_two()
    core.routing.subscribed(link, [A], None)
    core.routing.add_link(NEW, [A.hash])
    core.clients.subscribe("c", A)
    assert A.hash in core.routing.links[NEW].filters


def test_a_walk_that_is_acknowledged_leaves_what_another_assumed():
    holding = Holding()
    holding.assume(NEW, [A.hash], RID)
    holding.assume(NEW, [B.hash], OTHER)
    holding.assured(NEW, RID)
    assert holding.assumed_of(NEW) == {B.hash}


def test_a_digest_that_crosses_rec_asks_for_nothing():
    core, link = core_of_two()
    core.routing.assume(link, [B], RID)
    beacon = [(0, link.nonce, core.received_position(link), bytes(8))]
    core.routing.digests_received(1, beacon)
    assert not sent(core, wire.Resync)
    core.routing.assured(link, RID)
    core.routing.digests_received(1, beacon)
    assert sent(core, wire.Resync)


def test_who_has_just_begun_asks_for_nothing_of_before():
    core, _ = core_of_two()
    core.routing.start()
    core.env.time += 10.0
    core.routing.add_link(NEW)
    assert core.routing.links[NEW].missed_since == 100.0


def test_what_is_passed_on_asks_for_as_much():
    core, link = core_of_two()
    core.routing.add_link(NEW)
    core.routing.subscribed(link, [A], 500)
    (sub,) = sent(core, wire.Sub)
    assert 500 <= sub.since <= 501


def test_the_first_subscribers_link_is_asked_too():
    core, link = core_of_two()
    core.routing.add_link(NEW)
    core.routing.subscribed(NEW, [A], None)
    core.sent.clear()
    core.routing.subscribed(link, [A], 500)
    (sub,) = sent(core, wire.Sub)
    assert 500 <= sub.since <= 501


def test_a_sub_that_asks_again_and_a_table_that_is_healed_bring_what_was_missed():
    for ask in (lambda routing, link: (routing.subscribed(link, [A], None), routing.subscribed(link, [A], 500)),
                lambda routing, link: routing.replace(link, [A])):
        core, link = core_of_two()
        core.clients.publish("c", {"kind": "a"})
        ask(core.routing, link)
        assert len(core.env.of_kind("replayed")) == 1 and len(sent(core, wire.Late)) == 1


def test_an_event_passed_on_late_is_as_old_as_it_came_and_older():
    core, link = core_of_two()
    event = wire.Event(7, 1, 1, 0.0, 0, {"kind": "a"}, b"")
    core.routing._late_received(link, wire.Late(4000, event))
    core.env.time += 1.0
    core.routing.add_link(NEW)
    core.routing.subscribed(NEW, [A], round(5 / AGO))
    (late,) = sent(core, wire.Late)
    assert late.age >= 5000


def test_an_event_has_an_end_of_hops():
    core, link = core_of_two()
    core.routing.add_link(NEW)
    core.routing.subscribed(NEW, [A], None)
    core.routing._event_received(link, wire.Event(7, 1, 1, 0.0, 255, {"kind": "a"}, b""))
    assert [fields["reason"] for fields in core.env.of_kind("event_dropped")] == ["hops"] and not sent(core, wire.Event)


def test_a_filter_told_anew_in_one_instant_asks_and_the_earliest_time_counts():
    told = Told()
    told.tell(A.hash, A, 10.0, None)
    told.take_subscriptions()
    told.withdraw(A.hash)
    told.tell(A.hash, A, 20.0, 5.0)
    told.tell(B.hash, B, 20.0, 3.0)
    assert told.take_subscriptions() == ({A.hash: A, B.hash: B}, 3.0)


def test_a_snapshot_without_one_of_its_parts_counts_for_nothing():
    core, link = core_of_two()
    receive = core.routing.link_messages[wire.Snapshot]
    receive(link, wire.Snapshot(0, False, (A,)))
    receive(link, wire.Snapshot(2, True, (B,)))
    assert not core.routing.table.filters_of(link)
