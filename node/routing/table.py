"""The subscription table: which hop wants events that match which filter.

cugola-murphy-picco-mobile-environment, section 2 and section 6 (SubscriptionTable). A hop is a
tree link's incarnation (`LinkId`) or the name of a local client (`str`); the table does not care
which, except that `match` tells the two apart. Per hop it keeps a digest, the exclusive or of the
filters' hashes, so that two ends of a link can compare what one told with what the other holds.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from node.filters import Attributes, Filter, Index
from node.ids import LinkId

Hop = LinkId | str
FilterHash = bytes  # Filter.hash, 8 bytes

MAX_FILTERS_PER_LINK = 4096  # held for one link; more are refused and recorded
MAX_PART = 64  # filters in one message (schema/messages.toml)
PART_BYTES = 900  # of filters in one message, which then fits a datagram; a longer filter goes alone

_NOTHING: Mapping[FilterHash, Filter] = {}
_NOBODY: Mapping[Hop, None] = {}


def digest_of(filter_hash: FilterHash) -> int:
    """A filter's share of a digest; shares are combined by exclusive or."""
    return int.from_bytes(filter_hash, "big")


def parts(filters: Iterable[Filter]) -> Iterator[tuple[Filter, ...]]:
    """Cut many filters into what one message carries."""
    part: list[Filter] = []
    size = 0
    for one in filters:
        size += len(one.key)
        if part and (size > PART_BYTES or len(part) == MAX_PART):
            yield tuple(part)
            part, size = [], len(one.key)
        part.append(one)
    if part:
        yield tuple(part)


class SubscriptionTable:
    """Pairs (hop, filter), found by either; the order of insertion decides all iteration."""

    def __init__(self) -> None:
        self._filters: dict[FilterHash, Filter] = {}
        self._hops: dict[FilterHash, dict[Hop, None]] = {}  # a dict is a set that keeps its order
        self._of: dict[Hop, dict[FilterHash, Filter]] = {}
        self._digests: dict[Hop, int] = {}
        self.index = Index()  # hops by what an event matches
        self._by_filter: Index | None = None  # answers with hashes; made when first asked

    def __len__(self) -> int:
        """Distinct filters."""
        return len(self._filters)

    def __iter__(self) -> Iterator[tuple[FilterHash, Filter]]:
        return iter(self._filters.items())

    def add(self, hop: Hop, wanted: Filter) -> bool:
        """Enter the pair; False if it was there."""
        key = wanted.hash
        hops = self._hops.get(key)
        if hops is None:
            known = self._filters[key] = wanted
            self._hops[key] = {hop: None}
            if self._by_filter is not None:
                self._by_filter.add(wanted, key)
        elif hop in hops:
            return False
        else:
            known = self._filters[key]  # one object a filter, however many hops want it
            hops[hop] = None
        own = self._of.get(hop)
        if own is None:
            self._of[hop] = {key: known}
            self._digests[hop] = digest_of(key)
        else:
            own[key] = known
            self._digests[hop] ^= digest_of(key)
        self.index.add(known, hop)
        return True

    def remove(self, hop: Hop, key: FilterHash) -> Filter | None:
        """Take the pair out and return its filter; None if it was not there."""
        own = self._of.get(hop)
        known = own.pop(key, None) if own else None
        if known is None:
            return None
        if own:
            self._digests[hop] ^= digest_of(key)
        else:
            del self._of[hop], self._digests[hop]
        hops = self._hops[key]
        del hops[hop]
        if not hops:
            del self._hops[key], self._filters[key]
            if self._by_filter is not None:
                self._by_filter.remove(known, key)
        self.index.remove(known, hop)
        return known

    def filters_of(self, hop: Hop) -> Mapping[FilterHash, Filter]:
        """A live view: copy before changing the table."""
        return self._of.get(hop, _NOTHING)

    def filter(self, key: FilterHash) -> Filter:
        """KeyError when no hop wants it."""
        return self._filters[key]

    def hops_of(self, key: FilterHash) -> Mapping[Hop, None]:
        """A live view of the hops that want this filter."""
        return self._hops.get(key, _NOBODY)

    def is_local(self, key: FilterHash) -> bool:
        """Whether a local client wants it."""
        return any(type(hop) is str for hop in self.hops_of(key))

    def digest(self, hop: Hop) -> int:
        return self._digests.get(hop, 0)

    def matching(self, attributes: Attributes) -> list[FilterHash]:
        """Hashes of all filters that an event matches, in their order. The first call takes a while."""
        if self._by_filter is None:
            self._by_filter = Index()
            for key, wanted in self._filters.items():
                self._by_filter.add(wanted, key)
        return sorted(cast("set[FilterHash]", self._by_filter.match(attributes)))

    def match(self, attributes: Attributes) -> tuple[list[LinkId], list[str]]:
        """Links and local clients that want an event, each in order and once."""
        links: list[LinkId] = []
        clients: list[str] = []
        for hop in cast("set[Hop]", self.index.match(attributes)):
            if type(hop) is LinkId:
                links.append(hop)
            else:
                clients.append(hop)
        # the index answers with a set, whose order hangs on the process's string hashes
        links.sort()
        clients.sort()
        return links, clients
