"""Messages off the tree that are larger than a datagram: cut at the first broker of their route, whole again at the last.

Any event may be asked for, also one with a payload of 32 kB. Nothing here asks for a part again: each is acknowledged
over every hop (node/relay.py), and a message of which one got lost all the same is lost.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator

from node import wire
from node.ids import NodeId

PIECE = 750  # bytes of a part (schema/messages.toml), which fits a datagram with the longest route
MOST = -(-wire.MAX_MESSAGE // PIECE)  # parts of one message
ASSEMBLIES = 16  # messages that wait for parts
PATIENCE = 10.0  # s that one waits


class Parts:
    def __init__(self, now: Callable[[], float], given_up: Callable[[], object] = lambda: None) -> None:
        """`given_up` is told of each message that did not become whole in time, or had to make room."""
        self._now = now
        self._given_up = given_up
        self._number = 0
        self._waiting: OrderedDict[tuple[NodeId, int], tuple[float, dict[int, bytes]]] = OrderedDict()

    def cut(self, message: wire.Message) -> Iterator[wire.Message]:
        """The message itself if it fits; else its parts, in order."""
        encoded = wire.encode_message(message)
        if len(encoded) <= PIECE:
            yield message
            return
        self._number = self._number + 1 & 0xFFFFFFFF
        count = -(-len(encoded) // PIECE)
        for k in range(count):
            yield wire.Part(self._number, k, count, encoded[k * PIECE:(k + 1) * PIECE])

    def put(self, sender: NodeId, part: wire.Part) -> wire.Message | None:
        """The message when this was its last part to come. Raises wire.Malformed for what is none."""
        if not part.part < part.parts <= MOST or len(part.piece) > PIECE:
            raise wire.Malformed("field", "no part of a message")
        now, key = self._now(), (sender, part.number)
        while self._waiting and next(iter(self._waiting.values()))[0] < now - PATIENCE:
            self._forget_first()
        _, pieces = self._waiting.setdefault(key, (now, {}))
        pieces[part.part] = part.piece
        if len(pieces) < part.parts:
            if len(self._waiting) > ASSEMBLIES:
                self._forget_first()
            return None
        del self._waiting[key]
        if max(pieces) >= part.parts:
            raise wire.Malformed("field", "parts that do not agree")
        return wire.decode_message(b"".join(pieces[k] for k in range(part.parts)))

    def _forget_first(self) -> None:
        self._waiting.popitem(last=False)
        self._given_up()
