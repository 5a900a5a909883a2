"""How an orphan finds its new link: route requests, replies, and the choice of the nearest.

cugola-murphy-picco-mobile-environment, section 5.1.1. The orphan broadcasts a route request (RREQ). Its own
fragment passes it down the tree, and whoever hears it over a non-tree link is the far end of a possible
link: the request has crossed, and from there it may only travel up that tree. Nodes no deeper than the
orphan was reply (RREP). From the root paths of both sides the orphan computes the whole reconfiguration
path of each reply, and takes the link whose far end is nearest to the lost link's far end.

The depth rule holds for the first attempt. Later ones are answered by the crossed-to node whatever its
depth: depth says who is probably not below the orphan, but only the join's walk (join.py) makes sure. After
`request_attempts` the orphan elects itself.

Two things are sooner than in the paper. The orphan chooses SETTLE after the first reply: the nearest links answer within
milliseconds, and are the best by its measure. And a fragment that seeks, too, replies to an orphan whose id is higher:
where a leader dies, or a tree breaks into many, all who are left are orphans (section 5.1.2 has a protocol of its own for
that). They gather below the lowest id, who elects itself as soon as an attempt has found nobody but such.
"""
from __future__ import annotations

from enum import auto
from typing import NamedTuple

from node import wire
from node.environment import Timer
from node.ids import LinkId, NodeId, Peer
from node.memory import Once
from node.routes import Route, has_come, place
from node.seams import HopMessages
from node.state import Changes, State, changed
from node.trees import Surroundings
from node.trees.join import Join
from node.trees.position import SEEKING, Position, Standing

PATH = 64  # ids of a root path or a reconfiguration path; longer ones are not named
HOPS = 18  # ids of a request's way, both trees together
CANDIDATES = 16  # replies that are kept
TRIES = 4  # joins through replies to one request
SEEN = 128  # requests of others that are remembered
FORWARD_JITTER = 0.004  # s, so that those who heard one broadcast do not all answer at once
SETTLE = 0.03  # s after the first reply for a better one


class Phase(State):
    """Of the repair of this orphan."""

    IDLE = auto()  # it is none
    COLLECTING = auto()  # a route request is out, and replies come
    JOINING = auto()  # a join through one of them is out


CHANGES: Changes[Phase] = {
    Phase.IDLE: {Phase.COLLECTING},
    Phase.COLLECTING: {Phase.JOINING, Phase.IDLE},  # idle: it elects itself
    Phase.JOINING: {Phase.COLLECTING, Phase.IDLE},  # idle: it has joined
}


class Candidate(NamedTuple):
    """A possible new link: the last two of `route`."""

    route: tuple[NodeId, ...]  # the orphan, ..., near end, far end
    far_path: tuple[NodeId, ...]  # root path of the far end, itself first, as far as it matters
    far_depth: int  # hops from the far end to its root
    seeking: bool  # an orphan's, too


def reconfiguration_path(former: tuple[NodeId, ...], route: tuple[NodeId, ...],
                         far_path: tuple[NodeId, ...]) -> tuple[NodeId, ...] | None:
    """From the near old end over the new link to the far old end; None if the far side's trees do not meet.

    `former`: root path of the near old end before the loss, (near old end, far old end, ...); `route`: (near
    old end, ..., near new end, far new end); `far_path`: root path of the far new end. The far side is
    joined at the lowest common ancestor of the two far ends.
    """
    ancestors = former[1:]
    for up, node in enumerate(far_path):
        if node in ancestors:
            down = ancestors[:ancestors.index(node)]
            path = (*route[:-1], *far_path[:up + 1], *reversed(down))
            return path if len(path) <= PATH and len(set(path)) == len(path) else None
    return None


def meeting(root_path: tuple[NodeId, ...], former: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
    """A root path up to where it meets the seeker's former one, which is all that the seeker needs of it."""
    for up, node in enumerate(root_path):
        if node in former:
            return root_path[:up + 1]
    return root_path


class Search:
    """The repair of this orphan, and this node's part in the requests of others."""

    def __init__(self, around: Surroundings, tree: Position, join: Join) -> None:
        self._station, self._neighbors = around.station, around.neighbors
        self._relay, self._notices = around.relay, around.notices
        self._env = self._station.env
        self._config = self._station.config
        self._me = self._station.me.node
        self._tree = tree
        self._join = join
        self._request = self._first_request = self._env.random.getrandbits(31)  # of this repair
        self._seen: Once[tuple[NodeId, int]] = Once(SEEN)
        self._phase = Phase.IDLE
        self._rid: LinkId | None = None
        self._former: tuple[NodeId, ...] = ()
        self._depth = 0
        self._attempt = 0
        self._rivals = False  # another orphan seeks here, whose id is higher
        self._tries = 0
        self._began = 0.0
        self._candidates: list[Candidate] = []
        self._timer: Timer | None = None
        self._answered = False  # in this attempt, by a fragment that has a leader
        self.relayed: HopMessages = {wire.Rreq: self._request_relayed, wire.Rrep: self._reply}

    def _enter(self, phase: Phase) -> None:
        self._phase = changed(CHANGES, self._phase, phase)

    # ---- the orphan ---------------------------------------------------------------------------
    def begin(self, rid: LinkId | None, former: tuple[NodeId, ...], depth: int) -> None:
        """Seek a new link for this fragment. `former`, `depth`: where its root stood before the loss."""
        self._enter(Phase.COLLECTING)
        self._rid, self._former, self._depth = rid, former, depth
        self._attempt = 0
        self._rivals = self._join.sought = self._answered = False
        self._first_request = (self._request + 1) & 0xFFFFFFFF
        self._began = self._env.now()
        self._env.record("repair_started", rid=_text(rid), cause="repair")
        self._next_attempt()

    def neighbor_up(self, node: NodeId) -> None:
        """A new neighbor may be the way out: ask again at once if nothing was found yet."""
        if self._phase is Phase.COLLECTING and not self._candidates:
            self._ask()

    def _next_attempt(self) -> None:
        lonely = not self._neighbors.two_way
        alone = (self._rivals or self._join.sought) and not self._answered  # but for those that seek, too
        if lonely or alone or self._attempt == self._config.request_attempts:
            self._end("elected")
            return
        self._enter(Phase.COLLECTING)
        self._attempt += 1
        self._tries = 0
        self._candidates = []
        self._ask()
        # longer each time: a fragment that is busy now, or was only out of reach, gets its time
        self._answered = False
        self._choose_after(self._config.request_wait * 2 ** (self._attempt - 1) * self._env.random.uniform(1.0, 1.2))

    def _choose_after(self, wait: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._env.call_later(wait, self._choose)

    def _ask(self) -> None:
        self._request = (self._request + 1) & 0xFFFFFFFF
        self._station.broadcast(wire.Rreq(
            rid=self._rid, request=self._request, attempt=self._attempt, depth=self._depth,
            former=self._former[:PATH], hops=(self._me,), crossing=None))

    def _choose(self) -> None:
        if not self._candidates or self._tries == TRIES:
            self._next_attempt()
            return
        best = min(self._candidates, key=self._distance)
        self._candidates.remove(best)
        self._tries += 1
        self._enter(Phase.JOINING)
        hops = len(best.route) + best.far_depth
        self._join.start(best.route, self._rid, self._path(best), hops, self._joined)

    def _path(self, candidate: Candidate) -> tuple[NodeId, ...] | None:
        return reconfiguration_path(self._former, candidate.route, candidate.far_path)

    def _distance(self, candidate: Candidate) -> tuple[int | Route, ...]:
        """Nearest to the far old end first, then the shortest in all; then the unknown, the shallow first; then who seeks."""
        path = self._path(candidate)
        if path is None or candidate.seeking:
            return (1 + candidate.seeking, candidate.far_depth, len(candidate.route), candidate.route)
        return (0, len(path) - len(candidate.route), len(path), candidate.route)

    def _joined(self, outcome: str) -> None:
        if outcome == "joined":
            self._end(outcome)
        else:
            self._choose()

    def _end(self, outcome: str) -> None:
        rid = self._rid
        self._enter(Phase.IDLE)
        self._candidates = []
        if self._timer is not None:
            self._timer.cancel()
        self._env.record("repair_ended", rid=_text(rid), cause="repair", outcome=outcome,
                         attempts=self._attempt, seconds=self._env.now() - self._began)
        if outcome == "elected":
            if rid is not None:
                self._notices.abandoned(rid)
            self._tree.elect()

    def _reply(self, sender: Peer, message: wire.Rrep) -> None:
        hops, crossing = message.hops, message.crossing
        back = place(hops[::-1], self._me, sender.node)
        at = len(hops) - 1 - back
        if not back or not 0 < crossing < len(hops) or message.path[:1] != hops[-1:]:
            self._station.dropped("bad_route")
        elif at > 0:
            self._relay.send(hops[at - 1], message)
        elif self._phase is Phase.IDLE or not self._is_of_this_repair(message.request):
            self._station.dropped("late")
        elif len(self._candidates) >= CANDIDATES:
            self._station.dropped("many_replies")
        elif self._me not in message.path:
            far_path = (*hops[crossing:], *message.path[1:])[:PATH]
            far_depth = message.depth + len(hops) - 1 - crossing
            self._candidates.append(Candidate(hops[:crossing + 1], far_path, far_depth, message.seeking))
            if message.seeking:
                return
            if self._phase is Phase.COLLECTING and not self._answered:
                self._choose_after(SETTLE)
            self._answered = True

    def _is_of_this_repair(self, request: int) -> bool:
        return (request - self._first_request) & 0xFFFFFFFF <= (self._request - self._first_request) & 0xFFFFFFFF

    # ---- the others ---------------------------------------------------------------------------------
    def request_heard(self, sender: Peer, message: wire.Rreq) -> None:
        """A route request came by broadcast: from the parent, or over a non-tree link."""
        hops = message.hops
        if self._me in hops:
            return  # the echo of what this node passed on
        if not self._sound(sender, message) or message.crossing is not None:
            self._station.dropped("bad_route")
            return
        tree = self._tree
        seeker = hops[0]
        if len(hops) == 1 and message.rid is not None and tree.links.get(seeker) == message.rid:
            tree.lose(tree.links[seeker], "far_end")  # the other end has noticed before we did
        if tree.parent == sender.node:
            if self._first(message) and len(hops) <= self._config.request_hops:
                forward = message._replace(hops=(*hops, self._me))
                self._env.call_later(self._env.random.random() * FORWARD_JITTER,
                                     lambda: self._station.broadcast(forward))
        elif sender.node not in tree.links:
            self._crossed(message, len(hops))

    def _request_relayed(self, sender: Peer, message: wire.Rreq) -> None:
        """A route request on its way up the tree that it crossed to."""
        crossing = message.crossing or 0
        if not self._sound(sender, message) or not 0 < crossing < len(message.hops):
            self._station.dropped("bad_route")
        elif self._tree.is_child(sender.node):
            self._crossed(message, crossing)

    def _crossed(self, message: wire.Rreq, crossing: int) -> None:
        """On the far side: reply if no deeper than the seeker was, else ask the parent. `crossing`: hops before it."""
        tree, hops = self._tree, (*message.hops, self._me)
        seeking = tree.standing in SEEKING
        if not (tree.settled or seeking) or not set(hops[:crossing]).isdisjoint(tree.root_path):
            return  # not known whom one would join here, or below the seeker itself
        if not self._first(message):
            return
        if tree.standing is Standing.ORPHAN:
            self._rivals = self._rivals or self._me < hops[0]
        if seeking and hops[0] < tree.leader:
            return
        if tree.depth <= message.depth or message.attempt > 1 or seeking:
            self._relay.send(hops[-2], wire.Rrep(
                request=message.request, hops=hops, crossing=crossing, depth=tree.depth,
                path=meeting(tree.root_path, message.former[1:]), seeking=seeking))
        elif len(hops) < HOPS and len(hops) - crossing <= self._config.request_hops:
            tree.relay_up(message._replace(hops=hops, crossing=crossing))

    def _sound(self, sender: Peer, message: wire.Rreq) -> bool:
        hops = message.hops
        return (has_come(hops, self._me, sender.node) and len(hops) < HOPS
                and sender.node in self._neighbors.two_way)

    def _first(self, message: wire.Rreq) -> bool:
        return self._seen.first_time((message.hops[0], message.request))


def _text(rid: LinkId | None) -> str | None:
    return None if rid is None else str(rid)
