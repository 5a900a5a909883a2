"""Which filters make others superfluous: covering, and perfect merging; and which can never match.

A filter f covers g when every event that matches g matches f; a perfect merger of f and g matches exactly the
events that either matches (jaeger-self-managing-thesis, section 2.2.3: covering- and merging-based routing).

`covers` is sound always, and exact for two filters of one constraint each. Of longer filters it compares
constraint by constraint, so it does not see what only several constraints together imply.

A constraint is a set of values for each of the four types. Numbers are the finite doubles, so `> 1` starts at
the next double; text and bytes are taken to be of any length, so `> "a"` starts at "a\\0", and `<= s` is
`< s\\0`.
"""
from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any, AnyStr, NamedTuple

from node.filters.language import MAX_CHOICES, Constraint, Filter, FilterError, Value, type_of

_TYPES = ("text", "number", "bool", "bytes")
_LARGEST = sys.float_info.max
_FIRST: dict[str, Any] = {"text": "\0", "bytes": b"\0"}  # the least letter
_LAST: dict[str, Any] = {"text": "\U0010ffff", "bytes": b"\xff"}  # and the greatest, with the one before it
_LAST_BUT_ONE: dict[str, Any] = {"text": "\U0010fffe", "bytes": b"\xfe"}


def covers(f: Filter, g: Filter) -> bool:
    """Whether f matches every event that g matches; False if single constraints do not show it."""
    return (all(any(constraint_covers(wide, narrow) for narrow in g.constraints) for wide in f.constraints)
            or any(_is_empty(narrow) for narrow in g.constraints))


def constraint_covers(wide: Constraint, narrow: Constraint) -> bool:
    """Whether whatever satisfies `narrow` satisfies `wide`; exact."""
    if wide.name != narrow.name:
        return _is_empty(narrow)
    if wide.op == "exists" or wide == narrow:
        return True
    if narrow.op == "exists":
        return False
    larger = _sets(wide)
    return all(_includes(kind, larger.get(kind, _NOTHING), one) for kind, one in _sets(narrow).items())


def merge(f: Filter, g: Filter) -> Filter | None:
    """A filter that matches exactly what f or g matches, or None where none is found.

    Found are: one covers the other; they differ in one constraint each, on the same attribute, whose union is
    a constraint.
    """
    if covers(f, g):
        return f
    if covers(g, f):
        return g
    only_f = [constraint for constraint in f.constraints if constraint not in g.constraints]
    only_g = [constraint for constraint in g.constraints if constraint not in f.constraints]
    if len(only_f) != 1 or len(only_g) != 1:
        return None
    union = _union(only_f[0], only_g[0]) or _union(only_g[0], only_f[0])
    if union is None:
        return None
    try:
        return Filter([*(constraint for constraint in f.constraints if constraint is not only_f[0]), union])
    except FilterError:  # the bounds of a filter hold for mergers too
        return None


def never(f: Filter) -> str:
    """Why f can never match, as part of a sentence; empty if it can."""
    found = contradiction(f)
    if not found:
        return ""
    return f"{' and '.join(map(str, found))}, {'which exclude each other' if len(found) > 1 else 'which nothing satisfies'}"


def contradiction(f: Filter) -> tuple[Constraint, ...]:
    """Constraints of f that nothing satisfies together, so that f never matches; none if that is not evident.

    Exact where all on one attribute are about numbers or booleans, or one of them is `=` or `in`; of texts and bytes
    two constraints are compared at a time.
    """
    names = {constraint.name: [one for one in f.constraints if one.name == constraint.name] for constraint in f.constraints}
    for together in names.values():
        pairs = (pair for pair in combinations(together, 2) if _exclude(pair))
        if found := next(pairs, tuple(together) if _exclude(together) else ()):
            return found if not (alone := [one for one in found if _is_empty(one)]) else (alone[0],)
    return ()


def _exclude(together: Sequence[Constraint]) -> bool:
    """Whether no value of any type satisfies all of these, which are on one attribute."""
    said = [_sets(one) for one in together if one.op != "exists"]
    if not said:
        return False
    kinds = [kind for kind in _TYPES if all(kind in sets for sets in said)]
    return all(_apart(kind, [sets[kind] for sets in said]) for kind in kinds)


def _apart(kind: str, sets: Sequence[_Set]) -> bool:
    """Whether these sets of one type have nothing in common."""
    chosen = next((one.low for one in sets if one.shape == "values"), None)
    if chosen is None and kind == "number":  # the least number of all of them is one of these
        chosen = [-_LARGEST, *(one.low if one.shape == "between" else math.nextafter(one.low, math.inf) for one in sets)]
    if chosen is not None:
        return not any(all(_holds(one, value) for one in sets) for value in chosen)
    return any(_texts_apart(one, other) for one, other in permutations(sets, 2))


def _texts_apart(one: _Set, other: _Set) -> bool:
    """Whether two sets of texts or bytes of any length have nothing in common, in one of the two orders."""
    match one.shape, other.shape:
        case "prefix", "prefix":
            return not one.low.startswith(other.low) and not other.low.startswith(one.low)
        case "suffix", "suffix":
            return not one.low.endswith(other.low) and not other.low.endswith(one.low)
        case ("from" | "prefix"), "below":
            return bool(one.low >= other.low)
        case "prefix", "from":
            return bool(one.low < other.low and not other.low.startswith(one.low))
    return False


def _union(a: Constraint, b: Constraint) -> Constraint | None:
    """A constraint satisfied by exactly what satisfies a or b, if there is one, in this order."""
    if a.name != b.name:
        return None
    finite = ("=", "in")
    if a.op in finite and b.op in finite and len({*_keys(a), *_keys(b)}) <= MAX_CHOICES:
        return Constraint(a.name, "in", a.values + b.values)
    if len(a.values) != 1 or b.op not in (*finite, "<", ">"):
        return None
    value = a.values[0]
    if (a.op, b.op) == ("<", ">") and Constraint(a.name, "=", (value,)) == Constraint(b.name, "=", b.values):
        return Constraint(a.name, "!=", (value,))
    if a.op in ("<", ">") and b.op in finite:
        closed = Constraint(a.name, a.op + "=", (value,))
        touches = any(type_of(one) == type_of(value) and one == value for one in b.values)
        if touches and all(closed.test(one) for one in b.values):
            return closed
    return None


def _keys(constraint: Constraint) -> list[tuple[str, Value]]:
    return [(type_of(value), value) for value in constraint.values]


# ---- constraints as sets of values of one type -------------------------------------------------------


class _Set(NamedTuple):
    """Values of one type. By shape:

    values    exactly those in `low`, a frozenset
    except    all but `low`
    between   numbers from `low` to `high`, both included
    from      text or bytes >= `low`
    below     text or bytes < `low`
    prefix, suffix, contains    text or bytes with `low` there
    """

    shape: str
    low: Any
    high: Any = None


_NOTHING = _Set("values", frozenset())


def _sets(constraint: Constraint) -> dict[str, _Set]:
    """The non-empty sets of a constraint, by type; not for `exists`, which is everything of all types."""
    op, values = constraint.op, constraint.values
    if op == "in":
        kinds = {kind: frozenset(value for value in values if type_of(value) == kind) for kind in _TYPES}
        return {kind: _Set("values", chosen) for kind, chosen in kinds.items() if chosen}
    value: Any = values[0]
    kind = type_of(value)
    if op == "=":
        found = _Set("values", frozenset([value]))
    elif op == "!=":
        found = _Set("values", frozenset([not value])) if kind == "bool" else _Set("except", value)
    elif kind == "number":
        found = _interval(op, value)
    elif op in ("prefix", "suffix", "contains"):
        found = _Set(op, value)
    else:
        bound = value + _FIRST[kind] if op in (">", "<=") else value
        found = _lower(kind, bound) if op in ("<", "<=") else _Set("from", bound)
    return {} if found == _NOTHING else {kind: found}


def _interval(op: str, value: float) -> _Set:
    if op in (">", ">="):
        low = math.nextafter(value, math.inf) if op == ">" else value
        return _Set("between", low, _LARGEST) if low <= _LARGEST else _NOTHING
    high = math.nextafter(value, -math.inf) if op == "<" else value
    return _Set("between", -_LARGEST, high) if high >= -_LARGEST else _NOTHING


def _lower(kind: str, bound: str | bytes) -> _Set:
    """What is less than `bound`; a finite set if that is least letters only: less than "\\0" is just ""."""
    if bound.strip(_FIRST[kind]):
        return _Set("below", bound)
    return _Set("values", frozenset(bound[:size] for size in range(len(bound))))


def _is_empty(constraint: Constraint) -> bool:
    """Whether nothing satisfies it, as `< ""`."""
    return constraint.op != "exists" and not _sets(constraint)


def _includes(kind: str, wide: _Set, narrow: _Set) -> bool:
    """Whether every value of `narrow` (which is not empty) is in `wide`; both of the type `kind`."""
    if wide.shape == "except":
        return not _holds(narrow, wide.low) and (narrow.shape != "except" or wide.low == narrow.low)
    if narrow.shape == "values":
        return all(_holds(wide, value) for value in narrow.low)
    if kind == "number":
        return _numbers_include(wide, narrow)
    if wide.shape in ("prefix", "suffix", "contains") and not wide.low:
        return True
    if wide.shape == "from":
        return _from_includes(kind, wide.low, narrow)
    if wide.shape == "below":
        # Only sets that end somewhere: another `below`, and a prefix all of whose extensions are less.
        return (narrow.low <= wide.low if narrow.shape == "below"
                else narrow.shape == "prefix" and narrow.low < wide.low
                and not wide.low.startswith(narrow.low))
    if wide.shape == "values" or narrow.shape in ("below", "except"):
        return False  # finite against infinite; a pattern against a set that has "", or nearly everything
    return _pattern_includes(kind, wide, narrow)


def _holds(found: _Set, value: Any) -> bool:
    """Whether a value of the set's own type is in it."""
    low = found.low
    match found.shape:
        case "values":
            held = value in low
        case "except":
            held = value != low
        case "between":
            held = low <= value <= found.high
        case "from":
            held = value >= low
        case "below":
            held = value < low
        case "prefix":
            held = value.startswith(low)
        case "suffix":
            held = value.endswith(low)
        case _:
            held = low in value
    return bool(held)


def _numbers_include(wide: _Set, narrow: _Set) -> bool:
    low, high = (-_LARGEST, _LARGEST) if narrow.shape == "except" else (narrow.low, narrow.high)
    if narrow.shape == "except":  # everything but one: that one may be an end
        low = math.nextafter(low, math.inf) if narrow.low == low else low
        high = math.nextafter(high, -math.inf) if narrow.low == high else high
    if wide.shape == "between":
        return bool(wide.low <= low and high <= wide.high)
    # A finite set includes an interval that has few doubles, at the very end of the numbers.
    for _ in range(len(wide.low)):
        if low not in wide.low:
            return False
        if low == high:
            return True
        low = math.nextafter(low, math.inf)
    return False


def _from_includes(kind: str, low: str | bytes, narrow: _Set) -> bool:
    """Whether all of `narrow` is >= `low`, for text and bytes."""
    if not low:
        return True
    if narrow.shape in ("from", "prefix"):
        return bool(narrow.low >= low)  # the least text with a prefix is the prefix itself
    if low.strip(_FIRST[kind]) or narrow.shape == "below":
        return False  # anything can stand before a suffix or an infix, least letters too; "" is below
    if narrow.shape == "except":
        return not narrow.low and len(low) == 1
    # Less than k least letters is only fewer of them: the pattern excludes those, or does not.
    return bool(narrow.low.strip(_FIRST[kind])) or len(narrow.low) >= len(low)


def _pattern_includes(kind: str, wide: _Set, narrow: _Set) -> bool:
    """Whether all of `narrow` (from, prefix, suffix, contains) has the pattern of `wide` (not empty)."""
    if narrow.shape == "from":
        if wide.shape == "suffix":
            return False  # whatever is long enough may end in anything
        greatest = not wide.low.strip(_LAST[kind])
        if wide.shape == "prefix":
            return greatest and narrow.low >= wide.low
        return greatest and _all_contain(kind, wide.low, narrow.low)
    if wide.shape == "contains":
        return wide.low in narrow.low
    return wide.shape == narrow.shape and _holds(wide, narrow.low)


def _all_contain(kind: str, infix: AnyStr, low: AnyStr) -> bool:
    """Whether everything >= `low` contains `infix`, which consists of greatest letters only.

    What is greater than `low` follows it for i letters and then has a greater one. That adds nothing to find
    but where the greatest letter is the only greater one.
    """
    if infix not in low:
        return False
    for i in range(len(low)):
        letter = low[i:i + 1]
        start = low[:i] + _LAST[kind] if letter == _LAST_BUT_ONE[kind] else low[:i]
        if letter != _LAST[kind] and infix not in start:
            return False
        if infix in low[:i]:
            return True
    return True
