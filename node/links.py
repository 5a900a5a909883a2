"""Reliable FIFO channels to the tree neighbors, over datagrams that may be lost, doubled or late.

The papers assume such links (cugola-frey-murphy-picco-dynamic-topology, section II). One channel per link
incarnation: its nonce is in every DATA, FRAGMENT and ACK, so that nothing leaks from a dead incarnation into
its successor; a message of a nonce that nobody knows is answered by RESET and changes nothing.

Everything queued in one instant leaves together at its end: what goes to the same neighbor shares
datagrams, with the acknowledgements due to it; a message for several neighbors is broadcast where `airtime`
finds that cheaper. Retransmissions are unicast. The state of one channel is in `channel`.

A neighbor that has had this node tell others more than it may (`allowance`) waits: what follows in its channel is neither
delivered nor acknowledged for a while, so its own window and queue hold it back.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from node import wire
from node.airtime import broadcast_is_cheaper
from node.allowance import SPREADING, Allowance
from node.channel import PIECE, SEQUENCES, SPAN, Carrier, Channel, Flight, Parcel
from node.event import id_of
from node.ids import LinkId, NodeId, Peer
from node.memory import Memory
from node.seams import HopMessages, LinkNotices, Neighborhood, Radio

# bytes of messages in one datagram; more than 23 of them take two bytes to count
BODY = wire.MAX_DATAGRAM - wire.overhead(b"some secret") - 2
ENVELOPE = 7  # bytes at most that a DATA or FRAGMENT adds to what it carries, without addressees
ADDRESSEE = 16  # bytes at most of one addressee
ACK = 27  # bytes at most of an ACK
ADDRESSEES = 16  # of one DATA
# What nobody may count on: it is dropped where the queue is full, and without retransmission sent once only.
LOOSE = wire.EVENTS | {wire.Late, wire.PushGossip, wire.SubscriberPull}
CONTROL_RESERVE = 65536  # bytes of queue that events may not use, over `channel_queue`
RESETS = 64  # RESETs remembered, and the most in RESET_PAUSE
RESET_PAUSE = 0.2  # s between two RESETs for the same link
PRESSING = 16  # messages behind one another that wait for the allowance of their neighbor: a record
NEIGHBORS = 256  # whose allowances are remembered, over all links that they ever had

Send = tuple[Channel, Flight]  # one transmission to one neighbor
S = TypeVar("S", Send, tuple[Channel, None])  # or one that is sent once
Item = tuple[wire.Message, int, list[Send]]  # a message on its way out, its size at most, what it carries


class Links:
    """All channels of a node."""

    def __init__(self, station: Radio, neighbors: Neighborhood, notices: LinkNotices) -> None:
        self._station = station
        self._env = station.env
        self._config = station.config
        self._me = station.me.node
        self._neighbors = neighbors
        self._notices = notices
        self._channels: dict[tuple[NodeId, int], Channel] = {}  # by far end and nonce
        self._links: dict[LinkId, Channel] = {}
        self._ready: dict[Channel, None] = {}  # with something to send at the end of this instant
        self._failing: dict[Channel, str] = {}
        self._flush_set = False
        self._once: dict[Parcel, list[Channel]] = {}  # to be sent at the end of this instant, and that is all
        self._once_bytes = 0
        self._resets: dict[tuple[NodeId, int], float] = {}
        self._allowances: Memory[NodeId, Allowance] = Memory(NEIGHBORS)
        self.hop_messages: HopMessages = {
            wire.Data: self._data, wire.Fragment: self._data, wire.Ack: self._ack, wire.Reset: self._reset,
            wire.Once: self._once_received}

    # ---- what others ask --------------------------------------------------------------
    def open(self, link: LinkId, progress: Callable[[], object] | None = None) -> None:
        """Begin a channel at sequence number 0; harmless when it is open. `progress()` is called at each
        acknowledgement that tells something new."""
        if link in self._links:
            return
        far = link.far_end(self._me)
        channel = Channel(link, far, self._config)
        channel.progress = progress
        self._links[link] = self._channels[far, link.nonce] = channel
        if far in self._allowances:
            self._pause(channel, self._allowances[far])

    def close(self, link: LinkId) -> None:
        """End a channel; events not acknowledged are recorded as dropped. Harmless when it is closed."""
        channel = self._links.pop(link, None)
        if channel is None:
            return
        del self._channels[channel.far, link.nonce]
        self._ready.pop(channel, None)
        self._failing.pop(channel, None)
        for event in channel.undelivered_events():
            self._env.record("event_dropped", event=event, link=str(link), reason="link_lost")
        channel.end()

    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        """Queue a message in the channels of these links. What finds no room is recorded.

        What is LOOSE is then dropped on that link. Anything else fails the link, because neither end may go on
        as if the other had been told. Without `retransmission` what is LOOSE and fits a datagram is sent once, beside
        the channels. ValueError for a message larger than a channel carries.
        """
        parcels = self._parcels(message)
        size = sum(p.size for p in parcels)
        event, loose = parcels[0].event, type(message) in LOOSE
        limit = self._config.channel_queue + (0 if loose else CONTROL_RESERVE)
        once = loose and not self._config.retransmission and parcels[0].message is not None
        for link in links:
            channel = self._links.get(link)
            if channel is None or channel.closed:
                if event is not None:
                    self._env.record("event_dropped", event=event, link=str(link), reason="link_lost")
                continue
            queued = self._once_bytes if once else channel.queued_bytes
            if queued + size > limit or channel.position + len(parcels) > SEQUENCES - SPAN:
                self._overflow(channel, message, event)
                continue
            if once:
                self._once.setdefault(parcels[0], []).append(channel)
                self._once_bytes += size
                self._wake(channel)
                continue
            channel.queue.extend(parcels)
            channel.queued_bytes += size
            self._wake(channel)

    def sent_position(self, link: LinkId) -> int:
        """How many sequence numbers all that was queued so far takes; 0 if the link is not open."""
        channel = self._links.get(link)
        return channel.position if channel is not None else 0

    def received_position(self, link: LinkId) -> int:
        """How many sequence numbers were delivered, the message being delivered included."""
        channel = self._links.get(link)
        return channel.expected if channel is not None else 0

    def acknowledged_position(self, link: LinkId) -> int:
        """How many sequence numbers, from the first on, have come to the far end; 0 if the link is not open."""
        channel = self._links.get(link)
        return channel.acknowledged_position() if channel is not None else 0

    def has_room(self, link: LinkId) -> bool:
        """Whether the queue is at most half full: for messages that may be lost, and must not fail the link."""
        channel = self._links.get(link)
        return channel is not None and 2 * channel.queued_bytes <= self._config.channel_queue

    # ---- queueing ---------------------------------------------------------------------------
    @staticmethod
    def _parcels(message: wire.Message) -> list[Parcel]:
        inner = message.event if type(message) is wire.Late else message
        event = str(id_of(inner)) if isinstance(inner, (wire.Event, wire.TaggedEvent)) else None
        encoded = wire.encode_message(message)
        size = len(encoded)
        if size <= PIECE:
            return [Parcel(message, b"", True, size, event)]
        return [Parcel(None, encoded[i:i + PIECE], i + PIECE >= size, min(PIECE, size - i), event)
                for i in range(0, size, PIECE)]

    def _overflow(self, channel: Channel, message: wire.Message, event: str | None) -> None:
        link = str(channel.link)
        self._env.record("queue_overflow", link=link, message=message.name)
        if event is not None:
            self._env.record("event_dropped", event=event, link=link, reason="overflow")
        if type(message) not in LOOSE or channel.position > SEQUENCES - 2 * SPAN:
            self._failing[channel] = "overflow"
            self._wake(channel)

    def _wake(self, channel: Channel) -> None:
        self._ready[channel] = None
        if not self._flush_set:
            self._flush_set = True
            self._env.call_later(0.0, self._flush)

    # ---- sending ----------------------------------------------------------------------------
    def _flush(self) -> None:
        self._flush_set = False
        failing, self._failing = self._failing, {}
        for channel, reason in failing.items():
            self._fail(channel, reason)
        ready, self._ready = self._ready, {}
        now = self._env.now()
        fresh: dict[Parcel, list[Send]] = {}
        outgoing: dict[tuple[NodeId, ...], list[Item]] = {}  # by addressees; several: a broadcast
        for channel in ready:
            if channel.closed:
                continue
            if channel.lost:
                for flight in channel.take_lost():
                    self._put(outgoing, [(channel, flight)])
            if channel.queue:
                for flight in channel.take():
                    fresh.setdefault(flight.parcel, []).append((channel, flight))
        for parcel, sends in fresh.items():
            for group in self._groups(parcel, sends):
                self._put(outgoing, group)
        once, self._once, self._once_bytes = self._once, {}, 0
        for parcel, channels in once.items():
            for alike in self._groups(parcel, [(channel, None) for channel in channels if not channel.closed]):
                self._put_once(outgoing, parcel, [channel for channel, _ in alike])
        self._add_acknowledgements(outgoing, ready)
        for addressees, items in outgoing.items():
            self._transmit(addressees, items, now)
        for channel in ready:
            self._set_timer(channel)

    def _groups(self, parcel: Parcel, sends: list[S]) -> list[list[S]]:
        """Who of its addressees share a transmission: all (by broadcast), or nobody."""
        if len(sends) > 1 and self._config.multicast:
            missing = [channel.missing for channel, _ in sends]
            bystanders = max(len(self._neighbors.two_way) - len(sends), 0)
            if broadcast_is_cheaper(parcel.size + ENVELOPE + ADDRESSEE * len(sends), missing, bystanders,
                                    self._config.base_rate, self._config.data_rate):
                most = min(ADDRESSEES, (BODY - ENVELOPE - parcel.size) // ADDRESSEE)
                return [sends[i:i + most] for i in range(0, len(sends), most)]
        return [[send] for send in sends]

    @staticmethod
    def _put(outgoing: dict[tuple[NodeId, ...], list[Item]], group: list[Send]) -> None:
        parcel = group[0][1].parcel
        message = parcel.addressed(tuple((c.far, c.link.nonce, f.sequence) for c, f in group))
        size = parcel.size + ENVELOPE + ADDRESSEE * len(group)
        outgoing.setdefault(tuple(c.far for c, _ in group), []).append((message, size, group))

    @staticmethod
    def _put_once(outgoing: dict[tuple[NodeId, ...], list[Item]], parcel: Parcel, to: list[Channel]) -> None:
        assert parcel.message is not None, "what is sent once is whole"
        message = wire.Once(tuple((channel.far, channel.link.nonce) for channel in to), parcel.message)
        size = parcel.size + ENVELOPE + ADDRESSEE * len(to)
        outgoing.setdefault(tuple(channel.far for channel in to), []).append((message, size, []))

    @staticmethod
    def _add_acknowledgements(outgoing: dict[tuple[NodeId, ...], list[Item]], ready: Iterable[Channel]) -> None:
        """An ACK rides with whatever goes to its addressee; alone only if it can wait no longer."""
        for channel in ready:
            if not channel.unacknowledged or channel.closed:
                continue
            company = next((a for a in outgoing if channel.far in a), None) if outgoing else None
            if company is not None:
                outgoing[company].append((channel.acknowledgement(), ACK, []))
            elif channel.ack_now:
                outgoing[channel.far,] = [(channel.acknowledgement(), ACK, [])]

    def _transmit(self, addressees: tuple[NodeId, ...], items: list[Item], now: float) -> None:
        """Fill datagrams with the items, in order, and hand them to the radio."""
        batch: list[wire.Message] = []
        room = BODY
        for message, size, group in items:
            if size > room:
                self._hand_over(addressees, batch)
                batch, room = [], BODY
            batch.append(message)
            room -= size
            for channel, flight in group:
                channel.transmitted(flight, now, len(group) > 1)
        self._hand_over(addressees, batch)

    def _hand_over(self, addressees: tuple[NodeId, ...], batch: list[wire.Message]) -> None:
        if len(addressees) > 1:
            self._station.broadcast(*batch)
        else:
            self._station.unicast(addressees[0], *batch)

    # ---- time -------------------------------------------------------------------------------
    def _set_timer(self, channel: Channel) -> None:
        """Have the timer run no later than the deadline; it is not moved back at each ACK, it looks again."""
        deadline = channel.deadline()
        if channel.closed or deadline is None:
            return
        if channel.timer is not None:
            if channel.timer_at <= deadline:
                return
            channel.timer.cancel()
        channel.timer_at = deadline
        delay = max(deadline - self._env.now(), 0.0)
        channel.timer = self._env.call_later(delay, lambda: self._timer_ran(channel))

    def _timer_ran(self, channel: Channel) -> None:
        channel.timer = None
        deadline = channel.deadline()
        if deadline is None or channel.closed:
            return
        now = self._env.now()
        if now < deadline - 1e-9:
            self._set_timer(channel)
        elif channel.timed_out(now, BODY - ENVELOPE - ADDRESSEE):
            self._notices.link_unanswered(channel.link, next(iter(channel.flights.values())).sent_at)
            self._wake(channel)
        else:
            self._fail(channel, "channel")

    def _ack_timer_ran(self, channel: Channel) -> None:
        channel.ack_timer = None
        if channel.unacknowledged and not channel.closed:
            channel.ack_now = True
            self._wake(channel)

    def _fail(self, channel: Channel, reason: str) -> None:
        """Say so once; the tree closes the link. The channel is mute, and keeps what close() records."""
        if channel.closed:
            return
        channel.fail()
        self._notices.link_failed(channel.link, reason)

    # ---- receiving --------------------------------------------------------------------------
    def _data(self, sender: Peer, message: wire.Data | wire.Fragment) -> None:
        me = self._me
        for node, nonce, sequence in message.addressees:
            if node == me:
                channel = self._channels.get((sender.node, nonce)) or self._unknown(sender, nonce)
                if channel is not None and not channel.closed:
                    self._arrived(channel, sequence, message)
                elif channel is not None:
                    self._station.dropped("dead_link")  # it has failed just now
                return

    def _once_received(self, sender: Peer, message: wire.Once) -> None:
        for node, nonce in message.addressees:
            if node == self._me:
                channel = self._channels.get((sender.node, nonce)) or self._unknown(sender, nonce)
                if type(message.message) not in LOOSE:
                    self._station.dropped("misplaced")  # beside the channel nothing else keeps its order
                elif channel is not None and not channel.closed:
                    self._notices.link_message(channel.link, message.message)
                elif channel is not None:
                    self._station.dropped("dead_link")
                return

    def _unknown(self, sender: Peer, nonce: int) -> Channel | None:
        """A message of a link that is not open: it may be just about to open, else it is dead."""
        link = LinkId.between(self._me, sender.node, nonce)
        if self._notices.link_pending(link):
            self._notices.link_heard(link)
            return self._links.get(link)  # still none: the far end sends it again
        self._station.dropped("dead_link")
        now = self._env.now()
        key = (sender.node, nonce)
        if now - self._resets.get(key, -RESET_PAUSE) < RESET_PAUSE:
            return None
        if len(self._resets) >= RESETS:
            self._resets = {k: t for k, t in self._resets.items() if now - t < RESET_PAUSE}
            if len(self._resets) >= RESETS:
                return None
        self._resets[key] = now
        self._station.unicast(sender.node, wire.Reset(nonce))
        return None

    def _arrived(self, channel: Channel, sequence: int, message: wire.Data | wire.Fragment) -> None:
        self._take_in(channel, channel.arrived(sequence, message))

    def _take_in(self, channel: Channel, contents: Iterable[Carrier]) -> None:
        """Deliver what has come and is in order, and acknowledge it soon."""
        for content in contents:
            inner: wire.Message | None
            if isinstance(content, wire.Data) and not channel.assembling:
                inner = content.message
            else:
                try:
                    inner = self._assemble(channel, content)
                except ValueError:
                    self._station.dropped("malformed")
                    self._fail(channel, "malformed")
                    return
                if inner is None:
                    continue
            if type(inner) in SPREADING:
                self._charge(channel, inner)
            self._notices.link_message(channel.link, inner)
            if channel.closed:
                return
        if channel.ack_now:
            self._wake(channel)
        elif channel.ack_timer is None:
            # jittered: neighbors that heard one broadcast are often hidden from each other, and would collide
            delay = self._config.ack_delay * self._env.random.uniform(0.5, 1.0)
            channel.ack_timer = self._env.call_later(delay, lambda: self._ack_timer_ran(channel))

    # ---- neighbors that spread too much -----------------------------------------------------------
    def _charge(self, channel: Channel, message: wire.Message) -> None:
        """Others are told because of this message; what follows it may have to wait."""
        allowance = self._allowances.get(channel.far) or Allowance(self._env.now())
        self._allowances.remember(channel.far, allowance)
        allowance.charge(message, self._env.now())
        self._pause(channel, allowance)

    def _pause(self, channel: Channel, allowance: Allowance) -> None:
        """Let the channel wait, if it has to."""
        wait = allowance.wait(self._env.now())
        if wait and not channel.paused:
            channel.paused = True
            channel.pause_timer = self._env.call_later(wait, lambda: self._resume(channel, allowance))

    def _resume(self, channel: Channel, allowance: Allowance) -> None:
        channel.pause_timer = None
        if channel.closed:
            return
        if len(channel.held) >= PRESSING and allowance.is_news(self._env.now()):
            what, limit = allowance.exceeded
            self._env.record("refused", what=f"{what} from neighbor {channel.far}, a second", limit=int(limit))
        self._take_in(channel, channel.resumed())

    @staticmethod
    def _assemble(channel: Channel, content: wire.Data | wire.Fragment) -> wire.Message | None:
        if isinstance(content, wire.Data):
            raise ValueError("a message between the pieces of another")
        whole = channel.assemble(content)
        if whole is None:
            return None
        try:
            return wire.decode_message(whole)
        except wire.Malformed as error:
            raise ValueError(error.reason) from error

    def _ack(self, sender: Peer, message: wire.Ack) -> None:
        if message.to != self._me:
            return  # rides in a broadcast, for another
        channel = self._channels.get((sender.node, message.nonce))
        if channel is None or channel.closed:
            return
        if channel.acknowledged(message.expected, message.beyond, self._env.now()):
            if channel.lost or channel.queue:
                self._wake(channel)
            else:
                self._set_timer(channel)
            if channel.progress is not None:
                channel.progress()

    def _reset(self, sender: Peer, message: wire.Reset) -> None:
        """Counts only from the far end: the key is the sender's own id, whoever else knows the nonce."""
        channel = self._channels.get((sender.node, message.nonce))
        if channel is not None:
            self._fail(channel, "reset")
