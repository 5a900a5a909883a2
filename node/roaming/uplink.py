"""What a device has in place of routing: what its clients want, what they publish, and one channel to a broker.

cugola-murphy-picco-mobile-environment, section 4. Each broker that the device attaches to is told all that is wanted; what
is published waits until a broker serves the device, and until that broker is known to have it.
"""
from __future__ import annotations

from typing import Protocol

from node import wire
from node.event import Held, id_of
from node.filters import Attributes, Filter
from node.ids import EventId, LinkId
from node.roaming.buffer import Buffer
from node.routing.duplicates import SeenEvents
from node.routing.table import SubscriptionTable, parts
from node.seams import DeviceChannels, Host


class Delivery(Protocol):
    def wanted_at(self, client: str, attributes: Attributes, born: float) -> bool: ...
    def deliver(self, client: str, event: wire.Event, recovered: bool = False) -> None: ...


class Uplink:
    """The routing of a device, as its clients see it (`seams.Router`)."""

    def __init__(self, station: Host, channels: DeviceChannels, delivery: Delivery) -> None:
        self._env, config = station.env, station.config
        self._channels = channels
        self._delivery = delivery
        self._table = SubscriptionTable()
        self._seen = SeenEvents()
        self._outbox = Buffer(config.client_buffer, config.client_age, self._unpublished)
        self._link: LinkId | None = None  # the channel, while the device is attached
        self._serving = False

    @property
    def unsent(self) -> int:
        """Events published and not known to have come to a broker."""
        return len(self._outbox)

    # ---- the channel --------------------------------------------------------------------------
    def open(self, link: LinkId) -> None:
        """The device is attached: tell all that is wanted."""
        self._link = link
        filters = [wanted for _, wanted in self._table]
        for part in parts(filters):
            self._channels.send([link], wire.Want(part))
        self._channels.send([link], wire.MoveIn(min(len(filters), 0xFFFF)))

    def serve(self) -> None:
        """The broker takes what is published."""
        self._serving = True
        self._send()

    def close(self) -> None:
        """The channel is closed; what was not acknowledged is sent over the next."""
        self._link, self._serving = None, False
        self._outbox.rewind()

    def acknowledged(self) -> None:
        """The broker has acknowledged something of the channel."""
        if self._link is not None:
            self._outbox.acknowledged(self._channels.acknowledged_position(self._link))
            self._send()

    def expire(self) -> None:
        """Drop what has waited for a broker for too long."""
        self._outbox.expire(self._env.now())

    def stop(self) -> None:
        """The device ends its life."""
        for one in self._outbox.clear():
            self._unpublished(id_of(one.event), "stopped")

    # ---- what clients do ------------------------------------------------------------------------
    def subscribe(self, client: str, wanted: Filter) -> None:
        fresh = not self._table.hops_of(wanted.hash)
        self._table.add(client, wanted)
        if fresh and self._link is not None:
            self._channels.send([self._link], wire.Want((wanted,)))

    def unsubscribe(self, client: str, key: bytes) -> None:
        self._table.remove(client, key)
        if not self._table.hops_of(key) and self._link is not None:
            self._channels.send([self._link], wire.Unwant((key,)))

    def publish(self, event: wire.Event) -> None:
        self.receive(Held(event))
        self._outbox.expire(self._env.now())
        self._outbox.add(Held(event), self._env.now())
        self._send()

    def receive(self, held: Held, late: bool = False) -> bool:
        """Deliver an event to the clients that want it, and wanted it when it was published if it comes late; False if it
        was here before."""
        event, born = held
        if not self._seen.first_time(*id_of(event)):
            return False
        for client in self._table.match(event.attributes)[1]:
            if born is None or self._delivery.wanted_at(client, event.attributes, born):
                self._delivery.deliver(client, event, late)
        return True

    def _send(self) -> None:
        """Hand to the channel what it has room for."""
        while self._link is not None and self._serving and (entry := self._outbox.next()) is not None:
            self._channels.send([self._link], wire.Publish(entry.held.event))
            self._outbox.sent(1, self._channels.sent_position(self._link))

    def _unpublished(self, event: EventId, reason: str) -> None:
        self._env.record("publication_dropped", event=str(event), reason=reason)
