"""The schema files are right, their notation is read as it says, and mistakes in them are named."""

from __future__ import annotations

import copy

import pytest

from node import schema
from node.schema import RecordType, SchemaError, Type

GOOD = {
    "PING": {
        "code": 1,
        "scope": "hop",
        "family": "test",
        "doc": "a test",
        "fields": [{"name": "a", "type": "u8", "doc": "a number"}],
    }
}


def test_the_files_are_read_whole():
    assert list(schema.messages())[:5] == ["HELLO", "DATA", "FRAGMENT", "ACK", "RESET"]
    assert {"published", "delivered", "traffic", "radio_up"} <= set(schema.records())
    head = schema.header()
    assert (head.magic, head.layout.size) == (b"Rc", 16)
    assert head.layout.size + head.tag_bytes < head.max_datagram <= 1200
    assert [name for name, _, _ in head.fields] == ["magic", "version", "flags", "sender", "epoch", "counter"]


def test_every_message_and_field_is_explained():
    for message in schema.messages().values():
        assert message.doc and message.family and all(field.doc for field in message.fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u32", Type("u32")),
        ("epoch?", Type("optional", 0, (Type("epoch"),))),
        ("text:64", Type("text", 64)),
        ("list:16:(node, u32)", Type("list", 16, (Type("tuple", 2, (Type("node"), Type("u32"))),))),
        ("list:2:bytes:8", Type("list", 2, (Type("bytes", 8),))),
        ("list:2:list:3:filter", Type("list", 2, (Type("list", 3, (Type("filter"),)),))),
        (
            "(node,list:4:u8,bool?)",
            Type(
                "tuple",
                3,
                (Type("node"), Type("list", 4, (Type("u8"),)), Type("optional", 0, (Type("bool"),))),
            ),
        ),
        ("(u8,u8)?", Type("optional", 0, (Type("tuple", 2, (Type("u8"), Type("u8"))),))),
    ],
)
def test_types_of_fields(text, expected):
    assert schema.parse_type(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "u33",
        "text",
        "text:",
        "text:x",
        "list:4",
        "list:4:",
        "list:x:u8",
        "(u8",
        "(u8,",
        "()",
        "(u8;u8)",
        "u8 u8",
        "u8)",
        "u8??x",
        "int",
    ],
)
def test_no_types_of_fields(text):
    with pytest.raises(ValueError):
        schema.parse_type(text)


def test_types_of_records():
    assert schema.parse_record_type("list<int>?") == RecordType("list", True, (RecordType("int"),))
    assert schema.parse_record_type("list<{type: text, n: int?}>") == RecordType(
        "list",
        items=(
            RecordType(
                "struct", fields=(("type", RecordType("text")), ("n", RecordType("int", nullable=True)))
            ),
        ),
    )
    value = schema.parse_record_type("value")
    assert [name for name, _ in value.fields] == ["n", "s", "b", "x"]
    assert schema.parse_record_type("constraint").fields[2] == ("values", RecordType("list", items=(value,)))
    for text in (
        "",
        "number",
        "list<",
        "list<int",
        "{",
        "{a}",
        "{a: int",
        "{a: int; b: int}",
        "int int",
        "{}",
    ):
        with pytest.raises(ValueError):
            schema.parse_record_type(text)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"colour": 1}, r"messages.toml: \[PING\] colour: no such key"),
        ({"code": None}, r"\[PING\] code: is missing"),
        ({"doc": None}, r"\[PING\] doc: is missing"),
        ({"code": 256}, r"\[PING\] code: 256 is not a number from 0 to 255"),
        ({"code": "1"}, "code: '1' is not a number"),
        ({"code": True}, "code: True is not a number"),
        ({"scope": "tree"}, r"scope: 'tree' is neither \"hop\" nor \"link\""),
        ({"scope": "link"}, 'inside: messages of scope "link" travel in others; say inside = true'),
        ({"fields": [{"name": "a", "type": "u8"}]}, "needs name, type and doc"),
        ({"fields": [{"name": "a", "type": "u8", "doc": "x", "size": 3}]}, "and no more"),
        ({"fields": [{"name": "a", "type": "u8", "doc": "x"}] * 2}, "a is there twice"),
        (
            {"fields": [{"name": "a", "type": "text", "doc": "x"}]},
            r"\[PING\] a: type 'text': `text` needs a bound, as in `text:16`",
        ),
    ],
)
def test_mistakes_in_messages_are_named(change, error):
    tables = copy.deepcopy(GOOD)
    tables["PING"] = {key: value for key, value in (tables["PING"] | change).items() if value is not None}
    with pytest.raises(SchemaError, match=error):
        schema.messages_from(tables)


def test_two_messages_with_one_code():
    with pytest.raises(SchemaError, match=r"messages.toml: \[PONG\] code: 1 is PING's; 2 is free"):
        schema.messages_from(GOOD | {"PONG": GOOD["PING"]})
    assert list(schema.messages_from(GOOD)) == ["PING"]


COMMON = {"t": 1.5, "node": 3}


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "tree_state", "leader": 1, "depth": 0, "parent": None, "seeking": False},
        {
            "kind": "repair_ended",
            "rid": None,
            "cause": "repair",
            "outcome": "joined",
            "attempts": 1,
            "seconds": 2,
        },
        {"kind": "identity_conflict", "other": 3, "epochs": [1, 2]},
        {
            "kind": "published",
            "client": "c",
            "event": "1.1.1",
            "bytes": 3,
            "attributes": [{"name": "a", "value": {"n": 1.0, "s": None}}],
        },
    ],
)
def test_right_records(record):
    assert schema.faults(COMMON | record) == []


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({"kind": "nonsense"}, "kind: 'nonsense' is none of records.toml"),
        ({"kind": "link_abandoned"}, "link_abandoned.rid: is missing"),
        ({"kind": "link_abandoned", "rid": None}, "link_abandoned.rid: null, but it must be there"),
        ({"kind": "link_abandoned", "rid": 3}, "link_abandoned.rid: 3 is not text"),
        ({"kind": "link_abandoned", "rid": "x", "why": 1}, "link_abandoned.why: no such field"),
        (
            {"kind": "link_abandoned", "rid": "x", "t": None},
            "link_abandoned: t (a number) and node (an int) belong in every record",
        ),
        (
            {"kind": "identity_conflict", "other": True, "epochs": []},
            "identity_conflict.other: True is not int",
        ),
        (
            {"kind": "identity_conflict", "other": 1, "epochs": [1, "2"]},
            "identity_conflict.epochs[1]: '2' is not int",
        ),
        (
            {
                "kind": "published",
                "client": "c",
                "event": "e",
                "bytes": 1,
                "attributes": [{"name": "a", "value": {"z": 1}}],
            },
            "published.attributes[0].value.z: no such field",
        ),
        (
            {"kind": "published", "client": "c", "event": "e", "bytes": 1, "attributes": [{"name": "a"}]},
            "published.attributes[0].value: null, but it must be there",
        ),
    ],
)
def test_wrong_records(record, fault):
    assert schema.faults(COMMON | record) == [fault]
