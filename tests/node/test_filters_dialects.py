"""Filters in other languages are refused with what is written here instead; what is translated reads, and means the same."""
from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import filters
from node.filters import dialects

TRANSLATED = {
    "color IN ('red','blue')": 'color in ["red", "blue"]', "color in (1, 2": "color in [1, 2]", "a in {1,2}": "a in [1, 2]",
    "a = 1 and room IN ('it''s')": 'room in ["it\'s"]',
    "a/#": 'topic prefix "a/"', "sensors/+/temp": 'topic prefix "sensors/"', "sensors/room": 'topic = "sensors/room"',
    "name LIKE 'park%'": 'name prefix "park"', "name like '%north'": 'name suffix "north"', "name LIKE '%k/n%'": 'name contains "k/n"',
    "name ILIKE 'x'": 'name = "x"', "name LIKE '%'": "name exists",
    "NOT a = 1": "a != 1", "NOT (a > 1)": "a <= 1", "not a == 'x'": 'a != "x"', "!(a = 1)": "a != 1",
    "value BETWEEN 1 AND 5": "value >= 1 and value <= 5", "day BETWEEN 'a' AND 'b'": 'day >= "a" and day <= "b"',
    "a IS NOT NULL": "a exists", "a != null": "a exists", "exists(a)": "a exists", "EXISTS a": "a exists",
    "kind:temp": 'kind = "temp"', "kind: temp": 'kind = "temp"', "value:=31": "value = 31", "open := true": "open = true",
    "5 < a": "a > 5", "'x' == a": 'a = "x"', "1 < a <= 5": "a > 1 and a <= 5", "5 >= a > 1": "a <= 5 and a > 1",
    "a ≥ 5": "a >= 5", "kind eq 'temp'": 'kind = "temp"', "value gt 30": "value > 30", "a === 1": "a = 1", "a ^= 'x'": 'a prefix "x"',
    "name startsWith 'park'": 'name prefix "park"', "name ends with 'h'": 'name suffix "h"', "kind = temp*": 'kind prefix "temp"',
    "kind = TEMP and size is 'big'": 'size = "big"', "name =~ 'p'": 'name contains "p"',
}
NAMED = {
    "#": "MQTT topic; write `*` to match every event", "$.kind == 'temp'": "`kind = ...`", "$['kind'] = 'temp'": "`kind = ...`",
    "/event/kind = 'temp'": "`kind = ...`", "//kind": "`kind = ...`", "@kind = 'temp'": "`kind = ...`",
    "note = 'it''s'": "\"it's\"", "name LIKE 'a_b%'": "there are no patterns", "name NOT LIKE 'x%'": "there is no `not`",
    "a not in (1,2)": "there is no `not in`", "a IS NULL": "there is no null", "a = null": "there is no null",
    "a = 1 && b = 2": "write `and`", "a = 1 & b = 2": "join constraints with `and`", "a = 1, b = 2": "join constraints with `and`",
    "a = 1; b = 2": "join constraints with `and`", "a = 1 || b = 2": "subscribe once for each", "a = 1 | b = 2": "subscribe once for each",
    "a = 1 or b = 2": "subscribe once for each", "a == 1": "write `=`", "a <> 1": "write `!=`", "!a": "write `!=`",
    '{"kind": "temp"}': "this is JSON", "SELECT * FROM events": "an SQL query", "WHERE a = 1": "leave out the word",
    "a exists and": "expected the name of an attribute", "a exists b": "expected `and` or the end",
    "kind = “temp”": "typographic quotes", "name matches /p.*/": "there are no patterns", "(a = 1)": "no parentheses",
}


def refusal(text: str) -> str:
    with pytest.raises(filters.FilterError) as refused:
        filters.parse(text)
    return str(refused.value)


@pytest.mark.parametrize("text", TRANSLATED)
def test_what_is_easy_is_translated(text):
    said = refusal(text)
    assert said.startswith("column ") and f"write `{TRANSLATED[text]}`" in said
    filters.parse(TRANSLATED[text])


@pytest.mark.parametrize("text", NAMED)
def test_what_is_not_is_named(text):
    assert NAMED[text] in refusal(text)


def test_a_name_that_ends_in_a_colon_stands_in_quotes():
    wanted = filters.parse('"value:" = 31')
    assert str(wanted) == '"value:" = 31' and filters.parse(str(wanted)) == wanted
    assert filters.parse("a:b = 1").constraints[0].name == "a:b"


@given(st.text(alphabet="ab 'in\"()%$/#+:=<>!&|.,0[]{}~", max_size=60) | st.text(max_size=60))
def test_whatever_is_typed_is_read_or_refused(text):
    try:
        filters.parse(text)
    except filters.FilterError as error:
        assert "\n" not in str(error) or "\n" in text


def test_long_texts_are_looked_at_no_longer_than_short_ones():
    for piece in ("'", "a ", "''", "a/", "a = 'x' ", "(", "in("):
        text = piece * (dialects.LONGEST // len(piece) - 1) + "?"
        assert dialects.cure(text) is None or refusal(text)  # and it ends
    assert dialects.cure("a IN (1)" + " " * dialects.LONGEST) is None
    assert re.match("column", refusal("a IN (1)" + " " * dialects.LONGEST))
