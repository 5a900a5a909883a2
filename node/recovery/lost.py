"""The Lost buffer: events that a local client should have had and that did not come.

costa-epidemic-reliability, section 4.2 and figure 3 (LostBuffer). An entry is what is known of such an event: a filter,
the source with its epoch, and the number among the source's events for that filter. It leaves when the event comes,
by whatever way, or when patience ends. Bounded: the oldest entry makes room.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from node.ids import Epoch, NodeId
from node.recovery.cache import Number

MOST = 4096  # entries


class Loss:
    """Since when an event is missed, in s, and how many rounds have asked for it."""

    __slots__ = ("rounds", "since")

    def __init__(self, since: float) -> None:
        self.since = since
        self.rounds = 0


class Lost:
    def __init__(self, patience: float, now: Callable[[], float]) -> None:
        """`patience`: s that an entry is kept."""
        self._patience, self._now = patience, now
        # oldest first. A plain dict that loses its first entries is slow to find the next one
        self._entries: OrderedDict[Number, Loss] = OrderedDict()
        self.given_up = 0

    def __len__(self) -> int:
        self._expire()
        return len(self._entries)

    def __contains__(self, number: Number) -> bool:
        return number in self._entries

    def add(self, number: Number) -> None:
        self._expire()  # one whose patience has ended is a new loss when it is noticed again
        if number not in self._entries:
            if len(self._entries) >= MOST:
                self._give_up(next(iter(self._entries)))
            self._entries[number] = Loss(self._now())

    def found(self, numbers: Iterable[Number]) -> tuple[float, int] | None:
        """The event with these numbers is here: since when it was missed and how many rounds asked for it; None
        if it was not missed."""
        gone = [loss for number in numbers if (loss := self._entries.pop(number, None)) is not None]
        if not gone:
            return None
        return min(loss.since for loss in gone), max(loss.rounds for loss in gone)

    def patterns(self) -> list[bytes]:
        """Hashes of filters with lost events, each once."""
        self._expire()
        return list(dict.fromkeys(key for key, _, _, _ in self._entries))

    def publishers(self) -> list[tuple[NodeId, Epoch]]:
        """Sources of lost events, each once."""
        self._expire()
        return list(dict.fromkeys((source, epoch) for _, source, epoch, _ in self._entries))

    def of_pattern(self, key: bytes) -> list[Number]:
        return [number for number in self._entries if number[0] == key]

    def of_publisher(self, source: NodeId, epoch: Epoch) -> list[Number]:
        return [number for number in self._entries if number[1:3] == (source, epoch)]

    def asked(self, numbers: Iterable[Number]) -> None:
        """A gossip round asks for these."""
        for number in numbers:
            self._entries[number].rounds += 1

    def forget(self, key: bytes) -> None:
        """Nobody wants this filter any more."""
        for number in self.of_pattern(key):
            del self._entries[number]

    def _expire(self) -> None:
        before = self._now() - self._patience
        while self._entries:
            number = next(iter(self._entries))
            if self._entries[number].since >= before:
                break
            self._give_up(number)

    def _give_up(self, number: Number) -> None:
        del self._entries[number]
        self.given_up += 1
