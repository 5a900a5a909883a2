"""A small deterministic world for the tests of neighbors and links: a heap of timed actions and bad air.

The parts under test, the wire format and the datagrams are the real ones; only the radio and the parts
above (tree, routing) are reduced to what a test needs.
"""
from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

from node import wire
from node.config import NodeConfig
from node.ids import LinkId, NodeId, Peer
from node.links import Links
from node.neighbors import Neighbors
from node.trees import TreeStatus

decode = lru_cache(maxsize=1024)(wire.decode)


class Action:
    def __init__(self, run: Callable[[], None]) -> None:
        self.run: Callable[[], None] | None = run

    def cancel(self) -> None:
        self.run = None


class Air:
    """All hosts hear all others, but for what `loss`, `duplication` and `delay` do to each datagram.

    `loss` is a probability or a function (from, to) -> probability; `delay` is drawn for each datagram and
    receiver from (low, high) seconds, so a wide range reorders.
    """

    def __init__(self, seed: int = 1, loss: float | Callable[[NodeId, NodeId], float] = 0.0,
                 delay: tuple[float, float] = (0.001, 0.002), duplication: float = 0.0) -> None:
        self.time = 0.0
        self.random = random.Random(seed)
        self.loss = loss if callable(loss) else (lambda _from, _to: loss)
        self.delay = delay
        self.duplication = duplication
        self.hosts: dict[NodeId, Host] = {}
        self._heap: list[tuple[float, int, Action]] = []
        self._pushed = 0

    def call_at(self, when: float, run: Callable[[], None]) -> Action:
        action = Action(run)
        self._pushed += 1
        heapq.heappush(self._heap, (when, self._pushed, action))
        return action

    def run(self, until: float, stop: Callable[[], bool] = lambda: False) -> None:
        """Run until that time, or until `stop` says so."""
        while self._heap and self._heap[0][0] <= until:
            if stop():
                return
            self.time, _, action = heapq.heappop(self._heap)
            if action.run is not None:
                action.run()
        self.time = until

    def carry(self, sender: Host, receivers: list[NodeId], datagram: bytes) -> None:
        assert len(datagram) <= wire.MAX_DATAGRAM
        for node in receivers:
            copies = 1 + (self.random.random() < self.duplication)
            for _ in range(copies):
                if self.random.random() >= self.loss(sender.me.node, node):
                    when = self.time + self.random.uniform(*self.delay)
                    self.call_at(when, lambda n=node: self._arrive(n, datagram))

    def _arrive(self, node: NodeId, datagram: bytes) -> None:
        host = self.hosts.get(node)
        if host is not None and host.running:
            host.datagram_received(datagram)


class Host:
    """Station and core as `Neighbors` and `Links` know them, and the environment of one node."""

    def __init__(self, air: Air, node: NodeId, epoch: int = 1, *, guarded: bool = True, **config) -> None:
        self.air = air
        self.me = Peer(node, epoch)
        self.config = NodeConfig(**config)
        self.env = self
        self.random = random.Random(f"{node}.{epoch}.{air.random.random()}")
        self.counter = 0
        self.running = True
        self.guarded = guarded  # datagrams pass `heard`; without, duplicates reach the channels
        self.records: list[dict] = []
        self.drops: Counter = Counter()
        self.sent: list[tuple[float, NodeId | None, tuple[wire.Message, ...]]] = []
        self.received: dict[LinkId, list[wire.Message]] = {}
        self.failed: list[tuple[float, LinkId, str]] = []
        self.changes: list[tuple[float, str, Peer, str]] = []  # time, up or down, who, why
        self.suspicions: list[tuple[float, Peer]] = []
        self.hellos: list[tuple[Peer, wire.Hello]] = []
        self.pending: set[LinkId] = set()
        self.told: list[tuple] = []  # digests for the beacons
        self.on_message: Callable[[LinkId, wire.Message], None] = lambda link, message: None
        self.neighbors = Neighbors(self, self)
        self.links = Links(self, self.neighbors, self)
        self.handlers = {**self.neighbors.hop_messages, **self.links.hop_messages}
        air.hosts[node] = self

    # ---- environment
    def now(self) -> float:
        return self.air.time

    def call_later(self, delay: float, action: Callable[[], None]) -> Action:
        assert delay >= 0
        return self.air.call_at(self.air.time + delay, lambda: action() if self.running else None)

    def record(self, kind: str, **fields: object) -> None:
        self.records.append({"t": self.air.time, "kind": kind, **fields})

    def recorded(self, kind: str) -> list[dict]:
        return [r for r in self.records if r["kind"] == kind]

    # ---- core
    def datagram_received(self, datagram: bytes) -> None:
        sender, counter, messages = decode(datagram, self.config.secret.encode())
        if self.guarded and not self.neighbors.heard(sender, counter):
            self.drops["stale"] += 1
            return
        for message in messages:
            self.handlers[type(message)](sender, message)

    def broadcast(self, *messages: wire.Message) -> None:
        self.sent.append((self.air.time, None, messages))
        others = [n for n, host in self.air.hosts.items() if host is not self]
        self.air.carry(self, others, self._datagram(messages))

    def unicast(self, to: NodeId, *messages: wire.Message) -> None:
        self.sent.append((self.air.time, to, messages))
        self.air.carry(self, [to], self._datagram(messages))

    def _datagram(self, messages: tuple[wire.Message, ...]) -> bytes:
        self.counter += 1
        return wire.encode(self.me, self.counter, messages, self.config.secret.encode())

    def two_way(self) -> dict[NodeId, Peer]:
        return self.neighbors.two_way

    def tree_status(self) -> TreeStatus:
        return TreeStatus(self.me.node, 0, None, False)

    def digests(self) -> list[tuple]:
        return self.told

    def dropped(self, reason: str) -> None:
        self.drops[reason] += 1

    def neighbor_up(self, peer: Peer) -> None:
        self.changes.append((self.air.time, "up", peer, ""))

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        self.changes.append((self.air.time, "down", peer, reason))

    def suspected(self, peer: Peer, tries: int) -> None:
        self.suspicions.append((self.air.time, peer))

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        self.hellos.append((peer, hello))

    def link_message(self, link: LinkId, message: wire.Message) -> None:
        self.received.setdefault(link, []).append(message)
        self.on_message(link, message)

    def link_unanswered(self, link: LinkId, since: float) -> None:
        pass

    def link_failed(self, link: LinkId, reason: str) -> None:
        self.failed.append((self.air.time, link, reason))
        self.links.close(link)

    def link_pending(self, link: LinkId) -> bool:
        return link in self.pending

    def link_heard(self, link: LinkId) -> None:
        self.pending.discard(link)
        self.links.open(link)


def event(number: int, payload: bytes = b"", source: NodeId = 1) -> wire.Event:
    return wire.Event(source, 1, number, 0.0, 0, {"kind": "k", "n": number}, payload)


def linked(*hosts: Host, nonce: int = 7) -> list[LinkId]:
    """Open a link from the first host to each of the others, at both ends."""
    first, *others = hosts
    links = [LinkId.between(first.me.node, other.me.node, nonce) for other in others]
    for link, other in zip(links, others):
        first.links.open(link)
        other.links.open(link)
    return links
