"""How trees that meet become one: the side whose leader comes later in the order of ids gives in.

The order is total, so of two trees always exactly one gives in (in REDS two could tie, and never merged). A
node that hears a two-way neighbor of another tree with a leader of lower id offers the crossing to its own
leader (OFFER, up the tree, collecting the way back); the leader gathers offers for `merge_wait` and joins
through the best, as in join.py. Refused as busy it tries again after random, growing pauses: the leader of
lowest id never gives in, so it is never busy for long, and every merge leaves one tree less.
"""
from __future__ import annotations

from enum import auto
from typing import NamedTuple

from node import wire
from node.ids import NodeId, Peer
from node.memory import Memory
from node.routes import has_come
from node.seams import HopMessages
from node.state import Changes, State, changed
from node.trees import Surroundings
from node.trees.join import Join
from node.trees.position import Position, Standing

DEEP = 62  # depth from which a route to the leader would be too long (join.py)
OFFERS = 16  # offers that a leader keeps
TRIES = 3  # joins through one lot of offers, busy ones not counted
BUSY_TRIES = 6
BUSY_PAUSE = 0.05  # s, doubled at each busy answer, times a random share
REPEAT = 0.4  # s before the same other leader is offered again by this node
FORWARDS = 4  # offers toward one other leader passed up in that time
HEARD = 64  # other leaders that are remembered for that


class Phase(State):
    """Of the merge of this leader."""

    IDLE = auto()
    GATHERING = auto()  # an offer has come, and others may
    JOINING = auto()  # a join through one of them is out
    PAUSING = auto()  # until the next try


CHANGES: Changes[Phase] = {
    Phase.IDLE: {Phase.GATHERING},
    Phase.GATHERING: {Phase.JOINING, Phase.IDLE},  # idle: it leads no more
    Phase.JOINING: {Phase.PAUSING, Phase.IDLE},
    Phase.PAUSING: {Phase.JOINING, Phase.IDLE},
}


class Heard(NamedTuple):
    """What a neighbor's latest beacon told of its tree."""

    leader: NodeId
    depth: int
    seeking: bool


class Offer(NamedTuple):
    leader: NodeId  # of the other tree
    distance: int  # from this leader to the far end, and from there to the other leader
    route: tuple[NodeId, ...]  # this leader, ..., near end, far end


class Merge:
    """What this node hears of other trees, and the merge of this leader."""

    def __init__(self, around: Surroundings, tree: Position, join: Join) -> None:
        self._station, self._neighbors = around.station, around.neighbors
        self._env = self._station.env
        self._config = self._station.config
        self._me = self._station.me.node
        self._tree = tree
        self._joins = join
        self._heard: dict[NodeId, Heard] = {}  # of two-way neighbors
        self._lately: Memory[NodeId, tuple[float, int]] = Memory(HEARD)  # other leader -> window's start, offers passed up
        self._leader: NodeId | None = None  # when neighbors were last compared
        self._offers: list[Offer] = []
        self._phase = Phase.IDLE
        self._tries = 0
        self._busy = 0
        self._began = 0.0
        self.relayed: HopMessages = {wire.Offer: self._offer}

    # ---- inputs -------------------------------------------------------------------------------
    def neighbor_down(self, node: NodeId) -> None:
        self._heard.pop(node, None)

    def hello_received(self, node: NodeId, hello: wire.Hello) -> None:
        self._heard[node] = Heard(hello.leader, hello.depth, hello.seeking)
        self._compare(node)

    def changed(self) -> None:
        """This node's own leader may have changed: the neighbors' beacons are to be judged anew."""
        standing = self._tree.leader if self._tree.settled else None
        if standing != self._leader:
            self._leader = standing
            for node in list(self._heard):
                self._compare(node)

    # ---- whoever meets another tree --------------------------------------------------------------
    def _compare(self, node: NodeId) -> None:
        heard, tree = self._heard[node], self._tree
        if not tree.settled or heard.seeking or node in tree.links or not self._gives_in(heard):
            return
        if node in self._neighbors.two_way and self._allowed(heard.leader, 1):
            self._rise(wire.Offer(leader=heard.leader, depth=heard.depth, far=node, hops=()))

    def _gives_in(self, heard: Heard) -> bool:
        """Whether this tree joins the other, not vice versa: by order, unless a route were too long."""
        tree = self._tree
        if heard.leader == tree.leader or tree.depth >= DEEP:
            return False
        return heard.leader < tree.leader or heard.depth >= DEEP

    def _allowed(self, leader: NodeId, most: int) -> bool:
        """Whether one more offer toward this leader may go up now."""
        now = self._env.now()
        since, passed = self._lately.get(leader, (now, 0))
        if now - since >= REPEAT:
            since, passed = now, 0
        if passed >= most:
            return False
        self._lately.remember(leader, (since, passed + 1))
        return True

    def _rise(self, message: wire.Offer) -> None:
        """One step up: to the parent, or into this leader's lot."""
        tree = self._tree
        hops = (*message.hops, self._me)
        if tree.parent is None:
            self._gather(Offer(message.leader, len(hops) + message.depth, (*reversed(hops), message.far)))
        elif len(hops) < DEEP:
            tree.relay_up(message._replace(hops=hops))

    def _offer(self, sender: Peer, message: wire.Offer) -> None:
        hops, far = message.hops, message.far
        if not has_come(hops, self._me, sender.node) or far in hops or far == self._me \
                or not self._tree.is_child(sender.node):
            self._station.dropped("bad_route")
        elif self._tree.settled and message.leader != self._tree.leader \
                and self._allowed(message.leader, FORWARDS):
            self._rise(message)

    # ---- the leader that gives in ------------------------------------------------------------------
    def _gather(self, offer: Offer) -> None:
        if any(known.route == offer.route for known in self._offers):
            return
        if len(self._offers) >= OFFERS:
            self._station.dropped("many_offers")
            return
        self._offers.append(offer)
        if self._phase is Phase.IDLE:
            self._began = self._env.now()
            self._tries = self._busy = 0
            self._env.record("repair_started", rid=None, cause="merge")
            self._later(Phase.GATHERING, self._config.merge_wait * self._env.random.uniform(0.7, 1.0))

    def _enter(self, phase: Phase) -> None:
        self._phase = changed(CHANGES, self._phase, phase)

    def _later(self, phase: Phase, delay: float) -> None:
        self._enter(phase)
        self._env.call_later(delay, self._join)

    def _join(self) -> None:
        if self._tree.standing is not Standing.LEADER or not self._offers or self._tries + self._busy == TRIES + BUSY_TRIES:
            self._end("refused")
            return
        best = min(self._offers)
        self._enter(Phase.JOINING)
        self._joins.start(best.route, None, None, len(best.route) + best.distance,
                              lambda outcome: self._answered(best, outcome))

    def _answered(self, offer: Offer, outcome: str) -> None:
        if outcome == "joined":
            self._end(outcome)
        elif outcome == "busy" and self._busy < BUSY_TRIES:
            self._busy += 1
            self._later(Phase.PAUSING, BUSY_PAUSE * 2 ** min(self._busy, 4) * self._env.random.uniform(0.5, 1.0))
        else:
            self._tries += 1
            if offer in self._offers:
                self._offers.remove(offer)
            if self._offers and self._tries < TRIES:
                self._later(Phase.PAUSING, 0.0)
            else:
                self._end("timeout" if outcome == "timeout" else "refused")

    def _end(self, outcome: str) -> None:
        self._offers = []
        self._enter(Phase.IDLE)
        self._env.record("repair_ended", rid=None, cause="merge", outcome=outcome,
                         attempts=self._tries + self._busy + (outcome == "joined"),
                         seconds=self._env.now() - self._began)
