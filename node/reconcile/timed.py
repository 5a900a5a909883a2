"""Timed deferred unsubscription: what a lost link wanted is withdrawn T_u later.

cugola-frey-murphy-picco-dynamic-topology, section IV-A.1 and figure 7; numbers in brackets are the figure's.
Subscriptions that a new link brings meet a tree that is still dense, and so travel not far (observation 1).
Needs nothing of the tree but the two ends' own notices. What waits is `pending`.
"""
from __future__ import annotations

from node.ids import LinkId
from node.reconcile import Path, Routing, Surroundings
from node.reconcile.pending import Pending
from node.seams import LinkMessages, RoutedMessages


class Timed:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._routing = around.routing
        self._unsubscription_timer = around.station.config.unsubscription_timer
        self.pending = Pending(around)
        self.link_messages: LinkMessages = {}
        self.routed_messages: RoutedMessages = {}

    def lost(self, link: LinkId) -> None:
        """removeLinkTo(n): when T_u expires, the link's entries are unsubscribed."""
        self.pending.defer(link, self._unsubscription_timer)  # [1], [3]

    def gained(self, link: LinkId) -> None:
        """addLinkTo(n): SUB(p) for every filter in the table, which holds nothing of lost links."""
        self._routing.add_link(link)  # [2]

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """This protocol does not look at how a lost and a new link belong together."""

    def abandoned(self, rid: LinkId) -> None:
        """Nor at what the tree tries: the timer runs."""
