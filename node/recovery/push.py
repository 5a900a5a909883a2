"""Push: proactive gossip with positive digests.

costa-epidemic-reliability, section 4.1 and figure 2. Nothing is noticed and nothing is tagged: who has events tells
their identifiers, and who lacks them asks. The names of the figure's actions are in the comments.
"""
from __future__ import annotations

from collections import OrderedDict

from node import wire
from node.event import AnyEvent, id_of
from node.ids import EventId, LinkId
from node.recovery import Surroundings
from node.recovery.digest import chosen, grouped, items
from node.recovery.gossip import Gossip
from node.routes import Route

DRAWS = 8  # patterns tried in a round until one has cached events and a subscriber elsewhere
REMEMBERED = 4096  # events asked for


class Missed:
    """An event that gossip has named and that is not here."""

    __slots__ = ("asked_at", "named", "since")

    def __init__(self, since: float, asked_at: float) -> None:
        self.since = since
        self.named = 0  # gossip messages that named it
        self.asked_at = asked_at


class Push(Gossip):
    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._missed: OrderedDict[EventId, Missed] = OrderedDict()  # those asked for lately last
        self.link_messages |= {wire.PushGossip: self._gossip_received}
        self.routed_messages |= {wire.GossipRequest: self._request_received}

    def start_round(self) -> bool:
        # startGossipRound: a pattern from the whole table, not only of local clients
        table = self._table
        patterns = list(table)
        for key, wanted in self._chance.sample(patterns, min(DRAWS, len(patterns))):
            links = self.towards(key, (self._me,))
            found = self.cache.matching(wanted) if links else []
            if found:
                digest = grouped(chosen(found, self._chance))
                self._channels.send(links, wire.PushGossip((self._me,), key, digest))
                return True
        return False

    def _gossip_received(self, link: LinkId, message: wire.PushGossip) -> None:
        # handleGossipMsg
        if not self.came_well(link, message.route, message.digest):
            return
        if self.subscribed(message.pattern):
            missing = [name for name in map(EventId._make, items(message.digest)) if not self.has_received(name)]
            wanted = self._to_ask(missing)
            if wanted:
                back = (self._me, *message.route[::-1])
                self._courier.send(back, wire.GossipRequest(grouped(wanted)))
        if self._chance.random() < self._config.gossip_forward:
            links = self.towards(message.pattern, (*message.route, self._me))
            if links:
                self._channels.send(links, message._replace(route=(*message.route, self._me)))

    def _request_received(self, route: Route, message: wire.GossipRequest) -> None:
        # handleReqMsg
        if not self.in_bounds(route[-2], message.digest):
            return
        for name in map(EventId._make, items(message.digest)):
            event = self.cache.get(name)
            if event is not None:
                self.answer(route[::-1], event)

    def _to_ask(self, missing: list[EventId]) -> list[EventId]:
        """Those that no other gossiper is being asked for; an answer takes less than half an interval."""
        now, pause = self._env.now(), self._config.gossip_interval / 2
        wanted = []
        for name in missing:
            missed = self._missed.get(name)
            if missed is None:
                missed = self._missed[name] = Missed(now, now - pause)
            missed.named += 1
            if now - missed.asked_at >= pause:
                missed.asked_at = now
                self._missed.move_to_end(name)  # those not asked for lately make room
                wanted.append(name)
        while len(self._missed) > REMEMBERED:
            self._missed.popitem(last=False)
        return wanted

    def asked_for(self, event: AnyEvent) -> tuple[float, int] | None:
        missed = self._missed.pop(id_of(event), None)
        if missed is None or self._env.now() - missed.asked_at > self._config.lost_patience:
            return None
        return missed.since, missed.named
