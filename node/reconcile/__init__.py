"""What a reconciliation protocol is: it hears the tree's notices and steers the routing.

cugola-frey-murphy-picco-dynamic-topology, sections III-B and IV. Subscription forwarding is
wanted against told (routing/forwarding.py): for each link what should be told is a function of
the table. A protocol changes only what is held back on a new link and how long the entries of a
lost link stay; it never touches the hops of local clients.

The protocols build on each other as the paper's figures do: strawman stands alone; timed, notified,
informed and path each reuse the operations of the one before. All that they keep is keyed by the lost link's
incarnation (`rid`) or by the new link's, and dies with it, so the same neighbor back within a timer is
another matter altogether.

Services of the core used: `routing`, `add_link`, `remove_link`, `send`, `relay(route, message)` (out of band,
along a list of ids from this node to the receiver; it may get lost), `dropped`; `env` for time and records.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from node.ids import LinkId, NodeId

# reconfiguration path: near old end, ..., near new end, far new end, ..., far old end
Path = tuple[NodeId, ...]

OLD_ENDS = ("old_near", "old_far")
NEW_ENDS = ("new_near", "new_far")


class Reconciler(Protocol):
    needs: str  # trees.SUPPLIES_*: what the tree must supply
    link_messages: dict[type, Callable]  # handler(link: LinkId, message)
    routed_messages: dict[type, Callable]  # handler(route: Path, message), what `relay` brought

    def lost(self, link: LinkId) -> None: ...
    def gained(self, link: LinkId) -> None: ...
    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """Link `new` takes the place of `lost`. `role` of this node: old_near (it seeks), old_far, new_near,
        new_far, on_path; one call for each of several. After `lost` at the old ends, before `gained` at the
        new ones."""

    def abandoned(self, rid: LinkId) -> None:
        """No link will take the place of this one."""


def crossing(path: Path, new: LinkId) -> int | None:
    """Where the path goes over the new link: index of the near new end; None if it does not."""
    for at in range(len(path) - 1):
        if {path[at], path[at + 1]} == {new.low, new.high}:
            return at
    return None
