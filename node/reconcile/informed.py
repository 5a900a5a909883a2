"""Informed link activation: the old ends tell the new ends which filters the new link need not hear of.

cugola-frey-murphy-picco-dynamic-topology, section IV-B; figure 9 is lost, its steps are in the prose:
[1] the entries of a lost link wait as `pending`; T_u starts. When the tree names the link that replaces it,
[2] each old end sends ACTIVATE(rId, P) to the new end of its own side, P = the filters that were wanted
towards the lost neighbor only. On ACTIVATE the new end [3] starts T_s, [4] tells the new link every filter
that is local or not in P (the others are its taggedSubs) and [5] sends FLUSH(rId) behind. [6] FLUSH or T_u
makes an old end process `pending[rId]`. [7] When T_s expires, every tagged filter that is still in the table
is told. The timers should satisfy (1): T_u + t_prop < T_s + t_rep.

A new end waits `activate_wait` for ACTIVATE. It goes on at once where it was an old end itself (the entries of the
lost link are no longer in its table) or where no path is known that ACTIVATE could take; which of these it was is
recorded.
"""
from __future__ import annotations

from node.ids import LinkId
from node.memory import Memory
from node.reconcile import ANNOUNCED, NEW_ENDS, OLD_ENDS, OTHERS, Path, Replacement, Routing, Surroundings
from node.reconcile.flush import Flush
from node.reconcile.new_end import NewEnd
from node.reconcile.old_end import OldEnd
from node.reconcile.pending import Pending


class Informed:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._me, self._config = around.station.me.node, around.station.config
        self._routing = around.routing
        self._announced: Memory[LinkId, Replacement] = Memory(ANNOUNCED)  # by the new link
        self.pending = Pending(around)
        self.flush = Flush(around, self._flushed)
        self.old_end = OldEnd(around)
        self.new_end = NewEnd(around, self.flush)  # [3] to [5], [7]
        self.link_messages = self.flush.link_messages
        self.routed_messages = self.new_end.routed_messages

    def lost(self, link: LinkId) -> None:
        self.new_end.forget(link)
        self.pending.defer(link, self._config.unsubscription_timer)  # [1]
        self._announced.pop(link, None)
        if link in self.flush:  # this end noticed the loss later than others had repaired it
            self._flushed(link)

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """substituteLinkTo(n, new link)"""
        if role in NEW_ENDS:
            self._announced.remember(new, Replacement(rid, path))
        elif role in OLD_ENDS and path is not None:
            self.old_end.inform(rid, new, path)  # [2]

    def gained(self, link: LinkId) -> None:
        replacement = self._announced.pop(link, None)
        if replacement is None:
            self._routing.add_link(link)
            return
        rid, path = replacement
        self.new_end.wait(link, replacement, self._config.activate_wait, OTHERS)
        if path is None:
            self.new_end.activate(link, (), "no_path")
        elif self._me in rid[:2]:
            self.new_end.activate(link, self.old_end.only(rid), "shared")
        else:
            self.new_end.listen(rid)

    def abandoned(self, rid: LinkId) -> None:
        self.pending.process(rid, "abandoned")

    def _flushed(self, rid: LinkId) -> None:
        """[6]"""
        self.old_end.remember(rid)
        self.pending.process(rid, "flush")
