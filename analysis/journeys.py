"""Losses and the travels of events, packed for the page: what it marks on the time line, and what moves on its map.

A loss is a row of the table `outcomes` that counts and was not delivered in time. Its way is the path between publisher and
subscriber through the tree that stood at its publication (routes.py). The hops that an event took are read from the records: it
departs when a host records `forwarded` to a link, and arrives when the other end first tells that it came over that link.

The page holds MAX_EVENTS events with MAX_HOPS hops, whatever the run: those with losses first, spread evenly over the run. What
that leaves out is counted, and the page says so.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis import roaming
from analysis.fragments import Forest
from analysis.losses import REASONS
from analysis.study import Study

MAX_LOSSES = 3_000
MAX_EVENTS = 3_000
MAX_HOPS = 60_000  # hops and deliveries of all events together
TICK = 1e-4  # s, the unit of times
ROWS = 50_000  # of a table that are read at once
_GOLDEN = 0.6180339887498949
_LOST = ["event", "node", "client", "source", "published", "delivered", "reason", "detail", "near", "far"]


def journeys(whole: Study) -> dict[str, Any]:
    """The data for templates/losses.js and map.js. Times in TICK, those of an event's hops since its publication.

    `reasons`: name, meaning, how many pairs, most first. `lost`, `published`: how many pairs and events there are in all.
    `losses`: rows of t, event (row of `events`), node, client, reason (row of `reasons`), detail (row of `details`), near, far (-1:
    none), path (hosts, or null), latency of what came late (-1: never). `events`: rows of t, source, name, hops
    (flat: depart, near, far, arrive or -1), deliveries (flat: t, node).
    """
    tables = whole.run.tables
    lost, total = _lost(tables, whole)
    names, published = _chosen(tables, lost)
    reasons = whole.parts.reasons.groupby("reason")["expected"].sum().sort_values(ascending=False, kind="stable")
    row = {name: at for at, name in enumerate(reasons.index)}
    details = {detail: at for at, detail in enumerate(dict.fromkeys(lost["detail"]))}
    events = _travels(tables, whole, names)
    place = {event[2]: at for at, event in enumerate(events)}
    lost = lost[lost["event"].isin(place)]
    ways = _ways(whole, lost)
    losses = [[_ticks(r.published), place[r.event], r.node, r.client, row[r.reason], details[r.detail], _host(r.near), _host(r.far), way,
               _ticks(r.delivered - r.published) if r.delivered == r.delivered else -1]
              for r, way in zip(lost.itertuples(), ways, strict=True)]
    return {"reasons": [[name.replace("_", " "), REASONS.get(name, ""), int(count)] for name, count in reasons.items()],
            "details": list(details), "lost": total, "published": published, "losses": losses, "events": events}


def left_out(data: dict[str, Any]) -> list[str]:
    """Notes on what of `journeys` the page does not show."""
    notes = []
    if len(data["losses"]) < data["lost"]:
        notes.append(f"the time line marks {len(data['losses']):,} of {data['lost']:,} losses, spread evenly over the run; all are in "
                     "tables/outcomes.parquet")
    if len(data["events"]) < data["published"]:
        notes.append(f"the map plays {len(data['events']):,} of {data['published']:,} events, those with losses first, the others spread "
                     "evenly over the run")
    return notes


def _lost(tables: Path, whole: Study) -> tuple[pd.DataFrame, int]:
    """MAX_LOSSES of the lost pairs that count, in the order of publication, and how many there are."""
    def lost(table: pa.Table) -> pa.Array:
        counts = pc.and_(pc.invert(table["local"]), pc.invert(table["node_down"]))
        return pc.and_(counts, pc.is_valid(table["reason"]))

    flags = ["local", "node_down", "reason"]
    times = [table.filter(lost(table))["published"] for table in _read(tables / "outcomes.parquet", [*flags, "published"])]
    at = np.concatenate([part.to_numpy() for part in times]) if times else np.zeros(0)
    order = np.argsort(at, kind="stable")
    kept, before, found = np.sort(order[_spread(len(order), MAX_LOSSES)]), 0, []
    for table in _read(tables / "outcomes.parquet", list(dict.fromkeys([*flags, *_LOST]))):
        some = table.filter(lost(table)).select(_LOST)
        mine = kept[(kept >= before) & (kept < before + len(some))] - before
        found.append(some.take(pa.array(mine)))
        before += len(some)
    frame = pa.concat_tables(found).to_pandas() if found else pd.DataFrame(columns=_LOST)
    return frame.sort_values(["published", "event", "node", "client"], kind="stable", ignore_index=True), len(at)


def _chosen(tables: Path, lost: pd.DataFrame) -> tuple[list[str], int]:
    """Names of events to show, the most important first, and how many events there are."""
    first: dict[str, float] = {}
    for table in _read(tables / "published.parquet", ["event", "t"]):
        for name, t in zip(table["event"].to_pylist(), table["t"].to_pylist(), strict=True):
            first[name] = min(t, first.get(name, t))
    with_losses = list(dict.fromkeys(lost["event"]))
    others = sorted(first.keys() - set(with_losses), key=lambda name: (first[name], name))
    names = [group[at] for group in (with_losses, others) for at in _spread(len(group), MAX_EVENTS)]
    return names[:MAX_EVENTS], len(first)


def _travels(tables: Path, whole: Study, names: Sequence[str]) -> list[list[Any]]:
    """Rows of `events` in the order of publication, of as many of these names as MAX_HOPS allows."""
    names, room, kept = list(names), MAX_HOPS, []
    sizes = _sizes(tables, names)
    for name in names:
        room -= sizes[name]
        if room < 0:
            break
        kept.append(name)
    told: dict[str, dict[str, list[tuple[Any, ...]]]] = {name: defaultdict(list) for name in kept}
    for kind, columns in {"published": ["t", "node"], "forwarded": ["t", "node", "from", "to"], "delivered": ["t", "node"],
                          "undelivered": ["t", "node"], "duplicate": ["t", "node", "link"]}.items():
        for table in _of(tables, kind, ["event", *columns], kept):
            fields = [table[name].to_pylist() for name in columns]
            for name, record in zip(table["event"].to_pylist(), zip(*fields, strict=True), strict=True):
                told[name][kind].append(record)
    links = _links(whole)
    ends = dict(zip(links["link"], zip(links["i"].tolist(), links["j"].tolist(), strict=True), strict=True))
    rows = []
    for name, records in told.items():
        t, source = min(records["published"])
        came = sorted(record[:2] for record in records["delivered"])
        rows.append([_ticks(t), source, name, [x for hop in _hops(records, ends, t) for x in hop],
                     [x for at, node in came for x in (_ticks(at - t), node)]])
    return sorted(rows, key=lambda row: (row[0], row[2]))


def _hops(records: dict[str, list[tuple[Any, ...]]], ends: dict[str, tuple[int, int]], start: float) -> list[tuple[int, int, int, int]]:
    """depart, near, far, arrive (-1: no record tells) of the hops of one event, in the order of departure."""
    over: dict[tuple[int, str], float] = {}  # (host, link) -> when it came there over it
    for t, node, link in [record[:3] for record in records["forwarded"]] + records["duplicate"]:
        if link is not None:
            over[node, link] = min(t, over.get((node, link), t))
    exact = {node for node, _ in over}
    at: dict[int, float] = {}  # hosts that tell only that it came
    for t, node in records["delivered"] + records["undelivered"]:
        at[node] = min(t, at.get(node, t))
    found = []
    for t, near, _, to in records["forwarded"]:
        for link in to:
            if near not in ends.get(link, ()):
                continue  # no record tells between whom it is
            far = sum(ends[link]) - near
            came = over.get((far, link), None if far in exact else at.get(far))
            found.append((_ticks(t - start), near, far, _ticks(came - start) if came is not None and came >= t else -1))
    return sorted(found)


def _sizes(tables: Path, names: Sequence[str]) -> dict[str, int]:
    """Hops and deliveries of each event."""
    sizes = dict.fromkeys(names, 0)
    for kind, column in (("forwarded", "to"), ("delivered", "node")):
        for table in _of(tables, kind, ["event", column], names):
            many = pc.list_value_length(table[column]).to_pylist() if kind == "forwarded" else [1] * len(table)
            for name, n in zip(table["event"].to_pylist(), many, strict=True):
                sizes[name] += n
    return sizes


def _ways(whole: Study, lost: pd.DataFrame) -> list[list[int] | None]:
    """For each loss the hosts between publisher and subscriber in the tree at its publication; None where it did not connect them."""
    if whole.run.treeless:
        return [None] * len(lost)
    forest, ways, before, paths = Forest(_links(whole), whole.tree_ends), [], None, {}
    for loss in lost.itertuples():
        if loss.event != before:
            before, paths = loss.event, forest.paths(int(loss.source), float(loss.published))
        path = paths.get(loss.node)
        ways.append(None if path is None else [int(loss.source), *(int(hop.far) for hop in path)])
    return ways


def _links(whole: Study) -> pd.DataFrame:
    """Tree links, and the attachments of clients that roam."""
    if whole.moves is None:
        return whole.tree_links
    attached = roaming.attachments(whole.ingest.tables, whole.lives, max(whole.run.ended, whole.ingest.last))
    return pd.concat([whole.tree_links, roaming.as_links(attached)], ignore_index=True)


def _spread(n: int, most: int) -> np.ndarray:
    """At most `most` of the numbers from 0 to n - 1, so ordered that any first part of them is spread evenly."""
    order: np.ndarray = np.argsort((np.arange(n) * _GOLDEN) % 1.0, kind="stable")
    return order[:most]


def _of(tables: Path, kind: str, columns: list[str], names: Sequence[str]) -> Iterator[pa.Table]:
    """The records of a kind about some events."""
    wanted = pa.array(names, pa.string())
    for table in _read(tables / f"{kind}.parquet", columns):
        yield table.filter(pc.is_in(table["event"], wanted))


def _read(folder: Path, columns: list[str]) -> Iterator[pa.Table]:
    """A table piece by piece; nothing where the run has none."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        with path.open("rb") as file:
            for batch in pq.ParquetFile(file).iter_batches(ROWS, columns=columns):
                yield pa.Table.from_batches([batch])


def _ticks(t: float) -> int:
    return int(round(t / TICK))


def _host(x: float | None) -> int:
    return -1 if x is None or x != x else int(x)
