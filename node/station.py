"""What lies beneath a broker and a device alike: one life of one node on the air.

Its identity, the counter of its datagrams and its limit, encoding and decoding, and what is counted as traffic.
"""
from __future__ import annotations

from collections.abc import Callable

from node import __version__, wire
from node.config import NodeConfig
from node.environment import Environment
from node.ids import Epoch, NodeId, Peer
from node.traffic import Traffic

DATAGRAMS = "datagrams of one life"  # as a record `refused` names it
MOST_DATAGRAMS = 2**32 - 1  # that a life may send: the header's counter; 500 days at a hundred a second

Decode = Callable[[bytes, bytes], wire.Datagram]


class Station:
    """Sends while it is `running`; who is silent for another reason says so in the records."""

    def __init__(self, node: NodeId, epoch: Epoch, config: NodeConfig, env: Environment, decode: Decode) -> None:
        self.me = Peer(node, epoch)
        self.config = config
        self.env = env
        self.traffic = Traffic(config, env)
        self.counter = 0  # of the datagrams sent in this life
        self.running = False
        self._decode = decode  # a world of many nodes brings one that remembers
        self._secret = config.secret.encode()
        self._spent = False  # that they are all sent was recorded

    def start(self) -> None:
        """Begin this life."""
        self.running = True
        self.env.record("node_started", epoch=self.me.epoch, version=__version__)

    def stop(self) -> None:
        self.traffic.report()
        self.env.record("node_stopped", epoch=self.me.epoch)
        self.running = False

    def flush_records(self) -> None:
        """The world ends here, in the midst of this life: record what was counted since the last record."""
        if self.running:
            self.traffic.report()

    # ---- what comes ---------------------------------------------------------------------------
    def received(self, datagram: bytes, heard: Callable[[Peer, int], bool]) -> wire.Datagram | None:
        """What the radio heard; None for what is nothing to this node, which is counted and changes nothing else.
        `heard(sender, counter)` says whether the datagram is new."""
        if not self.running:
            return None
        try:
            opened = self._decode(datagram, self._secret)
        except wire.Malformed as error:
            self.dropped(error.reason)
            return None
        sender, counter, messages = opened
        if not heard(sender, counter):
            self.dropped("own" if sender.node == self.me.node else "stale")
            return None
        self.traffic.received(messages, len(datagram))
        return opened

    def dropped(self, reason: str) -> None:
        """Count something received that was turned away."""
        self.traffic.dropped(reason)

    # ---- what goes out --------------------------------------------------------------------------
    def broadcast(self, *messages: wire.Message) -> None:
        """One datagram with these messages to all in radio range."""
        if self.running and self._may_send():
            self.env.broadcast(self._datagram(messages))

    def unicast(self, to: NodeId, *messages: wire.Message) -> None:
        """One datagram with these messages to one radio neighbor."""
        if self.running and self._may_send():
            self.env.unicast(to, self._datagram(messages))

    def _may_send(self) -> bool:
        """Whether the counter of datagrams goes on. Once it does not the node is silent, and the others repair."""
        if self.counter < MOST_DATAGRAMS:
            return True
        if not self._spent:
            self._spent = True
            self.env.record("refused", what=DATAGRAMS, limit=MOST_DATAGRAMS)
        return False

    def _datagram(self, messages: tuple[wire.Message, ...]) -> bytes:
        self.counter += 1
        datagram = wire.encode(self.me, self.counter, messages, self._secret)
        self.traffic.sent(messages, len(datagram))
        return datagram
