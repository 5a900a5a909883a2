"""Replay on subscription: events of late, for a link that comes to want them because the tree changed.

No paper has it; costa-epidemic-reliability recovers the same losses by gossip. While a tree is broken, events still reach
every broker of the publisher's part that wants them, and get no further. The SUB that then comes over the link that mends
the tree names exactly who lacks them. It travels up to brokers that had all events of its filters (observation 1 of
cugola-frey-murphy-picco-dynamic-topology), or to the publishers, and says since when they may have been missed; each
broker on its way sends what it had, and what it sends is passed on as any event is, once.

So nothing that a closed channel left unacknowledged is lost: it has not gone over the link that takes its place.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Collection

from node.event import AnyEvent, size_of
from node.filters import Filter
from node.ids import LinkId

MOST_BYTES = 262144  # of events remembered, about


class Passed:
    """An event that came through here."""

    __slots__ = ("arrived", "born", "event", "kept", "links", "size")

    def __init__(self, event: AnyEvent, arrived: float, born: float, links: set[LinkId]) -> None:
        self.event = event
        self.arrived, self.born = arrived, born  # s, by this node's clock; born: published, about
        self.links = links  # that it came or went over
        self.size = size_of(event)
        self.kept = True  # by `Recent`; what waits longer is given up


class Recent:
    """What came through this node within a window of time."""

    def __init__(self, window: float) -> None:
        """`window`: s that an event is remembered."""
        self._window = window
        self._events: deque[Passed] = deque()  # in the order in which they came
        self._bytes = 0

    def passed(self, event: AnyEvent, now: float, born: float, arrival: LinkId | None, links: Collection[LinkId]) -> None:
        """Remember an event that came by `arrival` and goes on over `links`."""
        one = Passed(event, now, born, {*links} if arrival is None else {arrival, *links})
        self._events.append(one)
        self._bytes += one.size
        self.forget_old(now)

    def forget_old(self, now: float) -> None:
        """Keep no more than the window and the memory allow."""
        while self._events and (self._bytes > MOST_BYTES or self._events[0].arrived < now - self._window):
            forgotten = self._events.popleft()
            forgotten.kept = False
            self._bytes -= forgotten.size

    def missed(self, link: LinkId, filters: Collection[Filter], since: float) -> list[Passed]:
        """What came since then (s), matches any of the filters and has not been at the link's far end as far as is known
        here, in the order in which it came. What is given out counts as gone over the link."""
        found: list[Passed] = []
        for one in reversed(self._events):
            if one.arrived < since:
                break
            attributes = one.event.attributes
            if link not in one.links and any(wanted.matches(attributes) for wanted in filters):
                one.links.add(link)
                found.append(one)
        found.reverse()
        return found
