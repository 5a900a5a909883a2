"""What a tree neighbor may have this node tell others: so many messages at once, and so many a second on and on.

What it says of filters, of reconfigurations and of the leader goes on to others, some of it to the whole tree. So a
neighbor that never stops would load every host. What exceeds its allowance is not lost: it waits in the neighbor's
channel (links.py), in order.

The limits lie far above what protocols do: a program that starts with 1,024 filters, and stops, makes as many messages of
one filter each.
"""
from __future__ import annotations

import math

from node import wire
from node.bucket import Bucket

FILTERS, FILTERS_A_SECOND = 4096, 64.0  # messages that change tables: at once, and on and on; a device has half of it
PASSED_ON, PASSED_ON_A_SECOND = 64, 16.0  # messages that go on as they are, likewise
FILTERS_A_MESSAGE = 64  # a larger one counts as several
PAUSE = 60.0  # s between two records about one neighbor

_PASSED_ON = frozenset({wire.Flush, wire.SubFlush, wire.Reserve, wire.Broken, wire.Leader})
_FILTERS = frozenset({wire.Sub, wire.SubFlush, wire.Unsub, wire.Snapshot, wire.Rec})
SPREADING = _PASSED_ON | _FILTERS


class Allowance:
    """Of one neighbor, whichever link it uses."""

    def __init__(self, now: float) -> None:
        self._filters = Bucket(FILTERS, FILTERS_A_SECOND, now)
        self._passed_on = Bucket(PASSED_ON, PASSED_ON_A_SECOND, now)
        self.exceeded = "", 0.0  # of what there was too much last, and how much a second would do
        self._told = -math.inf  # when that was last recorded (s)

    def charge(self, message: wire.Message, now: float) -> None:
        """A message of SPREADING has come."""
        kind = type(message)
        if kind in _PASSED_ON:
            self._passed_on.charge(1, now)
        if kind in _FILTERS:
            filters = len(message.add) + len(message.remove) if isinstance(message, wire.Rec) else 0
            self._filters.charge(1 + filters // FILTERS_A_MESSAGE, now)
        if self._filters.wait(now):
            self.exceeded = "changes of filters", FILTERS_A_SECOND
        elif self._passed_on.wait(now):
            self.exceeded = "messages for all", PASSED_ON_A_SECOND

    def wait(self, now: float) -> float:
        """How long the next message has to wait, s."""
        return max(self._filters.wait(now), self._passed_on.wait(now))

    def is_news(self, now: float) -> bool:
        """Whether to record that the neighbor has to wait: not each time."""
        news = now - self._told >= PAUSE
        if news:
            self._told = now
        return news
