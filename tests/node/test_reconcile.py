"""The reconciliation protocols step by step and by the clock, on the papers' own examples."""
from __future__ import annotations

import random

import pytest

from node import wire
from node.broker import RECONCILERS
from node.filters import parse
from node.reconcile.informed import Informed
from node.reconcile.notified import Notified
from node.reconcile.path import ReconfigurationPath
from node.reconcile.pending import MAX_PENDING
from node.reconcile.strawman import Strawman
from node.reconcile.timed import Timed
from tests.node.timed_world import LINK, T_REP, TimedWorld

GRAY, BLACK = parse('kind = "gray"'), parse('kind = "black"')
T_U = T_S = 0.15

# Figure 6: A - B is replaced by C - D. Head A E F C, tail D G B.
A, B, C, D, E, F, G, S, X = range(9)
FIGURE_6 = [(A, E), (E, F), (F, C), (A, B), (B, G), (G, D), (A, X), (G, S)]


def figure_6(reconciler, **config):
    """E and D subscribe to gray, S (beside G) to black; nobody else to anything."""
    world = TimedWorld(9, FIGURE_6, reconciler, **config)
    world.subscribe(E, GRAY)
    world.subscribe(D, GRAY)
    world.subscribe(S, BLACK)
    world.settle()
    world.clear()
    return world


def processed(world):
    return {node: (fields["cause"], round(world.stamps[node], 6))
            for node, fields in world.records("unsubscriptions_processed")}


def watch(world):
    """Note when unsubscriptions are processed."""
    world.stamps = {}
    for core in world.cores:
        original = core.env.record

        def record(kind, core=core, original=original, **fields):
            if kind == "unsubscriptions_processed":
                world.stamps[core.me.node] = world.time - world.start
            original(kind, **fields)
        core.env.record = record
    world.start = world.time


# ---- all of them
@pytest.mark.parametrize("reconciler", RECONCILERS.values())
@pytest.mark.parametrize("flush", ["broadcast", "piggyback", "path"])
def test_figure_6_ends_with_the_right_tables(reconciler, flush):
    world = figure_6(reconciler, flush=flush)
    world.exchange((A, B), C, D)
    world.settle()
    world.check()
    assert world.tables()[A] == {E: [str(BLACK), str(GRAY)], X: []}


@pytest.mark.parametrize("reconciler", [Timed, Notified, Informed, ReconfigurationPath])
def test_each_saves_what_strawman_sends(reconciler):
    """Figures 14 and 27 in small: a random tree of 60, identity; the same exchanges for all."""
    cost, involved = {}, {}
    for protocol in (Strawman, reconciler):
        world, random_ = TimedWorld(60, [], protocol), random.Random(5)
        for node in range(1, 60):
            world.join(node, max(0, node - random_.randint(1, 4)))
        filters = [parse(f"c{number} exists") for number in range(60)]
        for node in range(60):
            if random_.random() < 0.3:
                world.subscribe(node, *random_.sample(filters, 5))
        world.settle()
        world.clear()
        cost[protocol] = involved[protocol] = 0
        for _ in range(15):
            lost = random_.choice(list(world.script.links))
            link = world.cut(*lost[:2])
            (a, near), (b, far) = random_.choice(list(world.script.choices(link, 5)))
            world.at(world.time + T_REP, lambda link=link, n=(a, near), f=(b, far): world.replace(link, n, f))
            world.settle()
            world.check()
            involved[protocol] += len(world.involved)
            cost[protocol] += world.messages["SUB"] + world.messages["UNSUB"]
            world.clear()
    saved = 1 - cost[reconciler] / cost[Strawman]
    assert saved > (0.1 if reconciler in (Timed, Notified) else 0.35), f"{saved:.0%}"
    assert involved[reconciler] < involved[Strawman]


# ---- timed
def test_timed_defers_for_t_u_and_a_lost_link_is_used_no_more():
    world = figure_6(Timed)
    watch(world)
    world.exchange((A, B), C, D)
    assert not world.messages  # [1]
    world.run(world.start + T_U - 0.001)
    assert not world.messages["UNSUB"] and world.messages["SUB"]
    world.settle()
    assert processed(world) == {A: ("timer", T_U), B: ("timer", T_U)}
    assert world.records("unsubscriptions_deferred")[0][1]["filters"] == 2
    world.check()


def test_a_leaf_has_nothing_to_defer():
    world = figure_6(Timed)
    world.exchange((S, G), S, X)
    world.settle()
    assert [node for node, _ in world.records("unsubscriptions_deferred")] == [G]
    assert world.messages["UNSUB"] > 0
    world.check()


def test_a_shared_end_does_not_tell_what_only_the_lost_link_wanted():
    world = TimedWorld(4, [(0, 1), (1, 2), (2, 3)], Timed)
    world.subscribe(3, GRAY)
    world.settle()
    world.clear()
    world.exchange((1, 2), 1, 3)
    world.run(world.time + T_U - 0.01)
    assert world.messages == {"SUB": 1}  # 3 to 1, and not 1 back to 3
    world.settle()
    world.check()


def test_the_same_neighbor_back_within_t_u_keeps_what_it_told_then():
    world = TimedWorld(3, [(0, 1), (1, 2)], Timed)
    world.subscribe(2, GRAY)
    world.settle()
    world.cut(1, 2)
    world.run(world.time + T_U / 2)
    world.join(1, 2)
    world.clear()
    world.settle()
    assert not world.messages["UNSUB"]  # 0 never noticed
    world.check()


def test_more_lost_links_than_wait_are_processed_early():
    world = TimedWorld(MAX_PENDING + 3, [(0, node) for node in range(1, MAX_PENDING + 3)], Timed)
    for node in range(1, MAX_PENDING + 3):
        world.subscribe(node, parse(f"x = {node}"))
    world.settle()
    for node in range(1, MAX_PENDING + 2):
        world.cut(0, node)
    assert len(world.cores[0].reconciler.pending) == MAX_PENDING
    assert len(world.records("unsubscriptions_processed")) == 1
    world.settle()
    assert not world.cores[0].reconciler.pending


# ---- notified
def deaf(protocol):
    """Its FLUSHes get nowhere, so that T_u alone withdraws: no table shows it."""
    def made(around):
        one = protocol(around)
        one.link_messages[wire.Flush] = lambda link, message: None
        return one
    return made


def flush_is_in_time(reconciler):
    world = figure_6(reconciler)
    watch(world)
    world.exchange((A, B), C, D)
    world.settle()
    world.check()
    return processed(world) == {A: ("flush", round(T_REP + 4 * LINK, 6)),
                                B: ("flush", round(T_REP + 3 * LINK, 6))}


def test_flush_processes_the_pending_when_the_subscriptions_have_come():
    assert flush_is_in_time(Notified)
    assert not flush_is_in_time(deaf(Notified))


def test_flush_goes_to_every_broker_once():
    world = figure_6(Notified)
    world.exchange((A, B), C, D)
    world.settle()
    assert world.messages["FLUSH"] == 8 + 1  # one a link, two over the new one


def test_flush_along_the_path_only():
    world = figure_6(Notified, flush="path")
    watch(world)
    world.exchange((A, B), C, D)
    world.settle()
    assert world.messages["FLUSH"] == 4 + 3  # to A and to B
    assert {cause for cause, _ in processed(world).values()} == {"flush"}


def test_flush_on_the_back_of_subscriptions():
    world = figure_6(Notified, flush="piggyback")
    watch(world)
    world.exchange((A, B), C, D)
    world.settle()
    assert {cause for cause, _ in processed(world).values()} == {"flush"}
    assert world.messages["SUB_FLUSH"] > 0
    assert world.messages["FLUSH"] < 9


def test_a_flush_that_comes_before_the_loss_is_noticed_counts():
    world = figure_6(Notified)
    rid = world.links[frozenset((A, B))]
    world.cores[A].receive(world.links[frozenset((A, E))], wire.Flush(rid, ()))
    world.cut(A, B)
    assert [(node, fields["cause"]) for node, fields in world.records("unsubscriptions_processed")] == [
        (A, "flush")]


def test_abandoned_there_is_nothing_to_wait_for():
    world = figure_6(Notified)
    rid = world.cut(A, B)
    world.script.abandon(rid, [A])
    world.run(world.time)
    assert [(node, fields["cause"]) for node, fields in world.records("unsubscriptions_processed")] == [
        (A, "abandoned")]


# ---- informed
def figure_5(**config):
    """The gray subscriber S sits beside A; B - D and C - A are the rest; A - B is replaced by C - D."""
    a, b, c, d, s = range(5)
    world = TimedWorld(5, [(a, b), (b, d), (a, c), (a, s)], Informed, **config)
    world.subscribe(s, GRAY)
    world.settle()
    world.clear()
    return world, a, b, c, d


def test_figure_10a_extraneous_subscriptions_are_not_sent():
    world, a, b, c, d = figure_5()
    world.exchange((a, b), c, d)
    world.run(world.time + T_REP + 0.002)
    link = world.links[frozenset((c, d))]
    assert GRAY.hash not in world.cores[d].routing.links[link].filters  # D holds gray only because of B
    assert [fields["held"] for node, fields in world.records("link_activated") if node == d] == [1]
    world.settle()
    assert world.messages["INFORMED_ACTIVATE"] == 2
    # gray goes C to D to B, and its old entries B to D
    assert (world.messages["SUB"], world.messages["UNSUB"]) == (2, 1)
    world.check()


def test_figure_10b_a_tagged_subscription_that_is_real_is_told_when_t_s_expires():
    world, a, b, c, d = figure_5()
    world.exchange((a, b), c, d)
    world.at(world.time + T_REP + 0.0005, lambda: world.subscribe(d, BLACK))
    world.at(world.time + T_REP + 0.0005, lambda: world.subscribe(b, GRAY))  # too late for B's ACTIVATE
    world.run(world.time + T_REP + T_S)
    link = world.links[frozenset((c, d))]
    told = world.cores[d].routing.links[link].filters
    assert BLACK.hash in told and GRAY.hash not in told
    world.settle()
    assert GRAY.hash in told
    world.check()


def test_local_filters_are_told_whatever_the_old_end_says():
    world, a, b, c, d = figure_5()
    world.exchange((a, b), c, d)
    world.run(world.time + T_REP + 0.0005)
    world.subscribe(d, GRAY)  # before ACTIVATE arrives
    world.run(world.time + 0.001)
    link = world.links[frozenset((c, d))]
    assert GRAY.hash in world.cores[d].routing.links[link].filters
    world.settle()
    world.check()


def test_filters_of_local_clients_wait_for_nothing():
    """Neither for ACTIVATE, which gets lost here, nor, where others' entries are held back, for T_s."""
    world, a, b, c, d = figure_5()
    world.subscribe(d, BLACK)
    world.settle()
    world.relay = lambda route, message: None
    world.exchange((a, b), c, d)
    world.run(world.time + T_REP + 0.0001)
    told = world.cores[d].routing.links[world.links[frozenset((c, d))]].filters
    assert set(told) == {BLACK.hash}, "and none of others"
    world.subscribe(d, GRAY)
    assert GRAY.hash in told
    world.settle()
    world.check()
    world, a, b, c, d = figure_5()
    world.exchange((a, b), c, d)
    world.run(world.time + T_REP + 0.01)
    told = world.cores[d].routing.links[world.links[frozenset((c, d))]].filters
    assert GRAY.hash not in told, "the gray of B waits for T_s"
    world.subscribe(d, GRAY)
    assert GRAY.hash in told
    world.settle()
    world.check()


def test_ends_that_hear_no_activate_go_on_and_record_it():
    world, a, b, c, d = figure_5()
    world.relay = lambda route, message: None
    world.exchange((a, b), c, d)
    world.settle()
    assert {(node, fields["cause"], fields["held"]) for node, fields in world.records("link_activated")} == {
        (c, "timeout", 0), (d, "timeout", 0)}
    world.check()


def test_without_a_path_there_is_no_activate_to_wait_for():
    world, a, b, c, d = figure_5()
    world.exchange((a, b), c, d, name_path=False)
    world.run(world.time + T_REP + 0.01)
    assert {(node, fields["cause"]) for node, fields in world.records("link_activated")} == {
        (c, "no_path"), (d, "no_path")}
    world.settle()
    world.check()


def test_an_activate_of_many_filters_comes_in_parts_in_any_order():
    world = TimedWorld(4, [(0, 1), (1, 2), (0, 3)], Informed)
    world.subscribe(3, *[parse(f"x = {number}") for number in range(300)])
    world.settle()
    words = []
    world.relay = lambda route, message: words.append((route, message))
    world.exchange((1, 0), 2, 3)
    world.run(world.time + T_REP + 0.01)
    words = [(route, message) for route, message in words if route[0] == 1]
    assert len(words) == 3 and all(
        len(wire.encode_message(wire.Routed(route, message))) < 1150 for route, message in words)
    for route, message in reversed(words):
        world.cores[2].reconciler.routed_messages[type(message)](route, message)
    assert [fields["held"] for node, fields in world.records("link_activated") if node == 2] == [300]
    world.settle()
    world.check()


def test_activates_of_strangers_are_dropped_and_bounded():
    world, a, b, c, d = figure_5()
    core = world.cores[c]
    handler = core.reconciler.routed_messages[wire.InformedActivate]
    handler((7, c), wire.InformedActivate((1, 2, 3), 0, 1, ()))
    assert core.drops == ["bad_path"]
    for nonce in range(200):
        handler((1, c), wire.InformedActivate((1, 2, nonce), 0, 2, ()))
    assert len(core.reconciler.new_end.words) <= 64


@pytest.mark.parametrize(("subscription_timer", "extraneous"), [(0.02, 3), (0.15, 0)])
def test_constraint_1_with_a_t_s_too_short_what_is_extraneous_is_told(subscription_timer, extraneous):
    """T_u + t_prop < T_s + t_rep: figure 20's step."""
    a, b, c, d, s = range(5)
    world = TimedWorld(5, [(a, b), (b, d), (a, c), (a, s)], deaf(Informed), subscription_timer=subscription_timer)
    world.subscribe(s, GRAY)
    world.settle()
    world.clear()
    world.exchange((a, b), c, d)
    world.settle()
    assert world.messages["SUB"] == 2 + extraneous  # D to C, C to A, A to S
    world.check()
