"""What is known of one life of one node in radio range: its datagrams, its beacons, and how long it may be silent.

cugola-murphy-picco-mobile-environment, section 5.1.1. A neighbor goes down when nothing at all was heard of it for as
long as `patience` beacons take. On a link that loses 30 % three beacons in a row are missed every minute or two, so a
fixed count would flap; the count follows the loss that the gaps in the beacons' sequence numbers show, between
`hello_losses` and PATIENCE_MOST, such that a run of that length is rarer than RUN_ODDS a beacon.
tests/node/test_neighbors.py holds what follows from that: a link that loses nothing is missed 2.4 to 3.1 beacons after
it vanished in the mean, a lossy one after PATIENCE_MOST + 1 at most, and at 2, 10 and 30 % of loss an end flaps no more
than 15 times in 360,000 beacons.

A tree cannot wait for that long. After fewer beacons, `suspicion` of them, the neighbor is suspected, and the tree asks
over its link (node/trees/maodv.py). One missed beacon suffices where few get lost; on a lossy link more are waited for,
so that no answer is as rare there as silence. The question is repeated two to five times, by the same measure: fewer tries
where few datagrams get lost.
"""
from __future__ import annotations

import math

from node.beacon import TURN, Known
from node.environment import Timer
from node.ids import Peer
from node.relay import WAITS
from node.window import slid

REPLAY_WINDOW = 64  # counters behind the newest that are still told apart
BEACONS = 16  # beacons remembered a neighbor

PROBES_LEAST, PROBES = 2, len(WAITS)  # tries of the question whether a silent neighbor is there
RUN_ODDS = 2e-5  # probability a beacon of a run of losses that ends a living neighbor
PATIENCE_MOST = 10  # beacons
PRIOR_LOSS, PRIOR_BEACONS = 0.3, 2  # what is assumed of a link before its first beacon, and how firmly
LOSS_MEMORY = 64  # beacons over which the loss is averaged

REPLAY_MASK = (1 << REPLAY_WINDOW) - 1
BEACON_MASK = (1 << BEACONS) - 1


def suspicion(loss: float) -> tuple[int, int]:
    """Beacons in a row to miss before a neighbor whose beacons get lost with probability `loss` is asked whether it is
    there, and how often it is asked: the fewest of both, beacons first, after which a living one is called gone no more
    often than by `patience`.

    A question and its answer are lost together if all of its tries fail, each of them two datagrams.
    """
    unanswered = 1 - (1 - loss) ** 2
    missed = 1
    while missed < PATIENCE_MOST and loss ** missed * unanswered ** PROBES > RUN_ODDS:
        missed += 1
    tries = PROBES_LEAST
    while tries < PROBES and loss ** missed * unanswered ** tries > RUN_ODDS:
        tries += 1
    return missed, tries


def patience(loss: float, least: int) -> int:
    """Beacons in a row to miss before a neighbor whose beacons get lost with probability `loss` is gone.

    The smallest n with loss**n <= RUN_ODDS, between `least` and PATIENCE_MOST (or `least` if that is more).
    """
    if loss <= 0.0:
        return least
    if loss >= 1.0:
        return max(least, PATIENCE_MOST)
    return max(least, min(PATIENCE_MOST, math.ceil(math.log(RUN_ODDS) / math.log(loss))))


class Neighbor:
    """What is known of one life of one node in range."""

    __slots__ = (
        "beacon_at",
        "beacons",
        "counter",
        "exact",
        "heard_at",
        "interval",
        "known",
        "lasting",
        "loss",
        "newest",
        "patience",
        "peer",
        "samples",
        "seen",
        "sequence",
        "since",
        "strange",
        "suspected_at",
        "suspicion",
        "timer",
        "tries",
        "two_way",
        "unknown",
        "unlisted",
    )

    def __init__(self, peer: Peer, counter: int, now: float, interval: float) -> None:
        self.peer = peer
        self.since = now
        self.counter = counter  # the highest of its datagrams
        self.seen = 1  # bit i: the datagram `counter - i` has come
        self.newest = True  # the datagram being handled is the highest so far
        self.heard_at = now
        self.strange = 0  # datagrams of another life under the same id, or far behind the counter
        self.interval = interval
        self.two_way = False
        self.timer: Timer | None = None
        self.suspected_at = now  # when it had last been heard, at the last suspicion
        self.beacon_at = now  # when its latest beacon came
        self.known = Known()  # what it says
        self.forget_beacons()

    def forget_beacons(self) -> None:
        """Begin anew, as if no beacon had ever come."""
        self.sequence: int | None = None  # of the latest beacon
        self.exact = False  # `sequence` is right; if not, modulo TURN only
        self.unknown = 0  # latest beacons in a row that did not fit what is known
        self.beacons = 0  # bit i: beacon `sequence - i` has come
        self.loss = PRIOR_LOSS
        self.samples = PRIOR_BEACONS
        self.unlisted = 0  # latest beacons in a row that do not list us
        self.patience = PATIENCE_MOST * self.interval  # s of silence until it is gone
        self.suspicion = self.patience  # s of silence until it is asked
        self.tries = PROBES  # of the question
        self.lasting = False  # few of its datagrams get lost: one without an answer is a reason to ask

    def beacon(self, sequence: int, interval: float, least: int) -> None:
        """Count a beacon, and the ones missed before it."""
        gap = 1 if self.sequence is None else min(sequence - self.sequence, BEACONS)
        for missed in range(gap - 1, -1, -1):
            self.samples = min(self.samples + 1, LOSS_MEMORY)
            self.loss += ((1.0 if missed else 0.0) - self.loss) / self.samples
        self.beacons = (self.beacons << gap | 1) & BEACON_MASK
        self.sequence = sequence
        self.interval = interval
        # a quarter more, because the beacons jitter
        self.patience = (patience(self.loss, least) + 0.25) * interval
        missed, self.tries = suspicion(self.loss)
        self.suspicion = (missed + 0.25) * interval
        self.lasting = missed == 1

    def counted(self, number: int, now: float) -> int | None:
        """The sequence number of a beacon that is numbered modulo TURN; None for one that is merely late."""
        latest = self.sequence
        if latest is None:
            self.exact = False
            return number % TURN
        ahead = (number - latest) % TURN
        if not self.newest and not 0 < ahead <= TURN // 2:
            return None
        silent = now - self.beacon_at > 0.75 * TURN * self.interval  # more than one turn may have been missed
        return latest + (ahead + TURN if silent or not ahead else ahead)

    def align(self, sequence: int) -> None:
        """A HELLO says the whole number of a beacon: what was known of it modulo TURN is known for good."""
        if self.sequence is not None and not self.exact:
            self.sequence = sequence - ((sequence - self.sequence) % TURN or TURN)
        self.exact = True

    def accepts(self, counter: int) -> bool:
        """Slide the window over this life's datagrams; False for one that has come before."""
        ahead = counter - self.counter
        if 0 < ahead < REPLAY_WINDOW:  # what `slid` would do; this runs for every datagram heard
            self.seen = (self.seen << ahead | 1) & REPLAY_MASK
            self.counter = counter
            self.newest = True
            return True
        self.newest = ahead > 0
        if ahead <= -REPLAY_WINDOW:
            self.strange += 1
            return False
        window = slid(self.counter, self.seen, counter, REPLAY_MASK)
        if window is None:
            return False
        self.counter, self.seen = window
        return True
