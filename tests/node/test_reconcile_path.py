"""Reconfiguration path: figure 6 by the message, the race of section IV-C.2, refusals, paths that break."""
from __future__ import annotations

import pytest

from node import wire
from node.filters import parse
from node.ids import LinkId
from node.reconcile import crossing
from node.reconcile.path import MAX_ADD, ReconfigurationPath
from node.reconcile.reservation import Course
from node.reconcile.words import WORDS
from tests.node import histories
from tests.node.test_mutations import MUTANTS
from tests.node.test_reconcile import BLACK, GRAY, A, B, C, D, E, F, G, S, X, figure_6
from tests.node.timed_world import LINK, T_REP, TimedWorld

HEAD, TAIL = (A, E, F, C), (D, G, B)


def test_crossing():
    new = LinkId(1, 2, 5)
    assert crossing((0, 1, 2, 3), new) == 1 and crossing((3, 2, 1), new) == 1
    assert crossing((0, 2, 3, 1), new) is None and crossing((), new) is None


def test_figure_6_moves_the_entries_of_the_lost_link_onto_the_path():
    world = figure_6(ReconfigurationPath)
    world.exchange((A, B), C, D)
    world.settle()
    world.check()
    assert world.messages["REC"] == 6 and world.messages["REC_ACK"] == 4  # 3 on the head, 1 over the new link
    assert world.messages["RESERVE"] == world.messages["RESERVED"] == 6
    # nobody beside the path has a hand in it
    assert world.involved == {*HEAD, *TAIL}
    assert world.messages["SUB"] == 1  # C tells D gray, which D wants itself
    assert world.messages["UNSUB"] == 2  # B withdraws what A had wanted, as far as D
    assert [fields["path"] for _, fields in world.records("path_reserved")] == [[*HEAD, *TAIL]]
    assert [node for node, _ in world.records("path_done")] == [D]


def test_it_takes_a_walk_there_and_back_and_no_timer():
    world = figure_6(ReconfigurationPath)
    start = world.time
    world.exchange((A, B), C, D)
    done = []
    record = world.cores[D].env.record
    world.cores[D].env.record = lambda kind, **fields: (
        kind == "path_done" and done.append(world.time - start), record(kind, **fields))
    world.settle()
    assert done == [pytest.approx(T_REP + (6 + 6 + 6 + 2) * LINK)]  # RESERVE, RESERVED, REC, FLUSH to D


def test_subscriptions_of_the_far_side_meanwhile_are_told_in_step_8():
    world = figure_6(ReconfigurationPath)
    world.exchange((A, B), C, D)
    world.run(world.time + T_REP / 2)
    world.subscribe(S, parse("x = 1"))
    world.cores[D].clients.unsubscribe("c", GRAY)
    world.subscribe(X, parse("x = 2"))
    world.settle()
    world.check()
    assert [node for node, _ in world.records("path_done")] == [D]


@pytest.mark.parametrize("moment", range(24))
@pytest.mark.parametrize("node", [E, F, D, G])
def test_whoever_subscribes_or_unsubscribes_at_any_moment_of_the_walk(node, moment):
    world = figure_6(ReconfigurationPath)
    world.subscribe(F, BLACK)
    world.settle()
    world.exchange((A, B), C, D)
    world.run(world.time + T_REP + moment * LINK + LINK / 2)
    for wanted in (GRAY, BLACK):
        clients = world.cores[node].clients
        (clients.unsubscribe if wanted.hash in clients._filters["c"] else clients.subscribe)("c", wanted)
    world.settle()
    world.check()


RACE = """\
subscribe 3 one 0
subscribe 1 one 0
step 0
step 0
step 0
step 0
step 0
cut 0-3.00000003
replace 0-3.00000003 0 3 2 3 named
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
step 0
unsubscribe 1 one 0"""


@pytest.mark.parametrize("protocol", [ReconfigurationPath, MUTANTS["PathThatLosesTheIgnoreTable"]])
def test_an_unsub_that_crosses_rec_is_ignored(protocol):
    """Section IV-C.2: 1 unsubscribes while REC is on its way from 0. Without the table, 0 loses its route."""
    one = histories.History(4, [(0, 1), (1, 2), (0, 3)], protocol)
    one.replay(RACE)
    assert any(type(message) is wire.Rec for queue in one.world.queues.values() for message in queue)
    one.settle()
    if protocol is ReconfigurationPath:
        one.check_tables()
    else:
        with pytest.raises(AssertionError, match="0 holds"):
            one.check_tables()


# ---- reservations
def test_of_two_paths_that_share_a_broker_one_is_done_by_informed():
    world = figure_6(ReconfigurationPath)
    world.exchange((A, B), C, D)
    world.exchange((S, G), S, D)  # at the same time; both paths have D and G
    world.settle()
    world.check()
    refused = world.records("path_refused")
    assert len(refused) == 1 and refused[0][1]["reason"] in ("busy", "gone")
    assert len(world.records("path_done")) == 1
    assert {fields["cause"] for _, fields in world.records("link_activated")} <= {"informed", "refused"}


def test_a_refused_path_is_done_by_informed_and_both_old_ends_know():
    world = figure_6(ReconfigurationPath)
    other = Course(LinkId(D, S, 77), LinkId(G, S, 78), (S, G, D), 1, 0, world.links[frozenset((S, G))])
    world.run(world.time + T_REP)
    world.cores[G].reconciler.reservation.take_part(other)
    world.exchange((A, B), C, D)
    world.run(world.time + T_REP + 0.1)
    assert [fields["reason"] for _, fields in world.records("path_refused")] == ["busy"]
    assert {(node, fields["cause"]) for node, fields in world.records("link_activated")} == {
        (C, "informed"), (D, "informed")}
    assert {fields["cause"] for _, fields in world.records("unsubscriptions_processed")} == {"flush"}
    world.settle()
    world.check()


def test_a_refusal_that_comes_before_the_trees_notice_counts():
    world = figure_6(ReconfigurationPath)
    held = []
    tell, world._notify = world._notify, lambda node, name, arguments: (
        held.append((node, name, arguments)) if arguments[-1] == "old_far" else tell(node, name, arguments))
    world.script._notify = world._notify
    world.cores[A].reconciler.reservation.take_part(
        Course(LinkId(A, X, 77), LinkId(A, E, 78), (A, E, X), 0, 0, None))
    world.exchange((A, B), C, D)
    world.run(world.time + T_REP + 0.01)
    assert [node for node, fields in world.records("link_activated")] == [C]
    (node, name, arguments), = held
    tell(node, name, arguments)
    world.run(world.time + 0.01)
    assert {(node, fields["cause"]) for node, fields in world.records("link_activated")} == {
        (C, "informed"), (D, "informed")}
    world.settle()
    world.check()


def test_more_filters_than_one_rec_carries_go_by_informed():
    world = TimedWorld(4, [(0, 1), (1, 2), (0, 3)], ReconfigurationPath)
    world.subscribe(3, *[parse(f"x = {number}") for number in range(MAX_ADD // 2)])
    world.cores[0].attach("d")
    for number in range(MAX_ADD // 2, MAX_ADD + 1):
        world.cores[0].clients.subscribe("d", parse(f"x = {number}"))
    world.settle()
    world.exchange((1, 0), 2, 3)
    world.settle()
    assert [fields["reason"] for _, fields in world.records("path_refused")] == ["large"]
    world.check()


def test_nonsense_is_refused():
    world = figure_6(ReconfigurationPath)
    core, link = world.cores[E], world.links[frozenset((A, E))]
    rid, new = (A, B, 3), (C, D, 9)
    for path in ((), (A,), (E, A), (A, F, E), (A, E, E, C, D, B), (A, E, F, C, G, B), (A, E, F, C, D, X)):
        core.take_sent()
        core.receive(link, wire.Reserve(rid, new, path))
        assert core.take_sent() == [(A, "Reserved", wire.Reserved(rid, "unknown"))]
    core.receive(link, wire.Rec(rid, (BLACK,), ()))  # never reserved: what A assumes is put right
    core.receive(link, wire.RecAck(rid))
    core.receive(link, wire.Broken(rid, True))
    core.receive(link, wire.Reserved(rid, ""))
    assert (E in world.script.neighbors[A]) and core.take_sent()[0][1] == "RecAck"


# ---- paths that break
def break_at(world, at, cut):
    """Exchange A - B for C - D, and `at` after the replacement cut another link of the path."""
    world.exchange((A, B), C, D)
    world.run(world.time + T_REP + at)
    return world.cut(*cut)


@pytest.mark.parametrize("cut", [(A, E), (E, F), (F, C), (C, D), (D, G), (G, B)])
@pytest.mark.parametrize("at", [LINK / 2 + LINK * k for k in range(20)])
def test_a_path_that_breaks_anywhere_at_any_time_leaves_no_wrong_table(cut, at):
    world = figure_6(ReconfigurationPath)
    lost = break_at(world, at, cut)
    world.settle()
    world.check()
    near, far = next(world.script.choices(lost, 9))
    world.replace(lost, near, far)
    world.settle()
    world.check()
    assert not any(core.reconciler.reservation or core.reconciler.new_end for core in world.cores)


def test_links_of_a_broken_path_exchange_snapshots_once_rec_has_begun():
    world = figure_6(ReconfigurationPath)
    break_at(world, (6 + 6 + 2.5) * LINK, (D, G))  # REC is between F and C
    world.settle()
    world.check()
    assert {node for node, fields in world.records("path_broken") if fields["begun"]} == {C}
    sent = {(core.me.node, link.far_end(core.me.node)) for core in world.cores for links, message in core.sent
            if type(message) is wire.Snapshot for link in links}
    assert sent >= {(F, C), (C, F), (C, D), (D, C)}
    assert not world.records("table_healed")  # they found nothing wrong


def test_before_rec_a_broken_path_is_done_by_informed():
    world = figure_6(ReconfigurationPath)
    break_at(world, 2.5 * LINK, (E, F))
    world.settle()
    world.check()
    assert [fields["reason"] for _, fields in world.records("path_refused")] == ["broken"]
    assert not world.messages["REC"] and not world.messages["SNAPSHOT"]


def test_a_snapshot_that_crosses_rec_takes_nothing_away_that_was_assumed():
    world = figure_6(ReconfigurationPath)
    world.exchange((A, B), C, D)
    world.run(world.time + T_REP + 12.5 * LINK)  # REC is on its way from A to E
    link = world.links[frozenset((A, E))]
    assert world.cores[A].routing.is_fenced(link)
    world.cores[E].routing.send_snapshot(link)
    world.settle()
    world.check()
    assert not world.records("table_healed")


def test_what_waits_for_links_that_never_open_is_bounded():
    """Also when parts of an ACTIVATE come while so much waits that its first part has had to make room."""
    world = figure_6(ReconfigurationPath)
    reconciler = world.cores[C].reconciler
    routed, words = reconciler.routed_messages, reconciler.new_end.words
    routed[wire.InformedActivate]((A, C), wire.InformedActivate((A, B, 1), 0, 2, ()))
    for nonce in range(2, WORDS + 12):
        rid, path = LinkId(A, C, nonce), (A, D, C)
        routed[wire.PathRefused](path, wire.PathRefused(rid))
        reconciler.replaced(rid, rid, LinkId(C, D, nonce), path, "old_far")
    routed[wire.InformedActivate]((A, C), wire.InformedActivate((A, B, 1), 1, 2, ()))
    assert len(words) == WORDS and not words.is_complete(LinkId(A, B, 1))
    routed[wire.InformedActivate]((A, C), wire.InformedActivate((A, B, 1), 0, 2, ()))
    assert len(words) == WORDS and words.is_complete(LinkId(A, B, 1))
