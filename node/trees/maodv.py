"""A MAODV-style overlay tree: one per connected part of the network, repaired and merged as hosts move.

cugola-murphy-picco-mobile-environment, section 5.1.1, with the design's contract. This file is where a node
stands in the tree, its links, and the leader's beacons; repair is in search.py, the opening of links and
the argument why no cycle can form in join.py, the meeting of two trees in merge.py.

A node is a root (no parent) or a member. A root that leads is a *leader*; one that lost its parent is an
*orphan* and seeks (position.py has all states). The root tells its tree every `leader_interval`, with a sequence number, where it stands
(LEADER), and each node passes that on to its children with itself in front of the path: so all know leader,
depth and root path. A beacon is taken from the parent link only and only if it is not older than what is
known, and it never sets the parent: only join.py does. A member that hears nothing new for `leader_losses`
intervals gives its parent link up, which is also what ends a cycle should a corrupt state ever hold one.

Supplies the whole reconfiguration path. `replaced` is called with one role a call: old_near (the orphan),
new_near and new_far (ends of the new link, before its `gained`), old_far (far end of the lost link) or
on_path.
"""
from __future__ import annotations

from collections.abc import Callable

from node import wire
from node.ids import Epoch, LinkId, NodeId, Peer
from node.memory import Once
from node.rhythm import Rhythm
from node.routes import has_come
from node.seams import HopMessages, LinkMessages
from node.state import changed
from node.trees import Surroundings, TreeStatus
from node.trees.join import Join
from node.trees.merge import Merge
from node.trees.position import CHANGES, SEEKING, SETTLED, Standing
from node.trees.search import Search

PATH = 64  # ids of a root path that are known; a deeper node knows the nearest
FORMER = 64  # links lost by this life that are remembered
DEEPEST = 255  # depths beyond are counted no further


class Maodv:
    """The tree as seen by one node. Its parts read it as a `position.Position`."""

    def __init__(self, around: Surroundings) -> None:
        self._station, self._relay = around.station, around.relay
        self._channels, self._notices = around.channels, around.notices
        self._env = self._station.env
        self._config = self._station.config
        self.me, self._epoch = self._station.me
        self.links: dict[NodeId, LinkId] = {}  # open tree links by their far end
        self.standing = Standing.LEADER
        self.settled = True  # it leads, or knows that it stands below a leader
        self.parent: NodeId | None = None
        self.leader: NodeId = self.me
        self.leader_epoch: Epoch = self._epoch
        self.sequence = 0
        self.depth = 0
        self.root_path: tuple[NodeId, ...] = (self.me,)  # this node, its parent and so on, at most PATH
        self._former: Once[LinkId] = Once(FORMER)  # links that this life had and lost
        self._own_sequence = 0
        self._rhythm = Rhythm(self._env)
        self._news_at = 0.0  # when the leader was last heard anew
        self._recorded: TreeStatus | None = None
        self.join = Join(around, self)
        self.search = Search(around, self, self.join)
        self.merge = Merge(around, self, self.join)
        self.relayed_messages: HopMessages = {
            **self.join.relayed, **self.search.relayed, **self.merge.relayed, wire.Leave: self._leave,
            wire.Probe: self._probe}
        self.hop_messages: HopMessages = {wire.Rreq: self.search.request_heard}
        self.link_messages: LinkMessages = {wire.Leader: self._leader}

    # ---- inputs ---------------------------------------------------------------
    def start(self) -> None:
        """A node begins as the leader of itself alone; networks grow by merges only."""
        self._record()
        delay = self._config.leader_interval * self._env.random.random()
        self._env.call_later(self._rhythm.begin(delay), self._tick)

    def status(self) -> TreeStatus:
        return TreeStatus(self.leader, self.depth, self.parent, not self.settled)

    def neighbor_up(self, peer: Peer) -> None:
        self.search.neighbor_up(peer.node)

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        self.merge.neighbor_down(peer.node)
        link = self.links.get(peer.node)
        if link is not None:
            self.lose(link, reason, tell=reason == "channel")

    def suspected(self, peer: Peer, tries: int) -> None:
        """Ask over the link, to a parent or a child: no answer says sooner than silence that it is gone."""
        link = self.links.get(peer.node)
        if link is not None:
            self._relay.send(peer.node, wire.Probe(link.nonce), lambda: self.lose(link, "unanswered", tell=True),
                             tries=tries)

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        self.merge.hello_received(peer.node, hello)

    def link_failed(self, link: LinkId, reason: str) -> None:
        self.lose(link, reason, tell=True)

    def link_pending(self, link: LinkId) -> bool:
        """Whether the far end may open this link although it is not open here yet."""
        return self.join.granted(link)

    def link_heard(self, link: LinkId) -> None:
        """The far end has opened a pending link: its first message came before its ACTIVATE."""
        self.join.opened(link)

    # ---- where this node stands --------------------------------------------------------------
    def _enter(self, standing: Standing) -> None:
        self.standing = changed(CHANGES, self.standing, standing)
        self.settled = standing in SETTLED

    def children(self) -> list[LinkId]:
        return [link for node, link in self.links.items() if node != self.parent]

    def is_child(self, node: NodeId) -> bool:
        return node in self.links and node != self.parent

    def set_parent(self, node: NodeId) -> None:
        """Turn the pointer to the far end of an open link; until it tells, nothing above is known."""
        self.parent = node
        self._enter(Standing.TURNED)
        self._news_at = self._env.now()
        self._record()

    def _become_root(self, standing: Standing) -> None:
        """Lead, or seek as an orphan; the own count of beacons goes on, so that older ones lose."""
        self.parent = None
        self._enter(standing)
        self.leader, self.leader_epoch = self.me, self._epoch
        self.depth = 0
        self.root_path = (self.me,)
        self._beacon()

    def elect(self) -> None:
        """No new link was found: lead this fragment."""
        self._become_root(Standing.LEADER)

    # ---- links ---------------------------------------------------------------------------------
    def gain(self, node: NodeId, nonce: int, parent: bool) -> LinkId:
        """Open the link to a neighbor, as its child or as its parent."""
        link = LinkId.between(self.me, node, nonce)
        old = self.links.get(node)
        if old is not None:
            self.lose(old, "superseded")
        self.links[node] = link
        if parent:
            self.set_parent(node)
        self._notices.gained(link)
        if not parent and self.standing is not Standing.TURNED:
            self._tell([link])
        return link

    def lose(self, link: LinkId, reason: str, tell: bool = False) -> None:
        """Close a link if it is open. Losing the parent makes this node an orphan that seeks."""
        far = link.far_end(self.me)
        if self.links.get(far) != link:
            return
        del self.links[far]
        self._former.first_time(link)
        if tell:
            self._relay.send(far, wire.Leave(link.nonce), last_word=True)
        if self.parent != far:
            self._notices.lost(link, reason)
            return
        former = self.root_path if self.root_path[1:2] == (far,) else (self.me, far)
        depth = max(self.depth, 1)
        self.parent = None
        self._enter(Standing.ORPHAN)
        self._notices.lost(link, reason)
        self.orphaned(link, former, depth)

    def had(self, link: LinkId) -> bool:
        """Whether this life has lost that link: who restarted is an end of it by its id only."""
        return link in self._former

    def orphaned(self, rid: LinkId | None, former: tuple[NodeId, ...], depth: int) -> None:
        """The pointer upward is void: become the root of a fragment and look for a new link."""
        self._become_root(Standing.ORPHAN)
        self.search.begin(rid, former, depth)

    def relay_up(self, message: wire.Message, failed: Callable[[], None] | None = None) -> None:
        """Relay to the parent. If it does not answer it is lost: sooner than beacons or channel tell."""
        assert self.parent is not None, "a root has nobody above"
        link = self.links[self.parent]

        def unanswered() -> None:
            self.lose(link, "unanswered", tell=True)
            if failed is not None:
                failed()
        self._relay.send(self.parent, message, unanswered)

    def _probe(self, sender: Peer, message: wire.Probe) -> None:
        self.join.held_open(sender.node, message.nonce)

    def _leave(self, sender: Peer, message: wire.Leave) -> None:
        self.lose(LinkId.between(self.me, sender.node, message.nonce), "left")

    # ---- the leader's beacons --------------------------------------------------------------------
    def _tick(self) -> None:
        interval = self._config.leader_interval
        self._env.call_later(self._rhythm.next(interval * self._env.random.uniform(0.9, 1.1)), self._tick)
        if self.parent is None:
            self._beacon()
        elif self._env.now() - self._news_at > interval * (self._config.leader_losses + self._patience()):
            self.lose(self.links[self.parent], "no_leader", tell=True)

    def _patience(self) -> float:
        """Intervals to wait longer: those below more than those above, who then speak as orphans in time.

        And by chance, so that a cycle, where depths mean nothing, breaks at one place.
        """
        return min(self.depth, 8) / 2 + self._env.random.random()

    def _beacon(self) -> None:
        """As root, tell the tree; each time with a sequence number of its own."""
        self._own_sequence += 1
        self.sequence = self._own_sequence
        self._changed()

    def _tell(self, links: list[LinkId]) -> None:
        if links:
            self._channels.send(links, wire.Leader(
                leader=self.leader, epoch=self.leader_epoch, sequence=self.sequence, depth=self.depth,
                seeking=self.standing in SEEKING, path=self.root_path))

    def _changed(self) -> None:
        self._record()
        self._tell(self.children())
        self.merge.changed()

    def _leader(self, link: LinkId, message: wire.Leader) -> None:
        far = link.far_end(self.me)
        if far != self.parent or self.links.get(far) != link:
            self._station.dropped("not_parent")
            return
        path = message.path
        if (not has_come(path[::-1], self.me, far)
                or message.depth >= DEEPEST - 1 or len(path) != min(message.depth + 1, PATH)):
            self._station.dropped("bad_path")
            return
        same = message.leader == self.leader
        age = (message.epoch, message.sequence)
        known = (self.leader_epoch, self.sequence)
        if same and age < known:
            self._station.dropped("stale_beacon")
            return
        news = not same or age > known
        root_path = (self.me, *path)[:PATH]
        standing = Standing.ADRIFT if message.seeking else Standing.MEMBER
        if not news and standing is self.standing and root_path == self.root_path:
            return
        if news or self.standing is Standing.TURNED:
            self._news_at = self._env.now()
        self.leader, self.leader_epoch, self.sequence = message.leader, message.epoch, message.sequence
        self.depth = message.depth + 1
        self.root_path = root_path
        self._enter(standing)
        self._changed()

    def _record(self) -> None:
        status = self.status()
        if status != self._recorded:
            self._recorded = status
            self._env.record("tree_state", leader=status.leader, depth=status.depth, parent=status.parent,
                            seeking=status.seeking)
            self._notices.tree_changed()
