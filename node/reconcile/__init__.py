"""What a reconciliation protocol is: it hears the tree's notices and steers the routing.

cugola-frey-murphy-picco-dynamic-topology, sections III-B and IV. Subscription forwarding is
wanted against told (routing/forwarding.py): for each link what should be told is a function of
the table. A protocol changes only what is held back on a new link and how long the entries of a
lost link stay; it never touches the hops of local clients.
"""
from __future__ import annotations

from typing import Protocol

from node.ids import LinkId, NodeId


class Reconciler(Protocol):
    needs: str  # trees.SUPPLIES_*: what the tree must supply
    link_messages: dict[type, object]  # handler(link: LinkId, message)

    def lost(self, link: LinkId) -> None: ...
    def gained(self, link: LinkId) -> None: ...
    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId,
                 path: tuple[NodeId, ...] | None, role: str) -> None: ...
    def abandoned(self, rid: LinkId) -> None: ...
