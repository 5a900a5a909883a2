"""The core of a node: every input comes in here, and the parts meet only here.

cugola-murphy-picco-mobile-environment, section 6: a core mediates among exchangeable parts that
do not see each other. A part is constructed with the core and calls nothing but the core; the
core calls the parts. Inputs: `datagram_received`, the client operations, `start`, `stop`,
`flush_records`; they are handled one at a time, so nothing called back from here may come in again.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from node import __version__, wire
from node.clients import Clients, Deliver
from node.config import NodeConfig
from node.courier import Courier
from node.environment import Environment
from node.filters import Filter
from node.ids import Epoch, EventId, LinkId, NodeId, Peer
from node.links import Links
from node.neighbors import Neighbors
from node.reconcile.informed import Informed
from node.reconcile.notified import Notified
from node.reconcile.path import ReconfigurationPath
from node.reconcile.strawman import Strawman
from node.reconcile.timed import Timed
from node.recovery import Recovery
from node.recovery.combined import Combined
from node.recovery.publisher_pull import PublisherPull
from node.recovery.push import Push
from node.recovery.subscriber_pull import SubscriberPull
from node.relay import Relay
from node.roaming.sessions import Sessions
from node.routing.events import EventForwarding
from node.routing.flooding import Flooding
from node.routing.forwarding import SubscriptionForwarding
from node.routing.hierarchical import HierarchicalForwarding
from node.traffic import Traffic
from node.trees import TreeStatus, supplies
from node.trees.maodv import Maodv
from node.trees.none import NoTree

TREES = {"maodv": Maodv, "none": NoTree}
STRATEGIES = {"subscription": SubscriptionForwarding, "hierarchical": HierarchicalForwarding,
              "event": EventForwarding, "flood": Flooding}
RECONCILERS = {"strawman": Strawman, "timed": Timed, "notified": Notified, "informed": Informed,
               "path": ReconfigurationPath}
RECOVERIES = {"push": Push, "subscriber_pull": SubscriberPull, "publisher_pull": PublisherPull,
              "combined": Combined}  # besides "none"
# Protocols that may stand beside a strategy that tells nothing and so has nothing to reconcile: they need only links.
PLAIN = ("strawman", "timed")
FLUSHES = ("broadcast", "piggyback", "path")
DATAGRAMS = "datagrams of one life"  # as a record `refused` names it
MOST_DATAGRAMS = 2**32 - 1  # that a life may send: the header's counter; 500 days at a hundred a second


def mismatch(config: NodeConfig) -> tuple[str, str] | None:
    """(key, finding) if the tree cannot supply what a part needs, or a part has nothing to do; else None."""
    tree = TREES[config.tree].supplies
    if config.strategy != "subscription" and config.reconcile not in PLAIN:
        return "reconcile", f"{config.reconcile!r} with strategy {config.strategy!r}, which has nothing to reconcile"
    for key, part in (("reconcile", RECONCILERS[config.reconcile]), ("strategy", STRATEGIES[config.strategy])):
        if (key, config.strategy) != ("reconcile", "flood") and not supplies(tree, part.needs):
            return key, f"{getattr(config, key)!r}, which needs {part.needs} of a tree, with tree {config.tree!r}"
    if config.recovery != "none":
        if config.strategy != "subscription":
            return "recovery", f"{config.recovery!r} with strategy {config.strategy!r}, which spreads no patterns"
        if RECOVERIES[config.recovery].tags and config.forwarding == "covering":
            return "recovery", f"{config.recovery!r} with forwarding 'covering', which hides patterns from publishers"
    return None


class Broker:
    """One life of one node. Everything public here is an input or a service to the parts."""

    quiet = False  # events are recorded; a core that counts messages itself has no use for that

    def __init__(self, node: NodeId, epoch: Epoch, config: NodeConfig, env: Environment,
                 decode: Callable[[bytes, bytes], wire.Datagram] = wire.decode) -> None:
        if (wrong := mismatch(config)) is not None:
            raise ValueError("{}: found {}".format(*wrong))
        self.me = Peer(node, epoch)
        self.config = config
        self.env = env
        self._decode = decode  # a world of many nodes brings one that remembers
        self._secret = config.secret.encode()
        self.counter = 0  # of the datagrams sent in this life
        self._spent = False  # that they are all sent was recorded
        self._running = False
        self._traffic = Traffic(self)
        self.neighbors = Neighbors(self)
        self.links = Links(self)
        self.tree = TREES[config.tree](self)
        self.courier = Courier(self)
        self._relay = Relay(self)
        self._relay.add({**self.tree.relayed_messages, **self.courier.relayed_messages})
        self.recovery: Recovery | None = RECOVERIES[config.recovery](self) if config.recovery != "none" else None
        self.routing = STRATEGIES[config.strategy](self)
        reconcile = config.reconcile if config.strategy == "subscription" else "strawman"
        self.reconciler = RECONCILERS[reconcile](self)
        self.clients = Clients(self)
        self.sessions = Sessions(self)
        # message type -> handler; hop handlers take (sender: Peer, message),
        # link handlers take (link: LinkId, message)
        self._hop = {**self.neighbors.hop_messages, **self.links.hop_messages, **self._relay.hop_messages,
                     **self.tree.hop_messages, **self.routing.hop_messages, **self.sessions.hop_messages}
        self._link = {**self.routing.link_messages, **self.tree.link_messages, **self.reconciler.link_messages,
                      **self.sessions.link_messages}
        if self.recovery is not None:
            self._link |= self.recovery.link_messages

    # ---- inputs ---------------------------------------------------------------------------
    def start(self) -> None:
        """Begin this life: beacons, the tree. A broker starts once; a new life is a new broker."""
        self._running = True
        self.env.record("node_started", epoch=self.me.epoch, version=__version__)
        self.neighbors.start()
        self.tree.start()
        self._traffic.start()
        if self.recovery is not None:
            self.recovery.start()

    def stop(self) -> None:
        """End this life in order: tree neighbors are told, so that they repair at once. The world then runs no
        timer of this node any more."""
        if not self._running:
            return
        for link in list(self.routing.links):
            self.unicast(link.far_end(self.me.node), wire.Reset(link.nonce))
        self.sessions.stop()
        self.neighbors.stop()
        self._traffic.report()
        self.env.record("node_stopped", epoch=self.me.epoch)
        self._running = False

    def flush_records(self) -> None:
        """The world ends here, in the midst of this life: record what was counted since the last record."""
        if self._running:
            self._traffic.report()

    def datagram_received(self, datagram: bytes) -> None:
        """What the radio heard. Whatever is wrong with it is counted and changes nothing else."""
        if not self._running:
            return
        try:
            sender, counter, messages = self._decode(datagram, self._secret)
        except wire.Malformed as error:
            self.dropped(error.reason)
            return
        if not self.neighbors.heard(sender, counter):
            self.dropped("own" if sender.node == self.me.node else "stale")
            return
        self._traffic.received(messages, len(datagram))
        for message in messages:
            handler = self._hop.get(type(message))
            if handler is None:
                self.dropped("misplaced")  # a known message, but not of hop scope or of another tree
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

    # ---- services to the parts: sending -----------------------------------------------------
    def broadcast(self, *messages: wire.Message) -> None:
        """One datagram with these messages to all in radio range."""
        if self._running and self._may_send():
            self.env.broadcast(self._datagram(messages))

    def unicast(self, to: NodeId, *messages: wire.Message) -> None:
        """One datagram with these messages to one radio neighbor."""
        if self._running and self._may_send():
            self.env.unicast(to, self._datagram(messages))

    def _may_send(self) -> bool:
        """Whether the counter of datagrams goes on. Once it does not the node is silent, and its neighbors
        repair."""
        if self.counter < MOST_DATAGRAMS:
            return True
        if not self._spent:
            self._spent = True
            self.env.record("refused", what=DATAGRAMS, limit=MOST_DATAGRAMS)
        return False

    def _datagram(self, messages: tuple[wire.Message, ...]) -> bytes:
        self.counter += 1
        datagram = wire.encode(self.me, self.counter, messages, self._secret)
        self._traffic.sent(messages, len(datagram))
        return datagram

    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        """Queue a message in the reliable channels of these tree links (one or several)."""
        self.links.send(links, message)

    def relay_to(self, neighbor: NodeId, message: wire.Message, failed: Callable[[], None] | None = None,
                 last_word: bool = False) -> None:
        """Take a message off the channels to one radio neighbor, until it acknowledges; see Relay.send."""
        self._relay.send(neighbor, message, failed, last_word)

    def relay(self, route: Sequence[NodeId], message: wire.Message) -> None:
        """Take a message off the tree along these ids, this node's first, to the last; it may get lost."""
        self.courier.send(tuple(route), message)

    def sent_position(self, link: LinkId) -> int:
        return self.links.sent_position(link)

    def received_position(self, link: LinkId) -> int:
        return self.links.received_position(link)

    # ---- services to the parts: channels to devices, which are no tree links ------------------------
    def open_channel(self, link: LinkId, progress: Callable[[], object]) -> None:
        self.links.open(link, progress)

    def close_channel(self, link: LinkId) -> None:
        self.links.close(link)

    def acknowledged_position(self, link: LinkId) -> int:
        return self.links.acknowledged_position(link)

    def has_room(self, link: LinkId) -> bool:
        return self.links.has_room(link)

    def tree_links(self) -> list[LinkId]:
        """Those over which all that is wanted has been told, so that what follows in them fences it."""
        return [link for link in self.routing.links if not self.routing.holds_back(link)]

    # ---- services to the parts: what the others know -----------------------------------------
    def two_way(self) -> Mapping[NodeId, Peer]:
        """The two-way radio neighbors."""
        return self.neighbors.two_way

    def tree_status(self) -> TreeStatus:
        return self.tree.status()

    def digests(self) -> list[tuple[NodeId, int, int, bytes]]:
        """For a HELLO: (neighbor, nonce, channel position, digest of the filters told)."""
        return self.routing.digests() if self.config.digest else []

    def dropped(self, reason: str) -> None:
        """Count something received that was turned away."""
        self._traffic.dropped(reason)

    # ---- notices: neighbors -> tree, routing --------------------------------------------------
    def neighbor_up(self, peer: Peer) -> None:
        self.tree.neighbor_up(peer)

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        self._relay.forget(peer.node)
        self.tree.neighbor_down(peer, reason)

    def suspected(self, peer: Peer) -> None:
        self.tree.suspected(peer)

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        self.tree.hello_received(peer, hello)
        if self.config.digest:
            self.routing.digests_received(peer.node, hello.digests)

    # ---- notices: links -> tree, routing, reconciler -------------------------------------------
    def link_message(self, link: LinkId, message: wire.Message) -> None:
        """A message came out of a channel, in order and once."""
        handlers = self.sessions.device_messages if link in self.sessions.links else self._link
        handler = handlers.get(type(message))
        if handler is None:
            self.dropped("misplaced")
        else:
            handler(link, message)

    def link_failed(self, link: LinkId, reason: str) -> None:
        if link in self.sessions.links:
            self.sessions.link_failed(link, reason)
            return
        if reason == "channel":  # first, so that a repair does not turn to the neighbor that does not answer
            self.neighbors.channel_failed(link.far_end(self.me.node))
        self.tree.link_failed(link, reason)

    def link_pending(self, link: LinkId) -> bool:
        return self.tree.link_pending(link)

    def link_heard(self, link: LinkId) -> None:
        self.tree.link_heard(link)

    def routed_message(self, route: tuple[NodeId, ...], message: wire.Message) -> None:
        """A message that was relayed along `route` is for this node, its last."""
        handler = self.reconciler.routed_messages.get(type(message))
        if handler is None and self.recovery is not None:
            handler = self.recovery.routed_messages.get(type(message))
        if handler is None:
            self.dropped("misplaced")
        else:
            handler(route, message)

    # ---- notices: tree -> links, routing, reconciler ------------------------------------------------------
    def gained(self, link: LinkId) -> None:
        self.env.record("link_gained", link=str(link), neighbor=link.far_end(self.me.node))
        self.links.open(link)
        self.reconciler.gained(link)

    def lost(self, link: LinkId, reason: str) -> None:
        self.env.record("link_lost", link=str(link), neighbor=link.far_end(self.me.node), reason=reason)
        self.links.close(link)
        self.reconciler.lost(link)

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId,
                 path: tuple[NodeId, ...] | None, role: str) -> None:
        self.env.record("link_replaced", rid=str(rid), lost=str(lost), new=str(new),
                        path=None if path is None else list(path), role=role)
        self.reconciler.replaced(rid, lost, new, path, role)

    def abandoned(self, rid: LinkId) -> None:
        self.env.record("link_abandoned", rid=str(rid))
        self.reconciler.abandoned(rid)

    def tree_changed(self) -> None:
        """The node stands elsewhere in its tree."""
        self.routing.tree_changed()

    # ---- reconciler -> routing: figure 2's two operations ------------------------------------------
    def add_link(self, link: LinkId, held: Sequence[bytes] = ()) -> None:
        self.routing.add_link(link, held)

    def remove_link(self, link: LinkId, keep: bool = False) -> None:
        self.routing.remove_link(link, keep)

    # ---- clients <-> routing --------------------------------------------------------------------------
    def client_subscribed(self, client: str, wanted: Filter) -> None:
        self.routing.subscribe(client, wanted)

    def client_unsubscribed(self, client: str, key: bytes) -> None:
        self.routing.unsubscribe(client, key)

    def client_published(self, event: wire.Event) -> None:
        self.routing.publish(event)

    def device_published(self, event: wire.Event) -> None:
        self.routing.publish(event)

    def deliver(self, client: str, event: wire.Message) -> None:
        plain = event if type(event) is wire.Event else wire.Event(*event[:7])
        session = self.sessions.hops.get(client)
        if session is None:
            self.clients.deliver(client, plain)
        else:
            session.deliver(plain)

    def deliver_recovered(self, event: wire.Message) -> int:
        """To the local clients that want this event and wanted it when it was published; how many."""
        plain = wire.Event(*event[:7])
        wanting = self.routing.table.match(event.attributes)[1]
        sessions = [self.sessions.hops[hop] for hop in wanting if hop in self.sessions.hops]
        clients = [client for client in wanting
                   if client not in self.sessions.hops and self.clients.wanted_at(client, plain)]
        for client in clients:
            self.clients.deliver(client, plain, recovered=True)
        return len(clients) + sum(session.deliver(plain, late=True) for session in sessions)
