"""Notified deferred unsubscription: FLUSH tells the old ends that the new link's subscriptions have come.

cugola-frey-murphy-picco-dynamic-topology, section IV-A.2; figure 8 is lost, its steps are in the prose. The entries of
a lost link wait as `pending`. When the link that replaces it opens, [2] each end sends its subscriptions over it and
[3] FLUSH(rId) right behind them in the same FIFO channel. [4] Whoever receives FLUSH passes it on. [5] An old end that
receives it, or else [1] the timer T_u, processes `pending[rId]`.
"""
from __future__ import annotations

from node.ids import LinkId
from node.memory import Memory
from node.reconcile import ANNOUNCED, NEW_ENDS, Path, Replacement, Routing, Surroundings
from node.reconcile.flush import Flush
from node.reconcile.pending import Pending
from node.seams import RoutedMessages


class Notified:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._routing = around.routing
        self._unsubscription_timer = around.station.config.unsubscription_timer
        self._announced: Memory[LinkId, Replacement] = Memory(ANNOUNCED)  # by the new link
        self.pending = Pending(around)
        self.flush = Flush(around, self._flushed)
        self.link_messages = self.flush.link_messages  # [4]
        self.routed_messages: RoutedMessages = {}

    def lost(self, link: LinkId) -> None:
        """removeLinkTo(n)"""
        self.pending.defer(link, self._unsubscription_timer)  # [1]
        self._announced.pop(link, None)
        if link in self.flush:  # this end noticed the loss later than others had repaired it
            self._flushed(link)

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        if role in NEW_ENDS:
            self._announced.remember(new, Replacement(rid, path))

    def gained(self, link: LinkId) -> None:
        """addLinkTo(n, rId); no FLUSH where the link replaces none."""
        replacement = self._announced.pop(link, None)
        if replacement is None:
            self._routing.add_link(link)
            return
        self.flush.begin(replacement.rid)
        self._routing.add_link(link)  # [2]
        self.flush.send(link, replacement)  # [3]

    def abandoned(self, rid: LinkId) -> None:
        self.pending.process(rid, "abandoned")

    def _flushed(self, rid: LinkId) -> None:
        self.pending.process(rid, "flush")  # [5]
