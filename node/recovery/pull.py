"""What the pulls share: events tagged at their source, losses noticed by the tags, the buffer of what is lost.

costa-epidemic-reliability, section 4.2. A loss is noticed when a number is higher than the one expected: in an
event that came, or in a neighbor's advertisement. It is asked for from the next gossip round on, with what else was
lost meanwhile (the paper's footnote 6).
"""
from __future__ import annotations

from node import wire
from node.event import AnyEvent
from node.filters import Filter
from node.ids import LinkId
from node.recovery import Surroundings
from node.recovery.adverts import Adverts
from node.recovery.cache import Number
from node.recovery.counters import Counter, Numbers, Published
from node.recovery.gossip import FARTHEST, Gossip
from node.recovery.lost import Lost
from node.routes import has_come

NOTICED = 1024  # losses by one message, and those of one counter more


class Pull(Gossip):
    routes = False  # whether events record the brokers that they meet

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        config, now = self._config, self._env.now
        self.lost = Lost(config.lost_patience, now)
        self._published = Published(config.cache_lifetime, now)
        self._latest = Numbers()  # of whatever passes here
        self._expected = Numbers()  # of what local clients want
        self._adverts = Adverts(self._station, self._channels, self._table, self._latest)
        self.link_messages |= {wire.Counters: self._counters_received}

    # ---- events on their way -----------------------------------------------------------------------
    def passing(self, event: AnyEvent, arrival: LinkId | None, clients: list[str],
                born: float | None = None) -> tuple[AnyEvent, list[str]]:
        if arrival is None:
            if event.source == self._me:  # a device's are counted by no broker: the next one would count anew
                event = self._tagged(event)
        elif type(event) is wire.TaggedEvent:
            event = self._met(event, arrival)
            self._take(event, arrival)
        self.cache.add(event._replace(route=()) if type(event) is wire.TaggedEvent else event,
                       arrival is None or bool(clients), born)
        return event, self._not_recovered(event, arrival, clients)

    def _tagged(self, event: AnyEvent) -> wire.TaggedEvent:
        """An event of this node with the numbers that others will miss it by."""
        table = self._table
        live = [key for key in table.matching(event.attributes)
                if any(type(hop) is LinkId for hop in table.hops_of(key))]
        counters = self._published.attach(event.sequence, event.attributes, live)
        for key, number in counters:
            self._heard((key, event.source, event.epoch), number, None)
        return wire.TaggedEvent(*event[:7], counters, (self._me,) if self.routes else ())

    def _met(self, event: wire.TaggedEvent, arrival: LinkId) -> wire.TaggedEvent:
        """The event with this broker on its route; with none if that is not the way it can have come."""
        route = event.route
        if not route:
            return event
        if route[0] != event.source or not has_come(route, self._me, arrival.far_end(self._me)):
            self._station.dropped("bad_route")
            return event._replace(route=())
        if len(route) < FARTHEST:
            self.learned(event.source, route)
        return event._replace(route=(*route, self._me) if len(route) < FARTHEST else ())

    def learned(self, source: int, route: tuple[int, ...]) -> None:
        """The way that an event of this source came, up to the neighbor that sent it."""

    def _take(self, event: wire.TaggedEvent, arrival: LinkId | None) -> None:
        """Note the numbers of an event that is here now."""
        self.lost.found(_numbers(event))
        for key, number in event.counters:
            counter = key, event.source, event.epoch
            self._heard(counter, number, arrival)
            self._notice(counter, number, number)

    # ---- losses ------------------------------------------------------------------------------------
    def _heard(self, counter: Counter, number: int, arrival: LinkId | None) -> None:
        """Over links that retransmit, the event itself tells its number to all who want it."""
        if self._latest.heard(counter, number) is not None and not self._config.retransmission:
            self._adverts.grown(counter, arrival, soon=False)

    def _counters_received(self, link: LinkId, message: wire.Counters) -> None:
        if not self.may_ask(link.far_end(self._me)):
            return
        noticed = 0
        for key, rows in message.latest:
            for source, epoch, number in rows:
                counter = key, source, epoch
                if source == self._me or self._latest.heard(counter, number) is None:
                    continue
                self._adverts.grown(counter, link, soon=True)
                if noticed < NOTICED:  # the others are noticed by what comes next
                    noticed += self._notice(counter, number, number + 1)

    def _notice(self, counter: Counter, number: int, end: int) -> int:
        """A number of a counter is known: what a local client wants of it and did not get, below `end`, is lost. How
        many those are."""
        key = counter[0]
        if not self.subscribed(key):
            return 0
        known = self._expected.get(counter) is not None
        skipped = self._expected.heard(counter, number)
        if not known or skipped is None:
            return 0  # the baseline; nothing new
        missed = (*skipped, *range(number, end))
        for one in missed:
            self.lost.add((*counter, one))
        if missed:
            self.busy()
        return len(missed)

    # ---- what the routing tells -----------------------------------------------------------------------
    def told(self, link: LinkId, key: bytes) -> None:
        """Where this node's own counter stands is told with the others': the baseline of a new subscriber."""
        self._latest.heard((key, *self._station.me), self._published.current(key))
        self._adverts.told(link, key)

    def withdrawn(self, wanted: Filter) -> None:
        self._published.withdrawn(wanted)

    def unsubscribed(self, key: bytes) -> None:
        self._expected.forget(key)
        self.lost.forget(key)

    def asked_for(self, event: AnyEvent) -> tuple[float, int] | None:
        if type(event) is not wire.TaggedEvent:
            return None
        found = self.lost.found(_numbers(event))
        if found is not None:
            self._take(event, None)
            self.busy()
        return found


def _numbers(event: wire.TaggedEvent) -> list[Number]:
    return [(key, event.source, event.epoch, number) for key, number in event.counters]
