"""Subscription forwarding: figure 2's messages, covering, events, bounds, and the digest that heals."""
from __future__ import annotations

import pytest

from node import wire
from node.filters import parse
from node.ids import LinkId
from node.routing import forwarding, resync
from node.routing.duplicates import MAX_SOURCES, WINDOW, SeenEvents
from node.routing.table import MAX_FILTERS_PER_LINK, SubscriptionTable, parts
from tests.node.tree_world import TreeWorld

GRAY = parse('kind = "gray"')
STAR = [(0, 1), (0, 2), (0, 3)]


def star(forwarding="identity"):
    world = TreeWorld(4, forwarding, edges=STAR)
    for core in world.cores:
        core.attach("c")
        core.sent.clear()
    links = {node: world.links[frozenset((0, node))] for node in (1, 2, 3)}
    return world.cores[0], links


def texts(core):
    """What was sent: (far end, "SUB" or "UNSUB", filter text or hash)."""
    found = []
    for far, name, message in core.take_sent():
        assert name in ("Sub", "Unsub")
        found += [(far, name.upper(), str(f) if name == "Sub" else f) for f in message.filters]
    return sorted(found)


def test_what_comes_over_a_link_that_is_not_there_is_counted():
    core, links = star()
    gone = LinkId.between(0, 9, 77)
    for message in (wire.Sub((GRAY,), None), wire.Unsub((GRAY.hash,)), wire.Snapshot(0, True, (GRAY,)),
                    wire.Event(9, 1, 1, 0.0, 0, {"kind": "gray"}, b"")):
        core.routing.link_messages[type(message)](gone, message)
    assert core.drops == ["dead_link"] * 4 and len(core.routing.table) == 0


def test_first_subscriber_is_told_to_all_others_and_the_second_to_the_first():
    core, links = star()
    core.receive(links[1], wire.Sub((GRAY,), None))
    assert texts(core) == [(2, "SUB", str(GRAY)), (3, "SUB", str(GRAY))]
    core.receive(links[2], wire.Sub((GRAY,), None))
    assert texts(core) == [(1, "SUB", str(GRAY))]
    core.receive(links[3], wire.Sub((GRAY,), None))
    core.receive(links[3], wire.Sub((GRAY,), None))
    assert texts(core) == []


def test_last_but_one_unsubscription_goes_to_the_one_left_and_the_last_to_all_others():
    core, links = star()
    for link in links.values():
        core.receive(link, wire.Sub((GRAY,), None))
    core.sent.clear()
    core.receive(links[3], wire.Unsub((GRAY.hash,)))
    assert texts(core) == []
    core.receive(links[2], wire.Unsub((GRAY.hash,)))
    assert texts(core) == [(1, "UNSUB", GRAY.hash)]
    core.receive(links[1], wire.Unsub((GRAY.hash,)))
    assert texts(core) == [(2, "UNSUB", GRAY.hash), (3, "UNSUB", GRAY.hash)]
    core.receive(links[1], wire.Unsub((GRAY.hash,)))
    assert texts(core) == []
    assert len(core.routing.table) == 0


def test_one_message_to_several_links_so_that_the_radio_can_broadcast_it():
    core, links = star()
    core.clients.subscribe("c", GRAY)
    assert [(sorted(to), type(message)) for to, message in core.sent] == [(sorted(links.values()), wire.Sub)]


def test_two_clients_of_one_filter_are_one_hop_to_the_others():
    core, _ = star()
    core.attach("d")
    core.clients.subscribe("c", GRAY)
    assert len(texts(core)) == 3
    core.clients.subscribe("d", GRAY)
    core.clients.unsubscribe("c", GRAY)
    assert texts(core) == []
    core.clients.unsubscribe("d", GRAY)
    assert len(texts(core)) == 3


def test_covering_tells_only_what_no_other_filter_covers():
    core, links = star("covering")
    wide, narrow, other = parse("x > 3"), parse("x > 5"), parse("y > 1")
    core.receive(links[1], wire.Sub((narrow, other), None))
    core.sent.clear()
    core.receive(links[2], wire.Sub((wide,), None))
    assert texts(core) == [(1, "SUB", "x > 3"), (3, "SUB", "x > 3"), (3, "UNSUB", narrow.hash)]
    core.receive(links[2], wire.Unsub((wide.hash,)))
    assert texts(core) == [(1, "UNSUB", wide.hash), (3, "SUB", "x > 5"), (3, "UNSUB", wide.hash)]


def test_sub_goes_before_unsub():
    core, _ = star("covering")
    core.clients.subscribe("c", parse("x > 5"))
    core.sent.clear()
    core.clients.subscribe("c", parse("x > 3"))
    assert [type(message) for _, message in core.sent] == [wire.Sub, wire.Unsub]


def test_held_back_filters_are_told_on_release_if_still_wanted():
    core, links = star()
    core.receive(links[1], wire.Sub((GRAY, parse("x = 1")), None))
    core.sent.clear()
    link = links[3]._replace(nonce=99)
    core.routing.add_link(link, [GRAY.hash, parse("x = 1").hash])
    assert texts(core) == []
    core.receive(links[1], wire.Unsub((parse("x = 1").hash,)))
    core.sent.clear()
    core.routing.release(link)
    assert texts(core) == [(3, "SUB", str(GRAY))]
    core.routing.release(link)
    assert texts(core) == []


def test_kept_filters_of_a_lost_link_are_withdrawn_when_let_go():
    core, links = star()
    core.receive(links[1], wire.Sub((GRAY, parse("x = 1")), None))
    core.sent.clear()
    core.routing.remove_link(links[1], keep=True)
    assert texts(core) == []
    assert not core.routing.table.filters_of(links[1])
    core.receive(links[2], wire.Sub((GRAY,), None))
    core.receive(links[3], wire.Sub((GRAY,), None))
    core.routing.let_go(links[1])
    gone = parse("x = 1").hash
    assert texts(core) == [(2, "UNSUB", gone), (3, "UNSUB", gone)]


def test_messages_of_an_unknown_link_change_nothing():
    core, links = star()
    strange = links[1]._replace(nonce=99)
    for message in (wire.Sub((GRAY,), None), wire.Unsub((GRAY.hash,)), wire.Resync(0), wire.Snapshot(0, True, (GRAY,)),
                    wire.Event(1, 1, 1, 0.0, 1, {"kind": "gray"}, b"")):
        core.receive(strange, message)
    assert len(core.routing.table) == 0 and not core.sent and not core.env.of_kind("forwarded")


def test_parts_fit_a_datagram_and_a_long_filter_goes_alone():
    filters = [parse(f"x = {i}") for i in range(200)] + [parse('long = "' + "y" * 1000 + '"')]
    cut = list(parts(filters))
    assert [f for part in cut for f in part] == filters
    assert cut[-1] == (filters[-1],)
    assert all(len(part) <= 64 and sum(len(f.key) for f in part) <= 900 for part in cut[:-1])
    assert list(parts([])) == []


def test_long_unsubscriptions_are_cut():
    core, links = star()
    filters = [parse(f"x = {i}") for i in range(300)]
    core.receive(links[1], wire.Sub(tuple(filters), None))
    core.sent.clear()
    core.routing.remove_link(links[1])
    hashes = [key for to, message in core.sent for key in message.filters]
    assert hashes == [f.hash for f in filters]
    assert all(len(to) == 2 and len(message.filters) <= forwarding.MAX_UNSUB for to, message in core.sent)


# ---- events --------------------------------------------------------------------------------------
def event(sequence=1, hops=1, kind="gray"):
    return wire.Event(9, 1, sequence, 0.0, hops, {"kind": kind}, b"")


def test_an_event_goes_to_matching_links_except_the_one_it_came_from():
    core, links = star()
    core.clients.subscribe("c", GRAY)
    for link in (links[1], links[2]):
        core.receive(link, wire.Sub((GRAY,), None))
    core.sent.clear()
    core.receive(links[1], event())
    assert core.sent == [((links[2],), event(hops=2))]
    assert core.delivered == [("c", event())]
    assert core.env.of_kind("forwarded") == [
        {"event": "9.1.1", "from": str(links[1]), "to": [str(links[2])]}]
    core.receive(links[2], event())
    assert len(core.sent) == 1 and len(core.delivered) == 1
    assert core.env.of_kind("duplicate") == [{"event": "9.1.1", "link": str(links[2])}]


def test_an_event_that_has_crossed_255_links_goes_no_further():
    core, links = star()
    core.receive(links[2], wire.Sub((GRAY,), None))
    core.sent.clear()
    core.receive(links[1], event(hops=255))
    assert core.sent == []
    assert core.env.of_kind("event_dropped") == [{"event": "9.1.1", "link": str(links[2]), "reason": "hops"}]


def test_own_events_that_come_back_are_duplicates():
    core, links = star()
    core.clients.subscribe("c", GRAY)
    name = core.clients.publish("c", {"kind": "gray"})
    assert len(core.delivered) == 1
    core.receive(links[1], wire.Event(*name, 0.0, 2, {"kind": "gray"}, b""))
    assert len(core.delivered) == 1 and len(core.env.of_kind("duplicate")) == 1


def test_seen_events_remember_a_window_of_each_source():
    seen = SeenEvents()
    assert seen.first_time(1, 1, 10) and not seen.first_time(1, 1, 10)
    assert seen.first_time(1, 2, 10), "another epoch"
    assert seen.first_time(1, 1, 8) and not seen.first_time(1, 1, 8) and seen.first_time(1, 1, 9)
    assert seen.first_time(1, 1, 10 + WINDOW)
    assert not seen.first_time(1, 1, 10), "too old to tell"
    assert seen.first_time(1, 1, 11)
    assert seen.first_time(1, 1, 2**32 - 1) and not seen.first_time(1, 1, 10 + WINDOW)


def test_seen_events_forget_the_source_heard_of_least_recently():
    seen = SeenEvents()
    for source in range(MAX_SOURCES):
        seen.first_time(source, 1, 1)
    seen.first_time(0, 1, 2)
    seen.first_time(MAX_SOURCES, 1, 1)
    assert not seen.first_time(0, 1, 1)
    assert seen.first_time(1, 1, 1), "evicted"


# ---- bounds ------------------------------------------------------------------------------------------
def test_filters_over_a_link_are_bounded_and_the_refusal_is_recorded_once():
    core, links = star()
    many = [parse(f"x = {i}") for i in range(MAX_FILTERS_PER_LINK + 10)]
    for part in parts(many):
        core.receive(links[1], wire.Sub(part, None))
    assert len(core.routing.table.filters_of(links[1])) == MAX_FILTERS_PER_LINK
    assert core.env.of_kind("refused") == [
        {"what": f"filters over link {links[1]}", "limit": MAX_FILTERS_PER_LINK}]
    core.clients.subscribe("c", many[-1])
    core.receive(links[2], wire.Sub((many[-2],), None))
    assert len(core.routing.table) == MAX_FILTERS_PER_LINK + 2


def test_table_digest_is_that_of_the_set():
    table = SubscriptionTable()
    filters = [parse(f"x = {i}") for i in range(5)]
    for f in filters:
        table.add("a", f)
    for f in reversed(filters):
        table.add("b", f)
    assert table.digest("a") == table.digest("b") != 0
    table.remove("a", filters[2].hash)
    assert table.digest("a") != table.digest("b")
    table.add("a", filters[2])
    assert not table.add("a", filters[2])
    assert table.digest("a") == table.digest("b")
    for f in filters:
        table.remove("a", f.hash)
    assert table.digest("a") == 0 and not table.filters_of("a") and len(table) == 5


# ---- the HELLO digest --------------------------------------------------------------------------------
def damaged_pair():
    """Two nodes whose tables disagree: 1 holds a filter too many and lacks one."""
    world = TreeWorld(2, edges=[(0, 1)])
    world.cores[0].attach("c")
    for i in range(100):
        world.cores[0].clients.subscribe("c", parse(f"x = {i}"))
    world.settle()
    link = world.links[frozenset((0, 1))]
    routing = world.cores[1].routing
    routing.leave(link, parse("x = 7").hash)
    routing.enter(link, parse("y = 1"))
    return world, link


def hello(world, sender, receiver):
    world.cores[receiver].routing.digests_received(sender, world.cores[sender].routing.digests())


def test_a_digest_that_disagrees_is_healed_by_a_snapshot():
    world, link = damaged_pair()
    hello(world, 0, 1)
    world.settle()
    held = world.cores[1].routing.table.filters_of(link)
    assert sorted(map(str, held.values())) == sorted(f"x = {i}" for i in range(100))
    assert world.cores[1].env.of_kind("table_healed") == [{"link": str(link), "added": 1, "removed": 1}]
    kinds = [name for _, name, _ in world.cores[0].take_sent()]
    assert kinds.count("Snapshot") > 1
    hello(world, 0, 1)
    world.settle()
    assert world.cores[0].take_sent() == []


def test_equal_digests_ask_for_nothing():
    world = TreeWorld(2, edges=[(0, 1)])
    hello(world, 0, 1)
    hello(world, 1, 0)
    assert not any(core.sent for core in world.cores)


def test_a_digest_of_another_position_is_not_compared():
    world, _ = damaged_pair()
    world.cores[0].clients.subscribe("c", parse("z = 1"))  # still on its way
    hello(world, 0, 1)
    assert not world.cores[1].take_sent()
    late = world.cores[0].routing.digests()
    world.settle()
    world.cores[0].clients.subscribe("c", parse("z = 2"))
    world.settle()
    world.cores[1].routing.digests_received(0, late)
    assert not world.cores[1].take_sent()
    hello(world, 0, 1)
    assert [name for _, name, _ in world.cores[1].take_sent()] == ["Resync"]


def test_requests_and_answers_are_bounded_in_rate():
    world, link = damaged_pair()
    asked, began = [], world.cores[1].env.time
    for _ in range(200):
        hello(world, 0, 1)  # never answered
        asked += [round(world.cores[1].env.time - began, 6) for _ in world.cores[1].take_sent()]
        world.cores[1].env.time += 1.0
    assert asked == [0.0, 5.0, 15.0, 35.0, 75.0, 155.0]
    core = world.cores[0]
    core.sent.clear()

    def ask():
        core.receive(link, wire.Resync(core.routing.links[link].position))
        return [message for _, _, message in core.take_sent()]
    snapshots = ask() + ask() + ask()
    assert [message.part for message in snapshots] == list(range(len(snapshots)))
    core.env.time += resync.ANSWER_PAUSE
    assert len(ask()) == len(snapshots)


def test_nothing_is_kept_of_a_link_that_is_gone():
    world, link = damaged_pair()
    routing = world.cores[1].routing
    routing.assume(link, [GRAY], link)
    routing.remove_link(link)
    routing.assured(link, link)
    assert link not in routing._resync._links and not routing.is_fenced(link)


def test_a_request_that_compared_before_something_more_was_told_is_void():
    world, link = damaged_pair()
    core = world.cores[0]
    stale = core.routing.links[link].position
    core.clients.subscribe("c", parse("z = 3"))
    core.sent.clear()
    core.receive(link, wire.Resync(stale))
    assert not core.sent
    core.receive(link, wire.Resync(core.routing.links[link].position))
    assert {name for _, name, _ in core.take_sent()} == {"Snapshot"}


@pytest.mark.parametrize("sequence", [[1, 2], [0, 2], [0, 1, 1]])
def test_a_snapshot_with_a_gap_is_void(sequence):
    world, link = damaged_pair()
    core = world.cores[1]
    before = dict(core.routing.table.filters_of(link))
    for part in sequence:
        core.receive(link, wire.Snapshot(part, part == 2, (GRAY,)))
    core.receive(link, wire.Snapshot(2, True, ()))
    assert core.routing.table.filters_of(link) == before


def test_subscriptions_behind_a_snapshot_under_way_void_it():
    world, link = damaged_pair()
    core = world.cores[1]
    core.receive(link, wire.Snapshot(0, False, ()))
    core.receive(link, wire.Sub((GRAY,), None))
    core.receive(link, wire.Snapshot(1, True, ()))
    assert GRAY.hash in core.routing.table.filters_of(link)


def test_an_empty_table_has_a_snapshot_too():
    world = TreeWorld(2, edges=[(0, 1)])
    link = world.links[frozenset((0, 1))]
    world.cores[1].routing.enter(link, GRAY)
    hello(world, 0, 1)
    world.settle()
    assert not world.cores[1].routing.table.filters_of(link)


def test_a_beacon_takes_turns_when_there_are_more_links_than_it_has_room_for():
    world = TreeWorld(40, edges=[(0, node) for node in range(1, 40)])
    told = [world.cores[0].routing.digests() for _ in range(3)]
    assert all(len(digests) == 16 for digests in told)
    assert len({entry[0] for digests in told for entry in digests}) == 39

