"""An event, with all that the records of a run tell of it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# The kinds of records that name an event, and what of each is needed to judge it, in this order.
TOLD = {
    "published": ["t", "node", "client", "attributes"], "forwarded": ["t", "node", "from", "to"],
    "delivered": ["t", "node", "client", "hops", "recovered", "published"], "undelivered": ["t", "node", "client"],
    "duplicate": ["t", "node"], "event_dropped": ["t", "node", "link", "reason"], "event_recovered": ["node"],
    "publication_dropped": ["node"], "buffer_dropped": ["t", "node", "device", "reason"], "refused": ["node"],
}
SIGNS = ("published", "forwarded", "delivered", "undelivered", "duplicate", "event_dropped")  # that it came to a host
_REFUSED = r"^event (?P<event>\d+\.\d+\.\d+) "  # in `what` of a record that a limit was reached


class Event:
    """`name` is "source.epoch.number"."""

    __slots__ = ("name", "told", "source", "at", "attributes")

    def __init__(self, name: str, told: dict[str, list[tuple[Any, ...]]]) -> None:
        self.name = name
        self.told = told  # kind -> a tuple of what TOLD names, a record
        first = min(self.of("published"), key=lambda record: record[:3], default=(None, None, None, None))
        # the first publication on record: s, and the host that it is of; None where there is none
        self.at: float | None = first[0]
        self.source: int | None = first[1]
        self.attributes: list[dict[str, Any]] = first[3] or []

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return self.told.get(kind, [])

    @property
    def namesake(self) -> int:
        """The host that published it, by its name."""
        return int(self.name.partition(".")[0])

    @property
    def life(self) -> str:
        """ "source.epoch": the life that published it, by its name."""
        return self.name.rpartition(".")[0]

    @property
    def number(self) -> int:
        return int(self.name.rpartition(".")[2])

    @property
    def kind(self) -> str | None:
        """Its attribute `kind` as text, where it has one, for the tables by kind."""
        value: dict[str, Any] = next((one["value"] for one in self.attributes if one["name"] == "kind"), {})
        found = next((value[name] for name in "snbx" if value.get(name) is not None), None)
        return str(found).lower() if isinstance(found, bool) else None if found is None else str(found)


class Published(Event):
    """An event whose publication is on record."""

    __slots__ = ()
    at: float
    source: int


def named(table: pa.Table, kind: str) -> pa.Table:
    """The columns of a kind's table that are needed, `event` first; without rows that name no event."""
    if kind == "refused":
        found = pc.struct_field(pc.extract_regex(table["what"], _REFUSED), "event")
        table = table.append_column("event", found).filter(pc.is_valid(found))
    return table.select(["event", *TOLD[kind]])


def events(tables: Iterable[tuple[str, pa.Table]]) -> Iterator[Event]:
    """The events of some tables of `named`, each with the kind of its records, in the order of publication."""
    told: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for kind, table in tables:
        columns = [table[name].to_pylist() for name in table.column_names]
        for name, record in zip(columns[0], zip(*columns[1:], strict=True), strict=True):
            told.setdefault(name, {}).setdefault(kind, []).append(record)
    found = [Published(name, records) if "published" in records else Event(name, records) for name, records in told.items()]
    return iter(sorted(found, key=lambda event: (event.at or 0.0, event.name)))
