"""What all routing strategies share: local clients, events seen once, and their way over the next hops.

cugola-murphy-picco-mobile-environment, section 2. A strategy holds the subscription table and decides what
tree neighbors are told of it and where an event goes. The services that reconcilers ask for
(node/reconcile/) exist in every strategy; where nothing is told there is nothing to hold back or to keep.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from node import wire
from node.event import AnyEvent, age_of, id_of
from node.filters import Filter
from node.ids import LinkId, NodeId
from node.reconcile import Everything
from node.recovery import Recovery
from node.routing.duplicates import SeenEvents
from node.routing.recent import Recent
from node.routing.table import FilterHash, SubscriptionTable
from node.routing.told import Told
from node.seams import AcknowledgedChannels, Delivery, Digest, HopMessages, LinkMessages, Rooted, Sender

MAX_HOPS = 255  # an event's hop count is a u8


class Surroundings(NamedTuple):
    """What a strategy may call, and what it shares with a recovery: the table and the memory of events."""

    station: Sender
    channels: AcknowledgedChannels
    tree: Rooted
    delivery: Delivery
    table: SubscriptionTable
    seen: SeenEvents
    recovery: Recovery | None
    quiet: bool = False  # a world that counts messages itself asks for no records of events, which take most of the time


class Strategy:
    """The routing of one node. A recovery, where there is one, sees each event on its way once."""

    def __init__(self, around: Surroundings) -> None:
        self._station = around.station
        self._env = around.station.env
        self._me = around.station.me.node
        self._channels = around.channels
        self._delivery = around.delivery
        self._recovery = around.recovery
        self._seen = around.seen
        self._quiet = around.quiet
        self._recent: Recent | None = None  # where links may ask for what they missed
        self.table = around.table
        self.links: dict[LinkId, Told] = {}  # what was told over each: nothing, by most strategies
        self.link_messages: LinkMessages = {
            **dict.fromkeys(wire.EVENTS, self._event_received), wire.Late: self._late_received}
        self.hop_messages: HopMessages = {}

    def start(self) -> None:
        """This life begins."""

    # ---- links come and go: what reconcilers ask ------------------------------------------------
    def add_link(self, link: LinkId, held: Iterable[FilterHash] | Everything = ()) -> None:
        self.links.setdefault(link, Told())

    def remove_link(self, link: LinkId, keep: bool = False) -> None:
        self.links.pop(link, None)

    def replaces(self, link: LinkId) -> None:
        """This link, which is about to open, takes the place of one that was lost just now."""

    def holds_back(self, link: LinkId) -> bool:
        """Whether the link has not been told all yet, so that what is sent over it fences nothing."""
        return False

    def told_links(self) -> list[LinkId]:
        """Links over which all that is wanted has been told, so that what follows in them fences it."""
        return [link for link in self.links if not self.holds_back(link)]

    def tree_changed(self) -> None:
        """This node's parent, depth or leader is another one."""

    # ---- local clients --------------------------------------------------------------------------
    def subscribe(self, client: str, wanted: Filter) -> None:
        self.table.add(client, wanted)

    def unsubscribe(self, client: str, key: FilterHash) -> None:
        self.table.remove(client, key)

    def publish(self, event: wire.Event) -> None:
        """A local client's event. A device sends one again that it does not know to have come: once suffices."""
        if self._seen.first_time(event.source, event.epoch, event.sequence):
            self._route(event, None)

    # ---- the HELLO's digests --------------------------------------------------------------------
    def digests_received(self, node: NodeId, digests: Sequence[Digest]) -> None:
        """The part of a neighbor's HELLO that states what it told over its links."""

    def digests(self) -> list[Digest]:
        """For the next HELLO: (neighbor, nonce, channel position, digest of what it was told)."""
        return []

    # ---- events -----------------------------------------------------------------------------------
    def next_hops(self, event: AnyEvent, arrival: LinkId | None) -> tuple[list[LinkId], list[str]]:
        """Tree links and local clients that this event goes to; `arrival` may be among them."""
        raise NotImplementedError

    def _late_received(self, link: LinkId, message: wire.Late) -> None:
        event = message.event
        if not isinstance(event, (wire.Event, wire.TaggedEvent)):
            self._station.dropped("misplaced")
            return
        self._event_received(link, event, self._env.now() - message.age / 1000)

    def _event_received(self, link: LinkId, event: AnyEvent, born: float | None = None) -> None:
        """`born`: when it was published (s), about, if it comes late; None: just now."""
        if link not in self.links:
            self._station.dropped("dead_link")
            return
        if not self._seen.first_time(event[0], event[1], event[2]):
            if not self._quiet:
                self._env.record("duplicate", event=str(id_of(event)), link=str(link))
            return
        self._route(event, link, born)

    def _route(self, event: AnyEvent, arrival: LinkId | None, born: float | None = None) -> None:
        links, clients = self.next_hops(event, arrival)
        if arrival in links:
            links.remove(arrival)
        if self._recovery is not None:
            event, clients = self._recovery.passing(event, arrival, clients, born)
        if self._recent is not None:
            now = self._env.now()
            self._recent.passed(event, now, now if born is None else born, arrival, links)
        if links:
            self._forward(event, arrival, links, born)
        for client in clients:
            self._delivery.deliver(client, event, born)

    def _forward(self, event: AnyEvent, arrival: LinkId | None, links: list[LinkId], born: float | None = None) -> None:
        record = self._env.record
        if event.hops >= MAX_HOPS:
            for link in links:
                record("event_dropped", event=str(id_of(event)), link=str(link), reason="hops")
            return
        if not self._quiet:
            record("forwarded", **{"event": str(id_of(event)),
                                   "from": None if arrival is None else str(arrival),
                                   "to": [str(link) for link in links]})
        onward: wire.Message = event._replace(hops=event.hops + 1)
        if born is not None:
            onward = wire.Late(age_of(born, self._env.now()), onward)
        self._channels.send(links, onward)
