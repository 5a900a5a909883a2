"""The broker's side of devices: they attach, tell their filters, publish, fall silent, and are forgotten.

cugola-murphy-picco-mobile-environment, section 4. Everything that a device may ask is bounded, and what is
refused is counted (`traffic.dropped`) or recorded. docs/roaming.md has the protocol; what brokers tell each
other about a device that moved is in handoff.py.
"""
from __future__ import annotations

import math

from node import wire
from node.clients import MAX_FILTERS_PER_CLIENT
from node.event import Held, id_of
from node.ids import LinkId, NodeId, Peer
from node.memory import Memory
from node.roaming.handoff import Handoffs
from node.roaming.question import ALIVE_BEACONS
from node.roaming.session import CHANGES_A_SECOND, Phase, Session
from node.routes import Route
from node.seams import DeviceChannels, FencedRouter, HopMessages, LinkMessages, Neighborhood, Placed, Radio

MAX_SESSIONS = 256
PATH = 16  # brokers of a path that a device is told (schema/messages.toml)
SILENT_ALIVES = 3.25  # ALIVEs missed, and jitter, until a device is away
ATTACH_PAUSE = 0.1  # s between two attachments of a device
BARRED = 10.0  # s that an impostor's or a flood's author is refused


class Sessions:
    """All sessions of a broker."""

    def __init__(self, station: Radio, neighbors: Neighborhood, channels: DeviceChannels, routing: FencedRouter,
                 tree: Placed) -> None:
        self._station = station
        self._env, self._config = station.env, station.config
        self._me = station.me.node
        self._neighbors = neighbors
        self._channels = channels
        self._routing = routing
        self._tree = tree
        self.of: dict[NodeId, Session] = {}
        self.links: dict[LinkId, Session] = {}
        self.hops: dict[str, Session] = {}
        self._barred: Memory[NodeId, float] = Memory(MAX_SESSIONS)  # device -> until when
        self._full_recorded = -math.inf
        self._sweeping = False
        self.handoffs = Handoffs(station, channels, routing, tree, self)
        self.hop_messages: HopMessages = {
            wire.Attach: self._attach, wire.Alive: self._alive, wire.MoveOut: self._move_out}
        self.device_messages: LinkMessages = {
            wire.Want: self._want, wire.Unwant: self._unwant, wire.MoveIn: self._move_in,
            wire.Publish: self._publish}
        self.link_messages = self.handoffs.link_messages

    def stop(self) -> None:
        """The broker ends its life in order: attached devices are told, and what it holds for any is lost."""
        for link, session in self.links.items():
            self._station.unicast(session.device, wire.Reset(link.nonce))
        for session in self.of.values():
            for held in session.buffer.events():
                self._env.record("buffer_dropped", device=session.device, event=str(id_of(held.event)),
                                 reason="broker_stopped")
        self.handoffs.stop()

    # ---- attaching ------------------------------------------------------------------------------
    def _attach(self, sender: Peer, message: wire.Attach) -> None:
        device = sender.node
        session = self.of.get(device)
        if session is not None and (session.epoch, session.turn, session.nonce) == (
                sender.epoch, message.turn, message.nonce) and session.link is not None:
            self._station.unicast(device, wire.Attached(message.nonce, session.id, "", self._path()))  # our answer was lost
            return
        refused = self._refusal(sender, message, session)
        if refused:
            self._station.dropped(f"attach_{refused}")
            self._station.unicast(device, wire.Attached(message.nonce, 0, refused, ()))
            return
        if session is not None and sender.epoch > session.epoch:
            self.end(session, "restarted")
            session = None
        if session is None:
            held = self.handoffs.take_back(sender, message)
            session = Session(self._station, self._channels, device, sender.epoch, message.key)
            self.of[device] = self.hops[session.hop] = session
            session.merge(held)
        else:
            self._begin_again(session, message)
        self._open(session, message)

    def _refusal(self, sender: Peer, message: wire.Attach, session: Session | None) -> str:
        """Why a device may not attach; empty if it may."""
        device, now = sender.node, self._env.now()
        if device in self._neighbors.two_way or now < self._barred.get(device, -math.inf):
            return "identity"
        key = self.handoffs.key_of(device) if session is None else session.key
        if key is not None and key != message.key:
            return "identity"
        if session is None:
            return "" if len(self.of) < MAX_SESSIONS or self._make_room() else "full"
        if (sender.epoch, message.turn) <= (session.epoch, session.turn):
            return "moved"
        return "too_often" if now - session.attached_at < ATTACH_PAUSE else ""

    def _make_room(self) -> bool:
        """End the session that is away for longest; False, and a record, when all are attached."""
        away = [session for session in self.of.values() if session.link is None]
        if away:
            self.end(min(away, key=lambda session: session.away_since), "room")
            return True
        if self._env.now() - self._full_recorded >= 60.0:
            self._full_recorded = self._env.now()
            self._env.record("refused", what="devices", limit=MAX_SESSIONS)
        return False

    def _begin_again(self, session: Session, message: wire.Attach) -> None:
        """The device is back at the broker that holds its session."""
        self._close_channel(session)
        had = next((had for node, held, had in message.holders
                    if (node, held) == (self._me, session.id)), 0)
        session.buffer.trim(had)
        session.resumed = True

    def _open(self, session: Session, message: wire.Attach) -> None:
        me = self._me
        session.turn, session.nonce = message.turn, message.nonce
        session.holders = tuple(one for one in message.holders if one[0] != me)
        session.paths = {one[0]: path for one, path in zip(message.holders, message.paths)}
        session.heard_at = session.attached_at = self._env.now()
        session.enter(Phase.TELLING)
        session.told = set()
        session.link = LinkId.between(me, session.device, message.nonce)
        self.links[session.link] = session
        self._channels.open(session.link, session.acknowledged)
        self._env.record("session_opened", device=session.device, epoch=session.epoch, turn=session.turn,
                         resumed=session.resumed, holders=[node for node, _, _ in session.holders])
        self._station.unicast(session.device, wire.Attached(message.nonce, session.id, "", self._path()))
        for node, held, _ in message.holders:
            if node == me and held != session.id:
                self._channels.send([session.link], wire.Settled(node, held))
        if not self._sweeping:
            self._sweeping = True
            self._env.call_later(self._config.hello_interval, self._sweep)

    def _path(self) -> Route:
        """Where this broker is in the tree, for the device to tell its next broker."""
        return self._tree.root_path[:PATH]

    def _move_in(self, link: LinkId, message: wire.MoveIn) -> None:
        """All filters have been told, and the routing has told them on: now the former brokers may stop."""
        session = self.links[link]
        if not session.is_telling:
            self._station.dropped("misplaced")
            return
        for key in [key for key in session.filters if key not in session.told]:
            self._take_back(session, key)
        session.enter(Phase.SERVED if session.is_served else Phase.FETCHING)
        self.handoffs.begin(session)

    def serve(self, session: Session, waited: bool) -> None:
        """The handoff is over, or has been waited for: from here on events flow and publications come."""
        if not session.is_served:
            session.enter(Phase.EARLY if session.is_telling else Phase.SERVED)
            if session.link is not None:
                self._channels.send([session.link], wire.Ready(waited))
            session.pump()

    # ---- filters and publications -------------------------------------------------------------------
    def _want(self, link: LinkId, message: wire.Want) -> None:
        session = self.links[link]
        fresh = [wanted for wanted in message.filters if wanted.hash not in session.filters]
        if session.is_telling:
            session.told.update(wanted.hash for wanted in message.filters)
        if not self._unhurried(session, len(fresh)):
            return
        for wanted in fresh:
            if len(session.filters) >= MAX_FILTERS_PER_CLIENT:
                self._station.dropped("too_many_filters")
                if not session.refused_filters:
                    session.refused_filters = True
                    self._env.record("refused", what=f"filters of device {session.device}",
                                     limit=MAX_FILTERS_PER_CLIENT)
                return
            session.filters[wanted.hash] = wanted
            self._routing.subscribe(session.hop, wanted)

    def _unwant(self, link: LinkId, message: wire.Unwant) -> None:
        session = self.links[link]
        keys = [key for key in message.filters if key in session.filters]
        if self._unhurried(session, len(keys)):
            for key in keys:
                self._take_back(session, key)

    def _unhurried(self, session: Session, changes: int) -> bool:
        """Whether the device keeps to the rate of changes; one that does not is barred for a while, because each
        change travels through the whole network."""
        if session.may_change(changes):
            return True
        self._station.dropped("flood")
        self._env.record("refused", what=f"changes of filters of device {session.device}, a second",
                         limit=int(CHANGES_A_SECOND))
        self._bar(session, "flood")
        return False

    def _take_back(self, session: Session, key: bytes) -> None:
        if session.filters.pop(key, None) is not None:
            self._routing.unsubscribe(session.hop, key)

    def _publish(self, link: LinkId, message: wire.Publish) -> None:
        session, event = self.links[link], message.event
        if type(event) is not wire.Event or not session.is_served:
            self._station.dropped("misplaced")
        elif (event.source, event.epoch, event.hops) != (session.device, session.epoch, 0):
            self._station.dropped("not_its_own")
        else:
            self._routing.publish(event)

    # ---- absence ----------------------------------------------------------------------------------
    def _alive(self, sender: Peer, message: wire.Alive) -> None:
        session = self.of.get(sender.node)
        if session is None or session.link is None or session.nonce != message.nonce or session.epoch != sender.epoch:
            self._station.unicast(sender.node, wire.Reset(message.nonce))
        else:
            session.heard_at = self._env.now()
            self._station.unicast(sender.node, wire.Served(message.nonce, self._path()))

    def _move_out(self, sender: Peer, message: wire.MoveOut) -> None:
        session = self.of.get(sender.node)
        if session is not None and (session.nonce, session.epoch) == (message.nonce, sender.epoch):
            if message.leave:
                self.end(session, "left")
            else:
                self._away(session, "moved_out")
        self._station.unicast(sender.node, wire.MovedOut(message.nonce))

    def link_failed(self, link: LinkId, reason: str) -> None:
        """The channel to a device gave up, or the device reset it."""
        self._away(self.links[link], reason)

    def _away(self, session: Session, reason: str) -> None:
        """Keep what comes for the device, until it is back or asks for it elsewhere."""
        if session.link is None:
            return
        self._close_channel(session)
        session.away_since = self._env.now()
        self._env.record("session_away", device=session.device, reason=reason, events=len(session.buffer))
        if not session.filters and not session.buffer:
            self.end(session, "idle")

    def _close_channel(self, session: Session) -> None:
        if session.link is not None:
            del self.links[session.link]
            self._channels.close(session.link)
            session.link = None
        session.buffer.rewind()

    def _sweep(self) -> None:
        """Every beacon interval while there are sessions: who is silent, and whom to forget."""
        now, config = self._env.now(), self._config
        silent = SILENT_ALIVES * ALIVE_BEACONS * config.hello_interval
        for session in list(self.of.values()):
            session.buffer.expire(now)
            if session.link is not None and now - session.heard_at > silent:
                self._away(session, "silent")
            elif session.link is None and now - session.away_since >= config.client_age:
                self.end(session, "expired")
        self._sweeping = bool(self.of)
        if self._sweeping:
            self._env.call_later(config.hello_interval, self._sweep)

    # ---- the end of a session -------------------------------------------------------------------------
    def end(self, session: Session, reason: str) -> None:
        """Forget a device; what waited for it is dropped."""
        for held in self.release(session, reason):
            self._env.record("buffer_dropped", device=session.device, event=str(id_of(held.event)), reason=reason)

    def release(self, session: Session, reason: str) -> list[Held]:
        """End a session and give out what waited for the device."""
        linked = session.link
        self._close_channel(session)
        if linked is not None and reason != "left":
            self._station.unicast(session.device, wire.Reset(linked.nonce))
        for key in list(session.filters):
            self._take_back(session, key)
        del self.of[session.device], self.hops[session.hop]
        self.handoffs.forget(session)
        self._env.record("session_closed", device=session.device, turn=session.turn, reason=reason,
                         events=len(session.buffer))
        return session.buffer.clear()

    def refuse(self, session: Session) -> None:
        """The device is another one elsewhere: an impostor, or one who came too late with a used id."""
        self._env.record("refused", what=f"device {session.device}, which is another one elsewhere", limit=1)
        self._bar(session, "identity")

    def _bar(self, session: Session, reason: str) -> None:
        self._barred.remember(session.device, self._env.now() + BARRED)
        if session.device in self.of:
            self.end(session, reason)
