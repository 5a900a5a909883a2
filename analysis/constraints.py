"""Whether one event satisfies one filter, both as records carry them: matching.py's rules for a single pair.

For the numbers that are computed without Spark (tally.py).
"""
from __future__ import annotations

import operator
from collections.abc import Iterable

ORDERINGS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
PATTERNS = {"prefix": lambda ours, theirs: ours.startswith(theirs), "suffix": lambda ours, theirs: ours.endswith(theirs),
            "contains": lambda ours, theirs: theirs in ours}

Typed = tuple[str, object]  # n, s, b or x, and the value; bytes as bytes


def matches(attributes: Iterable[dict], constraints: Iterable[dict]) -> bool:
    """attributes: a list of attribute, constraints: a list of constraint, of node/schema/records.toml."""
    there = {one["name"]: _typed(one["value"]) for one in attributes}
    return all(one["name"] in there and _satisfies(there[one["name"]], one["op"], list(map(_typed, one["values"])))
               for one in constraints)


def _typed(value: dict) -> Typed:
    kind, found = next((kind, found) for kind, found in value.items() if found is not None)
    return kind, bytes.fromhex(found) if kind == "x" else found


def _satisfies(ours: Typed, op: str, values: list[Typed]) -> bool:
    if op == "exists":
        return True
    if op == "in":
        return ours in values
    (kind, value), (other, wanted) = ours, values[0]
    if kind != other:  # another type satisfies nothing, not even !=
        return False
    if op in ORDERINGS:
        return ORDERINGS[op](value, wanted)
    if op in PATTERNS:
        return kind in "sx" and PATTERNS[op](value, wanted)
    return (value == wanted) == (op == "=")
