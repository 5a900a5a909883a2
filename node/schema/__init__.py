"""The contracts as data: what a datagram, a message and a record look like, read from the TOML files here.

The design, "contracts are data": node/wire.py builds its messages from this, the analysis its tables, the
scapy layer and the Wireshark dissector their fields. This is the only part of node that the analysis reads,
so it needs the standard library only and imports nothing of ours.

A mistake in a file is a SchemaError that names the file, the table and what would do.
"""
from __future__ import annotations

import struct
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent


class SchemaError(ValueError):
    """A schema file says something that cannot be; its text names the file, the place and the cure."""


class Type(NamedTuple):
    """The type of a message's field. `bound` is a size in bytes or items, `items` the types inside."""

    kind: str
    bound: int = 0
    items: tuple[Type, ...] = ()

    def contains(self, kind: str) -> bool:
        return self.kind == kind or any(item.contains(kind) for item in self.items)


class Field(NamedTuple):
    name: str
    type: Type
    doc: str
    unit: str = ""


class MessageSchema(NamedTuple):
    name: str  # key in messages.toml, "FRAGMENT"
    code: int  # first item of the message's array
    scope: str  # "hop" or "link"
    family: str
    inside: bool  # may be carried by a field of type `message`
    doc: str
    fields: tuple[Field, ...]

    @property
    def class_name(self) -> str:
        return "".join(word.capitalize() for word in self.name.split("_"))


class HeaderSchema(NamedTuple):
    version: int
    magic: bytes
    max_datagram: int  # bytes, header and tag included
    max_depth: int
    tag_bytes: int
    port: int
    fields: tuple[tuple[str, str, str], ...]  # name, struct format, doc

    @property
    def layout(self) -> struct.Struct:
        return struct.Struct("!" + "".join(form for _, form, _ in self.fields))


class RecordType(NamedTuple):
    """The type of a record's field: kind is int, float, text, bool, list (of `items[0]`) or struct.

    A struct's `fields` are (name, type) pairs; the types named value, attribute and constraint in
    records.toml come out as the structs that they stand for.
    """

    kind: str
    nullable: bool = False
    items: tuple[RecordType, ...] = ()
    fields: tuple[tuple[str, RecordType], ...] = ()


class RecordSchema(NamedTuple):
    kind: str
    doc: str
    fields: dict[str, RecordType]


UNSIGNED = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "node": 32, "epoch": 32}
BOUNDED = ("text", "bytes", "list")
PLAIN = (*UNSIGNED, "f64", "bool", "attributes", "filter", "message")
RECORD_PLAIN = ("int", "float", "text", "bool")
# The named structs of records.toml, in its own notation.
RECORD_NAMES = {
    "value": "{n: float?, s: text?, b: bool?, x: text?}",
    "attribute": "{name: text, value: value}",
    "constraint": "{name: text, op: text, values: list<value>}",
}


def parse_type(text: str) -> Type:
    """The type that `text` writes in the notation at the head of messages.toml; ValueError if none."""
    found, rest = _message_type(text.replace(" ", ""))
    if rest:
        raise ValueError(f"`{rest}` is left over")
    return found


def _message_type(text: str, listed: bool = False) -> tuple[Type, str]:
    """The type that `text` begins with, and the rest. The `?` behind an item of a list is the list's."""
    if text.startswith("("):
        items: list[Type] = []
        rest = text
        while not rest.startswith(")"):
            item, rest = _message_type(rest[1:])
            items.append(item)
            if not rest.startswith((",", ")")):
                raise ValueError(f"a tuple goes on with `,` or `)`, not `{rest}`")
        found, rest = Type("tuple", len(items), tuple(items)), rest[1:]
    else:
        word = _word(text)
        rest = text[len(word):]
        if word in BOUNDED:
            number = _word(rest[1:])
            if not rest.startswith(":") or not number.isdecimal():
                raise ValueError(f"`{word}` needs a bound, as in `{word}:16`")
            rest = rest[1 + len(number):]
            inside: tuple[Type, ...] = ()
            if word == "list":
                if not rest.startswith(":"):
                    raise ValueError("a list needs a type for its items, as in `list:16:node`")
                inner, rest = _message_type(rest[1:], listed=True)
                inside = (inner,)
            found = Type(word, int(number), inside)
        elif word in PLAIN:
            found = Type(word)
        else:
            raise ValueError(f"`{word or text}` is no type; known are {', '.join((*PLAIN, *BOUNDED))}")
    if rest.startswith("?") and not listed:
        found, rest = Type("optional", 0, (found,)), rest[1:]
    return found, rest


def _word(text: str) -> str:
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return text[:end]


def parse_record_type(text: str) -> RecordType:
    """The type that `text` writes in the notation at the head of records.toml; ValueError if none."""
    found, rest = _record_type(text.replace(" ", ""))
    if rest:
        raise ValueError(f"`{rest}` is left over")
    return found


def _record_type(text: str) -> tuple[RecordType, str]:
    if text.startswith("{"):
        fields: list[tuple[str, RecordType]] = []
        rest = text
        while not rest.startswith("}"):
            name = _word(rest[1:])
            if not name or not rest[1 + len(name):].startswith(":"):
                raise ValueError(f"a struct has `name: type` pairs, not `{rest[1:]}`")
            inner, rest = _record_type(rest[2 + len(name):])
            fields.append((name, inner))
            if not rest.startswith((",", "}")):
                raise ValueError(f"a struct goes on with `,` or `}}`, not `{rest}`")
        found, rest = RecordType("struct", fields=tuple(fields)), rest[1:]
    elif text.startswith("list<"):
        inner, rest = _record_type(text[5:])
        if not rest.startswith(">"):
            raise ValueError("a list ends with `>`")
        found, rest = RecordType("list", items=(inner,)), rest[1:]
    else:
        word = _word(text)
        rest = text[len(word):]
        if word in RECORD_NAMES:
            found = parse_record_type(RECORD_NAMES[word])
        elif word in RECORD_PLAIN:
            found = RecordType(word)
        else:
            known = ", ".join((*RECORD_PLAIN, "list<>", "{}", *RECORD_NAMES))
            raise ValueError(f"`{word or text}` is no type; known are {known}")
    if rest.startswith("?"):
        found, rest = found._replace(nullable=True), rest[1:]
    return found, rest


@cache
def header() -> HeaderSchema:
    table = read("header.toml")
    return HeaderSchema(
        table["version"], table["magic"].encode("ascii"), table["max_datagram"], table["max_depth"],
        table["tag_bytes"], table["port"],
        tuple((field["name"], field["struct"], field["doc"]) for field in table["fields"]))


@cache
def messages() -> dict[str, MessageSchema]:
    """All messages by their key in messages.toml, in its order."""
    return messages_from(read("messages.toml"))


def messages_from(tables: dict[str, Any]) -> dict[str, MessageSchema]:
    """The same from the tables themselves; SchemaError if one is wrong or two share a code."""
    found: dict[str, MessageSchema] = {}
    codes: dict[int, str] = {}
    for name, table in tables.items():
        message = _message(name, table)
        if message.code in codes:
            raise SchemaError(f"messages.toml: [{name}] code: {message.code} is {codes[message.code]}'s; "
                              f"{max(codes) + 1} is free")
        codes[message.code] = name
        found[name] = message
    return found


def _message(name: str, table: dict[str, Any]) -> MessageSchema:
    where = f"messages.toml: [{name}]"
    unknown = set(table) - {"code", "scope", "family", "inside", "doc", "fields"}
    if unknown:
        raise SchemaError(f"{where} {min(unknown)}: no such key")
    for key in ("code", "scope", "family", "doc", "fields"):
        if key not in table:
            raise SchemaError(f"{where} {key}: is missing")
    if type(table["code"]) is not int or not 0 <= table["code"] <= 255:
        raise SchemaError(f"{where} code: {table['code']!r} is not a number from 0 to 255")
    if table["scope"] not in ("hop", "link"):
        raise SchemaError(f"{where} scope: {table['scope']!r} is neither \"hop\" nor \"link\"")
    inside = table.get("inside", False)
    if table["scope"] == "link" and not inside:
        raise SchemaError(f"{where} inside: messages of scope \"link\" travel in others; say inside = true")
    fields: list[Field] = []
    for entry in table["fields"]:
        unknown = set(entry) - {"name", "type", "doc", "unit"}
        if unknown or not {"name", "type", "doc"} <= set(entry):
            raise SchemaError(f"{where} fields: {entry} needs name, type and doc, may have unit, and no more")
        if entry["name"] in [field.name for field in fields]:
            raise SchemaError(f"{where} fields: {entry['name']} is there twice")
        try:
            kind = parse_type(entry["type"])
        except ValueError as error:
            raise SchemaError(f"{where} {entry['name']}: type {entry['type']!r}: {error}") from None
        fields.append(Field(entry["name"], kind, entry["doc"], entry.get("unit", "")))
    return MessageSchema(name, table["code"], table["scope"], table["family"], inside, table["doc"],
                         tuple(fields))


@cache
def records() -> dict[str, RecordSchema]:
    """All record kinds in the order of records.toml. Every record has t, node and kind besides."""
    found = {}
    for kind, table in read("records.toml").items():
        fields = {}
        for name, text in table["fields"].items():
            try:
                fields[name] = parse_record_type(text)
            except ValueError as error:
                raise SchemaError(f"records.toml: [{kind}] {name}: type {text!r}: {error}") from None
        found[kind] = RecordSchema(kind, table["doc"], fields)
    return found


def faults(record: dict[str, Any]) -> list[str]:
    """What in a record (one decoded line of JSON) is not as records.toml says; empty when all is well."""
    kind = record.get("kind")
    schema = records().get(str(kind))
    if schema is None:
        return [f"kind: {kind!r} is none of records.toml"]
    wrong = []
    if type(record.get("t")) not in (int, float) or type(record.get("node")) is not int:
        wrong.append(f"{kind}: t (a number) and node (an int) belong in every record")
    expected = schema.fields.keys() | {"t", "node", "kind"}
    wrong += [f"{kind}.{name}: is missing" for name in sorted(expected - record.keys())]
    wrong += [f"{kind}.{name}: no such field" for name in sorted(record.keys() - expected)]
    for name, wanted in schema.fields.items():
        if name in record:
            wrong += _value_faults(f"{kind}.{name}", record[name], wanted)
    return wrong


_PYTHON: dict[str, tuple[Any, ...]] = {"int": (int,), "float": (int, float), "text": (str,), "bool": (bool,),
                                       "list": (list, tuple), "struct": (dict,)}


def _value_faults(where: str, value: Any, wanted: RecordType) -> list[str]:
    if value is None:
        return [] if wanted.nullable else [f"{where}: null, but it must be there"]
    if not isinstance(value, _PYTHON[wanted.kind]) or (isinstance(value, bool) and wanted.kind != "bool"):
        return [f"{where}: {value!r} is not {wanted.kind}"]
    if wanted.kind == "list":
        return [fault for i, item in enumerate(value)
                for fault in _value_faults(f"{where}[{i}]", item, wanted.items[0])]
    if wanted.kind != "struct":
        return []
    names = dict(wanted.fields)
    found = [f"{where}.{name}: no such field" for name in sorted(set(value) - set(names))]
    for name, inner in wanted.fields:
        if name in value or not inner.nullable:
            found += _value_faults(f"{where}.{name}", value.get(name), inner)
    return found


def read(name: str) -> dict[str, Any]:
    try:
        return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SchemaError(f"{name}: {error}") from error
