"""What an event's attributes may be, and filters: conjunctions of constraints on them.

Content-based filters as in the papers' systems (virgillito-event-routing-reconfiguration, section 3.1;
jaeger-self-managing-thesis, section 2.2.3): an event is a map from names to values, a filter a conjunction of
constraints (name, operator, values), and an event matches when it satisfies every constraint.

Values are text, numbers, booleans and bytes. Integers and floats compare as numbers; a boolean is no number.
A constraint on a missing attribute, or on one of another type than its value, is never satisfied: this holds
for `!=` too, so `color != "red"` wants a text attribute `color`. Text is ordered by its code points.

A Filter is canonical: neither the order of its constraints nor repetitions matter, 30.0 is 30, `in` with a
single value is `=`. In its wire form a filter is an array of constraints, a constraint the array [name,
operator, value, value, ...], sorted; the filter's hash is BLAKE2s over the CBOR of that.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2s
from typing import Any

import cbor2

Value = str | int | float | bool | bytes
Attributes = Mapping[str, Value]

MAX_ATTRIBUTES = 32  # of an event
MAX_NAME = 64  # bytes of UTF-8
MAX_VALUE = 1024  # bytes of a text or bytes value
MAX_INTEGER = 2**53  # beyond it integers and floats part company
MAX_CONSTRAINTS = 16  # of a filter
MAX_CHOICES = 32  # values of an `in`
MAX_FILTER = 4096  # bytes of a filter's wire form, so that one always fits a message
HASH_BYTES = 8

ORDERINGS = ("<", "<=", ">", ">=")
PATTERNS = ("prefix", "suffix", "contains")
OPERATORS = ("=", "!=", *ORDERINGS, *PATTERNS, "exists", "in")
_RANK = {op: rank for rank, op in enumerate(OPERATORS)}

Wire = tuple[tuple[str | Value, ...], ...]  # of a filter
Test = Callable[[Any], bool]


class FilterError(ValueError):
    """An invalid filter or attribute; the text says where, and what to do."""


def check_name(name: Any) -> None:
    """Raise FilterError unless this can name an attribute: 1 to 64 bytes of UTF-8."""
    if type(name) is not str:
        raise FilterError(f"attribute's name: found {name!r}; expected text")
    size = len(name) if name.isascii() else _utf8_size(name)
    if not 1 <= size <= MAX_NAME:
        raise FilterError(f"attribute's name: found {size} bytes; expected 1 to {MAX_NAME}")


def check_value(value: Any) -> None:
    """Raise FilterError unless this can be an attribute's value: text, int, float, bool or bytes, within bounds."""
    kind = type(value)
    if kind is str:
        size = len(value) if value.isascii() else _utf8_size(value)
        if size > MAX_VALUE:
            raise FilterError(f"found a text of {size} bytes; expected at most {MAX_VALUE}")
    elif kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise FilterError("found an integer out of range; expected -2**53 to 2**53")
    elif kind is float:
        if not math.isfinite(value):
            raise FilterError(f"found {value}; expected a finite number")
    elif kind is bytes:
        if len(value) > MAX_VALUE:
            raise FilterError(f"found bytes of length {len(value)}; expected at most {MAX_VALUE}")
    elif kind is not bool:
        raise FilterError(f"found a value of type {kind.__name__}; expected text, int, float, bool or bytes")


def check_attributes(attributes: Mapping[Any, Any]) -> None:
    """Raise FilterError unless an event may have these: at most 32, each name and value within its bounds."""
    if len(attributes) > MAX_ATTRIBUTES:
        raise FilterError(f"found {len(attributes)} attributes; expected at most {MAX_ATTRIBUTES}")
    for name, value in attributes.items():
        # This runs for every event from the air: the usual passes here, the rest is looked at closely.
        if type(name) is not str or not 1 <= len(name) <= MAX_NAME or not name.isascii():
            check_name(name)
        kind = type(value)
        if kind is str:
            if len(value) > MAX_VALUE or not value.isascii():
                _check_value_of(name, value)
        elif kind is not bool and (kind is not int or not -MAX_INTEGER <= value <= MAX_INTEGER):
            _check_value_of(name, value)


def _check_value_of(name: str, value: object) -> None:
    """As check_value, and the error names the attribute."""
    try:
        check_value(value)
    except FilterError as error:
        raise FilterError(f"attribute {quoted(name)}: {error}") from None


def attributes_as_record(attributes: Attributes) -> list[dict[str, object]]:
    """An event's attributes as records carry them (records.toml, `list<attribute>`)."""
    return [{"name": name, "value": value_as_record(value)} for name, value in attributes.items()]


def value_as_record(value: Value) -> dict[str, object]:
    """One value as records carry it: a struct with exactly one of n, s, b and x (bytes in hex)."""
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, str):
        return {"s": value}
    return {"x": value.hex()} if isinstance(value, bytes) else {"n": value}


def type_of(value: Value) -> str:
    """text, number, bool or bytes: what a value compares with."""
    return _TYPES[type(value)]


class Constraint:
    """One condition on one attribute; immutable. `values`: none for `exists`, several for `in`, else one."""

    __slots__ = ("key", "name", "op", "test", "values")

    name: str
    op: str
    values: tuple[Value, ...]
    key: bytes  # the CBOR of the wire form; two constraints are equal when their keys are
    test: Test  # whether an attribute's value satisfies it, of whatever type the value is

    def __init__(self, name: str, op: str, values: Iterable[Value] = ()) -> None:
        check_name(name)
        op, values = _canonical(op, tuple(values))
        put = object.__setattr__
        put(self, "name", name)
        put(self, "op", op)
        put(self, "values", values)
        put(self, "key", cbor2.dumps((name, op, *values)))
        put(self, "test", _test(op, values))

    def matches(self, attributes: Attributes) -> bool:
        return self.name in attributes and self.test(attributes[self.name])

    def to_wire(self) -> tuple[str | Value, ...]:
        return (self.name, self.op, *self.values)

    def as_record(self) -> dict[str, object]:
        return {"name": self.name, "op": self.op, "values": [value_as_record(value) for value in self.values]}

    @property
    def rank(self) -> tuple[str, int, bytes]:
        """Where the constraint stands in a canonical filter: by name, operator and values."""
        return self.name, _RANK[self.op], self.key

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError("a constraint does not change")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[type[Constraint], tuple[object, ...]]:
        return Constraint, (self.name, self.op, self.values)

    def __str__(self) -> str:
        name = self.name if is_plain_name(self.name) else quoted(self.name)
        if self.op == "exists":
            return f"{name} exists"
        values = ", ".join(value_text(value) for value in self.values)
        return f"{name} in [{values}]" if self.op == "in" else f"{name} {self.op} {values}"

    def __repr__(self) -> str:
        return f"Constraint({self.name!r}, {self.op!r}, {self.values!r})"


class Filter:
    """A conjunction of constraints, immutable, canonical and hashable; without any it matches all events.

    `constraints`: tuple in canonical order. `hash`: 8 bytes that stand for the filter on the wire.
    """

    __slots__ = ("_number", "constraints", "hash", "key")

    constraints: tuple[Constraint, ...]
    hash: bytes
    _number: int  # the hash of Python
    key: bytes  # the CBOR of the wire form; two filters are equal when their keys are

    def __init__(self, constraints: Iterable[Constraint] = ()) -> None:
        ordered = tuple(sorted(set(constraints), key=lambda constraint: constraint.rank))
        if len(ordered) > MAX_CONSTRAINTS:
            raise FilterError(f"found {len(ordered)} constraints in a filter; expected at most {MAX_CONSTRAINTS}")
        # The head of a CBOR array of up to 23 items is one byte.
        key = bytes([0x80 | len(ordered)]) + b"".join(constraint.key for constraint in ordered)
        if len(key) > MAX_FILTER:
            raise FilterError(f"found a filter of {len(key)} bytes; expected at most {MAX_FILTER}, so shorten its values")
        put = object.__setattr__
        put(self, "constraints", ordered)
        put(self, "key", key)
        put(self, "hash", blake2s(key, digest_size=HASH_BYTES).digest())
        # Not hash(bytes), which changes from run to run: sets of filters must iterate alike in every run.
        put(self, "_number", int.from_bytes(self.hash, "big") >> 3)

    def matches(self, attributes: Attributes) -> bool:
        """Whether an event with these attributes satisfies every constraint."""
        for constraint in self.constraints:
            if constraint.name not in attributes or not constraint.test(attributes[constraint.name]):
                return False
        return True

    def to_wire(self) -> Wire:
        """The form that messages carry (type `filter` of messages.toml)."""
        return tuple(constraint.to_wire() for constraint in self.constraints)

    @classmethod
    def from_wire(cls, wire: object) -> Filter:
        """The filter of a wire form as read from the air; FilterError unless to_wire makes exactly that."""
        if not isinstance(wire, (tuple, list)) or len(wire) > MAX_CONSTRAINTS:
            raise FilterError(f"a filter is an array of at most {MAX_CONSTRAINTS} constraints")
        constraints = []
        for item in wire:
            if not isinstance(item, (tuple, list)) or not 2 <= len(item) <= 2 + MAX_CHOICES:
                raise FilterError("a constraint is an array of a name, an operator and values")
            name, op, *values = item
            constraints.append(Constraint(name, op, values))
        found = cls(constraints)
        # Equality in Python takes True for 1 and 1 for 1.0, the bytes do not.
        if found.key != cbor2.dumps(wire):
            raise FilterError("the filter is not in canonical form")
        return found

    def as_record(self) -> list[dict[str, object]]:
        """The constraints as records carry them (records.toml, `list<constraint>`)."""
        return [constraint.as_record() for constraint in self.constraints]

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError("a filter does not change; make another")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Filter) and self.key == other.key

    def __hash__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Constraint]:
        return iter(self.constraints)

    def __reduce__(self) -> tuple[type[Filter], tuple[object, ...]]:
        return Filter, (self.constraints,)

    def __str__(self) -> str:
        """The text form; parser.parse reads the same filter from it."""
        return " and ".join(map(str, self.constraints)) or "*"

    def __repr__(self) -> str:
        return f"<Filter {self}>"


_TYPES = {str: "text", int: "number", float: "number", bool: "bool", bytes: "bytes"}
# Words of the text form, and two that people expect there: no names unless quoted.
WORDS = ("and", "exists", "in", *PATTERNS, "true", "false", "or", "not")


def is_plain_name(name: str) -> bool:
    """Whether the text form writes this name without quotes: a letter or _, then also digits and . : -, but no : at
    its end, which would be a typing error."""
    return (name.isascii() and (name[0].isalpha() or name[0] == "_") and name.lower() not in WORDS and name[-1] != ":"
            and all(letter.isalnum() or letter in "_.:-" for letter in name))


ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\"}
_ESCAPED = {plain: f"\\{letter}" for letter, plain in ESCAPES.items() if letter != "'"}


def quoted(text: str) -> str:
    """A text value in the text form; characters that a terminal would not show become \\uXXXX."""
    return '"' + "".join(map(_shown, text)) + '"'


def _shown(letter: str) -> str:
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def value_text(value: Value) -> str:
    """A value in the text form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    return f"0x{value.hex()}" if isinstance(value, bytes) else repr(value)


def _utf8_size(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise FilterError("found half a surrogate pair in text; give text that UTF-8 can encode") from None


def _canonical(op: str, values: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
    """The operator and values in their one form; FilterError when they do not go together."""
    if type(op) is not str or op not in _RANK:
        raise FilterError(f"found {op!r}, which is not an operator; expected one of {', '.join(OPERATORS)}")
    for value in values:
        check_value(value)
    # Whole floats up to 2**53 are the integers that they equal; -0.0 is 0.
    values = tuple([int(value) if type(value) is float and value.is_integer() and abs(value) <= MAX_INTEGER
                    else value for value in values])
    if op == "exists":
        if values:
            raise FilterError("found a value after `exists`; expected none")
    elif op == "in":
        if not 1 <= len(values) <= MAX_CHOICES:
            raise FilterError(f"found {len(values)} values for `in`; expected 1 to {MAX_CHOICES}")
        chosen = {cbor2.dumps(value): value for value in values}
        values = tuple(chosen[key] for key in sorted(chosen))
        op = "in" if len(values) > 1 else "="
    elif len(values) != 1:
        raise FilterError(f"found {len(values)} values for `{op}`; expected one")
    elif op in ORDERINGS and type(values[0]) is bool:
        raise FilterError(f"found true or false for `{op}`; expected a number, text or bytes")
    elif op in PATTERNS and type(values[0]) not in (str, bytes):
        raise FilterError(f"found {value_text(values[0])} for `{op}`; expected text or bytes")
    return op, values


def _test(op: str, values: tuple[Value, ...]) -> Test:
    """The predicate of a constraint, compiled once: this is what matching spends its time in."""
    if op == "exists":
        return lambda value: True
    if op == "in":
        # The type keeps true from 1; equal numbers hash alike whatever their Python type.
        choices = frozenset((_TYPES[type(value)], value) for value in values)
        return lambda value: (_TYPES[type(value)], value) in choices
    wanted = values[0]
    kind = type(wanted)
    if kind is int or kind is float:
        return _NUMBER_TESTS[op](wanted)
    return _TESTS[op](wanted, kind)


_TESTS: dict[str, Callable[[Any, Any], Test]] = {
    "=": lambda wanted, kind: lambda value: type(value) is kind and value == wanted,
    "!=": lambda wanted, kind: lambda value: type(value) is kind and value != wanted,
    "<": lambda wanted, kind: lambda value: type(value) is kind and value < wanted,
    "<=": lambda wanted, kind: lambda value: type(value) is kind and value <= wanted,
    ">": lambda wanted, kind: lambda value: type(value) is kind and value > wanted,
    ">=": lambda wanted, kind: lambda value: type(value) is kind and value >= wanted,
    "prefix": lambda wanted, kind: lambda value: type(value) is kind and value.startswith(wanted),
    "suffix": lambda wanted, kind: lambda value: type(value) is kind and value.endswith(wanted),
    "contains": lambda wanted, kind: lambda value: type(value) is kind and wanted in value,
}
_NUMBER_TESTS: dict[str, Callable[[Any], Test]] = {
    "=": lambda wanted: lambda value: (type(value) is int or type(value) is float) and value == wanted,
    "!=": lambda wanted: lambda value: (type(value) is int or type(value) is float) and value != wanted,
    "<": lambda wanted: lambda value: (type(value) is int or type(value) is float) and value < wanted,
    "<=": lambda wanted: lambda value: (type(value) is int or type(value) is float) and value <= wanted,
    ">": lambda wanted: lambda value: (type(value) is int or type(value) is float) and value > wanted,
    ">=": lambda wanted: lambda value: (type(value) is int or type(value) is float) and value >= wanted,
}
