"""One end of a reliable FIFO channel: what is sent and unacknowledged, what has come and is out of order.

The papers assume reliable FIFO links (cugola-frey-murphy-picco-dynamic-topology, section II); this gives them
over datagrams: sequence numbers, cumulative and selective acknowledgement, the timeout of RFC 6298 with
Karn's rule, and retransmission as soon as something sent later has been acknowledged (the order of RFC 8985).
It knows neither clock nor air: `links.Links` tells it the time and carries its messages.
"""
from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from enum import auto
from typing import TypeAlias

from node import wire
from node.config import NodeConfig
from node.environment import Timer
from node.ids import LinkId, NodeId
from node.state import Changes, State, changed

SPAN = 64  # sequence numbers in flight at most: what `beyond` of an ACK can name
PIECE = 1024  # bytes of encoded message that one DATA or FRAGMENT carries at most
SEQUENCES = 2**32  # a channel that has used them up fails; at a thousand a second that is 50 days
GRANULARITY = 0.001  # s, G of RFC 6298
BAD_LUCK = 2e-4  # a link that is alive may be given up this often when a message needs several tries
FEWEST_TRIES, MOST_TRIES = 3, 10
ACK_AT = 8  # arrivals that are acknowledged without waiting for company


Carrier: TypeAlias = "wire.Data | wire.Fragment"  # of a message, or of a piece of one


class Phase(State):
    OPEN = auto()
    FAILED = auto()  # mute; it keeps what `Links.close` records
    ENDED = auto()


CHANGES: Changes[Phase] = {Phase.OPEN: {Phase.FAILED, Phase.ENDED}, Phase.FAILED: {Phase.ENDED}, Phase.ENDED: set()}


class RoundTrip:
    """The retransmission timeout of RFC 6298, in seconds."""

    __slots__ = ("_least", "_most", "smoothed", "timeout", "variation")

    def __init__(self, config: NodeConfig) -> None:
        self._least = config.rto_min
        self._most = config.rto_max
        self.smoothed: float | None = None
        self.variation = 0.0
        self.timeout = min(max(config.rto_initial, self._least), self._most)

    def sample(self, measured: float) -> None:
        """A round trip of a message that was sent once (Karn's rule); it ends a backoff."""
        if self.smoothed is None:
            self.smoothed, self.variation = measured, measured / 2
        else:
            self.variation += (abs(self.smoothed - measured) - self.variation) / 4
            self.smoothed += (measured - self.smoothed) / 8
        timeout = self.smoothed + max(GRANULARITY, 4 * self.variation)
        self.timeout = min(max(timeout, self._least), self._most)

    def back_off(self) -> None:
        """Double the timeout; it stays so until the next sample (RFC 6298, 5.5)."""
        self.timeout = min(self.timeout * 2, self._most)


class Parcel:
    """What one DATA or FRAGMENT carries; one object however many links it is queued in."""

    __slots__ = ("event", "last", "message", "piece", "size")

    def __init__(self, message: wire.Message | None, piece: bytes, last: bool, size: int,
                 event: str | None) -> None:
        self.message = message  # None for a piece of a larger one
        self.piece = piece
        self.last = last
        self.size = size  # bytes, encoded
        self.event = event  # the event it belongs to, for the records

    def addressed(self, addressees: tuple[tuple[NodeId, int, int], ...]) -> wire.Message:
        if self.message is not None:
            return wire.Data(tuple(addressees), self.message)
        return wire.Fragment(tuple(addressees), self.last, self.piece)


class Flight:
    """A parcel sent and not acknowledged."""

    __slots__ = ("broadcast", "first_order", "order", "parcel", "sent_at", "sequence", "tries")

    def __init__(self, parcel: Parcel, sequence: int) -> None:
        self.parcel = parcel
        self.sequence = sequence
        self.sent_at = 0.0
        self.order = 0  # counts the transmissions of the channel; of the latest one
        self.first_order = 0
        self.tries = 0
        self.broadcast = False  # how it went out first


class Channel:
    """The state of one link incarnation at one of its ends."""

    def __init__(self, link: LinkId, far: NodeId, config: NodeConfig) -> None:
        self.link = link
        self.far = far
        self._phase = Phase.OPEN
        self.closed = False  # it is open no more: nothing is sent or delivered
        self.progress: Callable[[], object] | None = None  # told of each acknowledgement
        self._window = min(config.channel_window, SPAN)
        self._give_up = config.channel_give_up
        # sending
        self.round_trip = RoundTrip(config)
        self.queue: deque[Parcel] = deque()
        self.flights: dict[int, Flight] = {}  # by sequence number, ascending
        self.lost: list[Flight] = []  # of the flights, those to send again
        self._waiting: dict[int, str] = {}  # events that came there out of order, and are not delivered yet
        self.next_sequence = 0
        self.queued_bytes = 0  # waiting and in flight
        self.missing = 0.0  # share of broadcasts that did not reach the far end
        self._answered = 0.6  # share of unicasts answered at the first try; a new link gets some credit
        self._orders = 0
        self._told_order = 0  # the latest transmission known to have come
        self._since = 0.0  # the retransmission timer runs from here
        self._progress_at = 0.0
        self.timer: Timer | None = None
        self.timer_at = 0.0
        # receiving
        self.expected = 0
        self.held: dict[int, Carrier] = {}  # came before its turn; at most SPAN, a datagram each
        self.paused = False  # what comes is held, in its turn or not
        self.pause_timer: Timer | None = None
        self.unacknowledged = 0  # arrivals that no ACK has told
        self.ack_now = False
        self.ack_timer: Timer | None = None
        self._pieces = bytearray()

    # ---- sending ----------------------------------------------------------------------------
    @property
    def position(self) -> int:
        """The sequence number that the next message queued will have."""
        return self.next_sequence + len(self.queue)

    def take(self) -> list[Flight]:
        """Parcels that the window lets go now; `transmitted` is to be called for each."""
        oldest = next(iter(self.flights)) if self.flights else self.next_sequence
        taken = []
        while self.queue and self.next_sequence - oldest < self._window:
            flight = Flight(self.queue.popleft(), self.next_sequence)
            self.flights[self.next_sequence] = flight
            self.next_sequence += 1
            taken.append(flight)
        return taken

    def transmitted(self, flight: Flight, now: float, broadcast: bool) -> None:
        if flight.tries == 0 and flight.sequence == next(iter(self.flights)):  # nothing else is in flight
            self._since = self._progress_at = now
        self._orders += 1
        flight.order = self._orders
        if flight.tries == 0:
            flight.first_order = self._orders
            flight.broadcast = broadcast
        flight.tries += 1
        flight.sent_at = now

    def deadline(self) -> float | None:
        """When to retransmit, or to give up, unless an acknowledgement comes first."""
        if not self.flights:
            return None
        return self._since + self.round_trip.timeout

    def _patience(self) -> int:
        """Tries of one message, all unanswered, that tell a dead link from bad luck."""
        unanswered = min(max(1 - self._answered, 1e-6), 0.5)
        return min(max(math.ceil(math.log(BAD_LUCK) / math.log(unanswered)), FEWEST_TRIES), MOST_TRIES)

    def acknowledged(self, expected: int, beyond: int, now: float) -> bool:
        """Take an ACK in; False if it tells nothing new. Moves to `lost` what it shows to be lost."""
        flights = self.flights
        if expected > self.next_sequence:
            return False
        told = [s for s in flights if s < expected or (s > expected and beyond >> s - expected - 1 & 1)]
        if not told:
            return False
        latest: Flight | None = None
        for sequence in told:
            flight = flights.pop(sequence)
            self.queued_bytes -= flight.parcel.size
            if sequence > expected and flight.parcel.event is not None:
                self._waiting[sequence] = flight.parcel.event
            if flight.broadcast:
                self.missing += ((flight.tries > 1) - self.missing) / 16
            else:
                self._answered += ((flight.tries == 1) - self._answered) / 16
            if flight.tries == 1:
                if latest is None or flight.order > latest.order:
                    latest = flight
                self._told_order = max(self._told_order, flight.order)
            else:  # which of its transmissions came is not known; the first, to be careful
                self._told_order = max(self._told_order, flight.first_order)
        if self._waiting:
            self._waiting = {s: event for s, event in self._waiting.items() if s >= expected}
        if latest is not None:
            self.round_trip.sample(now - latest.sent_at)
        self._since = self._progress_at = now
        # what was sent before something that has come is lost: one hop keeps the order
        self.lost = [f for f in flights.values() if f.order < self._told_order]
        return True

    def timed_out(self, now: float, room: int) -> bool:
        """The deadline has passed: back off and put the oldest flights that fit into `room` bytes in `lost`.

        False if it is time to give up.
        """
        oldest = next(iter(self.flights.values()))
        if now - self._progress_at >= self._give_up - 1e-9 and oldest.tries >= self._patience():
            return False
        before = now - self.round_trip.timeout
        self.round_trip.back_off()
        self._since = now
        self.lost = []
        for flight in self.flights.values():
            room -= flight.parcel.size
            if self.lost and (room < 0 or flight.sent_at > before):
                break
            self.lost.append(flight)
        return True

    def acknowledged_position(self) -> int:
        """The sequence number below which everything has come there in order."""
        return next(iter(self.flights), self.next_sequence)

    def take_lost(self) -> list[Flight]:
        lost, self.lost = self.lost, []
        return lost

    def undelivered_events(self) -> list[str]:
        """Events that are not known to be delivered at the far end, each once, in order."""
        sent = self._waiting | {s: f.parcel.event for s, f in self.flights.items()}
        events = [sent[s] for s in sorted(sent)] + [p.event for p in self.queue]
        return list(dict.fromkeys(event for event in events if event is not None))

    # ---- receiving --------------------------------------------------------------------------
    def arrived(self, sequence: int, content: Carrier) -> Iterator[Carrier]:
        """Take a DATA or FRAGMENT in; yields what is now in order, `expected` moving on before each."""
        ahead = sequence - self.expected
        self.unacknowledged += 1
        if self.paused:
            if 0 <= ahead < SPAN:
                self.held[sequence] = content
            return  # an ACK at once would have the far end send it again, for what is behind it has come
        if ahead:
            self.ack_now = True  # a repetition: our ACK was lost; or a gap: the far end may fill it at once
            if 0 < ahead < SPAN:
                self.held[sequence] = content
            return
        self.expected += 1
        yield content
        yield from self._in_turn()
        if self.held or self.unacknowledged >= ACK_AT:
            self.ack_now = True

    def resumed(self) -> Iterator[Carrier]:
        """The pause is over: yields what is in order, as `arrived` does."""
        self.paused = False
        for content in self._in_turn():
            self.unacknowledged += 1
            yield content

    def _in_turn(self) -> Iterator[Carrier]:
        while not self.closed and not self.paused and (held := self.held.pop(self.expected, None)) is not None:
            self.expected += 1
            yield held

    def assemble(self, fragment: wire.Fragment) -> bytes | None:
        """Add a piece; the whole message when it is the last. ValueError past wire.MAX_MESSAGE."""
        if len(self._pieces) + len(fragment.piece) > wire.MAX_MESSAGE:
            raise ValueError(f"a message of more than {wire.MAX_MESSAGE} bytes")
        self._pieces += fragment.piece
        if not fragment.last:
            return None
        whole = bytes(self._pieces)
        self._pieces.clear()
        return whole

    @property
    def assembling(self) -> bool:
        return bool(self._pieces)

    def acknowledgement(self) -> wire.Ack:
        """The ACK that tells all that has come so far."""
        self.unacknowledged = 0
        self.ack_now = False
        beyond = 0
        for sequence in self.held:
            if sequence > self.expected:
                beyond |= 1 << sequence - self.expected - 1
        return wire.Ack(self.far, self.link.nonce, self.expected, beyond)

    def fail(self) -> None:
        """Nothing is sent or delivered any more."""
        self._phase, self.closed = changed(CHANGES, self._phase, Phase.FAILED), True

    def end(self) -> None:
        """Likewise, and the memory is given back."""
        self._phase, self.closed = changed(CHANGES, self._phase, Phase.ENDED), True
        for timer in (self.timer, self.ack_timer, self.pause_timer):
            if timer is not None:
                timer.cancel()
        self.timer = self.ack_timer = self.pause_timer = None
        self.queue.clear()
        self.flights.clear()
        self._waiting.clear()
        self.held.clear()
        self.lost = []
        self._pieces.clear()
