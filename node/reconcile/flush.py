"""FLUSH: it follows the subscriptions of a new link and tells the old ends that they have come.

cugola-frey-murphy-picco-dynamic-topology, section IV-A.2; figure 8 is lost, its steps are in the prose. [3] An end of
the new link sends FLUSH(rId) right behind its subscriptions, in the same FIFO channel. [4] Whoever receives it passes
it on, behind the subscriptions that came before it, and [5] is told that it was here.

How FLUSH spreads is `config.flush`. broadcast: to all neighbors but the one it came from, as the paper
evaluates it. piggyback: likewise, but on the back of the last SUB where one goes the same way. (The paper
would send it nowhere else until subscriptions stop; but they may all turn off toward a subscriber beside the
path, and the old end would wait for T_u.) path: to the next broker of the reconfiguration path only; where
that is unknown or no neighbor any more, to all.
"""
from __future__ import annotations

from collections.abc import Callable, Collection

from node import wire
from node.ids import LinkId
from node.memory import Once
from node.reconcile import Path, Replacement, Routing, Surroundings, crossing
from node.seams import LinkMessages

REMEMBERED = 256  # reconfigurations whose FLUSH was here


class Flush:
    """Those of a broker; `arrived(rid)` is called once for each that comes."""

    def __init__(self, around: Surroundings[Routing], arrived: Callable[[LinkId], None]) -> None:
        self._channels, self._routing = around.channels, around.routing
        self._me, self._how = around.station.me.node, around.station.config.flush
        self._arrived = arrived
        self._flushed: Once[LinkId] = Once(REMEMBERED)  # a FLUSH goes through a node once
        self.link_messages: LinkMessages = {wire.Flush: self.received, wire.SubFlush: self.sub_received}

    def __contains__(self, rid: LinkId) -> bool:
        """Whether the FLUSH of this reconfiguration was here."""
        return rid in self._flushed

    def first_time(self, rid: LinkId) -> bool:
        """From now on it was here; False if it was before."""
        return self._flushed.first_time(rid)

    def begin(self, rid: LinkId) -> None:
        """Subscriptions follow that the FLUSH may ride on."""
        if self._how == "piggyback":
            self._routing.begin_ride(rid)

    def send(self, link: LinkId, replacement: Replacement) -> None:
        """[3] at an end of the new link, behind its subscriptions."""
        rid, path = replacement
        if path is None or self._how != "path" or crossing(path, link) is None:
            path = ()
        if link not in self._routing.end_ride():
            self._channels.send([link], wire.Flush(rid, path))

    def received(self, link: LinkId, message: wire.Flush) -> None:
        rid = LinkId(*message.rid)
        if self.first_time(rid):
            self.spread(rid, message.path, link)  # [4]
            self._arrived(rid)  # [5]

    def sub_received(self, link: LinkId, message: wire.SubFlush) -> None:
        rid = LinkId(*message.rid)
        if not self.first_time(rid):
            self._routing.subscribed(link, message.filters, message.since)
            return
        self._routing.begin_ride(rid)
        self._routing.subscribed(link, message.filters, message.since)
        self.spread(rid, (), link, self._routing.end_ride())  # [4]
        self._arrived(rid)  # [5]

    def spread(self, rid: LinkId, path: Path, arrival: LinkId | None, ridden: Collection[LinkId] = ()) -> None:
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
