"""One dispatcher: the core that the node's routing and reconciliation run in, without wire, channels or radio.

cugola-frey-murphy-picco-dynamic-topology, section V-A: clients are not modeled, a dispatcher that subscribes
has one of its own. This core gives these parts their surroundings, as node/broker.py does.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from heapq import heappush
from typing import NamedTuple, cast

from emulation.studies.overlay.events import PatternTable, Text
from emulation.studies.overlay.literal import Literal, Staying, on_timers
from emulation.studies.overlay.network import End, Network, Timer, loses
from emulation.studies.overlay.parameters import Parameters
from node import reconcile, recovery, wire
from node.broker import RECONCILERS, RECOVERIES, STRATEGIES
from node.config import NodeConfig
from node.event import AnyEvent
from node.ids import LinkId, NodeId, Peer
from node.reconcile import Reconciler, Routing
from node.reconcile.strawman import Strawman
from node.recovery import Recovery
from node.routes import Route
from node.routing.duplicates import SeenEvents
from node.routing.forwarding import SubscriptionForwarding
from node.routing.strategy import Surroundings
from node.seams import LinkMessages, RoutedMessages, TreeStatus


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


class Reading(NamedTuple):
    """The parts that take the place of the node's; None: the node's own."""

    routing: type[SubscriptionForwarding] | None = None
    reconciler: Callable[[reconcile.Surroundings[Routing]], Reconciler] | None = None


AS_THE_NODE = Reading()


def reading(parameters: Parameters) -> Reading:
    """What the figures are read as, where that is not what the node does."""
    literal = Staying if parameters.entries == "kept" else Literal
    return Reading(literal if parameters.memory == "none" else None, on_timers if parameters.flush == "none" else None)


class OutOfBand:
    """Messages off the tree: one hop, whatever the tree is like."""

    def __init__(self, network: Network, peers: list[Dispatcher]) -> None:
        self._network, self._peers = network, peers

    def send(self, route: Route, message: wire.Message) -> None:
        network = self._network
        if message.family == "recovery":
            takes = network.account_recovery(message, 1)
            if loses(network.salt(), 0, network.loss):
                return
        else:
            takes = network.account(message, 1)
        handler = self._peers[route[-1]].routed[type(message)]
        network.call_at(network.time + takes, lambda: handler(route, message), network.cause)


class Dispatcher:
    """Both the station and the channels of its parts (`node.seams`)."""

    def __init__(self, node: NodeId, config: NodeConfig, network: Network, records: dict[str, int],
                 peers: list[Dispatcher], chance: random.Random, reading: Reading = AS_THE_NODE) -> None:
        self.me = Peer(node, 1)
        self.config = config
        self.env = Env(network, records, chance)
        self.ends: dict[LinkId, End] = {}
        self._network = network
        self._bit = 1 << node
        courier, seen = OutOfBand(network, peers), SeenEvents()
        self.table = table = PatternTable()
        self.recovery: Recovery | None = None
        if config.recovery != "none":
            self.recovery = RECOVERIES[config.recovery](recovery.Surroundings(self, self, courier, table, seen, self))
        self.routing = (reading.routing or STRATEGIES[config.strategy])(
            Surroundings(self, self, self, self, table, seen, self.recovery, quiet=True))
        if isinstance(self.routing, SubscriptionForwarding):
            self.reconciler: Reconciler = (reading.reconciler or RECONCILERS[config.reconcile])(
                reconcile.Surroundings(self, self, courier, self.routing, table))
        else:
            self.reconciler = Strawman(reconcile.Surroundings(self, self, courier, self.routing, table))
        self.since: dict[bytes, float] = {}  # what the client wants -> s, from when on
        self.handlers: LinkMessages = {**self.routing.link_messages, **self.reconciler.link_messages}
        self.routed: RoutedMessages = dict(self.reconciler.routed_messages)
        if self.recovery is not None:
            self.handlers |= self.recovery.link_messages
            self.routed |= self.recovery.routed_messages

    # ---- services ---------------------------------------------------------------------------------
    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        network = self._network
        kind = type(message)
        if kind in wire.EVENTS:
            takes = network.event_time
            count = len(links)
            network.events += count
            network.messages += count
            loss, salt = network.loss, message[5].salt
            if kind is wire.TaggedEvent:
                takes += network.account_recovery(message, count)
        elif message.family == "recovery":
            takes = network.account_recovery(message, len(links))
            loss, salt = network.loss, network.salt()
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

    def deliver(self, client: str, event: AnyEvent, born: float | None = None) -> bool:
        cast(Text, event[5]).got |= self._bit
        return True

    def deliver_recovered(self, event: AnyEvent, born: float) -> int:
        """To the one client, if it wanted the event when it was published."""
        text = cast(Text, event[5])
        if not any(self.since.get(key, math.inf) <= text.at for key in text.patterns):
            return 0
        if not text.got & self._bit:
            self._network.late.append(self._network.time - text.at)
        text.got |= self._bit
        text.recovered |= self._bit
        return 1

    def sent_position(self, link: LinkId) -> int:
        """Positions matter to the digest in beacons, of which there are none."""
        return 0

    def received_position(self, link: LinkId) -> int:
        return 0

    def acknowledged_position(self, link: LinkId) -> int:
        return 0

    def status(self) -> TreeStatus:
        raise NotImplementedError("no strategy of the overlay asks where it stands in its tree")

    def broadcast(self, *messages: wire.Message) -> None:
        raise NotImplementedError("the overlay has no radio")

    def dropped(self, reason: str) -> None:
        self.env.record("dropped", reason=reason)
