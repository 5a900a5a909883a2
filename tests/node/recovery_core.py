"""A core in which one recovery runs alone: its table is filled by hand, what it sends is kept, timers run by hand."""
from __future__ import annotations

import random

from node import wire
from node.config import NodeConfig
from node.filters import parse
from node.ids import EventId, LinkId, Peer
from node.recovery import Surroundings
from node.routing.duplicates import SeenEvents
from node.routing.table import SubscriptionTable
from tests.node.tree_world import Courier

ME = 5


def link(neighbor: int) -> LinkId:
    return LinkId.between(ME, neighbor, 1)


def named(kind: str):
    return parse(f'kind = "{kind}"')


def hash_of(kind: str) -> bytes:
    return named(kind).hash


def event(sequence: int, kind: str = "a", source: int = 9) -> wire.Event:
    return wire.Event(source, 1, sequence, 0.0, 2, {"kind": kind}, b"")


def tagged(sequence: int, counters=(), kind: str = "a", source: int = 9, route=()) -> wire.TaggedEvent:
    """`counters`: pairs (kind, number)."""
    pairs = tuple((hash_of(one), number) for one, number in counters)
    return wire.TaggedEvent(source, 1, sequence, 0.0, 2, {"kind": kind}, b"", pairs, tuple(route))


class Timer:
    def __init__(self, at, action):
        self.at, self.action = at, action

    def cancel(self):
        self.action = None


class Core:
    """All the surroundings of a recovery, and the environment in one."""

    def __init__(self, recovery, seed=1, **config):
        self.me = Peer(ME, 1)
        self.config = NodeConfig(**{"gossip_forward": 1.0, **config})
        self.env = self
        self.random = random.Random(seed)
        self.time, self.timers = 0.0, []
        self.table, self.links, self.seen = SubscriptionTable(), {}, SeenEvents()
        self.sent, self.relayed, self.drops, self.records, self.delivered = [], [], [], [], []
        self.recovery = recovery(Surroundings(self, self, Courier(self.relay), self.table, self.seen, self))

    # the services
    def now(self):
        return self.time

    def call_later(self, delay, action):
        self.timers.append(Timer(self.time + delay, action))
        return self.timers[-1]

    def record(self, kind, **fields):
        self.records.append((kind, fields))

    def send(self, links, message):
        self.sent.append((tuple(one.far_end(ME) for one in links), message))

    def relay(self, route, message):
        assert route[0] == ME and len(set(route)) == len(route) > 1
        self.relayed.append((tuple(route), message))

    def deliver_recovered(self, event, born):
        self.delivered.append(event)
        return 1

    def dropped(self, reason):
        self.drops.append(reason)

    # what a test does
    def wants(self, hop, *kinds):
        """A neighbor's id, or the name of a client, that wants these."""
        for kind in kinds:
            where = link(hop) if type(hop) is int else hop
            if type(hop) is int:
                self.links[where] = None
            self.table.add(where, named(kind))
            if type(hop) is int:
                self.recovery.told(where, hash_of(kind))
        return self

    def run(self, seconds):
        until = self.time + seconds
        while True:
            due = [timer for timer in self.timers if timer.action is not None and timer.at <= until]
            if not due:
                break
            first = min(due, key=lambda timer: timer.at)
            self.timers.remove(first)
            self.time = first.at
            first.action()
        self.time = until

    def passes(self, message, arrival=None, clients=()):
        """An event goes through, as the routing has it."""
        self.seen.first_time(*message[:3])
        return self.recovery.passing(message, None if arrival is None else link(arrival), list(clients))

    def over(self, neighbor, message):
        self.recovery.link_messages[type(message)](link(neighbor), message)

    def routed(self, route, message):
        self.recovery.routed_messages[type(message)](tuple(route), message)

    def take(self):
        """(neighbors or route, message) of all that was sent since the last call."""
        found, self.sent, self.relayed = self.sent + self.relayed, [], []
        return found

    def has(self, sequence, source=9):
        return self.recovery.cache.get(EventId(source, 1, sequence)) is not None
