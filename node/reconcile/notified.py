"""Notified deferred unsubscription: FLUSH tells the old ends that the new link's subscriptions have come.

cugola-frey-murphy-picco-dynamic-topology, section IV-A.2; figure 8 is lost, its steps are in the prose. A
lost link is handled as in timed.py. When the link that replaces it opens, [2] each end sends its
subscriptions over it and [3] FLUSH(rId) right behind them in the same FIFO channel. [4] Whoever receives
FLUSH passes it on, behind the subscriptions that came before it. [5] An old end that receives it, or else
[1] the timer T_u, processes `pending[rId]`.

How FLUSH spreads is `config.flush`. broadcast: to all neighbors but the one it came from, as the paper
evaluates it. piggyback: likewise, but on the back of the last SUB where one goes the same way. (The paper
would send it nowhere else until subscriptions stop; but they may all turn off toward a subscriber beside the
path, and the old end would wait for T_u.) path: to the next broker of the reconfiguration path only; where
that is unknown or no neighbor any more, to all.
"""
from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from node import wire
from node.ids import LinkId
from node.memory import Memory, Once
from node.reconcile import NEW_ENDS, Path, Routing, Surroundings, crossing
from node.reconcile.timed import Timed

REMEMBERED = 256  # reconfigurations whose FLUSH was here
ANNOUNCED = 64  # links that are to open


class Replacement(NamedTuple):
    """What a link that is about to open stands for."""

    rid: LinkId
    path: Path | None


class Notified(Timed):
    def __init__(self, around: Surroundings[Routing]) -> None:
        super().__init__(around)
        self._announced: Memory[LinkId, Replacement] = Memory(ANNOUNCED)  # by the new link
        self._flushed: Once[LinkId] = Once(REMEMBERED)  # by rid: a FLUSH goes through a node once
        self.link_messages[wire.Flush] = self._flush_received
        self.link_messages[wire.SubFlush] = self._sub_flush_received

    def lost(self, link: LinkId) -> None:
        super().lost(link)
        self._announced.pop(link, None)
        if link in self._flushed:  # this end noticed the loss later than others had repaired it
            self._process_pending(link, "flush")

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        if role in NEW_ENDS:
            self._announced.remember(new, Replacement(rid, path))

    def gained(self, link: LinkId) -> None:
        """addLinkTo(n, rId); a link that replaces none is added as by timed.py."""
        replacement = self._announced.pop(link, None)
        if replacement is None:
            super().gained(link)
            return
        self._begin_flush(replacement.rid)
        super().gained(link)  # [2]
        self._send_flush(link, replacement)  # [3]

    def abandoned(self, rid: LinkId) -> None:
        self._process_pending(rid, "abandoned")

    # ---- FLUSH ----------------------------------------------------------------------------------
    def _begin_flush(self, rid: LinkId) -> None:
        """Subscriptions follow that the FLUSH may ride on."""
        if self._config.flush == "piggyback":
            self._routing.begin_ride(rid)

    def _send_flush(self, link: LinkId, replacement: Replacement) -> None:
        """[3] at an end of the new link, behind its subscriptions."""
        rid, path = replacement
        if path is None or self._config.flush != "path" or crossing(path, link) is None:
            path = ()
        if link not in self._routing.end_ride():
            self._channels.send([link], wire.Flush(rid, path))

    def _flush_received(self, link: LinkId, message: wire.Flush) -> None:
        rid = LinkId(*message.rid)
        if self._flushed.first_time(rid):
            self._spread_flush(rid, message.path, link)  # [4]
            self._process_pending(rid, "flush")  # [5]

    def _sub_flush_received(self, link: LinkId, message: wire.SubFlush) -> None:
        rid = LinkId(*message.rid)
        if not self._flushed.first_time(rid):
            self._routing.subscribed(link, message.filters)
            return
        self._routing.begin_ride(rid)
        self._routing.subscribed(link, message.filters)
        self._spread_flush(rid, (), link, self._routing.end_ride())  # [4]
        self._process_pending(rid, "flush")  # [5]

    def _spread_flush(self, rid: LinkId, path: Path, arrival: LinkId | None,
                      ridden: Collection[LinkId] = ()) -> None:
        """[4]: to the next broker of the path, or to all neighbors but those that have it."""
        links = [link for link in self._routing.links if link != arrival and link not in ridden]
        if path and self._me in path and arrival is not None:
            here = path.index(self._me)
            came = arrival.far_end(self._me)
            onward = 2 * here - path.index(came) if came in path else -1
            if abs(onward - here) == 1:
                if not 0 <= onward < len(path):
                    return  # an old end: this was the way
                confined = [link for link in links if link.far_end(self._me) == path[onward]]
                if confined:
                    self._channels.send(confined, wire.Flush(rid, path))
                    return
        if links:
            self._channels.send(links, wire.Flush(rid, ()))
