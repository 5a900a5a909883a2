"""Frames against records of one run: what nodes say that they sent, received and delivered, and what their radios saw.

Of a host with a capture of its own. Captures and records may differ for good reasons (a capture that began late, a datagram
that a full queue turned away); what is found is told, and nothing is judged.
"""
from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.frames.walk import received
from analysis.run import Run, some

KEYS = ["node", "what"]
MOST = 8  # notes; the table has all


def disagreements(spark: SparkSession, run: Run, frames: DataFrame) -> DataFrame:
    """Rows (node, what, records, frames) where a host's records and its capture count differently; `what` is a phrase."""
    if run.manifest.get("captures_cut"):  # their frames are fewer for that reason, and the manifest's notes say so
        return spark.createDataFrame([], "node bigint, what string, records bigint, frames bigint")
    good = frames.where("malformed is null and sender is not null").withColumn("node", F.expr("try_cast(capture as bigint)")).where("node is not null")
    counted = _of_frames(good)
    told = _of_records(spark, run)
    nodes = good.select("node").distinct()
    compared = counted.join(told, KEYS, "full").join(nodes, "node", "left_semi").select(
        *KEYS, F.coalesce("records", F.lit(0)).alias("records"), F.coalesce("frames", F.lit(0)).alias("frames"))
    return compared.where("records != frames").union(_unseen(spark, run, good)).union(_strangers(run, good))


def _of_frames(good: DataFrame) -> DataFrame:
    own = good.where("sender = node").dropDuplicates(["node", "epoch", "counter"])
    sent = own.groupBy("node").agg(F.count("*").alias("frames")).withColumn("what", F.lit("datagrams sent"))
    each = own.select("node", F.explode("messages").alias("m")).groupBy("node", "m.type").agg(
        F.count("*").alias("messages"), F.sum("m.bytes").alias("bytes"))
    tables = [sent, *(each.select("node", F.col(unit).alias("frames"), F.concat(F.col("type"), F.lit(f" {unit} sent")).alias("what"))
                      for unit in ("messages", "bytes"))]
    return _union([table.select(*KEYS, "frames") for table in tables])


def _of_records(spark: SparkSession, run: Run) -> DataFrame:
    traffic = _table(spark, run, "traffic")
    if traffic is None:
        return spark.createDataFrame([], "node bigint, what string, records bigint")
    sent = traffic.groupBy("node").agg(F.sum("datagrams_sent").alias("records")).withColumn("what", F.lit("datagrams sent"))
    each = traffic.select("node", F.explode("sent").alias("m")).groupBy("node", "m.type").agg(
        F.sum("m.messages").alias("messages"), F.sum("m.bytes").alias("bytes"))
    tables = [sent, *(each.select("node", F.col(unit).alias("records"), F.concat(F.col("type"), F.lit(f" {unit} sent")).alias("what"))
                      for unit in ("messages", "bytes"))]
    return _union([table.select(*KEYS, "records") for table in tables])


def _unseen(spark: SparkSession, run: Run, good: DataFrame) -> DataFrame:
    """Events that records say were delivered at a host, from another, and that its capture does not have."""
    delivered = _table(spark, run, "delivered")
    columns = "node bigint, what string, records bigint, frames bigint"
    if delivered is None:
        return spark.createDataFrame([], columns)
    remote = delivered.where("cast(split(event, '\\\\.')[0] as bigint) != node").select("node", "event").distinct().join(
        good.select("node").distinct(), "node", "left_semi")
    carried = good.select("capture", "t", "sender", F.explode("messages").alias("m")).withColumn("event", F.col("m.event"))
    seen = received(carried.where("event is not null")).select("node", "event").distinct().withColumn("seen", F.lit(1))
    return remote.join(seen, ["node", "event"], "left").groupBy("node").agg(
        F.count("*").alias("records"), F.count("seen").alias("frames")).where("records != frames").select(
        "node", F.lit("events delivered from other hosts").alias("what"), "records", "frames")


def _strangers(run: Run, good: DataFrame) -> DataFrame:
    """Nodes on the air that are no hosts of the run, or left no records."""
    known = [host for host in run.hosts if host not in run.silent]
    return good.where(~F.col("sender").isin(known)).dropDuplicates(["sender", "epoch", "counter"]).groupBy(F.col("sender").alias("node")).agg(
        F.count("*").alias("frames")).select("node", F.lit("datagrams of a node without records").alias("what"), F.lit(0).cast("bigint").alias("records"), "frames")


def _table(spark: SparkSession, run: Run, kind: str) -> DataFrame | None:
    folder: Path = run.tables.resolve() / f"{kind}.parquet"
    return spark.read.parquet(str(folder)) if folder.is_dir() else None


def _union(tables: list[DataFrame]) -> DataFrame:
    whole = tables[0]
    for table in tables[1:]:
        whole = whole.unionByName(table)
    return whole


def notes(found: DataFrame) -> list[str]:
    """What the report says of the disagreements: a sentence for each kind."""
    rows = found.groupBy("what").agg(F.sum("records").alias("records"), F.sum("frames").alias("frames"),
                                     F.sort_array(F.collect_set("node")).alias("nodes")).orderBy(
        F.col("what").rlike("(messages|bytes) sent$"), "what").limit(MOST + 1).collect()
    told = [f"frames and records disagree about {row['what']} at {len(row['nodes'])} host{'s' if len(row['nodes']) > 1 else ''} ({some(row['nodes'])}): "
            f"{row['records']:,} by records, {row['frames']:,} in captures" for row in rows[:MOST]]
    return told + (["frames and records disagree about more; `roamcast frames` lists it all"] if len(rows) > MOST else [])
