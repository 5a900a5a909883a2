"""A host that is a client only: a core like `broker.Broker`, with local clients and a session at a broker.

cugola-murphy-picco-mobile-environment, section 4, the client's side of moveOut and moveIn. It has no input or
output of its own (`node.environment`), so it runs in every world where a broker does, with the same methods: the
simulator, the daemon's shell and the programs on the host do not know which of the two they have. It listens to
beacons, attaches to the broker that it hears best, tells it the filters of its clients, hands them the events
that come, once, and sends what they publish, once, when it is attached.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import auto
from typing import Any

from node import wire
from node.clients import Clients, Deliver
from node.config import NodeConfig
from node.environment import Environment
from node.event import held, id_of
from node.filters import Attributes, Filter
from node.ids import Epoch, EventId, LinkId, NodeId, Peer
from node.links import Links
from node.roaming.beacons import Beacons
from node.roaming.question import Question
from node.roaming.uplink import Uplink
from node.routes import Route
from node.seams import HopMessages
from node.state import Changes, State, changed
from node.station import Decode, Station

HOLDERS = 8  # brokers that may hold events for this device
ASK_WAITS = (0.05, 0.1, 0.2, 0.4)  # s for the answer to each ATTACH
LEAVE_WAITS = (0.05, 0.1)  # s for the answer to each MOVE_OUT but the last


class Phase(State):
    """Of one turn at one broker."""

    ASKING = auto()  # ATTACH is out
    ATTACHED = auto()  # the channel is open
    SERVED = auto()  # READY came
    LEAVING = auto()  # the channel is closed, MOVE_OUT is out
    OVER = auto()


CHANGES: Changes[Phase] = {
    Phase.ASKING: {Phase.ATTACHED, Phase.OVER},  # refused, unanswered, or moved out meanwhile
    Phase.ATTACHED: {Phase.SERVED, Phase.LEAVING, Phase.OVER},
    Phase.SERVED: {Phase.LEAVING, Phase.OVER},
    Phase.LEAVING: {Phase.OVER},
    Phase.OVER: set(),
}


class Holding:
    """A broker that may hold events for this device."""

    __slots__ = ("broker", "had", "path", "session")

    def __init__(self, broker: NodeId, session: int) -> None:
        self.broker = broker
        self.session = session
        self.had = 0  # serial of the last event had
        self.path: Route = ()  # towards the root of the brokers' tree, as it told last


class Attachment:
    """One turn at one broker."""

    __slots__ = ("broker", "holding", "link", "nonce", "phase", "since", "tries", "turn")

    def __init__(self, broker: Peer, turn: int, nonce: int, link: LinkId, now: float) -> None:
        self.broker = broker
        self.turn = turn
        self.nonce = nonce
        self.link = link
        self.phase = Phase.ASKING
        self.tries = 0
        self.holding = Holding(broker.node, 0)  # as the broker names it, once attached
        self.since = now

    def enter(self, phase: Phase) -> None:
        self.phase = changed(CHANGES, self.phase, phase)

    @property
    def is_open(self) -> bool:
        """Whether its channel is."""
        return self.phase in (Phase.ATTACHED, Phase.SERVED)


class Nobody:
    """The neighbors of a device: it is none of anybody's."""

    two_way: Mapping[NodeId, Peer] = {}


class Device:
    """One life of one device. Public methods as those of `broker.Broker`, and `move_out`, `move_in`."""

    def __init__(self, node: NodeId, epoch: Epoch, config: NodeConfig, env: Environment,
                 decode: Decode = wire.decode, key: bytes = b"") -> None:
        """`key`: 16 bytes, the same in all lives of the device; drawn for this life if none is given."""
        self.config = config
        self.env = env
        self.station = Station(node, epoch, config, env, decode)
        self.me = self.station.me
        self._key = key or env.random.randbytes(16)
        self._resting = False  # moved out by its program: attach to nobody
        self.links = Links(self.station, Nobody(), self)
        self.uplink = Uplink(self.station, self.links, self)
        self.clients = Clients(self.station, self.uplink)
        self._beacons = Beacons(config, env)
        self._question = Question(config, env, self._beacons, self.station.unicast, self._unanswered)
        self._at: Attachment | None = None
        self._turn = 0
        self._holders: list[Holding] = []  # earliest first
        self._left_at: float | None = None
        self._hop: HopMessages = {
            **self.links.hop_messages, wire.Hello: self._beacons.hello, wire.News: self._beacons.short,
            wire.Beat: self._beacons.short, wire.Attached: self._attached,
            wire.MovedOut: self._moved_out, wire.Served: self._served}
        self._link: dict[type[wire.Message], Callable[[Attachment, Any], None]] = {
            wire.Ready: self._ready, wire.Settled: self._settled, wire.HandOut: self._handed_out}

    # ---- inputs ---------------------------------------------------------------------------
    def start(self) -> None:
        """Begin this life: listen for beacons."""
        self.station.start()
        self.station.traffic.start()
        self.env.call_later(self.config.hello_interval * self.env.random.uniform(0.25, 0.5), self._look)

    def stop(self) -> None:
        """End this life in order: the broker is told that the device does not come back."""
        if not self.station.running:
            return
        if self._at is not None and self._at.is_open:
            self.station.unicast(self._at.broker.node, wire.MoveOut(self._at.nonce, True))
            self._leave(self._at, Phase.OVER, "stopped", announced=True)
        self.uplink.stop()
        self.station.stop()

    def flush_records(self) -> None:
        self.station.flush_records()

    def datagram_received(self, datagram: bytes) -> None:
        """What the radio heard. Most of it is between brokers, and nothing to a device."""
        opened = self.station.received(datagram, self._heard)
        if opened is None:
            return
        sender, _, messages = opened
        for message in messages:
            handler = self._hop.get(type(message))
            if handler is not None:
                handler(sender, message)

    def _heard(self, sender: Peer, counter: int) -> bool:
        return sender.node != self.me.node and self._beacons.heard(sender, counter)

    def attach(self, client: str, deliver: Deliver, recovered: Deliver | None = None) -> None:
        """Bring a program of this host in; see `Clients` for these five and what they raise."""
        self.clients.attach(client, deliver, recovered)

    def detach(self, client: str) -> None:
        self.clients.detach(client)

    def subscribe(self, client: str, wanted: Filter | str) -> Filter:
        return self.clients.subscribe(client, wanted)

    def unsubscribe(self, client: str, wanted: Filter | str) -> None:
        self.clients.unsubscribe(client, wanted)

    def publish(self, client: str, attributes: Mapping[str, object], payload: bytes = b"") -> EventId:
        return self.clients.publish(client, attributes, payload)

    def move_out(self) -> None:
        """The device goes away, by its program's will: its broker keeps what comes until `move_in` somewhere."""
        self._resting = True
        if self._at is not None and self._at.is_open:
            self._say_goodbye(self._at, "asked")
        elif self._at is not None:
            self._end(self._at)

    def move_in(self) -> None:
        """Attach again, to whom is heard best."""
        self._resting = False

    @property
    def broker(self) -> NodeId | None:
        """To whom it is attached; None if to nobody."""
        return None if self._at is None or not self._at.is_open else self._at.broker.node

    @property
    def unsent(self) -> int:
        """Events published and not known to have come to a broker."""
        return self.uplink.unsent

    # ---- notices of the channels and of the uplink ------------------------------------------------------------------
    def link_message(self, link: LinkId, message: wire.Message) -> None:
        handler, at = self._link.get(type(message)), self._at
        if handler is None or at is None or not at.is_open or at.link != link:
            self.station.dropped("misplaced")
        else:
            handler(at, message)

    def link_failed(self, link: LinkId, reason: str) -> None:
        at = self._at
        if at is not None and at.is_open and at.link == link:
            if reason == "channel":
                self._beacons.bar(at.broker.node)
            self._leave(at, Phase.OVER, reason)

    def link_unanswered(self, link: LinkId, since: float) -> None:
        """A device leaves by its beacons and by what the channel gives up."""

    def link_pending(self, link: LinkId) -> bool:
        """Data may come before the answer that opens the channel."""
        at = self._at
        return at is not None and not at.is_open and link == at.link

    def link_heard(self, link: LinkId) -> None:
        """The broker sends it again once the answer is here."""

    def wanted_at(self, client: str, attributes: Attributes, born: float) -> bool:
        return self.clients.wanted_at(client, attributes, born)

    def deliver(self, client: str, event: wire.Event, recovered: bool = False) -> None:
        self.clients.deliver(client, event, recovered)

    # ---- attaching ---------------------------------------------------------------------------------
    def _look(self) -> None:
        """Twice a beacon interval: is our broker still there, is another one better, is there any?"""
        self.env.call_later(self.config.hello_interval / 2, self._look)
        self.uplink.expire()
        at = self._at
        if at is not None and at.is_open:
            life = self._beacons.life_of(at.broker.node)
            if life is None:
                self._leave(at, Phase.OVER, "silent")
            elif life != at.broker:
                self._leave(at, Phase.OVER, "restarted")
            elif self._beacons.better(at.broker.node) is not None:
                self._say_goodbye(at, "better")
                return
            else:
                self._question.look()
        self._seek()

    def _seek(self) -> None:
        """Ask whom is heard best, if there is nobody and should be."""
        if self._at is None and not self._resting:
            broker = self._beacons.best()
            if broker is not None:
                self._ask(broker)

    def _ask(self, broker: Peer) -> None:
        self._turn += 1
        nonce = self.env.random.getrandbits(32)
        link = LinkId.between(self.me.node, broker.node, nonce)
        self._at = Attachment(broker, self._turn, nonce, link, self.env.now())
        self._ask_again(self._at)

    def _ask_again(self, at: Attachment) -> None:
        if self._at is not at or at.phase is not Phase.ASKING:
            return
        if at.tries == len(ASK_WAITS):
            self._beacons.bar(at.broker.node)
            self._end(at)
            return
        wait = ASK_WAITS[at.tries] * self.env.random.uniform(0.85, 1.15)
        at.tries += 1
        holders = tuple((one.broker, one.session, one.had) for one in self._holders)
        paths = tuple(one.path for one in self._holders)
        self.station.unicast(at.broker.node, wire.Attach(at.nonce, at.turn, self._key, holders, paths))
        self.env.call_later(wait, lambda: self._ask_again(at))

    def _attached(self, sender: Peer, message: wire.Attached) -> None:
        at = self._at
        if at is None or at.phase is not Phase.ASKING or (sender, message.nonce) != (at.broker, at.nonce):
            return  # the answer to a repetition, or to what is over
        if message.refused:
            self.station.dropped("refused")
            self._beacons.bar(sender.node)
            self._end(at)
            return
        self._beacons.serves(sender.node)
        name_of = sender.node, message.session
        at.holding = next((one for one in self._holders if (one.broker, one.session) == name_of), Holding(*name_of))
        at.holding.path = message.path
        others = [one for one in self._holders if one is not at.holding]
        self._holders = [*others, at.holding][-HOLDERS:]
        at.enter(Phase.ATTACHED)
        at.since = self.env.now()
        self.links.open(at.link, self.uplink.acknowledged)
        self._question.begin(at.broker, at.nonce)
        away = None if self._left_at is None else round(at.since - self._left_at, 6)
        self.env.record("moved_in", broker=sender.node, turn=at.turn, holders=[one.broker for one in others],
                        away=away)
        self.uplink.open(at.link)

    def _served(self, sender: Peer, message: wire.Served) -> None:
        at = self._at
        if at is not None and at.is_open and (sender, message.nonce) == (at.broker, at.nonce):
            at.holding.path = message.path
        self._question.answered(sender, message)

    def _ready(self, at: Attachment, message: wire.Ready) -> None:
        if at.phase is Phase.ATTACHED:
            at.enter(Phase.SERVED)
            self.env.record("let_in", broker=at.broker.node, turn=at.turn, waited=message.waited,
                            seconds=round(self.env.now() - at.since, 6))
            self.uplink.serve()

    def _settled(self, at: Attachment, message: wire.Settled) -> None:
        gone = message.holder, message.session
        self._holders = [one for one in self._holders
                         if (one.broker, one.session) != gone or one is at.holding]

    def _handed_out(self, at: Attachment, message: wire.HandOut) -> None:
        one = held(message.event, self.env.now())
        if one is None:
            self.station.dropped("misplaced")
            return
        at.holding.had = message.serial
        if not self.uplink.receive(one, message.late):
            self.env.record("duplicate", event=str(id_of(one.event)), link=str(at.link))

    # ---- leaving -------------------------------------------------------------------------------------
    def _leave(self, at: Attachment, phase: Phase, reason: str, announced: bool = False) -> None:
        """The channel is closed; what was not acknowledged is sent at the next."""
        at.enter(phase)
        self._at = None if phase is Phase.OVER else at
        self._question.end()
        self.links.close(at.link)
        self.uplink.close()
        self._left_at = self.env.now()
        self.env.record("moved_out", broker=at.broker.node, turn=at.turn, reason=reason, announced=announced)

    def _end(self, at: Attachment) -> None:
        """An attachment without a channel is over."""
        at.enter(Phase.OVER)
        self._at = None

    def _unanswered(self) -> None:
        """Our broker does not say that it serves us: on to another at once."""
        if self._at is not None:
            self._beacons.give_up(self._at.broker.node)
            self._leave(self._at, Phase.OVER, "unanswered")
        self._seek()

    def _say_goodbye(self, at: Attachment, reason: str) -> None:
        """moveOut: have the broker keep what comes from now on, and go on without it soon if it does not answer."""
        self._leave(at, Phase.LEAVING, reason, announced=True)
        self._goodbye_again(at, 0)

    def _goodbye_again(self, at: Attachment, tries: int) -> None:
        if self._at is not at:
            return
        if tries > len(LEAVE_WAITS):
            self._gone(at)
            return
        self.station.unicast(at.broker.node, wire.MoveOut(at.nonce, False))
        wait = LEAVE_WAITS[min(tries, len(LEAVE_WAITS) - 1)]
        self.env.call_later(wait, lambda: self._goodbye_again(at, tries + 1))

    def _moved_out(self, sender: Peer, message: wire.MovedOut) -> None:
        at = self._at
        if at is not None and at.phase is Phase.LEAVING and (sender, message.nonce) == (at.broker, at.nonce):
            self._gone(at)

    def _gone(self, at: Attachment) -> None:
        """moveOut is done: on to the next at once."""
        self._end(at)
        broker = None if self._resting else self._beacons.best(but=at.broker.node)
        if broker is not None:
            self._ask(broker)
