"""Which filters an event satisfies, both as records carry them: the node's filter language once more.

A filter matches when all of its constraints are satisfied. A missing attribute or one of another type satisfies
nothing, not even `!=`; integers and reals are one type; a boolean is no number. Bytes are hex in records and are
compared as bytes.
"""
from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
PATTERNS: dict[str, Callable[[Any, Any], bool]] = {"prefix": lambda ours, theirs: ours.startswith(theirs), "suffix": lambda ours, theirs: ours.endswith(theirs),
            "contains": lambda ours, theirs: theirs in ours}
OPERATORS = {"exists", "=", "!=", "in", *ORDERINGS, *PATTERNS}
REMEMBERED = 100_000  # values of attributes

Typed = tuple[tuple[str, object], ...]  # n, s, b or x, and the value, bytes as bytes; one such pair if all is as it should


class Filters:
    """Many filters against one event: the counting algorithm of content-based matching."""

    def __init__(self, filters: dict[str, list[dict[str, Any]]]) -> None:
        """filters: hash -> a list of constraint, of node/schema/records.toml."""
        self._needed = {hash_: len(constraints) for hash_, constraints in filters.items()}
        self._everything = [hash_ for hash_, needed in self._needed.items() if not needed]
        self._about: dict[str, list[tuple[tuple[str, int], str, list[Typed]]]] = {}
        for hash_, constraints in filters.items():
            for place, one in enumerate(constraints):
                self._about.setdefault(one["name"], []).append(((hash_, place), one["op"], list(map(_typed, one["values"]))))
        self._judged: dict[tuple[str, Typed], list[tuple[str, int]]] = {}

    def matching(self, attributes: Iterable[dict[str, Any]]) -> list[str]:
        """Hashes of the filters that match. attributes: a list of attribute, of node/schema/records.toml."""
        held = {constraint for one in attributes if one["name"] in self._about
                for constraint in self._satisfied(one["name"], _typed(one["value"]))}
        have = Counter(hash_ for hash_, _ in held)
        return self._everything + [hash_ for hash_, count in have.items() if count == self._needed[hash_]]

    def _satisfied(self, name: str, value: Typed) -> list[tuple[str, int]]:
        """The constraints that the value satisfies; the same attribute comes with many events."""
        found = self._judged.get((name, value))
        if found is None:
            if len(self._judged) >= REMEMBERED:
                self._judged.clear()
            found = self._judged[name, value] = [which for which, op, values in self._about[name] if _satisfies(value, op, values)]
        return found


def matches(attributes: Iterable[dict[str, Any]], constraints: Iterable[dict[str, Any]]) -> bool:
    """Whether one event satisfies one filter."""
    there = {one["name"]: _typed(one["value"]) for one in attributes}
    return all(one["name"] in there and _satisfies(there[one["name"]], one["op"], list(map(_typed, one["values"])))
               for one in constraints)


def fits(constraint: dict[str, Any]) -> bool:
    """Whether a constraint with a known operator has as many values as that takes, and of such types."""
    op, values = constraint["op"], constraint["values"]
    if op == "in":
        return bool(values)
    return len(values) == (op != "exists") and (op not in PATTERNS or all(
        kind in "sx" for value in values for kind, found in value.items() if found is not None))


def _typed(value: dict[str, Any]) -> Typed:
    return tuple((kind, bytes.fromhex(found) if kind == "x" else found) for kind, found in value.items()
                 if found is not None and (kind != "x" or _is_hex(found)))


def _is_hex(text: str) -> bool:
    try:
        bytes.fromhex(text)
    except ValueError:
        return False
    return True


def _satisfies(ours: Typed, op: str, values: list[Typed]) -> bool:
    if op == "exists":
        return True
    if op == "in":
        return any(pair in value for pair in ours for value in values)
    # another type satisfies nothing, not even !=
    same = [(kind, value, wanted) for kind, value in ours for other, wanted in (values[0] if values else ()) if kind == other]
    if op in ("=", "!="):
        equal = any(value == wanted for _, value, wanted in same)
        return equal if op == "=" else bool(same) and not equal
    if op in ORDERINGS:
        return any(ORDERINGS[op](value, wanted) for _, value, wanted in same)
    return op in PATTERNS and any(kind in "sx" and PATTERNS[op](value, wanted) for kind, value, wanted in same)
