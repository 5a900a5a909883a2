"""Our datagrams out of captures, read by node/schema/: whoever sent them, their messages, and what these carry.

As strict as node/wire.py in types and bounds, and no more: it needs no secret, and takes any attributes and filters.
Names of messages and fields are the schema's; what the tables need of a message (to whom, on which channel, which event)
is looked up by the name of its field, and is missing where the schema has no such field.
"""
from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import cbor2

import node.schema as schema
from node.schema import canonical

HEADER = schema.header()
PORT = HEADER.port
_NAMES = tuple(name for name, _, _ in HEADER.fields)
_LAYOUT = HEADER.layout
_AUTHENTICATED = 1  # bit of the header's flags
_EVENT = ("source", "epoch", "sequence")  # fields whose values name an event
Check = Callable[[Any], bool]


class Message(NamedTuple):
    type: str  # what it is or, in an envelope, what it carries: as the records of traffic count it
    envelope: str | None  # the message it came in, such as DATA
    bytes: int  # its share of the datagram; header, framing and tag count to the first message
    to: list[dict[str, int | None]]  # addressees: node, nonce and sequence number of the channel
    event: str | None  # that it carries, as source.epoch.sequence
    fields: str  # of the message itself, as JSON


class Datagram(NamedTuple):
    sender: int
    epoch: int
    counter: int
    authenticated: bool
    messages: list[Message]


class Malformed(Exception):
    """Not a datagram of this version's schema; str() says where and why."""


def read(payload: bytes) -> Datagram | None:
    """The datagram that a payload of UDP is; None for what does not begin as ours. Raises Malformed."""
    if not payload.startswith(HEADER.magic):
        return None
    if len(payload) < _LAYOUT.size + 1:
        raise Malformed(f"short: a datagram of {len(payload)} bytes")
    head = dict(zip(_NAMES, _LAYOUT.unpack_from(payload), strict=True))
    if head["version"] != HEADER.version:
        raise Malformed(f"version: {head['version']}, and this is version {HEADER.version}")
    if head["flags"] & ~_AUTHENTICATED:
        raise Malformed(f"flags: {head['flags']:#x}")
    if not head["epoch"]:
        raise Malformed("epoch: 0")
    tag = HEADER.tag_bytes if head["flags"] & _AUTHENTICATED else 0
    if len(payload) > HEADER.max_datagram or len(payload) < _LAYOUT.size + 1 + tag:
        raise Malformed(f"oversize: {len(payload)} bytes" if len(payload) > HEADER.max_datagram else "short: no room for its tag")
    return Datagram(head["sender"], head["epoch"], head["counter"], bool(tag),
                    _messages(payload[_LAYOUT.size:len(payload) - tag], len(payload)))


def _messages(body: bytes, size: int) -> list[Message]:
    try:
        found = canonical.loads(body, HEADER.max_depth)
    except canonical.NotCbor:
        raise Malformed("cbor: none that is allowed") from None
    except canonical.NotCanonical:
        raise Malformed("noncanonical: not in the one form that is allowed") from None
    if not isinstance(found, list) or not found:
        raise Malformed("message: none in the datagram")
    lengths = [len(cbor2.dumps(value)) for value in found[1:]]
    return [_message(value, length) for value, length in zip(found, [size - sum(lengths), *lengths], strict=True)]


def _message(value: Any, size: int) -> Message:
    table, fields = _checked(value)
    to, inner, envelope = _addressees(table, fields), fields, None
    while (place := _carried(table.name)) is not None and "event" not in _names(table.name):
        envelope = envelope or table.name
        table, inner = _checked(inner[place])
    kind = table.name
    event = _event(table, inner)
    return Message(kind, envelope, size, to, event, _JSON(dict(zip(_names(kind), inner, strict=True))))


def _checked(value: Any) -> tuple[schema.MessageSchema, list[Any]]:
    if not isinstance(value, list) or not value or type(value[0]) is not int or value[0] not in _codes():
        raise Malformed("message: not one of the schema")
    table, checks = _codes()[value[0]]
    if len(value) != len(checks) + 1:
        raise Malformed(f"message: {table.name} has {len(checks)} fields, found {len(value) - 1}")
    fields = value[1:]
    for one, check, field in zip(fields, checks, table.fields, strict=True):
        if not check(one):
            raise Malformed(f"field: {table.name}.{field.name}")
    return table, fields


@cache
def _codes() -> dict[int, tuple[schema.MessageSchema, list[Check]]]:
    return {table.code: (table, [_check(field.type) for field in table.fields]) for table in schema.messages().values()}


@cache
def _names(message: str) -> tuple[str, ...]:
    return tuple(field.name for field in schema.messages()[message].fields)


@cache
def _carried(message: str) -> int | None:
    """The field of a message that holds another."""
    return next((place for place, field in enumerate(schema.messages()[message].fields) if field.type.kind == "message"), None)


def _addressees(table: schema.MessageSchema, fields: list[Any]) -> list[dict[str, int | None]]:
    """To whom a message is: of the fields `addressees` (node, nonce, sequence number) and `to` with `nonce`."""
    names = _names(table.name)
    if "addressees" in names:
        rows = [one if isinstance(one, list) else [one] for one in fields[names.index("addressees")]]
        return [{"node": row[0], "nonce": row[1] if len(row) > 1 else None, "sequence": row[2] if len(row) > 2 else None}
                for row in rows]
    if "to" in names and table.fields[names.index("to")].type.kind == "node":
        nonce = fields[names.index("nonce")] if "nonce" in names else None
        return [{"node": fields[names.index("to")], "nonce": nonce, "sequence": None}]
    return []


def _event(table: schema.MessageSchema, fields: list[Any]) -> str | None:
    """The event that a message is or holds. An event names itself by three fields."""
    names = _names(table.name)
    if all(name in names for name in (*_EVENT, "published")):
        return ".".join(str(fields[names.index(name)]) for name in _EVENT)
    place = _carried(table.name)
    return None if place is None else _event(*_checked(fields[place]))


def _hex(value: Any) -> str:
    """What JSON does not have: bytes, in hex."""
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError


_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False, default=_hex).encode


def _check(kind: schema.Type) -> Check:
    """Whether a value is of a type of the schema and within its bounds."""
    name, bound, inner = kind.kind, kind.bound, [_check(item) for item in kind.items]
    if name in schema.UNSIGNED:
        low, high = int(name == "epoch"), 2 ** schema.UNSIGNED[name]
        return lambda value: type(value) is int and low <= value < high
    if name == "optional":
        return lambda value: value is None or inner[0](value)
    if name == "list":
        return lambda value: isinstance(value, list) and len(value) <= bound and all(map(inner[0], value))
    if name == "tuple":
        return lambda value: isinstance(value, list) and len(value) == len(inner) and all(
            check(one) for check, one in zip(inner, value, strict=True))
    return _PLAIN[name](bound)


_PLAIN: dict[str, Callable[[int], Check]] = {
    "f64": lambda bound: lambda value: isinstance(value, float) and math.isfinite(value),
    "bool": lambda bound: lambda value: isinstance(value, bool),
    "text": lambda bound: lambda value: isinstance(value, str) and len(value.encode(errors="replace")) <= bound,
    "bytes": lambda bound: lambda value: isinstance(value, bytes) and len(value) <= bound,
    "attributes": lambda bound: lambda value: isinstance(value, dict) and all(
        isinstance(name, str) and isinstance(one, str | int | float | bool | bytes) for name, one in value.items()),
    "filter": lambda bound: lambda value: isinstance(value, list),
    "message": lambda bound: lambda value: isinstance(value, list),
}
