"""Hypothesis strategies for events and filters over few names and values, so that they meet."""

from __future__ import annotations

from hypothesis import strategies as st

from node.filters import Constraint, Filter
from node.filters.language import ORDERINGS, PATTERNS

NAMES = ["a", "b", "c"]
VALUES = [0, 1, 2, 1.5, -0.0, 1.0, True, False, "", "a", "ab", "b", "bab", b"", b"a", b"ab"]


def values() -> st.SearchStrategy:
    return st.sampled_from(VALUES)


def attributes() -> st.SearchStrategy[dict]:
    return st.dictionaries(st.sampled_from(NAMES), values(), max_size=3)


@st.composite
def constraints(draw) -> Constraint:
    name = draw(st.sampled_from(NAMES))
    op = draw(st.sampled_from(["=", "=", "!=", *ORDERINGS, *PATTERNS, "exists", "in"]))
    if op == "exists":
        return Constraint(name, op)
    if op == "in":
        return Constraint(name, op, draw(st.lists(values(), min_size=1, max_size=4)))
    usable = [
        value
        for value in VALUES
        if (op not in ORDERINGS or type(value) is not bool)
        and (op not in PATTERNS or type(value) in (str, bytes))
    ]
    return Constraint(name, op, (draw(st.sampled_from(usable)),))


def filters(most: int = 3) -> st.SearchStrategy[Filter]:
    return st.lists(constraints(), max_size=most).map(Filter)
