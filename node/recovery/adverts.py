"""Advertisements: each tree neighbor is told the latest numbers of the events that it wants.

The paper notices a loss by the next event for the same pattern of the same source; where these are rare that is too
late, and the last loss of all is never noticed. So a node tells a neighbor the latest numbers that it knows: all of a
filter when the neighbor tells the filter (a new link, two networks that meet), and later those that have grown
by another way than an event sent over that link; where links do not retransmit (`retransmission = false`), those too,
because the event may have been lost. Counters spread hop by hop, and only along links that want them.
"""
from __future__ import annotations

from node import wire
from node.environment import Timer
from node.ids import Epoch, LinkId, NodeId
from node.recovery.counters import Counter, Numbers
from node.routing.table import SubscriptionTable
from node.seams import Channels, Host

SOON = 0.25  # gossip intervals until what a link does not know is told
FILTERS, SOURCES = 32, 64  # in one message (schema/messages.toml)
ENTRIES = 100  # in one message, which so fits a datagram
MESSAGES = 8  # to one link at once


class Adverts:
    def __init__(self, station: Host, channels: Channels, table: SubscriptionTable, numbers: Numbers) -> None:
        self._env = station.env
        self._interval = station.config.gossip_interval  # s
        self._channels = channels
        self._table = table
        self._numbers = numbers
        self._due: dict[LinkId, dict[Counter, None]] = {}
        self._timer: Timer | None = None
        self._timer_at = 0.0

    def told(self, link: LinkId, key: bytes) -> None:
        """The link wants a filter that it did not want before."""
        for counter in self._numbers.of(key):
            self._due.setdefault(link, {})[counter] = None
        if link in self._due:
            self._wake(SOON)

    def grown(self, counter: Counter, arrival: LinkId | None, soon: bool) -> None:
        """A number is higher than it was: tell all who want it but the link that it came from."""
        for hop in self._table.hops_of(counter[0]):
            if type(hop) is LinkId and hop != arrival:
                self._due.setdefault(hop, {})[counter] = None
                self._wake(SOON if soon else 1.0)

    def _wake(self, intervals: float) -> None:
        env, wait = self._env, intervals * self._interval
        if self._timer is not None:
            if self._timer_at <= env.now() + wait:
                return
            self._timer.cancel()
        self._timer_at = env.now() + wait
        self._timer = env.call_later(wait, self._send)

    def _send(self) -> None:
        self._timer = None
        due, self._due = self._due, {}
        for link, counters in due.items():
            wanted = self._table.filters_of(link)  # nothing, once the link is lost
            left = [counter for counter in counters if counter[0] in wanted]
            for _ in range(MESSAGES):
                left = self._send_some(link, left)
            if left:
                self._due[link] = dict.fromkeys(left)
        if self._due:
            self._wake(SOON)

    def _send_some(self, link: LinkId, counters: list[Counter]) -> list[Counter]:
        """One message with the first of these that it has room for; the others."""
        if not counters:
            return []
        groups: dict[bytes, list[tuple[NodeId, Epoch, int]]] = {}
        left, room = [], ENTRIES
        for counter in counters:
            key, source, epoch = counter
            number = self._numbers.get(counter)
            if number is None:
                continue
            if room == 0 or (key not in groups and len(groups) == FILTERS) or len(groups.get(key, ())) == SOURCES:
                left.append(counter)
                continue
            room -= 1
            groups.setdefault(key, []).append((source, epoch, number))
        if groups:
            self._channels.send([link], wire.Counters(tuple((key, tuple(rows)) for key, rows in groups.items())))
        return left
