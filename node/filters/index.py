"""Which hops an event goes to: matching against all filters of a node at once.

Filters are found by access predicates (Fabret et al., "Filtering algorithms and implementation for very fast
publish/subscribe systems", SIGMOD 2001): each stands in the cluster of one of its equalities, and for an
event only the clusters of its values are looked at, found by hashing; a selective filter that does not match
costs nothing. Filters without an equality share one cluster. In a cluster few filters are tested one by one;
many are sorted by the attributes that they are about, and those about the same are matched together
(node/filters/bits.py).
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable

from node.filters.bits import MOST, Block, Entry, key_of, satisfied
from node.filters.language import Attributes, Constraint, Filter

_FEW = 8  # filters up to which each is tested by itself, for speed and memory


class Index:
    """Filters and the hops that want their events. A hop is any hashable; each pair counts once."""

    def __init__(self) -> None:
        self._entries: dict[Filter, Entry] = {}
        self._clusters: dict[Constraint, _Cluster] = {}  # by access predicate
        # the same by attribute and value: each `in` stands under all of its values
        self._equal: dict[str, dict[Hashable, dict[Constraint, _Cluster]]] = {}
        self._others = _Cluster()  # filters without an equality

    def add(self, filter: Filter, hop: Hashable) -> bool:
        """Put a filter in for a hop; False if it was there."""
        entry = self._entries.get(filter)
        if entry is None:
            entry = self._entries[filter] = Entry(filter, self._access_of(filter))
            entry.hops[hop] = None
            self._reach(entry.access).add(entry)
            return True
        if hop in entry.hops:
            return False
        entry.hops[hop] = None
        if entry.block is not None:
            entry.block.wanted(entry, hop)
        return True

    def remove(self, filter: Filter, hop: Hashable) -> bool:
        """Take a filter out for a hop; False if it was not there."""
        entry = self._entries.get(filter)
        if entry is None or hop not in entry.hops:
            return False
        if len(entry.hops) == 1:
            del self._entries[filter]
            cluster = self._reach(entry.access)
            cluster.remove(entry)
            if entry.access is not None and not cluster.size:
                self._discard(entry.access)
        elif entry.block is not None:
            entry.block.unwanted(entry, hop)
        del entry.hops[hop]
        return True

    def match(self, attributes: Attributes) -> set[Hashable]:
        """The hops that have a filter which an event with these attributes matches."""
        hops: set[Hashable] = set()
        equal = self._equal
        for name in equal if len(equal) < len(attributes) else attributes:
            if name in equal and name in attributes:
                clusters = equal[name].get(key_of(attributes[name]))
                if clusters is not None:
                    for cluster in clusters.values():
                        cluster.match(attributes, hops)
        if self._others.size:
            self._others.match(attributes, hops)
        return hops

    def _access_of(self, filter: Filter) -> Constraint | None:
        """The equality that finds the filter: the one in the smallest cluster."""
        equalities = (one for one in filter.constraints if one.op in ("=", "in"))
        return min(equalities, key=self._badness, default=None)

    def _badness(self, constraint: Constraint) -> tuple[int, bool]:
        cluster = self._clusters.get(constraint)
        return cluster.size if cluster else 0, constraint.op == "in"

    def _reach(self, access: Constraint | None) -> _Cluster:
        """The cluster of an access predicate, made now if it is new."""
        if access is None:
            return self._others
        cluster = self._clusters.get(access)
        if cluster is None:
            cluster = self._clusters[access] = _Cluster()
            values = self._equal.setdefault(access.name, {})
            for value in access.values:
                values.setdefault(key_of(value), {})[access] = cluster
        return cluster

    def _discard(self, access: Constraint) -> None:
        del self._clusters[access]
        values = self._equal[access.name]
        for value in access.values:
            key = key_of(value)
            del values[key][access]
            if not values[key]:
                del values[key]
        if not values:
            del self._equal[access.name]


class _Cluster:
    """The filters of one access predicate, or of none."""

    __slots__ = ("bare", "few", "groups", "size")

    def __init__(self) -> None:
        self.size = 0
        self.bare: Entry | None = None  # the filter that is nothing but the access predicate
        self.few: dict[Filter, Entry] | None = {}  # the others, while they are few; then
        # by one of the attributes that they are about, and by all of them
        self.groups: dict[str, dict[tuple[str, ...], _Group]] = {}

    def add(self, entry: Entry) -> None:
        self.size += 1
        if not entry.rest:
            self.bare = entry
        elif self.few is None:
            self._group(entry)
        else:
            self.few[entry.filter] = entry
            if len(self.few) > _FEW:
                entries, self.few = self.few, None
                for one in entries.values():
                    self._group(one)

    def remove(self, entry: Entry) -> None:
        self.size -= 1
        if entry is self.bare:
            self.bare = None
        elif self.few is not None:
            del self.few[entry.filter]
        else:
            self._ungroup(entry)
            if self.size <= _FEW // 2:  # not at the same size as in `add`, which would flutter
                entries = [one for groups in self.groups.values() for group in groups.values()
                           for one in group.dissolve()]
                self.few = {one.filter: one for one in entries}
                self.groups = {}

    def match(self, attributes: Attributes, hops: set[Hashable]) -> None:
        """Add the hops of the filters that match, given that the access predicate is satisfied."""
        if self.bare is not None:
            hops.update(self.bare.hops)
        if self.few is not None:
            if self.few:
                _match_each(self.few.values(), attributes, hops)
            return
        groups = self.groups
        for name in groups if len(groups) < len(attributes) else attributes:
            if name in groups and name in attributes:
                for group in groups[name].values():
                    group.match(attributes, hops)

    def _group(self, entry: Entry) -> None:
        names = _names(entry)
        for name in names:
            group = self.groups.get(name, {}).get(names)
            if group is not None:
                break
        else:
            name = min(names, key=lambda one: len(self.groups.get(one, ())))
            group = self.groups.setdefault(name, {})[names] = _Group(names)
        group.add(entry)

    def _ungroup(self, entry: Entry) -> None:
        names = _names(entry)
        name = next(one for one in names if names in self.groups.get(one, ()))
        group = self.groups[name][names]
        group.remove(entry)
        if not group.size:
            del self.groups[name][names]
            if not self.groups[name]:
                del self.groups[name]


class _Group:
    """The filters of a cluster that are about the same attributes."""

    __slots__ = ("blocks", "few", "names", "size")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.size = 0
        self.few: dict[Filter, Entry] | None = {}
        self.blocks: list[Block] = []  # when they are many

    def add(self, entry: Entry) -> None:
        self.size += 1
        if self.few is None:
            self._block(entry)
            return
        self.few[entry.filter] = entry
        if len(self.few) > _FEW:
            entries, self.few = self.few, None
            for one in entries.values():
                self._block(one)

    def remove(self, entry: Entry) -> None:
        self.size -= 1
        if self.few is not None:
            del self.few[entry.filter]
            return
        block = entry.block
        assert block is not None  # as they are many
        block.remove(entry)
        if not len(block):
            self.blocks.remove(block)
        if self.size <= _FEW // 2:
            self.few = {one.filter: one for one in self.dissolve()}

    def dissolve(self) -> Iterable[Entry]:
        """All entries, which stand here no longer."""
        entries = list(self.few.values()) if self.few is not None else []
        for block in self.blocks:
            for entry in block.entries():
                entry.block = None
                entries.append(entry)
        self.blocks = []
        return entries

    def match(self, attributes: Attributes, hops: set[Hashable]) -> None:
        if self.few is not None:
            _match_each(self.few.values(), attributes, hops)
            return
        for name in self.names:
            if name not in attributes:
                return
        for block in self.blocks:
            block.match(attributes, hops)

    def _block(self, entry: Entry) -> None:
        block = next((one for one in self.blocks if len(one) < MOST), None)
        if block is None:
            block = Block()
            self.blocks.append(block)
        block.add(entry)


def _names(entry: Entry) -> tuple[str, ...]:
    """The attributes that an entry is about besides its access predicate's, each once, in order."""
    return tuple(dict.fromkeys(constraint.name for constraint in entry.rest))


def _match_each(entries: Iterable[Entry], attributes: Attributes, hops: set[Hashable]) -> None:
    for entry in entries:
        if not hops.issuperset(entry.hops) and satisfied(entry.rest, attributes):
            hops.update(entry.hops)
