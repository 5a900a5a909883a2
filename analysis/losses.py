"""Why an event did not come: the way it should have taken through the tree, and where it ended.

The rules are in docs/analysis.md. The way is the path between publisher and subscriber over the tree
links that were open at both of their ends when the event was published. The first host on it that
shows no sign of the event tells the reason.
"""
from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

REASONS = ("partitioned", "repairing", "stale_route", "overflow", "radio", "node_down", "late", "handoff")


def broken_hops(lost: DataFrame, tables: dict[str, DataFrame], deadline: float) -> DataFrame:
    """Per lost pair the hop where the event ended, and what the records say about that hop.

    `lost` has `event`, `published`, `node`, `path`. Returns `event`, `node`, `near`, `far`, `link`, `sent`
    (near queued it for the link), `dropped` (the reason with which near gave it up, or null), `closed`
    (the link was lost before the deadline), `last` (far is the subscriber's host); no row for a pair
    that the tree did not connect or whose event came to the subscriber's host.
    """
    pairs = lost.dropDuplicates(["event", "node"])
    known = F.broadcast(lost.select("event").distinct())
    signs = [tables[kind].select("event", "node") for kind in ("forwarded", "delivered", "published", "duplicate")]
    seen = signs[0].unionByName(signs[1]).unionByName(signs[2]).unionByName(signs[3])
    seen = (seen.join(known, "event", "left_semi").repartition("event").groupBy("event")
            .agg(F.collect_set("node").alias("seen")))
    first = (pairs.join(seen, "event", "left")
             .withColumn("hop", F.filter("path", lambda h: ~F.array_contains("seen", h["far"]))[0])
             .where("hop is not null").select("event", "published", "node", "hop.near", "hop.far", "hop.link"))
    queued = (tables["forwarded"].join(known, "event", "left_semi")
              .select("event", F.col("node").alias("near"), F.explode("to").alias("link")).repartition("event")
              .distinct().withColumn("sent", F.lit(True)))
    drops = (tables["event_dropped"].repartition("event").groupBy("event", F.col("node").alias("near"), "link")
             .agg(F.min("reason").alias("dropped")))
    closures = F.broadcast(tables["link_lost"].groupBy("link").agg(F.min("t").alias("lost_at")))
    return (first.join(queued, ["event", "near", "link"], "left").join(drops, ["event", "near", "link"], "left")
            .join(closures, "link", "left")
            .select("event", "node", "near", "far", "link", F.coalesce("sent", F.lit(False)).alias("sent"), "dropped",
                    F.coalesce(F.col("lost_at") <= F.col("published") + deadline, F.lit(False)).alias("closed"),
                    (F.col("far") == F.col("node")).alias("last")))


def reason() -> Column:
    """Why a pair was lost, over the columns of delivery.outcomes joined with `broken_hops`."""
    hop = F.col("link").isNotNull()
    return (F.when(F.col("source_down"), _why("node_down", "the publisher's host went down"))
            .when(F.col("bounded") & F.col("bound").isNull(), _why("partitioned", "no path before the deadline"))
            .when(F.col("delivered").isNotNull(), _why("late", "delivered after the deadline"))
            .when(~F.col("path").isNotNull() & ~F.col("connected"),
                  _why("repairing", "hosts apart when it was published; carrying would have helped"))
            .when(~F.col("path").isNotNull(), _why("repairing", "hosts connected, their trees were not one"))
            .when(hop & F.col("dropped").rlike("overflow|full|queue"), _why("overflow", "a queue on the way was full"))
            .when(hop & F.col("dropped").isNotNull(), _why("repairing", "a link broke with the event in it"))
            .when(hop & F.col("sent") & F.col("closed"), _why("repairing", "a link broke with the event in it"))
            .when(hop & F.col("sent") & F.col("last"), _why("radio", "sent over the last link, did not come in time"))
            .when(hop & F.col("sent"), _why("stale_route", "a host on the way had no route onward"))
            .when(hop & F.col("closed"), _why("repairing", "a link broke before the event came to it"))
            .when(hop, _why("stale_route", "a host on the way did not know that it was wanted"))
            .otherwise(_why("stale_route", "it came to the subscriber's host and was not handed over")))


def _why(reason: str, detail: str) -> Column:
    return F.struct(F.lit(reason).alias("reason"), F.lit(detail).alias("detail"))
