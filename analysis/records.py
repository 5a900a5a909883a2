"""Records as tables: the kinds and types that node.schema knows, the log files of a run, Parquet.

A line is read twice: once for the three fields that every record has, and once with the schema of
its kind, because two kinds may give one field name two types (`from` is a host or a link).
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from analysis.errors import AnalysisError
from node.schema import RecordType
from node.schema import records as record_kinds

_PLAIN = {"int": T.LongType(), "float": T.DoubleType(), "text": T.StringType(), "bool": T.BooleanType()}
_HEAD = T.StructType([T.StructField("t", T.DoubleType()), T.StructField("node", T.LongType()),
                      T.StructField("kind", T.StringType())])
ROW_GROUP = 50_000  # lines
WORLD = "world.jsonl"
STEP = 1.0  # s
_FOUND = "kind string, node long, file string, astray boolean, n long, last double, back long"
MOST_NODES, LATEST = 100_000, 1e9  # ids and times (s) beyond these are no record's: tables by id stay small
# fields by what they name, whatever the kind; hosts by id, links and events in the text form of node/ids.py
HOSTS = {"from", "to", "host", "neighbor", "other", "leader", "parent", "broker", "device", "holder"}
_LINK, _EVENT = r"^\d{1,10}-\d{1,10}\.[0-9a-f]{1,8}$", r"^\d{1,10}\.\d{1,10}\.\d{1,10}$"
FORMS = {"event": _EVENT, **dict.fromkeys(("link", "rid", "lost", "new", "from", "to"), _LINK)}
# where a line stands, to order the records of one instant: start of the file's block, then the row
_LINE = T.StructType([T.StructField("block", T.LongType(), False), T.StructField("row", T.LongType(), False)])


class Ingest(NamedTuple):
    """What was found in the log files of one run."""

    tables: dict[str, DataFrame]  # kind -> its records: t, node, line, then the fields of the kind
    counts: dict[str, int]  # records of each kind
    nodes: list[int]  # ids that left records of their own
    malformed: dict[str, int]  # file -> its lines that are no record, torn ones included
    torn: int  # files whose last line has no end
    unknown: dict[str, int]  # records of kinds that the schema does not know
    last: float  # s, time of the last record
    lasts: dict[int, float]  # node (-1: the world) -> s, time of the last record of its own
    untold: dict[str, list[int]]  # kind -> nodes that left records, none of them of this kind
    astray: dict[str, list[int]]  # file -> nodes not its own, whose lines in it were left out
    strayed: int  # those lines
    back: dict[str, int]  # file -> how often its times step back


def spark_type(of: RecordType) -> T.DataType:
    """The Spark type of a record's field; everything may be null, because logs are as they are found."""
    if of.kind == "list":
        return T.ArrayType(spark_type(of.items[0]))
    if of.kind == "struct":
        return _struct(of.fields)
    return _PLAIN[of.kind]


def _struct(fields) -> T.StructType:
    return T.StructType([T.StructField(name, spark_type(kind)) for name, kind in fields])


def schemas() -> dict[str, T.StructType]:
    """Kind -> the fields of its records (t, node and kind not among them)."""
    return {kind: _struct(record.fields.items()) for kind, record in record_kinds().items()}


def ingest(spark: SparkSession, logs: Sequence[Path], out: Path) -> Ingest:
    """Read log files, write `out`/KIND.parquet for each kind met, and return the tables.

    One job: Spark parses the lines, and each task writes its part of every table as Arrow columns.
    Spark's own writer would need a job a kind, most of whose time goes into setting it up.
    """
    known = schemas()
    if not logs:
        return Ingest({k: _empty(spark, s) for k, s in known.items()}, {}, [], {}, 0, {}, 0.0, {}, {}, {}, 0, {})
    for path in logs:
        if not path.is_file():
            raise AnalysisError(f"{path}: not a file; the records of a run are files, remove it")
    try:
        # without this option, where a path holds a letter of patterns, each of several files is read as often as there are
        raw = _reader(spark).option("recursiveFileLookup", "true").text([str(path.resolve()) for path in logs])
    except Exception as error:
        raise AnalysisError(f"{logs[0].parent}: Spark cannot read the records: {str(error).splitlines()[0]}") from error
    types = {kind: record.fields for kind, record in record_kinds().items()}
    parsed, place = _parsed(raw, known)
    found = parsed.mapInArrow(_sink(types, place, str(out.resolve())),
                              _FOUND).toPandas()
    good, astray = found[found["kind"].notna()], found[found["astray"]]
    bad = found[found["kind"].isna() & ~found["astray"]]
    totals = good.groupby("kind")["n"].sum()
    counts = {kind: int(n) for kind, n in totals.items() if kind in known}
    nodes = {int(node) for node in good["node"] if node >= 0}
    by_kind = good.groupby("kind")["node"].agg(lambda told: set(map(int, told)))
    tables = {kind: _read(spark, out / f"{kind}.parquet", schema) if kind in counts else _empty(spark, schema)
              for kind, schema in known.items()}
    return Ingest(tables, counts, sorted(nodes), _sums(bad, "n"), sum(map(_torn, logs)),
                  {kind: int(n) for kind, n in totals.items() if kind not in known},
                  float(good["last"].max()) if len(good) else 0.0,
                  {int(node): float(last) for node, last in good.groupby("node")["last"].max().items()},
                  {kind: sorted(nodes - by_kind.get(kind, set())) for kind in known},
                  {file: sorted({int(node) for node in of["node"]}) for file, of in astray.groupby("file")},
                  int(astray["n"].sum()), _sums(found[found["back"] > 0], "back"))


def _sums(rows: pd.DataFrame, column: str) -> dict[str, int]:
    return {file: int(n) for file, n in rows.groupby("file")[column].sum().items()}


def _parsed(raw: DataFrame, known: dict[str, T.StructType]) -> tuple[DataFrame, dict[str, str]]:
    """Every line parsed: `kind`, `t`, `node` (null when it is no record), `file` (its name), `astray` (of a node whose
    file this is not, and of no kind), `line`, and a column of fields for each group of kinds whose fields agree in their
    types; and which column holds a kind's fields."""
    groups: list[dict[str, T.DataType]] = []
    place: dict[str, str] = {}
    for kind, schema in known.items():
        for number, fields in enumerate(groups):
            if all(fields.get(f.name, f.dataType) == f.dataType for f in schema):
                break
        else:
            number, fields = len(groups), {}
            groups.append(fields)
        fields |= {f.name: f.dataType for f in schema}
        place[kind] = f"fields{number}"
    lines = (raw.where(F.length(F.trim("value")) > 0)
             .withColumn("line", F.struct(F.col("_metadata.file_block_start").alias("block"),
                                          F.monotonically_increasing_id().alias("row")))
             .withColumn("file", F.col("_metadata.file_name"))
             .withColumn("head", F.from_json("value", _HEAD)))
    whole = F.col("head.t").between(0.0, LATEST) & F.col("head.node").between(-1, MOST_NODES) \
        & F.col("head.kind").isNotNull()  # false for null and NaN
    whole = F.coalesce(whole, F.lit(False))
    own = F.when(F.col("head.node") < 0, WORLD).otherwise(F.concat(F.col("head.node").cast("string"), F.lit(".jsonl")))
    astray = whole & (own != F.col("file"))
    head = [F.when(whole, F.col(f"head.{name}")).alias(name) for name in ("t", "node")]
    head += [F.when(whole & ~astray, F.col("head.kind")).alias("kind"), "file", astray.alias("astray")]
    bodies = []
    for number, fields in enumerate(groups):
        schema = T.StructType([T.StructField(name, kind) for name, kind in fields.items()])
        mine = F.col("head.kind").isin([k for k, column in place.items() if column == f"fields{number}"])
        bodies.append(F.when(mine, F.from_json("value", schema)).alias(f"fields{number}"))
    return lines.select(*head, "line", *bodies), place


def _sink(kinds: dict[str, dict[str, RecordType]], place: dict[str, str], out: str):
    """The function of a task: batches of parsed lines in, Parquet files and counts of records out.

    A line without a field that its kind needs is no record. `kinds`: kind -> the types of its fields.
    """
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part, before = TaskContext.get().partitionId(), ("", 0.0)
        writers: dict[str, pq.ParquetWriter] = {}
        with ExitStack() as opened:
            for table in _gathered(batches):
                table = _sound(table, kinds, place)
                back, before = _steps_back(table, before)
                yield from (table.append_column("back", back).group_by(["kind", "node", "file", "astray"])
                            .aggregate([([], "count_all"), ("t", "max"), ("back", "sum")])
                            .rename_columns(["kind", "node", "file", "astray", "n", "last", "back"]).to_batches())
                for kind in set(pc.unique(table["kind"]).to_pylist()) & kinds.keys():
                    mine = table.filter(pc.equal(table["kind"], kind))
                    arrays = [mine["t"], mine["node"], mine["line"],
                              *(pc.struct_field(mine[place[kind]], name) for name in kinds[kind])]
                    rows = pa.table(arrays, names=["t", "node", "line", *kinds[kind]])
                    if kind not in writers:
                        folder = Path(out) / f"{kind}.parquet"
                        folder.mkdir(exist_ok=True)
                        file = opened.enter_context((folder / f"part-{part}.parquet").open("wb"))
                        writers[kind] = opened.enter_context(pq.ParquetWriter(file, rows.schema))
                    writers[kind].write_table(rows)
    return write


def _steps_back(table: pa.Table, before: tuple[str, float]) -> tuple[pa.Array, tuple[str, float]]:
    """For each line 1 if its time lies before that of the line ahead of it in the file, by more than clocks differ that
    were brought together, else 0; and (file, time) of the last line. `before`: those of the line ahead of all."""
    rows = np.flatnonzero(table["t"].is_valid().to_numpy())
    if not len(rows):
        return pa.array(np.zeros(len(table), dtype=np.int64)), before
    times, files = table["t"].take(rows).to_numpy(), table["file"].take(rows).to_numpy(zero_copy_only=False)
    same = np.concatenate([[before[0]], files[:-1]]) == files
    back = np.zeros(len(table), dtype=np.int64)
    back[rows] = same & (times < np.concatenate([[before[1]], times[:-1]]) - STEP)
    return pa.array(back), (str(files[-1]), float(times[-1]))


def _sound(table: pa.Table, kinds: dict[str, dict[str, RecordType]], place: dict[str, str]) -> pa.Table:
    """The same lines, of no kind where a field is not what the analysis builds on."""
    table = table.combine_chunks()
    found = table["kind"].combine_chunks()
    for kind in set(pc.unique(found).to_pylist()) & kinds.keys():
        mine, fields = pc.fill_null(pc.equal(found, kind), False), table[place[kind]].combine_chunks()
        good = _whole_struct(fields, kinds[kind].items())
        found = pc.if_else(pc.and_(mine, pc.invert(good)), None, found)
    return table.set_column(table.column_names.index("kind"), "kind", found)


def _whole_struct(structs: pa.Array, fields: Iterable[tuple[str, RecordType]]) -> pa.Array:
    whole = pc.is_valid(structs)
    for name, of in fields:
        whole = pc.and_(whole, pc.fill_null(_good(name, of, pc.struct_field(structs, name)), of.nullable))
    return whole


def _good(name: str, of: RecordType, values: pa.Array) -> pa.Array:
    """Whether values are complete, an id can be one of a host, and a name of a link or event has the form of
    ids.py; null for null."""
    if of.kind == "int" and name in HOSTS:
        return pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, MOST_NODES))
    if of.kind == "text" and name in FORMS:
        return pc.match_substring_regex(values, FORMS[name])
    good = pc.if_else(pc.is_valid(values), True, None)
    if of.kind == "struct":
        return pc.if_else(pc.is_valid(values), _whole_struct(values, of.fields), None)
    if of.kind == "list":
        inner = pc.fill_null(_good(name, of.items[0], pc.list_flatten(values)), of.items[0].nullable)
        bad = pc.filter(pc.list_parent_indices(values), pc.invert(inner))
        return pc.if_else(pc.is_in(pa.array(np.arange(len(values)), bad.type), bad), False, good)
    return good


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together to tables of a size that is worth a row group."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= ROW_GROUP:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _read(spark: SparkSession, path: Path, schema: T.StructType) -> DataFrame:
    return _reader(spark).schema(_whole(schema)).parquet(str(path.resolve()))


def _reader(spark: SparkSession) -> DataFrameReader:
    """A reader of paths as they are: no letter of theirs is a pattern. They must begin at the root, or what stands
    before a colon would be a scheme."""
    return spark.read.option("__globPaths__", "false")


def _empty(spark: SparkSession, schema: T.StructType) -> DataFrame:
    return spark.createDataFrame([], _whole(schema))


def _whole(schema: T.StructType) -> T.StructType:
    return T.StructType([*_HEAD.fields[:2], T.StructField("line", _LINE), *schema.fields])


def _torn(path: Path) -> bool:
    with open(path, "rb") as file:
        if file.seek(0, 2) == 0:
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"
