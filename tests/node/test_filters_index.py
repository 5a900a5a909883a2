"""The index matches as one filter after the other would, whatever was added and removed."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.filters import Constraint, Filter, Index, parse
from node.filters.bits import MANY_HOPS, MOST, PIECE
from node.filters.language import ORDERINGS, PATTERNS
from tests.node.filter_strategies import attributes, filters

HOPS = ["north", "south", 7]


def is_empty(index: Index) -> bool:
    rest = index._others
    return not (index._entries or index._clusters or index._equal
                or rest.bare or rest.few or rest.groups or rest.size)


def brute(pairs: set, event: dict) -> set:
    return {hop for filter, hop in pairs if filter.matches(event)}


@given(
    st.lists(st.tuples(st.booleans(), filters(), st.sampled_from(HOPS)), max_size=30),
    st.lists(attributes(), max_size=5),
    st.randoms(use_true_random=False),
)
def test_index_equals_brute_force(steps, events, chance):
    index, pairs = Index(), set()
    for adding, filter, hop in steps:
        if not adding and pairs:
            filter, hop = chance.choice(sorted(pairs, key=str))
            assert index.remove(filter, hop)
            pairs.remove((filter, hop))
        else:
            assert index.add(filter, hop) == ((filter, hop) not in pairs)
            pairs.add((filter, hop))
        for event in events:
            assert index.match(event) == brute(pairs, event)


@pytest.mark.parametrize("names", [1, 3])
def test_large_clusters_grow_and_shrink(names):
    """Many filters behind one access predicate: counted, and looked at one by one when few are left."""
    chance = random.Random(names)
    index, pairs = Index(), set()

    def constraint(name: str) -> Constraint:
        op = chance.choice(["=", "!=", "<", "<=", ">", ">=", "in", "exists"])
        values = () if op == "exists" else [chance.randrange(6) / 2 for _ in range(3 if op == "in" else 1)]
        return Constraint(name, op, values)

    def some_filter() -> Filter:
        rest = [constraint(f"x{chance.randrange(names)}") for _ in range(chance.randrange(4))]
        return Filter([Constraint("kind", "=", ("k",)), *rest])

    def check() -> None:
        for _ in range(10):
            event = {
                "kind": "k",
                **{f"x{i}": chance.choice([0, 0.5, 1, 2, 2.5, True, "a"]) for i in range(names)},
            }
            assert index.match(event) == brute(pairs, event)
        assert index.match({"kind": "other", "x0": 1}) == set()

    for round in range(6):
        for _ in range(40):
            pair = some_filter(), chance.randrange(30)
            index.add(*pair)
            pairs.add(pair)
        check()
        for pair in chance.sample(sorted(pairs, key=str), len(pairs) - round % 3):
            assert index.remove(*pair)
            pairs.remove(pair)
            if len(pairs) < 12:
                check()
    for pair in sorted(pairs, key=str):
        index.remove(*pair)
    assert is_empty(index) and index.match({"kind": "k", "x0": 1}) == set()


# ---- many filters about the same attributes: each is a bit ---------------------------------------------

ORDERED = [0, -0.0, 1, 1.0, 1.5, 0.1, -3, 2**53, -(2**53), 2.0**60, 1e308, -1e308, 5e-324,
           "", "a", "ab", "abc", "b", "ba", "\u00e9", "\U0001f600", b"", b"a", b"ab", b"ba", b"\xff"]
BOUNDS = [*ORDERED, True, False]
# what no event carries (node/filters/language.py) but a matcher may be asked all the same is among them
MET = st.one_of(st.sampled_from(BOUNDS), st.floats(), st.integers(), st.text("ab\u00e9", max_size=4),
                st.binary(max_size=2),
                st.sampled_from([10**400, -(10**400), 2**53 + 1, math.nan, math.inf, -math.inf]))


def some_constraint(chance: random.Random, name: str) -> Constraint:
    op = chance.choice(["=", "!=", *ORDERINGS * 2, *PATTERNS, "exists", "in"])
    if op == "exists":
        return Constraint(name, op)
    if op == "in":
        return Constraint(name, op, chance.sample(BOUNDS, 3))
    usable = BOUNDS if op in ("=", "!=") else [value for value in ORDERED
                                               if op in ORDERINGS or type(value) in (str, bytes)]
    if op in ORDERINGS and chance.random() < 0.5:
        return Constraint(name, op, (chance.uniform(-5, 5),))
    return Constraint(name, op, (chance.choice(usable),))


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([3, 3 * MANY_HOPS]), st.booleans(),
       st.lists(st.dictionaries(st.sampled_from("ab"), MET), min_size=1, max_size=12))
def test_many_filters_about_the_same_attributes_equal_brute_force(seed, hops, equality, events):
    """Of all operators and types, two of a kind on an attribute too; with and without an equality before."""
    chance = random.Random(seed)
    index, pairs = Index(), set()
    first = [Constraint("kind", "=", ("k",))] if equality else []
    events = [{**event, "kind": "k"} for event in [*events, {"a": math.nan, "b": math.nan}]]

    def check() -> None:
        for event in events:
            assert index.match(event) == brute(pairs, event)

    for _ in range(3):
        for _ in range(150):
            names = chance.choice(["a", "ab", "ab", "aab", "abb"])
            one = Filter([*first, *(some_constraint(chance, name) for name in names)])
            pair = one, chance.randrange(hops)
            assert index.add(*pair) == (pair not in pairs)
            pairs.add(pair)
        check()
        for pair in chance.sample(sorted(pairs, key=str), len(pairs) - chance.randrange(30)):
            assert index.remove(*pair)
            pairs.remove(pair)
            if chance.random() < 0.02:
                check()
        check()
    for pair in pairs:
        index.remove(*pair)
    assert is_empty(index)


@pytest.mark.parametrize("type_of_bound", [float, str])
def test_spans_come_and_go_and_each_event_finds_its_own(type_of_bound):
    """Several pieces of bounds, split and joined; a bound that many share stands in several of them."""
    chance = random.Random(5)
    index, spans = Index(), {}

    def bound(number: int) -> float | str:
        return float(number) if type_of_bound is float else f"{number:06}"

    def check() -> None:
        for number in [chance.randrange(1100) for _ in range(20)]:
            value = bound(number)
            wanted = {hop for hop, (low, high, _) in spans.items() if low < value <= high}
            assert index.match({"x": value}) == wanted

    for _ in range(8):
        for hop in range(10 * PIECE):
            if hop not in spans and chance.random() < 0.7:
                low = 500 if chance.random() < 0.4 else chance.randrange(1000)
                low, high = bound(low), bound(low + chance.randrange(1, 50))
                one = Filter([Constraint("x", ">", (low,)), Constraint("x", "<=", (high,))])
                spans[hop] = low, high, one
                index.add(one, hop)
                if hop % 50 == 0:
                    check()
        check()
        for hop in chance.sample(sorted(spans), len(spans) * 14 // 15):
            index.remove(spans.pop(hop)[2], hop)
            if hop % 50 == 0:
                check()
        check()
        ((block,),) = [group.blocks for groups in index._others.groups.values() for group in groups.values()]
        for _, _, kind in block._tests:
            sizes = [len(bounds) for bounds in kind._bounds]
            assert sum(sizes) == len(block) and len(sizes) <= 1 + 8 * len(block) / PIECE
            assert sorted(sum(kind._bounds, [])) == sum(kind._bounds, []) and min(sizes) > 0


def test_of_few_hops_a_block_knows_what_each_wants_and_of_many_it_keeps_nothing():
    index, filters = Index(), [parse(f"x > {number}") for number in range(MANY_HOPS + 10)]
    for number, one in enumerate(filters):
        index.add(one, "a")
        index.add(one, "b" if number == 40 else "a")
    block = index._entries[filters[0]].block
    assert set(block._hops) == {"a", "b"}
    assert index.match({"x": 40}) == {"a"} and index.match({"x": 41}) == {"a", "b"}
    index.remove(filters[40], "b")
    assert set(block._hops) == {"a"} and index.match({"x": 41}) == {"a"}
    for number, one in enumerate(filters):
        index.add(one, number)
    assert block._hops is None and index.match({"x": 2}) == {"a", 0, 1}


def test_more_filters_than_a_block_holds():
    index = Index()
    for number in range(MOST + 100):
        index.add(parse(f"x > {number} and x < {number + 2}"), number)
    for number in (0, 77, MOST - 1, MOST + 99):
        assert index.match({"x": number + 1}) == {number}
    for number in range(MOST + 100):
        index.remove(parse(f"x > {number} and x < {number + 2}"), number)
    assert is_empty(index)


def test_adding_and_removing_say_what_changed():
    index, f = Index(), parse("x = 1")
    assert index.add(f, "a") and not index.add(f, "a") and index.add(f, "b")
    assert index.match({"x": 1}) == {"a", "b"}
    assert index.remove(f, "a") and not index.remove(f, "a") and not index.remove(parse("x = 2"), "a")
    assert index.match({"x": 1}) == {"b"}
    assert index.remove(f, "b") and index.match({"x": 1}) == set()


def test_an_emptied_index_holds_nothing():
    """What was added and removed again must not stay in memory: filters come from the air."""
    index, pairs = Index(), [(parse("*"), 0)]
    for i in range(200):
        pairs.append((parse(f'k = {i} and x > {i} and y prefix "{i}" and z in [{i}, 5]'), i))
        pairs.append((parse(f"k = 1 and x > {i} and z in [{i}, 5] and w < {i}"), i))
    for pair in pairs:
        index.add(*pair)
    assert not is_empty(index)
    for pair in pairs:
        index.remove(*pair)
    assert is_empty(index)
