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
    """Every event once: `event`, `source`, `publisher`, `published`, `attributes`, `kind`.

    `kind` is the event's attribute of that name, where it has one, for the tables by kind. The rows are
    partitioned by event, and all that follows joins and groups within that: one exchange for all.
    """
    value = F.filter("attributes", lambda a: a["name"] == "kind")[0]["value"]
    kind = F.coalesce(value["s"], F.format_string("%s", value["n"]), value["b"].cast("string"), value["x"])
    return (tables["published"].repartition("event").groupBy("event")
            .agg(F.min(F.struct("t", "node", "client", "attributes")).alias("first"))
            .select("event", F.col("first.node").alias("source"), F.col("first.client").alias("publisher"),
                    F.col("first.t").alias("published"), F.col("first.attributes").alias("attributes"))
            .withColumn("kind", F.when(value.isNotNull(), kind)))


def filters(tables: dict[str, DataFrame]) -> DataFrame:
    """Every filter once: `hash`, `filter`, `constraints`."""
    return tables["subscribed"].groupBy("hash").agg(
        F.first("filter").alias("filter"), F.first("constraints").alias("constraints"))


def expected(run: Run, events: DataFrame, matches: DataFrame, wants: DataFrame, held: DataFrame,
             lives: DataFrame) -> DataFrame:
    """Pairs of an event and a client that should have had it.

    Returns `event`, `source`, `published`, `kind`, `node`, `client`, `local` (the client sits at
    the publisher's own node), `node_down` (its host was not up throughout: a pair that is shown but
    does not count) and `source_down` (the publisher's host went down before the deadline).
    """
    counted = (events.where(F.col("published").between(*run.window))
               .select("event", "source", "published", "kind", (F.col("published") - run.grace).alias("start"),
                       (F.col("published") + run.deadline).alias("end")))
    spans = wants.withColumn("held", F.lit(False)).unionByName(held.withColumn("held", F.lit(True)))
    asked = (counted.join(matches, "event").join(F.broadcast(spans), "hash")
             .where("up <= end and down >= start"))
    # intervals in order, each must begin before those ahead of it have ended: no gap in [start, end]
    key = ["event", "node", "client", "held"]
    ahead = Window.partitionBy(*key).orderBy("up").rowsBetween(Window.unboundedPreceding, -1)
    about = [F.first(c).alias(c) for c in ("source", "published", "kind", "start", "end")]
    covered = (asked.withColumn("reached", F.coalesce(F.max("down").over(ahead), F.col("start")))
               .groupBy(*key).agg(F.bool_and(F.col("up") <= F.col("reached")).alias("whole"),
                                  F.max("down").alias("last"), *about)
               .where("whole and last >= end")
               .groupBy("event", "node", "client").agg(F.max("held").alias("held"), *about))
    alive = _lived(covered, lives, "node", "start", "up")
    return (_lived(alive, lives, "source", "published", "source_up").where("held or not up")
            .select("event", "source", "published", "kind", "node", "client",
                    (F.col("node") == F.col("source")).alias("local"),
                    (~F.col("up")).alias("node_down"), (~F.col("source_up")).alias("source_down")))


def _lived(pairs: DataFrame, lives: DataFrame, host: str, start: str, name: str) -> DataFrame:
    """Adds `name`: the host was up throughout [`start`, `end`], which is to say in one life."""
    life = F.broadcast(lives.select(F.col("node").alias("who"), F.col("up").alias("born"), F.col("down").alias("died")))
    within = (F.col(host) == F.col("who")) & (F.col("born") <= F.col(start)) & (F.col("died") >= F.col("end"))
    return (pairs.join(life, within, "left").withColumn(name, F.col("who").isNotNull())
            .drop("who", "born", "died"))
