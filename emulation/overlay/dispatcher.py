"""One dispatcher: the core that the node's routing and reconciliation run in, without wire, channels or radio.

cugola-frey-murphy-picco-dynamic-topology, section V-A: clients are not modeled, a dispatcher that subscribes
has one of its own. This core offers what node/broker.py offers to these parts and no more.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from heapq import heappush

from emulation.overlay.events import PatternTable
from emulation.overlay.network import End, Network, Timer, loses
from node import wire
from node.broker import RECONCILERS, STRATEGIES
from node.config import NodeConfig
from node.ids import LinkId, NodeId, Peer


class Env:
    """The node's port, as far as these parts use it. Records are counted by kind and not kept."""

    def __init__(self, network: Network, records: dict[str, int], chance: random.Random) -> None:
        self._network = network
        self._records = records
        self.random = chance

    def now(self) -> float:
        return self._network.time

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        timer = Timer(action)
        self._network.call_at(self._network.time + delay, timer, self._network.cause)
        return timer

    def record(self, kind: str, **fields: object) -> None:
        said = fields.get("cause") or fields.get("reason")
        name = f"{kind}:{said}" if said else kind
        self._records[name] = self._records.get(name, 0) + 1


class Dispatcher:
    quiet = True  # no records of events

    def __init__(self, node: NodeId, config: NodeConfig, network: Network, records: dict[str, int],
                 peers: list[Dispatcher], chance: random.Random) -> None:
        self.me = Peer(node, 1)
        self.config = config
        self.env = Env(network, records, chance)
        self.ends: dict[LinkId, End] = {}
        self._network = network
        self._peers = peers
        self._bit = 1 << node
        self.routing = STRATEGIES[config.strategy](self)
        self.routing.table = PatternTable()
        self.reconciler = RECONCILERS[config.reconcile](self)
        self.handlers: dict[type, Callable] = {**self.routing.link_messages, **self.reconciler.link_messages}

    # ---- services ---------------------------------------------------------------------------------
    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        network = self._network
        if type(message) is wire.Event:
            takes = network.event_time
            count = len(links)
            network.events += count
            network.messages += count
            loss, salt = network.loss, message[5].salt
        else:
            loss = salt = 0
            takes = network.account(message, len(links))
        ends, heap, now, cause = self.ends, network.heap, network.time, network.cause
        order = network.order
        for link in links:
            end = ends[link]
            at = end.free_at
            end.free_at = at = (at if at > now else now) + takes
            if loss and loses(salt, end.code, loss):
                continue
            order += 1
            heappush(heap, (at, order, end, message, cause))
        network.order = order

    def relay(self, route: Sequence[NodeId], message: wire.Message) -> None:
        """Out of band: one hop, whatever the tree is like."""
        network, route = self._network, tuple(route)
        receiver = self._peers[route[-1]]
        handler = receiver.reconciler.routed_messages[type(message)]
        network.call_at(network.time + network.account(message, 1), lambda: handler(route, message), network.cause)

    def deliver(self, client: str, event: wire.Event) -> None:
        event[5].got |= self._bit

    def add_link(self, link: LinkId, held: Sequence[bytes] = ()) -> None:
        self.routing.add_link(link, held)

    def remove_link(self, link: LinkId, keep: bool = False) -> None:
        self.routing.remove_link(link, keep)

    def sent_position(self, link: LinkId) -> int:
        """Positions matter to the digest in beacons, of which there are none."""
        return 0

    def received_position(self, link: LinkId) -> int:
        return 0

    def dropped(self, reason: str) -> None:
        self.env.record("dropped", reason=reason)
