"""What a broker holds for one device: who it is, its filters, what waits for it, and the channel if it is attached.

cugola-murphy-picco-mobile-environment, section 4: the entry point of a client that may be away. The routing
knows a session as a hop by its name, as it knows a local client; so subscription forwarding needs no change.
"""
from __future__ import annotations

from enum import auto

from node import wire
from node.bucket import Bucket
from node.clients import PREFIX
from node.event import Held, id_of
from node.filters import Filter
from node.ids import Epoch, EventId, LinkId, NodeId
from node.memory import Memory
from node.roaming.buffer import Buffer
from node.routes import Route
from node.seams import DeviceChannels, Host
from node.state import Changes, State, changed

RECENT = 1024  # events that went into a session and are remembered, so that a holder's copies are known for what they are
CHANGES_AT_ONCE, CHANGES_A_SECOND = 2048, 32.0  # of filters: at once, and on and on


class Phase(State):
    """Of one attachment, from ATTACH on; a device that went away stays where it was until it is back."""

    TELLING = auto()  # it tells its filters, until MOVE_IN
    FETCHING = auto()  # its former brokers are asked for what they hold
    EARLY = auto()  # served, while it still tells: what an earlier attachment had asked for has come
    SERVED = auto()


CHANGES: Changes[Phase] = {
    Phase.TELLING: {Phase.FETCHING, Phase.EARLY},
    Phase.FETCHING: {Phase.SERVED, Phase.TELLING},
    Phase.EARLY: {Phase.SERVED, Phase.TELLING},
    Phase.SERVED: {Phase.TELLING},
}


class Session:
    """One device at one broker. It is attached while `link` is set."""

    def __init__(self, station: Host, channels: DeviceChannels, device: NodeId, epoch: Epoch, key: bytes) -> None:
        self._env, config = station.env, station.config
        self._channels = channels
        self.device = device
        self.epoch = epoch
        self.key = key
        self.id: int = self._env.random.getrandbits(32) or 1
        self.hop = f"{PREFIX}{device}"
        self.turn = 0
        self.nonce = 0
        self.holders: tuple[tuple[NodeId, int, int], ...] = ()  # of the latest ATTACH, but for this broker itself
        self.paths: dict[NodeId, Route] = {}  # of these, towards the root of the tree, as the device heard last
        self.link: LinkId | None = None
        self.heard_at = self.attached_at = self.away_since = self._env.now()  # s
        self.resumed = False  # this attachment continues what was held here
        self.filters: dict[bytes, Filter] = {}
        self.phase = Phase.TELLING
        self.told: set[bytes] = set()  # filters told since ATTACH
        self.buffer = Buffer(config.client_buffer, config.client_age, self._dropped)
        self._serial = 0  # of the event sent last
        self._recent: Memory[EventId, None] = Memory(RECENT)
        self._changes = Bucket(CHANGES_AT_ONCE, CHANGES_A_SECOND, self.heard_at)  # of filters
        self.refused_filters = False  # recorded once

    def enter(self, phase: Phase) -> None:
        self.phase = changed(CHANGES, self.phase, phase)

    @property
    def is_telling(self) -> bool:
        return self.phase in (Phase.TELLING, Phase.EARLY)

    @property
    def is_served(self) -> bool:
        return self.phase in (Phase.SERVED, Phase.EARLY)

    # ---- events -----------------------------------------------------------------------------------
    def deliver(self, event: wire.Event, born: float | None = None, late: bool = False) -> bool:
        """An event that the device wants; False if it went this way before, or is the device's own. `born`: when it was
        published (s) if it comes late; the device knows what it wanted then. `late`: later ones of its publisher may have
        gone before."""
        name = id_of(event)
        if name in self._recent or event.source == self.device:
            return False
        self._recent.remember(name, None)
        self.buffer.expire(self._env.now())
        self.buffer.add(Held(event, born), self._env.now(), late or born is not None)
        self.pump()
        return True

    def merge(self, earlier: list[Held]) -> int:
        """Put what the holders had before all that came here; how many of those came here too."""
        for one in earlier:
            self._recent.remember(id_of(one.event), None)
        return self.buffer.put_before(earlier, self._env.now())

    def pump(self) -> None:
        """Hand to the channel what it has room for."""
        if self.link is None or not self.is_served:
            return
        while (entry := self.buffer.next()) is not None and self.link is not None:
            self._serial += 1
            self._channels.send([self.link], wire.HandOut(self._serial, entry.late, entry.held.carried(self._env.now())))
            self.buffer.sent(self._serial, self._channels.sent_position(self.link))

    def acknowledged(self) -> None:
        """The device has acknowledged something of the channel."""
        if self.link is not None:
            self.heard_at = self._env.now()
            self.buffer.acknowledged(self._channels.acknowledged_position(self.link))
            self.pump()

    # ---- filters ----------------------------------------------------------------------------------
    def may_change(self, filters: int) -> bool:
        """Whether the device may change so many filters now."""
        return self._changes.take(filters, self._env.now())

    def _dropped(self, event: EventId, reason: str) -> None:
        self._env.record("buffer_dropped", device=self.device, event=str(event), reason=reason)
