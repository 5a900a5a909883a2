"""What a recovery is: it keeps events, notices which are missing here, and has them sent again by whoever has them.

costa-epidemic-reliability, sections 4 and 5. Four algorithms behind one interface, a file each beside the
pseudo-code of figures 2 and 3: push, subscriber_pull, publisher_pull, and combined (at each round one of the two
pulls). The parts that they share are a noun each: cache, lost, counters, answers, interval, digest.

**What others call** is the Protocol `Recovery`. **What a recovery calls** are its `Surroundings`, and nothing else, so
that any core that offers them will do. It never sees a datagram, a link's channel or the radio. Radio, simulator and the papers' overlay differ in how they
carry these messages and lose them, and in nothing else.

**Where events are tagged.** A pull needs of the publisher what figure 3 needs: a sequence number for each pattern that
an event matches, and for publisher pull the dispatchers that it has met. Both travel in TAGGED_EVENT, whose first
fields are those of EVENT, so routing takes either. With push or none an event is a plain EVENT and costs what it did.
Local clients get plain EVENTs always.
"""
from __future__ import annotations

from typing import NamedTuple, Protocol

from node.event import AnyEvent
from node.filters import Filter
from node.ids import LinkId
from node.routing.duplicates import SeenEvents
from node.routing.table import SubscriptionTable
from node.seams import Channels, Host, LateDelivery, LinkMessages, OffTree, RoutedMessages


class Surroundings(NamedTuple):
    """What a recovery may call. The table and the memory of events are the routing's: it reads them."""

    station: Host
    channels: Channels  # gossip and counters, over tree links. May get lost
    courier: OffTree  # may get lost. A neighbor is a route of two
    table: SubscriptionTable
    seen: SeenEvents  # what came here over the tree, or began here
    delivery: LateDelivery


class Recovery(Protocol):
    link_messages: LinkMessages
    routed_messages: RoutedMessages

    def start(self) -> None:
        """This life begins: gossip rounds run from here on."""

    def passing(self, event: AnyEvent, arrival: LinkId | None,
                clients: list[str], born: float | None = None) -> tuple[AnyEvent, list[str]]:
        """An event on its way through this node, once: published here (`arrival` None) or come over a tree link for
        the first time; `clients` are the local ones that it goes to; `born` is when it was published (s) if it comes late. What to send on in its place (tagged at its
        source, its route one longer elsewhere), and to whom of them to deliver: nobody if it was recovered before."""

    def told(self, link: LinkId, key: bytes) -> None:
        """A tree link's entry of the filter of this hash has come into the table."""

    def withdrawn(self, wanted: Filter) -> None:
        """A tree link's entry of this filter has left the table (perhaps not the last one)."""

    def unsubscribed(self, key: bytes) -> None:
        """No local client wants the filter of this hash any more."""
