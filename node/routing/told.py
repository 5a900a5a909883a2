"""What the far end of a link was told, and what is still to be sent: the *told* of wanted against told (forwarding.py)."""
from __future__ import annotations

from node.filters import Filter
from node.routing.table import FilterHash, digest_of


class Told:
    """One link: what its far end was told, and what is still to be sent."""

    __slots__ = ("filters", "digest", "position", "to_sub", "to_unsub", "refused")

    def __init__(self) -> None:
        self.filters: dict[FilterHash, Filter] = {}  # as the far end will know them once all is sent
        self.digest = 0  # of `filters`
        self.position = 0  # of the channel, behind the last message about filters
        self.to_sub: dict[FilterHash, Filter] = {}
        self.to_unsub: dict[FilterHash, None] = {}
        self.refused = False  # its far end went past MAX_FILTERS_PER_LINK

    def tell(self, key: FilterHash, wanted: Filter) -> None:
        self.filters[key] = wanted
        self.digest ^= digest_of(key)
        if key in self.to_unsub:
            del self.to_unsub[key]
        else:
            self.to_sub[key] = wanted

    def withdraw(self, key: FilterHash) -> None:
        del self.filters[key]
        self.digest ^= digest_of(key)
        if key in self.to_sub:
            del self.to_sub[key]
        else:
            self.to_unsub[key] = None
