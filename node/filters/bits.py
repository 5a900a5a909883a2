"""Many filters over the same attributes, matched together: each filter is one bit of large integers.

A bitmap index as of databases (Chan and Ioannidis, "Bitmap index design and evaluation", SIGMOD 1998). For
each attribute, type and operator it is known which filters a value violates; what is left of all filters when
the violated ones are taken out has matched. The cost of an event grows with the kinds of constraints and
hardly with the filters: the interpreter works on thousands of bits at a step.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from node.filters.language import ORDERINGS, Attributes, Constraint, Filter, Value, type_of

MOST = 16384  # filters in a block: memory for the bits of a filter grows with it
PIECE = 64  # bounds that stand together; what an event costs and the memory for a bound balance there
SPARSE = 8  # filters of one value up to which their numbers take less memory than bits
FEW_FOUND = 8  # filters found that are taken out of the bits one by one
MANY_HOPS = 64  # hops beyond which it is not known in bits which filters a hop wants

Hops = dict[Hashable, None]
_Key = tuple[str, str | None, str]  # of a kind of constraints: attribute, type, operator


def satisfied(constraints: Iterable[Constraint], attributes: Attributes) -> bool:
    """Whether an event with these attributes satisfies all of the constraints."""
    for constraint in constraints:
        name = constraint.name
        if name not in attributes or not constraint.test(attributes[name]):
            return False
    return True


class Entry:
    """A filter in the index."""

    __slots__ = ("access", "block", "filter", "hops", "rest", "slot")

    def __init__(self, filter: Filter, access: Constraint | None) -> None:
        self.filter = filter
        self.hops: Hops = {}
        self.access = access  # the equality by which it is found, if it has one
        self.rest = [one for one in filter.constraints if one is not access]  # to be satisfied besides
        self.block: Block | None = None  # where it stands when it is a bit, ...
        self.slot = 0  # ... and which one


_NOBODY = Entry(Filter(), None)  # in a slot that is free


class Block:
    """Entries whose `rest` is about the same attributes."""

    __slots__ = ("_all", "_checks", "_entries", "_free", "_hops", "_kinds", "_tests")

    def __init__(self) -> None:
        self._all = 0
        self._entries: list[Entry] = []  # by slot
        self._free: list[int] = []
        self._kinds: dict[_Key, _Kind] = {}
        self._tests: list[tuple[str, str | None, _Kind]] = []  # the same: attribute, type, constraints
        self._checks: dict[int, list[Constraint]] = {}  # slots with a second constraint of one kind
        self._hops: dict[Hashable, int] | None = {}  # the slots that each wants

    def __len__(self) -> int:
        return len(self._entries) - len(self._free)

    def entries(self) -> list[Entry]:
        return [entry for entry in self._entries if entry is not _NOBODY]

    def add(self, entry: Entry) -> None:
        """Put an entry in, with the hops that it has."""
        if self._free:
            slot = self._free.pop()
            self._entries[slot] = entry
        else:
            slot = len(self._entries)
            self._entries.append(entry)
        entry.block, entry.slot = self, slot
        self._all |= 1 << slot
        for key, constraint in self._split(entry):
            if key is None:
                self._checks.setdefault(slot, []).append(constraint)
                continue
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = _MAKE[constraint.op](constraint.op)
                self._tests.append((*key[:2], kind))
            kind.add(constraint, slot)
        for hop in entry.hops:
            self.wanted(entry, hop)

    def remove(self, entry: Entry) -> None:
        """Take an entry out, with the hops that it has left."""
        slot = entry.slot
        for hop in entry.hops:
            self.unwanted(entry, hop)
        for key, constraint in self._split(entry):
            if key is not None:
                kind = self._kinds[key]
                kind.remove(constraint, slot)
                if not kind.all:
                    del self._kinds[key]
                    self._tests = [(*key[:2], kind) for key, kind in self._kinds.items()]
        self._checks.pop(slot, None)
        self._all ^= 1 << slot
        self._entries[slot] = _NOBODY
        entry.block = None
        self._free.append(slot)

    def wanted(self, entry: Entry, hop: Hashable) -> None:
        """One more hop wants an entry's events."""
        if self._hops is not None:
            self._hops[hop] = self._hops.get(hop, 0) | 1 << entry.slot
            if len(self._hops) > MANY_HOPS:
                self._hops = None

    def unwanted(self, entry: Entry, hop: Hashable) -> None:
        if self._hops is not None:
            self._hops[hop] ^= 1 << entry.slot
            if not self._hops[hop]:
                del self._hops[hop]

    def match(self, attributes: Attributes, hops: set[Hashable]) -> None:
        """Add the hops of the entries that match; all attributes that they are about are there."""
        left = self._all
        for name, wanted, kind in self._tests:
            value = attributes[name]
            if wanted is None or wanted == type_of(value):
                left ^= left & kind.violated(value)
            else:
                left ^= left & kind.all
            if not left:
                return
        if self._checks:
            left = self._checked(left, attributes)
        count = left.bit_count()
        if self._hops is not None and len(self._hops) <= count:
            for hop, slots in self._hops.items():
                if left & slots:
                    hops.add(hop)
        elif count <= FEW_FOUND:
            for slot in _low_bits(left):
                hops.update(self._entries[slot].hops)
        else:
            for slot in _bits(left):
                hops.update(self._entries[slot].hops)

    def _checked(self, left: int, attributes: Attributes) -> int:
        """Of the slots left those that satisfy their other constraints too."""
        for slot, constraints in self._checks.items():
            if left >> slot & 1 and not satisfied(constraints, attributes):
                left ^= 1 << slot
        return left

    def _split(self, entry: Entry) -> Iterator[tuple[_Key | None, Constraint]]:
        """The constraints with the kind in which each stands; None for a second one of a kind, which is
        checked by itself. That an attribute exists is known."""
        taken = set()
        for constraint in entry.rest:
            if constraint.op != "exists":
                key = _kind_of(constraint)
                yield (None if key in taken else key), constraint
                taken.add(key)


def _low_bits(bits: int) -> Iterator[int]:
    """The numbers of the bits set, each found in the time of some operations on all of them."""
    while bits:
        slot = (bits & -bits).bit_length() - 1
        yield slot
        bits ^= 1 << slot


def _bits(bits: int) -> Iterator[int]:
    """The numbers of the bits set, found in their text form: the start costs more, each of them less."""
    digits = bin(bits)
    last = len(digits) - 1
    at = digits.rfind("1")
    while at > 0:
        yield last - at
        at = digits.rfind("1", 0, at)


# ---- constraints of one kind: one attribute, type and operator --------------------------------------------


def _kind_of(constraint: Constraint) -> _Key:
    """Attribute, type and operator; equalities of all types stand together, as `in` may mix them."""
    if constraint.op in ("=", "in"):
        return constraint.name, None, "="
    return constraint.name, type_of(constraint.values[0]), constraint.op


class _Kind:
    """Constraints of one kind by the slots that have them; a slot has one at most."""

    __slots__ = ("all",)

    def __init__(self) -> None:
        self.all = 0

    def add(self, constraint: Constraint, slot: int) -> None:
        raise NotImplementedError

    def remove(self, constraint: Constraint, slot: int) -> None:
        raise NotImplementedError

    def violated(self, value: Value) -> int:
        """The slots whose constraint this value, of the kind's type, does not satisfy."""
        raise NotImplementedError


class _Bounds(_Kind):
    """An ordering: the bounds, sorted, in pieces. The bits of all pieces below one are kept, from the lowest
    on as far as they hold: a change voids those above it, and the next event that needs them makes them anew.
    """

    __slots__ = ("_below", "_bits", "_bounds", "_ends", "_find", "_slots", "_upward")

    def __init__(self, op: str) -> None:
        super().__init__()
        self._upward = op in (">", ">=")  # satisfied by what is above the bound
        self._find = bisect_left if op in (">", "<=") else bisect_right
        self._bounds: list[list[Any]] = []  # values that have an order among themselves
        self._slots: list[list[int]] = []  # in the same places
        self._ends: list[Any] = []  # the highest bound of each piece
        self._bits: list[int] = []  # its slots
        self._below: list[int] = [0]  # those of all pieces before it

    def add(self, constraint: Constraint, slot: int) -> None:
        bound = constraint.values[0]
        self.all |= 1 << slot
        if not self._ends:
            self._put(0, [bound], [slot])
            return
        piece = min(bisect_left(self._ends, bound), len(self._ends) - 1)
        bounds, slots = self._bounds[piece], self._slots[piece]
        place = bisect_right(bounds, bound)
        bounds.insert(place, bound)
        slots.insert(place, slot)
        self._ends[piece] = bounds[-1]
        self._bits[piece] |= 1 << slot
        del self._below[piece + 1:]
        if len(bounds) > PIECE:
            half = len(bounds) // 2
            self._take(piece)
            self._put(piece, bounds[half:], slots[half:])
            self._put(piece, bounds[:half], slots[:half])

    def remove(self, constraint: Constraint, slot: int) -> None:
        piece = bisect_left(self._ends, constraint.values[0])
        while not self._bits[piece] >> slot & 1:  # others with the same bound stand before it
            piece += 1
        bounds, slots = self._bounds[piece], self._slots[piece]
        place = slots.index(slot)
        del bounds[place], slots[place]
        self._ends[piece] = bounds[-1] if bounds else self._ends[piece]
        self._bits[piece] ^= 1 << slot
        self.all ^= 1 << slot
        del self._below[piece + 1:]
        if not bounds:
            self._take(piece)
        elif len(bounds) <= PIECE // 4:  # small pieces are joined, or many of them would be left
            self._join(max(piece - 1, 0))
            self._join(min(piece, len(self._ends) - 1))

    def _join(self, piece: int) -> None:
        """A piece and the next one, if they are small."""
        if sum(map(len, self._bounds[piece:piece + 2])) <= PIECE // 2 and piece + 1 < len(self._ends):
            bounds, slots = self._take(piece)
            upper, its_slots = self._take(piece)
            self._put(piece, bounds + upper, slots + its_slots)

    def _put(self, piece: int, bounds: list[Any], slots: list[int]) -> None:
        bits = 0
        for slot in slots:
            bits |= 1 << slot
        self._bounds.insert(piece, bounds)
        self._slots.insert(piece, slots)
        self._ends.insert(piece, bounds[-1])
        self._bits.insert(piece, bits)
        del self._below[piece + 1:]

    def _take(self, piece: int) -> tuple[list[Any], list[int]]:
        del self._ends[piece], self._bits[piece], self._below[piece + 1:]
        return self._bounds.pop(piece), self._slots.pop(piece)

    def violated(self, value: Value) -> int:
        if value != value:  # not a number: nothing is above or below it
            return self.all
        piece = self._find(self._ends, value)
        lower = self._up_to(piece)
        if piece < len(self._ends):
            slots = self._slots[piece]
            place = self._find(self._bounds[piece], value)
            if 2 * place <= len(slots):
                for slot in slots[:place]:
                    lower |= 1 << slot
            else:
                lower |= self._bits[piece]
                for slot in slots[place:]:
                    lower ^= 1 << slot
        return self.all ^ lower if self._upward else lower

    def _up_to(self, piece: int) -> int:
        below = self._below
        while len(below) <= piece:
            below.append(below[-1] | self._bits[len(below) - 1])
        return below[piece]


# Keys of booleans among the values of equalities: in Python True is 1, here it is not.
_BOOLEANS = {True: (True,), False: (False,)}


def key_of(value: Value) -> Hashable:
    """A value among others in a dictionary."""
    return _BOOLEANS[value] if type(value) is bool else value


class _Values(_Kind):
    """Slots by the values of their constraints. Of few the numbers are kept, of many the bits."""

    __slots__ = ("_slots",)

    def __init__(self, op: str) -> None:
        super().__init__()
        self._slots: dict[Hashable, tuple[int, ...] | int] = {}

    def add(self, constraint: Constraint, slot: int) -> None:
        self.all |= 1 << slot
        for value in constraint.values:
            key = key_of(value)
            known = self._slots.get(key, ())
            if type(known) is tuple and len(known) < SPARSE:
                self._slots[key] = (*known, slot)
            else:
                self._slots[key] = self.having(key) | 1 << slot

    def remove(self, constraint: Constraint, slot: int) -> None:
        self.all ^= 1 << slot
        for value in constraint.values:
            key = key_of(value)
            left = self.having(key) ^ 1 << slot
            if not left:
                del self._slots[key]
            else:
                self._slots[key] = left if left.bit_count() > SPARSE // 2 else tuple(_low_bits(left))

    def having(self, key: Hashable) -> int:
        """The slots with this value."""
        known = self._slots.get(key, 0)
        if isinstance(known, int):
            return known
        bits = 0
        for slot in known:
            bits |= 1 << slot
        return bits


class _Equal(_Values):
    __slots__ = ()

    def violated(self, value: Value) -> int:
        return self.all ^ self.having(key_of(value))


class _Unequal(_Values):
    __slots__ = ()

    def violated(self, value: Value) -> int:
        return self.having(key_of(value))


class _Patterns(_Values):
    """Prefixes, suffixes, infixes: the pieces of a value of each length that a pattern has are looked up."""

    __slots__ = ("_lengths", "_op")

    def __init__(self, op: str) -> None:
        super().__init__(op)
        self._op = op
        self._lengths: dict[int, int] = {}  # and how many slots have each

    def add(self, constraint: Constraint, slot: int) -> None:
        super().add(constraint, slot)
        length = _length(constraint)
        self._lengths[length] = self._lengths.get(length, 0) + 1

    def remove(self, constraint: Constraint, slot: int) -> None:
        super().remove(constraint, slot)
        length = _length(constraint)
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]

    def violated(self, value: Any) -> int:  # text or bytes, as the patterns
        size = len(value)
        lengths = [length for length in self._lengths if length <= size]
        if self._op == "prefix":
            pieces: Iterable[Hashable] = [value[:length] for length in lengths]
        elif self._op == "suffix":
            pieces = [value[size - length:] for length in lengths]
        elif sum(size - length + 1 for length in lengths) < len(self._slots):
            pieces = {value[at:at + length] for length in lengths for at in range(size - length + 1)}
        else:
            pieces = [pattern for pattern in self._slots if pattern in value]
        found = 0
        for piece in pieces:
            if piece in self._slots:
                found |= self.having(piece)
        return self.all ^ found


def _length(constraint: Constraint) -> int:
    pattern: Any = constraint.values[0]  # text or bytes
    return len(pattern)


_MAKE: dict[str, Callable[[str], _Kind]] = {
    "=": _Equal, "in": _Equal, "!=": _Unequal,
    **dict.fromkeys(ORDERINGS, _Bounds), **dict.fromkeys(("prefix", "suffix", "contains"), _Patterns)}
