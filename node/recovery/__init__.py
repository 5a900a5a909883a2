"""What a recovery is: it keeps events, notices which are missing here, and has them sent again by whoever has them.

costa-epidemic-reliability, sections 4 and 5. Four algorithms behind one interface, a file each beside the
pseudo-code of figures 2 and 3: push, subscriber_pull, publisher_pull, and combined (at each round one of the two
pulls). The parts that they share are a noun each: cache, lost, counters, answers, interval, digest.

**What the core calls** is the Protocol below. A core without recovery has `recovery = None`.

**What a recovery calls of the core**, and nothing else, so that any core that offers it will do:

    me, config, env            as all parts have them (env: now, random, call_later, record)
    routing.table              hops_of, filter, match, matching, filters_of; iteration
    routing.links              the tree links that are open
    routing.is_seen(id)        whether an event with this EventId came here over the tree, or began here
    send(links, message)       over tree links: gossip, counters. May get lost
    relay(route, message)      off the tree along ids, this node's first; may get lost. A neighbor is a route of two
    deliver_recovered(event)   to the local clients that want the event and wanted it when it was published; how many
    dropped(reason)            count something that was turned away

It never sees a datagram, a link's channel or the radio. Radio, simulator and the papers' overlay differ in how they
carry these messages and lose them, and in nothing else.

**Where events are tagged.** A pull needs of the publisher what figure 3 needs: a sequence number for each pattern that
an event matches, and for publisher pull the dispatchers that it has met. Both travel in TAGGED_EVENT, whose first
fields are those of EVENT, so routing takes either. With push or none an event is a plain EVENT and costs what it did.
Local clients get plain EVENTs always.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from node import wire
from node.filters import Filter
from node.ids import LinkId

ALGORITHMS = ("push", "subscriber_pull", "publisher_pull", "combined")  # besides "none"
EVICTIONS = ("fifo", "random")


class Recovery(Protocol):
    tags: bool  # whether it needs events tagged at their source; then covering, which hides filters there, is refused
    link_messages: dict[type, Callable]  # handler(link: LinkId, message), what came over a tree link
    routed_messages: dict[type, Callable]  # handler(route, message), what `relay` brought; this node is the route's last

    def start(self) -> None:
        """This life begins: gossip rounds run from here on."""

    def passing(self, event: wire.Message, arrival: LinkId | None,
                clients: list[str]) -> tuple[wire.Message, list[str]]:
        """An event on its way through this node, once: published here (`arrival` None) or come over a tree link for
        the first time; `clients` are the local ones that it goes to. What to send on in its place (tagged at its
        source, its route one longer elsewhere), and to whom of them to deliver: nobody if it was recovered before."""

    def told(self, link: LinkId, key: bytes) -> None:
        """A tree link's entry of the filter of this hash has come into the table."""

    def withdrawn(self, wanted: Filter) -> None:
        """A tree link's entry of this filter has left the table (perhaps not the last one)."""

    def unsubscribed(self, key: bytes) -> None:
        """No local client wants the filter of this hash any more."""
