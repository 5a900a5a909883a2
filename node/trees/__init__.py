"""What a tree is to the rest of the node: who our tree neighbors are, and four notices.

cugola-frey-murphy-picco-dynamic-topology, section III-A (interface between tree maintenance and
routing), with the incarnations and reconfiguration identifiers of the design. A tree gives the notices
`lost(link, reason)`, `gained(link)`, `replaced(rid, lost, new, path, role)` and
`abandoned(rid)`; at every node `lost` comes before `replaced`, and an end of the lost link that has
restarted since hears neither. The `rid` of a reconfiguration is the lost link's LinkId. Merges, joins and elections are plain `gained`.
"""
from __future__ import annotations

from typing import NamedTuple, Protocol

from node import wire
from node.ids import LinkId, Peer
from node.routes import Route
from node.seams import Channels, HopMessages, LinkMessages, Neighborhood, OneHop, Radio, TreeNotices
from node.seams import TreeStatus as TreeStatus


class Surroundings(NamedTuple):
    """What a tree may call."""

    station: Radio
    neighbors: Neighborhood
    relay: OneHop
    channels: Channels
    notices: TreeNotices


class Tree(Protocol):
    """Also gives the notice `tree_changed()` when its status is another one; after that it is asked for it."""

    # messages of this tree
    hop_messages: HopMessages  # by themselves
    relayed_messages: HopMessages  # brought by node/relay.py
    link_messages: LinkMessages

    @property
    def root_path(self) -> Route:
        """This node, its parent and so on, as far as is known."""

    def start(self) -> None: ...
    def status(self) -> TreeStatus: ...
    def neighbor_up(self, peer: Peer) -> None:
        """A two-way radio neighbor appeared."""

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        """It is gone; tree links to it are to be given up (the tree gives the notice `lost`)."""

    def suspected(self, peer: Peer, tries: int) -> None:
        """Nothing was heard of it for longer than is usual, or what was sent is not acknowledged; told once a silence. Its
        link is to be tried so many times."""

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        """A two-way neighbor's beacon: it tells its leader, depth and whether it seeks one."""

    def link_failed(self, link: LinkId, reason: str) -> None:
        """The reliable channel gave up or was reset; the tree gives the notice `lost`."""

    def link_pending(self, link: LinkId) -> bool:
        """Whether the far end may have opened this link although it is not open here: then its first message
        is no message of a dead incarnation."""

    def link_heard(self, link: LinkId) -> None:
        """A message came over such a link: the tree gives the notice `gained`, before the message is handled."""
