"""The usual messages, straight between values and bytes: one reader and one writer made for each message type.

`wire` has the rules and judges everything by them, with general CBOR in between; that takes most of a node's
time. What is made here knows from the schema which byte may come next. A reader takes a message only if it is
in canonical form and every field within its bounds, and a writer writes no other; for anything else, filters
included, they raise Unusual (or what Python raises at bytes that end early, a value of another type and so on:
UNUSUAL), and wire does it the long way and names the fault. tests/node/test_codec.py holds both ways together.

The functions are written as source text, as `namedtuple` does it: a call for each field would take longer than
the fields.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import cbor2

from node import schema
from node.filters.language import MAX_ATTRIBUTES, Attributes, FilterError, check_attributes

# reads one message from its place in the bytes; gives it and the place behind it
Reader = Callable[[bytes, int], tuple[Any, int]]
Writer = Callable[[bytearray, Any], None]

_ARRAY, _BYTES, _TEXT, _MAP = 0x80, 0x40, 0x60, 0xA0  # first byte of an empty one (RFC 8949, section 3)
_NULL, _DOUBLE = 0xF6, 0xFB
_BOOLS = {0xF4: False, 0xF5: True}
_FORMS = {24: (struct.Struct(">B"), 24), 25: (struct.Struct(">H"), 2**8),  # and the least number of each
          26: (struct.Struct(">I"), 2**16), 27: (struct.Struct(">Q"), 2**32)}
_HEAD_8, _HEAD_16, _HEAD_32, _HEAD_64 = map(struct.Struct, (">BB", ">BH", ">BI", ">BQ"))
_FLOAT = struct.Struct(">d")
_TAGGED = struct.Struct(">Bd")
_SMALL = [cbor2.dumps(number) for number in range(256)]


class Unusual(Exception):
    """Not for the quick way."""


UNUSUAL = (Unusual, IndexError, KeyError, ValueError, TypeError, AttributeError, struct.error, FilterError)


def reader(cls: type[tuple[Any, ...]], types: list[schema.Type], inside: Mapping[int, Reader]) -> Reader | None:
    """Reads the fields of a message behind its code. None for a message that takes the long way always.
    `inside`: by code what fields of type `message` may hold."""
    return _function("read(data, at)", types, _reading, [], [f"return make(cls, ({_names(types)})), at"],
                     cls=cls, make=tuple.__new__, inside=inside)


def writer(code: int, types: list[schema.Type], inside: Mapping[type, Writer]) -> Writer | None:
    """Appends a message with its code to bytes; None as for `reader`."""
    head = bytes([_ARRAY + len(types) + 1]) + cbor2.dumps(code)
    return _function("write(out, message)", types, _writing,
                     [f"out += {head!r}", f"{_names(types)} = message"], [], inside=inside)


def read_code(data: bytes, at: int) -> tuple[int, int, int]:
    """The array that every message is: how many items, the code as the first of them, the place behind it."""
    count, code = data[at] - _ARRAY, data[at + 1]
    at += 2
    if code > 23:
        code, at = _long(data, at, code)
    return count, code, at


def _function(head: str, types: list[schema.Type], body: Callable[[schema.Type, str], list[str]],
              before: list[str], after: list[str], **names: object) -> Callable[..., Any] | None:
    if not types or any(kind.contains("filter") for kind in types):
        return None
    lines = [*before, *(line for i, kind in enumerate(types) for line in body(kind, f"v{i}")), *after]
    scope: dict[str, Any] = globals() | names
    exec("\n    ".join([f"def {head}:", *lines]), scope)
    made: Callable[..., Any] = scope[head.partition("(")[0]]
    return made


def _names(types: list[schema.Type] | tuple[schema.Type, ...], of: str = "v") -> str:
    return "".join(f"{of}{i}, " for i in range(len(types)))


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


# ---- reading ----------------------------------------------------------------------------------------


def _reading(kind: schema.Type, into: str) -> list[str]:
    """Lines that read a value at `at` into a variable."""
    if kind.kind in schema.UNSIGNED:
        least, bits = kind.kind == "epoch", schema.UNSIGNED[kind.kind]
        return [f"{into} = data[at]", "at += 1",
                f"if {into} > 23: {into}, at = _long(data, at, {into}, {2**bits - 1})",
                *([f"if not {into}: raise Unusual"] if least else [])]
    if kind.kind == "list":
        return [f"{into}_n = data[at] - {_ARRAY}", "at += 1",
                f"if {into}_n > 23: {into}_n, at = _long(data, at, {into}_n)",
                f"if not 0 <= {into}_n <= {kind.bound}: raise Unusual",
                f"{into} = []",
                f"for _ in range({into}_n):", *_indented(_reading(kind.items[0], into + "_")),
                f"    {into}.append({into}_)", f"{into} = tuple({into})"]
    if kind.kind == "tuple":
        return [f"if data[at] != {_ARRAY + len(kind.items)}: raise Unusual", "at += 1",
                *(line for i, item in enumerate(kind.items) for line in _reading(item, f"{into}{i}")),
                f"{into} = ({_names(kind.items, into)})"]
    if kind.kind == "optional":
        return [f"if data[at] == {_NULL}:", f"    {into} = None", "    at += 1",
                "else:", *_indented(_reading(kind.items[0], into))]
    if kind.kind == "bool":
        return [f"{into} = _BOOLS[data[at]]", "at += 1"]
    if kind.kind == "message":
        return ["count, code, at = read_code(data, at)", f"{into}, at = inside[code](data, at)",
                f"if count != len({into}) + 1: raise Unusual"]
    bound = f", {kind.bound}" if kind.bound else ""
    return [f"{into}, at = _read_{kind.kind}(data, at{bound})"]


def _long(data: bytes, at: int, form: int, most: int = 2**64 - 1) -> tuple[int, int]:
    """A number that does not fit into the first byte, whose lower bits are `form`."""
    packed, least = _FORMS[form]
    number, = packed.unpack_from(data, at)
    if not least <= number <= most:
        raise Unusual
    return number, at + packed.size


def _read_bytes(data: bytes, at: int, bound: int, empty: int = _BYTES) -> tuple[bytes, int]:
    size = data[at] - empty
    at += 1
    if size > 23:
        size, at = _long(data, at, size)
    end = at + size
    if not 0 <= size <= bound or end > len(data):
        raise Unusual
    return data[at:end], end


def _read_text(data: bytes, at: int, bound: int) -> tuple[str, int]:
    text, at = _read_bytes(data, at, bound, _TEXT)
    return text.decode(), at


def _read_f64(data: bytes, at: int) -> tuple[float, int]:
    if data[at] != _DOUBLE:
        raise Unusual
    value, = _FLOAT.unpack_from(data, at + 1)
    if not math.isfinite(value):
        raise Unusual
    return value, at + 9


def _read_attributes(data: bytes, at: int) -> tuple[Attributes, int]:
    count = data[at] - _MAP
    at += 1
    if count > 23:
        count, at = _long(data, at, count)
    if not 0 <= count <= MAX_ATTRIBUTES:
        raise Unusual
    found = {}
    for _ in range(count):
        name, at = _read_text(data, at, len(data))
        found[name], at = _read_value(data, at)
    if len(found) != count:
        raise Unusual  # a name twice
    check_attributes(found)
    return MappingProxyType(found), at


def _read_value(data: bytes, at: int) -> tuple[Any, int]:
    first = data[at]
    if first < _BYTES:  # an integer, from 0x20 on a negative one
        number = first & 0x1F
        at += 1
        if number > 23:
            number, at = _long(data, at, number)
        return number if first < 0x20 else -1 - number, at
    if first < _TEXT:
        return _read_bytes(data, at, len(data))
    if first < _ARRAY:
        return _read_text(data, at, len(data))
    if first == _DOUBLE:
        return _read_f64(data, at)
    return _BOOLS[first], at + 1


# ---- writing ----------------------------------------------------------------------------------------


def _writing(kind: schema.Type, value: str) -> list[str]:
    """Lines that append the value of a variable to `out`."""
    if kind.kind in schema.UNSIGNED:
        least, bits = int(kind.kind == "epoch"), schema.UNSIGNED[kind.kind]
        return [f"if type({value}) is not int or not {least} <= {value} <= {2**bits - 1}: raise Unusual",
                f"out += _SMALL[{value}] if {value} < 256 else _head(0, {value})"]
    if kind.kind == "list":
        return [f"if not isinstance({value}, (tuple, list)) or len({value}) > {kind.bound}: raise Unusual",
                f"out.append({_ARRAY} + len({value}))" if kind.bound < 24 else f"out += _head({_ARRAY}, len({value}))",
                f"for {value}_ in {value}:", *_indented(_writing(kind.items[0], value + "_"))]
    if kind.kind == "tuple":
        return [f"if not isinstance({value}, (tuple, list)): raise Unusual",
                f"{_names(kind.items, value)} = {value}",
                f"out.append({_ARRAY + len(kind.items)})",
                *(line for i, item in enumerate(kind.items) for line in _writing(item, f"{value}{i}"))]
    if kind.kind == "optional":
        return [f"if {value} is None: out.append({_NULL})", "else:", *_indented(_writing(kind.items[0], value))]
    if kind.kind == "bool":
        return [f"if type({value}) is not bool: raise Unusual", f"out.append({value} + {0xF4})"]
    if kind.kind == "message":
        return [f"inside[type({value})](out, {value})"]
    bound = f", {kind.bound}" if kind.bound else ""
    return [f"_write_{kind.kind}(out, {value}{bound})"]


def _head(empty: int, number: int) -> bytes:
    if number < 24:
        return bytes((empty + number,))
    if number < 2**16:
        return _HEAD_8.pack(empty + 24, number) if number < 2**8 else _HEAD_16.pack(empty + 25, number)
    return _HEAD_32.pack(empty + 26, number) if number < 2**32 else _HEAD_64.pack(empty + 27, number)


def _write_bytes(out: bytearray, value: Any, bound: int) -> None:
    if type(value) is not bytes or len(value) > bound:
        raise Unusual
    out += _head(_BYTES, len(value))
    out += value


def _write_text(out: bytearray, value: Any, bound: int) -> None:
    if type(value) is not str:
        raise Unusual
    encoded = value.encode()
    if len(encoded) > bound:
        raise Unusual
    out += _head(_TEXT, len(encoded))
    out += encoded


def _write_f64(out: bytearray, value: Any) -> None:
    if type(value) is not float or not math.isfinite(value):
        raise Unusual
    out += _TAGGED.pack(_DOUBLE, value)


def _write_attributes(out: bytearray, value: Any) -> None:
    if type(value) is MappingProxyType:
        value = dict(value)
    elif type(value) is not dict:
        raise Unusual
    check_attributes(value)
    out += cbor2.dumps(value)
