"""The paper's evaluation tree: given, and changed by a script; every link that breaks is replaced t_rep
later.

cugola-frey-murphy-picco-dynamic-topology, section V-A. A `Script` is the whole tree as the script sees it; it
gives each node the notices of the contract (node/trees/__init__.py), in that order, and knows every
reconfiguration path because it sees all. A `Scripted` is the tree of one node. How the paper picks the
replacing link is not said; `choices` are all that the degree allows.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from node.ids import LinkId, NodeId
from node.seams import TreeNotices, TreeStatus
from node.trees.still import Still

Edge = tuple[NodeId, NodeId]
Notify = Callable[[NodeId, str, tuple[Any, ...]], None]  # node, notice of the core, its arguments


class Script:
    """A forest of nodes 0..n-1. `notify(node, notice, arguments)` is called for each notice; nothing is
    queued.

    With `rooted` (for routing that asks for the parent, hierarchical.py) a node hears tree_changed when its
    parent is another one.
    """

    def __init__(self, nodes: int, notify: Notify, rooted: bool = False) -> None:
        self._notify = notify
        self._rooted = rooted
        self._incarnations = 0
        self.neighbors: list[dict[NodeId, LinkId]] = [{} for _ in range(nodes)]
        self.links: dict[LinkId, None] = {}  # those that exist, oldest first
        self._parents: list[NodeId | None] | None = None

    # ---- what happens -----------------------------------------------------------------------
    def join(self, a: NodeId, b: NodeId) -> LinkId:
        """A link that replaces none. ValueError if it would close a cycle."""
        before = self._standing()
        link = self._open(a, b)
        self._tell_parents(before)
        for node in (a, b):
            self._notify(node, "gained", (link,))
        return link

    def cut(self, link: LinkId) -> None:
        """The link breaks, and both of its ends notice."""
        before = self._standing()
        del self.links[link]
        self._parents = None
        for node, far in (link[:2], link[1::-1]):
            del self.neighbors[node][far]
        for node in link[:2]:
            self._notify(node, "lost", (link, "scripted"))
        self._tell_parents(before)

    def replace(self, rid: LinkId, near: Edge, far: Edge, name_path: bool = True) -> LinkId:
        """Replace a link that was cut: `near` = (its near end, near end of the new link), `far` likewise.

        Without `name_path`, as a tree that could not find out: path None, and the far old end is not told. The new link
        may then join other parts than those of the lost one.
        """
        told = (*self.path(*near), *reversed(self.path(*far))) if name_path else None
        before = self._standing()
        new = self._open(near[1], far[1])
        self._tell_parents(before)
        for node, role in ((near[0], "old_near"), (far[0], "old_far"), (near[1], "new_near"), (far[1], "new_far")):
            if name_path or role != "old_far":
                self._notify(node, "replaced", (rid, rid, new, told, role))
        for node in new[:2]:
            self._notify(node, "gained", (new,))
        return new

    def abandon(self, rid: LinkId, ends: Iterable[NodeId]) -> None:
        """The link will not be replaced."""
        for node in ends:
            self._notify(node, "abandoned", (rid,))

    def _open(self, a: NodeId, b: NodeId) -> LinkId:
        if b in self.component(a):
            raise ValueError(f"a link between {a} and {b} closes a cycle")
        self._incarnations += 1
        link = LinkId.between(a, b, self._incarnations)
        self.links[link] = None
        self.neighbors[a][b] = self.neighbors[b][a] = link
        self._parents = None
        return link

    def _standing(self) -> list[NodeId | None]:
        return [self.parent(node) for node in range(len(self.neighbors))] if self._rooted else []

    def _tell_parents(self, before: list[NodeId | None]) -> None:
        for node, (old, new) in enumerate(zip(before, self._standing())):
            if old != new:
                self._notify(node, "tree_changed", ())

    # ---- what there is ------------------------------------------------------------------------
    def component(self, node: NodeId) -> list[NodeId]:
        """All that the node is connected to, itself first, in breadth-first order."""
        found, seen = [node], {node}
        for one in found:
            for other in self.neighbors[one]:
                if other not in seen:
                    seen.add(other)
                    found.append(other)
        return found

    def path(self, a: NodeId, b: NodeId) -> tuple[NodeId, ...]:
        """From a to b, both included. ValueError if they are not connected."""
        before: dict[NodeId, NodeId] = {b: b}
        todo = [b]
        for one in todo:
            if one == a:
                break
            for other in self.neighbors[one]:
                if other not in before:
                    before[other] = one
                    todo.append(other)
        if a not in before:
            raise ValueError(f"{a} and {b} are not connected")
        path = [a]
        while path[-1] != b:
            path.append(before[path[-1]])
        return tuple(path)

    def parent(self, node: NodeId) -> NodeId | None:
        """The next node toward the root, which is the one of lowest id of each component."""
        if self._parents is None:
            self._parents = [None] * len(self.neighbors)
            seen = set()
            for root in range(len(self.neighbors)):
                if root not in seen:
                    for one in self.component(root):
                        seen.add(one)
                        for other in self.neighbors[one]:
                            if other not in seen:
                                self._parents[other] = one
        return self._parents[node]

    # ---- which link may replace a lost one -------------------------------------------------------
    def choices(self, rid: LinkId, degree: int) -> Iterator[tuple[Edge, Edge]]:
        """All that reconnect the ends of the lost link, as (near, far) of `replace`; none has more than
        `degree` neighbors then. The link itself is among them. None if the ends are connected."""
        a, b = rid[:2]
        near_side = self.component(a)
        if b in near_side:
            return
        far_side = [node for node in self.component(b) if len(self.neighbors[node]) < degree]
        for near in near_side:
            if len(self.neighbors[near]) < degree:
                for far in far_side:
                    yield (a, near), (b, far)


class Scripted(Still):
    """The tree of one node; all that it hears comes from the script, all that it says are notices."""

    def __init__(self, me: NodeId, script: Script, notices: TreeNotices) -> None:
        super().__init__()
        self._me = me
        self._script = script
        self._notices = notices

    def status(self) -> TreeStatus:
        path = [self._me]
        while (parent := self._script.parent(path[-1])) is not None:
            path.append(parent)
        return TreeStatus(path[-1], len(path) - 1, path[1] if len(path) > 1 else None, False)

    def notice(self, name: str, arguments: tuple[Any, ...]) -> None:
        """A notice of the script: lost, gained, replaced, abandoned or tree_changed."""
        getattr(self._notices, name)(*arguments)
