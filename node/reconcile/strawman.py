"""Strawman: every lost link is unsubscribed at once, every new link is told everything at once.

cugola-frey-murphy-picco-dynamic-topology, section III-B and figure 2. Numbers in brackets are the
figure's. Needs nothing of the tree but the two ends' own notices, and never looks at how a
lost and a new link belong together.
"""
from __future__ import annotations

from node.ids import LinkId
from node.reconcile import Links, Path, Surroundings
from node.seams import LinkMessages, RoutedMessages


class Strawman:
    def __init__(self, around: Surroundings[Links]) -> None:
        self._routing = around.routing
        self.link_messages: LinkMessages = {}
        self.routed_messages: RoutedMessages = {}

    def lost(self, link: LinkId) -> None:
        """removeLinkTo(n): processUnsubFrom(n, p) for every entry of the link."""
        self._routing.remove_link(link)  # [1]

    def gained(self, link: LinkId) -> None:
        """addLinkTo(n): SUB(p) for every filter in the table."""
        self._routing.add_link(link)  # [2]

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId,
                 path: Path | None, role: str) -> None:
        """Steps 1 and 2 did all there is to do, in whatever order they came."""

    def abandoned(self, rid: LinkId) -> None:
        """Likewise."""
