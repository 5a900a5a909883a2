"""How replay on subscription is paced: what a link may have missed goes over it in portions, each once the one before has come.

After a long break that is more than a channel should have to carry at once, beside what is published now. What waits is in
the memory of recent events (recent.py), and no longer than there: what that has forgotten meanwhile is given up, on record.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection

from node.environment import Runtime, Timer
from node.event import id_of
from node.filters import Filter
from node.ids import LinkId
from node.routing.recent import Passed, Recent
from node.seams import AcknowledgedChannels

EVENTS, BYTES = 64, 16384  # sent over a link and not acknowledged, at most
PAUSE = 0.1  # s until it is looked whether they are; as long as an acknowledgement may wait for company


class _Link:
    """What is under way to the far end of one link."""

    __slots__ = ("bytes", "events", "position", "timer", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Passed] = deque()  # in the order in which they came here
        self.events, self.bytes, self.position = 0, 0, 0  # sent and not known to have come; of the channel, behind them
        self.timer: Timer | None = None


class Replay:
    """Of one broker. `forward(link, passed)` sends."""

    def __init__(self, env: Runtime, channels: AcknowledgedChannels, recent: Recent, forward: Callable[[LinkId, Passed], object]) -> None:
        self._env = env
        self._channels = channels
        self._recent = recent
        self._forward = forward
        self._links: dict[LinkId, _Link] = {}

    def begin(self, link: LinkId, filters: Collection[Filter], since: float) -> None:
        """Send over the link what matches any of these filters, came since then (s) and has not been at its far end."""
        missed = self._recent.missed(link, filters, since)
        if not missed:
            return
        state = self._links.setdefault(link, _Link())
        state.waiting.extend(missed)
        if state.timer is None:
            self._portion(link, state)

    def forget(self, link: LinkId) -> None:
        """The link is closed: what waited has not gone over it, and whatever takes its place asks for it."""
        state = self._links.pop(link, None)
        if state is not None and state.timer is not None:
            state.timer.cancel()
            self._record(link, [], len(state.waiting))

    def _portion(self, link: LinkId, state: _Link) -> None:
        """Send what there is room for, and look again if something waits."""
        state.timer = None
        if self._channels.acknowledged_position(link) >= state.position:
            state.events, state.bytes = 0, 0
        self._recent.forget_old(self._env.now())
        kept = [one for one in state.waiting if one.kept]
        given_up, state.waiting = len(state.waiting) - len(kept), deque(kept)
        portion = []
        while state.waiting and self._has_room(state, state.waiting[0]):
            one = state.waiting.popleft()
            state.events, state.bytes = state.events + 1, state.bytes + one.size
            portion.append(one)
        self._record(link, portion, given_up)
        for one in portion:
            self._forward(link, one)
        if portion:
            state.position = self._channels.sent_position(link)
        if state.waiting:
            state.timer = self._env.call_later(PAUSE, lambda: self._portion(link, state))

    @staticmethod
    def _has_room(state: _Link, one: Passed) -> bool:
        return not state.events or state.events < EVENTS and state.bytes + one.size <= BYTES

    def _record(self, link: LinkId, portion: list[Passed], given_up: int) -> None:
        if portion or given_up:
            self._env.record("replayed", link=str(link), events=[str(id_of(one.event)) for one in portion], left=given_up)
