"""The core of a node: every input comes in here, and here the parts are connected.

cugola-murphy-picco-mobile-environment, section 6: a core mediates among exchangeable parts that
do not see each other. What parts may call of each other, and the rule, is in `seams`. Inputs:
`datagram_received`, the client operations, `start`, `stop`, `flush_records`; they are handled one
at a time, so nothing called back from here may come in again.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from node import reconcile, recovery, trees, wire
from node.clients import Clients, Deliver
from node.config import NodeConfig, parts
from node.courier import Courier
from node.environment import Environment
from node.event import AnyEvent, plain
from node.filters import Filter
from node.ids import Epoch, EventId, LinkId, NodeId, Peer
from node.links import Links
from node.neighbors import Neighbors
from node.reconcile import Reconciler, Routing
from node.reconcile.strawman import Strawman
from node.recovery import Recovery
from node.relay import Relay
from node.roaming.sessions import Sessions
from node.routes import Route
from node.routing.duplicates import SeenEvents
from node.routing.forwarding import SubscriptionForwarding
from node.routing.strategy import Strategy, Surroundings
from node.routing.table import SubscriptionTable
from node.seams import Digest, TreeStatus
from node.station import Decode, Station
from node.trees import Tree

# By the names that a configuration has for them (schema/config.toml).
TREES: dict[str, Callable[[trees.Surroundings], Tree]] = parts("tree")
STRATEGIES: dict[str, Callable[[Surroundings], Strategy]] = parts("strategy")
RECONCILERS: dict[str, Callable[[reconcile.Surroundings[Routing]], Reconciler]] = parts("reconcile")
RECOVERIES: dict[str, Callable[[recovery.Surroundings], Recovery]] = parts("recovery")  # besides "none"


class Broker:
    """One life of one node. What is public here are its inputs, its parts, and the notices of the parts."""

    channels: type[Links] = Links  # a world may watch what is sent

    def __init__(self, node: NodeId, epoch: Epoch, config: NodeConfig, env: Environment,
                 decode: Decode = wire.decode) -> None:
        for wrong in config.mismatches():
            raise ValueError("{}: found {}; {}".format(*wrong))
        self.config = config
        self.env = env
        self.station = Station(node, epoch, config, env, decode)
        self.me = self.station.me
        self.neighbors = Neighbors(self.station, self)
        self.relay = Relay(self.station, self.neighbors)
        self.courier = Courier(self.station, self.relay, self)
        self.links = self.channels(self.station, self.neighbors, self)
        self.tree: Tree = TREES[config.tree](
            trees.Surroundings(self.station, self.neighbors, self.relay, self.links, self))
        self.relay.begin({**self.tree.relayed_messages, **self.courier.relayed_messages})
        table, seen = SubscriptionTable(), SeenEvents()
        self.recovery: Recovery | None = None
        if config.recovery != "none":
            self.recovery = RECOVERIES[config.recovery](
                recovery.Surroundings(self.station, self.links, self.courier, table, seen, self))
        self.routing = STRATEGIES[config.strategy](
            Surroundings(self.station, self.links, self.tree, self, table, seen, self.recovery))
        self.reconciler = self._reconciler()
        self.clients = Clients(self.station, self.routing)
        self.sessions = Sessions(self.station, self.neighbors, self.links, self.routing, self.tree)
        self._hop = {**self.neighbors.hop_messages, **self.links.hop_messages, **self.relay.hop_messages,
                     **self.tree.hop_messages, **self.routing.hop_messages, **self.sessions.hop_messages}
        self._link = {**self.routing.link_messages, **self.tree.link_messages, **self.reconciler.link_messages,
                      **self.sessions.link_messages}
        if self.recovery is not None:
            self._link |= self.recovery.link_messages

    def _reconciler(self) -> Reconciler:
        """Only subscription forwarding tells its neighbors what there is to reconcile."""
        common = self.station, self.links, self.courier
        if self.config.strategy == "subscription" and isinstance(self.routing, SubscriptionForwarding):
            return RECONCILERS[self.config.reconcile](
                reconcile.Surroundings(*common, self.routing, self.routing.table))
        return Strawman(reconcile.Surroundings(*common, self.routing, self.routing.table))

    # ---- inputs ---------------------------------------------------------------------------
    def start(self) -> None:
        """Begin this life: beacons, the tree. A broker starts once; a new life is a new broker."""
        self.station.start()
        self.routing.start()
        self.neighbors.start()
        self.tree.start()
        self.station.traffic.start()
        if self.recovery is not None:
            self.recovery.start()

    def stop(self) -> None:
        """End this life in order: tree neighbors are told, so that they repair at once. The world then runs no
        timer of this node any more."""
        if not self.station.running:
            return
        for link in list(self.routing.links):
            self.station.unicast(link.far_end(self.me.node), wire.Reset(link.nonce))
        self.sessions.stop()
        self.neighbors.stop()
        self.station.stop()

    def flush_records(self) -> None:
        """The world ends here, in the midst of this life: record what was counted since the last record."""
        self.station.flush_records()

    def datagram_received(self, datagram: bytes) -> None:
        """What the radio heard. Whatever is wrong with it is counted and changes nothing else."""
        opened = self.station.received(datagram, self.neighbors.heard)
        if opened is None:
            return
        sender, _, messages = opened
        for message in messages:
            handler = self._hop.get(type(message))
            if handler is None:
                self.station.dropped("misplaced")  # a known message, but not of hop scope or of another tree
            else:
                handler(sender, message)

    def attach(self, client: str, deliver: Deliver, recovered: Deliver | None = None) -> None:
        """Bring a local client in; see `Clients` for these five and what they raise."""
        self.clients.attach(client, deliver, recovered)

    def detach(self, client: str) -> None:
        self.clients.detach(client)

    def subscribe(self, client: str, wanted: Filter | str) -> Filter:
        return self.clients.subscribe(client, wanted)

    def unsubscribe(self, client: str, wanted: Filter | str) -> None:
        self.clients.unsubscribe(client, wanted)

    def publish(self, client: str, attributes: Mapping[str, object], payload: bytes = b"") -> EventId:
        return self.clients.publish(client, attributes, payload)

    # ---- notices of the neighbors ---------------------------------------------------------------
    def neighbor_up(self, peer: Peer) -> None:
        self.tree.neighbor_up(peer)

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        self.relay.forget(peer.node)
        self.tree.neighbor_down(peer, reason)

    def suspected(self, peer: Peer, tries: int) -> None:
        self.tree.suspected(peer, tries)

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        self.tree.hello_received(peer, hello)
        if self.config.digest:
            self.routing.digests_received(peer.node, hello.digests)

    def tree_status(self) -> TreeStatus:
        return self.tree.status()

    def digests(self) -> list[Digest]:
        return self.routing.digests() if self.config.digest else []

    # ---- notices of the channels, and of the courier ------------------------------------------------
    def link_message(self, link: LinkId, message: wire.Message) -> None:
        """A message came out of a channel, in order and once."""
        handlers = self.sessions.device_messages if link in self.sessions.links else self._link
        handler = handlers.get(type(message))
        if handler is None:
            self.station.dropped("misplaced")
        else:
            handler(link, message)

    def link_failed(self, link: LinkId, reason: str) -> None:
        if link in self.sessions.links:
            self.sessions.link_failed(link, reason)
            return
        if reason == "channel":  # first, so that a repair does not turn to the neighbor that does not answer
            self.neighbors.channel_failed(link.far_end(self.me.node))
        self.tree.link_failed(link, reason)

    def link_unanswered(self, link: LinkId, since: float) -> None:
        if link not in self.sessions.links:
            self.neighbors.unanswered(link.far_end(self.me.node), since)

    def link_pending(self, link: LinkId) -> bool:
        return self.tree.link_pending(link)

    def link_heard(self, link: LinkId) -> None:
        self.tree.link_heard(link)

    def routed_message(self, route: Route, message: wire.Message) -> None:
        """A message that was relayed along `route` is for this node, its last."""
        handler = self.reconciler.routed_messages.get(type(message))
        if handler is None and self.recovery is not None:
            handler = self.recovery.routed_messages.get(type(message))
        if handler is None:
            self.station.dropped("misplaced")
        else:
            handler(route, message)

    # ---- notices of the tree --------------------------------------------------------------------------
    def gained(self, link: LinkId) -> None:
        self.env.record("link_gained", link=str(link), neighbor=link.far_end(self.me.node))
        self.links.open(link)
        self.reconciler.gained(link)

    def lost(self, link: LinkId, reason: str) -> None:
        self.env.record("link_lost", link=str(link), neighbor=link.far_end(self.me.node), reason=reason)
        self.links.close(link)
        self.reconciler.lost(link)

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId,
                 path: Route | None, role: str) -> None:
        self.env.record("link_replaced", rid=str(rid), lost=str(lost), new=str(new),
                        path=None if path is None else list(path), role=role)
        if role in reconcile.NEW_ENDS:
            self.routing.replaces(new)
        self.reconciler.replaced(rid, lost, new, path, role)

    def abandoned(self, rid: LinkId) -> None:
        self.env.record("link_abandoned", rid=str(rid))
        self.reconciler.abandoned(rid)

    def tree_changed(self) -> None:
        """The node stands elsewhere in its tree."""
        self.routing.tree_changed()

    # ---- what the routing and a recovery deliver ---------------------------------------------------------
    def deliver(self, client: str, event: AnyEvent, born: float | None = None) -> bool:
        session = self.sessions.hops.get(client)
        if session is not None:
            return session.deliver(plain(event), born)
        if born is not None and not self.clients.wanted_at(client, event.attributes, born):
            return False
        self.clients.deliver(client, plain(event), recovered=born is not None)
        return True

    def deliver_recovered(self, event: AnyEvent, born: float) -> int:
        return sum(self.deliver(client, event, born) for client in self.routing.table.match(event.attributes)[1])
