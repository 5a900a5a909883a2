"""Rules of roaming one by one, each by what it is about."""
from __future__ import annotations

from node import wire
from node.event import Held
from tests.node.roaming_world import DEVICE, begun

EVENT = wire.Event(3, 1, 977, 0.0, 0, {"kind": "a"}, b"")


def test_filters_that_a_device_withdrew_while_away_leave_its_broker():
    world = begun()
    world.subscribe(DEVICE, 'kind = "b"')
    world.run(1.0)
    world.hear(DEVICE, [])
    world.run(5.0)
    world.unsubscribe(DEVICE, 'kind = "b"')
    assert len(world.sim.brokers[0].routing.table.filters_of(f"@{DEVICE}")) == 2
    world.hear(DEVICE, [0])
    world.run(5.0)
    assert [str(one) for one in world.sim.brokers[0].routing.table.filters_of(f"@{DEVICE}").values()] == ['kind = "a"']


def test_the_present_broker_stays_a_holder_whatever_is_settled():
    device = begun().sim.brokers[DEVICE]
    at = device._at
    device._settled(at, wire.Settled(at.holding.broker, at.holding.session))
    assert device._holders == [at.holding]


def test_what_was_merged_is_known_when_the_tree_brings_it():
    session = begun().sim.brokers[0].sessions.of[DEVICE]
    session.merge([Held(EVENT)])
    assert not session.deliver(EVENT)


def test_a_device_gets_nothing_of_its_own_and_what_comes_late_is_late():
    session = begun(hears=(0,)).sim.brokers[0].sessions.of[DEVICE]
    session.link = None
    assert not session.deliver(EVENT._replace(source=DEVICE))
    assert session.deliver(EVENT, born=5.0) and session.buffer._entries[-1].late


def test_a_device_names_its_own_events_only():
    world = begun()
    sessions = world.sim.brokers[0].sessions
    link = sessions.of[DEVICE].link
    world.subscribe(0, 'kind = "x"')
    mine = world.publish(DEVICE, kind="x")
    sessions.device_messages[wire.Publish](link, wire.Publish(EVENT._replace(attributes={"kind": "x"})))
    world.run(2.0)
    assert world.got(0) == [mine]
