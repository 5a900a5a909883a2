"""How a link opens: a join request walks to a root, and only the root that asked can use the answer, once.

cugola-murphy-picco-mobile-environment, section 5.1.1, wants the new link's far end to be no deeper than the
seeker. When repairs overlap that is not enough (two orphans of equal depth adopt each other), so depth is
only a preference of search.py, and what keeps the tree a tree is this protocol.

Protocol. The root r of a fragment, an orphan or a leader that gives in to another tree, sends JOIN down its
own tree to the near new end P, over the non-tree link to the far new end Q, and from there up the parent
pointers, each node adding itself to `walk`. A node that finds the next one, or itself, on the list REFUSEs.
A root REFUSEs while it has a JOIN of its own out ("pending"), else it GRANTs; an orphan grants only to higher
ids, so that of two that seek one waits for the other. The answer goes back the same way; Q adds the nonce of
the link to be. If the JOIN is still pending when the GRANT reaches r, r commits: it stops being a root by
turning its pointer to the next node toward P and sends ACTIVATE, which turns the pointer of each node on the
way, until P opens the link to Q as its parent and Q opens it to P. A JOIN that timed out cannot commit any
more, whatever arrives later.

Why no cycle can form. A link exists while both ends hold it open.

(1) Every link that exists is the pointer of at least one of its ends, and a node has one pointer at most.
So the pointers of a component lead to exactly one place, its *token*: a root; or a link that is the pointer
of both its ends, where an ACTIVATE is under way; or a pointer over a link that the far end has given up
already, or has not opened yet. A component without a token would have as many links as nodes: a cycle.
Cutting a link gives the child's side a new token (a root that seeks), and both sides one if an ACTIVATE was
on it; that keeps the rule. Only opening a link can break it: P's component, whose token is P's pointer to
Q, loses that token when Q opens the link, and must get Q's. So a cycle forms if and only if Q is in P's own
component at that moment, t_open.

(2) A JOIN that is out, granted or under way grants nothing until its link is open: its root refuses while it
is pending, an ACTIVATE under way sends a walk back to where it has been, and P's pointer leads to Q, who
takes no walk from P before the link is open. Let T be a JOIN of root r, out from t_start, granted,
committed, opened at t_open. Let A(t) be all that is, or is promised to be, below T: the nodes of the
component with T's token, and of every component whose token is that of a JOIN with its far new end in A(t)
which is granted, or was out at t_start already and is going to commit. Claim: after t_start no node enters
A. A cut link only takes nodes out (the fresh token is promised nothing yet); opening links, commits,
time-outs and the grants of JOINs that were out at t_start move nothing in. Left is the grant of a JOIN T'
that began after t_start, with far end Q', by a root h. Nothing in A grants, so h is outside. Suppose Q' is
in A at that instant; by induction it has been there since the walk came to it. The walk took steps over links
that existed, each from child to parent. While Q' stays in A, the way from Q' to where the walk is stays
whole: if a link of it is cut, Q' falls to a fresh token and out of A, unless the token of its component, an
ACTIVATE, had come down across the walk's way first. But then the two met, the ACTIVATE at a node before
the walk: there the pointer leads back to where the walk came from, and it is refused as met; or the link
there is closed, and it is refused as not from a child; or another ACTIVATE has come back up, and the walk
goes on as if it had waited. So the walk ends at the root of Q's own component, or is refused: h is in A.
Contradiction.

(3) T's own walk lies after t_start, so by the same reasoning, had Q been in A all along, the root that
granted T would be in A. Hence Q was outside of A at some instant after t_start, by (2) it still is at t_open,
and P's component is within A. So Q is not in P's component. No cycle.

The argument needs: the walk takes only steps from an open child to its parent; a pending root refuses; commit
is atomic and only of the JOIN that is pending; an ACTIVATE turns a pointer only if it comes over the very link
(nonce) that is the pointer. It needs no clock: grants may be remembered for ever, messages may be late, lost or
repeated. That is why the depth rule may be relaxed on later attempts.

Liveness. The leader that comes first in a connected part never asks to join another, so it is pending
never, or only to a walk that it is about to refuse; whoever borders on its tree is granted. Two that wait
for each other both get "busy" at once, and try again after random pauses.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from node import wire
from node.environment import Timer
from node.ids import LinkId, NodeId, Peer
from node.memory import Memory
from node.routes import place
from node.seams import HopMessages
from node.trees import Surroundings
from node.trees.position import Position, Standing

ROUTE = 64  # nodes of a route, from the root that asks to the far new end
WALK = 128  # nodes of a walk; a join that would go further is refused
PROMPT_HOPS = 10  # that `join_wait` suffices for; longer ways get their share more
OLD_ENDS = ("old_near", "old_far")  # roles of the ends of the lost link
REMEMBERED = 32  # joins that crossed to this node and may still be granted, or opened

Done = Callable[[str], None]  # outcome: joined, timeout, or why it was refused: busy, met, gone, far


class _Pending(NamedTuple):
    """The JOIN of this root that is out."""

    request: int
    rid: LinkId | None
    path: tuple[NodeId, ...] | None
    route: tuple[NodeId, ...]
    done: Done


class _Crossing(NamedTuple):
    """A JOIN that crossed from a neighbor to this node, the far new end; `nonce` once it is granted."""

    near: NodeId
    rid: LinkId | None
    path: tuple[NodeId, ...] | None
    expires: float
    nonce: int = 0


def roles(node: NodeId, rid: LinkId | None, route: tuple[NodeId, ...]) -> list[str]:
    """What a node of the route is to the replacement of link `rid`, one word each; none if it is a merge."""
    if rid is None:
        return []
    found = []
    if node == route[0] and node in rid[:2]:
        found.append("old_near")
    if node == route[-2]:
        found.append("new_near")
    elif node == route[-1]:
        found.append("new_far")
        if node in rid[:2]:
            found.append("old_far")
    return found or ["on_path"]


class Join:
    """Joins of this root, and this node's part in the joins of others."""

    def __init__(self, around: Surroundings, tree: Position) -> None:
        self._station, self._neighbors = around.station, around.neighbors
        self._relay, self._notices = around.relay, around.notices
        self._env = self._station.env
        self._config = self._station.config
        self._me = self._station.me.node
        self._tree = tree
        self._request = self._env.random.getrandbits(31)  # a past life's answers shall not fit
        self._pending: _Pending | None = None
        self._timer: Timer | None = None
        self.sought = False  # another orphan was granted to join this one
        # (seeker, request) -> its join; one that was granted just now is needed longest
        self._crossings: Memory[tuple[NodeId, int], _Crossing] = Memory(REMEMBERED)
        self.relayed: HopMessages = {
            wire.Join: self._join, wire.Grant: self._answer, wire.Refuse: self._answer,
            wire.Activate: self._activate, wire.Replaced: self._replaced}

    @property
    def pending(self) -> bool:
        return self._pending is not None

    # ---- the root that asks ---------------------------------------------------------------------
    def start(self, route: tuple[NodeId, ...], rid: LinkId | None, path: tuple[NodeId, ...] | None,
              hops: int, done: Done) -> None:
        """Ask to join over `route` (this root, ..., near end, far end); `done(outcome)` is called once.

        That is always later. `hops`: how many there are to the other root, as far as is known.
        """
        self._request = (self._request + 1) & 0xFFFFFFFF
        pending = self._pending = _Pending(self._request, rid, path, route, done)
        wait = self._config.join_wait * max(1.0, hops / PROMPT_HOPS)
        self._timer = self._env.call_later(wait, lambda: self._end("timeout"))
        if self._next_hop(route, 0) is None:
            self._timer.cancel()
            self._timer = self._env.call_later(0.0, lambda: self._end("gone"))
            return
        message = wire.Join(pending.request, rid, path or (), route, ())
        self._relay.send(route[1], message, lambda: self._end("gone", pending))

    def cancel(self) -> None:
        """The JOIN that is out cannot commit any more; its `done` is not called."""
        self._pending = None
        if self._timer is not None:
            self._timer.cancel()

    def _end(self, outcome: str, only: _Pending | None = None) -> None:
        pending = self._pending
        if pending is None or (only is not None and pending is not only):
            return
        self.cancel()
        pending.done(outcome)

    def _next_hop(self, route: tuple[NodeId, ...], at: int) -> NodeId | None:
        """The node after position `at` if a message may go there: to a child, or over the crossing."""
        node = route[at + 1]
        if at + 2 == len(route):
            return node if node in self._neighbors.two_way and node != self._tree.parent else None
        return node if self._tree.is_child(node) else None

    # ---- the walk -----------------------------------------------------------------------------------
    def _join(self, sender: Peer, message: wire.Join) -> None:
        route, walk = message.route, message.walk
        if len(route) < 2 or len({*route, *walk}) != len(route) + len(walk) - (1 if walk else 0) \
                or (walk and walk[0] != route[-1]):
            self._station.dropped("bad_route")
        elif not walk:
            self._join_on_route(sender.node, message)
        elif self._me in walk or self._me in route:
            self._refuse(message, sender.node, "met")
        elif not self._tree.is_child(sender.node) or walk[-1] != sender.node:
            self._refuse(message, sender.node, "gone")
        else:
            self._walk(message._replace(walk=(*walk, self._me)), sender.node)

    def _join_on_route(self, sender: NodeId, message: wire.Join) -> None:
        route = message.route
        at = place(route, self._me, sender)
        if not at:
            self._station.dropped("bad_route")
            return
        if at + 1 == len(route):
            self._crossings.remember((route[0], message.request), _Crossing(
                sender, _link(message.rid), message.path or None, self._env.now() + self._memory()))
            self._walk(message._replace(walk=(self._me,), path=()), sender)
        elif self._tree.parent != sender or self._next_hop(route, at) is None:
            self._refuse(message, sender, "gone")
        else:
            self._relay.send(route[at + 1], message, lambda: self._refuse(message, sender, "gone"))

    def _walk(self, message: wire.Join, sender: NodeId) -> None:
        """One step of the walk, from this node, which is the last of `walk` already."""
        parent = self._tree.parent
        if parent is None:
            seeking = self._tree.standing is Standing.ORPHAN
            if self.pending or (seeking and message.route[0] < self._me):
                self._refuse(message, sender, "busy")
                return
            self.sought = self.sought or seeking
            self._grant(wire.Grant(message.request, message.route, message.walk, 0))
        elif parent in message.walk or parent in message.route:
            self._refuse(message, sender, "met")
        elif len(message.walk) >= WALK:
            self._refuse(message, sender, "far")
        else:
            self._tree.relay_up(message, lambda: self._refuse(message, sender, "gone"))

    # ---- the answer -----------------------------------------------------------------------------------
    def _refuse(self, message: wire.Join, sender: NodeId, reason: str) -> None:
        self._relay.send(sender, wire.Refuse(message.request, message.route, message.walk, reason))

    def _back(self, message: wire.Grant | wire.Refuse) -> None:
        """Send an answer on to the node before this one."""
        chain = (*message.route, *message.walk[1:])
        self._relay.send(chain[chain.index(self._me) - 1], message)

    def _answer(self, sender: Peer, message: wire.Grant | wire.Refuse) -> None:
        chain = (*message.route, *message.walk[1:])
        at = chain.index(self._me) if self._me in chain else -1
        last = at + 1 == len(chain)
        granted = isinstance(message, wire.Grant)
        if at < 0 or len(message.route) < 2 or (message.walk and message.walk[0] != message.route[-1]) \
                or (last and granted) or (not last and chain[at + 1] != sender.node):
            self._station.dropped("bad_route")
        elif at == 0:
            self._conclude(message)
        elif isinstance(message, wire.Grant):
            self._grant(message)
        else:
            self._back(message)

    def _grant(self, message: wire.Grant) -> None:
        """Pass a grant back; at the far new end, name the link that may be opened."""
        if self._me != message.route[-1]:
            self._back(message)
            return
        key = (message.route[0], message.request)
        crossing = self._crossings.get(key)
        if crossing is None or crossing.near != message.route[-2] or crossing.nonce:
            self._station.dropped("unasked")
            return
        nonce = self._env.random.randrange(1, 2**32)
        self._crossings.remember(key, crossing._replace(nonce=nonce, expires=self._env.now() + self._memory()))
        self._back(message._replace(nonce=nonce))

    def _conclude(self, message: wire.Grant | wire.Refuse) -> None:
        pending = self._pending
        if pending is None or pending.request != message.request or pending.route != message.route:
            self._station.dropped("late")  # timed out before: it can never commit
        elif isinstance(message, wire.Refuse):
            self._end(message.reason if message.reason in ("busy", "met", "far") else "gone")
        elif not message.nonce or self._next_hop(pending.route, 0) is None:
            self._end("gone")
        else:
            self.cancel()
            pending.done("joined")
            self._advance(0, wire.Activate(pending.rid, pending.path or (), pending.route, message.nonce, 0))

    # ---- activation ---------------------------------------------------------------------------------
    def _activate(self, sender: Peer, message: wire.Activate) -> None:
        route = message.route
        at = place(route, self._me, sender.node)
        if not at:
            self._station.dropped("bad_route")
            return
        over = LinkId.between(self._me, sender.node, message.over)
        if at + 1 == len(route):
            self.held_open(sender.node, message.over)
        elif self._tree.parent != sender.node or self._tree.links[sender.node] != over:
            # the sender points here and we no longer there: the link between us is of no use to either
            self._station.dropped("not_parent")
            self._tree.lose(over, "crossed")
            self._relay.send(sender.node, wire.Leave(message.over))
        else:
            self._advance(at, message)

    def _advance(self, at: int, message: wire.Activate) -> None:
        """Turn this node's pointer, at `at` of the route, to the next one; the near end opens the link."""
        route, tree = message.route, self._tree
        rid = _link(message.rid)
        node = self._next_hop(route, at)
        if node is None:
            tree.orphaned(rid, tree.root_path, max(tree.depth, 1))
            return
        new = LinkId.between(route[-2], route[-1], message.nonce)
        opens = at + 2 == len(route)
        link = new if opens else tree.links[node]
        self._relay.send(node, message._replace(over=link.nonce),
                        lambda: tree.lose(link, "unanswered", tell=True))
        if not opens:
            tree.set_parent(node)
        self._notify(rid, new, message.path or None, route)
        if opens:
            tree.gain(node, message.nonce, parent=True)

    def held_open(self, far: NodeId, nonce: int) -> None:
        """The far end holds this link open: open it too if that was granted, or say that it is closed here."""
        link = LinkId.between(self._me, far, nonce)
        if self.granted(link):
            self.opened(link)
        elif self._tree.links.get(far) != link:
            self._station.dropped("unasked")
            self._relay.send(far, wire.Leave(nonce))

    def granted(self, link: LinkId) -> bool:
        """Whether the far end of this link was granted to open it."""
        return self._crossing(link) is not None

    def opened(self, link: LinkId) -> None:
        """At the far new end: the near one has opened the link."""
        key = self._crossing(link)
        if key is None:
            return
        crossing = self._crossings.pop(key)
        rid = crossing.rid
        if rid is not None and self._me in rid[:2]:
            self._tree.lose(rid, "replaced")  # its other end has noticed before we did
        self._notify(rid, link, crossing.path, (key[0], crossing.near, self._me))
        self._tree.gain(crossing.near, link.nonce, parent=False)
        if rid is not None and crossing.path and crossing.path[-1] != self._me:
            self._pass_on(wire.Replaced(rid, link, crossing.path))

    def _memory(self) -> float:
        """Seconds that a join is remembered at its far new end: longer than its root waits for it."""
        return self._config.join_wait * (ROUTE + WALK) / PROMPT_HOPS

    def _crossing(self, link: LinkId) -> tuple[NodeId, int] | None:
        far, now = link.far_end(self._me), self._env.now()
        for key, crossing in self._crossings.items():
            if crossing.nonce == link.nonce and crossing.near == far and crossing.expires > now:
                return key
        return None

    # ---- who is told of a replacement ------------------------------------------------------------------
    def _notify(self, rid: LinkId | None, new: LinkId, path: tuple[NodeId, ...] | None,
                route: tuple[NodeId, ...]) -> None:
        for role in roles(self._me, rid, route):
            if rid is not None and (role not in OLD_ENDS or self._tree.had(rid)):
                self._notices.replaced(rid, rid, new, path, role)

    def _replaced(self, sender: Peer, message: wire.Replaced) -> None:
        path = message.path
        rid, new = LinkId(*message.rid), LinkId(*message.new)
        at = place(path, self._me, sender.node)
        if not at or {path[0], path[-1]} != {rid.low, rid.high}:
            self._station.dropped("bad_route")
        elif at + 1 < len(path):
            self._notices.replaced(rid, rid, new, path, "on_path")
            self._pass_on(message)
        else:
            self._tree.lose(rid, "replaced")
            if self._tree.had(rid):
                self._notices.replaced(rid, rid, new, path, "old_far")

    def _pass_on(self, message: wire.Replaced) -> None:
        at = message.path.index(self._me) if self._me in message.path else len(message.path)
        if at + 1 < len(message.path):
            self._relay.send(message.path[at + 1], message)


def _link(rid: tuple[int, int, int] | None) -> LinkId | None:
    return None if rid is None else LinkId(*rid)
