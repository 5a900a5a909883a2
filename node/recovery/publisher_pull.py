"""Publisher pull: reactive gossip with negative digests, along the route that the publisher's last event took.

costa-epidemic-reliability, section 4.2 and figure 3, right. Events record the brokers that they meet; the way back is
that of the source's last one. It is the first cache on the way that answers: what a broker answers it takes out of the
digest, as the paper's text has it ("by the first dispatcher holding the desired event found along the path").
"""
from __future__ import annotations

from node import wire
from node.ids import NodeId
from node.memory import Memory
from node.recovery import Surroundings
from node.recovery.digest import grouped, items
from node.recovery.pull import Pull
from node.routes import place

SOURCES = 1024  # to which a route is known


class PublisherPull(Pull):
    routes = True

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._routes: Memory[NodeId, tuple[NodeId, ...]] = Memory(SOURCES)  # from here to the source
        self.routed_messages |= {wire.PublisherPull: self._pull_received}

    def learned(self, source: NodeId, route: tuple[NodeId, ...]) -> None:
        self._routes.remember(source, (self._me, *route[::-1]))

    def start_round(self) -> bool:
        # startGossipRound: a publisher, of those with lost events and a route
        known = [(source, epoch) for source, epoch in self.lost.publishers() if source in self._routes]
        if not known:
            return False
        source, epoch = known[int(self._chance.random() * len(known))]
        numbers = self.lost.of_publisher(source, epoch)
        digest = grouped((key, number) for key, _, _, number in reversed(numbers))
        self.lost.asked((key, source, epoch, number) for key, number in items(digest))
        self._pass_on(0, wire.PublisherPull(self._routes[source], epoch, digest))
        return True

    def _pull_received(self, hop: tuple[NodeId, ...], message: wire.PublisherPull) -> None:
        # handleGossipMsg
        route = message.route
        at = place(route, self._me, hop[0])
        if not at:
            self._station.dropped("bad_route")
            return
        if not self.in_bounds(hop[0], message.lost):
            return
        left = []
        for key, number in items(message.lost):
            event = self.cache.numbered((key, route[-1], message.epoch, number))
            if event is not None:
                self.answer(route[at::-1], event)
            else:
                left.append((key, number))
        if left and at + 1 < len(route):
            self._pass_on(at, message._replace(lost=grouped(left)))

    def _pass_on(self, at: int, message: wire.PublisherPull) -> None:
        """To the next of the route; each of its brokers looks into its cache."""
        self._courier.send(message.route[at:at + 2], message)
