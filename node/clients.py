"""The local clients of a node: their subscriptions, their events, and what is delivered to them.

cugola-murphy-picco-mobile-environment, section 2 (the broker's side of a client). A client is a
name and a callback; the routing knows it as a hop by its name. Nothing is queued here: whoever
attaches a slow client brings the queue.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from node import wire
from node.event import id_of
from node.filters import Attributes, Filter, attributes_as_record, check_attributes, parse
from node.ids import EventId
from node.seams import Host, Router

MAX_CLIENTS = 256
MAX_FILTERS_PER_CLIENT = 1024
MAX_FILTERS = 4096  # of all clients: a tree neighbor takes no more for one link (routing/table.py)
MAX_FILTER_BYTES_PER_CLIENT = 1 << 18  # of filters as they go over the wire
MAX_FILTER_BYTES = 1 << 20
MAX_NAME = 64  # characters
PREFIX = "@"  # of what the routing calls a device (node/roaming/session.py)
MAX_PAYLOAD = 32768  # bytes, schema/messages.toml

Deliver = Callable[[wire.Event], object]  # False: it was not taken


class ClientError(ValueError):
    """A request of a client that cannot be done; the text says why and what to do."""


class Clients:
    def __init__(self, station: Host, routing: Router) -> None:
        self._me = station.me
        self._env = station.env
        self._routing = routing
        self._deliver: dict[str, tuple[Deliver, Deliver]] = {}  # in the usual way, and late
        self._filters: dict[str, dict[bytes, Filter]] = {}
        self._bytes: dict[str, int] = {}  # of each client's filters
        self._since: dict[tuple[str, bytes], float] = {}  # (client, filter's hash) -> when it subscribed
        self._sequence = 0

    def attach(self, client: str, deliver: Deliver, recovered: Deliver | None = None) -> None:
        """Call `deliver(event)` once for each event that matches a filter of the client, or `recovered(event)` if that is
        given and the event comes late, perhaps after later ones of its publisher. They return False if they have no room
        for the event. They must not call back into the broker, which handles one input at a time. Raises ClientError."""
        if not 0 < len(client) <= MAX_NAME:
            raise ClientError(f"client: found {client!r}; expected a name of 1 to {MAX_NAME} characters")
        if client.startswith(PREFIX):
            raise ClientError(f"client: found {client!r}; use a name without {PREFIX}, which is for devices")
        if client in self._deliver:
            raise ClientError(f"client {client!r} is already attached; use another name, or detach it first")
        if len(self._deliver) >= MAX_CLIENTS:
            self._refuse("clients", MAX_CLIENTS)
        self._deliver[client] = deliver, recovered or deliver
        self._filters[client] = {}
        self._bytes[client] = 0

    def detach(self, client: str) -> None:
        """Remove the client and its subscriptions."""
        for key in list(self._own(client)):
            self.unsubscribe(client, self._filters[client][key])
        del self._filters[client], self._deliver[client], self._bytes[client]

    def subscribe(self, client: str, wanted: Filter | str) -> Filter:
        """Subscribe; doing so again for the same filter changes nothing. Raises FilterError for a bad filter, and ClientError."""
        if isinstance(wanted, str):
            wanted = parse(wanted)
        own = self._own(client)
        if wanted.hash in own:
            return own[wanted.hash]
        if len(own) >= MAX_FILTERS_PER_CLIENT:
            self._refuse(f"filters of client {client}", MAX_FILTERS_PER_CLIENT)
        self._check_room(client, len(wanted.key))
        own[wanted.hash] = wanted
        self._bytes[client] += len(wanted.key)
        self._since[client, wanted.hash] = self._env.now()
        self._env.record("subscribed", client=client, filter=str(wanted), hash=wanted.hash.hex(),
                              constraints=wanted.as_record())
        self._routing.subscribe(client, wanted)
        return wanted

    def unsubscribe(self, client: str, wanted: Filter | str) -> None:
        """Unsubscribe; without a subscription to the filter, this changes nothing."""
        if isinstance(wanted, str):
            wanted = parse(wanted)
        if self._own(client).pop(wanted.hash, None) is None:
            return
        self._bytes[client] -= len(wanted.key)
        del self._since[client, wanted.hash]
        self._env.record("unsubscribed", client=client, hash=wanted.hash.hex())
        self._routing.unsubscribe(client, wanted.hash)

    def publish(self, client: str, attributes: Mapping[str, object], payload: bytes = b"") -> EventId:
        """Publish an event and return its id. Raises FilterError for attributes outside the language's bounds, and ClientError."""
        self._own(client)
        check_attributes(attributes)
        checked = cast(Attributes, dict(attributes))  # a copy, since the caller may change its own
        if len(payload) > MAX_PAYLOAD:
            raise ClientError(f"payload: found {len(payload)} bytes; expected at most {MAX_PAYLOAD}, or publish a reference instead")
        self._sequence += 1
        name = EventId(*self._me, self._sequence)
        event = wire.Event(*name, self._env.now(), 0, checked, payload)
        self._env.record("published", client=client, event=str(name),
                              attributes=attributes_as_record(checked), bytes=len(payload))
        self._routing.publish(event)
        return name

    def wanted_at(self, client: str, attributes: Attributes, born: float) -> bool:
        """Whether the client subscribed to such an event before it was published, at `born` (s by this node's clock)."""
        return any(wanted.matches(attributes) and self._since[client, key] <= born
                   for key, wanted in self._own(client).items())

    def deliver(self, client: str, event: wire.Event, recovered: bool = False) -> None:
        """Deliver an event that the client wants and has not had, from the routing or late from a recovery."""
        name = id_of(event)
        if self._deliver[client][recovered](event) is False:
            self._env.record("undelivered", client=client, event=str(name))
            return
        self._env.record("delivered", client=client, event=str(name), hops=event.hops,
                              published=event.published, recovered=recovered)

    def _check_room(self, client: str, size: int) -> None:
        """Raises ClientError when another filter of so many bytes finds no room."""
        if self._bytes[client] + size > MAX_FILTER_BYTES_PER_CLIENT:
            self._refuse(f"bytes of filters of client {client}", MAX_FILTER_BYTES_PER_CLIENT)
        if sum(map(len, self._filters.values())) >= MAX_FILTERS:
            self._refuse("filters of all clients", MAX_FILTERS)
        if sum(self._bytes.values()) + size > MAX_FILTER_BYTES:
            self._refuse("bytes of filters of all clients", MAX_FILTER_BYTES)

    def _own(self, client: str) -> dict[bytes, Filter]:
        try:
            return self._filters[client]
        except KeyError:
            raise ClientError(f"client {client!r} is not attached; attach it first") from None

    def _refuse(self, what: str, limit: int) -> None:
        self._env.record("refused", what=what, limit=limit)
        raise ClientError(f"{what}: the node allows at most {limit}; use fewer")
