"""Readings of the paper: its figures to the letter, replacing links between any two parts, and how trees are grown."""
from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.studies import overlay
from emulation.studies.overlay import Parameters
from emulation.studies.overlay.graph import Graph, kruskal, labelled, scattered
from emulation.studies.overlay.run import Run
from emulation.studies.overlay.script import Reconfiguration, Script, Subscription, write

LINE = [(0, 1), (1, 2), (2, 3)]  # A, B, C, D; D subscribes, so C, B and A know it from the right
SHARED = Reconfiguration(3.0, (1, 2), 3.1, (1, 3, 2), 0)  # B loses C and finds D
OTHERS = Reconfiguration(3.0, (1, 2), 3.1, (1, 0, 3, 2), 1)  # B loses C, and A finds D
LITERAL, KEPT, TIMERS = {"memory": "none"}, {"memory": "none", "entries": "kept"}, {"flush": "none"}


def line(change: Reconfiguration, protocol: str, **reading: object) -> dict[str, int]:
    parameters = Parameters(protocol=protocol, dispatchers=4, degree=3, available=1, patterns=1, **reading)
    result = Run(parameters, Script(LINE, [change], [Subscription(1.0, 3, 0, True)], [0, 1, 2, 3])).result(0.0)
    assert result["wrong"] == 0
    return {name: counts["messages"] for name, counts in result["sent"].items()}


@pytest.mark.parametrize("change, protocol, reading, sent", [
    # B's entry goes at once: UNSUB to A. D tells B, for B it is a first subscription: SUB to A.
    (SHARED, "strawman", {}, {"SUB": 2, "UNSUB": 1}),
    (SHARED, "strawman", LITERAL, {"SUB": 2, "UNSUB": 1}),
    # D tells B. A was told, and B remembers it; at T_u D was not, so nobody hears anything.
    (SHARED, "timed", {}, {"SUB": 1}),
    # To the letter: with <C, p> pending D's is B's first one, so SUB to A; at T_u D's is the only one left, so UNSUB to D.
    (SHARED, "timed", LITERAL, {"SUB": 2, "UNSUB": 1}),
    # <C, p> is in B's table: B tells D, D tells B, and as C is gone the second subscription is told nobody; T_u as before.
    (SHARED, "timed", KEPT, {"SUB": 2, "UNSUB": 1}),
    # FLUSH from B to D and on to C, from D to B and on to A.
    (SHARED, "notified", LITERAL, {"SUB": 2, "UNSUB": 1, "FLUSH": 4}),
    (SHARED, "informed", {}, {"SUB": 1, "FLUSH": 4, "INFORMED_ACTIVATE": 1}),  # C's; B would inform itself
    (SHARED, "informed", LITERAL, {"SUB": 2, "UNSUB": 1, "FLUSH": 4, "INFORMED_ACTIVATE": 1}),
    (SHARED, "informed", LITERAL | TIMERS, {"SUB": 2, "UNSUB": 1, "INFORMED_ACTIVATE": 1}),
    # p is wanted towards C only, so B does not tell D; nor later, when only D wants it.
    (SHARED, "informed", KEPT, {"SUB": 1, "UNSUB": 1, "FLUSH": 4, "INFORMED_ACTIVATE": 1}),
    (SHARED, "informed", KEPT | TIMERS, {"SUB": 1, "UNSUB": 1, "INFORMED_ACTIVATE": 1}),
    # UNSUB from B to A. D tells A, A tells B.
    (OTHERS, "strawman", LITERAL, {"SUB": 2, "UNSUB": 1}),
    # A tells D what it has of B, D tells A, and A the first subscriber, B. At T_u B's UNSUB to A, and A's to D.
    (OTHERS, "timed", LITERAL, {"SUB": 3, "UNSUB": 2}),
    (OTHERS, "timed", KEPT, {"SUB": 3, "UNSUB": 2}),
    # A holds p back. D was told nothing, and hears UNSUB only to the letter.
    (OTHERS, "informed", {}, {"SUB": 2, "UNSUB": 1, "FLUSH": 4, "INFORMED_ACTIVATE": 2}),
    (OTHERS, "informed", LITERAL, {"SUB": 2, "UNSUB": 2, "FLUSH": 4, "INFORMED_ACTIVATE": 2}),
    (OTHERS, "informed", LITERAL | TIMERS, {"SUB": 2, "UNSUB": 2, "INFORMED_ACTIVATE": 2}),
    # T_s before T_u: what A held back is told after all, too early.
    (OTHERS, "informed", LITERAL | TIMERS | {"subscription_timer": 0.01}, {"SUB": 3, "UNSUB": 2, "INFORMED_ACTIVATE": 2}),
])
def test_messages_on_a_line_are_those_of_the_figures(change, protocol, reading, sent):
    assert line(change, protocol, **reading) == sent


SMALL = {"dispatchers": 20, "available": 20, "patterns": 3, "subscribers": 0.4, "duration": 6.0, "first": 2.0, "last": 4.0}
COMBINATIONS = [("timed", LITERAL), ("timed", KEPT), ("notified", LITERAL), ("notified", KEPT), ("informed", LITERAL),
                ("informed", KEPT), ("informed", TIMERS), ("informed", LITERAL | TIMERS), ("informed", KEPT | TIMERS),
                ("strawman", {}), ("strawman", LITERAL), ("timed", {}), ("notified", {}), ("informed", {}), ("path", {})]


@settings(max_examples=60)
@given(how=st.sampled_from(COMBINATIONS), seed=st.integers(0, 10**6), rate=st.sampled_from([3, 40, 150, 400]),
       replacement=st.sampled_from(["uniform", "shared", "seeker", "any_two", "end_any"]),
       tree=st.sampled_from(["balanced", "recursive", "labelled", "kruskal"]), core=st.sampled_from([1.0, 0.5]),
       timers=st.tuples(*2 * [st.sampled_from([0.0, 0.04, 0.15, 0.4])]))
def test_however_the_figures_are_read_tables_are_right_at_the_end(how, seed, rate, replacement, tree, core, timers):
    """Also where the same neighbor comes back while its entries wait; and with subscriptions that change, but for the last second."""
    protocol, reading = how
    parameters = Parameters.of(SMALL | reading | {
        "protocol": protocol, "seed": seed, "rate": rate, "replacement": replacement, "tree": tree, "core": core,
        "unsubscription_timer": timers[0], "subscription_timer": timers[1]})
    script = write(parameters)
    script = script._replace(subscriptions=[one for one in script.subscriptions if one.at < parameters.duration - 1])
    assert Run(parameters, script).result(0.0)["wrong"] == 0


@pytest.mark.parametrize("protocol, reading", COMBINATIONS[:9])
@pytest.mark.parametrize("replacement", ["seeker", "end_any"])
def test_once_all_has_settled_every_event_is_delivered(protocol, reading, replacement):
    result = overlay.run(Parameters.of(SMALL | reading | {"protocol": protocol, "rate": 60, "publish": 3.0, "replacement": replacement}))
    settled = slice(52, 60)
    assert sum(result["due"][settled]) == sum(result["made"][settled]) > 0
    assert sum(result["made"]) < sum(result["due"]) and result["wrong"] == 0


@given(seed=st.integers(0, 10**6), rate=st.sampled_from([3, 60, 300]), core=st.sampled_from([1.0, 0.5]))
@settings(max_examples=15)
def test_strawman_sends_the_same_with_memory_and_without(seed, rate, core):
    """It has nothing pending, so whoever is told anything was not told before."""
    told, literal = (overlay.run(Parameters.of(SMALL | {"seed": seed, "rate": rate, "core": core, "memory": memory}))
                     for memory in ("told", "none"))
    assert told["sent"] == literal["sent"] and told["messages"] == literal["messages"] and told["wrong"] == literal["wrong"]


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), rule=st.sampled_from(["any_two", "end_any"]), rate=st.sampled_from([3, 40, 150, 400]))
def test_links_between_any_two_parts_make_a_tree_as_well(seed, rule, rate):
    parameters = Parameters(dispatchers=25, seed=seed, replacement=rule, rate=rate)
    script = write(parameters)
    graph, changes = Graph(25, 4, script.edges), []
    for change in script.reconfigurations:
        changes += [(change.at, 1, change), (change.replaced, 0, change)]
    for _, breaks, change in sorted(changes, key=lambda one: one[:2]):
        if breaks:
            graph.remove(*change.lost)
            continue
        new = change.path[change.turn:change.turn + 2]
        mine = [graph.part(end) for end in change.lost]
        assert new[0] not in graph.part(new[1])
        assert change.reconnects == (new[0] in mine[0] and new[1] in mine[1])
        graph.add(*new)
        assert max(map(len, graph.near)) <= 4 and all(b in graph.near[a] for a, b in zip(change.path, change.path[1:]))
        if rule == "end_any" and all(len(graph.near[end]) < 4 for end in change.lost):
            assert set(new) & set(change.lost)  # both had room, also before
    assert len(graph.part(0)) == 25
    assert rate < 150 or not all(change.reconnects for change in script.reconfigurations)


@pytest.mark.parametrize("free, own", [("any_two", "uniform"), ("end_any", "seeker")])
def test_where_one_link_is_missing_any_two_parts_are_its_own(free, own):
    assert write(Parameters(seed=5, replacement=free)) == write(Parameters(seed=5, replacement=own))
    assert write(Parameters(seed=5, replacement=free, rate=60)) != write(Parameters(seed=5, replacement=own, rate=60))


@given(count=st.integers(4, 80), degree=st.integers(3, 6), seed=st.integers(0, 999), grow=st.sampled_from([labelled, kruskal]))
def test_random_trees_are_trees_of_the_degree_and_numbered_from_a_root(count, degree, seed, grow):
    edges = grow(count, degree, random.Random(seed))
    graph = Graph(count, degree, edges)
    assert len(edges) == count - 1 and len(graph.part(0)) == count and max(map(len, graph.near)) <= degree
    far = graph.distances(0)
    assert far == sorted(far)


@pytest.mark.parametrize("grow, stars", [(labelled, 4 / 16), (kruskal, 4 / 5 / 3), (scattered, 1 / 3)])
def test_each_generator_has_its_own_chance_of_a_star(grow, stars):
    """Of the 16 trees of four numbered dispatchers 4 are stars; the others' chances are those of their last steps."""
    chance = random.Random(1)
    found = Counter(max(map(len, Graph(4, 3, grow(4, 3, chance)).near)) for _ in range(6000))
    assert found[3] / 6000 == pytest.approx(stars, abs=0.025)  # 4 standard deviations


def test_the_limit_of_the_degree_leaves_the_other_labelled_trees_equally_likely():
    chance = random.Random(2)
    found = Counter(max(map(len, Graph(5, 3, labelled(5, 3, chance)).near)) for _ in range(4000))
    assert found[2] / 4000 == pytest.approx(0.5, abs=0.035)  # of 125 trees 60 are lines, 60 forks, and 5 stars are none


def test_random_is_the_older_name_of_recursive():
    assert write(Parameters(seed=3, tree="random")) == write(Parameters(seed=3, tree="recursive"))
    assert len({tuple(write(Parameters(seed=3, tree=tree)).edges) for tree in ("balanced", "recursive", "labelled", "kruskal")}) == 4


@pytest.mark.parametrize("values, said", [
    ({"memory": "nothing"}, "memory: found 'nothing'; one of told, none"),
    ({"entries": "lost"}, "entries: found 'lost'; one of taken, kept"),
    ({"tree": "prim"}, "tree: found 'prim'; one of balanced, random, recursive, labelled, kruskal"),
    ({"replacement": "any"}, "replacement: found 'any'; one of uniform, shared, seeker, any_two, end_any"),
    ({"memory": "none", "protocol": "path"}, "memory: found 'none' with protocol 'path', whose figure 11"),
    ({"memory": "none", "strategy": "event"}, "memory: found 'none' with strategy 'event'"),
    *(({"flush": "none", "protocol": protocol}, f"flush: found 'none' with protocol '{protocol}'; informed alone")
      for protocol in ("strawman", "timed", "notified", "path")),
    ({"entries": "kept", "protocol": "timed"}, "entries: found 'kept' with protocol 'timed', memory 'told'"),
    ({"entries": "kept", "memory": "none"}, "entries: found 'kept' with protocol 'strawman'"),
    ({"entries": "kept", "memory": "none", "protocol": "timed", "recovery": "push"}, "recovery 'push'; it goes with"),
])
def test_readings_that_shut_each_other_out_are_told(values, said):
    with pytest.raises(overlay.OverlayError, match=said):
        Parameters.of(values)
