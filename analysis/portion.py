"""A task's portion of the logs: pieces of files read, parts of the tables written, and what is small handed back.

Runs where the tasks run, and so imports no more than it needs. What a task hands back is Arrow tables by name:
the kinds of KEPT whole, `found` (what the lines were), `segments` (lives.py), sums of what is many.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis import records
from analysis.records import Lines, Parsed

BLOCK = 8 << 20  # bytes of lines that are parsed at once
LONGEST = 16 << 20  # bytes of a line; what goes on for longer is no record
MARKS = ("traffic", "node_started")  # records of a host that lives
STEP = 1.0  # s; times in a file that step back by more are told
# Kinds of which the driver needs every record, and which of their fields.
KEPT = {
    "host_up": ["host"], "host_down": ["host"], "node_started": ["epoch", "version"], "node_stopped": ["epoch"],
    "radio_up": ["from", "to"], "radio_down": ["from", "to"],
    "link_gained": ["link", "neighbor"], "link_lost": ["link", "neighbor", "reason"],
    "link_activated": ["link", "held"], "subscriptions_released": ["link"],
    "subscribed": ["client", "filter", "hash", "constraints"], "unsubscribed": ["client", "hash"],
    "tree_state": ["leader", "seeking"], "repair_started": ["cause"], "repair_ended": ["cause", "outcome", "seconds"],
    "event_recovered": ["event", "giver", "rounds", "seconds"],
    "moved_in": ["broker", "turn", "away"], "moved_out": ["broker", "turn"], "let_in": ["turn", "seconds", "waited"],
    "session_opened": ["device"], "session_closed": ["device"], "handoff": ["device", "events", "duplicates"],
}
# Kinds whose records are counted for incidents.py, by node and these fields, with the sums and the most of others.
COUNTED = {
    "identity_conflict": (["other", "epochs"], [], []), "refused": (["what", "limit"], [], []),
    "queue_overflow": (["message"], [], []), "radio_overflow": (["host", "t"], ["frames"], []),
    "table_healed": ([], ["added", "removed"], []), "link_abandoned": ([], [], []), "interface": (["state"], [], []),
    "records_lost": ([], ["records"], []), "slow_sync": ([], [], ["seconds"]),
}


class Piece(NamedTuple):
    """The lines of a file that begin in [start, end), in bytes."""

    path: str
    owner: int  # the node whose file it is, -1 for the world
    start: int
    end: int


def gather(part: int, pieces: list[Piece], out: str, pause: float = math.inf) -> dict[str, pa.Table]:
    """Read the pieces and write `out`/KIND.parquet/part-`part`.parquet for each kind met. Returns what the driver needs.

    `pause`: s between two reports of a host on its traffic, of more than which it is told.
    """
    told: dict[str, list[pa.Table]] = {}
    before = mark = (records.MOST_NODES + 1, 0.0)
    writers: dict[str, pq.ParquetWriter] = {}
    with ExitStack() as opened:
        for lines in _blocks(pieces):
            parsed = records.parse(lines)
            back, before = _steps_back(lines, parsed, before)
            hole, mark = _holes(lines, parsed, mark, pause)
            for name, table in (*_handed(lines, parsed, back, hole), ("seams", _seam(lines, parsed))):
                told.setdefault(name, []).append(table)
            for kind, table in parsed.tables.items():
                if kind not in writers:
                    folder = Path(out) / f"{kind}.parquet"
                    folder.mkdir(exist_ok=True)
                    file = opened.enter_context((folder / f"part-{part}.parquet").open("wb"))
                    writers[kind] = opened.enter_context(pq.ParquetWriter(file, table.schema))
                writers[kind].write_table(table)
    return {name: pa.concat_tables(tables) for name, tables in told.items()}


def _blocks(pieces: list[Piece]) -> Iterator[Lines]:
    """The lines of the pieces in order, as many together as are worth parsing; empty ones are passed over."""
    text: list[bytes] = []
    where: list[tuple[Piece, int, int]] = []  # piece, its first row here, how many
    size = 0
    for piece in pieces:
        row = 0
        for chunk in _chunks(piece):
            found = [line for raw in chunk.split(b"\n") if (line := raw.strip(b" \t\r"))]  # the white space of JSON, no form feed
            text += found
            where.append((piece, row, len(found)))
            row += len(found)
            size += len(chunk)
            if size >= BLOCK:
                yield _lines(text, where)
                text, where, size = [], [], 0
    if text:
        yield _lines(text, where)


def _lines(text: list[bytes], where: list[tuple[Piece, int, int]]) -> Lines:
    counts = [count for _, _, count in where]
    return Lines(text, np.repeat([piece.owner for piece, _, _ in where], counts),
                 np.repeat([piece.start for piece, _, _ in where], counts),
                 np.concatenate([np.arange(first, first + count) for _, first, count in where]))


def _chunks(piece: Piece) -> Iterator[bytes]:
    """The text of a piece in whole lines and bounded parts. What is no UTF-8 gets a mark in its place."""
    with open(piece.path, "rb") as file:
        left = piece.end - piece.start
        if piece.start:
            file.seek(piece.start - 1)
            left -= _skipped(file) - 1
        while left > 0:
            chunk = file.read(min(BLOCK, left))
            left -= len(chunk)
            if not chunk:
                return
            if not chunk.endswith(b"\n"):
                rest = file.readline(LONGEST)
                left -= len(rest)
                if len(rest) == LONGEST and not rest.endswith(b"\n"):  # its head is cut off, and what is left of it is no record
                    left -= _skipped(file)
                chunk += rest
            try:
                chunk.decode()
            except UnicodeDecodeError:
                chunk = chunk.decode(errors="replace").encode()
            yield chunk


def _skipped(file: BinaryIO) -> int:
    """Go on behind the end of the line; how many bytes that took."""
    skipped = 0
    while part := file.readline(BLOCK):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _steps_back(lines: Lines, parsed: Parsed, before: tuple[int, float]) -> tuple[np.ndarray, tuple[int, float]]:
    """For each line 1 if its time lies before that of the line ahead of it in the file, by more than clocks differ that
    were brought together, else 0; and (owner, time) of the last line. `before`: those of the line ahead of all."""
    back = np.zeros(len(lines.text), dtype=np.int64)
    rows = np.flatnonzero(~np.isnan(parsed.t))
    if not len(rows):
        return back, before
    times, owners = parsed.t[rows], lines.owner[rows]
    same = np.concatenate([[before[0]], owners[:-1]]) == owners
    back[rows] = same & (times < np.concatenate([[before[1]], times[:-1]]) - STEP)
    return back, (int(owners[-1]), float(times[-1]))


def _holes(lines: Lines, parsed: Parsed, mark: tuple[int, float], pause: float) -> tuple[np.ndarray, tuple[int, float]]:
    """For each report on traffic the time (s) since the one ahead of it in its file, or since the start of the life, where
    that is more than `pause`, else 0; and (owner, time) of the last. `mark`: those of the one ahead of all."""
    hole = np.zeros(len(lines.text))
    reports = parsed.kind == MARKS[0]
    rows = np.flatnonzero(reports | (parsed.kind == MARKS[1]))
    if not len(rows):
        return hole, mark
    times, owners = parsed.t[rows], lines.owner[rows]
    since = times - np.concatenate([[mark[1]], times[:-1]])
    long = (np.concatenate([[mark[0]], owners[:-1]]) == owners) & reports[rows] & (since > pause)
    hole[rows] = np.where(long, since, 0.0)
    return hole, (int(owners[-1]), float(times[-1]))


def _seam(lines: Lines, parsed: Parsed) -> pa.Table:
    """The first and the last record of a block, and its first and last report (MARKS): `mark`, `owner`, `t` and whether it is
    a report on `traffic`. A step back or a hole between two tasks is found by them (ingest.py)."""
    timed = np.flatnonzero(~np.isnan(parsed.t))
    marks = np.flatnonzero((parsed.kind == MARKS[0]) | (parsed.kind == MARKS[1]))
    rows = [(mark, at) for mark, found in ((False, timed), (True, marks)) if len(found) for at in (found[0], found[-1])]
    at = np.array([row for _, row in rows], dtype=np.int64)
    return pa.table({"mark": pa.array([mark for mark, _ in rows], pa.bool_()), "owner": lines.owner[at], "t": parsed.t[at],
                     "traffic": pa.array((parsed.kind[at] == MARKS[0]).tolist(), pa.bool_())})


def _handed(lines: Lines, parsed: Parsed, back: np.ndarray, hole: np.ndarray) -> Iterator[tuple[str, pa.Table]]:
    """What of a block of lines the driver needs, by name."""
    found = pa.table({"kind": pa.array(parsed.kind, pa.string()), "node": parsed.node, "owner": lines.owner,
                      "astray": parsed.astray, "t": parsed.t, "back": back, "hole": hole, "holes": (hole > 0).astype(np.int64)})
    yield "found", found.group_by(["kind", "node", "owner", "astray"]).aggregate(
        [([], "count_all"), ("t", "max"), ("back", "sum"), ("holes", "sum"), ("hole", "max")]).rename_columns(
        ["kind", "node", "owner", "astray", "n", "last", "back", "holes", "hole"])
    if parsed.odd:
        yield "odd", pa.table({"what": list(parsed.odd), "n": list(parsed.odd.values())})
    yield "segments", _segments(lines, parsed)
    for kind, table in parsed.tables.items():
        if kind in KEPT:
            yield kind, table.select(["t", "node", "line", *KEPT[kind]])
        elif kind in COUNTED:
            yield kind, _counted(table, *COUNTED[kind])
        elif kind == "published":
            yield "numbers", _numbers(table)
        elif kind == "traffic":
            yield from _traffic(table)
        elif kind == "radio_traffic":
            fields = records.schemas()[kind].names
            yield kind, pa.table({name: pa.array([pc.sum(table[name])]) for name in fields})


def _segments(lines: Lines, parsed: Parsed) -> pa.Table:
    """`node`, `block`, `row`, `last`: stretches of a node's file that no start or end of a life cuts, by their first
    line, and the latest time of a record in each."""
    known = np.array([kind in records.schemas() for kind in parsed.kind], dtype=bool)
    times = np.where(known & (lines.owner >= 0), parsed.t, -np.inf)
    marks = (parsed.kind == "node_started") | (parsed.kind == "node_stopped")
    cuts = np.flatnonzero(marks | (np.diff(lines.owner, prepend=-2) != 0) | (np.diff(lines.block, prepend=-1) != 0))
    last = np.maximum.reduceat(times, cuts)
    cuts, last = cuts[last >= 0], last[last >= 0]
    return pa.table({"node": lines.owner[cuts], "block": lines.block[cuts], "row": lines.row[cuts], "last": last})


def _counted(table: pa.Table, by: list[str], sums: list[str], most: list[str]) -> pa.Table:
    if "what" in by:  # an event's, a link's or a client's own name says nothing here and would make every line another
        plain = pc.replace_substring_regex(table["what"], r"\S*\d\S*", "…")
        table = table.set_column(table.column_names.index("what"), "what", plain)
    if "epochs" in by:  # a list, by which Arrow does not group; there are few of these records
        one = pa.array(np.ones(len(table), dtype=np.int64))
        return table.select(["node", *by]).append_column("n", one)
    found = table.group_by(["node", *by]).aggregate(
        [([], "count_all"), *((name, "sum") for name in sums), *((name, "max") for name in most)])
    return found.rename_columns(["node", *by, "n", *sums, *most])


def _numbers(published: pa.Table) -> pa.Table:
    """`life` ("source.epoch") and the highest `number` that an event of it has."""
    parts = pc.split_pattern(published["event"].combine_chunks(), ".", max_splits=1, reverse=True)
    named = pa.table({"life": pc.list_element(parts, 0), "number": pc.list_element(parts, 1).cast(pa.int64())})
    return named.group_by("life").aggregate([("number", "max")]).rename_columns(["life", "number"])


def _traffic(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """`sent` by type, `dropped` by reason, and `datagrams` in all."""
    for name, key in (("sent", "type"), ("dropped", "reason")):
        items = pc.list_flatten(table[name].combine_chunks())
        sums = [field.name for field in items.type if field.name != key]
        whole = pa.table({key: pc.struct_field(items, key), **{of: pc.struct_field(items, of) for of in sums}})
        yield name, whole.group_by(key).aggregate([(of, "sum") for of in sums]).rename_columns([key, *sums])
    yield "datagrams", pa.table({name: pa.array([pc.sum(table[name])]) for name in ("datagrams_sent", "datagrams_received")})
