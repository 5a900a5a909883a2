"""Events that wait for a channel to take them, and those in it that are not acknowledged: in order, bounded.

cugola-murphy-picco-mobile-environment, section 4 (the messages addressed to a client that is away). Of both ends: a
broker's for one device, a device's for what it publishes. The policy: what does not fit drops the oldest event
that is not on the air, and what has waited longer than `age` is dropped. Whoever owns a buffer records that.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from node import wire
from node.event import Held, id_of
from node.ids import EventId

ON_THE_AIR = 16384  # bytes handed to a channel and not acknowledged, before more are
ROOM = 1024  # bytes that whatever carries an event may add to it
LARGEST = wire.MAX_MESSAGE - ROOM  # bytes of an event that can be carried

Dropped = Callable[[EventId, str], object]  # told of each event that is dropped, and why: bytes, age


class Entry:
    """An event that waits; `late`: later ones of its publisher may go before. `serial` and `end` are of its transmission: its number, the channel's position behind it."""

    __slots__ = ("end", "held", "late", "serial", "since", "size")

    def __init__(self, held: Held, since: float, late: bool) -> None:
        self.held = held
        self.size = len(wire.encode_message(held.event))  # bytes
        self.since = since  # s
        self.late = late
        self.serial = 0  # 0: not sent so far
        self.end = 0


class Buffer:
    """A queue whose first entries are on the air, and the rest not."""

    def __init__(self, most: int, age: float, dropped: Dropped) -> None:
        """`most` in bytes, `age` in s."""
        self._most = most
        self._age = age
        self._dropped = dropped
        self._entries: deque[Entry] = deque()
        self._sent = 0  # entries on the air
        self.bytes = 0
        self.bytes_on_the_air = 0

    def __len__(self) -> int:
        return len(self._entries)

    def events(self) -> list[Held]:
        return [entry.held for entry in self._entries]

    def add(self, held: Held, now: float, late: bool = False) -> None:
        entry = Entry(held, now, late)
        while self._entries and self.bytes + entry.size > self._most and self._sent < len(self._entries):
            self._drop(self._sent, "bytes")
        if self.bytes + entry.size > self._most or entry.size > LARGEST:
            self._dropped(id_of(held.event), "bytes")
            return
        self._entries.append(entry)
        self.bytes += entry.size

    def expire(self, now: float) -> None:
        """Drop what has waited for too long."""
        while self._sent < len(self._entries) and now - self._entries[self._sent].since >= self._age:
            self._drop(self._sent, "age")

    def next(self) -> Entry | None:
        """The first entry that is not on the air, while there is room for it there."""
        if self._sent == len(self._entries) or self.bytes_on_the_air >= ON_THE_AIR:
            return None
        return self._entries[self._sent]

    def sent(self, serial: int, end: int) -> None:
        """The entry that `next` gave is on the air."""
        entry = self._entries[self._sent]
        entry.serial, entry.end = serial, end
        self._sent += 1
        self.bytes_on_the_air += entry.size

    def acknowledged(self, position: int) -> None:
        """The far end has all that the channel carried up to this position."""
        while self._sent and self._entries[0].end <= position:
            self._sent -= 1
            entry = self._entries.popleft()
            self.bytes -= entry.size
            self.bytes_on_the_air -= entry.size

    def rewind(self) -> None:
        """The channel has ended: nothing is on the air, and whether the last ones came is not known."""
        self._sent = self.bytes_on_the_air = 0

    def trim(self, serial: int) -> None:
        """The far end had all up to this number of those that were sent; later numbers are void."""
        self.rewind()
        kept: deque[Entry] = deque()
        for entry in self._entries:
            if 0 < entry.serial <= serial:
                self.bytes -= entry.size
            else:
                entry.serial = 0
                kept.append(entry)
        self._entries = kept

    def put_before(self, earlier: Iterable[Held], now: float) -> int:
        """Merge with what came earlier, each event once, those of one publisher in order; how many were there
        twice. Nothing must be on the air."""
        waits = {id_of(entry.held.event): (entry.since, entry.late) for entry in self._entries}
        both = [*earlier, *self.events()]
        events = {id_of(one.event): one for one in both}
        self._entries.clear()
        self.bytes = 0
        for one in in_order(list(events.values())):
            self.add(one, *waits.get(id_of(one.event), (now, False)))
        return len(both) - len(events)

    def clear(self) -> list[Held]:
        """Take everything out."""
        events = self.events()
        self._entries.clear()
        self.bytes = self.bytes_on_the_air = self._sent = 0
        return events

    def _drop(self, place: int, why: str) -> None:
        entry = self._entries[place]
        del self._entries[place]
        self.bytes -= entry.size
        self._dropped(id_of(entry.held.event), why)


def in_order(events: list[Held]) -> list[Held]:
    """The same events, those of each publisher in the order of their numbers, at the places of that publisher's."""
    of: dict[int, list[Held]] = {}
    for one in events:
        of.setdefault(one.event.source, []).append(one)
    following = {source: iter(sorted(own, key=lambda one: id_of(one.event))) for source, own in of.items()}
    return [next(following[one.event.source]) for one in events]
