"""Answers on their way out: events from the cache, paced, to those who asked.

costa-epidemic-reliability, section 4 ("the sending of the missing event": out of band). Whoever asks for much, often, or
for the same thing again and again is served no faster than this: the relay carries the tree's repairs too.
"""
from __future__ import annotations

from collections import deque

from node import wire
from node.event import AnyEvent, age_of, id_of, size_of
from node.ids import EventId, NodeId
from node.memory import Memory
from node.seams import Host, OffTree

WAITING = 512  # answers that wait
AT_ONCE, BYTES = 8, 16384  # that leave together, and their bytes ...
PACE = 0.02  # s, ... this often
REMEMBERED = 4096  # answers given lately


class Answers:
    def __init__(self, station: Host, courier: OffTree) -> None:
        self._station = station
        self._env = station.env
        self._interval = station.config.gossip_interval  # s
        self._courier = courier
        self._waiting: deque[tuple[tuple[NodeId, ...], AnyEvent, float]] = deque()
        self._given: Memory[tuple[NodeId, EventId], float] = Memory(REMEMBERED)
        self._running = False

    def put(self, route: tuple[NodeId, ...], event: AnyEvent, born: float) -> None:
        """Send an event that was published at `born` (s) along the route, this node's id first. What went there less than a gossip interval ago,
        and what finds no room, is not sent."""
        now, key = self._env.now(), (route[-1], id_of(event))
        if now - self._given.get(key, -self._interval) < self._interval:
            return
        if len(self._waiting) >= WAITING:
            self._station.dropped("flooded")
            return
        self._given.remember(key, now)
        self._waiting.append((route, event, born))
        if not self._running:
            self._running = True
            self._env.call_later(0.0, self._send)

    def _send(self) -> None:
        room = BYTES
        for _ in range(min(AT_ONCE, len(self._waiting))):
            route, event, born = self._waiting.popleft()
            self._courier.send(route, wire.GossipAnswer(age_of(born, self._env.now()), event))
            room -= size_of(event)
            if room < 0:
                break
        self._running = bool(self._waiting)
        if self._running:
            self._env.call_later(PACE, self._send)
