"""Brokers among themselves: a new broker stops the old ones of a device and fetches what they hold.

cugola-murphy-picco-mobile-environment, section 4 (JEDI's moveIn): "B2 re-propagates the subscriptions, buffers what
they bring, asks B1 to stop buffering, to remove the subscriptions and to forward the buffered messages". STOP goes
along the tree in its channels, behind the subscriptions that it fences; so do the answers, back along the route that it
took. What follows from that for order and loss is in docs/roaming.md. The way to a former broker follows from where both
are in the tree; the device was told so by the one and tells the other. STOP goes through the whole tree where that is not
known, has changed, or nothing has come back.

A former broker keeps what it holds until the new one has all of it (FETCH behind the last), so a device that
moves on in the midst of it finds everything at one of the two. Both ends of every step are repeated by the new
broker's STOP, which each holder answers from the beginning; nothing here fails a tree link.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from node import wire
from node.bucket import Bucket
from node.event import Held, held, id_of
from node.ids import LinkId, NodeId, Peer
from node.memory import Memory, Once
from node.roaming import proofs
from node.roaming.session import Session
from node.routes import Route, between, has_come, place
from node.seams import DeviceChannels, FencedRouter, Host, LinkMessages, Placed

PART_BYTES, PART_EVENTS = 16384, 64  # of events in one HANDED; a larger event goes alone
LONGEST_ROUTE = 64  # brokers, schema/messages.toml
REMEMBERED = 1024  # STOPs that came before
STOPS, STOPS_A_SECOND = 64, 16.0  # that a broker takes from one neighbor: at once, and on and on
NEIGHBORS = 256
STOPPED = 256  # devices for which events are held that the new broker has not taken
AGAIN_LAST = 16.0  # s between two STOPs of one handoff, at most


class Holder:
    """One former broker, as the new one sees it."""

    __slots__ = ("broker", "bytes", "events", "outcome", "session")

    def __init__(self, broker: NodeId, session: int) -> None:
        self.broker = broker
        self.session = session
        self.events: list[Held] = []
        self.bytes = 0
        self.outcome = ""  # fetched, unknown, abandoned; empty: not known yet


class Handoff:
    """What the new broker of a device is about."""

    def __init__(self, session: Session, now: float, pause: float) -> None:
        self.session = session
        self.began = now
        self.holders = {node: Holder(node, held) for node, held, _ in session.holders}
        self.requests: dict[int, None] = {}  # numbers of the STOPs so far
        self.asked_all = False  # a STOP went through the whole tree
        self.pause = pause  # s until the next

    @property
    def open(self) -> list[Holder]:
        return [holder for holder in self.holders.values() if not holder.outcome]


class Stopped:
    """What a former broker holds for a device, until the new one has taken it."""

    def __init__(self, session: Session, epoch: int, turn: int, events: list[Held], until: float) -> None:
        self.key = session.key
        self.id = session.id
        self.epoch, self.turn = epoch, turn  # of the STOP
        self.events = events
        self.until = until  # s


class Owner(Protocol):
    """All sessions of this broker."""

    @property
    def of(self) -> Mapping[NodeId, Session]: ...
    def serve(self, session: Session, waited: bool) -> None: ...
    def end(self, session: Session, reason: str) -> None: ...
    def release(self, session: Session, reason: str) -> list[Held]: ...
    def refuse(self, session: Session) -> None: ...


class Handoffs:
    """All handoffs of a broker, on either side."""

    def __init__(self, station: Host, channels: DeviceChannels, routing: FencedRouter, tree: Placed,
                 sessions: Owner) -> None:
        self._station = station
        self._env, self._config = station.env, station.config
        self._channels = channels
        self._routing = routing
        self._tree = tree
        self._sessions = sessions
        self._me = station.me.node
        self._open: dict[NodeId, Handoff] = {}
        self._stopped: Memory[NodeId, Stopped] = Memory(STOPPED)
        self._came: Once[tuple[int, ...]] = Once(REMEMBERED)
        self._request: int | None = None  # of the latest STOP; drawn at the first, or all that is drawn would be another
        self._passes: Memory[NodeId, Bucket] = Memory(NEIGHBORS)  # of STOPs, by the tree neighbor that brings them
        self.link_messages: LinkMessages = {
            wire.Stop: self._stop, wire.Handed: self._handed, wire.Fetch: self._fetch}

    # ---- the new broker ---------------------------------------------------------------------------
    def begin(self, session: Session) -> None:
        """The device is here with all its filters: stop whoever held it before."""
        self.forget(session)
        if session.resumed and not session.holders:
            self._sessions.serve(session, False)
            return
        config = self._config
        handoff = self._open[session.device] = Handoff(session, self._env.now(), config.handoff_wait / 2)
        self._ask(handoff)
        if not handoff.holders:
            self._sessions.serve(session, False)
        else:
            self._env.call_later(config.handoff_wait, lambda: self._waited(handoff))

    def forget(self, session: Session) -> None:
        """The session ends, or begins another handoff: what was fetched in part is still where it was."""
        self._open.pop(session.device, None)

    def _ask(self, handoff: Handoff) -> None:
        """Now, and again after a while."""
        self._stop_others(handoff)
        if handoff.holders:
            self._env.call_later(handoff.pause, lambda: self._again(handoff))
            handoff.pause = min(2 * handoff.pause, AGAIN_LAST)

    def _stop_others(self, handoff: Handoff) -> None:
        """STOP: along the tree to each former broker the first time, if all are known; else to everybody."""
        session = handoff.session
        if self._request is None:
            self._request = self._env.random.getrandbits(32)
        self._request = self._request + 1 & 0xFFFFFFFF
        handoff.requests[self._request] = None
        proof = proofs.of_stop(session.key, session.device, session.epoch, session.turn, self._request,
                               session.holders, self._me)
        message = wire.Stop(session.device, session.epoch, session.turn, self._request, session.holders, proof, (self._me,), ())
        ways = [] if len(handoff.requests) > 1 else self._ways(session)
        if not ways:
            handoff.asked_all = True
            self._channels.send(self._routing.told_links(), message)
        for way in ways:
            self._send_on(message._replace(way=way), 0)

    def _ways(self, session: Session) -> list[Route]:
        """To each former broker along the tree; none where one of them is not known."""
        ways = [between(self._tree.root_path, session.paths.get(node, ())) for node in dict.fromkeys(one[0] for one in session.holders)]
        return ways if all(1 < len(way) <= LONGEST_ROUTE and self._next(way[1]) is not None for way in ways) else []

    def _next(self, node: NodeId) -> LinkId | None:
        """The link to a tree neighbor, if all has been told over it."""
        return next((link for link in self._routing.told_links() if link.far_end(self._me) == node), None)

    def _send_on(self, message: wire.Stop, at: int) -> bool:
        """From this broker, at this place of its way, to the next one; False where there is no link to it."""
        link = self._next(message.way[at + 1])
        if link is not None:
            self._channels.send([link], message)
        return link is not None

    def _again(self, handoff: Handoff) -> None:
        """Some holder has not answered wholly: ask again, or give up once it must have dropped everything."""
        if self._open.get(handoff.session.device) is not handoff or not handoff.open:
            return
        if self._env.now() - handoff.began < self._config.client_age:
            self._ask(handoff)
            return
        for holder in handoff.open:
            self._settle(handoff, holder, "abandoned")

    def _waited(self, handoff: Handoff) -> None:
        if self._open.get(handoff.session.device) is handoff and not handoff.session.is_served:
            self._finish(handoff, True)

    def _handed(self, link: LinkId, message: wire.Handed) -> None:
        if not self._along(link, message):
            return
        handoff = self._open.get(message.device)
        if handoff is None or message.request not in handoff.requests:
            self._station.dropped("unasked")
            return
        session, holder = handoff.session, handoff.holders.get(message.route[0])
        if message.status == "astray":
            if not handoff.asked_all and handoff.open:
                self._stop_others(handoff)
        elif message.status == "refused":
            self._sessions.refuse(session)
        elif holder is None or holder.outcome:
            self._station.dropped("unasked")
        elif message.status == "unknown":
            self._settle(handoff, holder, "unknown")
        elif not proofs.holds(message.proof, proofs.of_handed(
                session.key, message.device, message.request, message.serial, message.last, message.events,
                message.route[0], self._me)) or any(held(one, 0.0) is None for one in message.events):
            self._station.dropped("bad_proof")
        else:
            self._take(handoff, holder, message)

    def _take(self, handoff: Handoff, holder: Holder, message: wire.Handed) -> None:
        """A part of what the holder has; ask for the next, or tell that it was the last."""
        whole = False
        if message.serial == len(holder.events):
            now = self._env.now()
            holder.events += [one for event in message.events if (one := held(event, now)) is not None]
            holder.bytes += sum(len(wire.encode_message(event)) for event in message.events)
            whole = message.last
            if holder.bytes > 2 * self._config.client_buffer:  # more than it can have
                self._station.dropped("too_much")
                self._settle(handoff, holder, "unknown")
                return
        serial, session = len(holder.events), handoff.session
        proof = proofs.of_fetch(session.key, session.device, message.request, serial, self._me, holder.broker)
        self._pass_on(wire.Fetch(session.device, message.request, serial, proof, tuple(reversed(message.route))), 0)
        if whole:
            self._settle(handoff, holder, "fetched")

    def _settle(self, handoff: Handoff, holder: Holder, outcome: str) -> None:
        """Nothing more will come of this holder."""
        session, duplicates = handoff.session, 0
        holder.outcome = outcome
        if session.is_served:  # too late to put it before what the new routes brought
            duplicates = sum(not session.deliver(*one, late=True) for one in holder.events)
            self._record(handoff, holder, duplicates, late=True)
            holder.events = []
        if session.link is not None:
            self._channels.send([session.link], wire.Settled(holder.broker, holder.session))
        if not handoff.open and not session.is_served:
            self._finish(handoff, False)

    def _finish(self, handoff: Handoff, waited: bool) -> None:
        """Merge what has come and serve the device."""
        session = handoff.session
        done = [holder for holder in handoff.holders.values() if holder.outcome]
        duplicates = session.merge([one for holder in done for one in holder.events])
        for holder in done:  # of several, the first tells the duplicates of all
            self._record(handoff, holder, duplicates, late=False)
            holder.events, duplicates = [], 0
        self._env.record("handoff_waited", device=session.device, seconds=round(self._env.now() - handoff.began, 6),
                         waited=waited, holders=len(handoff.holders), events=len(session.buffer))
        self._sessions.serve(session, waited)

    def _record(self, handoff: Handoff, holder: Holder, duplicates: int, late: bool) -> None:
        self._env.record("handoff", device=handoff.session.device, holder=holder.broker, outcome=holder.outcome,
                         events=len(holder.events), bytes=holder.bytes, duplicates=duplicates, late=late,
                         asked=len(handoff.requests), seconds=round(self._env.now() - handoff.began, 6))

    # ---- every broker: STOP along the tree, or through all of it ---------------------------------------------
    def _stop(self, link: LinkId, message: wire.Stop) -> None:
        route = message.route
        if not has_come(route, self._me, link.far_end(self._me)):
            self._station.dropped("bad_route")
            return
        way, here = message.way, (*route, self._me)
        if way and way[:len(here)] != here:
            self._station.dropped("bad_route")
            return
        question = (message.device, message.epoch, message.turn, message.request, route[0], *way[-1:])
        if question in self._came:
            return
        if not self._may_bring(link.far_end(self._me)):
            self._station.dropped("too_often")
            return
        self._came.first_time(question)
        if way:
            if way == here:
                self._asked(message)
            elif not self._send_on(message._replace(route=here), len(route)):
                self._answer(message, "astray")
            return
        if len(route) < LONGEST_ROUTE:
            onward = [other for other in self._routing.told_links() if other != link]
            self._channels.send(onward, message._replace(route=here))
        self._asked(message)

    def _may_bring(self, neighbor: NodeId) -> bool:
        """Whether this neighbor keeps to the rate of STOPs."""
        bucket = self._passes.get(neighbor) or Bucket(STOPS, STOPS_A_SECOND, self._env.now())
        self._passes.remember(neighbor, bucket)
        return bucket.take(1, self._env.now())

    # ---- the former broker --------------------------------------------------------------------------
    def _asked(self, message: wire.Stop) -> None:
        """What a STOP means for what is held here."""
        session, stopped = self._sessions.of.get(message.device), self._stopped.get(message.device)
        named = [(held, had) for node, held, had in message.holders if node == self._me]
        known = session or stopped
        if known is None:
            if named:
                self._answer(message, "unknown")
            return
        right = proofs.of_stop(known.key, message.device, message.epoch, message.turn, message.request,
                               message.holders, message.route[0])
        if not proofs.holds(message.proof, right):
            self._station.dropped("bad_proof")
            self._answer(message, "refused")
        elif session is not None and (message.epoch, message.turn) <= (session.epoch, session.turn):
            self._station.dropped("late")  # the device has moved on to this broker meanwhile
        elif stopped is not None and session is None and (message.epoch, message.turn) < (stopped.epoch, stopped.turn):
            self._station.dropped("late")
        else:
            if session is not None:
                self._freeze(session, message, named)
            self._hand(message, named)

    def _freeze(self, session: Session, message: wire.Stop, named: list[tuple[int, int]]) -> None:
        """The device is elsewhere: its subscriptions go, and what it has not had is held for its new broker."""
        if message.epoch != session.epoch:
            self._sessions.end(session, "restarted")
            return
        if not named:  # it attached elsewhere as if it had never been here
            self._sessions.end(session, "unclaimed")
            return
        session.buffer.trim(next((had for held, had in named if held == session.id), 0))
        session.buffer.expire(self._env.now())
        events = self._sessions.release(session, "stopped")
        stopped = Stopped(session, message.epoch, message.turn, events, self._env.now() + self._config.client_age)
        forgotten = self._stopped.remember(session.device, stopped)
        if forgotten is not None:
            self._drop(*forgotten, "room")
        self._env.call_later(self._config.client_age, self._expire)

    def _hand(self, message: wire.Stop, named: list[tuple[int, int]]) -> None:
        stopped = self._stopped.get(message.device)
        if stopped is not None and named:
            stopped.epoch, stopped.turn = message.epoch, message.turn
            self._part(stopped, message.device, message.request, 0, (*message.route, self._me))
        elif named:
            self._answer(message, "unknown")
        elif stopped is not None:
            self._drop(message.device, self._stopped.pop(message.device), "unclaimed")

    def _part(self, stopped: Stopped, device: NodeId, request: int, serial: int, route: tuple[NodeId, ...]) -> None:
        """Hand over a part, along the route reversed."""
        events: list[wire.Event | wire.Late] = []
        size, now = 0, self._env.now()
        for one in stopped.events[serial:serial + PART_EVENTS]:
            event = one.carried(now)
            size += len(wire.encode_message(event))
            if events and size > PART_BYTES:
                break
            events.append(event)
        last = serial + len(events) >= len(stopped.events)
        proof = proofs.of_handed(stopped.key, device, request, serial, last, tuple(events), self._me, route[0])
        self._pass_on(wire.Handed(device, request, "events", serial, last, tuple(events), proof,
                                  tuple(reversed(route))), 0)

    def _answer(self, message: wire.Stop, status: str) -> None:
        self._pass_on(wire.Handed(message.device, message.request, status, 0, True, (), b"",
                                  (self._me, *reversed(message.route))), 0)

    def _fetch(self, link: LinkId, message: wire.Fetch) -> None:
        if not self._along(link, message):
            return
        stopped, new = self._stopped.get(message.device), message.route[0]
        if stopped is None:
            self._station.dropped("unasked")
        elif not proofs.holds(message.proof, proofs.of_fetch(stopped.key, message.device, message.request,
                                                            message.serial, new, self._me)):
            self._station.dropped("bad_proof")
        elif message.serial < len(stopped.events):
            self._part(stopped, message.device, message.request, message.serial, message.route)
        else:
            del self._stopped[message.device]
            self._env.record("handed_over", device=message.device, to=new, events=len(stopped.events))

    def key_of(self, device: NodeId) -> bytes | None:
        """The key of a device for which something is held here, though it is elsewhere."""
        stopped = self._stopped.get(device)
        return None if stopped is None else stopped.key

    def take_back(self, sender: Peer, message: wire.Attach) -> list[Held]:
        """The device is back before its new broker took what is held here."""
        stopped = self._stopped.pop(sender.node, None)
        if stopped is None:
            return []
        if stopped.epoch != sender.epoch:
            self._drop(sender.node, stopped, "restarted")
            return []
        return stopped.events

    def stop(self) -> None:
        """The broker ends its life in order."""
        for device, stopped in self._stopped.items():
            self._drop(device, stopped, "broker_stopped")

    def _expire(self) -> None:
        now = self._env.now()
        for device in [device for device, stopped in self._stopped.items() if stopped.until <= now + 1e-9]:
            self._drop(device, self._stopped.pop(device), "expired")

    def _drop(self, device: NodeId, stopped: Stopped, reason: str) -> None:
        for one in stopped.events:
            self._env.record("buffer_dropped", device=device, event=str(id_of(one.event)), reason=reason)

    # ---- along a route through the tree -------------------------------------------------------------------
    def _along(self, link: LinkId, message: wire.Handed | wire.Fetch) -> bool:
        """Whether a message is for this broker, the last of its route; pass it on if it is not."""
        route = message.route
        at = place(route, self._me, link.far_end(self._me))
        if not at:
            self._station.dropped("bad_route")
            return False
        if at + 1 < len(route):
            self._pass_on(message, at)
            return False
        return True

    def _pass_on(self, message: wire.Handed | wire.Fetch, at: int) -> None:
        """To the next of the route, if there is a link with room; else it is lost, and asked for again."""
        onward = message.route[at + 1] if at + 1 < len(message.route) else None
        link = None if onward is None else self._next(onward)
        if link is None or not self._channels.has_room(link):
            self._station.dropped("not_relayed")
        else:
            self._channels.send([link], message)
