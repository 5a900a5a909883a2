"""Filters that somebody may have meant otherwise: `sub` says so, and never of one that some event satisfies."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.sub import doubts
from node.filters import parse


@pytest.mark.parametrize("text", ["a > 5 and a < 3", "a = 1 and a = 2", "a = 1 and a != 1", "a in [1, 2] and a > 2", "a > 3 and a <= 3",
                                  'a = "x" and a > 1', 'a != "x" and a != 1', 'b = 1 and a prefix "x" and a < 3', 'a > "b" and a < "a"'])
def test_what_no_event_satisfies_is_said(text):
    [told] = doubts(text)
    assert told.startswith("no event can ever match it: ")


def test_bytes_are_said_to_be_no_number():
    assert list(doubts("a = 0x10")) == ["0x10 is 1 byte; the number is 16"]


NUMBERS = st.integers(-3, 3)
PARTS = st.builds("{} {} {}".format, st.sampled_from("ab"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), NUMBERS)


@given(st.lists(PARTS, min_size=1, max_size=4).map(" and ".join), st.fixed_dictionaries({"a": NUMBERS, "b": NUMBERS}))
def test_what_some_event_satisfies_is_not(text, event):
    if parse(text).matches(event):
        assert list(doubts(text)) == []
