"""A published event of either kind: plain, or tagged with what a recovery needs (node/recovery/)."""
from __future__ import annotations

from typing import TypeAlias

from node import wire
from node.ids import EventId

AnyEvent: TypeAlias = "wire.Event | wire.TaggedEvent"


def id_of(event: AnyEvent) -> EventId:
    """By what an event is known for ever; both kinds begin with these fields."""
    return EventId(event[0], event[1], event[2])


def plain(event: AnyEvent) -> wire.Event:
    """As local clients get it."""
    return event if isinstance(event, wire.Event) else wire.Event(*event[:7])
