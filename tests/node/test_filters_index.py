"""The index matches as one filter after the other would, whatever was added and removed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.filters import Constraint, Filter, Index, parse
from tests.node.filter_strategies import attributes, filters

HOPS = ["north", "south", 7]


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
    assert not index._entries and index.match({"kind": "k", "x0": 1}) == set()


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
    assert index._entries and index._clusters._names and index._everything
    for pair in pairs:
        index.remove(*pair)
    assert not index._entries and not index._clusters._names and not index._everything
