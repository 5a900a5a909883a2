"""Which brokers a device hears, and which of them it should be attached to.

cugola-murphy-picco-mobile-environment, section 4 leaves the choice to the client ("usually the closest one"). Radios
behind a UDP socket tell no signal strength; what a device can measure is which of the beacons come, and that is
what counts in the end. The choice has hysteresis, so that a device does not flap between two brokers: another one
must be heard better by `roam_margin` for `roam_dwell` s on end; only a broker that is gone is left at once.
"""
from __future__ import annotations

import math

from node import wire
from node.config import NodeConfig
from node.environment import Runtime
from node.ids import NodeId, Peer
from node.neighbor import Neighbor

BROKERS = 64  # heard and remembered
WINDOW = 16  # beacons that count
FIRM = 8  # beacon slots below which nobody counts as heard well enough to leave another for
LATEST = 4
BARRED_FIRST, BARRED_LAST = 2.0, 32.0  # s that a broker is not asked after it did not answer, or refused


class Heard:
    """One life of one broker, as far as its beacons go."""

    __slots__ = ("barred_until", "beacon_at", "entry", "given_up_at", "pause", "slots")

    def __init__(self, entry: Neighbor, now: float) -> None:
        self.entry = entry
        self.beacon_at = now
        self.slots = 0  # beacons that could have come since the first
        self.barred_until = -math.inf
        self.pause = BARRED_FIRST
        self.given_up_at = -math.inf  # when it had last been heard, when it was given up

    @property
    def peer(self) -> Peer:
        return self.entry.peer

    def quality(self, now: float) -> float:
        """Share of its latest beacons that came; one that is overdue did not."""
        overdue = min(max(int((now - self.beacon_at) / self.entry.interval - 0.25), 0), WINDOW)
        slots = min(max(self.slots + overdue, FIRM), WINDOW)
        return ((self.entry.beacons << overdue) & (1 << WINDOW) - 1).bit_count() / slots

    def freshness(self, now: float) -> float:
        """The same of the latest LATEST of them: who has just come into range is not behind who will soon be out of it."""
        overdue = min(max(int((now - self.beacon_at) / self.entry.interval - 0.25), 0), WINDOW)
        slots = min(max(self.slots + overdue, 1), LATEST)
        return ((self.entry.beacons << overdue) & (1 << LATEST) - 1).bit_count() / slots

    def is_gone(self, now: float) -> bool:
        return now - self.entry.heard_at > self.entry.patience or self.entry.heard_at == self.given_up_at

    def is_suspected(self, now: float) -> bool:
        return now - self.entry.heard_at >= 1.25 * self.entry.interval


class Beacons:
    """The brokers in range of a device."""

    def __init__(self, config: NodeConfig, env: Runtime) -> None:
        self._config = config
        self._env = env
        self._of: dict[NodeId, Heard] = {}
        self._better_since: tuple[NodeId, float] | None = None

    def heard(self, sender: Peer, counter: int) -> bool:
        """Note a sound datagram; False for a replay, or one of a life that is over."""
        known, now = self._of.get(sender.node), self._env.now()
        if known is not None and known.peer == sender:
            if not known.entry.accepts(counter):
                return False
            known.entry.heard_at = now
            return True
        if known is not None and sender.epoch < known.peer.epoch:
            return False
        if known is None and len(self._of) >= BROKERS:
            del self._of[min(self._of, key=lambda node: self._of[node].entry.heard_at)]
        entry = Neighbor(sender, counter, now, self._config.hello_interval)
        self._of[sender.node] = Heard(entry, now)
        return True

    def hello(self, sender: Peer, hello: wire.Hello) -> None:
        """A beacon of a broker from which `heard` took the datagram."""
        entry, own = self._of[sender.node].entry, self._config.hello_interval
        entry.align(hello.sequence)
        if entry.sequence is None or hello.sequence > entry.sequence:
            self._came(sender, hello.sequence, min(max(hello.interval / 1000, own / 4), own * 4))

    def short(self, sender: Peer, message: wire.News | wire.Beat) -> None:
        """Likewise; what a beacon says does not matter here."""
        entry = self._of[sender.node].entry
        sequence = entry.counted(message.sequence, self._env.now())
        if sequence is not None:
            self._came(sender, sequence, entry.interval)

    def _came(self, sender: Peer, sequence: int, interval: float) -> None:
        known = self._of[sender.node]
        before = known.entry.sequence
        known.slots += 1 if before is None else min(sequence - before, WINDOW)
        known.entry.beacon(sequence, interval, self._config.hello_losses)
        known.beacon_at = known.entry.beacon_at = self._env.now()

    def life_of(self, node: NodeId) -> Peer | None:
        """The life of a broker that is heard now; None if none is."""
        known = self._of.get(node)
        return None if known is None or known.is_gone(self._env.now()) else known.peer

    def best(self, but: NodeId | None = None) -> Peer | None:
        """Whom to ask when attached to nobody: who is heard best of late, of equals who came into range last."""
        now = self._env.now()
        fit = [one for one in self._of.values() if one.peer.node != but and self._is_fit(one, now)]
        best = max(fit, key=lambda one: (one.freshness(now), one.entry.since, -one.peer.node), default=None)
        return None if best is None else best.peer

    def better(self, than: NodeId) -> Peer | None:
        """Whom to move to while attached; None to stay."""
        now, current = self._env.now(), self._of.get(than)
        least = (current.quality(now) if current is not None else 0.0) + self._config.roam_margin
        fit = [one for one in self._of.values()
               if one.peer.node != than and self._is_fit(one, now) and one.quality(now) >= least]
        best = max(fit, key=lambda one: (one.quality(now), -one.peer.node), default=None)
        if best is None:
            self._better_since = None
            return None
        if self._better_since is None or self._better_since[0] != than:
            self._better_since = than, now
        if now - self._better_since[1] < self._config.roam_dwell:
            return None
        self._better_since = None
        return best.peer

    def is_suspected(self, node: NodeId) -> bool:
        """Silent for a beacon and the jitter of the next: it should be asked whether it is there."""
        known = self._of.get(node)
        return known is None or known.is_suspected(self._env.now())

    def odds(self, node: NodeId, tries: int) -> float:
        """Probability that a broker in range is as silent as this one, and that so many questions got no answer."""
        known = self._of.get(node)
        if known is None:
            return 0.0
        entry = known.entry
        missed = max(int((self._env.now() - entry.heard_at) / entry.interval - 0.25), 0)
        return entry.loss ** missed * (1 - (1 - entry.loss) ** 2) ** tries

    def give_up(self, node: NodeId) -> None:
        """It does not answer: if it is silent, it is gone until it is heard again; if not, it does not hear us."""
        known = self._of.get(node)
        if known is not None and known.is_suspected(self._env.now()):
            known.given_up_at = known.entry.heard_at
        else:
            self.bar(node)

    def bar(self, node: NodeId) -> None:
        """It did not answer, or refused: ask others for a while, ever longer."""
        known = self._of.get(node)
        if known is not None:
            known.barred_until = self._env.now() + known.pause
            known.pause = min(2 * known.pause, BARRED_LAST)

    def serves(self, node: NodeId) -> None:
        """It answered."""
        known = self._of.get(node)
        if known is not None:
            known.pause = BARRED_FIRST

    def _is_fit(self, one: Heard, now: float) -> bool:
        """Heard often enough of late to be asked."""
        recent = one.entry.beacons & (1 << self._config.hello_window) - 1
        return (recent.bit_count() >= self._config.hello_up and not one.is_gone(now)
                and now >= one.barred_until)
