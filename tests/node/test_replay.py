"""Replay on subscription (node/routing/recent.py): what was published while the tree was broken comes with the link that
mends it. That nothing owed stays missing, whatever happens, is for the oracle (test_oracle.py); here is the rest."""
from __future__ import annotations

import pytest

from node import wire
from node.broker import RECONCILERS
from node.filters import parse
from node.ids import LinkId
from node.routing import recent, replay
from node.routing.forwarding import REPAIR
from node.routing.recent import Recent
from tests.node.radio_world import RadioWorld
from tests.node.tree_world import TreeWorld

LINK, OTHER = LinkId(0, 1, 9), LinkId(0, 2, 9)
ALL = parse("*")


def event(number, size=0, **attributes):
    return wire.Event(7, 1, number, 0.0, 0, attributes or {"kind": "a"}, bytes(size))


def two(apart, publish_after=0.0, subscribe_late=False, **config):
    """Two hosts are one tree, part, and meet again; host 0 publishes in between. World, and what host 1 got."""
    world, got = RadioWorld(2, **config), []
    world.link(0, 1)
    world.brokers[0].attach("p", lambda event: None)
    world.brokers[1].attach("s", lambda event: got.append((event.sequence, False)), lambda event: got.append((event.sequence, True)))
    if not subscribe_late:
        world.brokers[1].subscribe("s", 'kind = "a"')
    world.run(12.0)
    world.brokers[0].publish("p", {"kind": "a"})
    world.run(1.0)
    world.unlink(0, 1)
    world.run(publish_after)
    world.brokers[0].publish("p", {"kind": "a"})
    world.brokers[0].publish("p", {"kind": "b"})
    world.run(apart - publish_after)
    if subscribe_late:
        world.brokers[1].subscribe("s", 'kind = "a"')
    world.link(0, 1)
    world.run(10.0)
    return world, got


@pytest.mark.parametrize("protocol", RECONCILERS)
@pytest.mark.parametrize(("apart", "publish_after"), [(0.4, 0.0), (1.5, 0.0), (4.0, 2.0)])
def test_an_event_of_the_time_between_comes_late_once_and_is_flagged(apart, publish_after, protocol):
    world, got = two(apart, publish_after, reconcile=protocol)
    assert got in ([(1, False), (2, True)], [(1, False), (2, False)])
    assert (2, True) in got or apart < 1, "a link that was back before its loss was noticed sends again by itself"
    (record,) = world.of_kind("replayed") or [None]
    assert record is None or record["left"] == 0


def test_what_is_older_than_the_window_is_not_sent():
    _, got = two(8.0, 0.0, replay_window=4)
    assert got == [(1, False)]
    world, got = two(4.0, 2.0, replay_window=0)
    assert got == [(1, False)] and not world.of_kind("replayed")


def test_who_subscribes_afterwards_gets_nothing_of_before():
    """Neither over a link that opens later, nor over one that stands: a client's own subscription asks for nothing old."""
    _, got = two(4.0, 2.0, subscribe_late=True)
    assert got == []
    world = TreeWorld(3, edges=[(0, 1), (1, 2)], replay_window=60)
    for core in world.cores:
        core.attach("c")
    world.cores[0].clients.publish("c", {"kind": "a"})
    world.settle()
    world.cores[2].clients.subscribe("c", 'kind = "a"')
    world.settle()
    assert not world.cores[2].delivered and not any(
        type(message) is wire.Late or getattr(message, "since", None) is not None for core in world.cores for _, message in core.sent)


def test_ages_count_not_clocks():
    """The subscriber's clock is an hour ahead or behind, and decades."""
    for shift in (-3600.0, 0.0, 3600.0, 1e9):
        assert two(4.0, 2.0, shift=shift)[1] == [(1, False), (2, True)]
        assert two(4.0, 2.0, subscribe_late=True, shift=shift)[1] == []


def test_nobody_is_asked_for_more_than_the_window_whatever_a_neighbor_wants():
    world = TreeWorld(3, edges=[(0, 1), (1, 2)], replay_window=5)
    for core in world.cores:
        core.attach("c")
    link = world.links[frozenset((0, 1))]
    world.cores[1].env.time = 1000.0
    world.cores[1].receive(link, wire.Sub((parse('kind = "a"'),), 60000))
    assert [message.since for _, _, message in world.cores[1].take_sent()] == [500]
    world = TreeWorld(3, edges=[(0, 1), (1, 2)], replay_window=0)
    world.cores[1].receive(world.links[frozenset((0, 1))], wire.Sub((parse('kind = "a"'),), 60000))
    assert [message.since for _, _, message in world.cores[1].take_sent()] == [None]


def test_in_a_tree_at_rest_a_repair_asks_nobody_beyond_who_has_the_events():
    """Filters that were told before the window are not told again: what they brought has come."""
    world = TreeWorld(5, edges=[(0, 1), (1, 2), (2, 3), (3, 4)], replay_window=60, reconciler=RECONCILERS["timed"])
    for core in world.cores:
        core.attach("c")
    world.cores[0].clients.subscribe("c", 'kind = "a"')
    world.settle()
    for core in world.cores:
        core.env.time += 1000.0
        core.take_sent()
    world.replace(world.cut(0, 1), (0, 0), (1, 1))
    world.settle()
    assert not world.cores[3].take_sent() and not world.cores[4].take_sent()


def test_a_repair_asks_for_less_than_a_merge():
    world = TreeWorld(3, edges=[(0, 1)], replay_window=60)
    routing = world.cores[0].routing
    routing.replaces(LINK)
    world.cores[0].env.time = 1000.0
    routing.add_link(LINK)
    routing.add_link(OTHER)
    assert (routing.links[LINK].missed_since, routing.links[OTHER].missed_since) == (1000.0 - REPAIR, 940.0)


def late(count, size=0, **config):
    """Two brokers of a scripted tree that was broken; one has published so many events that the other lacks. World, link."""
    world = TreeWorld(2, edges=[(0, 1)], **{"replay_window": 10, **config})
    for core in world.cores:
        core.attach("c")
    world.cores[1].clients.subscribe("c", ALL)
    world.settle()
    lost = world.cut(0, 1)
    world.settle()
    for _ in range(count):
        world.cores[0].clients.publish("c", {"kind": "a"}, bytes(size))
    world.cores[0].take_sent()
    link = world.replace(lost, (0, 0), (1, 1))
    return world, link


def until(world, quiet):
    """Let everything happen but timers, until it is quiet."""
    while steps := [step for step in world.steps() if step[0] != "timer"]:
        if quiet(world):
            return
        world.happen(*steps[0])


def lates(core):
    return [message.event.sequence for _, _, message in core.take_sent() if type(message) is wire.Late or type(message) is wire.Event]


def test_what_is_more_than_goes_at_once_goes_in_portions_each_after_the_one_before_has_come():
    world, link = late(200)
    sent = []
    core = world.cores[0]
    until(world, lambda world: core.env.of_kind("replayed"))
    assert [len(record["events"]) for record in core.env.of_kind("replayed")] == [replay.EVENTS]
    for _ in range(5):  # nobody has acknowledged anything: nothing follows
        core.timers[-1].run()
    assert len(core.env.of_kind("replayed")) == 1
    while True:
        until(world, lambda world: False)
        sent += lates(core)
        if not core.timers:
            break
        core.timers[-1].run()
    assert sent == list(range(1, 201))
    assert [(len(record["events"]), record["left"]) for record in core.env.of_kind("replayed")] == [(64, 0)] * 3 + [(8, 0)]
    assert sorted(event.sequence for _, event in world.cores[1].delivered) == sent


def test_portions_are_bounded_in_bytes_and_one_event_always_goes():
    world, link = late(20, size=30000)
    until(world, lambda world: world.cores[0].env.of_kind("replayed"))
    assert [len(record["events"]) for record in world.cores[0].env.of_kind("replayed")] == [1]
    world, link = late(20, size=5000)
    until(world, lambda world: world.cores[0].env.of_kind("replayed"))
    assert [len(record["events"]) for record in world.cores[0].env.of_kind("replayed")] == [3]


def test_what_the_memory_forgets_before_its_turn_is_given_up_on_record():
    world, link = late(100)
    core = world.cores[0]
    until(world, lambda world: core.env.of_kind("replayed"))
    core.env.time += 60.0
    core.timers[-1].run()
    assert [(len(record["events"]), record["left"]) for record in core.env.of_kind("replayed")] == [(64, 0), (0, 36)]
    assert not core.timers


def test_what_waits_for_a_link_that_closes_is_on_record_and_goes_over_the_next():
    world, link = late(100)
    core = world.cores[0]
    until(world, lambda world: core.env.of_kind("replayed"))
    lost = world.cut(0, 1)
    until(world, lambda world: False)
    assert [(len(record["events"]), record["left"]) for record in core.env.of_kind("replayed")] == [(64, 0), (0, 36)]
    world.replace(lost, (0, 0), (1, 1))
    world.settle()
    assert sorted(event.sequence for _, event in world.cores[1].delivered) == list(range(1, 101))


def test_hundreds_of_events_of_a_long_break_all_come_over_radio():
    world, got = RadioWorld(2), []
    world.link(0, 1)
    world.brokers[0].attach("p", lambda event: None)
    world.brokers[1].attach("s", lambda event: got.append(event.sequence))
    world.brokers[1].subscribe("s", 'kind = "a"')
    world.run(12.0)
    world.unlink(0, 1)
    world.run(3.0)
    for _ in range(300):
        world.brokers[0].publish("p", {"kind": "a"}, bytes(200))
        world.run(0.01)
    world.link(0, 1)
    world.run(10.0)
    assert got == list(range(1, 301)) and sum(record["left"] for record in world.of_kind("replayed")) == 0


def test_the_memory_is_bounded_in_bytes():
    memory = Recent(100.0)
    for number in range(20):
        memory.passed(event(number, size=30000), 0.0, 0.0, None, ())
    missed = memory.missed(LINK, [ALL], 0.0)
    assert len(missed) == recent.MOST_BYTES // missed[0].size and missed[-1].event.sequence == 19
    assert not memory.missed(LINK, [ALL], 0.0), "it has gone over the link"
    assert len(memory.missed(OTHER, [ALL], 0.0)) == len(missed)


@pytest.mark.parametrize("filters", [['kind = "b"'], []])
def test_only_what_matches_and_has_not_been_there(filters):
    memory = Recent(100.0)
    memory.passed(event(1), 0.0, 0.0, LINK, ())
    memory.passed(event(2), 0.0, 0.0, OTHER, [LINK])
    memory.passed(event(3), 0.0, 0.0, None, [OTHER])
    assert memory.missed(LINK, [parse(text) for text in filters], 0.0) == []
    assert [one.event.sequence for one in memory.missed(LINK, [ALL], 0.0)] == [3]


def test_what_is_older_than_the_window_is_forgotten():
    memory = Recent(10.0)
    memory.passed(event(1), 0.0, 0.0, None, ())
    memory.passed(event(2), 11.0, 11.0, None, ())
    assert [one.event.sequence for one in memory.missed(LINK, [ALL], 0.0)] == [2]
