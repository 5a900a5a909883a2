"""The event cache: what passed through this node and may be asked for, within bytes and for a time.

costa-epidemic-reliability, section 4 (Cache) and section 5 (which events to discard). The policy: every event that
passes is kept; when room is needed those go first for which this node is neither source nor subscriber, and among
equals the oldest ("fifo") or any ("random", so that an event does not leave all caches at about the same time).
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from node import wire
from node.event import AnyEvent, id_of, size_of
from node.filters import Filter
from node.ids import Epoch, EventId, NodeId
from node.memory import Memory

SCANS = 1024  # filters whose events are remembered

Number = tuple[bytes, NodeId, Epoch, int]  # filter's hash, source, its epoch, number among its events for the filter


class Entry(NamedTuple):
    event: AnyEvent
    size: int  # bytes
    added: float  # s
    serial: int
    born: float  # s; published, about


class Cache:
    """Events by their id, and by the numbers that they carry."""

    def __init__(self, most: int, lifetime: float, eviction: str, now: Callable[[], float], chance: Random) -> None:
        """`most`: bytes; `lifetime`: s; `eviction`: "fifo" or "random"."""
        self._most, self._lifetime = most, lifetime
        self._now = now
        self._entries: OrderedDict[EventId, Entry] = OrderedDict()
        self._numbered: dict[Number, EventId] = {}
        self._others = _Pool(eviction, chance)  # neither published nor subscribed here: they go first
        self._ours = _Pool(eviction, chance)
        self._scans: Memory[bytes, tuple[int, dict[EventId, None]]] = Memory(SCANS)
        self._serial = 0
        self.bytes = 0

    def __len__(self) -> int:
        self._expire()
        return len(self._entries)

    def add(self, event: AnyEvent, ours: bool, born: float | None = None) -> None:
        """Keep an event; `ours` when it was published here or a local client wants it. `born`: when it was published (s),
        about; None: just now."""
        name, size = id_of(event), size_of(event)
        if name in self._entries or size > self._most:
            return
        self._expire()
        while self.bytes + size > self._most:
            if not ours and not self._others:
                return  # it would be the first to go
            self._drop((self._others or self._ours).victim())
        self._serial += 1
        now = self._now()
        self._entries[name] = Entry(event, size, now, self._serial, now if born is None else born)
        (self._ours if ours else self._others).add(name)
        self.bytes += size
        for number in _numbers(event):
            self._numbered[number] = name

    def get(self, name: EventId) -> AnyEvent | None:
        self._expire()
        entry = self._entries.get(name)
        return entry.event if entry is not None else None

    def born(self, name: EventId) -> float | None:
        """When an event that is kept was published (s), about."""
        entry = self._entries.get(name)
        return entry.born if entry is not None else None

    def numbered(self, number: Number) -> AnyEvent | None:
        """The event that carries this number."""
        name = self._numbered.get(number)
        return self.get(name) if name is not None else None

    def matching(self, wanted: Filter) -> list[EventId]:
        """Of all events that match, the oldest first. Each event is held against each filter once only."""
        self._expire()
        before, found = self._scans.get(wanted.hash, (0, {}))
        fresh = []
        for name in reversed(self._entries):
            entry = self._entries[name]
            if entry.serial <= before:
                break
            if wanted.matches(entry.event.attributes):
                fresh.append(name)
        # an event that went and came again since then is among the fresh ones
        found = {name: None for name in found if (kept := self._entries.get(name)) and kept.serial <= before}
        found |= dict.fromkeys(reversed(fresh))
        self._scans.remember(wanted.hash, (self._serial, found))
        return list(found)

    def _expire(self) -> None:
        """Entries stand in the order in which they came."""
        before = self._now() - self._lifetime
        while self._entries:
            name = next(iter(self._entries))
            if self._entries[name].added >= before:
                break
            self._drop(name)

    def _drop(self, name: EventId) -> None:
        event = self._entries[name].event
        self.bytes -= self._entries.pop(name).size
        (self._ours if name in self._ours else self._others).remove(name)
        for number in _numbers(event):
            if self._numbered.get(number) == name:
                del self._numbered[number]


def _numbers(event: AnyEvent) -> Iterable[Number]:
    if type(event) is not wire.TaggedEvent:
        return ()
    return [(key, event.source, event.epoch, number) for key, number in event.counters]


class _Pool:
    """Events that may make room, in the order in which they came, and drawn from in constant time."""

    def __init__(self, eviction: str, chance: Random) -> None:
        self._chance = chance if eviction == "random" else None
        self._places: OrderedDict[EventId, int] = OrderedDict()
        self._list: list[EventId] = []

    def __len__(self) -> int:
        return len(self._list)

    def __contains__(self, name: EventId) -> bool:
        return name in self._places

    def add(self, name: EventId) -> None:
        self._places[name] = len(self._list)
        self._list.append(name)

    def victim(self) -> EventId:
        if self._chance is None:
            return next(iter(self._places))
        return self._list[self._chance.randrange(len(self._list))]

    def remove(self, name: EventId) -> None:
        place, last = self._places.pop(name), self._list.pop()
        if last != name:
            self._list[place] = last
            self._places[last] = place
