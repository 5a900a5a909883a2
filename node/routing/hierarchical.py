"""Hierarchical forwarding: subscriptions go up to the root only, events go up and down where wanted.

cugola-murphy-picco-mobile-environment, section 2 and figure 1(c). The tree is rooted: a broker tells its
parent what it and those below want. An event goes up to the root from wherever it is published, and down to
each child that wants it. When the parent is another one, what the former was told is withdrawn and the new
one is told all; what the same link's far end told as a child goes the same way.
"""
from __future__ import annotations

from collections.abc import Iterable

from node.event import AnyEvent
from node.filters import Filter, parse
from node.ids import LinkId
from node.reconcile import Everything
from node.routing.forwarding import SubscriptionForwarding
from node.routing.strategy import Surroundings
from node.routing.table import FilterHash
from node.routing.told import Told

EVERYTHING = parse("*")


class HierarchicalForwarding(SubscriptionForwarding):
    """It also asks the tree for the parent, at each notice `tree_changed`."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._tree = around.tree
        self._parent: int | None = None

    def tree_changed(self) -> None:
        parent = self._tree.status().parent
        if parent == self._parent:
            return
        self._parent = parent
        for link, state in self.links.items():
            up = link.far_end(self._me) == parent
            for key in [key for key, _ in self.table] if up else list(state.filters):
                if up and self.is_wanted(link, key):
                    self.more_wanted(link, state, key, self.table.filter(key), state.missed_since)
                elif key in state.filters:
                    self.less_wanted(link, state, key)
        self.flush()
        self._replay_up()

    def add_link(self, link: LinkId, held: Iterable[FilterHash] | Everything = ()) -> None:
        super().add_link(link, held)
        self._replay_up()

    def _replay_up(self) -> None:
        """All events go to the parent, whatever it asks for: it lacks what went nowhere while there was no link to it."""
        above = self._up()
        if above is not None:
            self.replay(above, [EVERYTHING], self.links[above].missed_since)

    def _up(self) -> LinkId | None:
        """The link to the parent."""
        return next((link for link in self.links if link.far_end(self._me) == self._parent), None)

    def is_wanted(self, link: LinkId, key: FilterHash) -> bool:
        return link.far_end(self._me) == self._parent and super().is_wanted(link, key)

    def more_wanted(self, link: LinkId, state: Told, key: FilterHash, wanted: Filter, since: float | None = None) -> None:
        if link.far_end(self._me) == self._parent:
            super().more_wanted(link, state, key, wanted, since)

    def next_hops(self, event: AnyEvent, arrival: LinkId | None) -> tuple[list[LinkId], list[str]]:
        links, clients = self.table.match(event.attributes)
        up = self._up()
        if up is not None and up not in links:
            links.append(up)
        return links, clients
