"""What a tree is to the rest of the node: who our tree neighbors are, and four notices.

cugola-frey-murphy-picco-dynamic-topology, section III-A (interface between tree maintenance and
routing), with the incarnations and reconfiguration identifiers of the design. A tree calls, on
the core: `lost(link, reason)`, `gained(link)`, `replaced(rid, lost, new, path, role)` and
`abandoned(rid)`; at every node `lost` comes before `replaced`, and an end of the lost link that has
restarted since hears neither. The `rid` of a reconfiguration is the lost link's LinkId. Merges, joins and elections are plain `gained`.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from node.ids import LinkId, NodeId, Peer

# What a tree can tell about a reconfiguration, from least to most; a protocol states its need.
SUPPLIES_NOTHING = "nothing"  # no tree
SUPPLIES_LINKS = "links"  # lost and gained at the ends only
SUPPLIES_ENDS = "ends"  # replaced() at the ends of both links
SUPPLIES_PATH = "path"  # replaced() with the whole reconfiguration path
SUPPLIES = (SUPPLIES_NOTHING, SUPPLIES_LINKS, SUPPLIES_ENDS, SUPPLIES_PATH)


def supplies(tree: str, need: str) -> bool:
    """Whether a tree that supplies `tree` is enough for a part that needs `need`."""
    return SUPPLIES.index(tree) >= SUPPLIES.index(need)


class TreeStatus(NamedTuple):
    """Where a node stands; carried by its HELLO."""

    leader: NodeId  # an orphan fragment names its root
    depth: int
    parent: NodeId | None
    seeking: bool  # the fragment has no leader at present


class Tree(Protocol):
    """Also tells the core `tree_changed()` when its status is another one; after that it is asked for it."""

    supplies: str
    # messages of this tree: type -> handler
    hop_messages: dict[type, Callable]  # by themselves: handler(sender: Peer, message)
    relayed_messages: dict[type, Callable]  # brought by node/relay.py: handler(sender: Peer, message)
    link_messages: dict[type, Callable]  # out of a channel: handler(link: LinkId, message)

    def start(self) -> None: ...
    def status(self) -> TreeStatus: ...
    def neighbor_up(self, peer: Peer) -> None:
        """A two-way radio neighbor appeared."""

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        """It is gone; tree links to it are to be given up (the tree calls core.lost)."""

    def suspected(self, peer: Peer) -> None:
        """Nothing was heard of it for longer than is usual; told once a silence. Its link is to be tried."""

    def hello_received(self, peer: Peer, hello) -> None:
        """A two-way neighbor's beacon: it tells its leader, depth and whether it seeks one."""

    def link_failed(self, link: LinkId, reason: str) -> None:
        """The reliable channel gave up or was reset; the tree calls core.lost(link)."""

    def link_pending(self, link: LinkId) -> bool:
        """Whether the far end may have opened this link although it is not open here: then its first message
        is no message of a dead incarnation."""

    def link_heard(self, link: LinkId) -> None:
        """A message came over such a link: the tree calls core.gained(link), before the message is handled."""
