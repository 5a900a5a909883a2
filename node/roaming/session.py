"""What a broker holds for one device: who it is, its filters, what waits for it, and the channel if it is attached.

cugola-murphy-picco-mobile-environment, section 4: the entry point of a client that may be away. The routing
knows a session as a hop by its name, as it knows a local client; so subscription forwarding needs no change.
"""
from __future__ import annotations

from collections import OrderedDict

from node import wire
from node.clients import PREFIX
from node.filters import Filter
from node.ids import Epoch, EventId, LinkId, NodeId
from node.roaming import buffer
from node.roaming.buffer import Buffer
from node.seams import DeviceChannels, Host

RECENT = 1024  # events that went into a session and are remembered, so that a holder's copies are known for what they are
CHANGES, CHANGES_A_SECOND = 2048, 32.0  # of filters: at once, and on and on


class Session:
    """One device at one broker. It is attached while `link` is set, and served from READY on."""

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
        self.link: LinkId | None = None
        self.heard_at = self.attached_at = self.away_since = self._env.now()  # s
        self.resumed = False  # this attachment continues what was held here
        self.filters: dict[bytes, Filter] = {}
        self.told: set[bytes] | None = None  # filters told since ATTACH, until MOVE_IN
        self.ready = False
        self.buffer = Buffer(config.client_buffer, config.client_age, self._dropped)
        self._serial = 0  # of the event sent last
        self._recent: OrderedDict[EventId, None] = OrderedDict()
        self._changes = float(CHANGES)
        self._changes_at = self.heard_at
        self.refused_filters = False  # recorded once

    # ---- events -----------------------------------------------------------------------------------
    def deliver(self, event: wire.Event, late: bool = False) -> bool:
        """An event that the device wants; False if it went this way before, or is the device's own."""
        name = buffer.name(event)
        if name in self._recent or event.source == self.device:
            return False
        self._remember(name)
        self.buffer.expire(self._env.now())
        self.buffer.add(event, self._env.now(), late)
        self.pump()
        return True

    def merge(self, earlier: list[wire.Event]) -> int:
        """Put what the holders had before all that came here; how many of those came here too."""
        for event in earlier:
            self._remember(buffer.name(event))
        return self.buffer.put_before(earlier, self._env.now())

    def _remember(self, event: EventId) -> None:
        self._recent[event] = None
        self._recent.move_to_end(event)
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)

    def pump(self) -> None:
        """Hand to the channel what it has room for."""
        if self.link is None or not self.ready:
            return
        while (entry := self.buffer.next()) is not None and self.link is not None:
            self._serial += 1
            self._channels.send([self.link], wire.HandOut(self._serial, entry.late, entry.event))
            self.buffer.sent(self._serial, self._channels.sent_position(self.link))

    def acknowledged(self) -> None:
        """The device has acknowledged something of the channel."""
        if self.link is not None:
            self.heard_at = self._env.now()
            self.buffer.acknowledged(self._channels.acknowledged_position(self.link))
            self.pump()

    # ---- filters ----------------------------------------------------------------------------------
    def may_change(self, filters: int) -> bool:
        """Whether the device may change so many filters now: a bucket that fills with time."""
        now = self._env.now()
        self._changes = min(self._changes + (now - self._changes_at) * CHANGES_A_SECOND, float(CHANGES))
        self._changes_at = now
        self._changes -= filters
        return self._changes >= 0

    def _dropped(self, event: EventId, reason: str) -> None:
        self._env.record("buffer_dropped", device=self.device, event=str(event), reason=reason)
