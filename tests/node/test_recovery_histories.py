"""Recovery in whole brokers over a radio that loses: what was lost and is still cached comes back, and nothing else does.

Random histories of losses, links that come and go, partitions and subscriptions (recovery_world). Subscriber pull alone
reaches only what another subscriber has, and publisher pull only sources of which an event has come; the others owe
everything.
"""
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from node.broker import RECOVERIES, Broker
from node.recovery.combined import Combined
from node.recovery.gossip import Gossip
from node.recovery.push import Push
from tests.node.recovery_world import SETTLED, STEPS, RecoveryWorld, live

ALGORITHMS = list(RECOVERIES)
HISTORIES = st.lists(STEPS, min_size=5, max_size=30)
QUICK = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None,
         "phases": [Phase.generate]}  # to shrink a history of whole brokers takes minutes


def judged(recovery: str, steps: list[tuple], seed: int, retransmission: bool, make=Broker, quiet=30.0) -> RecoveryWorld:
    world = RecoveryWorld(5, recovery, make=make, seed=seed, loss=0.05, retransmission=retransmission)
    live(world, steps, quiet)
    assert world.wrong() == []
    owed = world.owed()
    if recovery == "subscriber_pull":
        others = {(event[:3], node) for _, node, event in world.got}
        owed = [(name, node) for name, node in owed if any((name, other) in others for other in range(5))]
    if recovery == "publisher_pull":
        known = {(event.source, node) for _, node, event in world.got}
        owed = [(name, node) for name, node in owed if (name.source, node) in known]
    assert owed == []
    return world


@pytest.mark.parametrize("retransmission", [True, False])
@pytest.mark.parametrize("recovery", ALGORITHMS)
def test_what_was_lost_is_delivered_in_the_end_once_and_nothing_else_is(recovery, retransmission):
    @settings(max_examples=4, **QUICK)
    @given(HISTORIES, st.integers(0, 2**16))
    def run(steps, seed):
        judged(recovery, steps, seed, retransmission)

    run()


def partitioned(recovery: str, lonely: int = 0, make=Broker, **config) -> RecoveryWorld:
    """Two halves of three, apart for a minute in which all publish, and then one network again. `lonely` events are of a
    kind that only one node wants, in the other half than their source."""
    world = RecoveryWorld(6, recovery, make=make, seed=3, **config)
    world.link(0, 1, 2, 3, 4, 5)
    for node in range(6):
        world.subscribe(node, "ab"[node % 2])
    world.subscribe(5, "c")
    world.run(SETTLED)
    for node in range(6):
        for kind in "abc":
            world.publish(node, kind)
    world.run(2.0)
    world.unlink(2, 3)
    for _ in range(10):
        world.run(6.0)
        for node in range(6):
            world.publish(node, "ab"[node // 3])
    for _ in range(lonely):
        world.publish(0, "c")
    world.link(2, 3)
    world.run(40.0)
    assert world.wrong() == []
    return world


@pytest.mark.parametrize("recovery", ALGORITHMS)
def test_halves_that_were_apart_for_a_minute_exchange_what_the_other_missed(recovery):
    assert len(partitioned("none").owed()) == 60
    assert partitioned(recovery).owed() == []


@pytest.mark.parametrize("recovery", ALGORITHMS)
def test_halves_exchange_no_more_than_their_caches_reach(recovery):
    world = partitioned(recovery, cache_bytes=4000)
    assert 5 < len(world.owed()) < 55
    recovered = [record for record in world.records if record["kind"] == "event_recovered"]
    assert all(record["giver"] != record["node"] and record["rounds"] >= 1 for record in recovered)
    assert all(broker.recovery.cache.bytes <= 4000 for broker in world.brokers.values())


def test_a_source_that_forgets_withdrawn_filters_at_once_hides_a_partition_from_pull():
    """Why the design has publishers count a withdrawn filter for one cache lifetime."""
    class Forgetful(Combined):
        def withdrawn(self, wanted):
            pass

    assert partitioned("combined", lonely=5).owed() == []
    assert len(partitioned("combined", lonely=5, make=broker_with(Forgetful)).owed()) == 5


def test_large_events_come_back_too():
    world = RecoveryWorld(4, "combined", seed=2)
    world.link(0, 1, 2, 3)
    for node in range(4):
        world.subscribe(node, "a")
    world.run(SETTLED)
    world.publish(0, "a")
    world.run(2.0)
    world.unlink(1, 2)
    world.run(20.0)
    name = world.brokers[0].publish("c", {"kind": "a"}, bytes(range(256)) * 100)
    world.published[name] = world.time, "a", 0
    world.run(5.0)
    world.link(1, 2)
    world.run(30.0)
    assert world.wrong() == [] and world.owed() == []
    assert [event.payload for _, node, event in world.got if node == 3][-1] == bytes(range(256)) * 100


def test_a_client_gets_nothing_from_before_it_subscribed():
    world = RecoveryWorld(4, "push", seed=2)
    world.link(0, 1, 2, 3)
    for node in range(3):
        world.subscribe(node, "a")
    world.run(SETTLED)
    for _ in range(5):
        world.publish(0, "a")
    world.run(5.0)
    world.subscribe(3, "a")
    world.run(30.0)
    assert world.wrong() == [] and not [event for _, node, event in world.got if node == 3]


# ---- mutants: these tests bite -------------------------------------------------------------------------


def broker_with(recovery):
    """Brokers that run this recovery in place of their own."""
    def make(node, epoch, config, env, decode):
        kept = dict(RECOVERIES)
        RECOVERIES[config.recovery] = recovery
        try:
            return Broker(node, epoch, config, env, decode)
        finally:
            RECOVERIES.update(kept)
    return make


class PushThatDeliversTwice(Push):
    """An answer and a late copy over the tree are not held against each other."""

    def _not_recovered(self, event, arrival, clients):
        return clients


class PushThatTakesEveryAnswer(Push):
    def has_received(self, name):
        return self._seen.contains(*name)


class CombinedThatLosesItsLosses(Combined):
    def _notice(self, counter, number, end):
        return super()._notice(counter, number, number)  # nothing is lost by an advertisement


class CombinedThatNeverAnswers(Combined):
    def answer(self, route, event):
        pass


class CombinedThatKeepsNothing(Combined):
    def passing(self, event, arrival, clients, born=None):
        self.cache._most = 0
        return super().passing(event, arrival, clients, born)


MUTANTS = [(PushThatTakesEveryAnswer, "push"), (CombinedThatLosesItsLosses, "combined"),
           (CombinedThatNeverAnswers, "combined"), (CombinedThatKeepsNothing, "combined")]


@pytest.mark.parametrize(("mutant", "recovery"), MUTANTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_mutant_is_found(mutant, recovery):
    @settings(max_examples=12, **QUICK)
    @given(HISTORIES, st.integers(0, 2**16))
    def run(steps, seed):
        judged(recovery, steps, seed, False, broker_with(mutant))

    with pytest.raises(AssertionError):
        run()


def slow_path(mutant=None) -> RecoveryWorld:
    """The tree's copy of an event comes after it was recovered: a queue holds it up."""
    world = RecoveryWorld(3, "push", make=broker_with(mutant) if mutant else Broker, seed=1)
    world.link(0, 1, 2)
    for node in range(3):
        world.subscribe(node, "a")
    world.run(SETTLED)
    world.publish(0, "a")
    held = []
    strategy = world.brokers[1].routing
    strategy.link_messages, received = dict(strategy.link_messages), strategy._event_received
    world.brokers[1]._link = {**world.brokers[1]._link}
    for kind in list(strategy.link_messages):
        if strategy.link_messages[kind] == received:
            world.brokers[1]._link[kind] = lambda *what: held.append(what)
    world.publish(0, "a")
    world.run(10.0)
    for link, event in held:
        received(link, event)
    world.run(2.0)
    return world


def test_an_event_recovered_before_it_comes_by_the_tree_is_delivered_once_and_passed_on():
    world = slow_path()
    assert world.wrong() == [] and world.owed() == []
    assert [r for r in world.records if r["kind"] == "duplicate" and r["node"] == 1]
    assert slow_path(PushThatDeliversTwice).wrong() != []




def test_clients_that_take_what_they_did_not_want_then_are_found():
    def make(node, epoch, config, env, decode):
        broker = Broker(node, epoch, config, env, decode)
        broker.clients.wanted_at = lambda client, attributes, born: True
        return broker

    world = RecoveryWorld(3, "push", make=make, seed=1)
    world.link(0, 1, 2)
    world.subscribe(0, "a")
    world.subscribe(1, "a")
    world.run(SETTLED)
    world.publish(0, "a")
    world.run(3.0)
    world.subscribe(2, "a")
    world.run(20.0)
    assert any("not wanted" in what for what in world.wrong())


def test_the_interface_is_what_the_algorithms_have():
    from node.recovery import Recovery
    asked = {name for name in vars(Recovery) if not name.startswith("_")} | set(Recovery.__annotations__)
    for algorithm in RECOVERIES.values():
        assert issubclass(algorithm, Gossip)
        assert asked <= set(dir(algorithm)) | {"link_messages", "routed_messages"}
