"""Why an event did not come: the way it should have taken through the tree, and where it ended.

The rules are in docs/analysis.md. The way is the path between publisher and subscriber over the tree
links that were open at both of their ends when the event was published. The first host on it that
shows no sign of the event tells the reason. Without a tree there is no such path: what the radio could have
brought and did not, the radio lost.
"""
from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.run import Run

REASONS = ("partitioned", "repairing", "stale_route", "overflow", "radio", "node_down", "late", "handoff")
SIGNS = ("published", "forwarded", "delivered", "duplicate", "event_dropped")  # that an event came to a host
# The node's word when it gives an event up on its way over a link, in `event_dropped`.
DROPS = {
    "overflow": ("overflow", "a queue on the way was full"),
    "link_lost": ("repairing", "a link broke with the event in it"),
    "hops": ("stale_route", "it had gone as many hops as an event may: in a circle"),
}


def whys(run: Run, lost: DataFrame, tables: dict[str, DataFrame]) -> DataFrame:
    """`event`, `node`, `client`, `reason`, `detail` of each lost pair, `near`, `far` (the hop, where there is one).

    `lost` has the columns of delivery.outcomes and `path`.
    """
    if run.treeless:
        found = lost.join(_refused(tables), "event", "left").withColumn("why", _without_tree(run.radio_known)).withColumns(
            {"near": F.lit(None).cast("long"), "far": F.lit(None).cast("long")})
    else:
        hops = broken_hops(lost, tables, run.deadline)
        found = lost.join(hops, ["event", "node"], "left").withColumn("why", _in_tree(run.radio_known))
    return found.select("event", "node", "client", "why.reason", "why.detail", "near", "far")


def _refused(tables: dict[str, DataFrame]) -> DataFrame:
    """Events that the publisher's own node turned away: `event`, `refused` (true)."""
    name = F.regexp_extract("what", r"^event (\d+\.\d+\.\d+) ", 1)
    return tables["refused"].select(name.alias("event"), F.lit(True).alias("refused")).where("event != ''").distinct()


def broken_hops(lost: DataFrame, tables: dict[str, DataFrame], deadline: float) -> DataFrame:
    """Per lost pair the hop where the event ended, and what the records say about that hop.

    `lost` has `event`, `published`, `node`, `path`. Returns `event`, `node`, `near`, `far`, `link`, `sent`
    (near queued it for the link), `dropped` (the reason with which near gave it up, or null), `closed`
    (the link was lost before the deadline), `last` (far is the subscriber's host); no row for a pair
    that the tree did not connect or whose event came to the subscriber's host.
    """
    pairs = lost.dropDuplicates(["event", "node"])
    known = F.broadcast(lost.select("event").distinct())
    seen = reduce(DataFrame.unionByName, [tables[kind].select("event", "node") for kind in SIGNS])
    seen = (seen.join(known, "event", "left_semi").repartition("event").groupBy("event")
            .agg(F.collect_set("node").alias("seen")))
    first = (pairs.join(seen, "event", "left")
             .withColumn("hop", F.filter("path", lambda h: ~F.array_contains("seen", h["far"]))[0])
             .where("hop is not null").select("event", "published", "node", "hop.near", "hop.far", "hop.link"))
    queued = (tables["forwarded"].join(known, "event", "left_semi")
              .select("event", F.col("node").alias("near"), F.explode("to").alias("link")).repartition("event")
              .distinct().withColumn("sent", F.lit(True)))
    drops = (tables["event_dropped"].repartition("event").groupBy("event", F.col("node").alias("near"), "link")
             .agg(F.min_by("reason", "t").alias("dropped")))
    closures = F.broadcast(tables["link_lost"].groupBy("link").agg(F.min("t").alias("lost_at")))
    return (first.join(queued, ["event", "near", "link"], "left").join(drops, ["event", "near", "link"], "left")
            .join(closures, "link", "left")
            .select("event", "node", "near", "far", "link", F.coalesce("sent", F.lit(False)).alias("sent"), "dropped",
                    F.coalesce(F.col("lost_at") <= F.col("published") + deadline, F.lit(False)).alias("closed"),
                    (F.col("far") == F.col("node")).alias("last")))


def _anywhere(radio_known: bool) -> Column:
    """The rules that come first, with a tree or without."""
    return (F.when(F.col("source_down"), _why("node_down", "the publisher's host went down"))
            .when(F.lit(radio_known) & F.col("bound").isNull(), _why("partitioned", "no path before the deadline"))
            .when(F.col("delivered").isNotNull(), _why("late", "delivered after the deadline")))


def _without_tree(radio_known: bool) -> Column:
    apart = F.lit(radio_known) & ~F.col("connected")
    return (_anywhere(radio_known)
            .when(F.col("refused"), _why("overflow", "the event is larger than a broadcast carries"))
            .when(apart, _why("radio", "hosts apart when it was published; carrying would have helped"))
            .otherwise(_why("radio", "no broadcast came through")))


def _in_tree(radio_known: bool) -> Column:
    hop, apart = F.col("link").isNotNull(), F.lit(radio_known) & ~F.col("connected")
    rules = (_anywhere(radio_known)
             .when(F.col("path").isNull() & apart,
                   _why("repairing", "hosts apart when it was published; carrying would have helped"))
             .when(F.col("path").isNull() & F.lit(radio_known), _why("repairing", "hosts connected, their trees were not one"))
             .when(F.col("path").isNull(), _why("repairing", "their trees were not one")))
    for dropped, why in DROPS.items():
        rules = rules.when(hop & (F.col("dropped") == dropped), _why(*why))
    return (rules
            .when(hop & F.col("sent") & F.col("closed"), _why("repairing", "a link broke with the event in it"))
            .when(hop & F.col("sent") & F.col("last"), _why("radio", "sent over the last link, did not come in time"))
            .when(hop & F.col("sent"), _why("stale_route", "a host on the way had no route onward"))
            .when(hop & F.col("closed"), _why("repairing", "a link broke before the event came to it"))
            .when(hop, _why("stale_route", "a host on the way did not know that it was wanted"))
            .otherwise(_why("stale_route", "it came to the subscriber's host and was not handed over")))


def _why(reason: str, detail: str) -> Column:
    return F.struct(F.lit(reason).alias("reason"), F.lit(detail).alias("detail"))
