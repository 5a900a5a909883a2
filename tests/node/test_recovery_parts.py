"""The parts that recoveries share, each against a model that is as plain as can be."""
from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from node import wire
from node.filters import parse
from node.ids import EventId
from node.parts import ASSEMBLIES, PATIENCE, PIECE, Parts
from node.recovery import cache as caches
from node.recovery import digest
from node.recovery.cache import Cache, size_of
from node.recovery.counters import ATTACHED, COUNTED, GAP, HEARD, WITHDRAWN, Numbers, Published
from node.recovery.interval import FACTOR, JITTER, SLOWEST, Interval
from node.recovery.lost import MOST, Lost
from node.routing.duplicates import WINDOW, SeenEvents
from node.routing.table import SubscriptionTable

A, B = b"a" * 8, b"b" * 8


class Clock:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


def tagged(sequence, counters=(), source=7, payload=b"", **attributes):
    return wire.TaggedEvent(source, 1, sequence, 0.0, 0, attributes, payload, tuple(counters), ())


# ---- the cache ------------------------------------------------------------------------------------


# number 0 from 0 to 19 s, number 2 at 19 s, number 0 again when it has expired
RETURNED = [(0, True, 0, 0.0), *[(0, True, 0, 1.0)] * 19, (2, True, 0, 0.0), (0, True, 0, 2.0)]


@given(st.lists(st.tuples(st.integers(0, 60), st.booleans(), st.integers(0, 400), st.floats(0, 3)), max_size=60),
       st.sampled_from(["fifo", "random"]), st.integers(0, 2**32))
@example(RETURNED, "fifo", 0)
@example(RETURNED, "random", 0)
def test_a_cache_holds_what_fits_and_is_young_and_finds_it_by_id_number_and_filter(additions, eviction, seed):
    clock = Clock()
    cache = Cache(2500, 20.0, eviction, clock, random.Random(seed))
    added, wanted = {}, parse("even = true")
    for sequence, ours, size, wait in additions:
        clock.time += wait
        event = tagged(sequence, [(A, sequence)], payload=bytes(size), even=sequence % 2 == 0)
        if cache.get(EventId(*event[:3])) is None:
            added[sequence] = clock.time
        cache.add(event, ours)
        if sequence % 3 == 0:  # asked at any moment, the answer is right
            cache.matching(wanted)
        held = [name for name in (EventId(7, 1, k) for k in range(61)) if cache.get(name) is not None]
        assert len(cache) == len(held)
        assert cache.bytes == sum(size_of(cache.get(name)) for name in held) <= 2500
        assert all(clock.time - added[name.sequence] <= 20.0 for name in held)
        for k in range(61):
            assert (cache.numbered((A, 7, 1, k)) is not None) == (EventId(7, 1, k) in held)
            assert cache.numbered((B, 7, 1, k)) is None
        matching = cache.matching(wanted)
        assert sorted(matching) == [name for name in held if name.sequence % 2 == 0]
        assert [added[name.sequence] for name in matching] == sorted(added[name.sequence] for name in matching)


@pytest.mark.parametrize("eviction", ["fifo", "random"])
def test_others_events_go_before_own_and_subscribed_ones(eviction):
    each = size_of(tagged(0, [(A, 1)]))
    cache = Cache(10 * each, 100.0, eviction, Clock(), random.Random(1))
    for k in range(10):
        cache.add(tagged(k, [(A, k)]), ours=k < 5)
    for k in range(10, 15):
        cache.add(tagged(k, [(A, k)]), ours=True)
    assert [k for k in range(15) if cache.get(EventId(7, 1, k))] == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    cache.add(tagged(20, [(A, 20)]), ours=False)
    assert cache.get(EventId(7, 1, 20)) is None, "a stranger makes no room among ours"
    cache.add(tagged(21, [(A, 21)]), ours=True)
    assert cache.get(EventId(7, 1, 21)) and len(cache) == 10


def test_the_oldest_goes_first_or_any():
    each = size_of(tagged(0))
    gone = {}
    for eviction in ("fifo", "random"):
        cache = Cache(20 * each, 100.0, eviction, Clock(), random.Random(3))
        for k in range(30):
            cache.add(tagged(k), True)
        gone[eviction] = [k for k in range(30) if cache.get(EventId(7, 1, k)) is None]
    assert gone["fifo"] == list(range(10))
    assert gone["random"] != gone["fifo"] and len(gone["random"]) == 10


def test_what_is_larger_than_the_cache_is_not_kept_and_a_cache_of_nothing_keeps_nothing():
    cache = Cache(1000, 100.0, "fifo", Clock(), random.Random(1))
    cache.add(tagged(1), True)
    cache.add(tagged(2, payload=bytes(1000)), True)
    assert cache.get(EventId(7, 1, 1)) and not cache.get(EventId(7, 1, 2))
    nothing = Cache(0, 100.0, "fifo", Clock(), random.Random(1))
    nothing.add(tagged(1), True)
    assert len(nothing) == 0


def test_a_filter_that_is_asked_for_late_finds_all_and_the_memory_of_filters_is_bounded():
    cache = Cache(1 << 20, 100.0, "fifo", Clock(), random.Random(1))
    for k in range(50):
        cache.add(tagged(k, x=k), True)
    for k in range(caches.SCANS + 10):
        assert len(cache.matching(parse(f"x = {k}"))) == (k < 50)
    assert len(cache._scans) == caches.SCANS
    assert len(cache.matching(parse("x < 10"))) == 10


# ---- lost -----------------------------------------------------------------------------------------


def test_a_loss_is_kept_until_it_is_found_or_patience_ends():
    clock = Clock()
    lost = Lost(10.0, clock)
    for number in (3, 4):
        lost.add((A, 7, 1, number))
    clock.time = 4.0
    lost.add((B, 8, 1, 9))
    lost.add((A, 7, 1, 3))  # known already: it does not become younger
    assert lost.patterns() == [A, B] and lost.publishers() == [(7, 1), (8, 1)]
    lost.asked([(A, 7, 1, 3)])
    lost.asked([(A, 7, 1, 3), (B, 8, 1, 9)])
    assert lost.found([(A, 7, 1, 3), (B, 8, 1, 9), (B, 8, 1, 10)]) == (0.0, 2)
    assert lost.found([(A, 7, 1, 3)]) is None
    clock.time = 10.1
    assert len(lost) == 0 and lost.given_up == 1


def test_a_loss_that_is_noticed_again_when_its_patience_has_ended_is_a_new_one():
    clock = Clock()
    lost = Lost(10.0, clock)
    lost.add((A, 7, 1, 3))
    clock.time = 10.5
    lost.add((A, 7, 1, 3))
    assert lost.given_up == 1 and len(lost) == 1
    clock.time = 12.0
    assert lost.found([(A, 7, 1, 3)]) == (10.5, 0)


def test_losses_are_bounded_and_those_of_a_filter_go_with_it():
    lost = Lost(10.0, Clock())
    for number in range(MOST + 5):
        lost.add((A, 7, 1, number))
    assert len(lost) == MOST and (A, 7, 1, 4) not in lost and (A, 7, 1, 5) in lost and lost.given_up == 5
    lost.add((B, 7, 1, 1))
    lost.forget(A)
    assert lost.patterns() == [B]


# ---- counters -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.floats(0, 30)), max_size=60))
def test_a_counter_grows_by_one_an_event_and_never_goes_back_whatever_becomes_of_its_filter(history):
    """Filters come and go; while one is wanted, or was within the lifetime, no event of it goes uncounted."""
    clock = Clock()
    filters = {kind: parse(f'kind = "{kind}"') for kind in "ab"}
    published, live, sequence = Published(60.0, clock), {"a", "b"}, 0
    last, gone = {"a": 0, "b": 0}, {}
    for kind, publish, wait in history:
        clock.time += wait
        if not publish:
            if kind in live:
                live.discard(kind)
                gone[kind] = clock.time
                published.withdrawn(filters[kind])
            else:
                live.add(kind)
            continue
        sequence += 1
        counted = dict(published.attach(sequence, {"kind": kind}, [filters[k].hash for k in sorted(live & {kind})]))
        if kind in live or (kind in gone and clock.time <= gone[kind] + 60.0):
            number = counted.pop(filters[kind].hash)
            assert last[kind] < number <= sequence
            last[kind] = number
        assert not counted


def test_a_withdrawn_filter_is_counted_for_one_lifetime():
    clock = Clock()
    published, wanted = Published(60.0, clock), parse('kind = "a"')
    assert published.attach(1, {"kind": "a"}, [wanted.hash]) == ((wanted.hash, 1),)
    published.withdrawn(wanted)
    clock.time = 59.0
    assert published.attach(2, {"kind": "a"}, []) == ((wanted.hash, 2),)
    assert published.attach(3, {"kind": "b"}, []) == ()
    clock.time = 61.0
    assert published.attach(4, {"kind": "a"}, []) == ()
    assert published.attach(5, {"kind": "a"}, [wanted.hash]) == ((wanted.hash, 3),)


def test_a_forgotten_counter_begins_ahead_of_where_it_was():
    published = Published(60.0, Clock())
    for sequence in range(1, 11):
        published.attach(sequence, {}, [A])
    for k in range(COUNTED):
        published.current(k.to_bytes(8))
    assert published.attach(11, {}, [A]) == ((A, 11),)
    assert len(published._numbers) <= COUNTED + 1


def test_an_event_carries_a_bounded_number_of_counters_and_each_filter_has_its_turn():
    published = Published(60.0, Clock())
    keys = [k.to_bytes(8) for k in range(50)]
    seen = {}
    for sequence in range(1, 40):
        counters = published.attach(sequence, {}, keys)
        assert len(counters) == ATTACHED
        for key, number in counters:
            assert number > seen.get(key, 0)
            seen[key] = number
    assert set(seen) == set(keys)
    many = Published(60.0, Clock())
    for k in range(WITHDRAWN + 10):
        many.withdrawn(parse(f"x = {k}"))
    assert len(many._withdrawn) == WITHDRAWN


def test_numbers_skipped_are_noticed_from_the_first_one_heard_on():
    numbers, counter = Numbers(), (A, 7, 1)
    assert list(numbers.heard(counter, 50)) == []  # the baseline
    assert numbers.heard(counter, 50) is None and numbers.heard(counter, 49) is None
    assert list(numbers.heard(counter, 51)) == []
    assert list(numbers.heard(counter, 55)) == [52, 53, 54]
    assert list(numbers.heard((A, 7, 2), 9)) == []  # another life of the source
    assert len(numbers.heard(counter, 2**32 - 1)) == GAP  # forged: a bounded mistake ...
    assert list(numbers.heard(counter, 56)) == []  # ... that does not silence the source
    assert list(numbers.heard(counter, 58)) == [57]
    numbers.forget(A)
    assert numbers.get(counter) is None and numbers.of(A) == []


def test_the_counters_heard_of_are_bounded():
    numbers = Numbers()
    for source in range(HEARD + 10):
        numbers.heard((A, source, 1), 1)
    assert len(numbers.of(A)) == HEARD and numbers.get((A, 0, 1)) is None and numbers.get((A, HEARD, 1)) == 1


# ---- digests, intervals, the memory of what was seen ---------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 60), st.just(1), st.integers(0, 2**32 - 1)), max_size=400, unique=True))
def test_a_digest_says_what_was_put_in_and_fits(names):
    found = digest.grouped(names)
    assert not digest.too_large(found)
    said = list(digest.items(found))
    assert len(said) == len(set(said)) and set(said) <= set(names)
    if len(names) <= 20:
        assert sorted(said) == sorted(names)
    message = wire.GossipRequest(found)
    assert len(wire.encode_message(message)) <= digest.BYTES + 8


def test_the_largest_messages_of_recovery_fit_a_datagram():
    route = tuple(range(2**32 - 64, 2**32))
    widest = digest.grouped((2**32 - k, 2**32 - 1, 2**32 - k) for k in range(1, 500))
    keyed = digest.grouped((k.to_bytes(8), 2**32 - k) for k in range(1, 500))
    event = tagged(1, [(A, 2**32 - 1)] * ATTACHED, payload=bytes(PIECE))
    parts = list(Parts(Clock()).cut(wire.GossipAnswer(0, event)))
    for message in (wire.GossipRequest(widest), wire.PublisherPull(route, 2**32 - 1, keyed), *parts):
        wire.encode(wire.Peer(1, 1), 1, [wire.Relay(2**32 - 1, wire.Routed(route[:2], message))], b"secret")
    for message in (wire.GossipRequest(widest), *parts):
        wire.encode(wire.Peer(1, 1), 1, [wire.Relay(2**32 - 1, wire.Routed(route, message))], b"secret")


def test_of_more_than_fits_the_newest_are_named_and_any_of_the_rest():
    found = [(7, 1, k) for k in range(1000)]
    few = digest.chosen(found[:10], random.Random(1))
    assert few == found[9::-1]
    named = digest.chosen(found, random.Random(1))
    assert len(named) == len(set(named)) == digest.MOST
    assert named[:digest.MOST // 2] == found[:-(digest.MOST // 2) - 1:-1]
    assert set(digest.chosen(found, random.Random(2))) != set(named)


def test_the_interval_grows_while_idle_and_shrinks_at_once():
    chance = random.Random(1)
    fixed, adaptive = Interval(2.0, False, chance), Interval(2.0, True, chance)
    for _ in range(20):
        fixed.idle()
        adaptive.idle()
    assert 2 * (1 - JITTER) <= fixed.draw() <= 2 * (1 + JITTER) and not fixed.busy()
    assert 2 * SLOWEST * (1 - JITTER) <= adaptive.draw() <= 2 * SLOWEST * (1 + JITTER)
    assert adaptive.busy() and not adaptive.busy()
    assert adaptive.draw() <= 2 * (1 + JITTER)
    adaptive.idle()
    assert adaptive.draw() >= 2 * FACTOR * (1 - JITTER)


@given(st.lists(st.one_of(st.integers(1, 40), st.integers(1, 4 * WINDOW)), max_size=60), st.integers(0, 4 * WINDOW))
def test_whether_an_event_was_seen_can_be_asked_without_seeing_it(sequences, asked):
    seen, same = SeenEvents(), SeenEvents()
    for sequence in sequences:
        assert seen.contains(7, 1, sequence) != seen.first_time(7, 1, sequence)
        same.first_time(7, 1, sequence)
        seen.contains(7, 1, asked)
    assert seen.contains(7, 1, asked) == (not same.first_time(7, 1, asked))
    assert not seen.contains(8, 1, asked)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from(["l", "m"])), max_size=40))
def test_a_table_tells_all_filters_that_an_event_matches(changes):
    table = SubscriptionTable()
    filters = [parse(f"x >= {k}") for k in range(6)]
    for add, k, hop in changes:
        table.add(hop, filters[k]) if add else table.remove(hop, filters[k].hash)
        for x in (0, 3, 9):
            assert table.matching({"x": x}) == sorted(key for key, one in table if one.matches({"x": x}))


# ---- messages larger than a datagram ----------------------------------------------------------------


@given(st.integers(0, 4000), st.randoms(use_true_random=False))
def test_parts_make_up_the_whole_in_any_order(size, chance):
    message = wire.GossipAnswer(0, tagged(1, payload=bytes(size)))
    parts = list(Parts(Clock()).cut(message))
    if len(parts) == 1:
        assert parts == [message]
        return
    chance.shuffle(parts)
    into = Parts(Clock())
    assert [into.put(7, part) for part in parts[:-1] + parts[:1]] == [None] * len(parts)
    assert into.put(7, parts[-1]) == message
    assert not into._waiting


def test_parts_that_never_become_whole_are_bounded_in_number_and_time():
    clock, given_up = Clock(), []
    into = Parts(clock, lambda: given_up.append(clock.time))
    for sender in range(100):
        into.put(sender, wire.Part(1, 0, 2, b"x"))
    assert len(into._waiting) == ASSEMBLIES and len(given_up) == 100 - ASSEMBLIES
    clock.time = PATIENCE + 1
    into.put(500, wire.Part(1, 0, 2, b"x"))
    assert len(into._waiting) == 1 and len(given_up) == 100


@pytest.mark.parametrize("part", [wire.Part(1, 2, 2, b"x"), wire.Part(1, 0, 0, b"x"), wire.Part(1, 0, 255, b"x"),
                                  wire.Part(1, 0, 1, b"no message")])
def test_parts_of_nothing_are_refused(part):
    into = Parts(Clock())
    with pytest.raises(wire.Malformed):
        into.put(1, part)
    assert not into._waiting


def test_parts_that_do_not_agree_are_refused():
    into = Parts(Clock())
    into.put(1, wire.Part(1, 5, 6, b"x"))
    with pytest.raises(wire.Malformed):
        into.put(1, wire.Part(1, 0, 2, b"x"))
    assert not into._waiting
