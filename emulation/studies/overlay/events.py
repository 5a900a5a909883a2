"""The paper's events and patterns as the node's own, and what is noted of each event while it travels.

cugola-frey-murphy-picco-dynamic-topology, section V-A: an event is a text of mu characters, a pattern one
character, and an event matches the patterns whose character it holds. As a filter of the node that is `text
contains "x"`. With one filter a character, matching is to look up the event's characters; the table that does
so takes the place of the general index, which gives the same answer (a test compares them) ten times slower.
"""
from __future__ import annotations

import random
from functools import cache

from node.filters import Attributes, Constraint, Filter, Index
from node.ids import LinkId
from node.routing.table import FilterHash, Hop, SubscriptionTable

NAME = "text"
CLIENT = "client"  # the one local client of a dispatcher that subscribes


class Pattern(Filter):
    """A filter that asks the event, which knows its patterns."""

    __slots__ = ()

    def matches(self, attributes: Attributes) -> bool:
        assert isinstance(attributes, Text)
        return self.hash in attributes.patterns


@cache
def pattern(number: int) -> Pattern:
    """The filter of a pattern: printable ASCII first, then the Latin and Greek letters and beyond."""
    return Pattern([Constraint(NAME, "contains", (character(number),))])


def character(number: int) -> str:
    return chr(0x21 + number) if number < 94 else chr(0xA1 + number - 94)


class Text(dict[str, str]):
    """An event's attributes, shared by all copies of the event.

    `patterns`: hashes of the filters it matches. `trail`: the link ends it went over, in order of arrival.
    `salt`: decides on which links it is lost (network.loses).
    `got`: bit n is set when it was delivered to dispatcher n, of `recovered` when it was lost before. `wanted`: the same for those of the core that
    had subscribed when it was published, its publisher excepted.
    """

    __slots__ = ("at", "got", "patterns", "recovered", "salt", "source", "trail", "wanted")

    def __init__(self, at: float, source: int, numbers: list[int], salt: int = 0) -> None:
        super().__init__(text="".join(map(character, numbers)))
        self.at = at
        self.source = source
        self.salt = salt
        self.patterns: list[FilterHash] = [pattern(number).hash for number in set(numbers)]
        self.trail: list[int] = []
        self.got = 0
        self.recovered = 0
        self.wanted = 0


def draw(at: float, source: int, letters: int, available: int, chance: random.Random, salt: int) -> Text:
    return Text(at, source, [int(chance.random() * available) for _ in range(letters)], salt)


class _Nothing(Index):
    """In place of the general index: its upkeep costs more than all the rest of the table."""

    def add(self, filter: Filter, hop: object) -> bool:
        return True

    def remove(self, filter: Filter, hop: object) -> bool:
        return True


class PatternTable(SubscriptionTable):
    """A subscription table of patterns only. The hops of a pattern are bits of one number, so that an event's
    hops are found by `or`; which hops the result stands for is remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.index = _Nothing()
        self._masks: dict[FilterHash, int] = {}
        self._bits: dict[Hop, int] = {}  # of hops that have a pattern
        self._meaning: dict[int, tuple[list[LinkId], list[str]]] = {}

    def add(self, hop: Hop, wanted: Filter) -> bool:
        if not super().add(hop, wanted):
            return False
        bit = self._bits.get(hop)
        if bit is None:
            self._meaning.clear()
            taken = sum(self._bits.values())
            bit = self._bits[hop] = ~taken & taken + 1  # the lowest that is free
        self._masks[wanted.hash] = self._masks.get(wanted.hash, 0) | bit
        return True

    def remove(self, hop: Hop, key: FilterHash) -> Filter | None:
        removed = super().remove(hop, key)
        if removed is not None:
            self._masks[key] &= ~self._bits[hop]
            if not self._masks[key]:
                del self._masks[key]
            if not self.filters_of(hop):
                del self._bits[hop]
                self._meaning.clear()
        return removed

    def match(self, attributes: Attributes) -> tuple[list[LinkId], list[str]]:
        assert isinstance(attributes, Text)
        masks, found = self._masks, 0
        for key in attributes.patterns:
            if key in masks:
                found |= masks[key]
        meaning = self._meaning.get(found)
        if meaning is None:
            hops = [hop for hop, bit in self._bits.items() if found & bit]
            links = sorted(hop for hop in hops if isinstance(hop, LinkId))
            meaning = self._meaning[found] = links, [CLIENT] if CLIENT in hops else []
        return meaning[0].copy(), meaning[1]

    def sole(self) -> dict[Hop, set[FilterHash]]:
        """Per hop the patterns that it wants and no other hop does."""
        hop_of = {bit: hop for hop, bit in self._bits.items()}
        found: dict[Hop, set[FilterHash]] = {}
        for key, mask in self._masks.items():
            if mask in hop_of:
                found.setdefault(hop_of[mask], set()).add(key)
        return found

    def matching(self, attributes: Attributes) -> list[FilterHash]:
        """Hashes of the filters that the event matches."""
        assert isinstance(attributes, Text)
        return [key for key in attributes.patterns if key in self._masks]


def useful(text: Text, ends: list[tuple[int, int]]) -> int:
    """How many of the event's messages lay on a way to a dispatcher that it was delivered to.

    `ends[code]` is (sender, receiver). The others were misrouted: neither their receiver nor anyone behind it
    wanted the event. It goes over a tree, so a receiver's own messages come after it on the trail.
    """
    got, count = text.got, 0
    for code in reversed(text.trail):
        sender, receiver = ends[code]
        if got >> receiver & 1:
            count += 1
            got |= 1 << sender
    return count
