"""The handoff, case by case: announced, unannounced, out of reach, at a broker that restarted; and the choice of a broker."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest

from node import wire
from node.config import NodeConfig
from node.event import Held
from node.roaming.question import ALIVE_BEACONS, MOST_TRIES
from node.roaming.session import RECENT, Phase, Session
from node.station import MOST_DATAGRAMS
from tests.node.roaming_world import APP, DEVICE, World, begun, broker_of, one, published


def test_an_announced_move(monkeypatch):
    """moveOut: the old broker keeps what comes; moveIn: the new one fetches it and removes what came twice."""
    world = begun()
    before = published(world, 5)
    world.sim.brokers[DEVICE].move_out()
    world.run(0.5)
    assert broker_of(world) is None and one(world, "moved_out")["announced"]
    assert one(world, "session_away")["reason"] == "moved_out"
    during = published(world, 20)
    world.hear(DEVICE, [2])
    world.sim.brokers[DEVICE].move_in()
    world.run(4.0)
    after = published(world, 5)
    world.run(1.0)
    assert broker_of(world) == 2 and world.got(DEVICE) == [*before, *during, *after]
    done = one(world, "handoff", device=DEVICE, holder=0)
    assert (done["outcome"], done["events"], done["late"]) == ("fetched", 20, False)
    assert one(world, "handed_over", to=2)["events"] == 20
    assert DEVICE not in world.sim.brokers[0].sessions.of  # no subscription is left behind
    assert not world.sim.brokers[0].routing.table.filters_of(f"@{DEVICE}")


def test_a_device_that_vanishes_and_turns_up_at_the_same_broker():
    world = begun()
    published(world, 3)
    world.hear(DEVICE, [])
    published(world, 30)
    world.hear(DEVICE, [0])
    world.run(5.0)
    assert world.got(DEVICE) == sorted(world.published)
    assert one(world, "session_opened")["resumed"] and not world.kinds("handoff")


def test_a_broker_that_restarts_has_lost_what_it_held():
    """It answers that it knows nothing: no wait, and only the events in its memory are gone."""
    world = begun()
    first = published(world, 3)
    world.hear(DEVICE, [])
    lost = published(world, 10)
    world.crash(0)
    world.run(6.0)
    world.start(0)
    world.run(6.0)
    world.hear(DEVICE, [0])
    world.run(5.0)
    assert world.got(DEVICE)[:3] == first and broker_of(world) == 0
    after = published(world, 3)
    world.run(1.0)
    assert world.got(DEVICE) == [*first, *after]
    assert set(lost) <= {event for device, event in world.crashed_with} <= {*first, *lost}
    assert one(world, "let_in")["seconds"] < 0.5


def test_an_old_broker_out_of_reach_is_waited_for_so_long_and_its_events_come_late():
    """The network is parted: new routes' events at once after handoff_wait, the rest when the parts meet again."""
    world = begun(handoff_wait=1.5)
    published(world, 3, host=0)
    world.hear(DEVICE, [])
    world.run(2.0)
    kept = published(world, 10, host=0)
    world.cut((1, 2))
    world.run(8.0)
    world.hear(DEVICE, [3])
    world.run(6.0)
    waited = one(world, "handoff_waited")
    assert waited["waited"] and waited["seconds"] == pytest.approx(1.5, abs=0.01)
    assert one(world, "let_in")["waited"]
    there = published(world, 5, host=3)
    assert set(there[:4]) <= set(world.got(DEVICE)) and not set(kept) & set(world.got(DEVICE))
    world.restore((1, 2))
    world.run(30.0)
    assert set(kept) <= set(world.got(DEVICE)) and len(set(world.got(DEVICE))) == len(world.got(DEVICE))
    assert one(world, "handoff", holder=0)["late"]
    late = {fields["event"] for _, host, _, fields in world.kinds("delivered") if host == DEVICE and fields["recovered"]}
    assert late == set(map(str, kept))


def test_a_program_on_a_device_is_told_which_events_came_late():
    world = begun(handoff_wait=1.5)
    usual, late = [], []
    device = world.sim.brokers[DEVICE]
    device.attach("program", usual.append, late.append)
    device.subscribe("program", 'kind = "a"')
    world.run(1.0)
    published(world, 3, host=0)
    world.hear(DEVICE, [])
    world.run(2.0)
    kept = published(world, 5, host=0)
    world.cut((1, 2))
    world.run(8.0)
    world.hear(DEVICE, [3])
    world.run(6.0)
    published(world, 2, host=3)
    world.restore((1, 2))
    world.run(30.0)
    assert [event[2] for event in late] == [event.sequence for event in kept] and len(usual) == 5


def test_an_old_broker_that_is_never_reached_is_given_up():
    world = begun(client_age=12.0)
    world.cut((1, 2))
    world.run(6.0)
    world.hear(DEVICE, [3])
    world.run(40.0)
    assert one(world, "handoff", holder=0)["outcome"] == "abandoned"
    assert world.sim.brokers[DEVICE]._holders == [world.sim.brokers[DEVICE]._at.holding]
    assert one(world, "session_closed", reason="expired")
    asked = one(world, "handoff", holder=0)["asked"]
    assert asked <= 6  # ever more seldom


def test_it_moves_on_in_the_midst_of_a_handoff():
    """From 0 to 3 while the network is parted, and on to 2 and back: what 0 and 3 hold comes all the same."""
    world = begun()
    world.hear(DEVICE, [])
    world.run(2.0)
    at_0 = published(world, 10, host=0)
    world.cut((1, 2))
    world.run(8.0)
    world.hear(DEVICE, [3])
    world.run(3.5)
    world.hear(DEVICE, [])
    at_3 = published(world, 30, host=3)
    world.restore((1, 2))
    world.hear(DEVICE, [2])
    world.run(25.0)
    assert set(world.got(DEVICE)) == {*at_0, *at_3} and len(world.got(DEVICE)) == 40
    assert world.sim.brokers[DEVICE]._holders == [world.sim.brokers[DEVICE]._at.holding]


def test_publications_wait_for_a_broker_and_go_out_once():
    world = begun()
    world.subscribe(3, 'kind = "mine"')
    world.run(2.0)
    device = world.sim.brokers[DEVICE]
    mine = [world.publish(DEVICE, kind="mine")]
    world.run(1.0)
    world.hear(DEVICE, [])
    for _ in range(20):
        mine.append(world.publish(DEVICE, kind="mine"))
        world.run(0.2)
    assert device.unsent == 20 and world.got(3) == mine[:1]
    world.hear(DEVICE, [2])
    world.run(5.0)
    assert world.got(3) == mine and device.unsent == 0


def test_a_publication_that_was_not_acknowledged_is_one_event_by_two_brokers():
    """The broker had it, the device does not know, and sends it by the next one."""
    world = begun()
    for host in (0, 3):
        world.subscribe(host, 'kind = "mine"')
    world.run(2.0)
    mine = world.publish(DEVICE, kind="mine")
    world.run(0.03)  # the frame takes 20 ms
    world.hear(DEVICE, [])
    world.run(4.0)
    assert world.got(0) == [mine] and world.sim.brokers[DEVICE].unsent == 1
    world.hear(DEVICE, [2])
    world.run(5.0)
    assert world.got(0) == [mine] and world.got(3) == [mine] and world.sim.brokers[DEVICE].unsent == 0


@pytest.mark.parametrize("recovery", ["push", "subscriber_pull", "publisher_pull", "combined"])
def test_with_a_recovery_nothing_of_a_device_seems_lost(recovery):
    """Its events carry no numbers: each broker would count them with its own, and the next one anew."""
    world = begun(hears=(2,), recovery=recovery)
    world.subscribe(3, 'kind = "mine"')
    world.run(2.0)
    others = [world.publish(0, kind="mine") for _ in range(20)]
    mine = []
    for place in (2, 0, 1):
        world.hear(DEVICE, [place])
        world.run(5.0)
        for _ in range(5):
            mine.append(world.publish(DEVICE, kind="mine"))
            published(world, 1)
    world.run(1.0)
    assert world.got(3) == others + mine and len(world.got(DEVICE)) == 15
    if recovery != "push":
        assert not len(world.sim.brokers[3].recovery.lost)


def test_buffers_are_bounded_in_bytes_oldest_first():
    world = begun(client_buffer=4096)
    world.hear(DEVICE, [])
    first = published(world, 1)
    world.run(8.0)  # what is on the air is not dropped, and nothing is any more
    events = first + [world.sim.brokers[3].publish(APP, {"kind": "a"}, bytes(500)) for _ in range(20)]
    world.run(2.0)
    world.hear(DEVICE, [0])
    world.run(4.0)
    dropped = [fields["event"] for _, _, _, fields in world.kinds("buffer_dropped")]
    assert {fields["reason"] for _, _, _, fields in world.kinds("buffer_dropped")} == {"bytes"}
    assert dropped == list(map(str, events[:len(dropped)])) and world.got(DEVICE) == events[len(dropped):]
    assert 5 <= len(world.got(DEVICE)) <= 8  # of about 530 bytes each


def test_buffers_are_bounded_in_age():
    world = begun(client_age=14.0)
    world.hear(DEVICE, [])
    world.run(3.0)
    old = published(world, 3)
    world.run(6.0)
    new = published(world, 3)
    world.run(0.5)
    assert not world.kinds("buffer_dropped")
    world.run(6.0)
    world.hear(DEVICE, [0])
    world.run(3.0)
    assert [(fields["event"], fields["reason"]) for _, _, _, fields in world.kinds("buffer_dropped")] == [
        (str(event), "age") for event in old]
    assert world.got(DEVICE) == new


def test_a_device_that_stays_away_is_forgotten():
    world = begun(client_age=10.0)
    world.hear(DEVICE, [])
    events = published(world, 3)
    world.run(20.0)
    assert one(world, "session_closed")["reason"] == "expired"
    assert {fields["event"] for _, _, _, fields in world.kinds("buffer_dropped")} == set(map(str, events))
    assert not world.sim.brokers[0].sessions.of and not world.sim.brokers[3].routing.table.filters_of("@4")


def test_a_device_that_stops_in_order_is_forgotten_at_once():
    world = begun()
    world.sim.stop(DEVICE)
    world.run(1.0)
    assert one(world, "session_closed")["reason"] == "left"
    assert all(len(world.sim.brokers[host].routing.table) == 0 for host in world.brokers)


@pytest.mark.parametrize("place", [0, 3])
def test_a_device_that_starts_again_is_a_new_client_with_the_old_name(place):
    """At the same broker or at another one: what waited for its earlier life is dropped, and nothing comes twice."""
    world = begun()
    first = published(world, 3)
    world.hear(DEVICE, [])
    waiting = published(world, 5)
    world.run(6.0)
    world.crash(DEVICE)
    world.hear(DEVICE, [place])
    world.start(DEVICE)
    world.run(6.0)
    assert broker_of(world) == place and one(world, "session_closed")["reason"] == "restarted"
    after = published(world, 5)
    world.run(1.0)
    assert world.got(DEVICE) == [*first, *after]
    dropped = {fields["event"] for _, _, _, fields in world.kinds("buffer_dropped")}
    assert set(map(str, waiting)) <= dropped <= set(map(str, first + waiting))  # the last may not be acknowledged


def test_a_broker_that_stops_in_order_tells_its_devices():
    world = begun(hears=(0, 1))
    first = broker_of(world)
    world.sim.stop(first)
    world.run(1.5)
    assert one(world, "moved_out")["reason"] == "reset" and broker_of(world) == 1 - first


def test_the_stop_is_not_sent_over_a_link_that_has_not_been_told_all():
    world = begun()
    broker = world.sim.brokers[1]
    link = next(iter(broker.routing.links))
    broker.routing.holding.hold(link, [b"12345678"])
    assert link not in broker.routing.told_links() and len(broker.routing.told_links()) == 1
    broker.routing.release(link)
    assert link in broker.routing.told_links()


# ---- the choice of a broker -------------------------------------------------------------------------------
def test_it_goes_to_whom_it_hears_best_and_says_goodbye():
    world = World(4, end=300.0, delay=0.0)
    world.sim.medium._certain = False
    world.sim.medium._link_loss[0, DEVICE] = 0.6
    world.run(5.0)
    world.hear(DEVICE, [0])
    world.run(15.0)
    assert broker_of(world) == 0
    world.hear(DEVICE, [0, 2])
    world.run(15.0)
    assert broker_of(world) == 2
    assert one(world, "moved_out", reason="better")["announced"]


def test_it_does_not_flap_between_two_lossy_brokers():
    """Ten minutes between two brokers of which three beacons in ten get lost each."""
    world = World(2, end=700.0, delay=0.0)
    world.sim.medium._certain = False
    for broker in world.brokers:
        world.sim.medium._link_loss[broker, 2] = world.sim.medium._link_loss[2, broker] = 0.3
    world.run(5.0)
    world.hear(2, [0, 1])
    world.run(600.0)
    assert len(world.kinds("moved_out")) <= 6


def test_a_broker_that_does_not_answer_is_left_alone_for_a_while():
    """A one-way link: its beacons come, nothing goes back."""
    world = World(2, end=300.0)
    world.sim.medium._certain = False
    world.sim.medium._link_loss[2, 0] = 1.0
    world.run(5.0)
    world.hear(2, [0])
    world.run(60.0)
    asked = sum(row["messages"] for _, host, _, fields in world.kinds("traffic") if host == 2
                for row in fields["sent"] if row["type"] == "ATTACH")
    assert broker_of(world, 2) is None and 4 <= asked <= 4 * 6
    world.hear(2, [0, 1])
    world.run(4.0)
    assert broker_of(world, 2) == 1


# ---- whether the broker is still there --------------------------------------------------------------------
def sent_by(world: World, host: int, kind: str) -> int:
    """Messages of this kind that the host has sent."""
    world.sim.brokers[host].flush_records()
    return sum(row["messages"] for _, node, _, fields in world.kinds("traffic") if node == host
               for row in fields["sent"] if row["type"] == kind)


def test_the_broker_answers_each_alive():
    world = begun(delay=0.0)
    world.run(60.0)
    asked, answered = sent_by(world, DEVICE, "ALIVE"), sent_by(world, 0, "SERVED")
    assert asked == answered and 28 <= asked <= 34  # every 2 s since it is attached
    assert not world.kinds("moved_out")


@pytest.mark.parametrize("beacons", [1, 2, 4, 12, 60])
def test_a_broker_out_of_range_is_given_up_at_once(beacons):
    """However few beacons were heard: the fewer, the more answers are waited for. There is another to go to."""
    world = begun(hears=())
    world.hear(DEVICE, [0])
    world.run(0.5 * (2 + beacons))
    assert broker_of(world) == 0
    world.hear(DEVICE, [0, 1])
    world.run(2.0)
    world.hear(DEVICE, [1])
    gone = world.clock.time
    world.run(3.0)
    assert broker_of(world) == 1
    left = next(record for record in world.kinds("moved_out") if record[0] > gone)
    assert left[3]["reason"] == "unanswered" and left[0] - gone < 0.5 * 1.35 + 0.25 + 1.0


def test_a_broker_that_hears_nothing_any_more_is_left_though_it_is_heard():
    """A link that has become one-way: its beacons and its events come, and nothing goes back."""
    world = begun(hears=(0, 1), delay=0.0)
    at = broker_of(world)
    world.run(10.0)
    world.sim.medium._certain = False
    world.sim.medium._link_loss[DEVICE, at] = 1.0
    cut = world.clock.time
    world.run(2 * ALIVE_BEACONS * 0.5)
    assert broker_of(world) == 1 - at
    left = one(world, "moved_out", broker=at)
    assert left["reason"] == "unanswered"
    assert next(t for t, _, kind, _ in world.records if kind == "moved_out") - cut < 1.1 * ALIVE_BEACONS * 0.5 + 1.4
    world.run(60.0)
    assert broker_of(world) == 1 - at  # it does not come back to who does not hear it


def test_a_question_is_asked_so_often_at_most(monkeypatch):
    """Where nearly everything gets lost no number of lost answers is rare: it ends all the same."""
    world = begun(delay=0.0)
    monkeypatch.setattr(world.sim.brokers[DEVICE]._beacons, "odds", lambda *_: 1.0)
    before = sent_by(world, DEVICE, "ALIVE")
    world.sim.medium._certain = False
    world.sim.medium._link_loss[DEVICE, 0] = 1.0
    world.run(8.0)
    assert one(world, "moved_out")["reason"] == "unanswered"
    assert sent_by(world, DEVICE, "ALIVE") - before == MOST_TRIES


@pytest.mark.parametrize("loss", [0.1, 0.3, 0.5])
def test_lost_answers_are_no_reason_to_leave(loss):
    """Ten minutes with one broker, which is there all the time."""
    world = World(1, end=700.0, delay=0.0)
    world.sim.medium._certain = False
    world.sim.medium._link_loss[0, 1] = world.sim.medium._link_loss[1, 0] = loss
    world.run(2.0)
    world.hear(1, [0])
    world.run(600.0)
    assert len([record for record in world.kinds("moved_out") if record[3]["reason"] == "unanswered"]) <= 1


# ---- what a life takes with it is said -----------------------------------------------------------


def test_a_device_that_stops_says_what_it_published_and_no_broker_has():
    world = begun()
    world.hear(DEVICE, [])
    world.run(6.0)
    events = published(world, 3, host=DEVICE)
    world.sim.stop(DEVICE)
    dropped = [(record["event"], record["reason"]) for *_, record in world.kinds("publication_dropped")]
    assert dropped == [(str(event), "stopped") for event in events]


def test_a_broker_that_stops_says_what_it_held_for_devices():
    """For one that is out of reach, and for one that is elsewhere and has not fetched it."""
    world = begun()
    world.hear(DEVICE, [])
    away = published(world, 3)
    world.sim.stop(0)
    dropped = [(record["event"], record["reason"]) for *_, record in world.kinds("buffer_dropped")]
    assert dropped == [(str(event), "broker_stopped") for event in away]


def test_a_broker_that_stops_says_what_it_held_for_another_broker():
    world = begun()
    world.hear(DEVICE, [])
    world.run(6.0)
    events = published(world, 3)
    handoffs = world.sim.brokers[0].sessions.handoffs
    handoffs._part = lambda *arguments: None  # its answer does not come through
    world.hear(DEVICE, [2])
    world.run(4.0)
    assert DEVICE in handoffs._stopped
    world.sim.stop(0)
    assert [record["event"] for *_, record in world.kinds("buffer_dropped")] == [str(event) for event in events]


def test_a_device_that_has_sent_all_datagrams_of_its_life_falls_silent_and_says_so():
    world = begun()
    world.sim.brokers[DEVICE].station.counter = MOST_DATAGRAMS - 2
    world.run(10.0)
    assert world.sim.brokers[DEVICE].station.counter == MOST_DATAGRAMS
    assert [record for *_, record in world.kinds("refused")] == [
        {"what": "datagrams of one life", "limit": MOST_DATAGRAMS}]


def test_an_event_that_is_merged_again_stands_among_the_latest():
    env = SimpleNamespace(now=lambda: 0.0, record=lambda kind, **fields: None, random=Random(1))
    session = Session(SimpleNamespace(env=env, config=NodeConfig()), None, DEVICE, 1, b"k" * 16)
    events = [wire.Event(1, 1, sequence, 0.0, 0, {}, b"") for sequence in range(RECENT + 1)]
    for event in events[:RECENT]:
        assert session.deliver(event)
    session.merge([Held(events[0])])
    assert session.deliver(events[RECENT]) and not session.deliver(events[0]) and session.deliver(events[1])


@pytest.mark.parametrize(("back", "phases"), [
    (0.2, [Phase.FETCHING, Phase.TELLING, Phase.EARLY, Phase.SERVED]),  # the wait ends between ATTACH and MOVE_IN
    (0.5, [Phase.FETCHING, Phase.TELLING, Phase.FETCHING, Phase.SERVED])])
def test_a_device_that_comes_back_while_its_former_broker_is_asked(back, phases, monkeypatch):
    """It is served once, whatever of its two attachments the end of the wait falls into."""
    world, seen = begun(), []
    enter = Session.enter

    def noting(self, phase):
        enter(self, phase)
        seen.append((world.clock.time, phase))

    monkeypatch.setattr(Session, "enter", noting)
    world.crash(0)
    world.hear(DEVICE, [3])
    while not seen or seen[-1][1] is not Phase.FETCHING:
        world.run(0.01)
    began = seen[-1][0]
    world.run(1.0)
    world.sim.brokers[DEVICE].move_out()
    world.run(began + NodeConfig().handoff_wait - back - world.clock.time)
    world.sim.brokers[DEVICE].move_in()
    world.run(4.0)
    assert [phase for time, phase in seen if time >= began] == phases
    events = published(world, 3)
    world.run(1.0)
    assert [name for _, name in world.delivered[DEVICE]] == events


def test_a_device_that_leaves_is_not_attached_again_by_an_answer_that_was_late():
    world = begun()
    device = world.sim.brokers[DEVICE]
    at = device._at
    device.move_out()
    device._hop[wire.Attached](at.broker, wire.Attached(at.nonce, at.holding.session, "", ()))
    assert device.broker is None and len(world.kinds("moved_in")) == 1
    world.run(2.0)
    assert device.broker is None and device._at is None
