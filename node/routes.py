"""A route that a message brings along: believed once it is checked here, where it enters a node.

Ids come from the air, and a list of them may hold anything: a circle, a node twice, a sender that is not its sender.
"""
from __future__ import annotations

from node.ids import NodeId

Route = tuple[NodeId, ...]


def place(route: Route, me: NodeId, sender: NodeId) -> int:
    """Index of this node in a route to follow, along which `sender` has passed the message on: it stands right before
    this node, and nobody stands there twice. 0 for a route that cannot be, since whoever begins it receives nothing."""
    at = route.index(me) if me in route else 0
    return at if at and route[at - 1] == sender and len(set(route)) == len(route) else 0


def between(near: Route, far: Route) -> Route:
    """The path in a tree from one node to another, both included, by their paths towards its root, themselves first; empty
    where these do not meet."""
    up = next((at for at, node in enumerate(near) if node in far), None)
    if up is None:
        return ()
    return (*near[:up], *reversed(far[:far.index(near[up]) + 1]))


def has_come(route: Route, me: NodeId, sender: NodeId) -> bool:
    """Whether a message can have come by this route, to which each node has added itself: `sender` at last, nobody twice,
    and this node not yet."""
    return route[-1:] == (sender,) and me not in route and len(set(route)) == len(route)
