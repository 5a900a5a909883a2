"""The core of a node: every input comes in here, and the parts meet only here.

cugola-murphy-picco-mobile-environment, section 6: a core mediates among exchangeable parts that
do not see each other. A part is constructed with the core and calls nothing but the core; the
core calls the parts. Inputs: `datagram_received`, the client operations, `start`, `stop`.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from node import wire
from node.clients import Clients
from node.config import NodeConfig
from node.environment import Environment
from node.ids import Epoch, LinkId, NodeId, Peer
from node.links import Links
from node.neighbors import Neighbors
from node.reconcile.strawman import Strawman
from node.routing.forwarding import SubscriptionForwarding
from node.trees.maodv import Maodv

TREES = {"maodv": Maodv}
RECONCILERS = {"strawman": Strawman}


class Broker:
    """One life of one node. Everything public here is an input or a service to the parts."""

    def __init__(self, node: NodeId, epoch: Epoch, config: NodeConfig, env: Environment,
                 decode: Callable[[bytes], wire.Datagram] = wire.decode) -> None:
        self.me = Peer(node, epoch)
        self.config = config
        self.env = env
        self._decode = decode
        self._counter = 0
        self.neighbors = Neighbors(self)
        self.links = Links(self)
        self.tree = TREES[config.tree](self)
        self.routing = SubscriptionForwarding(self)
        self.reconciler = RECONCILERS[config.reconcile](self)
        self.clients = Clients(self)
        # message type -> handler; hop handlers take (sender: Peer, message),
        # link handlers take (link: LinkId, message)
        self._hop = {**self.neighbors.hop_messages, **self.links.hop_messages, **self.tree.hop_messages}
        self._link = {**self.routing.link_messages, **self.tree.link_messages, **self.reconciler.link_messages}

    # ---- inputs ---------------------------------------------------------------------------
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def datagram_received(self, datagram: bytes) -> None: ...
    # client operations: attach(client, deliver), detach(client), subscribe(client, filter),
    # unsubscribe(client, filter), publish(client, attributes, payload)

    # ---- services to the parts: sending -----------------------------------------------------
    def broadcast(self, *messages: wire.Message) -> None:
        """One datagram with these messages to all in radio range."""

    def unicast(self, to: NodeId, *messages: wire.Message) -> None:
        """One datagram with these messages to one radio neighbor."""

    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        """Queue a message in the reliable channels of these tree links (one or several)."""

    # ---- services to the parts: notices -----------------------------------------------------
    # neighbors -> core -> tree:            neighbor_up(peer), neighbor_down(peer, reason)
    # links -> core -> tree:                link_failed(link, reason)
    # links -> core -> routing/tree/...:    link_message(link, message)
    # tree -> core -> links, reconciler:    gained(link), lost(link, reason), replaced(...), abandoned(rid)
    # routing -> core -> clients:           deliver(client, event)
