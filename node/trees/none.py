"""No tree: for routing that needs none (node/routing/flooding.py). Every node stands alone."""
from __future__ import annotations

from node import wire
from node.ids import LinkId, Peer
from node.seams import HopMessages, LinkMessages, TreeStatus
from node.trees import Surroundings


class NoTree:
    def __init__(self, around: Surroundings) -> None:
        self._me = around.station.me.node
        self.hop_messages: HopMessages = {}
        self.relayed_messages: HopMessages = {}
        self.link_messages: LinkMessages = {}

    def start(self) -> None:
        """Nothing is to be kept."""

    def status(self) -> TreeStatus:
        return TreeStatus(self._me, 0, None, False)

    def neighbor_up(self, peer: Peer) -> None:
        """Who is in range does not matter."""

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        """Likewise."""

    def suspected(self, peer: Peer) -> None:
        """Likewise."""

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        """Likewise."""

    def link_failed(self, link: LinkId, reason: str) -> None:
        """No link is ever opened."""

    def link_pending(self, link: LinkId) -> bool:
        return False

    def link_heard(self, link: LinkId) -> None:
        """No link is pending."""
