"""The HELLO digest: finds that two ends of a link disagree about its filters, and heals it.

A beacon states, per link, the digest of what its sender told over the link and the position of
the channel at which that holds. Whoever has received exactly that much of the channel compares,
asks with RESYNC on a difference, and is answered by a SNAPSHOT of all filters in parts, in the
same FIFO channel as SUB and UNSUB. Both sides are limited in rate, because a difference that a
limit of the receiver makes (see forwarding.MAX_FILTERS_PER_LINK) does not go away.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from node import wire
from node.filters import Filter
from node.ids import LinkId, NodeId
from node.routing.table import MAX_FILTERS_PER_LINK, SubscriptionTable, parts
from node.routing.told import Told
from node.seams import Channels, Digest, Host

FIRST_PAUSE = 5.0  # s between two requests over a link, doubling ...
LAST_PAUSE = 160.0  # s ... up to this
ANSWER_PAUSE = 2.0  # s between two snapshots sent over a link


class _Link:
    __slots__ = ("position", "ask_after", "pause", "answer_after", "parts", "filters")

    def __init__(self) -> None:
        self.position = 0  # of the channel, behind the last message about filters received
        self.ask_after = 0.0
        self.pause = FIRST_PAUSE
        self.answer_after = 0.0
        self.parts: int | None = None  # parts of a snapshot that have come; None: none is under way
        self.filters: list[Filter] = []


class Telling(Protocol):
    """The table's owner."""

    @property
    def links(self) -> Mapping[LinkId, Told]: ...
    def is_fenced(self, link: LinkId) -> bool: ...
    def replace(self, link: LinkId, filters: Iterable[Filter]) -> tuple[int, int]: ...


class Resync:
    """Per link: what is compared, asked and answered."""

    def __init__(self, station: Host, channels: Channels, table: SubscriptionTable, routing: Telling) -> None:
        self._station = station
        self._env = station.env
        self._me = station.me.node
        self._channels = channels
        self._table = table
        self._routing = routing
        self._links: dict[LinkId, _Link] = {}

    def forget(self, link: LinkId) -> None:
        self._links.pop(link, None)

    def _state(self, link: LinkId) -> _Link:
        state = self._links.get(link)
        if state is None:
            state = self._links[link] = _Link()
        return state

    def changed(self, link: LinkId) -> None:
        """A SUB or UNSUB was applied: the comparison moves on, and a snapshot under way is void."""
        state = self._links.get(link) or self._state(link)
        state.position = self._channels.received_position(link)
        if state.parts is not None:
            state.parts, state.filters = None, []

    def digests_received(self, node: NodeId, digests: Sequence[Digest]) -> None:
        me = self._me
        for neighbor, nonce, position, digest in digests:
            if neighbor != me:
                continue
            link = LinkId.between(node, me, nonce)
            if link in self._routing.links:
                self._compare(link, position, int.from_bytes(digest, "big"))

    def _compare(self, link: LinkId, position: int, digest: int) -> None:
        state = self._state(link)
        if self._routing.is_fenced(link):
            return  # this end is ahead of what the other knows
        if not state.position <= position <= self._channels.received_position(link):
            return  # more was received than the beacon speaks of, or not all of it yet
        if digest == self._table.digest(link):
            state.pause = FIRST_PAUSE
            return
        now = self._env.now()
        if now < state.ask_after:
            return
        state.ask_after = now + state.pause
        state.pause = min(2 * state.pause, LAST_PAUSE)
        self._channels.send([link], wire.Resync(position))

    def requested(self, link: LinkId, message: wire.Resync) -> None:
        """The far end's table disagrees with what it was told up to there: tell it all, in order."""
        told = self._routing.links.get(link)
        if told is not None and message.position == told.position:  # else the next beacon compares anew
            self.asked(link)

    def asked(self, link: LinkId) -> None:
        """Send a snapshot, unless one was sent just now."""
        if link not in self._routing.links:
            return
        state = self._state(link)
        now = self._env.now()
        if now < state.answer_after:
            return
        state.answer_after = now + ANSWER_PAUSE
        self.send(link)

    def send(self, link: LinkId) -> None:
        """Tell a link all that it was told, in parts."""
        told = self._routing.links[link]
        # the receiver holds no more than its limit, whatever it is sent
        filters = [told.filters[key] for key in sorted(told.filters)[:MAX_FILTERS_PER_LINK]]
        pieces = list(parts(filters)) or [()]
        for number, piece in enumerate(pieces, 1):
            self._channels.send([link], wire.Snapshot(number - 1, number == len(pieces), piece))
        told.position = self._channels.sent_position(link)

    def snapshot_received(self, link: LinkId, message: wire.Snapshot) -> None:
        if link not in self._routing.links:
            self._station.dropped("dead_link")
            return
        state = self._state(link)
        if message.part == 0:
            state.parts, state.filters = 0, []
        if state.parts is None or message.part != state.parts:  # a part is missing: wait for the next snapshot
            state.parts, state.filters = None, []
            return
        state.parts += 1
        state.filters += message.filters[:MAX_FILTERS_PER_LINK + 1 - len(state.filters)]
        if not message.last:
            return
        filters = state.filters
        state.parts, state.filters = None, []
        state.position = self._channels.received_position(link)
        added, removed = self._routing.replace(link, filters)
        if added or removed:
            self._env.record("table_healed", link=str(link), added=added, removed=removed)
