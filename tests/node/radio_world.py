"""Whole brokers in a small deterministic world: a heap of timed actions, and who hears whom.

Much simpler than the emulation's medium, so that a failing test of the node points at the node: a
datagram takes 1 to 3 ms, is lost with a fixed probability, and frames never queue or collide.
"""
from __future__ import annotations

import heapq
import random
from functools import lru_cache
from itertools import count, pairwise

from node import wire
from node.broker import Broker
from node.config import NodeConfig


class Timer:
    def __init__(self, action):
        self.action = action

    def cancel(self):
        self.action = None


class Env:
    def __init__(self, world, node, epoch):
        self.world, self.node = world, node
        self.random = random.Random(f"{world.seed} node {node} {epoch}")
        self.alive = True

    def now(self):
        """Each host's clock is its own: an hour from the next one's."""
        return self.world.time + self.world.shift * self.node

    def broadcast(self, datagram):
        for other in sorted(self.world.hears[self.node]):
            self.world.transmit(self.node, other, datagram)

    def unicast(self, to, datagram):
        if to in self.world.hears[self.node]:
            for _ in range(self.world.tries):
                if self.world.transmit(self.node, to, datagram):
                    break

    def call_later(self, delay, action):
        timer = Timer(action)

        def fire():
            if self.alive and timer.action is not None:
                action, timer.action = timer.action, None
                action()

        self.world.at(self.world.time + delay, fire)
        return timer

    def record(self, kind, **fields):
        self.world.records.append({"t": round(self.world.time, 6), "node": self.node, "kind": kind, **fields})


class RadioWorld:
    def __init__(self, nodes, seed=1, loss=0.0, make=Broker, tries=4, shift=3600.0, **config):
        self.seed, self.loss, self.make = seed, loss, make
        self.shift = shift  # s between the clocks of two hosts
        self.tries = tries  # of a unicast, by the MAC
        self.config = NodeConfig(**config)
        self.time = 0.0
        self.heap, self.order = [], count()
        self.radio = random.Random(f"{seed} radio")
        self.hears = {node: set() for node in range(nodes)}
        self.envs, self.brokers, self.epochs = {}, {}, {}
        self.records = []
        self.decode = lru_cache(4096)(wire.decode)
        for node in range(nodes):
            self.boot(node)

    def now(self):
        return self.time

    def at(self, time, action):
        heapq.heappush(self.heap, (time, next(self.order), action))

    def boot(self, node):
        epoch = self.epochs[node] = self.epochs.get(node, 0) + 1
        self.envs[node] = Env(self, node, epoch)
        self.brokers[node] = self.make(node, epoch, self.config, self.envs[node], self.decode)
        self.brokers[node].start()
        return self.brokers[node]

    def stop(self, node):
        self.brokers[node].stop()
        self.crash(node)

    def crash(self, node):
        self.envs[node].alive = False
        del self.brokers[node]

    def link(self, *chain):
        """Put each of these in range of the next."""
        for a, b in pairwise(chain):
            self.hears[a].add(b)
            self.hears[b].add(a)

    def unlink(self, a, b):
        self.hears[a].discard(b)
        self.hears[b].discard(a)

    def transmit(self, sender, receiver, datagram):
        if self.radio.random() < self.loss:
            return False
        self.at(self.time + self.radio.uniform(0.001, 0.003), lambda: self.arrive(sender, receiver, datagram))
        return True

    def arrive(self, sender, receiver, datagram):
        if receiver in self.brokers and receiver in self.hears[sender]:
            self.brokers[receiver].datagram_received(datagram)

    def run(self, seconds):
        until = self.time + seconds
        while self.heap and self.heap[0][0] <= until:
            self.time, _, action = heapq.heappop(self.heap)
            action()
        self.time = until

    def of_kind(self, kind, node=None):
        return [record for record in self.records
                if record["kind"] == kind and node in (None, record["node"])]

    def tree_links(self):
        """node -> its open tree links."""
        return {node: set(broker.routing.links) for node, broker in self.brokers.items()}

    def leaders(self):
        return {broker.tree_status().leader for broker in self.brokers.values()}
