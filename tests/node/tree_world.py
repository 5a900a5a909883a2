"""Routing, reconciliation and clients of several nodes over the scripted tree: no radio, and a clock that counts steps.

A link is a pair of FIFO queues. Its two ends learn what happened to it one at a time, whenever the history
lets them; a message waits until its receiver has opened the link, and dies with the link. Messages off the
tree are delivered in any order, or get lost. Timers run out whenever the history says so, so that every
delay of messages against timers can happen.
"""
from __future__ import annotations

from collections import deque

from emulation.studies.overlay.scripted import Script, Scripted
from node import reconcile
from node.clients import Clients
from node.config import NodeConfig
from node.ids import LinkId, Peer
from node.reconcile.strawman import Strawman
from node.routing.duplicates import SeenEvents
from node.routing.forwarding import SubscriptionForwarding
from node.routing.hierarchical import HierarchicalForwarding
from node.routing.strategy import Surroundings
from node.routing.table import SubscriptionTable

TICK = 0.01  # s that a step takes


class Timer:
    def __init__(self, timers, action):
        self.timers, self.action = timers, action
        timers.append(self)

    def cancel(self):
        if self in self.timers:
            self.timers.remove(self)

    def run(self):
        self.timers.remove(self)
        self.action()


class Env:
    def __init__(self, timers):
        self.time = 0.0
        self.timers = timers
        self.records = []

    def now(self):
        return self.time

    def call_later(self, delay, action):
        assert delay >= 0
        return Timer(self.timers, action)

    def record(self, kind, **fields):
        self.records.append((kind, fields))

    def of_kind(self, kind):
        return [fields for found, fields in self.records if found == kind]


class Courier:
    def __init__(self, send):
        self.send = send  # send(route, message)


class Core:
    """Station and channels of routing, reconciler, tree and clients, and the core that connects them."""

    def __init__(self, world, node, config, reconciler, strategy):
        self.world, self.me, self.config = world, Peer(node, 1), config
        self.timers = []
        self.env = Env(self.timers)
        self.sent = []  # (links, message), all of them
        self.counts = {}  # link -> [sent, received]
        self.drops = []
        self.delivered = []  # (client, event)
        self.tree = Scripted(node, world.script, self)
        table = SubscriptionTable()
        self.routing = strategy(Surroundings(self, self, self.tree, self, table, SeenEvents(), None))
        self.reconciler = reconciler(reconcile.Surroundings(self, self, Courier(self.relay), self.routing, table))
        self.clients = Clients(self, self.routing)

    # services
    def send(self, links, message):
        self.sent.append((tuple(links), message))
        for link in links:
            self.counts.setdefault(link, [0, 0])[0] += 1
            self.world.sent(self.me.node, link, message)

    def relay(self, route, message):
        assert route[0] == self.me.node and len(route) > 1
        self.world.relay(tuple(route), message)

    def dropped(self, reason):
        self.drops.append(reason)

    def sent_position(self, link):
        return self.counts.get(link, [0, 0])[0]

    def acknowledged_position(self, link):
        return sum(core.counts.get(link, [0, 0])[1] for core in self.world.cores if core.me.node == link.far_end(self.me.node))

    def received_position(self, link):
        return self.counts.get(link, [0, 0])[1]

    def deliver(self, client, event, born=None):
        if born is None:
            self.clients.deliver(client, event)
        elif self.clients.wanted_at(client, event.attributes, born):
            self.clients.deliver(client, event, recovered=True)

    # notices of the tree
    def lost(self, link, reason):
        self.reconciler.lost(link)

    def gained(self, link):
        self.reconciler.gained(link)

    def replaced(self, *arguments):
        self.reconciler.replaced(*arguments)

    def tree_changed(self):
        self.routing.tree_changed()

    def abandoned(self, rid):
        self.reconciler.abandoned(rid)

    # inputs
    def receive(self, link, message):
        self.counts.setdefault(link, [0, 0])[1] += 1
        (self.routing.link_messages | self.reconciler.link_messages)[type(message)](link, message)

    def attach(self, client):
        self.clients.attach(client, lambda event: self.delivered.append((client, event)))

    def take_sent(self):
        """The messages sent since the last call, as (far end, type name, message)."""
        sent, self.sent = self.sent, []
        return [(link.far_end(self.me.node), type(message).__name__, message)
                for links, message in sent for link in links]


class TreeWorld:
    def __init__(self, nodes, forwarding="identity", reconciler=Strawman, edges=(),
                 strategy=SubscriptionForwarding, **config):
        config = NodeConfig(forwarding=forwarding, digest=False, **{"replay_window": 0, **config})
        self.script = Script(nodes, self._notify, rooted=strategy is HierarchicalForwarding)
        self.queues = {}  # (link, receiver) -> deque of messages
        self.open = set()  # (link, node): this end knows the link and has not heard of its loss
        self.notices = [deque() for _ in range(nodes)]  # (notice, arguments) a node is yet to hear
        self.relayed = []  # (route, message)
        self.cores = [Core(self, node, config, reconciler, strategy) for node in range(nodes)]
        for a, b in edges:
            self.join(a, b)
        self.settle()

    def _notify(self, node, name, arguments):
        self.notices[node].append((name, arguments))

    @property
    def links(self):
        """The living ones: frozenset of the two nodes -> LinkId."""
        return {frozenset(link[:2]): link for link in self.script.links}

    def join(self, a, b):
        link = self.script.join(a, b)
        self._connect(link)
        return link

    def replace(self, rid, near, far, name_path=True):
        link = self.script.replace(rid, near, far, name_path)
        self._connect(link)
        return link

    def _connect(self, link):
        for node in link[:2]:
            self.queues[link, node] = deque()

    def cut(self, a, b):
        link = self.links[frozenset((a, b))]
        self.script.cut(link)
        for node in (a, b):
            del self.queues[link, node]
        return link

    def sent(self, node, link, message):
        queue = self.queues.get((link, link.far_end(node)))
        if queue is not None:
            queue.append(message)

    def relay(self, route, message):
        self.relayed.append((route, message))

    def steps(self):
        """What could happen next, in a fixed order; timers last."""
        return [
            *(("notice", node) for node, notices in enumerate(self.notices) if notices),
            *(("message", end) for end, queue in self.queues.items() if queue and end in self.open),
            *(("relayed", number) for number in range(len(self.relayed))),
            *(("timer", (node, number)) for node, core in enumerate(self.cores)
              for number in range(len(core.timers))),
        ]

    def step(self, choice=0):
        """Let one of the possible things happen; what it was in words, or "" if all is quiet.

        A timer runs out only where nothing else can happen, or at each eighth choice."""
        steps = self.steps()
        if not steps:
            return ""
        prompt = [step for step in steps if step[0] != "timer"] if choice % 8 != 7 else []
        steps = prompt or steps
        for core in self.cores:
            core.env.time += TICK
        return self.happen(*steps[choice % len(steps)])

    def happen(self, what, where):
        if what == "notice":
            name, arguments = self.notices[where].popleft()
            if name in ("gained", "lost"):
                (self.open.add if name == "gained" else self.open.discard)((arguments[0], where))
            self.cores[where].tree.notice(name, arguments)
            return f"{where} hears {name} {' '.join(map(in_words, arguments))}"
        if what == "message":
            link, node = where
            message = self.queues[where].popleft()
            self.cores[node].receive(link, message)
            return f"{in_words(message)} over {link} reaches {node}"
        if what == "relayed":
            route, message = self.relayed.pop(where)
            self.cores[route[-1]].reconciler.routed_messages[type(message)](route, message)
            return f"{in_words(message)} relayed from {route[0]} reaches {route[-1]}"
        node, number = where
        self.cores[node].timers[number].run()
        return f"a timer of {node} runs out"

    def settle(self):
        while self.step():
            pass

    def neighbors(self, node):
        return sorted(self.script.neighbors[node])

    def side(self, node, without):
        """The nodes that `node` reaches on the tree when its neighbor `without` is taken away."""
        seen, todo = {node, without}, [node]
        while todo:
            for other in self.neighbors(todo.pop()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen - {without}


def in_words(value):
    if isinstance(value, LinkId):
        return str(value)
    if hasattr(value, "_fields"):
        inside = [f"{in_words(part)}" for name, part in zip(value._fields, value)
                  if name not in ("payload", "published")]
        return f"{value.name} {' '.join(inside)}" if hasattr(value, "code") else str(tuple(value))
    if isinstance(value, tuple):
        return f"[{', '.join(map(in_words, value))}]"
    return value.hex() if isinstance(value, bytes) else str(value)
