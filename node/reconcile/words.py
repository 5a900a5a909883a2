"""ACTIVATE as it comes in: a message in parts, in any order, perhaps before the link that it is about.

cugola-frey-murphy-picco-dynamic-topology, section IV-B. The set P of an ACTIVATE(rId, P) may be larger than a datagram.
"""
from __future__ import annotations

from node import wire
from node.ids import LinkId
from node.memory import Memory
from node.routing.table import FilterHash

WORDS = 64  # reconfigurations whose ACTIVATE is here; of more the one heard of longest ago is forgotten
COMPLETE = -1  # beside the numbers of parts


class Words:
    def __init__(self) -> None:
        self._words: Memory[LinkId, dict[int, tuple[FilterHash, ...]]] = Memory(WORDS)  # rid -> part -> P

    def __len__(self) -> int:
        return len(self._words)

    def add(self, rid: LinkId, message: wire.InformedActivate) -> bool:
        """A part that came; whether all are here."""
        word = self._word_of(rid)
        word[message.part] = message.filters
        if len(word) < message.parts:
            return False
        word[COMPLETE] = ()
        return True

    def to_self(self, rid: LinkId) -> None:
        """As if one had come, whole, with an empty P."""
        word = self._word_of(rid)
        word.clear()
        word[COMPLETE] = ()

    def is_complete(self, rid: LinkId) -> bool:
        return COMPLETE in self._words.get(rid, ())

    def take(self, rid: LinkId) -> list[FilterHash]:
        """P of one that is complete, which is forgotten."""
        return [key for piece in self._words.pop(rid).values() for key in piece]

    def _word_of(self, rid: LinkId) -> dict[int, tuple[FilterHash, ...]]:
        word = self._words.get(rid, {})
        self._words.remember(rid, word)
        return word
