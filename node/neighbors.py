"""Who is in radio range, both ways: HELLO beacons, hysteresis, restarts and doubled identities.

cugola-murphy-picco-mobile-environment, section 5.1.1 (neighbors are known by beacons); the rest is the
design's: only two-way links count, a lossy link does not flap, a new epoch replaces the old session at once.

A neighbor comes up when `hello_up` of its last `hello_window` beacons arrived and the latest of them lists
us. How long it may be silent before it is suspected, and gone, is in `neighbor`.
"""
from __future__ import annotations

import math

from node import wire
from node.beacon import Listing, Said, rotates
from node.environment import Timer
from node.ids import Epoch, NodeId, Peer
from node.memory import Memory
from node.neighbor import BEACONS, Neighbor
from node.rhythm import Rhythm
from node.seams import HopMessages, NeighborNotices, Radio

PEERS = 256  # lives of nodes remembered; more are turned away
LISTED = 64  # of them named by one beacon
DIGESTS = 16  # likewise
FORGET = 600.0  # s of silence after which a life is no longer remembered
STRANGE = 4  # datagrams of a superseded life that make a second living node of the same id
CONFLICT_PAUSE = 60.0  # s between two records of one conflict

MISSED = 16  # neighbors whose beacons were missed that one beacon names
UNKNOWN = 16  # beacons in a row that do not fit what is known until they no longer count as listing us

BODY = wire.MAX_DATAGRAM - wire.overhead(b"some secret")  # bytes that a beacon may take
HELLO_BYTES, HEARD_BYTES, DIGEST_BYTES = 43, 11, 27  # at most: the fixed fields, one entry of each list
MISSED_BYTES, MISSED_ENTRY = 2, 5  # likewise


class Neighbors:
    """The neighbor set of a node: sends its beacons and judges those of others."""

    def __init__(self, station: Radio, notices: NeighborNotices) -> None:
        self._station = station
        self._env = station.env
        self._config = station.config
        self._me = station.me
        self._notices = notices
        self._table: dict[NodeId, Neighbor] = {}
        self._conflicts: Memory[NodeId, float] = Memory(PEERS)  # id -> when last recorded
        self._refusing_until = -math.inf
        self._refusal_recorded = -math.inf
        self._strange = 0  # datagrams of our own id
        self._sequence = 0
        self._rotation = 0
        self._said = Said()
        self._missed: dict[NodeId, None] = {}  # whose beacons did not fit what is known of them
        self._timer: Timer | None = None
        self._rhythm = Rhythm(self._env)
        self._window = (1 << min(self._config.hello_window, BEACONS)) - 1
        self.two_way: dict[NodeId, Peer] = {}
        self.hop_messages: HopMessages = {
            wire.Hello: self._hello, wire.News: self._short, wire.Beat: self._short, wire.Missed: self._missed_ours}

    # ---- inputs -----------------------------------------------------------------------------
    def start(self) -> None:
        """Begin to beacon, at a random moment of the first interval."""
        delay = self._env.random.uniform(0.0, self._config.hello_interval)
        self._timer = self._env.call_later(self._rhythm.begin(delay), self._beacon)

    def stop(self) -> None:
        """Fall silent; no more upcalls."""
        if self._timer is not None:
            self._timer.cancel()
        for entry in self._table.values():
            if entry.timer is not None:
                entry.timer.cancel()

    def heard(self, sender: Peer, counter: int) -> bool:
        """Note a valid datagram; False if it is to be dropped: replayed, of a past life, or of our own id."""
        entry = self._table.get(sender.node)
        if entry is None or entry.peer != sender:
            return self._heard_unfamiliar(entry, sender, counter)
        if not entry.accepts(counter):
            if entry.strange < STRANGE:
                return False
            entry.strange = 0
            self._conflict(sender.node, sender.epoch, sender.epoch)
            return self._was_forged(entry) and self._begin(entry, sender, counter, "silent")
        entry.heard_at = self._env.now()
        return True

    def channel_failed(self, node: NodeId) -> None:
        """The reliable channel to this neighbor gave up: it has to earn its place again."""
        entry = self._table.get(node)
        if entry is not None and entry.two_way:
            self._down(entry, "channel")

    def unanswered(self, node: NodeId, since: float) -> None:
        """A neighbor has not acknowledged what was sent to it at `since` (s): a reason to ask, as a missed beacon is, if
        nothing was heard of it meanwhile. On a lossy link it is none."""
        entry = self._table.get(node)
        if entry is not None and entry.two_way and entry.lasting and entry.heard_at < since \
                and entry.suspected_at != entry.heard_at:
            entry.suspected_at = entry.heard_at
            self._notices.suspected(entry.peer, entry.tries)

    # ---- lives ------------------------------------------------------------------------------
    def _heard_unfamiliar(self, entry: Neighbor | None, sender: Peer, counter: int) -> bool:
        now = self._env.now()
        if sender.node == self._me.node:
            # one of our own that came back is no twin's, several are: a copied card has our epoch, too, and begins
            # to count as we did; a higher counter cannot be our own
            self._strange += 1
            if sender.epoch != self._me.epoch or counter > self._station.counter or self._strange >= STRANGE:
                self._strange = 0
                self._conflict(sender.node, self._me.epoch, sender.epoch)
            return False
        if entry is None:
            if len(self._table) >= PEERS and not self._make_room(now):
                return False
        elif sender.epoch < entry.peer.epoch:
            # late datagrams of the life before are no wonder for a moment; afterwards somebody lives it
            entry.strange += now - entry.since > 2 * entry.interval
            if entry.strange < STRANGE:
                return False
            entry.strange = 0
            self._conflict(sender.node, sender.epoch, entry.peer.epoch)
            return self._was_forged(entry) and self._begin(entry, sender, counter, "silent")
        return self._begin(entry, sender, counter, "restarted")

    def _begin(self, entry: Neighbor | None, sender: Peer, counter: int, reason: str) -> bool:
        """A life is heard for the first time; `entry`, another life of its id, is over for this reason."""
        if entry is not None:
            self._down(entry, reason)
        self._table[sender.node] = Neighbor(sender, counter, self._env.now(), self._config.hello_interval)
        return True

    def _was_forged(self, entry: Neighbor) -> bool:
        """Whether the counter or epoch that makes a living node look old may be a stranger's: nothing that fits
        it has come for as long as a neighbor may be silent. With a secret it cannot be, and what looks old is
        a replay."""
        return not self._config.secret and self._env.now() - entry.heard_at > entry.patience

    def _make_room(self, now: float) -> bool:
        """Forget whoever is silent longest, of those that are no neighbors; False if all are heard now."""
        if now < self._refusing_until:
            return False
        silent = [e for e in self._table.values() if not e.two_way and now - e.heard_at > e.patience]
        if silent:
            del self._table[min(silent, key=lambda e: e.heard_at).peer.node]
            return True
        self._refusing_until = now + self._config.hello_interval / 4
        if now - self._refusal_recorded >= CONFLICT_PAUSE:
            self._refusal_recorded = now
            self._env.record("refused", what="neighbors", limit=PEERS)
        return False

    def _conflict(self, node: NodeId, one: Epoch, other: Epoch) -> None:
        now = self._env.now()
        if now - self._conflicts.get(node, -math.inf) < CONFLICT_PAUSE:
            return
        self._conflicts.remember(node, now)
        self._env.record("identity_conflict", other=node, epochs=sorted((one, other)))

    # ---- beacons ----------------------------------------------------------------------------
    def _beacon(self) -> None:
        config = self._config
        interval = config.hello_interval * self._env.random.uniform(0.9, 1.1)
        self._timer = self._env.call_later(self._rhythm.next(interval), self._beacon)
        self._sequence += 1
        missed, self._missed = tuple(self._missed), {}
        digests = tuple(self._notices.digests()[:DIGESTS])
        room = BODY - HELLO_BYTES - DIGEST_BYTES * len(digests) - (MISSED_BYTES + MISSED_ENTRY * len(missed))
        heard, hearing = self._listing(min(LISTED, room // HEARD_BYTES))
        status = self._notices.tree_status()
        beacon = self._said.form(wire.Hello(
            sequence=self._sequence, interval=min(round(config.hello_interval * 1000), 0xFFFF),
            heard=tuple(heard), hearing=hearing, leader=status.leader, depth=min(status.depth, 0xFF),
            seeking=status.seeking, digests=digests))
        self._station.broadcast(beacon, *([wire.Missed(missed)] if missed else []))

    def _listing(self, most: int) -> tuple[list[tuple[NodeId, Epoch]], int]:
        """Whom we hear now, at most so many and others the next time; and how many they are in all."""
        now = self._env.now()
        for node in [n for n, e in self._table.items() if not e.two_way and now - e.heard_at > FORGET]:
            del self._table[node]
        heard = [(e.peer.node, e.peer.epoch) for e in self._table.values() if e.beacons and now - e.heard_at <= e.patience]
        hearing = len(heard)
        if hearing > most:
            start = self._rotation % hearing
            self._rotation = start + most
            heard = (heard + heard)[start:start + most]
        return heard, hearing

    def _hello(self, sender: Peer, hello: wire.Hello) -> None:
        entry = self._table[sender.node]  # `heard` has seen to that
        entry.align(hello.sequence)
        if entry.sequence is not None and hello.sequence <= entry.sequence:
            if not entry.newest:
                return  # merely late
            # its datagrams go forward and its beacons back: two lives in one; the latest datagram counts
            self._conflict(sender.node, sender.epoch, sender.epoch)
            entry.sequence = None
        own = self._config.hello_interval
        interval = min(max(hello.interval / 1000, own / 4), own * 4)  # whatever it claims
        entry.known.whole(hello)
        self._beacon_came(sender, entry, hello.sequence, interval, hello.heard)

    def _short(self, sender: Peer, message: wire.News | wire.Beat) -> None:
        entry = self._table[sender.node]
        sequence = entry.counted(message.sequence, self._env.now())
        if sequence is None:
            return  # merely late
        entry.known.learn(message)
        hello = entry.known.hello
        heard = hello.heard if hello is not None else message.heard if type(message) is wire.News else None
        self._beacon_came(sender, entry, sequence, entry.interval, heard)

    def _beacon_came(self, sender: Peer, entry: Neighbor, sequence: int, interval: float, heard: Listing | None) -> None:
        """A beacon, whatever its form. `heard`: whom its sender hears; None if something was missed."""
        entry.beacon(sequence, interval, self._config.hello_losses)
        entry.beacon_at = self._env.now()
        hello = entry.known.hello
        entry.unknown = entry.unknown + 1 if hello is None else 0
        # the first beacon ever is no wonder: its sender says all as soon as it hears us
        if entry.unknown > (not entry.two_way) and len(self._missed) < MISSED:
            self._missed[sender.node] = None
        listed = self._listed(entry, heard)
        if entry.two_way:
            if not listed and entry.unlisted >= self._rotations(hello):
                self._down(entry, "one_way")
        elif listed and (entry.beacons & self._window).bit_count() >= self._config.hello_up:
            self._up(entry)
        if entry.two_way and hello is not None:
            self._notices.hello_received(sender, hello)

    def _missed_ours(self, _sender: Peer, message: wire.Missed) -> None:
        if self._me.node in message.nodes:
            self._said.asked = True

    def _listed(self, entry: Neighbor, heard: Listing | None) -> bool:
        me = self._me.node
        if heard is None and entry.unknown < UNKNOWN:
            return False
        for node, epoch in heard or ():
            if node == me:
                if epoch == self._me.epoch:
                    entry.unlisted = 0
                    return True
                if epoch > self._me.epoch:
                    self._conflict(me, self._me.epoch, epoch)
                break
        entry.unlisted += 1
        return False

    @staticmethod
    def _rotations(hello: wire.Hello | None) -> int:
        """Beacons in a row without us that make the link one-way: two, or a round of a rotating list."""
        if hello is None or not rotates(hello):
            return 2
        return 1 + min(math.ceil(hello.hearing / max(len(hello.heard), 1)), BEACONS)

    # ---- up and down ------------------------------------------------------------------------
    def _up(self, entry: Neighbor) -> None:
        entry.two_way = True
        entry.unlisted = 0
        self.two_way[entry.peer.node] = entry.peer
        self._watch(entry)
        self._env.record("neighbor_up", neighbor=entry.peer.node, epoch=entry.peer.epoch)
        self._notices.neighbor_up(entry.peer)

    def _down(self, entry: Neighbor, reason: str) -> None:
        if not entry.two_way:
            return
        entry.two_way = False
        entry.forget_beacons()
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None
        del self.two_way[entry.peer.node]
        self._env.record("neighbor_down", neighbor=entry.peer.node, epoch=entry.peer.epoch, reason=reason)
        self._notices.neighbor_down(entry.peer, reason)

    def _watch(self, entry: Neighbor) -> None:
        """Look again when it could be suspected or gone; moving a timer at each datagram would cost more."""
        silence = entry.patience if entry.suspected_at == entry.heard_at else min(entry.suspicion, entry.patience)
        delay = max(entry.heard_at + silence - self._env.now(), 0.0)
        entry.timer = self._env.call_later(delay, lambda: self._check(entry))

    def _check(self, entry: Neighbor) -> None:
        silence = self._env.now() - entry.heard_at + 1e-9
        if silence >= entry.patience:
            self._down(entry, "silent")
            return
        if silence >= entry.suspicion and entry.suspected_at != entry.heard_at:
            entry.suspected_at = entry.heard_at
            self._notices.suspected(entry.peer, entry.tries)
        self._watch(entry)
