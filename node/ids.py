"""Names of things that outlive one message: nodes, tree links, events.

The text forms are the ones that records carry, so that the analysis joins on plain strings.
"""
from __future__ import annotations

from typing import NamedTuple, final

NodeId = int  # 0 <= id < 2**32, unique in a network
Epoch = int  # 1 <= epoch < 2**32, grows at every start of a node


class Peer(NamedTuple):
    """One life of one node: an id and the boot epoch it lives in."""

    node: NodeId
    epoch: Epoch


@final
class LinkId(NamedTuple):
    """One incarnation of a tree link; `low < high`, the nonce comes from the handshake.

    Tables are keyed by this, never by the neighbor: over radio the same neighbor comes back
    within a timer more often than not (docs/design.md: links have incarnations).
    """

    low: NodeId
    high: NodeId
    nonce: int

    @classmethod
    def between(cls, a: NodeId, b: NodeId, nonce: int) -> LinkId:
        return cls(a, b, nonce) if a < b else cls(b, a, nonce)

    def far_end(self, near: NodeId) -> NodeId:
        return self.high if near == self.low else self.low

    def __str__(self) -> str:
        return f"{self.low}-{self.high}.{self.nonce:08x}"


class EventId(NamedTuple):
    """A published event, known for ever by (source, boot epoch, sequence number)."""

    source: NodeId
    epoch: Epoch
    sequence: int

    def __str__(self) -> str:
        return f"{self.source}.{self.epoch}.{self.sequence}"
