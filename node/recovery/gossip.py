"""What the four algorithms share: rounds, the way of gossip over the tree, answers given and answers got.

costa-epidemic-reliability, section 4 (the common structure: startGossipRound by a timer, handleGossipMsg). Where the
paper leaves it open: gossip goes "towards one or more subscribers" by one of the links that want its pattern, drawn at
random, and each of the others with probability 1/2; it carries its route, so that answers find back and
nothing goes in a circle; a round that has nothing to say sends nothing; an answer counts only if it was asked for.
"""
from __future__ import annotations

from node import wire
from node.environment import Timer
from node.event import AnyEvent, id_of
from node.filters import Filter, covers
from node.ids import EventId, LinkId, NodeId
from node.recovery import Surroundings
from node.recovery.answers import Answers
from node.recovery.cache import Cache
from node.recovery.digest import Digest, too_large
from node.recovery.interval import Interval
from node.routes import Route, has_come
from node.routing.duplicates import SeenEvents
from node.routing.table import Hop
from node.seams import LinkMessages, RoutedMessages

FARTHEST = 64  # ids in a route (schema/messages.toml)
HANDLED = 256  # messages of one neighbor in a gossip interval; more are turned away


class Gossip:
    """The common part; see node/recovery/__init__.py for what it offers and calls. An algorithm adds
    `start_round() -> bool`, whether it sent anything, and `asked_for(event)`."""

    def __init__(self, around: Surroundings) -> None:
        self._station, self._channels, self._courier, self._table, self._seen, self._delivery = around
        self._me = self._station.me.node
        self._env, self._config = env, config = self._station.env, self._station.config
        self._chance = env.random
        self.cache = Cache(config.cache_bytes, config.cache_lifetime, config.cache_eviction, env.now, env.random)
        self._answers = Answers(self._station, self._courier)
        self._recovered = SeenEvents()  # apart from what the tree brought: that must be passed on whatever was recovered
        self._interval = Interval(config.gossip_interval, config.gossip_adaptive, env.random)
        self._timer: Timer | None = None
        self._useful = False  # something was missing, here or elsewhere, since the last round
        self._handled: dict[NodeId, int] = {}  # by direct sender, of whom there are as many as neighbors
        self._handled_since = 0.0
        self.link_messages: LinkMessages = {}
        self.routed_messages: RoutedMessages = {wire.GossipAnswer: self._answered}

    # ---- rounds ---------------------------------------------------------------------------------
    def start(self) -> None:
        self._timer = self._env.call_later(self._interval.draw(), self._round)

    def _round(self) -> None:
        if not self._useful:
            self._interval.idle()
        self._useful = False
        self.start_round()
        self.start()

    def busy(self) -> None:
        """There is something to recover: the next round is not farther than the shortest interval."""
        self._useful = True
        if self._interval.busy() and self._timer is not None:
            self._timer.cancel()
            self.start()

    def start_round(self) -> bool:
        raise NotImplementedError

    # ---- what the routing tells; a pull has more to do in them -----------------------------------------
    def passing(self, event: AnyEvent, arrival: LinkId | None, clients: list[str],
                born: float | None = None) -> tuple[AnyEvent, list[str]]:
        self.cache.add(event, arrival is None or bool(clients), born)
        return event, self._not_recovered(event, arrival, clients)

    def told(self, link: LinkId, key: bytes) -> None: ...
    def withdrawn(self, wanted: Filter) -> None: ...
    def unsubscribed(self, key: bytes) -> None: ...

    def _not_recovered(self, event: AnyEvent, arrival: LinkId | None, clients: list[str]) -> list[str]:
        """The clients, unless they have had this event from a cache."""
        if clients and self._recovered.contains(*event[:3]):
            self._env.record("duplicate", event=str(id_of(event)), link=str(arrival))
            return []
        return clients

    # ---- the way of gossip -------------------------------------------------------------------------------
    def subscribed(self, key: bytes) -> bool:
        """Whether a local client wants this pattern (with covering: one that it covers, or that covers it)."""
        return any(type(hop) is str for hop in self._hops(key))

    def towards(self, key: bytes, route: Route) -> list[LinkId]:
        """One or more of the links that want the pattern, none of them to who is in the route; none if there are none."""
        links = [hop for hop in self._hops(key) if type(hop) is LinkId and hop.far_end(self._me) not in route]
        if not links or len(route) >= FARTHEST:
            return []
        first = links[int(self._chance.random() * len(links))]
        return [link for link in links if link is first or self._chance.random() < 0.5]

    def _hops(self, key: bytes) -> list[Hop]:
        table = self._table
        hops: list[Hop] = list(table.hops_of(key))
        if self._config.forwarding == "covering" and hops:
            # what a filter covers was not told where that filter was, so its events are to be had under its name
            wanted = table.filter(key)
            hops += [hop for other, own in table if other != key and (covers(wanted, own) or covers(own, wanted))
                     for hop in table.hops_of(other)]
        return list(dict.fromkeys(hops))

    def came_well(self, link: LinkId, route: Route, digest: Digest) -> bool:
        """Whether gossip from this link may be listened to; what may not is counted."""
        if not has_come(route, self._me, link.far_end(self._me)):
            self._station.dropped("bad_route")
            return False
        return self.in_bounds(route[-1], digest)

    def in_bounds(self, sender: NodeId, digest: Digest) -> bool:
        """Whether a digest from this neighbor is looked through."""
        if not self.may_ask(sender):
            return False
        if too_large(digest):
            self._station.dropped("digest")
            return False
        return True

    def may_ask(self, sender: NodeId) -> bool:
        """Whether this neighbor has sent no more than is handled."""
        now = self._env.now()
        if now - self._handled_since >= self._config.gossip_interval:
            self._handled, self._handled_since = {}, now
        count = self._handled[sender] = self._handled.get(sender, 0) + 1
        if count > HANDLED:
            self._station.dropped("flooded")
        return count <= HANDLED

    # ---- answers ---------------------------------------------------------------------------------------
    def has_received(self, name: EventId) -> bool:
        """isReceived of figure 2."""
        return self._seen.contains(*name) or self._recovered.contains(*name)

    def answer(self, route: Route, event: AnyEvent) -> None:
        """Send a cached event along a route, this node's id first."""
        self.busy()
        born = self.cache.born(id_of(event))
        self._answers.put(route, event, self._env.now() if born is None else born)

    def asked_for(self, event: AnyEvent) -> tuple[float, int] | None:
        """Since when an event was missed and how many rounds asked for it; None if none did."""
        raise NotImplementedError

    def _answered(self, route: Route, message: wire.GossipAnswer) -> None:
        event = message.event
        if not isinstance(event, (wire.Event, wire.TaggedEvent)):
            self._station.dropped("misplaced")
            return
        asked = self.asked_for(event)
        name = id_of(event)
        if self.has_received(name):
            self._station.dropped("late")
        elif asked is None:
            self._station.dropped("unasked")
        else:
            self._recovered.first_time(*name)
            born = self._env.now() - message.age / 1000
            self.cache.add(event._replace(route=()) if type(event) is wire.TaggedEvent else event, True, born)
            since, rounds = asked
            self._env.record("event_recovered", event=str(name), giver=route[0], rounds=rounds,
                                  seconds=round(self._env.now() - since, 6))
            hops = min(event.hops + len(route) - 1, 255)
            self._delivery.deliver_recovered(event._replace(hops=hops), born)
