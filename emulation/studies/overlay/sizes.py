"""How large a message is, and how the papers count it.

cugola-frey-murphy-picco-dynamic-topology, section V-A and Table II: what carries patterns weighs by them, all else
as much as `control_bits`. costa-epidemic-reliability gives no sizes; what recovery adds is counted in numbers, of
`number_bits` each: an id, an epoch, a sequence number is one, a filter's hash two.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from node import wire

# Where a message's patterns stand in it, and which of them the paper sends one by one.
PATTERNS = {wire.Sub: 0, wire.Unsub: 0, wire.SubFlush: 0, wire.Snapshot: 2, wire.Rec: 1, wire.InformedActivate: 3}
SINGLE = frozenset((wire.Sub, wire.Unsub))


def patterns(message: wire.Message) -> int:
    place = PATTERNS.get(type(message))
    if place is None:
        return 0
    return len(message[place]) + (len(message.remove) if type(message) is wire.Rec else 0)


def numbers(message: wire.Message) -> int:
    """Those that a message of recovery, or an event tagged for it, carries."""
    count = COUNTED.get(type(message))
    return count(message) if count else 0


def _digest(digest: Iterable[tuple[int, int, Collection[int]]]) -> int:
    """A source, its epoch and numbers of its events each."""
    return sum(2 + len(told) for _, _, told in digest)


def _answered(message: wire.GossipAnswer) -> int:
    return numbers(message.event)


COUNTED: dict[type, Callable[[Any], int]] = {  # by the class of the message that it takes
    wire.TaggedEvent: lambda m: 3 * len(m.counters) + len(m.route),
    wire.PushGossip: lambda m: 2 + len(m.route) + _digest(m.digest),
    wire.GossipRequest: lambda m: _digest(m.digest),
    wire.GossipAnswer: _answered,
    wire.SubscriberPull: lambda m: 2 + len(m.route) + _digest(m.lost),
    wire.PublisherPull: lambda m: 1 + len(m.route) + sum(2 + len(told) for _, told in m.lost),
    wire.Counters: lambda m: sum(2 + 3 * len(rows) for _, rows in m.latest),
}
