"""The end of a lost link: it tells the new end of its side which filters the new link need not hear of.

cugola-frey-murphy-picco-dynamic-topology, section IV-B, step 2: ACTIVATE(rId, P), P = the filters that were wanted
towards the lost neighbor only.
"""
from __future__ import annotations

from node import wire
from node.ids import LinkId
from node.memory import Memory
from node.reconcile import Path, Routing, Surroundings, crossing
from node.routing.table import FilterHash

OVERTAKEN = 64  # reconfigurations
ROOM = 1080  # bytes of a datagram for the route and the hashes of an ACTIVATE
ID, HASH = 5, 9  # bytes of one of each at most


class OldEnd:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._station, self._courier, self._routing = around.station, around.courier, around.routing
        self._overtaken: Memory[LinkId, list[FilterHash]] = Memory(OVERTAKEN)  # P of what is processed already

    def only(self, rid: LinkId) -> list[FilterHash]:
        """P: what is wanted towards the lost neighbor only."""
        return [wanted.hash for wanted in self._routing.kept(rid) if not self._routing.is_wanted(rid, wanted.hash)]

    def remember(self, rid: LinkId) -> None:
        """What the link wanted is about to be processed; over radio that may be before the tree names the new link."""
        if only := self.only(rid):
            self._overtaken.remember(rid, only)

    def inform(self, rid: LinkId, new: LinkId, path: Path) -> None:
        """[2]; nothing to send where it is a new end too."""
        me = self._station.me.node
        turn = crossing(path, new)
        if turn is None or me not in (path[0], path[-1]):
            self._station.dropped("bad_path")
            return
        route = path[:turn + 1] if me == path[0] else path[:turn:-1]
        if len(route) == 1:
            return
        only = self._overtaken.pop(rid, None) or self.only(rid)
        size = min((ROOM - ID * len(route)) // HASH, 256)
        pieces = [tuple(only[i:i + size]) for i in range(0, len(only), size)] or [()]
        for part, piece in enumerate(pieces):
            self._courier.send(route, wire.InformedActivate(rid, part, len(pieces), piece))
