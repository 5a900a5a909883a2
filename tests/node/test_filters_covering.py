"""Covering is exact for single constraints and sound for filters; a merger matches exactly the union."""

from __future__ import annotations

import itertools
import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.filters import Constraint, Filter, covers, merge, never, parse
from node.filters.covering import contradiction
from node.filters.language import ORDERINGS, PATTERNS
from tests.node.filter_strategies import attributes, filters

LARGEST = sys.float_info.max


def words(letters: list, longest: int, empty) -> list:
    return [
        empty[:0].join(word)
        for size in range(longest + 1)
        for word in itertools.product(letters, repeat=size)
    ]


# The least letter, two neighbors in the middle, the greatest letter and the one before it.
TEXTS = words(["\0", "a", "b", "\U0010fffe", "\U0010ffff"], 4, "")
BYTES = words([b"\0", b"a", b"\xfe", b"\xff"], 4, b"")
NUMBERS = [
    -LARGEST,
    math.nextafter(-LARGEST, 0),
    -1.5,
    -5e-324,
    0,
    5e-324,
    1,
    math.nextafter(1, 2),
    2,
    2.5,
    2**53,
    math.nextafter(math.nextafter(LARGEST, 0), 0),
    math.nextafter(LARGEST, 0),
    LARGEST,
]
# Where there is a witness against covering at all, there is one among the bounds and the doubles beside them.
NEARBY = sorted(
    {
        near
        for bound in NUMBERS
        for near in (math.nextafter(bound, -LARGEST), bound, math.nextafter(bound, LARGEST))
    }
)


def singles(values: list, operators: tuple) -> list[Constraint]:
    return [Constraint("x", op, (value,)) for op in operators for value in values]


def choices(values: list, count: int) -> list[Constraint]:
    pairs = list(itertools.combinations(values, 2))
    return [Constraint("x", "in", pair) for pair in random.Random(3).sample(pairs, count)]


CASES = {
    "text": (
        TEXTS,
        singles([text for text in TEXTS if len(text) <= 2], ("=", "!=", *ORDERINGS, *PATTERNS))
        + choices(TEXTS[:8], 8),
    ),
    "bytes": (
        BYTES,
        singles([text for text in BYTES if len(text) <= 2], ("=", "!=", *ORDERINGS, *PATTERNS))
        + choices(BYTES[:8], 8),
    ),
    "number": (NEARBY, singles(NUMBERS, ("=", "!=", *ORDERINGS)) + choices(NUMBERS, 20)),
    "mixed": (
        [True, False, -1, 0, 1, 1.5, "", "\0", "a", "ab", "b", b"", b"\0", b"a", b"ab", b"b"],
        [
            *singles([True, False, 0, 1, "a", b"a"], ("=", "!=")),
            *choices([True, False, 0, 1, "a", b"a"], 15),
            *singles([0, "a", b"a"], ("<", ">=")),
            *singles(["", b""], PATTERNS),
            Constraint("x", "exists"),
            Constraint("x", "in", (True, False)),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_covering_of_single_constraints_is_exact(case):
    domain, constraints = CASES[case]
    satisfied = {one: sum(1 << i for i, value in enumerate(domain) if one.test(value)) for one in constraints}
    wrong = [
        f"{f!r} covers {g!r}: {covers(Filter([f]), Filter([g]))}"
        for f, g in itertools.product(constraints, repeat=2)
        if covers(Filter([f]), Filter([g])) != (satisfied[g] & ~satisfied[f] == 0)
    ]
    assert wrong == []


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_of_two_constraints_that_can_never_match_is_so(case):
    domain, constraints = CASES[case]
    satisfied = {one: {value for value in map(key_of, domain) if one.test(value[1])} for one in constraints}
    wrong = [
        f"{f!r} and {g!r}: {contradiction(Filter([f, g]))}"
        for f, g in itertools.combinations(constraints, 2)
        if bool(contradiction(Filter([f, g]))) != (not satisfied[f] & satisfied[g])
    ]
    assert wrong == []


def key_of(value) -> tuple:
    return type(value), value


@pytest.mark.parametrize(("text", "why"), [
    ("a = 1 and a = 2", "a = 1 and a = 2, which exclude each other"),
    ("a > 5 and b = 1 and a < 3", "a < 3 and a > 5, which exclude each other"),
    ("a >= 1 and a <= 1 and a != 1", "a != 1 and a <= 1 and a >= 1, which exclude each other"),
    ('a = 1 and a = "1"', 'a = 1 and a = "1", which exclude each other'),
    ("a != 1 and a != true", "a != 1 and a != true, which exclude each other"),
    ('b exists and a < ""', 'a < "", which nothing satisfies'),
    ('a prefix "x" and a prefix "y"', 'a prefix "x" and a prefix "y", which exclude each other'),
    ("a = 1 and b = 2", ""), ("a > 1 and a < 1.5", ""), ("a exists and a = 1", ""), ("*", ""),
])  # fmt: skip
def test_a_filter_that_can_never_match_is_told_by_what_excludes_what(text, why):
    assert never(parse(text)) == why


@given(filters(6), attributes())
def test_what_can_never_match_never_matches(f, event):
    assert not (never(f) and f.matches(event))


def test_the_ends_of_the_domains():
    def single(op, value):
        return Filter([Constraint("x", op, (value,))])

    assert covers(single("<", 3), Filter([Constraint("y", "<", ("",))]))  # nothing is less than ""
    assert covers(single("<", 3), Filter([Constraint("y", ">", (LARGEST,))]))
    assert covers(single("=", LARGEST), single(">", math.nextafter(LARGEST, 0)))
    assert covers(Filter([Constraint("x", "in", ("", "\0"))]), single("<=", "\0"))
    assert not covers(Filter([Constraint("x", "in", ("", "\0"))]), single("<=", "\0\0"))
    assert not covers(Filter([Constraint("x", "exists")]), Filter([Constraint("y", "exists")]))


def test_filters_of_several_constraints():
    assert covers(parse("a > 3"), parse('a > 5 and b = "x"'))
    assert not covers(parse('a > 5 and b = "x"'), parse("a > 3"))
    assert covers(parse("*"), parse("a exists"))
    assert not covers(parse("a exists"), parse("*"))


@given(filters(), filters(), attributes())
def test_covering_is_sound(f, g, event):
    if covers(f, g) and g.matches(event):
        assert f.matches(event)


@given(filters(), filters(), filters())
def test_covering_is_a_partial_order(f, g, h):
    assert covers(f, f)
    if covers(f, g) and covers(g, h):
        assert covers(f, h)


@given(filters(), filters(), st.lists(attributes(), min_size=5, max_size=5))
def test_a_merger_matches_exactly_the_union(f, g, events):
    merged = merge(f, g)
    if merged is not None:
        for event in events:
            assert merged.matches(event) == (f.matches(event) or g.matches(event))


@pytest.mark.parametrize(
    ("f", "g", "merged"),
    [
        ('k = "a" and x > 3', 'k = "b" and x > 3', 'k in ["a", "b"] and x > 3'),
        ("x in [1, 2]", "x in [2, true]", "x in [1, 2, true]"),
        ("x < 3", "x > 3.0", "x != 3"),
        ('x > "m"', 'x < "m"', 'x != "m"'),
        ("x < 3 and k = 1", "x = 3 and k = 1", "x <= 3 and k = 1"),
        ("x > 3", "x in [3, 4, 50]", "x >= 3"),
        ("x > 3", "x in [3, 2]", None),
        ("x > 3", "x > 5 and k = 1", "x > 3"),
        ("x = 1 and k = 1", "x = 2 and k = 2", None),
        ("x = 1", "y = 1", None),
        ("x < 3", "x > 4", None),
        ("x < 3", 'x > "3"', None),
    ],
)
def test_mergers(f, g, merged):
    expected = parse(merged) if merged else None
    assert merge(parse(f), parse(g)) == expected
    assert merge(parse(g), parse(f)) == expected


def test_a_merger_keeps_the_bounds_of_a_filter():
    many = Filter([Constraint("x", "in", range(20))]), Filter([Constraint("x", "in", range(20, 40))])
    assert merge(*many) is None
    long = [
        Filter(
            [
                Constraint("x", "=", (letter * 1000,)),
                Constraint("y", "=", ("y" * 1000,)),
                Constraint("z", "=", ("z" * 1000,)),
                Constraint("w", "=", ("w" * 900,)),
            ]
        )
        for letter in "ab"
    ]
    assert merge(*long) is None
