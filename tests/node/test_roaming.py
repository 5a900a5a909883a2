"""Devices that move, vanish and come back against jaeger-self-managing-thesis, definition 5, in the simulator.

A history is drawn: which brokers the device hears and when, moves that it announces, filters that it takes back,
brokers that crash and return, links between brokers that break. After it the network is whole, quiet for a while,
and then everything is judged:

    safety      nothing is delivered twice, nothing that was not published, nothing that is not wanted
    custody     what a broker took into a device's session came to the device, or its memory died with a broker
    liveness    what is published once all is quiet comes to everyone
    no loss     where the brokers' tree stays as it is: every event published under a lasting
                subscription comes, each publisher's in order, from the device and to it
"""
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from node.filters import parse
from node.roaming import handoff, sessions
from node.roaming.buffer import Buffer
from node.roaming.session import Phase as Turn
from node.routing.duplicates import SeenEvents
from tests.node.roaming_world import World, in_memory

BROKERS, DEVICE = 4, 4
WANTED = 'kind = "a"', 'kind = "b"'
QUIET = 40.0  # s: four STOPs after the last cut, at least
COUNTED = 1.5  # s after a subscription until it must be known everywhere

brokers = st.integers(0, BROKERS - 1)
moves = st.one_of(
    st.tuples(st.just("hear"), st.sets(brokers, max_size=2)),
    st.tuples(st.just("move_out"), st.none()),
    st.tuples(st.just("move_in"), st.none()),
)
changes = st.one_of(
    moves, moves,
    st.tuples(st.just("unsubscribe"), st.none()), st.tuples(st.just("subscribe"), st.none()),
    st.tuples(st.just("crash"), brokers), st.tuples(st.just("start"), brokers),
    st.tuples(st.just("cut"), st.integers(0, BROKERS - 2)), st.tuples(st.just("restore"), st.integers(0, BROKERS - 2)),
)
pauses = st.floats(0.1, 4.0)
walks = st.lists(st.tuples(pauses, moves), min_size=2, max_size=10)
histories = st.lists(st.tuples(pauses, changes), min_size=2, max_size=14)


def play(history, seed: int = 1, **config) -> World:
    """The history, then all whole again and QUIET, then one more event of each kind everywhere."""
    world = World(BROKERS, seed=seed, end=400.0, **config)
    for host in (0, BROKERS - 1):
        world.subscribe(host, 'kind = "mine"')
    for wanted in WANTED:
        world.subscribe(DEVICE, wanted)
    world.run(4.0)
    world.hear(DEVICE, [0])
    world.run(3.0)
    until = world.clock.time + sum(pause for pause, _ in history)
    for place, host in enumerate((0, BROKERS - 1)):
        world.every(0.11, lambda host=host, kind="ab"[place]: world.publish(host, kind=kind), until)
    world.every(0.23, lambda: world.publish(DEVICE, kind="mine"), until)
    for pause, change in history:
        world.run(pause)
        act(world, *change)
    world.calm = world.clock.time
    for broker in world.brokers:
        world.start(broker)
    for link in world.links:
        world.restore(link)
    world.sim.brokers[DEVICE].move_in()
    world.hear(DEVICE, [1])
    world.run(QUIET)
    world.last = [world.publish(0, kind="a"), world.publish(BROKERS - 1, kind="b"), world.publish(DEVICE, kind="mine")]
    world.run(5.0)
    return world


def act(world: World, what: str, value) -> None:
    device = world.sim.brokers[DEVICE]
    if what == "hear":
        world.hear(DEVICE, value)
    elif what in ("move_out", "move_in"):
        getattr(device, what)()
    elif what in ("subscribe", "unsubscribe"):
        getattr(world, what)(DEVICE, WANTED[1])
    elif what in ("crash", "start"):
        getattr(world, what)(value)
    else:
        getattr(world, what)((value, value + 1))


def wrongs(world: World, whole_tree: bool) -> list[str]:
    """Everything that a correct system would not have done."""
    return [*safety(world), *custody(world), *liveness(world), *(no_loss(world) if whole_tree else ())]


def safety(world: World):
    for host in (*world.brokers, DEVICE):
        got = world.got(host)
        lives = 1 if host == DEVICE else max(1, sum(r[3]["host"] == host for r in world.kinds("host_up")))
        for event in set(got):
            if got.count(event) > lives:  # a broker that crashed has forgotten what its own client had
                yield f"{event} came {got.count(event)} times to {host}"
        for t, event in world.delivered[host]:
            if event not in world.published or world.published[event][0] > t:
                yield f"{event} came to {host}, unpublished"
            elif not any(since <= t <= until and parse(text).matches(world.published[event][2])
                         for since, until, text in world.held[host]):
                yield f"{event} came to {host}, unwanted"


def custody(world: World):
    got = set(world.got(DEVICE))
    dropped = {fields["event"] for _, _, _, fields in world.kinds("buffer_dropped")}
    for _, broker, device, event in world.taken:
        lost = event not in got and str(event) not in dropped and (device, event) not in world.crashed_with
        if lost and event.source != DEVICE and wanted_throughout(world, event, world.published[event][0]):
            yield f"{event}, which broker {broker} had taken, did not come"
    for broker in world.brokers:
        for device, event in in_memory(world.sim.brokers[broker]):
            if event not in got:
                yield f"{event} for {device} is held by {broker} at the end"


def wanted_throughout(world: World, event, since: float) -> bool:
    return any(begin <= since and until == float("inf") and parse(text).matches(world.published[event][2])
               for begin, until, text in world.held[DEVICE])


def liveness(world: World):
    for event, hosts in zip(world.last, ([DEVICE], [DEVICE], [0, BROKERS - 1]), strict=True):
        for host in hosts:
            if event not in world.got(host) and (host != DEVICE or wanted_throughout(world, event, world.calm)):
                yield f"{event}, published when all was quiet, did not come to {host}"


def no_loss(world: World):
    for source in (0, BROKERS - 1):
        events = [event for event, (t, host, _) in world.published.items() if host == source
                  and wanted_throughout(world, event, t - COUNTED)]
        got = [event for event in world.got(DEVICE) if event.source == source]
        if missing := set(events) - set(got):
            yield f"{len(missing)} of {source} did not come: {sorted(missing)[:3]}"
        if got != sorted(got):
            yield f"events of {source} came out of order"
    mine = [event for event, (_, host, _) in world.published.items() if host == DEVICE]
    for host in (0, BROKERS - 1):
        if world.got(host) != mine:
            yield f"what the device published came as {len(world.got(host))} of {len(mine)} to {host}, or not in order"


# A history takes a third of a second; to shrink one that fails takes minutes, and it is short as it is.
SETTINGS = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck),
                    phases=(Phase.explicit, Phase.reuse, Phase.generate))


@given(walks, st.integers(0, 3))
@SETTINGS
def test_a_walking_device_loses_nothing(history, seed):
    assert wrongs(play(history, seed), whole_tree=True) == []


@given(histories, st.integers(0, 3))
@SETTINGS
def test_crashes_and_partitions_lose_only_what_died_with_a_broker(history, seed):
    assert wrongs(play(history, seed), whole_tree=False) == []


# ---- the tests bite: each of these mistakes is found -----------------------------------------------------------
def stop_before_the_subscriptions(monkeypatch):
    """The STOP does not travel behind the subscriptions that it fences."""
    opened = sessions.Sessions._open

    def early(self, session, message):
        opened(self, session, message)
        self.handoffs.begin(session)

    def move_in(self, link, message):
        session = self.links[link]
        session.enter(Turn.SERVED if session.is_served else Turn.FETCHING)

    monkeypatch.setattr(sessions.Sessions, "_open", early)
    monkeypatch.setattr(sessions.Sessions, "_move_in", move_in)


def forgets_what_it_has_handed(monkeypatch):
    """A former broker forgets its events with the first part, before the new one says that it has them."""
    part = handoff.Handoffs._part

    def once(self, stopped, *rest):
        part(self, stopped, *rest)
        stopped.events = []

    monkeypatch.setattr(handoff, "PART_EVENTS", 2)
    monkeypatch.setattr(handoff.Handoffs, "_part", once)


def remembers_no_event(monkeypatch):
    """The device does not know what it has had."""
    monkeypatch.setattr(SeenEvents, "first_time", lambda *_: True)
    monkeypatch.setattr(Buffer, "put_before", lambda self, earlier, now: [self.add(event, now) for event in earlier] and 0)


def appends_what_it_fetched(monkeypatch):
    """The new broker hands out what it fetched behind what the new routes brought."""

    def put_behind(self, earlier, now):
        for event in earlier:
            self.add(event, now)
        return 0

    monkeypatch.setattr(Buffer, "put_before", put_behind)


MUTANTS = (stop_before_the_subscriptions, forgets_what_it_has_handed, remembers_no_event, appends_what_it_fetched)
TO_AND_FRO = [("move_out", None), ("hear", {1, 2}), ("move_in", None), ("move_out", None), ("move_in", None),
              ("hear", {3}), ("hear", {0})]


@pytest.mark.parametrize("mutate", MUTANTS)
def test_a_mistake_is_found(mutate, monkeypatch):
    """By one of a dozen walks that differ in their pauses; none of them finds anything without the mistake."""
    def found(k: int) -> bool:
        return bool(wrongs(play([(1.0 + 0.137 * k, move) for move in TO_AND_FRO]), whole_tree=True))

    assert not found(5)
    mutate(monkeypatch)
    assert any(map(found, range(12)))


@pytest.mark.slow
@given(walks, st.integers(0, 100))
@settings(SETTINGS, max_examples=250)
def test_many_walks(history, seed):
    assert wrongs(play(history, seed), whole_tree=True) == []


@pytest.mark.slow
@given(histories, st.integers(0, 100))
@settings(SETTINGS, max_examples=250)
def test_many_histories(history, seed):
    assert wrongs(play(history, seed), whole_tree=False) == []
