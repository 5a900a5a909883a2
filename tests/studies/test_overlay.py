"""The papers' simulator: its trees and links, what chance decides, matching, causes, and what it counts."""
from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.studies import overlay
from emulation.studies.overlay import Parameters
from emulation.studies.overlay.events import CLIENT, PatternTable, Text, pattern, useful
from emulation.studies.overlay.graph import Graph, balanced, renamed, scattered
from emulation.studies.overlay.network import Network, Storm, loses
from emulation.studies.overlay.run import Run
from emulation.studies.overlay.script import write
from emulation.studies.overlay.sizes import COUNTED, numbers
from node import wire
from node.broker import RECOVERIES
from node.ids import LinkId
from node.routing.table import SubscriptionTable
from node.wire import Event, Sub

SMALL = {"dispatchers": 20, "available": 20, "patterns": 3, "subscribers": 0.4}


def connected(graph: Graph, count: int) -> bool:
    return len(graph.part(0)) == count and len(graph.edges) == count - 1


@given(count=st.integers(4, 60), degree=st.integers(3, 6), seed=st.integers(0, 999), grow=st.sampled_from([balanced, scattered]))
def test_trees_are_trees_of_the_degree(count, degree, seed, grow):
    graph = Graph(count, degree, renamed(grow(count, degree, random.Random(seed)), "chance", random.Random(seed)))
    assert connected(graph, count)
    assert max(map(len, graph.near)) <= degree


def test_a_balanced_tree_is_as_flat_as_it_can_be():
    graph = Graph(53, 4, balanced(53, 4, random.Random(1)))  # 1 + 4 + 12 + 36
    depth = {0: 0}
    for node, before in graph.part(0).items():
        depth[node] = depth[before] + (node != before)
    assert [list(depth.values()).count(level) for level in range(4)] == [1, 4, 12, 36]


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), rule=st.sampled_from(["uniform", "shared", "seeker"]), tree=st.sampled_from(["balanced", "random"]),
       rate=st.sampled_from([3, 40, 150]))
def test_however_many_links_are_missing_the_replacements_make_a_tree(seed, rule, tree, rate):
    parameters = Parameters(dispatchers=25, seed=seed, replacement=rule, tree=tree, rate=rate)
    script = write(parameters)
    assert len(script.reconfigurations) == 4 * rate
    graph, changes = Graph(25, 4, script.edges), []
    for change in script.reconfigurations:
        changes += [(change.at, 1, change), (change.replaced, 0, change)]
    for _, breaks, change in sorted(changes, key=lambda one: one[:2]):
        path, turn = change.path, change.turn
        if breaks:
            assert change.lost in graph.edges
            graph.remove(*change.lost)
            continue
        assert (path[0], path[-1]) == change.lost and len(set(path)) == len(path)
        assert path[turn] not in graph.part(path[turn + 1])
        graph.add(path[turn], path[turn + 1])
        assert all(b in graph.near[a] for a, b in zip(path, path[1:]))
        assert max(map(len, graph.near)) <= 4
        if rule != "uniform" and rate == 3:  # at higher rates the old ends may have no room left
            assert {path[turn], path[turn + 1]} & set(change.lost)
        if rule != "seeker" and rate == 3:
            assert {path[turn], path[turn + 1]} != set(change.lost)
    assert connected(graph, 25)


def test_all_protocols_and_timers_see_the_same_script():
    first = write(Parameters(seed=7))
    assert first == write(Parameters(seed=7, protocol="path", unsubscription_timer=0.3, publish=5))
    assert first.reconfigurations == write(Parameters(seed=7, subscribers=0.9)).reconfigurations
    assert first != write(Parameters(seed=8))


def test_a_tenth_of_the_dispatchers_gets_an_event():
    result = overlay.run(Parameters(publish=10.0, rate=0, duration=4, first=3, last=3))
    span = slice(20, 40)  # all have subscribed
    share = sum(result["receivers"][span]) / sum(result["published"][span]) / 100
    assert share == pytest.approx(0.2 * (1 - (89 / 96) ** 9), rel=0.05)
    assert sum(result["due"][span]) == sum(result["made"][span])
    assert sum(result["misrouted"][span]) == 0


@given(seed=st.integers(0, 10**6))
def test_the_table_of_patterns_matches_as_the_general_index(seed):
    chance = random.Random(seed)
    fast, general = PatternTable(), SubscriptionTable()
    hops = [LinkId(0, far, far) for far in range(1, 5)] + [CLIENT]
    for _ in range(60):
        hop, wanted = chance.choice(hops), pattern(chance.randrange(12))
        if chance.random() < 0.6:
            assert fast.add(hop, wanted) == general.add(hop, wanted)
        else:
            assert fast.remove(hop, wanted.hash) == general.remove(hop, wanted.hash)
    for _ in range(10):
        text = Text(0.0, 0, [chance.randrange(14) for _ in range(4)])
        assert fast.match(text) == general.match(text)


def test_messages_that_led_nowhere_are_misrouted():
    ends = [(0, 1), (1, 2), (1, 3), (3, 4)]
    text = Text(0.0, 0, [1])
    text.trail, text.got = [0, 1, 2, 3], 1 << 2
    assert useful(text, ends) == 2  # 0-1 and 1-2; nobody behind 3 wanted it
    text.got = 1 << 1
    assert useful(text, ends) == 1


def test_links_are_fifo_and_take_their_time():
    network, heard = Network(1000.0, 100.0, 200.0, 10.0), []
    link = LinkId(0, 1, 1)
    end = network.connect(link, 0, 1, {Sub: lambda link, message: heard.append((round(network.time, 6), len(message[0])))})
    dispatcher = Run(Parameters(**SMALL), write(Parameters(**SMALL))).dispatchers[0]
    dispatcher._network, dispatcher.ends = network, {link: end}
    dispatcher.send([link], Sub((pattern(0), pattern(1)), None))
    dispatcher.send([link], Sub((pattern(2),), None))
    network.run(1.0)
    assert heard == [(0.2, 2), (0.3, 1)]
    assert network.sent == {"SUB": [3, 3]}  # as the paper sends them, one by one
    dispatcher.send([link], Sub((pattern(2),), None))
    end.open = False  # it breaks with the message under way
    network.run(2.0)
    assert len(heard) == 2


def test_an_event_meets_the_same_losses_whatever_else_is_drawn():
    chance = random.Random(5)
    salts = [chance.getrandbits(64) for _ in range(3000)]
    lost = np.array([[loses(salt, link, 0.1) for link in range(40)] for salt in salts]) - 0.1
    assert abs(lost.mean()) < 0.004  # 4 standard deviations
    for other in (np.roll(lost, 1, 0), np.roll(lost, 1, 1), np.roll(lost, (1, 1), (0, 1))):
        assert abs((lost * other).mean()) / 0.09 < 0.012
    assert not any(loses(salt, 1, 0.0) for salt in salts) and all(loses(salt, 1, 1.0) for salt in salts)
    often = {salt for salt in salts if loses(salt, 3, 0.3)}
    assert {salt for salt in salts if loses(salt, 3, 0.2)} < often  # a better link loses no other events


def test_lossy_links_deliver_what_the_distances_say():
    """Nobody repeats an event: over d links of error rate 0.1 it comes with probability 0.9 ** d."""
    due = made = said = 0
    for seed in range(4):
        result = overlay.run(Parameters(seed=seed, loss=0.1, publish=3.0, rate=0))
        span = slice(30, 70)
        due += sum(result["due"][span])
        made += sum(result["made"][span])
        assert sum(result["distances"]) == sum(result["due"][span])
        said += sum(count * 0.9 ** links for links, count in enumerate(result["distances"]))
    assert made == pytest.approx(said, rel=0.03)  # losses near the publisher are those of many
    assert 0.4 < made / due < 0.7
    assert overlay.run(Parameters(rate=0, publish=1.0, **SMALL))["distances"] == []


def test_effects_have_the_cause_of_what_set_them_off():
    network, seen = Network(1e6, 1000.0, 1000.0, 100.0), []
    network.call_at(1.0, lambda: network.call_at(2.0, lambda: seen.append(network.cause), network.cause), 7)
    network.call_at(1.5, lambda: seen.append(network.cause), 3)
    network.run(3.0)
    assert seen == [3, 7]


def test_a_storm_is_ended(monkeypatch):
    monkeypatch.setattr("emulation.studies.overlay.network.MOST", 50)
    with pytest.raises(Storm, match="do not end"):
        overlay.run(Parameters(**SMALL))


@pytest.mark.parametrize("protocol", ["strawman", "timed", "notified", "informed", "path"])
@pytest.mark.parametrize("rate", [3.0, 60.0])
def test_tables_are_right_at_the_end_and_delivery_is_whole(protocol, rate):
    result = overlay.run(Parameters(protocol=protocol, rate=rate, publish=2.0, **SMALL))
    assert result["wrong"] == 0
    settled = slice(72, 80)  # to the last event, however late it is published
    assert sum(result["due"][settled]) == sum(result["made"][settled]) > 0
    assert sum(result["made"]) <= sum(result["due"])


def test_a_wrong_table_is_seen():
    parameters = Parameters(protocol="timed", **SMALL)
    done = Run(parameters, write(parameters))
    done.network.run(parameters.duration)
    assert done.wrong() == 0
    link = next(iter(done.tree.links))
    table = done.dispatchers[link.low].routing.table
    key = next(iter(table.filters_of(link)))
    table.remove(link, key)
    assert done.wrong() >= 1


def test_the_same_run_gives_the_same_result():
    parameters = Parameters(protocol="informed", publish=5.0, **SMALL)
    first, second = (overlay.run(parameters) for _ in range(2))
    assert {**first, "cpu": 0} == {**second, "cpu": 0}


def test_the_order_of_the_protocols_on_table_one():
    """Figure 14: the deferred save much, informed and path more."""
    costs = {}
    for protocol in ("strawman", "timed", "informed", "path"):
        costs[protocol] = 0
        for seed in (1, 2, 3):
            sent = overlay.run(Parameters(protocol=protocol, seed=seed))["sent"]
            costs[protocol] += sent["SUB"]["messages"] + sent["UNSUB"]["messages"] + sent.get("REC", {}).get("patterns", 0)
    assert costs["strawman"] > 1.3 * costs["timed"] > 1.3 * costs["informed"]
    assert costs["path"] < costs["timed"]


def test_event_forwarding_reaches_all_and_tells_nobody_of_subscriptions():
    result = overlay.run(Parameters(strategy="event", publish=1.0, rate=0, duration=4, first=3, last=3, **SMALL))
    assert result["sent"] == {}
    assert sum(result["events"]) == pytest.approx(19 * sum(result["published"]), abs=40)


def test_outside_the_core_subscriptions_change():
    calm = write(Parameters(seed=3))
    busy = write(Parameters(seed=3, core=0.5, subscribers=0.5))
    assert all(change.wanted and change.at < 2 for change in calm.subscriptions)
    late = [change for change in busy.subscriptions if change.at > 2]
    assert late and not {change.node for change in late} & set(busy.core)
    assert sum(change.wanted for change in late) * 2 == len(late)


# ---- recovery ------------------------------------------------------------------------------------------
LOSSY = {"dispatchers": 30, "available": 12, "patterns": 2, "letters": 2, "subscribers": 0.8, "publish": 5.0, "settled": 0.5,
         "first": 1.0, "last": 2.0, "duration": 4.0, "rate": 0.0, "loss": 0.1, "gossip_interval": 0.05}


@pytest.mark.parametrize("algorithm", RECOVERIES)
def test_recovery_brings_back_what_lossy_links_lost_and_nothing_else(algorithm):
    alone, result = (overlay.run(Parameters.of(LOSSY | {"recovery": name})) for name in ("none", algorithm))
    assert result["published"] == alone["published"] and result["due"] == alone["due"]
    # each link loses the same events, so what the tree brings is the same, and recovery comes on top of it
    assert [made - came for made, came in zip(result["made"], result["recovered"])] == alone["made"]
    span = slice(10, 20)
    missing = sum(alone["due"][span]) - sum(alone["made"][span])
    assert missing > 100
    assert sum(result["recovered"][span]) > 0.25 * missing
    assert result["wrong"] == 0 and result["late"][0] <= result["late"][1] <= result["late"][2] <= 4.0
    assert result["recovery"]["GOSSIP_ANSWER"]["messages"] >= sum(result["recovered"][span])
    assert alone["recovery"] == {} and sum(alone["recovered"]) == 0 and alone["late"] == []


@pytest.mark.parametrize("algorithm", RECOVERIES)
def test_recovery_follows_links_that_break(algorithm):
    given = LOSSY | {"loss": 0.0, "rate": 8.0, "protocol": "timed"}
    alone, result = (overlay.run(Parameters.of(given | {"recovery": name})) for name in ("none", algorithm))
    missing = sum(alone["due"][10:]) - sum(alone["made"][10:])
    assert missing > 20
    assert sum(result["due"][10:]) - sum(result["made"][10:]) < missing
    assert sum(result["recovered"]) > 0 and result["wrong"] == 0


def test_where_nothing_is_lost_pull_is_quiet_and_push_is_not():
    said = {name: overlay.run(Parameters.of(LOSSY | {"loss": 0.0, "recovery": name})) for name in RECOVERIES}
    for name, result in said.items():
        assert sum(result["recovered"]) == 0
        span = slice(10, 20)
        assert sum(result["made"][span]) == sum(result["due"][span])
    assert said["push"]["recovery"]["PUSH_GOSSIP"]["messages"] > 1000
    for name in list(RECOVERIES)[1:]:  # what was published while subscriptions spread may still be asked for
        assert sum(counts["messages"] for kind, counts in said[name]["recovery"].items() if kind != "TAGGED_EVENT") < 10


def test_a_recovered_event_is_for_those_who_wanted_it_when_it_was_published():
    parameters = Parameters.of(LOSSY | {"recovery": "push"})
    dispatcher = Run(parameters, write(parameters)).dispatchers[0]
    event = Event(9, 1, 1, 0.5, 3, Text(0.5, 9, [3]), b"")
    assert dispatcher.deliver_recovered(event, 0.5) == 0
    dispatcher.since[pattern(3).hash] = 0.6  # too late
    assert dispatcher.deliver_recovered(event, 0.5) == 0 and event[5].got == event[5].recovered == 0
    dispatcher.since[pattern(3).hash] = 0.4
    assert dispatcher.deliver_recovered(event, 0.5) == 1 and event[5].got == event[5].recovered == 1


def test_every_message_of_recovery_has_a_size():
    from node import schema

    recovering = {table.class_name for table in schema.messages().values() if table.family == "recovery"}
    pieces = {"Part"}  # of what is larger than a datagram; here there are none
    assert recovering - pieces | {"TaggedEvent"} == {kind.__name__ for kind in COUNTED}
    numbered = [(7, 1, (3, 4, 5)), (8, 1, (9,))]
    assert numbers(wire.PushGossip((1, 2), b"12345678", numbered)) == 2 + 2 + (2 + 3) + (2 + 1)
    tagged = wire.TaggedEvent(7, 1, 2, 0.0, 0, {}, b"", ((b"12345678", 4), (b"abcdefgh", 9)), (7, 3))
    assert numbers(tagged) == 2 * 3 + 2
    assert numbers(wire.GossipAnswer(0, tagged)) == numbers(tagged)
    assert numbers(wire.Counters(((b"12345678", ((1, 1, 5), (2, 1, 6))),))) == 2 + 3 * 2
    network = Network(1e6, 1000.0, 1000.0, 100.0, 32.0)
    assert network.account_recovery(tagged, 3) == pytest.approx(8 * 32 / 1e6)
    assert network.account_recovery(wire.GossipAnswer(0, tagged), 1) == pytest.approx((100 + 1000 + 8 * 32) / 1e6)
    assert network.recovery == {"TAGGED_EVENT": [3, 3 * 256.0], "GOSSIP_ANSWER": [1, 1356.0]}
    assert network.messages == 1  # a tagged event was counted as an event


@pytest.mark.parametrize("values, said", [
    ({"protocol": "pth"}, "protocol: found 'pth'; one of strawman"),
    ({"rho": 3}, "rho: no such parameter"),
    ({"dispatcher": 3}, "did you mean dispatchers"),
    ({"dispatchers": "many"}, "dispatchers: found 'many'; a whole number"),
    ({"dispatchers": 2.5}, "a whole number"),
    ({"subscribers": 1.5}, "subscribers: found 1.5; from 0 to 1"),
    ({"patterns": 97}, "patterns: found 97; from 1 to 96"),
    ({"loss": 1.5}, "loss: found 1.5; from 0 to 1"),
    ({"recovery": "pull"}, "recovery: found 'pull'; one of none, push"),
    ({"recovery": "push", "strategy": "event"}, 'recovery: found "push" with strategy = "event", which spreads no patterns; use strategy = "subscription", or recovery = "none"'),
    ({"gossip_forward": 2}, "gossip_forward: found 2; from 0 to 1"),
    ({"gossip_interval": 0}, "gossip_interval: found 0; from 0.001 to 3600"),
    ({"gossip_adaptive": "maybe"}, "gossip_adaptive: found 'maybe'; true or false"),
    ({"gossip_adaptive": 1}, "gossip_adaptive: found 1; true or false"),
    ({"rate": True}, "rate: found True; a number"),
    ({"cache_bytes": float("inf")}, "cache_bytes: found inf; a whole number"),
    ({"dispatchers": 10**30}, f"dispatchers: found {10**30}; from 4 to 5000"),
    ({"rate": 10**400}, "rate: found 1000"),
    ({"seed": 2**32}, "seed: found 4294967296; from 0 to 4294967295"),
    # each in its bounds, and together days or all memory before the first message
    ({"dispatchers": 5000, "rate": 1000, "duration": 600, "last": 600}, "rate: found 1000, so 597,000 reconfigurations .*; at most 2,000"),
    ({"dispatchers": 5000, "subscribers": 1, "available": 4096, "patterns": 4096}, "patterns: found 4096, .* 20,480,000 subscriptions"),
    ({"core": 0, "churn": 1000, "duration": 600}, "with churn 1000 12,000,140 subscriptions; at most 1,000,000"),
    ({"rate": float("nan")}, "rate: found nan"),
    ({"strategy": "event", "protocol": "path"}, "no subscription tables to reconcile"),
])
def test_bad_parameters_are_told(values, said):
    with pytest.raises(overlay.OverlayError, match=said):
        Parameters.of(values)


def test_no_type_of_message_escapes_the_count():
    """What carries patterns is known as such, so that a new message cannot be weighed as an empty one."""
    from emulation.studies.overlay.sizes import PATTERNS
    from node import schema

    carrying = {table.class_name for table in schema.messages().values()
                if table.family in ("reconcile", "subscriptions")
                and any(field.name in ("filters", "add", "remove") for field in table.fields)}
    assert carrying == {kind.__name__ for kind in PATTERNS}
