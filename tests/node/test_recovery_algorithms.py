"""Each algorithm beside its pseudo-code (costa-epidemic-reliability, figures 2 and 3), one action at a time."""
from __future__ import annotations

from collections import Counter

import pytest

from node import wire
from node.broker import RECOVERIES, Broker
from node.config import NodeConfig
from node.ids import EventId
from node.recovery.combined import Combined
from node.recovery.publisher_pull import PublisherPull
from node.recovery.push import REMEMBERED, Push
from node.recovery.subscriber_pull import SubscriberPull
from tests.node.recovery_core import ME, Core, event, hash_of, link, tagged

PULLS = [SubscriberPull, PublisherPull, Combined]
A = hash_of("a")


def digest(*sequences, source=9):
    return ((source, 1, tuple(sequences)),)


# ---- figure 2: push ----------------------------------------------------------------------------------


def test_push_start_gossip_round_names_the_cached_events_of_one_pattern_to_its_subscribers():
    core = Core(Push).wants(1, "a").wants(2, "b").wants("c", "d")
    for sequence, kind in ((1, "a"), (2, "b"), (3, "a"), (4, "d")):
        core.passes(event(sequence, kind), 1, ["c"] if kind == "d" else [])
    said = Counter()
    for _ in range(40):
        assert core.recovery.start_round()
        ((to, message),) = core.take()
        said[to, message] += 1
    assert set(said) == {((1,), wire.PushGossip((ME,), A, digest(3, 1))),
                         ((2,), wire.PushGossip((ME,), hash_of("b"), digest(2)))}
    assert min(said.values()) > 5, "any pattern of the table, local or not, that somebody else wants"


def test_push_towards_one_or_more_subscribers():
    core = Core(Push).wants(1, "a").wants(2, "a").wants(3, "a")
    core.passes(event(1), 1)
    to = Counter()
    for _ in range(200):
        core.recovery.start_round()
        ((where, _),) = core.take()
        to[where] += 1
    assert {len(where) for where in to} == {1, 2, 3} and {n for where in to for n in where} == {1, 2, 3}


def test_push_says_nothing_where_there_is_nothing_to_say():
    core = Core(Push)
    assert not core.recovery.start_round()
    core.wants(1, "b").wants("c", "a")
    core.passes(event(1), None, ["c"])
    assert not core.recovery.start_round() and not core.take()


def test_push_handle_gossip_msg_asks_the_initiator_for_what_was_not_received():
    core = Core(Push).wants("c", "a").wants(3, "a")
    core.passes(event(1), 1, ["c"])
    core.over(2, wire.PushGossip((7, 2), A, digest(1, 2, 3)))
    request = ((ME, 2, 7), wire.GossipRequest(digest(2, 3)))
    onward = ((3,), wire.PushGossip((7, 2, ME), A, digest(1, 2, 3)))
    assert core.take() == [onward, request]
    # another gossiper names the same at the same time: they are being asked for
    core.over(1, wire.PushGossip((8, 1), A, digest(2, 3, 4)))
    assert core.take()[1:] == [((ME, 1, 8), wire.GossipRequest(digest(4)))]
    core.time += core.config.gossip_interval  # no answer came
    core.over(1, wire.PushGossip((8, 1), A, digest(2, 3, 4)))
    assert core.take()[1:] == [((ME, 1, 8), wire.GossipRequest(digest(2, 3, 4)))]


def test_push_a_broker_that_is_not_subscribed_asks_for_nothing():
    core = Core(Push).wants(3, "a")
    core.over(2, wire.PushGossip((2,), A, digest(1)))
    assert core.take() == [((3,), wire.PushGossip((2, ME), A, digest(1)))]


@pytest.mark.parametrize("subscribed", [True, False])
def test_push_passes_gossip_on_with_p_forward(subscribed):
    core = Core(Push, gossip_forward=0.3).wants(3, "a")
    if subscribed:
        core.wants("c", "a")
    for _ in range(1000):
        core.time += 1
        core.over(2, wire.PushGossip((2,), A, ()))
    assert 0.25 < len(core.sent) / 1000 < 0.35


def test_push_handle_req_msg_sends_what_is_in_the_cache():
    core = Core(Push).wants(2, "a")
    core.passes(event(1), 1)
    core.passes(event(3), 1)
    core.routed((7, 2, ME), wire.GossipRequest(digest(1, 2, 3)))
    core.run(1.0)
    assert core.take() == [((ME, 2, 7), wire.GossipAnswer(0, event(k))) for k in (1, 3)]


def test_push_takes_the_answer_once_and_says_from_whom_after_how_many_rounds():
    core = Core(Push).wants("c", "a")
    core.over(2, wire.PushGossip((7, 2), A, digest(2)))
    core.time = 1.0
    core.over(1, wire.PushGossip((1,), A, digest(2)))
    core.time = 1.25
    core.routed((7, 2, ME), wire.GossipAnswer(0, event(2)))
    assert core.delivered == [event(2)._replace(hops=4)]
    assert core.records == [("event_recovered", {"event": "9.1.2", "giver": 7, "rounds": 2, "seconds": 1.25})]
    assert core.has(2)
    core.routed((1, ME), wire.GossipAnswer(0, event(2)))
    core.over(1, wire.PushGossip((1,), A, digest(2)))
    assert core.delivered == [event(2)._replace(hops=4)] and core.drops == ["late"]


def test_push_forgets_first_what_was_not_asked_for_lately():
    core = Core(Push).wants("c", "a")
    core.over(2, wire.PushGossip((2,), A, digest(1)))
    for sequence in range(2, REMEMBERED + 10):
        core.over(2, wire.PushGossip((2,), A, digest(sequence)))
        core.time += 0.1
        if sequence % 1000 == 0:  # those who have it go on telling
            core.over(2, wire.PushGossip((2,), A, digest(1)))
    core.take()
    core.routed((2, ME), wire.GossipAnswer(0, event(2)))
    core.routed((2, ME), wire.GossipAnswer(0, event(1)))
    assert core.drops == ["unasked"] and core.delivered == [event(1)._replace(hops=3)]


def test_push_with_covering_reaches_what_a_wider_filter_hides():
    """A subscriber of x > 5 behind one of x > 3: gossip about the wider one goes to it, and it asks."""
    from node.filters import parse
    wide, narrow = parse("x > 3"), parse("x > 5")
    core = Core(Push, forwarding="covering").wants(2)
    core.table.add(link(3), wide)
    core.table.add("c", narrow)
    core.over(2, wire.PushGossip((2,), wide.hash, digest(1)))
    assert [message.name for _, message in core.take()] == ["PUSH_GOSSIP", "GOSSIP_REQUEST"]
    plain = Core(Push).wants(2)
    plain.table.add(link(3), wide)
    plain.table.add("c", narrow)
    plain.over(2, wire.PushGossip((2,), wide.hash, digest(1)))
    assert [message.name for _, message in plain.take()] == ["PUSH_GOSSIP"]


# ---- section 4.2: tags, and losses noticed by them -----------------------------------------------------


@pytest.mark.parametrize("pull", PULLS)
def test_events_are_tagged_at_their_source_with_the_patterns_of_others(pull):
    core = Core(pull).wants(1, "a").wants("c", "a", "b")
    route = (ME,) if pull is not SubscriberPull else ()
    first, clients = core.passes(event(1, source=ME), None, ["c"])
    assert first == tagged(1, [("a", 1)], source=ME, route=route) and clients == ["c"]
    assert core.passes(event(2, "b", ME), None)[0].counters == ()  # nobody else wants it
    assert core.passes(event(3, source=ME), None)[0].counters == ((A, 2),)


@pytest.mark.parametrize("pull", PULLS)
def test_a_number_that_was_skipped_is_lost_if_a_local_client_wants_it(pull):
    core = Core(pull).wants("c", "a").wants(3, "b")
    for sequence, number in ((1, 4), (5, 7)):
        core.passes(tagged(sequence, [("a", number), ("b", number)]), 1, ["c"])
    assert core.recovery.lost.of_pattern(A) == [(A, 9, 1, 5), (A, 9, 1, 6)]
    assert core.recovery.lost.patterns() == [A], "b is somebody else's matter"
    core.passes(tagged(4, [("a", 6)]), 1, ["c"])  # late, but by the tree
    assert core.recovery.lost.of_pattern(A) == [(A, 9, 1, 5)]


@pytest.mark.parametrize("pull", PULLS)
def test_the_last_loss_is_noticed_by_an_advertisement(pull):
    core = Core(pull).wants("c", "a").wants(3, "a")
    core.over(1, wire.Counters(((A, ((9, 1, 3),)),)))  # the baseline
    core.over(1, wire.Counters(((A, ((9, 1, 5),)),)))
    assert core.recovery.lost.of_pattern(A) == [(A, 9, 1, 4), (A, 9, 1, 5)]
    core.run(1.0)
    assert core.take() == [((3,), wire.Counters(((A, ((ME, 1, 0), (9, 1, 5))),)))], "and those behind are told"
    core.over(1, wire.Counters(((A, ((9, 1, 5),)),)))
    core.run(1.0)
    assert core.take() == []


@pytest.mark.parametrize("pull", PULLS)
def test_a_new_link_is_told_the_latest_numbers_of_what_it_wants(pull):
    core = Core(pull).wants(1, "a")
    core.run(1.0)
    core.take()
    core.passes(tagged(1, [("a", 4), ("b", 9)]), 1)
    core.wants(2, "a")
    core.run(1.0)
    assert core.take() == [((2,), wire.Counters(((A, ((ME, 1, 0), (9, 1, 4))),)))]


@pytest.mark.parametrize("retransmission", [True, False])
def test_over_links_that_lose_events_their_numbers_are_told_again(retransmission):
    core = Core(SubscriberPull, retransmission=retransmission).wants(2, "a")
    core.run(1.0)
    core.take()
    core.passes(tagged(1, [("a", 4)]), 1)
    core.run(2.0)
    told = [((2,), wire.Counters(((A, ((9, 1, 4),)),)))]
    assert core.take() == ([] if retransmission else told)


def test_a_filter_given_up_is_not_missed_any_more():
    core = Core(SubscriberPull).wants("c", "a").wants(2, "a")
    core.passes(tagged(1, [("a", 1)]), 1, ["c"])
    core.passes(tagged(3, [("a", 3)]), 1, ["c"])
    core.recovery.unsubscribed(A)
    assert len(core.recovery.lost) == 0
    core.passes(tagged(9, [("a", 9)]), 1, ["c"])
    assert len(core.recovery.lost) == 0, "the first number after subscribing again is the baseline"


# ---- figure 3, left: subscriber pull -----------------------------------------------------------------


def lose(core, *numbers, kind="a", source=9, route=()):
    """Make the core miss these, and know a route to the source if there is one to record."""
    seen = [n for n in range(1, max(numbers) + 2) if n not in numbers]
    for number in seen:
        core.passes(tagged(100 + number, [(kind, number)], kind, source, route), 1, ["c"])


def test_subscriber_pull_start_gossip_round():
    core = Core(SubscriberPull).wants("c", "a", "b").wants(2, "a")
    assert not core.recovery.start_round() and not core.take(), "nothing lost: nothing sent"
    lose(core, 3, 5)
    assert core.recovery.start_round()
    assert core.take() == [((2,), wire.SubscriberPull((ME,), A, digest(5, 3)))]
    lose(core, 2, kind="b", source=8)
    core.wants(3, "b")
    patterns = Counter()
    for _ in range(50):
        core.recovery.start_round()
        patterns[core.take()[0][1].pattern] += 1
    assert set(patterns) == {A, hash_of("b")} and min(patterns.values()) > 10


def test_subscriber_pull_without_another_subscriber_has_nobody_to_ask():
    core = Core(SubscriberPull).wants("c", "a").wants(2, "b")
    lose(core, 3)
    assert not core.recovery.start_round() and not core.take()


def test_subscriber_pull_handle_gossip_msg_answers_by_any_pattern_of_the_event():
    """The paper's S:Pa-5:Pb-4: cached for its b, asked for by its a."""
    core = Core(SubscriberPull).wants("c", "b").wants(3, "a")
    core.run(1.0)
    core.take()
    kept = tagged(1, [("a", 5), ("b", 4)], "b")
    core.passes(kept, 1, ["c"])
    core.over(2, wire.SubscriberPull((7, 2), A, digest(5, 6)))
    core.run(1.0)
    assert core.take() == [((3,), wire.SubscriberPull((7, 2, ME), A, digest(6))),
                           ((ME, 2, 7), wire.GossipAnswer(0, kept))]
    core.over(2, wire.SubscriberPull((8, 2), A, digest(5)))
    core.run(1.0)
    assert core.take() == [((ME, 2, 8), wire.GossipAnswer(1000, kept))], "all was answered: it goes no further"


@pytest.mark.parametrize("subscribed", [True, False])
def test_subscriber_pull_subscribers_pass_on_with_p_forward_others_always(subscribed):
    core = Core(SubscriberPull, gossip_forward=0.3).wants(3, "a")
    if subscribed:
        core.wants("c", "a")
    for k in range(500):
        core.time += 1
        core.over(2, wire.SubscriberPull((2,), A, digest(k)))
    share = sum(type(message) is wire.SubscriberPull for _, message in core.sent) / 500
    assert 0.24 < share < 0.36 if subscribed else share == 1


@pytest.mark.parametrize("pull", PULLS)
def test_pulls_take_the_answer_once_and_count_the_rounds(pull):
    core = Core(pull, gossip_subscribers=1.0).wants("c", "a", "b").wants(2, "a")
    lose(core, 3, route=(9, 1))
    for _ in range(3):
        assert core.recovery.start_round()
    core.time = 3.5
    answer = tagged(50, [("a", 3), ("b", 7)])
    core.routed((7, 2, ME), wire.GossipAnswer(0, answer))
    assert core.delivered == [answer._replace(hops=4)] and len(core.recovery.lost) == 0
    assert core.records == [("event_recovered", {"event": "9.1.50", "giver": 7, "rounds": 3, "seconds": 3.5})]
    core.routed((7, 2, ME), wire.GossipAnswer(0, answer))
    assert core.drops == ["late"] and len(core.delivered) == 1
    assert core.recovery.cache.numbered((hash_of("b"), 9, 1, 7)) == answer


# ---- figure 3, right: publisher pull -------------------------------------------------------------------


def test_events_record_the_brokers_they_meet():
    core = Core(PublisherPull).wants(2, "a")
    onward, _ = core.passes(tagged(1, [("a", 1)], route=(9, 4, 1)), 1)
    assert onward.route == (9, 4, 1, ME)
    assert core.recovery._routes == {9: (ME, 1, 4, 9)}
    onward, _ = core.passes(tagged(2, [("a", 2)], route=(9, *range(100, 162), 1)), 1)
    assert onward.route == () and core.recovery._routes == {9: (ME, 1, 4, 9)}, "longer than any route goes"
    assert Core(SubscriberPull).passes(tagged(1, route=()), 1)[0].route == ()


def test_publisher_pull_start_gossip_round():
    core = Core(PublisherPull).wants("c", "a", "b")
    assert not core.recovery.start_round()
    lose(core, 3, 5, route=(9, 4, 1))
    lose(core, 2, kind="b", source=9, route=(9, 1))
    lose(core, 2, kind="b", source=8)  # no route to this one
    for _ in range(20):
        assert core.recovery.start_round()
        ((to, message),) = core.take()
        assert to == (ME, 1) and message.route == (ME, 1, 9), "the way of its last event"
        assert message.epoch == 1 and sorted(message.lost) == sorted(((A, (5, 3)), (hash_of("b"), (2,))))


def test_publisher_pull_handle_gossip_msg_the_first_cache_on_the_way_answers():
    core = Core(PublisherPull)
    kept = tagged(1, [("a", 5)])
    core.passes(kept, 1)
    route = (7, 2, ME, 1, 9)
    core.routed((2, ME), wire.PublisherPull(route, 1, ((A, (5, 6)),)))
    core.run(1.0)
    assert core.take() == [((ME, 1), wire.PublisherPull(route, 1, ((A, (6,)),))),
                           ((ME, 2, 7), wire.GossipAnswer(0, kept))]
    core.routed((2, ME), wire.PublisherPull(route, 1, ((A, (5,)),)))
    assert not any(type(message) is wire.PublisherPull for _, message in core.take())


def test_publisher_pull_ends_at_the_source():
    core = Core(PublisherPull).wants(2, "a")
    sent, _ = core.passes(event(1, source=ME), None)
    core.routed((2, ME), wire.PublisherPull((7, 2, ME), 1, ((A, (1, 2)),)))
    core.run(1.0)
    answers = [one for one in core.take() if type(one[1]) is wire.GossipAnswer]
    assert answers == [((ME, 2, 7), wire.GossipAnswer(0, sent._replace(route=())))]
    core.routed((2, ME), wire.PublisherPull((7, 2, ME), 2, ((A, (1,)),)))  # another life of the source
    assert core.take() == []


# ---- combined ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_combined_draws_one_of_the_two_pulls_each_round(share):
    core = Core(Combined, gossip_subscribers=share).wants("c", "a").wants(2, "a")
    lose(core, 3, route=(9, 1))
    rounds = Counter()
    for _ in range(400):
        core.recovery.start_round()
        ((_, message),) = core.take()
        rounds[message.name] += 1
    assert abs(rounds["SUBSCRIBER_PULL"] / 400 - share) < 0.07
    assert rounds["SUBSCRIBER_PULL"] + rounds["PUBLISHER_PULL"] == 400


def test_combined_has_the_other_pull_where_one_has_nobody_to_ask():
    alone = Core(Combined, gossip_subscribers=1.0).wants("c", "a")
    lose(alone, 3, route=(9, 1))
    assert alone.recovery.start_round() and alone.take()[0][1].name == "PUBLISHER_PULL"
    routeless = Core(Combined, gossip_subscribers=0.0).wants("c", "a").wants(2, "a")
    lose(routeless, 3)
    assert routeless.recovery.start_round() and routeless.take()[0][1].name == "SUBSCRIBER_PULL"


# ---- what they share -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECOVERIES)
def test_an_event_that_comes_by_the_tree_after_it_was_recovered_goes_on_but_is_not_delivered_again(name):
    core = Core(RECOVERIES[name], gossip_subscribers=1.0).wants("c", "a").wants(2, "a")
    lose(core, 3, route=(9, 1))
    core.over(2, wire.PushGossip((2,), A, digest(50))) if name == "push" else core.recovery.start_round()
    answer = tagged(50, [("a", 3)])
    core.routed((2, ME), wire.GossipAnswer(0, answer))
    assert len(core.delivered) == 1
    onward, clients = core.passes(answer, 1, ["c"])
    assert EventId(*onward[:3]) == (9, 1, 50) and clients == []
    assert core.records[-1] == ("duplicate", {"event": "9.1.50", "link": str(link(1))})


def test_rounds_run_at_the_gossip_interval_and_adapt_to_the_work():
    def rounds(seconds, **config):
        core = Core(Push, **config).wants(2, "a")
        core.passes(event(1), 1)
        core.recovery.start()
        core.run(seconds)
        return core
    assert 95 <= len(rounds(100.0).sent) <= 106
    idle = rounds(100.0, gossip_adaptive=True)
    assert 8 <= len(idle.sent) <= 14
    idle.sent.clear()
    idle.routed((2, ME), wire.GossipRequest(digest(1)))
    idle.run(1.2)
    assert len(idle.sent) >= 1, "a request makes the interval the shortest at once"


@pytest.mark.parametrize(("config", "finding"), [
    ({"recovery": "combined", "forwarding": "covering"}, 'recovery: found "combined" with node.forwarding = "covering"'),
    ({"recovery": "publisher_pull", "forwarding": "covering"}, 'recovery: found "publisher_pull"'),
    ({"recovery": "push", "strategy": "event"}, 'recovery: found "push" with node.strategy = "event"')])
def test_what_does_not_go_together_is_refused(config, finding):
    with pytest.raises(ValueError, match=finding.replace("(", r"\(")):
        Broker(1, 1, NodeConfig(**config), None)
