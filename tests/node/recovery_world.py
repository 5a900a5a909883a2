"""Whole brokers with a recovery through a random history: losses, links that come and go, partitions, subscriptions.

On top of radio_world. What is judged is what a user is owed: nothing twice, nothing that was not published, nothing
that was not wanted when it was published; and, once the network is whole and quiet, everything that was lost.
"""
from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st

from node.broker import Broker
from tests.node.radio_world import RadioWorld

KINDS = ("a", "b", "c")
SETTLED = 12.0  # s in which a tree is made and subscriptions spread
OVER = 0.5  # s around a subscription in which its owner is owed nothing


class RecoveryWorld(RadioWorld):
    def __init__(self, nodes: int, recovery: str, make=Broker, **config) -> None:
        super().__init__(nodes, make=make, recovery=recovery, **{
            "gossip_interval": 0.5, "cache_lifetime": 600.0, "lost_patience": 60.0, "cache_bytes": 1 << 20,
            "replay_window": 0, **config})  # a recovery has to do it alone
        self.published = {}  # event -> (time, kind, node)
        self.got = []  # (time, node, event)
        self.held = {(node, kind): [] for node in range(nodes) for kind in KINDS}  # [from, to] of subscriptions
        for node in range(nodes):
            self.brokers[node].attach("c", lambda event, node=node: self.got.append((self.time, node, event)))

    def subscribe(self, node: int, kind: str) -> None:
        spans = self.held[node, kind]
        if not spans or spans[-1][1] is not None:
            self.brokers[node].subscribe("c", f'kind = "{kind}"')
            spans.append([self.time, None])

    def unsubscribe(self, node: int, kind: str) -> None:
        spans = self.held[node, kind]
        if spans and spans[-1][1] is None:
            self.brokers[node].unsubscribe("c", f'kind = "{kind}"')
            spans[-1][1] = self.time

    def publish(self, node: int, kind: str) -> None:
        name = self.brokers[node].publish("c", {"kind": kind, "text": "x" * 20})
        self.published[name] = self.time, kind, node

    def wrong(self) -> list[str]:
        """What was delivered and should not have been."""
        found, seen = [], set()
        for at, node, event in self.got:
            name = event[:3]
            if (name, node) in seen:
                found.append(f"{name} twice at {node}")
            seen.add((name, node))
            if name not in self.published:
                found.append(f"{name} at {node} was never published")
                continue
            published, kind, _ = self.published[name]
            if event.attributes.get("kind") != kind:
                found.append(f"{name} at {node} says what was not published")
            if not any(since <= published and (until is None or at <= until) for since, until in self.held[node, kind]):
                found.append(f"{name} of {published:.2f} s at {node} at {at:.2f} s, not wanted throughout")
        return found

    def owed(self) -> list[tuple]:
        """(event, node): wanted since well before it was published until now, and never delivered."""
        had = {(event[:3], node) for _, node, event in self.got}
        return [(name, node) for name, (at, kind, _) in self.published.items() for node in range(len(self.hears))
                if any(since + SETTLED <= at and until is None for since, until in self.held[node, kind])
                and (name, node) not in had]


STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 9), st.sampled_from(KINDS)),
    st.tuples(st.just("publish"), st.integers(0, 9), st.sampled_from(KINDS)),
    st.tuples(st.just("cut"), st.integers(0, 44)),
    st.tuples(st.just("join"), st.integers(0, 44)),
    st.tuples(st.just("subscribe"), st.integers(0, 9), st.sampled_from(KINDS)),
    st.tuples(st.just("unsubscribe"), st.integers(0, 9), st.sampled_from(KINDS)),
    st.tuples(st.just("wait"), st.floats(0.1, 4.0)),
)


def live(world: RecoveryWorld, steps: list[tuple], quiet: float) -> None:
    """Run a history, then make the network whole, publish once more of each kind, and let it recover."""
    nodes = len(world.hears)
    pairs = list(combinations(range(nodes), 2))
    world.link(*range(nodes))
    for node in range(nodes):
        world.subscribe(node, KINDS[node % 2])
    world.run(SETTLED)
    for node in range(nodes):
        world.publish(node, KINDS[0])
        world.publish(node, KINDS[1])
    world.run(2.0)
    for what, *where in steps:
        if what == "wait":
            world.run(where[0])
        elif what in ("cut", "join"):
            pair = pairs[where[0] % len(pairs)]
            world.unlink(*pair) if what == "cut" else world.link(*pair)
        else:
            getattr(world, what)(where[0] % nodes, where[1])
        world.run(0.3)
    world.link(*range(nodes))
    world.run(quiet)
