"""What should have been delivered: every event against every client that should have had it.

Liveness of a correct publish/subscribe system (jaeger-self-managing-thesis, definition 5) asks for
delivery to whoever is subscribed; in a finite run that becomes: an event published at p in the
measurement window is expected at a client that was subscribed to any matching filter throughout
[p - grace, p + deadline], while its host was up throughout.
"""
from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.run import Run


def published(tables: dict[str, DataFrame]) -> DataFrame:
    """Every event once: `event`, `source`, `publisher`, `published`, `attributes`, `topic`.

    `topic` is the event's attribute `kind`, where it has one, for the tables by kind.
    """
    kind = F.filter("attributes", lambda a: a["name"] == "kind")[0]["value"]
    topic = F.coalesce(kind["s"], F.format_string("%s", kind["n"]), kind["b"].cast("string"), kind["x"])
    return (tables["published"].groupBy("event")
            .agg(F.min(F.struct("t", "node", "client", "attributes")).alias("first"))
            .select("event", F.col("first.node").alias("source"), F.col("first.client").alias("publisher"),
                    F.col("first.t").alias("published"), F.col("first.attributes").alias("attributes"))
            .withColumn("topic", F.when(kind.isNotNull(), topic)))


def filters(tables: dict[str, DataFrame]) -> DataFrame:
    """Every filter once: `hash`, `filter`, `constraints`."""
    return tables["subscribed"].groupBy("hash").agg(
        F.first("filter").alias("filter"), F.first("constraints").alias("constraints"))


def expected(run: Run, events: DataFrame, matches: DataFrame, wants: DataFrame, held: DataFrame,
             lives: DataFrame) -> DataFrame:
    """Pairs of an event and a client that should have had it.

    Returns `event`, `source`, `published`, `topic`, `node`, `client`, `local` (the client sits at
    the publisher's own node), `node_down` (its host was not up throughout: a pair that is shown but
    does not count) and `source_down` (the publisher's host went down before the deadline).
    """
    start, end = F.col("published") - run.grace, F.col("published") + run.deadline
    counted = (events.where(F.col("published").between(*run.window))
               .select("event", "source", "published", "topic", start.alias("start"), end.alias("end")))
    asked = counted.join(matches, "event")
    pair = ["event", "node", "client"]
    meant = _covered(asked.join(F.broadcast(wants), "hash"), pair)
    really = _covered(asked.join(F.broadcast(held), "hash"), pair)
    up = _covered(counted.join(F.broadcast(lives)), ["event", "node"])
    source_up = _covered(counted.withColumn("start", F.col("published"))
                         .join(F.broadcast(lives.withColumnRenamed("node", "source")), "source"), ["event"])
    found = (meant.join(really.withColumn("held", F.lit(True)), pair, "left")
             .join(up.withColumn("up", F.lit(True)), ["event", "node"], "left")
             .where("held or up is null"))
    return (found.join(counted.drop("start", "end"), "event")
            .join(source_up.withColumn("source_up", F.lit(True)), "event", "left")
            .select("event", "source", "published", "topic", "node", "client",
                    (F.col("node") == F.col("source")).alias("local"),
                    F.col("up").isNull().alias("node_down"), F.col("source_up").isNull().alias("source_down")))


def _covered(rows: DataFrame, keys: list[str]) -> DataFrame:
    """The `keys` whose intervals [`up`, `down`] together cover [`start`, `end`] without a gap."""
    overlap = rows.where("up <= end and down >= start")
    before = Window.partitionBy(*keys).orderBy("up").rowsBetween(Window.unboundedPreceding, -1)
    return (overlap.withColumn("reached", F.coalesce(F.max("down").over(before), F.col("start")))
            .groupBy(*keys)
            .agg(F.bool_and(F.col("up") <= F.col("reached")).alias("whole"), F.max("down").alias("last"),
                 F.first("end").alias("end"))
            .where("whole and last >= end").select(*keys))
