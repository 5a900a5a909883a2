"""What `roamcast pub` makes of the words that it is given."""

from __future__ import annotations

import pytest

from cli.errors import UserError
from cli.pub import doubts, parse_attributes


def test_texts_numbers_and_truths():
    said = ["kind=temp", "value:=-31.5", "open:=false", "note=two words", "empty=", "code=007", "count:=3"]
    attributes = parse_attributes(said)
    assert attributes == {"kind": "temp", "value": -31.5, "open": False, "note": "two words", "empty": "", "code": "007", "count": 3}
    assert list(doubts(attributes)) == []


@pytest.mark.parametrize(("word", "told"), [
    ("value=31", "value=31 is text; write value:=31 for the number"),
    ("value=-1.5e3", "write value:=-1.5e3 for the number"),
    ("open=true", "open=true is text; write open:=true for the value true"),
    ('kind="temp"', 'kind="temp" is text with its quotes; write kind=temp for the text without them'),
    ("kind = temp", 'the name "kind " has blanks at an end; write kind=...'),
    ("kind :=1", 'the name "kind " has blanks at an end'),
    ("kind==temp", 'kind==temp is the text "=temp"; write kind=temp for the text without'),
])
def test_texts_that_may_be_meant_otherwise_are_told(word, told):
    [note] = doubts(parse_attributes([word]))
    assert told in note


@pytest.mark.parametrize(("words", "told"), [
    (["a:=NaN"], "a:=NaN: a number is finite"),
    (["a:=1e999"], "a:=1e999: a number is finite"),
    (["a:=" + "[" * 100_000], "takes a number, true or false"),
    (["a:=" + "9" * 5000], "takes a number, true or false"),
    (["a:=null"], "a:=null: := takes a number, true or false; for text write a=null"),
    (["=x"], "=x: not an attribute; write x=TEXT or x:=NUMBER"),
    (["a"], "a: not an attribute; write a=TEXT or a:=NUMBER"),
    (["a=1", "a:=1"], "a: given twice"),
])
def test_words_that_are_no_attribute_are_refused_in_a_short_sentence(words, told):
    with pytest.raises(UserError) as caught:
        parse_attributes(words)
    assert told in str(caught.value) and len(str(caught.value)) < 300
