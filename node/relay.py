"""Messages that travel hop by hop off the tree's channels, each hop acknowledged by itself.

The papers send them "out of band": the design's relay service. A message carries its own route (an explicit
list of ids, or the reverse of the hops it has made); this part only takes it over the next hop, over a radio
that loses frames, within tens of milliseconds: the reliable channels would be too slow for a repair, because
these messages would wait there behind events and their round-trip estimate. No order is promised.

Everything is bounded: messages in flight, tries, and what is remembered of each neighbor to tell repetitions.
"""
from __future__ import annotations

from collections.abc import Callable

from node import wire
from node.environment import Timer
from node.ids import Epoch, NodeId, Peer
from node.memory import Memory
from node.seams import HopMessages, Neighborhood, Radio
from node.window import Window, slid

WAITS = (0.035, 0.05, 0.07, 0.1, 0.15)  # s for the acknowledgement of each try; a lost frame costs the first
IN_FLIGHT = 128  # messages that wait for an acknowledgement
WINDOW = 64  # numbers behind the highest of a neighbor that are told apart
MASK = (1 << WINDOW) - 1
PEERS = 256  # neighbors of whom numbers are remembered

Failed = Callable[[], None]


class _Flight:
    """A message on its way over one hop."""

    __slots__ = ("failed", "relay", "timer", "to", "tries", "waits")

    def __init__(self, to: NodeId, relay: wire.Relay, failed: Failed | None, waits: tuple[float, ...]) -> None:
        self.to = to
        self.relay = relay
        self.tries = 0
        self.waits = waits
        self.timer: Timer | None = None
        self.failed = failed


class Relay:
    """One hop of multi-hop messages: repeated until acknowledged, handed on once."""

    def __init__(self, station: Radio, neighbors: Neighborhood) -> None:
        self._station = station
        self._env = station.env
        self._neighbors = neighbors
        self._handlers: HopMessages = {}
        self._number = 0
        self._flights: dict[int, _Flight] = {}
        self._seen: Memory[NodeId, tuple[Epoch, Window]] = Memory(PEERS)
        self.hop_messages: HopMessages = {wire.Relay: self._relay, wire.RelayAck: self._ack}

    def begin(self, handlers: HopMessages) -> None:
        """To be called once, before anything is sent: who handles what comes in from two-way neighbors. The count
        begins anywhere, so that a past life's acknowledgements do not fit."""
        self._handlers = handlers
        self._number = self._env.random.getrandbits(16)

    def send(self, to: NodeId, message: wire.Message, failed: Failed | None = None,
             last_word: bool = False, tries: int = len(WAITS)) -> None:
        """Take a message to a two-way neighbor; `failed()` is called later, once, if it does not answer to so many tries.

        A last word goes to a neighbor that was given up already: it may still hear us.
        """
        self._number = (self._number + 1) & 0xFFFFFFFF
        flight = _Flight(to, wire.Relay(self._number, message), failed, WAITS[:tries])
        if (to not in self._neighbors.two_way and not last_word) or len(self._flights) >= IN_FLIGHT:
            if failed is not None:
                self._env.call_later(0.0, failed)
            return
        self._flights[self._number] = flight
        self._try(flight)

    def forget(self, to: NodeId) -> None:
        """The neighbor is gone: whatever was on its way to it has failed."""
        for flight in [f for f in self._flights.values() if f.to == to]:
            self._give_up(flight)

    def _try(self, flight: _Flight) -> None:
        if flight.tries == len(flight.waits):
            self._give_up(flight)
            return
        # jitter, or two neighbors that collided once collide again
        wait = flight.waits[flight.tries] * self._env.random.uniform(0.85, 1.15)
        flight.tries += 1
        flight.timer = self._env.call_later(wait, lambda: self._try(flight))
        self._station.unicast(flight.to, flight.relay)

    def _give_up(self, flight: _Flight) -> None:
        if self._flights.pop(flight.relay.number, None) is None:
            return
        if flight.timer is not None:
            flight.timer.cancel()
        if flight.failed is not None:
            self._env.call_later(0.0, flight.failed)

    def _ack(self, sender: Peer, message: wire.RelayAck) -> None:
        flight = self._flights.get(message.number)
        if flight is None or flight.to != sender.node:
            return  # of a repetition, mostly
        del self._flights[message.number]
        if flight.timer is not None:
            flight.timer.cancel()

    def _relay(self, sender: Peer, message: wire.Relay) -> None:
        if sender.node not in self._neighbors.two_way:
            self._station.dropped("not_neighbor")  # no acknowledgement: it may find us two-way at the next try
            return
        handler = self._handlers.get(type(message.message))
        if handler is None:
            self._station.dropped("misplaced")
            return
        self._station.unicast(sender.node, wire.RelayAck(message.number))
        if self._first(sender, message.number):
            handler(sender, message.message)

    def _first(self, sender: Peer, number: int) -> bool:
        """Whether this number of the sender's life has not come before, as far back as is remembered."""
        epoch, known = self._seen.get(sender.node, (0, (0, 0)))
        if epoch != sender.epoch or number <= known[0] - WINDOW:  # nothing legitimate is that late: its count began anew
            known = number - 1, 0
        window = slid(*known, number, MASK)
        self._seen.remember(sender.node, (sender.epoch, window or known))
        return window is not None
