"""Subscriber pull: reactive gossip with negative digests, steered towards subscribers of the pattern.

costa-epidemic-reliability, section 4.2 and figure 3, left. What a broker answers it takes out of the digest before it
passes the gossip on; the figure passes it on whole, and every cache on the way would send the same event.
"""
from __future__ import annotations

from node import wire
from node.ids import LinkId
from node.recovery import Surroundings
from node.recovery.digest import grouped, items
from node.recovery.pull import Pull


class SubscriberPull(Pull):
    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self.link_messages |= {wire.SubscriberPull: self._gossip_received}

    def start_round(self) -> bool:
        # startGossipRound: a pattern of a local client, of those with lost events
        for key in self._chance.sample(patterns := self.lost.patterns(), len(patterns)):
            links = self.towards(key, (self._me,))
            if links:
                numbers = self.lost.of_pattern(key)
                digest = grouped(number[1:] for number in reversed(numbers))
                self.lost.asked((key, *item) for item in items(digest))
                self._channels.send(links, wire.SubscriberPull((self._me,), key, digest))
                return True
        return False

    def _gossip_received(self, link: LinkId, message: wire.SubscriberPull) -> None:
        # handleGossipMsg
        route, key = message.route, message.pattern
        if not self.came_well(link, route, message.lost):
            return
        left = []
        for source, epoch, number in items(message.lost):
            event = self.cache.numbered((key, source, epoch, number))
            if event is not None:
                self.answer((self._me, *route[::-1]), event)
            else:
                left.append((source, epoch, number))
        if not left:
            return
        # a broker on the way passes it on always, a subscriber with probability P_forward
        if not self.subscribed(key) or self._chance.random() < self._config.gossip_forward:
            links = self.towards(key, (*route, self._me))
            if links:
                self._channels.send(links, wire.SubscriberPull((*route, self._me), key, grouped(left)))
