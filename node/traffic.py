"""What a node sends and receives, counted per message type, and the `traffic` records.

For the overhead tables (cugola-frey-murphy-picco-dynamic-topology, section V, per message). A DATA, ONCE,
RELAY or ROUTED counts as the type of the message it carries, envelope and retransmissions included; the
datagram's header, framing and tag count to its first message. So the bytes of all types add up to the
bytes handed to UDP.
"""
from __future__ import annotations

from node import wire
from node.config import NodeConfig
from node.environment import Runtime
from node.rhythm import Rhythm

Counters = dict[type[wire.Message], list[int]]  # type -> [messages, bytes], and filters for those of _FILTERS

_ENVELOPES = (wire.Data, wire.Once, wire.Relay, wire.Routed)
# Messages that carry filters or their hashes, and the fields that do: the papers weigh them by their number.
_FILTERS = {wire.Sub: ("filters",), wire.Unsub: ("filters",), wire.SubFlush: ("filters",), wire.Snapshot: ("filters",),
            wire.InformedActivate: ("filters",), wire.Rec: ("add", "remove"), wire.Want: ("filters",), wire.Unwant: ("filters",)}


class Traffic:
    """Counters since the last record."""

    def __init__(self, config: NodeConfig, env: Runtime) -> None:
        self._interval = config.traffic_interval
        self._env = env
        self._rhythm = Rhythm(env)
        self._reset()

    def _reset(self) -> None:
        self._sent: Counters = {}
        self._received: Counters = {}
        self._dropped: dict[str, int] = {}  # reason -> datagrams
        self._datagrams_sent = 0
        self._datagrams_received = 0

    def start(self) -> None:
        self._env.call_later(self._rhythm.begin(self._interval), self._tick)

    def _tick(self) -> None:
        self.report()
        self._env.call_later(self._rhythm.next(self._interval), self._tick)

    def report(self) -> None:
        """Write the record, if anything happened, and begin again from zero."""
        if not (self._datagrams_sent or self._datagrams_received or self._dropped):
            return
        self._env.record("traffic", sent=_rows(self._sent), received=_rows(self._received),
                              dropped=[{"reason": reason, "datagrams": count}
                                       for reason, count in sorted(self._dropped.items())],
                              datagrams_sent=self._datagrams_sent,
                              datagrams_received=self._datagrams_received)
        self._reset()

    def sent(self, messages: tuple[wire.Message, ...], size: int) -> None:
        self._datagrams_sent += 1
        _count(self._sent, messages, size)

    def received(self, messages: tuple[wire.Message, ...], size: int) -> None:
        self._datagrams_received += 1
        _count(self._received, messages, size)

    def dropped(self, reason: str) -> None:
        self._dropped[reason] = self._dropped.get(reason, 0) + 1


def _count(counters: Counters, messages: tuple[wire.Message, ...], size: int) -> None:
    if len(messages) > 1:
        for message in messages[1:]:
            length = wire.encoded_size(message)
            size -= length
            _add(counters, message, length)
    _add(counters, messages[0], size)


def _add(counters: Counters, message: wire.Message, size: int) -> None:
    kind = type(message)
    while kind in _ENVELOPES:
        message = message.message  # type: ignore[attr-defined]  # every envelope has one
        kind = type(message)
    row = counters.get(kind)
    if row is None:
        row = counters[kind] = [0, 0, 0] if kind in _FILTERS else [0, 0]
    row[0] += 1
    row[1] += size
    if len(row) > 2:
        row[2] += sum(len(getattr(message, name)) for name in _FILTERS[kind])


def _rows(counters: Counters) -> list[dict[str, object]]:
    return [dict(zip(("type", "messages", "bytes", "filters"), (kind.name, *row)))
            for kind, row in sorted(counters.items(), key=lambda item: item[0].name)]
