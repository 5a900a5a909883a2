"""Event forwarding: every event goes to every broker of the tree, subscriptions go nowhere.

cugola-murphy-picco-mobile-environment, section 2 (message forwarding);
cugola-frey-murphy-picco-dynamic-topology, section V-C.4 and figure 26. The table holds the local clients'
filters only, so a tree that changes leaves nothing to reconcile.
"""
from __future__ import annotations

from node.event import AnyEvent
from node.ids import LinkId
from node.routing.strategy import Strategy


class EventForwarding(Strategy):
    def next_hops(self, event: AnyEvent, arrival: LinkId | None) -> tuple[list[LinkId], list[str]]:
        return list(self.links), self.table.match(event.attributes)[1]
