"""Combined pull: at each round one of the two pulls, by a given probability.

costa-epidemic-reliability, section 5 (subscriber-based and publisher-based pull are dual and complementary). Where the
one drawn has nobody to ask (no other subscriber, no route), the other has its turn.
"""
from __future__ import annotations

from node.recovery.publisher_pull import PublisherPull
from node.recovery.subscriber_pull import SubscriberPull


class Combined(SubscriberPull, PublisherPull):
    def start_round(self) -> bool:
        pulls = [SubscriberPull, PublisherPull]
        if self._chance.random() >= self._config.gossip_subscribers:
            pulls.reverse()
        return any(pull.start_round(self) for pull in pulls)
