"""Where a node of `maodv` stands in its tree: the states, and what the tree's parts may read and ask of it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import auto
from typing import Protocol

from node import wire
from node.ids import LinkId, NodeId
from node.routes import Route
from node.state import Changes, State


class Standing(State):
    """A root has no parent, a member has one."""

    LEADER = auto()  # a root that leads
    ORPHAN = auto()  # a root that lost its parent and seeks another
    TURNED = auto()  # a member whose parent has told nothing yet: what is above is not known
    MEMBER = auto()  # a member below a leader
    ADRIFT = auto()  # a member below an orphan


CHANGES: Changes[Standing] = {
    Standing.LEADER: {Standing.TURNED},  # it gives in to another tree; no leader has a parent to lose
    Standing.ORPHAN: {Standing.TURNED, Standing.LEADER},  # it joins, or elects itself
    Standing.TURNED: {Standing.MEMBER, Standing.ADRIFT, Standing.ORPHAN},
    Standing.MEMBER: {Standing.ADRIFT, Standing.TURNED, Standing.ORPHAN},
    Standing.ADRIFT: {Standing.MEMBER, Standing.TURNED, Standing.ORPHAN},
}
SETTLED = Standing.LEADER, Standing.MEMBER
SEEKING = Standing.ORPHAN, Standing.ADRIFT  # the fragment's root is an orphan


class Position(Protocol):
    @property
    def standing(self) -> Standing: ...
    @property
    def links(self) -> Mapping[NodeId, LinkId]:
        """Open tree links by their far end."""

    @property
    def parent(self) -> NodeId | None: ...
    @property
    def leader(self) -> NodeId: ...
    @property
    def depth(self) -> int: ...
    @property
    def root_path(self) -> Route:
        """This node, its parent and so on."""

    @property
    def settled(self) -> bool: ...
    def is_child(self, node: NodeId) -> bool: ...
    def had(self, link: LinkId) -> bool: ...
    def set_parent(self, node: NodeId) -> None: ...
    def gain(self, node: NodeId, nonce: int, parent: bool) -> LinkId: ...
    def lose(self, link: LinkId, reason: str, tell: bool = False) -> None: ...
    def orphaned(self, rid: LinkId | None, former: Route, depth: int) -> None: ...
    def elect(self) -> None: ...
    def relay_up(self, message: wire.Message, failed: Callable[[], None] | None = None) -> None: ...
