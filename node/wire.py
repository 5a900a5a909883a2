"""Messages <-> datagrams: the only place where bytes from the air become values of the node.

The classes of the messages are those of node/messages.py, from schema/messages.toml. A datagram is the header of
schema/header.toml, one CBOR array of messages, and with a shared secret a tag over both (BLAKE2s, keyed).

Whatever arrives is untrusted. `decode` gives messages whose every field has its type and lies within its
bounds, or raises Malformed; it never raises anything else, and memory and time stay in proportion to the
datagram. cbor2 refuses nesting beyond `max_depth`, indefinite lengths, repeated keys and, told to, every tag.
Comparing the datagram with its own re-encoding refuses the rest (leftovers, numbers longer than need be, half
floats): what was read would be sent with the same bytes.

Both take the quick way of `codec` where they can; what follows here is the rule, and what is done with the rest.

`encode` checks what it sends by the same schema and raises ValueError: a message that every receiver drops
would stall a channel for ever.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from hashlib import blake2s
from hmac import compare_digest
from types import MappingProxyType
from typing import Any, NamedTuple

import cbor2

from node import codec, schema
from node.filters.language import Attributes, Filter, FilterError, Value, Wire, check_attributes
from node.ids import Peer
from node.messages import *  # noqa: F403  wire.Hello and all the others
from node.messages import CLASSES, Event, Message, TaggedEvent
from node.schema import canonical

_HEADER = schema.header()
_LAYOUT = _HEADER.layout
MAX_DATAGRAM = _HEADER.max_datagram  # bytes, header and tag included
MAX_MESSAGE = 65536  # bytes of one encoded message, put together from fragments
PORT = _HEADER.port
_AUTHENTICATED = 1  # bit of the header's flags
_ARRAY_OF = bytes(range(0x80, 0x98))  # first byte of an array, by its length; longer ones take more bytes

# Why a datagram or a message was dropped; every Malformed has one of these.
REASONS = (
    "oversize",  # longer than a datagram or a message may be
    "short",  # no room for the header, the tag, or any message
    "magic", "version", "flags", "epoch",  # that field of the header
    "unauthenticated",  # no tag, but this node has a secret
    "authenticated",  # a tag, but this node has no secret to check it with
    "forged",  # the tag is not that of our secret
    "cbor",  # no CBOR, or CBOR that is not accepted here
    "noncanonical",  # not the encoding that we would make: leftovers, long forms
    "message",  # not an array that begins with the code of a known message
    "scope",  # that message does not belong there
    "field",  # a field of a message has a wrong type or lies out of bounds
)


class Malformed(Exception):
    """A datagram or message from the air that is not to be believed. `reason`: one of REASONS."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class Datagram(NamedTuple):
    sender: Peer
    counter: int
    messages: tuple[Message, ...]


def encode(sender: Peer, counter: int, messages: Iterable[Message], secret: bytes = b"") -> bytes:
    """One datagram. ValueError if there is no message, a field is out of bounds, or it is too large."""
    messages = tuple(messages)
    if not messages:
        raise ValueError("a datagram carries at least one message")
    flags = _AUTHENTICATED if secret else 0
    datagram = _LAYOUT.pack(_HEADER.magic, _HEADER.version, flags, *sender, counter) + _body(messages)
    if secret:
        datagram += _tag(datagram, secret)
    if len(datagram) > MAX_DATAGRAM:
        names = ", ".join(message.name for message in messages)
        raise ValueError(f"{len(datagram)} bytes of {names}; a datagram has at most {MAX_DATAGRAM}")
    return datagram


def _body(messages: tuple[Message, ...]) -> bytes:
    """The array of messages that a datagram carries."""
    try:
        out = bytearray((_ARRAY_OF[len(messages)],))
        for message in messages:
            _HOP_WRITERS[type(message)](out, message)
        return bytes(out)
    except codec.UNUSUAL:
        return cbor2.dumps([_pack(message, "hop") for message in messages])


def decode(datagram: bytes, secret: bytes = b"") -> Datagram:
    """What a datagram says; Malformed if anything in it is not as the schema has it."""
    if len(datagram) > MAX_DATAGRAM:
        raise Malformed("oversize", f"{len(datagram)} bytes")
    if len(datagram) < _LAYOUT.size:
        raise Malformed("short", f"{len(datagram)} bytes")
    magic, version, flags, node, epoch, counter = _LAYOUT.unpack_from(datagram)
    if magic != _HEADER.magic:
        raise Malformed("magic")
    if version != _HEADER.version:
        raise Malformed("version", str(version))
    if flags & ~_AUTHENTICATED:
        raise Malformed("flags", f"{flags:#04x}")
    if epoch == 0:
        raise Malformed("epoch", "is 0")
    return _make(Datagram, (_make(Peer, (node, epoch)), counter, _messages(_verified(datagram, flags, secret))))


def _messages(datagram: bytes) -> tuple[Message, ...]:
    """What the body of a datagram without its tag says."""
    try:
        found, at = [], _LAYOUT.size + 1
        for _ in range(_ARRAY_OF.index(datagram[at - 1])):
            count, code, at = codec.read_code(datagram, at)
            message, at = _HOP_READERS[code](datagram, at)
            if count != len(message) + 1:
                raise codec.Unusual
            found.append(message)
        if found and at == len(datagram):
            return tuple(found)
    except codec.UNUSUAL:
        pass
    items = _loads(datagram[_LAYOUT.size:])
    if type(items) is not list:
        raise Malformed("message", "the body is no array")
    if not items:
        raise Malformed("short", "no message")
    return tuple([_unpack(item, "hop") for item in items])


def encode_message(message: Message) -> bytes:
    """One message of the reliable channels, to be cut into fragments. ValueError beyond MAX_MESSAGE."""
    try:
        out = bytearray()
        _INSIDE_WRITERS[type(message)](out, message)
        encoded = bytes(out)
    except codec.UNUSUAL:
        encoded = cbor2.dumps(_pack(message, "inside"))
    if len(encoded) > MAX_MESSAGE:
        raise ValueError(f"{len(encoded)} bytes of {message.name}; a message has at most {MAX_MESSAGE}")
    return encoded


def encoded(message: Message) -> bytes:
    """A message of hop scope as it is in a datagram's body."""
    return _body((message,))[1:]


def encoded_size(message: Message) -> int:
    """Bytes that a message of hop scope takes in a datagram's body."""
    return len(encoded(message))


def decode_message(encoded: bytes) -> Message:
    """The message that was cut into fragments; Malformed as for `decode`."""
    if len(encoded) > MAX_MESSAGE:
        raise Malformed("oversize", f"{len(encoded)} bytes")
    return _unpack(_loads(encoded), "inside")


def overhead(secret: bytes = b"") -> int:
    """Bytes of a datagram around its messages, when it carries up to 23 of them."""
    return _LAYOUT.size + 1 + (_HEADER.tag_bytes if secret else 0)


# ---- bytes ----------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _keyed(secret: bytes) -> blake2s:
    # BLAKE2s takes keys of up to 32 bytes; a secret of any length is hashed to one.
    return blake2s(digest_size=_HEADER.tag_bytes, key=blake2s(secret).digest())


def _tag(datagram: bytes, secret: bytes) -> bytes:
    state = _keyed(secret).copy()
    state.update(datagram)
    return state.digest()


def _verified(datagram: bytes, flags: int, secret: bytes) -> bytes:
    """The datagram without its tag, once that is found right."""
    if not secret:
        if flags & _AUTHENTICATED:
            raise Malformed("authenticated")
        return datagram
    if not flags & _AUTHENTICATED:
        raise Malformed("unauthenticated")
    if len(datagram) < _LAYOUT.size + _HEADER.tag_bytes:
        raise Malformed("short", "no room for the tag")
    signed, tag = datagram[:-_HEADER.tag_bytes], datagram[-_HEADER.tag_bytes:]
    if not compare_digest(tag, _tag(signed, secret)):
        raise Malformed("forged")
    return signed


def _loads(encoded: bytes) -> Any:
    """The value of canonical CBOR, of Python's own types only; Malformed if it is any other CBOR."""
    try:
        return canonical.loads(encoded, _HEADER.max_depth)
    except canonical.NotCbor as error:
        raise Malformed("cbor", str(error)) from None
    except canonical.NotCanonical:
        raise Malformed("noncanonical") from None


# ---- values: for each type of the schema a check, made once at import -----------------------------------
#
# A check takes a value and returns it, or raises _Wrong. Inward it takes what cbor2 decoded and returns what
# the field shall be; outward it takes the field and returns what cbor2 shall encode. The bounds are the same.

Check = Callable[[Any], Any]


class _Wrong(Exception):
    """A value that is not of its type, or out of bounds; the text goes after the field's name."""


def _check(kind: schema.Type, outward: bool) -> Check:
    if kind.kind in schema.UNSIGNED:
        return _unsigned(*_range(kind.kind))
    if kind.kind in ("text", "bytes"):
        return _text(kind.bound) if kind.kind == "text" else _bytes(kind.bound)
    if kind.kind in ("list", "tuple"):
        if kind.kind == "tuple" and all(item.kind in schema.UNSIGNED for item in kind.items):
            return _integers([_range(item.kind) for item in kind.items], outward)
        inner = [_check(item, outward) for item in kind.items]
        return _list(kind.bound, inner[0], outward) if kind.kind == "list" else _tuple(inner, outward)
    if kind.kind == "optional":
        some = _check(kind.items[0], outward)
        return lambda value: None if value is None else some(value)
    plain, out = {"f64": (_f64, _f64_out), "bool": (_bool, _bool),
                  "attributes": (_attributes_in, _attributes_out),
                  "filter": (_filter_in, _filter_out),
                  "message": (lambda value: _unpack(value, "inside"), lambda value: _pack(value, "inside")),
                  }[kind.kind]
    return out if outward else plain


def _range(kind: str) -> tuple[int, int]:
    return 1 if kind == "epoch" else 0, 2 ** schema.UNSIGNED[kind] - 1


def _unsigned(low: int, high: int) -> Check:
    def check(value: Any) -> int:
        if type(value) is not int or not low <= value <= high:
            raise _Wrong(f"is no integer from {low} to {high}")
        return value
    return check


def _text(bound: int) -> Check:
    def check(value: Any) -> str:
        if type(value) is not str or len(value) > bound or len(value.encode()) > bound:
            raise _Wrong(f"is no text of at most {bound} bytes")
        return value
    return check


def _bytes(bound: int) -> Check:
    def check(value: Any) -> bytes:
        if type(value) is not bytes or len(value) > bound:
            raise _Wrong(f"is no byte string of at most {bound} bytes")
        return value
    return check


# Arrays come from cbor2 as lists, which it also encodes faster than tuples; in messages they are tuples.


def _list(bound: int, item: Check, outward: bool) -> Check:
    make = list if outward else tuple

    def check(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) > bound:
            raise _Wrong(f"is no array of at most {bound} items")
        return make([item(one) for one in value])
    return check


def _tuple(items: list[Check], outward: bool) -> Check:
    size, make = len(items), list if outward else tuple

    def check(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != size:
            raise _Wrong(f"is no array of {size} items")
        return make([item(one) for item, one in zip(items, value)])
    return check


def _integers(ranges: list[tuple[int, int]], outward: bool) -> Check:
    """A tuple of unsigned integers only, the most frequent one by far, without a call for each."""
    size, make = len(ranges), list if outward else tuple

    def check(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != size:
            raise _Wrong(f"is no array of {size} items")
        for one, (low, high) in zip(value, ranges):
            if type(one) is not int or not low <= one <= high:
                raise _Wrong(f"holds no integer from {low} to {high} where it should")
        return make(value)
    return check


def _f64(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise _Wrong("is no finite double")
    return value


def _f64_out(value: Any) -> float:
    whole = type(value) is int  # a bool is none
    return _f64(float(value) if whole or isinstance(value, float) else value)


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise _Wrong("is neither true nor false")
    return value


def _attributes_in(value: Any) -> Attributes:
    # Read-only: the simulator decodes a datagram once for all who hear it.
    return MappingProxyType(_attributes(value))


def _attributes_out(value: Any) -> dict[str, Value]:
    return _attributes(value if type(value) is dict or not isinstance(value, Mapping) else dict(value))


def _attributes(value: Any) -> dict[str, Value]:
    if type(value) is not dict:
        raise _Wrong("is no map")
    try:
        check_attributes(value)
    except FilterError as error:
        raise _Wrong(f"is not to be believed: {error}") from None
    return value


def _filter_in(value: Any) -> Filter:
    try:
        return Filter.from_wire(value)
    except FilterError as error:
        raise _Wrong(f"is not to be believed: {error}") from None


def _filter_out(value: Any) -> Wire:
    if type(value) is not Filter:
        raise _Wrong("is no Filter")
    return value.to_wire()


# ---- messages ---------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """A message type with its checks, one for each field."""

    cls: type[Message]
    places: frozenset[str]  # "hop": by itself in a datagram; "inside": in another message, or in fragments
    inward: tuple[Check, ...]
    outward: tuple[Check, ...]


_KINDS: dict[int, _Kind] = {}
# The quick ways, by code and by class, of messages by themselves and inside others; not of those inside that may
# hold others themselves, which so keeps nesting in bounds.
_HOP_READERS: dict[int, codec.Reader] = {}
_INSIDE_READERS: dict[int, codec.Reader] = {}
_HOP_WRITERS: dict[type, codec.Writer] = {}
_INSIDE_WRITERS: dict[type, codec.Writer] = {}
_make = tuple.__new__  # what a NamedTuple's own _make does, once the number of fields is known to be right


def _register(cls: type[Message], table: schema.MessageSchema) -> None:
    places = {"hop"} & {table.scope} | ({"inside"} if table.inside else set())
    _KINDS[table.code] = _Kind(cls, frozenset(places),
                               tuple(_check(field.type, outward=False) for field in table.fields),
                               tuple(_check(field.type, outward=True) for field in table.fields))
    _quicken(cls, table, places)


def _quicken(cls: type[Message], table: schema.MessageSchema, places: set[str]) -> None:
    types = [field.type for field in table.fields]
    read, write = codec.reader(cls, types, _INSIDE_READERS), codec.writer(table.code, types, _INSIDE_WRITERS)
    if read is None or write is None:
        return
    if "hop" in places:
        _HOP_READERS[table.code], _HOP_WRITERS[cls] = read, write
    if "inside" in places and not any(kind.contains("message") for kind in types):
        _INSIDE_READERS[table.code], _INSIDE_WRITERS[cls] = read, write


def _pack(message: Message, place: str) -> list[Any]:
    """What CBOR carries for a message; ValueError if it is not as the schema has it."""
    kind = _KINDS.get(getattr(message, "code", -1))
    if kind is None or type(message) is not kind.cls:
        raise ValueError(f"{message!r} is no message")
    if place not in kind.places:
        how = "by itself" if place == "hop" else "inside others"
        raise ValueError(f"{message.name} does not travel {how}")
    try:
        return [kind.cls.code, *[check(value) for check, value in zip(kind.outward, message)]]
    except (_Wrong, TypeError, UnicodeEncodeError):
        raise ValueError(_first_fault(kind.cls, kind.outward, message)) from None


def _unpack(item: Any, place: str) -> Message:
    """The message in a decoded CBOR value; Malformed if it is not as the schema has it."""
    if type(item) is not list or not item or type(item[0]) is not int:  # True is no 1 here
        raise Malformed("message", "no array that begins with a code")
    kind = _KINDS.get(item[0])
    if kind is None:
        raise Malformed("message", f"code {item[0]} is unknown")
    if place not in kind.places:
        raise Malformed("scope", kind.cls.name)
    if len(item) != len(kind.inward) + 1:
        raise Malformed("field", f"{kind.cls.name} has {len(kind.inward)} fields, not {len(item) - 1}")
    try:
        return _make(kind.cls, [check(value) for check, value in zip(kind.inward, item[1:])])
    except _Wrong:
        raise Malformed("field", _first_fault(kind.cls, kind.inward, item[1:])) from None


def _first_fault(cls: Any, checks: tuple[Check, ...], values: Iterable[Any]) -> str:
    for field, check, value in zip(cls._fields, checks, values):
        try:
            check(value)
        except (_Wrong, TypeError, UnicodeEncodeError) as error:
            return f"{cls.name}.{field} {error}"
    raise AssertionError("every field is right now")


for _table in schema.messages().values():
    _register(CLASSES[_table.name], _table)
EVENTS: frozenset[type[Message]] = frozenset({Event, TaggedEvent})  # both begin with the fields of Event
AnyEvent = Event | TaggedEvent
