"""What a tree does that nothing moves: none of what others tell it matters, and it has no messages of its own."""
from __future__ import annotations

from node import wire
from node.ids import LinkId, Peer
from node.seams import HopMessages, LinkMessages


class Still:
    """For trees whose links come from elsewhere, or that have none; `status` is theirs to say."""

    def __init__(self) -> None:
        self.hop_messages: HopMessages = {}
        self.relayed_messages: HopMessages = {}
        self.link_messages: LinkMessages = {}

    def start(self) -> None:
        """Nothing is to be kept."""

    def neighbor_up(self, peer: Peer) -> None:
        """Who is in range does not matter."""

    def neighbor_down(self, peer: Peer, reason: str) -> None:
        """Likewise."""

    def suspected(self, peer: Peer, tries: int) -> None:
        """Likewise."""

    def hello_received(self, peer: Peer, hello: wire.Hello) -> None:
        """Likewise."""

    def link_failed(self, link: LinkId, reason: str) -> None:
        """No link is lost because a channel gives up."""

    def link_pending(self, link: LinkId) -> bool:
        return False

    def link_heard(self, link: LinkId) -> None:
        """No link is pending."""
