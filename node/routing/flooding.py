"""Flooding without a tree: every node repeats every event once, to whoever hears it.

The baseline of all routing in mobile ad hoc networks: no tree, no subscriptions, no acknowledgements; one
broadcast per node and event, after a random while so that those who heard the same broadcast do not all
answer it at once (Ni, Tseng, Chen and Sheu, MobiCom 1999, call what happens otherwise a broadcast storm).
What was seen is known by (source, epoch, sequence), as everywhere.
"""
from __future__ import annotations

from node import wire
from node.event import AnyEvent, id_of
from node.ids import LinkId, Peer
from node.routing.strategy import MAX_HOPS, Strategy, Surroundings

JITTER = 0.01  # s a node waits at most before it repeats an event
MAX_EVENT = 1150  # bytes of one, which is one datagram: nothing puts broadcasts together again
WAITING = 256  # events that wait to be repeated


class Flooding(Strategy):
    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._waiting = 0
        self.link_messages = {}
        self.hop_messages = {wire.Flood: self._flood_received}

    def next_hops(self, event: AnyEvent, arrival: LinkId | None) -> tuple[list[LinkId], list[str]]:
        return [], self.table.match(event.attributes)[1]

    def publish(self, event: wire.Event) -> None:
        message = wire.Flood(event._replace(hops=event.hops + 1))
        size = wire.encoded_size(message)
        if size > MAX_EVENT:
            what = f"event {id_of(event)} of {size} bytes, to be flooded"
            self._env.record("refused", what=what, limit=MAX_EVENT)
        else:
            self._station.broadcast(message)
        super().publish(event)

    def _flood_received(self, sender: Peer, message: wire.Flood) -> None:
        event = message.event
        if type(event) is not wire.Event:
            self._station.dropped("misplaced")
            return
        if not self._seen.first_time(event.source, event.epoch, event.sequence):
            return  # every neighbor repeats it: no record
        self._route(event, None)
        if event.hops >= MAX_HOPS or self._waiting >= WAITING:
            self._station.dropped("not_repeated")
            return
        self._waiting += 1
        self._env.call_later(JITTER * self._env.random.random(), lambda: self._repeat(event))

    def _repeat(self, event: wire.Event) -> None:
        self._waiting -= 1
        self._station.broadcast(wire.Flood(event._replace(hops=event.hops + 1)))
