"""Routing, reconciliation and clients of several nodes over scripted tree links: no radio, no clock.

A link is a pair of FIFO queues. Its two ends learn that it opened or closed one at a time, whenever
the script lets them; a message waits until its receiver has opened the link, and dies with the link.
"""
from __future__ import annotations

from collections import deque

from node.clients import Clients
from node.config import NodeConfig
from node.ids import LinkId, Peer
from node.reconcile.strawman import Strawman
from node.routing.forwarding import SubscriptionForwarding


class Env:
    def __init__(self):
        self.time = 0.0
        self.records = []

    def now(self):
        return self.time

    def record(self, kind, **fields):
        self.records.append((kind, fields))

    def of_kind(self, kind):
        return [fields for found, fields in self.records if found == kind]


class Core:
    """The part of a broker that routing, reconciler and clients see."""

    def __init__(self, world, node, config, reconciler):
        self.world, self.me, self.config = world, Peer(node, 1), config
        self.env = Env()
        self.sent = []  # (links, message), all of them
        self.counts = {}  # link -> [sent, received]
        self.delivered = []  # (client, event)
        self.routing = SubscriptionForwarding(self)
        self.reconciler = reconciler(self)
        self.clients = Clients(self)

    # services
    def send(self, links, message):
        self.sent.append((tuple(links), message))
        for link in links:
            self.counts.setdefault(link, [0, 0])[0] += 1
            self.world.sent(self.me.node, link, message)

    def sent_position(self, link):
        return self.counts.get(link, [0, 0])[0]

    def received_position(self, link):
        return self.counts.get(link, [0, 0])[1]

    def add_link(self, link, held=()):
        self.routing.add_link(link, held)

    def remove_link(self, link, keep=False):
        self.routing.remove_link(link, keep)

    def client_subscribed(self, client, wanted):
        self.routing.subscribe(client, wanted)

    def client_unsubscribed(self, client, key):
        self.routing.unsubscribe(client, key)

    def client_published(self, event):
        self.routing.publish(event)

    def deliver(self, client, event):
        self.clients.deliver(client, event)

    # inputs
    def receive(self, link, message):
        self.counts.setdefault(link, [0, 0])[1] += 1
        self.routing.link_messages[type(message)](link, message)

    def attach(self, client):
        self.clients.attach(client, lambda event: self.delivered.append((client, event)))

    def take_sent(self):
        """The messages sent since the last call, as (far end, type name, texts of filters or hashes)."""
        sent, self.sent = self.sent, []
        return [(link.far_end(self.me.node), type(message).__name__, message)
                for links, message in sent for link in links]


class TreeWorld:
    def __init__(self, nodes, forwarding="identity", reconciler=Strawman, edges=()):
        config = NodeConfig(forwarding=forwarding, digest=False)
        self.queues = {}  # (link, receiver) -> deque of messages
        self.open = set()  # (link, node): this end knows the link and has not heard of its loss
        self.links = {}  # the living ones: frozenset of the two nodes -> LinkId
        self.notices = [deque() for _ in range(nodes)]  # (method, link) a node is yet to hear
        self.incarnations = 0
        self.cores = [Core(self, node, config, reconciler) for node in range(nodes)]
        for a, b in edges:
            self.join(a, b)
        self.settle()

    def join(self, a, b):
        self.incarnations += 1
        link = LinkId.between(a, b, self.incarnations)
        self.links[frozenset((a, b))] = link
        for node in (a, b):
            self.queues[link, node] = deque()
            self.notices[node].append(("gained", link))
        return link

    def cut(self, a, b):
        link = self.links.pop(frozenset((a, b)))
        for node in (a, b):
            del self.queues[link, node]
            self.notices[node].append(("lost", link))
        return link

    def sent(self, node, link, message):
        queue = self.queues.get((link, link.far_end(node)))
        if queue is not None:
            queue.append(message)

    def steps(self):
        """What could happen next, in a fixed order."""
        return [("notice", node) for node, notices in enumerate(self.notices) if notices] + [
            ("message", end) for end, queue in self.queues.items() if queue and end in self.open]

    def step(self, choice=0):
        """Let one of the possible things happen; False if all is quiet."""
        steps = self.steps()
        if not steps:
            return False
        what, where = steps[choice % len(steps)]
        if what == "notice":
            method, link = self.notices[where].popleft()
            (self.open.add if method == "gained" else self.open.discard)((link, where))
            getattr(self.cores[where].reconciler, method)(link)
        else:
            link, node = where
            self.cores[node].receive(link, self.queues[where].popleft())
        return True

    def settle(self):
        while self.step():
            pass

    def neighbors(self, node):
        return sorted(next(iter(edge - {node})) for edge in self.links if node in edge)

    def side(self, node, without):
        """The nodes that `node` reaches on the tree when its neighbor `without` is taken away."""
        seen, todo = {node, without}, [node]
        while todo:
            for other in self.neighbors(todo.pop()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen - {without}
