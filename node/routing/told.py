"""What the far end of a link was told, and what is still to be sent: the *told* of wanted against told (forwarding.py)."""
from __future__ import annotations

from node.filters import Filter
from node.routing.table import FilterHash, digest_of


class Told:
    """One link: what its far end was told, and what is still to be sent."""

    __slots__ = ("filters", "digest", "position", "missed_since", "to_sub", "again", "since", "asked", "to_unsub", "refused")

    def __init__(self, missed_since: float | None = None) -> None:
        self.filters: dict[FilterHash, Filter] = {}  # as the far end will know them once all is sent
        self.digest = 0  # of `filters`
        self.position = 0  # of the channel, behind the last message about filters
        self.missed_since = missed_since  # s; what was published from then until the link opened may have been missed
        self.to_sub: dict[FilterHash, Filter] = {}
        self.again: dict[FilterHash, Filter] = {}  # told before, to be told anew for what was missed
        self.since: float | None = None  # s; events since then are asked for with these two; None: none
        self.asked: dict[FilterHash, float] = {}  # from when on (s) the far end was asked for events
        self.to_unsub: dict[FilterHash, None] = {}
        self.refused = False  # its far end went past MAX_FILTERS_PER_LINK

    def tell(self, key: FilterHash, wanted: Filter, now: float, since: float | None) -> None:
        """`since`: from when on events may have been missed (s), None for none."""
        self.filters[key] = wanted
        self.digest ^= digest_of(key)
        self.asked[key] = now if since is None else since
        self._ask(since)
        if key in self.to_unsub:
            del self.to_unsub[key]
            if since is not None:
                self.again[key] = wanted
        else:
            self.to_sub[key] = wanted

    def ask(self, key: FilterHash, since: float) -> bool:
        """What was told already is told anew, if events from earlier on are wanted now; whether it is."""
        if self.asked.get(key, since) <= since:
            return False
        self.asked[key] = since
        self._ask(since)
        if key not in self.to_sub:
            self.again[key] = self.filters[key]
        return True

    def _ask(self, since: float | None) -> None:
        if since is not None:
            self.since = since if self.since is None else min(since, self.since)

    def withdraw(self, key: FilterHash) -> None:
        del self.filters[key]
        self.digest ^= digest_of(key)
        self.asked.pop(key, None)
        self.again.pop(key, None)
        if key in self.to_sub:
            del self.to_sub[key]
        else:
            self.to_unsub[key] = None

    def take_subscriptions(self) -> tuple[dict[FilterHash, Filter], float | None]:
        """What is to be told, and since when events are asked for with it; from here on it is told."""
        taken = self.to_sub | self.again, self.since
        self.to_sub, self.again, self.since = {}, {}, None
        return taken
