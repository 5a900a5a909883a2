"""The filter language: what matches, one canonical form, the text form and its errors, the wire form."""

from __future__ import annotations

import copy
import pickle

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import schema
from node.filters import Constraint, Filter, FilterError, attributes_as_record, check_attributes, parse
from node.filters.language import MAX_FILTER, WORDS
from tests.node.filter_strategies import attributes, constraints, filters

EVENT = {"kind": "temp", "value": 30.5, "count": 3, "on": True, "key": b"\xde\xad\xbe\xef"}

any_value = st.one_of(
    st.text(max_size=20),
    st.integers(-(2**53), 2**53),
    st.booleans(),
    st.binary(max_size=20),
    st.floats(allow_nan=False, allow_infinity=False),
)
any_name = st.text(min_size=1, max_size=16)
any_constraint = st.one_of(
    st.builds(lambda name, value: Constraint(name, "=", (value,)), any_name, any_value),
    st.builds(
        lambda name, values: Constraint(name, "in", values),
        any_name,
        st.lists(any_value, min_size=1, max_size=5),
    ),
)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ('kind = "temp"', True),
        ("kind = 'temp' and value > 30", True),
        ('kind = "tem"', False),
        ("value > 30.5", False),
        ("value >= 30.5", True),
        ("value < 31", True),
        ("value <= 30", False),
        ("count = 3.0", True),
        ("count != 3.0", False),
        ("count in [1, 2, 3]", True),
        ("count in [1, 2]", False),
        ("on = true", True),
        ("on != true", False),
        ("on != false", True),
        ("on = 1", False),
        ("on > 0", False),
        ("on in [1]", False),
        ("on in [1, true]", True),
        ('count in [true, "3"]', False),
        ("count = true", False),
        ("key = 0xdeadbeef", True),
        ("key prefix 0xdead", True),
        ("key suffix 0xBEEF", True),
        ("key contains 0xadbe", True),
        ("key > 0xdd", True),
        ('key prefix "x"', False),
        ('kind prefix "te"', True),
        ('kind suffix "mp"', True),
        ('kind contains "em"', True),
        ('kind contains "x"', False),
        ("kind exists", True),
        ("other exists", False),
        ('other != "x"', False),
        ("kind != 3", False),
        ('kind != "humidity"', True),
        ('kind > "a"', True),
        ("*", True),
        ("kind EXISTS AND on = TRUE", True),
    ],
)
def test_what_matches(text, matches):
    assert parse(text).matches(EVENT) is matches


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "column 1: found the end; expected the name of an attribute, or `*` for all events"),
        ("a == 3", "column 3: found `==`; write `=`"),
        ("a <> 3", "column 3: found `<>`; write `!=`"),
        (
            "a = 1 or b = 2",
            "column 7: found `or`; there is no `or`: subscribe once for each alternative",
        ),
        ("a = 1 && b = 2", "column 7: found `&&`; write `and`"),
        ("not a = 1", "column 1: found `not`; there is no `not`: write `a != 1`"),
        ("(a = 1)", "column 1: found `(`; there are no parentheses: join constraints with `and`"),
        (
            "a = te",
            (
                'column 5: found `te`; expected a value: "text", a number, true, false or 0x... '
                '(put text in quotes: "te")'
            ),
        ),
        ("a =", 'column 4: found the end; expected a value: "text", a number, true, false or 0x...'),
        (
            "a",
            "column 2: found the end; expected one of = != < <= > >= prefix suffix contains exists in",
        ),
        ("a = 3 b = 4", "column 7: found `b`; expected `and` or the end"),
        ("* and a = 3", "column 3: found `and`; expected the end, because `*` is a whole filter"),
        ("a in 3", "column 6: found `3`; expected `[`, as in [1, 2]"),
        ("a in [1 2]", "column 9: found `2`; expected `,` or `]`"),
        ("a in []", 'column 7: found `]`; expected a value: "text", a number, true, false or 0x...'),
        (
            "in = 3",
            'column 1: found `in`; expected the name of an attribute (put it in quotes if you mean one: "in")',
        ),
        ('b = 1 and a = "x', 'column 15: found a text without a closing "; write " at its end'),
        ("a = 0xabc", "column 5: found `0xabc`, which is not bytes; write pairs of hex digits, as in 0xdeadbeef"),
        (
            "a = ü",
            "column 5: found `ü`, which is not a name, operator or value; put text, and names with unusual letters, in quotes",
        ),
        (
            "a = 3x",
            "column 5: found `3x`, which is not a name, operator or value; put text, and names with unusual letters, in quotes",
        ),
        (r'a = "\q"', r"""column 6: found `\q`, which is not an escape; use \" \' \\ \n \r \t \uXXXX"""),
        (r'a = "\ud800"', r"column 6: found `\ud800`, which is not a character; expected a code point outside D800 to DFFF, up to 10FFFF"),
        ("b = 1 and a > true", "column 11: found true or false for `>`; expected a number, text or bytes"),
        ("a prefix 3", "column 1: found 3 for `prefix`; expected text or bytes"),
        ("a > 1e-400", "column 5: found `1e-400`, which is too close to 0 to tell apart; write 0"),
        ("a = 9007199254740993.0",
         "column 5: found `9007199254740993.0`, which has more digits than a number can hold; write 9007199254740992.0, its nearest value"),
        ("a = 1e999", "column 1: found inf; expected a finite number"),
        ("a = 9007199254740993", "column 1: found an integer out of range; expected -2**53 to 2**53"),
    ],
)
def test_errors_name_the_column_and_the_cure(text, error):
    with pytest.raises(FilterError) as found:
        parse(text)
    assert str(found.value) == error


@given(st.text(max_size=60))
def test_any_text_is_a_filter_or_an_error_with_a_cure(text):
    try:
        parse(text)
    except FilterError as error:
        assert str(error).startswith("column ")


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "b",
                " ",
                "=",
                "<",
                "in",
                "[",
                "]",
                ",",
                "1",
                "-2.5",
                '"x"',
                "0x00",
                "and",
                "*",
                "exists",
                "true",
                "prefix",
                "'",
                "e9",
            ]
        ),
        max_size=12,
    )
)
def test_any_tokens_are_a_filter_or_an_error(tokens):
    try:
        found = parse(" ".join(tokens))
    except FilterError:
        return
    assert parse(str(found)) == found


@given(st.lists(st.one_of(constraints(), any_constraint), max_size=6).map(Filter))
def test_text_and_wire_and_copies_give_the_same_filter(f):
    assert parse(str(f)) == f
    assert Filter.from_wire(f.to_wire()) == f
    assert Filter.from_wire(cbor2.loads(cbor2.dumps(f.to_wire()))) == f
    assert cbor2.dumps(f.to_wire()) == f.key
    assert copy.deepcopy(f) == f == pickle.loads(pickle.dumps(f))


@pytest.mark.parametrize(
    "name", [*WORDS, "And", "OR", "x y", "1x", "é", "a-b", "a.b:c_1", "_", "-", '"', "\\", "\n", "\x00", "*"]
)
def test_every_name_has_a_text_form(name):
    f = Filter([Constraint(name, "exists"), Constraint(name, "!=", (name,))])
    assert parse(str(f)) == f


@given(st.lists(constraints(), max_size=4), st.randoms(use_true_random=False), attributes())
def test_order_and_repetition_do_not_matter(parts, chance, event):
    f = Filter(parts)
    again = [*parts, *parts[:2]]
    chance.shuffle(again)
    g = Filter(again)
    assert (f, f.hash, hash(f), str(f)) == (g, g.hash, hash(g), str(g))
    assert f.matches(event) == all(part.matches(event) for part in parts)


def test_numbers_are_numbers_and_booleans_are_not():
    assert parse("x = 1") == parse("x = 1.0") and parse("x = -0.0") == parse("x = 0")
    assert parse("x = 1") != parse("x = true") and parse("x = 1").hash != parse("x = true").hash
    assert parse("x in [1, 1.0]") == parse("x = 1")
    assert parse("x in [1, true]") != parse("x = 1")
    assert len({parse("x = 1"), parse("x = 1.0"), parse("x = true")}) == 2


def test_the_hash_is_eight_bytes_and_stays_what_it_is():
    # Neighbors compare these, and so must two versions of this program.
    assert parse('kind = "temp" and value > 30').hash.hex() == "3e62789265e4dd14"
    assert parse("*").hash.hex() == "b8afefdc6a3ec0dd"


def test_filters_and_constraints_do_not_change():
    f = parse("x = 1")
    with pytest.raises(AttributeError):
        f.hash = b""
    with pytest.raises(AttributeError):
        f.constraints[0].name = "y"
    with pytest.raises(AttributeError):
        del f.constraints


@pytest.mark.parametrize(
    "wire",
    [
        None,
        1,
        "x",
        {},
        [1],
        [[]],
        [["x"]],
        [["x", "exists", 1]],
        [["x", "="]],
        [["x", "=", 1, 2]],
        [["x", "==", 1]],
        [["", "=", 1]],
        [["x" * 65, "=", 1]],
        [["é" * 33, "=", 1]],
        [[1, "=", 1]],
        [["x", 1, 1]],
        [["x", [], 1]],
        [["x", "=", None]],
        [["x", "=", [1]]],
        [["x", "=", {}]],
        [["x", "=", float("nan")]],
        [["x", "=", float("inf")]],
        [["x", "=", 2**53 + 1]],
        [["x", "=", -(2**64)]],
        [["x", "=", "x" * 1025]],
        [["x", "=", "é" * 513]],
        [["x", "=", b"x" * 1025]],
        [["x", "=", 1.0]],
        [["x", "=", -0.0]],
        [["x", "in", 1]],
        [["x", "in", 2, 1]],
        [["x", "in", 1, 1]],
        [["x", "in", *range(33)]],
        [["x", "<", True]],
        [["x", "prefix", 1]],
        [["y", "=", 1], ["x", "=", 1]],
        [["x", "=", 1], ["x", "=", 1]],
        [["x", "=", i] for i in range(17)],
        [["x", "contains", chr(97 + i) * 1000] for i in range(5)],
        [["x", "=", "\ud800"]],
    ],
)
def test_a_wire_form_that_is_not_ours_is_refused(wire):
    with pytest.raises(FilterError):
        Filter.from_wire(wire)


def test_bounds_of_filters():
    assert Filter.from_wire([["x", "in", *range(24), *range(24, 32)]])
    assert len(Filter([Constraint("x", "=", ("x" * 1024,))]).constraints) == 1
    with pytest.raises(FilterError, match="found 17 constraints in a filter; expected at most 16"):
        Filter(Constraint(f"x{i}", "exists") for i in range(17))
    with pytest.raises(FilterError, match=f"expected at most {MAX_FILTER}"):
        Filter(Constraint(f"x{i}", "=", ("v" * 1000,)) for i in range(5))


@pytest.mark.parametrize(
    "wrong",
    [
        {"": 1},
        {"x" * 65: 1},
        {"é" * 33: 1},
        {1: 1},
        {"x": None},
        {"x": 2**53 + 1},
        {"x": -(2**53) - 1},
        {"x": float("nan")},
        {"x": float("-inf")},
        {"x": "v" * 1025},
        {"x": "é" * 513},
        {"x": b"v" * 1025},
        {"x": (1,)},
        {"x": {}},
        {"x": 1j},
        {"\ud800": 1},
        {"x": "\ud800"},
        {f"x{i}": 1 for i in range(33)},
    ],
)
def test_attributes_out_of_bounds_are_refused(wrong):
    with pytest.raises(FilterError):
        check_attributes(wrong)


def test_attributes_within_bounds():
    check_attributes(
        {**EVENT, "x" * 64: "v" * 1024, "é" * 32: "é" * 512, "b": b"v" * 1024, "i": 2**53, "j": -(2**53)}
    )
    check_attributes({f"x{i}": i for i in range(32)})


@given(filters(), attributes())
def test_records_are_as_the_schema_says(f, event):
    common = {"t": 0.0, "node": 1, "client": "c"}
    assert (
        schema.faults(
            {
                **common,
                "kind": "subscribed",
                "filter": str(f),
                "hash": f.hash.hex(),
                "constraints": f.as_record(),
            }
        )
        == []
    )
    assert (
        schema.faults(
            {
                **common,
                "kind": "published",
                "event": "1.1.1",
                "bytes": 0,
                "attributes": attributes_as_record(event),
            }
        )
        == []
    )


def test_records_of_values():
    assert attributes_as_record({"a": 1, "b": True, "c": "x", "d": b"\x01"}) == [
        {"name": "a", "value": {"n": 1}},
        {"name": "b", "value": {"b": True}},
        {"name": "c", "value": {"s": "x"}},
        {"name": "d", "value": {"x": "01"}},
    ]
    assert parse("a in [1, true]").as_record() == [
        {"name": "a", "op": "in", "values": [{"n": 1}, {"b": True}]}
    ]
