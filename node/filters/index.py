"""Which hops an event goes to: matching against all filters of a node at once.

The counting algorithm with access predicates (Fabret et al., "Filtering algorithms and implementation for
very fast publish/subscribe systems", SIGMOD 2001). Each filter stands in the cluster of one of its
constraints, its access predicate: an equality where it has one. For an event only the clusters whose access
predicate is satisfied are looked at, found by hashing; in them each distinct constraint is evaluated once and
counted for its filters, and a filter whose count is full matches. A selective filter that does not match
costs nothing.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from node.filters.language import ORDERINGS, Attributes, Constraint, Filter, Value, type_of

Payload = TypeVar("Payload")

# What makes a good access predicate, best first.
_SELECTIVE = {op: rank for rank, op in enumerate(
    ("=", "in", "prefix", "suffix", "contains", "<", "<=", ">", ">=", "!=", "exists"))}
_SMALL = 8  # filters up to which a cluster is evaluated one by one, for speed and memory


class Index:
    """Filters and the hops that want their events. A hop is any hashable; each pair counts once."""

    def __init__(self) -> None:
        self._entries: dict[Filter, _Entry] = {}
        self._clusters: _Predicates[_Cluster] = _Predicates()
        self._everything: dict[Filter, _Entry] = {}  # filters without constraints

    def add(self, filter: Filter, hop: Hashable) -> bool:
        """Put a filter in for a hop; False if it was there."""
        entry = self._entries.get(filter)
        if entry is None:
            entry = self._entries[filter] = _Entry(filter)
            if filter.constraints:
                entry.access = min(filter.constraints, key=self._badness)
                entry.rest = [one for one in filter.constraints if one is not entry.access]
                self._clusters.reach(entry.access, _Cluster).add(entry)
            else:
                self._everything[filter] = entry
        if hop in entry.hops:
            return False
        entry.hops[hop] = None
        return True

    def remove(self, filter: Filter, hop: Hashable) -> bool:
        """Take a filter out for a hop; False if it was not there."""
        entry = self._entries.get(filter)
        if entry is None or hop not in entry.hops:
            return False
        del entry.hops[hop]
        if not entry.hops:
            del self._entries[filter]
            if entry.access is None:
                del self._everything[filter]
            else:
                cluster = self._clusters.get(entry.access)
                cluster.remove(entry)
                if not cluster.entries:
                    self._clusters.discard(entry.access)
        return True

    def match(self, attributes: Attributes) -> set[Hashable]:
        """The hops that have a filter which an event with these attributes matches."""
        hops: set[Hashable] = set()
        for entry in self._everything.values():
            hops.update(entry.hops)
        for cluster in self._clusters.satisfied(attributes):
            cluster.match(attributes, hops)
        return hops

    def _badness(self, constraint: Constraint) -> tuple:
        """The best access predicate has the least: selective by its kind, then in a small cluster."""
        rank = 0 if constraint.op == "in" else _SELECTIVE[constraint.op]
        cluster = self._clusters.get(constraint)
        return rank, len(cluster.entries) if cluster else 0, _SELECTIVE[constraint.op]


class _Entry:
    """A filter in the index."""

    __slots__ = ("access", "filter", "hops", "rest")

    def __init__(self, filter: Filter) -> None:
        self.filter = filter
        self.hops: dict[Hashable, None] = {}
        self.access: Constraint | None = None
        self.rest: list[Constraint] = []  # what is to be satisfied besides the access predicate


class _Cluster:
    """The filters of one access predicate."""

    __slots__ = ("bare", "counted", "entries")

    def __init__(self) -> None:
        self.entries: dict[Filter, _Entry] = {}
        self.bare: _Entry | None = None  # the filter that is nothing but the access predicate
        self.counted: _Predicates[dict] | None = None  # constraint -> entries that have it; only when large

    def add(self, entry: _Entry) -> None:
        self.entries[entry.filter] = entry
        if not entry.rest:
            self.bare = entry
        if self.counted is not None:
            self._count(entry)
        elif len(self.entries) > _SMALL:
            self.counted = _Predicates()
            for one in self.entries.values():
                self._count(one)

    def _count(self, entry: _Entry) -> None:
        for constraint in entry.rest:
            self.counted.reach(constraint, dict)[entry.filter] = entry

    def remove(self, entry: _Entry) -> None:
        del self.entries[entry.filter]
        if entry is self.bare:
            self.bare = None
        if self.counted is None:
            return
        if len(self.entries) <= _SMALL // 2:  # not at the same size as in `add`, which would flutter
            self.counted = None
            return
        for constraint in entry.rest:
            having = self.counted.get(constraint)
            del having[entry.filter]
            if not having:
                self.counted.discard(constraint)

    def match(self, attributes: Attributes, hops: set[Hashable]) -> None:
        """Add the hops of the filters that match, given that the access predicate is satisfied."""
        if self.counted is None:
            for entry in self.entries.values():
                if not hops.issuperset(entry.hops) and _all_satisfied(entry.rest, attributes):
                    hops.update(entry.hops)
            return
        if self.bare is not None:
            hops.update(self.bare.hops)
        counts: dict[_Entry, int] = {}
        for having in self.counted.satisfied(attributes):
            for entry in having.values():
                counts[entry] = counts.get(entry, 0) + 1
        for entry, count in counts.items():
            if count == len(entry.rest):
                hops.update(entry.hops)


def _all_satisfied(constraints: list[Constraint], attributes: Attributes) -> bool:
    for constraint in constraints:
        name = constraint.name
        if name not in attributes or not constraint.test(attributes[name]):
            return False
    return True


class _Predicates(Generic[Payload]):
    """Constraints, each with a payload; finds the payloads of those that an event satisfies."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[str, _Attribute] = {}

    def get(self, constraint: Constraint) -> Payload | None:
        attribute = self._names.get(constraint.name)
        return attribute.payloads.get(constraint) if attribute else None

    def reach(self, constraint: Constraint, make: Callable[[], Payload]) -> Payload:
        """The payload of a constraint, made now if it is new."""
        attribute = self._names.get(constraint.name)
        if attribute is None:
            attribute = self._names[constraint.name] = _Attribute()
        payload = attribute.payloads.get(constraint)
        if payload is None:
            payload = make()
            attribute.add(constraint, payload)
        return payload

    def discard(self, constraint: Constraint) -> None:
        attribute = self._names[constraint.name]
        attribute.discard(constraint)
        if not attribute.payloads:
            del self._names[constraint.name]

    def satisfied(self, attributes: Attributes) -> list[Payload]:
        """The payloads of all constraints that these attributes satisfy, each once."""
        found: list[Payload] = []
        names = self._names
        if len(names) < len(attributes):
            for name, attribute in names.items():
                if name in attributes:
                    attribute.collect(attributes[name], found)
        else:
            for name, value in attributes.items():
                attribute = names.get(name)
                if attribute is not None:
                    attribute.collect(value, found)
        return found


# Keys of booleans among the values of equalities: in Python True is 1, here it is not.
_BOOLEANS = {True: (True,), False: (False,)}


def _key(value: Value) -> Hashable:
    return _BOOLEANS[value] if type(value) is bool else value


class _Attribute:
    """The constraints on one attribute, arranged by how those that a value satisfies are found."""

    __slots__ = ("_equal", "_ordered", "_others", "payloads")

    def __init__(self) -> None:
        self.payloads: dict[Constraint, object] = {}
        self._equal: dict[Hashable, dict[Constraint, object]] = {}  # by value: `=`, and each value of an `in`
        # by type and operator: sorted bounds, and their payloads in the same places
        self._ordered: dict[tuple[str, str], tuple[list, list]] = {}
        self._others: dict[Constraint, object] = {}  # evaluated one by one

    def add(self, constraint: Constraint, payload: object) -> None:
        self.payloads[constraint] = payload
        if constraint.op in ("=", "in"):
            for value in constraint.values:
                self._equal.setdefault(_key(value), {})[constraint] = payload
        elif constraint.op in ORDERINGS:
            bound = constraint.values[0]
            bounds, payloads = self._ordered.setdefault((type_of(bound), constraint.op), ([], []))
            place = bisect_left(bounds, bound)
            bounds.insert(place, bound)
            payloads.insert(place, payload)
        else:
            self._others[constraint] = payload

    def discard(self, constraint: Constraint) -> None:
        del self.payloads[constraint]
        if constraint.op in ("=", "in"):
            for value in constraint.values:
                having = self._equal[_key(value)]
                del having[constraint]
                if not having:
                    del self._equal[_key(value)]
        elif constraint.op in ORDERINGS:
            bound = constraint.values[0]
            bounds, payloads = self._ordered[type_of(bound), constraint.op]
            place = bisect_left(bounds, bound)
            del bounds[place], payloads[place]
            if not bounds:
                del self._ordered[type_of(bound), constraint.op]
        else:
            del self._others[constraint]

    def collect(self, value: Value, found: list) -> None:
        """Append the payloads of the constraints that this value satisfies."""
        having = self._equal.get(_key(value))
        if having is not None:
            found.extend(having.values())
        if self._ordered:
            kind = type_of(value)
            for (wanted, op), (bounds, payloads) in self._ordered.items():
                if wanted != kind:
                    continue
                if op == ">":
                    found.extend(payloads[:bisect_left(bounds, value)])
                elif op == ">=":
                    found.extend(payloads[:bisect_right(bounds, value)])
                elif op == "<":
                    found.extend(payloads[bisect_right(bounds, value):])
                else:
                    found.extend(payloads[bisect_left(bounds, value):])
        for constraint, payload in self._others.items():
            if constraint.test(value):
                found.append(payload)
