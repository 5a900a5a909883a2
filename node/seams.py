"""What the parts of a node may call of each other: a Protocol for each role, on one page.

cugola-murphy-picco-mobile-environment, section 6: a core mediates among exchangeable parts. The rule, which
tests/test_architecture.py checks:

- A part imports nouns (ids, messages, filters, the table), this page, and the `__init__` of packages, which say what an
  exchangeable part is. It never imports another part.
- What a part calls, it is handed in its constructor, under one of these Protocols: one by one, or, where parts are
  exchanged for each other, as the `Surroundings` of their package. It calls nothing else, and nothing behind it.
- Parts are constructed in the order in which they call each other. Where an earlier part has something to tell a later
  one, it calls notices, which the core implements.
- Only a core knows the classes of the parts and connects them: `broker.Broker`, `roaming.device.Device`, and the
  dispatcher of the papers' evaluation, which has neither wire nor channels nor radio.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from node import wire
from node.config import NodeConfig
from node.environment import Runtime
from node.event import AnyEvent
from node.filters import Filter
from node.ids import LinkId, NodeId, Peer
from node.routes import Route

Digest = tuple[NodeId, int, int, bytes]  # neighbor, nonce, channel position, digest of the filters told up to there

# What a part does with messages, by their type. The second argument is the message.
HopMessages = dict[type[wire.Message], Callable[[Peer, Any], None]]  # from a radio neighbor
LinkMessages = dict[type[wire.Message], Callable[[LinkId, Any], None]]  # out of the channel of a link
RoutedMessages = dict[type[wire.Message], Callable[[Route, Any], None]]  # off the tree; this node is the route's last


class TreeStatus(NamedTuple):
    """Where a node stands; carried by its HELLO."""

    leader: NodeId  # an orphan fragment names its root
    depth: int
    parent: NodeId | None
    seeking: bool  # the fragment has no leader at present


# ---- what lies beneath all parts (node/station.py) -----------------------------------------------------
class Host(Protocol):
    """The node that a part is in."""

    @property
    def me(self) -> Peer: ...
    @property
    def config(self) -> NodeConfig: ...
    @property
    def env(self) -> Runtime: ...
    def dropped(self, reason: str) -> None:
        """Count something received that was turned away."""


class Sender(Host, Protocol):
    def broadcast(self, *messages: wire.Message) -> None:
        """One datagram with these messages to all in radio range."""


class Radio(Sender, Protocol):
    @property
    def counter(self) -> int:
        """Datagrams sent in this life."""

    def unicast(self, to: NodeId, *messages: wire.Message) -> None:
        """One datagram with these messages to one radio neighbor."""


# ---- the ways to others ------------------------------------------------------------------------------
class Neighborhood(Protocol):
    @property
    def two_way(self) -> Mapping[NodeId, Peer]:
        """The two-way radio neighbors: a live view."""


class OneHop(Protocol):
    def send(self, to: NodeId, message: wire.Message, failed: Callable[[], None] | None = None,
             last_word: bool = False, tries: int = ...) -> None:
        """Take a message off the channels to one radio neighbor, until it acknowledges (node/relay.py)."""


class OffTree(Protocol):
    def send(self, route: Route, message: wire.Message) -> None:
        """Take a message along these ids, this node's first, to the last; it may get lost (node/courier.py)."""


class Channels(Protocol):
    """The reliable channels of tree links (node/links.py)."""

    def send(self, links: Sequence[LinkId], message: wire.Message) -> None: ...
    def sent_position(self, link: LinkId) -> int: ...
    def received_position(self, link: LinkId) -> int: ...


class AcknowledgedChannels(Channels, Protocol):
    def acknowledged_position(self, link: LinkId) -> int: ...


class DeviceChannels(AcknowledgedChannels, Protocol):
    """Also those to devices, which are no tree links."""

    def open(self, link: LinkId, progress: Callable[[], object] | None = None) -> None: ...
    def close(self, link: LinkId) -> None: ...
    def has_room(self, link: LinkId) -> bool: ...


# ---- the tree and the routing --------------------------------------------------------------------------
class Rooted(Protocol):
    def status(self) -> TreeStatus: ...


class Placed(Protocol):
    @property
    def root_path(self) -> Route:
        """This node, its parent in the tree and so on, as far as is known."""


class Router(Protocol):
    """The routing, as clients see it; `client` names a local client or a device's session."""

    def subscribe(self, client: str, wanted: Filter) -> None: ...
    def unsubscribe(self, client: str, key: bytes) -> None: ...
    def publish(self, event: wire.Event) -> None: ...


class FencedRouter(Router, Protocol):
    def told_links(self) -> list[LinkId]:
        """Tree links over which all that is wanted has been told, so that what follows in them fences it."""


class Delivery(Protocol):
    """Local clients and sessions, as the routing sees them."""

    def deliver(self, client: str, event: AnyEvent, born: float | None = None) -> bool:
        """`born`: when the event was published (s, by this node's clock, about) if it comes late: then only who wanted it
        at that time gets it. None: it comes at once. Whether it was handed over."""


class LateDelivery(Protocol):
    """And as a recovery sees them."""

    def deliver_recovered(self, event: AnyEvent, born: float) -> int:
        """To the local clients that want this event and wanted it when it was published, `born` (s); how many."""


# ---- notices, which the core implements ------------------------------------------------------------------
class NeighborNotices(Protocol):
    """What neighbors tell, and what they ask for the next HELLO."""

    def neighbor_up(self, peer: Peer) -> None: ...
    def neighbor_down(self, peer: Peer, reason: str) -> None:
        """`reason`: silent, one_way, restarted or channel."""

    def suspected(self, peer: Peer, tries: int) -> None:
        """Nothing was heard of it for longer than is usual, or what was sent is not acknowledged; told once a silence.
        `tries` without an answer tell a lost neighbor from bad luck."""

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        """The beacon of a two-way neighbor."""

    def tree_status(self) -> TreeStatus: ...
    def digests(self) -> list[Digest]: ...


class LinkNotices(Protocol):
    def link_message(self, link: LinkId, message: wire.Message) -> None:
        """A message came out of a channel, in order and once."""

    def link_failed(self, link: LinkId, reason: str) -> None:
        """`reason`: channel, no acknowledgement for `channel_give_up`; reset, the far end knows no such link; overflow,
        a message that is not an event found the queue full; malformed, what came cannot be put together."""

    def link_unanswered(self, link: LinkId, since: float) -> None:
        """What was sent at `since` (s) is sent again, for no acknowledgement has come."""

    def link_pending(self, link: LinkId) -> bool:
        """Whether the far end may have opened this link although it is not open here."""

    def link_heard(self, link: LinkId) -> None:
        """A message came over such a link."""


class CourierNotices(Protocol):
    def routed_message(self, route: Route, message: wire.Message) -> None:
        """A message that was relayed along `route` is for this node, its last."""


class TreeNotices(Protocol):
    """The contract of node/trees/__init__.py."""

    def gained(self, link: LinkId) -> None: ...
    def lost(self, link: LinkId, reason: str) -> None: ...
    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Route | None, role: str) -> None: ...
    def abandoned(self, rid: LinkId) -> None: ...
    def tree_changed(self) -> None:
        """The node stands elsewhere in its tree."""
