"""The tree world with a clock: all links take as long, ends hear of their link at once, timers keep time."""
from __future__ import annotations

import heapq
from collections import Counter
from itertools import count

from tests.node.tree_world import TreeWorld

LINK = 0.001  # s that a message takes over a link
RELAY = 0.001  # s that one off the tree takes
T_REP = 0.1  # s between the loss of a link and its replacement


class Timer:
    def __init__(self, action):
        self.action = action

    def cancel(self):
        self.action = None

    def run(self):
        action, self.action = self.action, None
        if action is not None:
            action()


class TimedWorld(TreeWorld):
    """`client` "c" is attached everywhere; `messages` counts what was sent over links and off the tree, by
    type; `involved` holds who handled anything but FLUSH and events since `clear`."""

    def __init__(self, nodes, edges, reconciler, **config):
        self.time, self.heap, self.order = 0.0, [], count()
        self.messages, self.involved = Counter(), set()
        config = {"unsubscription_timer": 0.15, "subscription_timer": 0.15, **config}
        super().__init__(nodes, reconciler=reconciler, edges=[], **config)
        for core in self.cores:
            core.env.now = lambda: self.time
            core.env.call_later = self.call_later
            core.attach("c")
        for a, b in edges:
            self.join(a, b)
        self.settle()

    def at(self, time, action):
        heapq.heappush(self.heap, (time, next(self.order), action))

    def call_later(self, delay, action):
        timer = Timer(action)
        self.at(self.time + delay, timer.run)
        return timer

    def _notify(self, node, name, arguments):
        if name == "lost":
            self.cores[node].tree.notice(name, arguments)
        else:  # once the other end is told too, which is when a message can come
            self.at(self.time, lambda: self.cores[node].tree.notice(name, arguments))

    def sent(self, node, link, message):
        self.messages[message.name] += 1
        far = link.far_end(node)

        def arrive():
            if link in self.script.links:
                if message.name not in ("FLUSH", "EVENT"):
                    self.involved.add(far)
                self.cores[far].receive(link, message)
        self.at(self.time + LINK, arrive)

    def relay(self, route, message):
        self.messages[message.name] += 1
        self.at(self.time + RELAY, lambda: self.cores[route[-1]].reconciler.routed_messages[type(message)](
            route, message))

    def run(self, until):
        while self.heap and self.heap[0][0] <= until:
            self.time, _, action = heapq.heappop(self.heap)
            action()
        self.time = until

    def settle(self):
        while self.heap:
            self.run(self.heap[0][0])

    def clear(self):
        self.messages.clear()
        self.involved.clear()
        for core in self.cores:
            core.env.records.clear()

    def subscribe(self, node, *filters):
        for wanted in filters:
            self.cores[node].clients.subscribe("c", wanted)

    def exchange(self, lost, near, far, **options):
        """Cut a link, given as (near end, far end), now; t_rep later comes one between `near` and `far`."""
        link = self.cut(*lost)
        self.at(self.time + T_REP, lambda: self.replace(link, (lost[0], near), (lost[1], far), **options))
        return link

    def records(self, kind):
        return [(core.me.node, fields) for core in self.cores for fields in core.env.of_kind(kind)]

    def tables(self):
        """node -> far end -> filters, in words."""
        return {core.me.node: {link.far_end(core.me.node): sorted(map(str, core.routing.table.filters_of(
            link).values())) for link in core.routing.links} for core in self.cores}

    def check(self):
        """Every table is the one from scratch, with identity."""
        for core in self.cores:
            node = core.me.node
            for far, link in self.script.neighbors[node].items():
                wanted = {key for other in self.side(far, node)
                          for own in self.cores[other].clients._filters.values() for key in own}
                assert set(core.routing.table.filters_of(link)) == wanted, f"{node} of {far}"
