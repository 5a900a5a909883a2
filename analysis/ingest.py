"""The log files of a run as tables: one Spark job reads them, writes `tables/KIND.parquet` and hands back what is small."""
from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from analysis import records
from analysis.errors import AnalysisError
from analysis.local import Context
from analysis.portion import COUNTED, KEPT, STEP, Piece, gather

LEAST, MOST = 1 << 20, 32 << 20  # bytes of logs for a task


class Ingest(NamedTuple):
    """What was found in the log files of one run."""

    tables: dict[str, pd.DataFrame]  # of the small kinds (portion.KEPT) every record: t, node, line, and fields of the kind
    sums: dict[str, pd.DataFrame]  # of others what the tasks counted: portion.COUNTED, sent, dropped, datagrams, numbers, ...
    segments: pd.DataFrame  # `node`, `line`, `last`: stretches of its records between starts and ends of lives
    counts: dict[str, int]  # records of each kind
    nodes: list[int]  # ids that left records of their own
    malformed: dict[str, int]  # file -> its lines that are no record, torn ones included
    torn: int  # files whose last line has no end
    unknown: dict[str, int]  # records of kinds that the schema does not know
    last: float  # s, time of the last record
    lasts: dict[int, float]  # node -> s, time of its last record
    untold: dict[str, list[int]]  # kind -> nodes that left records, none of them of this kind
    astray: dict[str, list[int]]  # file -> nodes not its own, whose lines in it were left out
    strayed: int  # those lines
    back: dict[str, int]  # file -> how often its times step back
    holes: dict[int, tuple[int, float]]  # node -> how often its reports on traffic pause too long, and how long (s) at most
    odd: dict[str, int]  # how fields are not those of their kind, as "KIND has FIELD" -> in how many records


def ingest(context: Context, logs: Sequence[Path], out: Path, pause: float = math.inf) -> Ingest:
    """Read log files, named N.jsonl by their node or world.jsonl, and write `out`/KIND.parquet for each kind met.

    `pause`: s between two reports of a host on its traffic, of more than which it is told.
    One job. Each task writes its part of every table; nothing of the lines goes through Java. Raises AnalysisError.
    """
    return whole(read(context, logs, out, pause), logs, pause)


def read(context: Context, logs: Sequence[Path], out: Path, pause: float = math.inf) -> list[dict[str, pa.Table]]:
    """The job of `ingest`: what its tasks handed back, in order."""
    for path in logs:
        if not path.is_file():
            raise AnalysisError(f"{path}: not a file; the records of a run are plain files, so remove it")
    tasks = _portions(logs, context.defaultParallelism)
    folder = str(out.resolve())
    return (context.parallelize(tasks, len(tasks))
            .mapPartitionsWithIndex(lambda part, own: [gather(part, pieces, folder, pause) for pieces in own]).collect()
            if tasks else [])


def whole(handed: list[dict[str, pa.Table]], logs: Sequence[Path], pause: float) -> Ingest:
    """What the tasks handed back, put together."""
    return _at_seams(_put_together(handed, sum(map(_torn, logs))), handed, pause)


def _portions(logs: Sequence[Path], workers: int) -> list[list[Piece]]:
    """The logs cut into tasks of about one size, in order."""
    sizes = [path.stat().st_size for path in logs]
    share = min(max(-(-sum(sizes) // workers), LEAST), MOST)
    tasks: list[list[Piece]] = []
    room = 0
    for path, size in zip(logs, sizes, strict=True):
        owner, start = -1 if path.name == records.WORLD else int(path.stem), 0
        while start < size:
            if room <= 0:
                tasks.append([])
                room = share
            end = min(start + room, size)
            tasks[-1].append(Piece(str(path.resolve()), owner, start, end))
            room -= end - start
            start = end
    return tasks


def _put_together(handed: list[dict[str, pa.Table]], torn: int) -> Ingest:
    def whole(name: str, schema: pa.Schema | None = None) -> pd.DataFrame:
        tables = [told[name] for told in handed if name in told]
        if not tables:
            return pd.DataFrame() if schema is None else _frame(schema.empty_table())
        return _frame(pa.concat_tables(tables))

    known = records.schemas()
    tables = {kind: whole(kind, pa.schema([records.table_schema(kind).field(name) for name in ("t", "node", "line", *fields)]))
              for kind, fields in KEPT.items()}
    segments = whole("segments", pa.schema([("node", pa.int64()), ("block", pa.int64()), ("row", pa.int64()), ("last", pa.float64())]))
    segments["line"] = list(zip(segments.pop("block"), segments.pop("row"), strict=True))
    found = whole("found", pa.schema([("kind", pa.string()), ("node", pa.int64()), ("owner", pa.int64()), ("astray", pa.bool_()),
                                      ("n", pa.int64()), ("last", pa.float64()), ("back", pa.int64()), ("holes", pa.int64()),
                                      ("hole", pa.float64())]))
    found["file"] = [records.WORLD if owner < 0 else f"{owner}.jsonl" for owner in found["owner"]]
    good, astray = found[found["kind"].notna()], found[found["astray"]]
    bad = found[found["kind"].isna() & ~found["astray"]]
    odd = whole("odd", pa.schema([("what", pa.string()), ("n", pa.int64())]))
    totals = good.groupby("kind")["n"].sum()
    nodes = {int(node) for node in good["node"] if node >= 0}
    by_kind = good.groupby("kind")["node"].agg(lambda told: set(map(int, told)))
    return Ingest(
        tables, {name: whole(name) for name in (*COUNTED, "sent", "dropped", "datagrams", "radio_traffic", "numbers")}, segments,
        {kind: int(n) for kind, n in totals.items() if kind in known}, sorted(nodes), _sums(bad, "n"), torn,
        {kind: int(n) for kind, n in totals.items() if kind not in known}, float(good["last"].max()) if len(good) else 0.0,
        {int(node): float(last) for node, last in good.groupby("node")["last"].max().items()},
        {kind: sorted(nodes - by_kind.get(kind, set())) for kind in known},
        {file: sorted({int(node) for node in of["node"]}) for file, of in astray.groupby("file")},
        int(astray["n"].sum()), _sums(found[found["back"] > 0], "back"),
        {int(node): (int(of["holes"].sum()), float(of["hole"].max())) for node, of in good[good["holes"] > 0].groupby("node")},
        {what: int(n) for what, n in odd.groupby("what")["n"].sum().items()})


def _at_seams(found: Ingest, handed: list[dict[str, pa.Table]], pause: float) -> Ingest:
    """With the steps back and the holes between the last record of one task and the first of the next, of one file."""
    back, holes = dict(found.back), dict(found.holes)
    last: dict[bool, dict[str, Any]] = {}  # by `mark`
    for told in handed:
        rows = told["seams"].to_pylist() if "seams" in told else []
        for mark in (False, True):
            mine = [row for row in rows if row["mark"] == mark]
            if not mine:
                continue
            first, before = mine[0], last.get(mark)
            last[mark] = mine[-1]
            if before is None or before["owner"] != first["owner"]:
                continue
            since = first["t"] - before["t"]
            if not mark and since < -STEP:
                file = records.WORLD if first["owner"] < 0 else f"{first['owner']}.jsonl"
                back[file] = back.get(file, 0) + 1
            elif mark and first["traffic"] and since > pause:
                times, most = holes.get(first["owner"], (0, 0.0))
                holes[first["owner"]] = times + 1, max(most, since)
    return found._replace(back=back, holes=holes)


def _frame(table: pa.Table) -> pd.DataFrame:
    """A table as pandas has it; `line` as pairs, which have an order, and lists as they are in JSON."""
    plain = [name for name, of in zip(table.column_names, table.schema.types, strict=True) if not pa.types.is_nested(of)]
    frame = table.select(plain).to_pandas()
    for name in table.column_names:
        if name not in plain:
            values = table[name].to_pylist()
            frame[name] = [(line["block"], line["row"]) for line in values] if name == "line" else values
    return frame


def _sums(rows: pd.DataFrame, column: str) -> dict[str, int]:
    return {file: int(n) for file, n in rows.groupby("file")[column].sum().items()}


def _torn(path: Path) -> bool:
    with open(path, "rb") as file:
        if file.seek(0, 2) == 0:
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"
