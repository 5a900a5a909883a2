"""A published event of either kind: plain, or tagged with what a recovery needs (node/recovery/)."""
from __future__ import annotations

from typing import NamedTuple, TypeAlias

from node import wire
from node.ids import EventId

ENTRY = 200  # bytes that what holds an event takes for it, counted in
OLDEST = (1 << 32) - 1  # ms
COUNTER = 13  # bytes of a filter's hash and number

AnyEvent: TypeAlias = "wire.Event | wire.TaggedEvent"


def id_of(event: AnyEvent) -> EventId:
    """By what an event is known for ever; both kinds begin with these fields."""
    return EventId(event[0], event[1], event[2])


def age_of(born: float, now: float) -> int:
    """As messages tell it: ms since it was published. Clocks of two nodes are never compared."""
    return min(max(round((now - born) * 1000), 0), OLDEST)


class Held(NamedTuple):
    """An event that waits for somebody."""

    event: wire.Event
    born: float | None = None  # when it was published (s), about, if it came late

    def carried(self, now: float) -> wire.Event | wire.Late:
        """As a message."""
        return self.event if self.born is None else wire.Late(age_of(self.born, now), self.event)


def held(message: wire.Message, now: float) -> Held | None:
    """What such a message carries; None if it is another one."""
    if isinstance(message, wire.Event):
        return Held(message)
    if isinstance(message, wire.Late) and isinstance(message.event, wire.Event):
        return Held(message.event, now - message.age / 1000)
    return None


def plain(event: AnyEvent) -> wire.Event:
    """As local clients get it."""
    return event if isinstance(event, wire.Event) else wire.Event(*event[:7])


def size_of(event: AnyEvent) -> int:
    """Bytes that an event takes where it is held, about."""
    size = ENTRY + len(event.payload)
    for name, value in event.attributes.items():
        size += len(name) + (len(value) if isinstance(value, (str, bytes)) else 8)
    if type(event) is wire.TaggedEvent:
        size += COUNTER * len(event.counters)
    return size
