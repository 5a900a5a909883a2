"""Why an event did not come: the way it should have taken through the tree, and where it ended.

The rules are in docs/analysis.md. The way is the path between publisher and subscriber over the tree
links that were open at both of their ends when the event was published. The first host on it that
shows no sign of the event tells the reason.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

REASONS = ("partitioned", "repairing", "stale_route", "overflow", "radio", "node_down", "late", "handoff")


def tree_paths(spark: SparkSession, lost: DataFrame, links: pd.DataFrame) -> DataFrame:
    """The hops that each lost pair (`event`, `source`, `published`, `node`) should have taken.

    `links` has `link`, `i`, `j`, `up`, `down`. Returns one row a hop: `event`, `node`, `place` (from 0),
    `near`, `far`, `link`; nothing for pairs that the tree did not connect.
    """
    table = spark.sparkContext.broadcast(links)

    def solve(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            rows = [row for moment in batch.groupby(["event", "source", "published"])
                    for row in _hops(table.value, *moment[0], set(moment[1]["node"]))]
            yield pd.DataFrame(rows, columns=["event", "node", "place", "near", "far", "link"])

    return (lost.select("event", "source", "published", "node").repartition("event")
            .mapInPandas(solve, "event string, node long, place int, near long, far long, link string"))


def _hops(links: pd.DataFrame, event: str, source: int, at: float, goals: set[int]) -> list[tuple]:
    """The tree paths at time `at` from `source` to each of `goals`, breadth first."""
    up, down = links["up"].to_numpy(), links["down"].to_numpy()
    beside: dict[int, list[tuple[int, str]]] = {}
    for row in np.flatnonzero((up <= at) & (down > at)):
        link, i, j = links["link"].iat[row], int(links["i"].iat[row]), int(links["j"].iat[row])
        beside.setdefault(i, []).append((j, link))
        beside.setdefault(j, []).append((i, link))
    came: dict[int, tuple[int, str] | None] = {source: None}
    queue = deque([source])
    while queue:
        near = queue.popleft()
        for far, link in beside.get(near, ()):
            if far not in came:
                came[far] = (near, link)
                queue.append(far)
    hops = []
    for goal in goals & came.keys():
        path, host = [], goal
        while (step := came[host]) is not None:
            path.append((step[0], host, step[1]))
            host = step[0]
        hops += [(event, goal, place, *hop) for place, hop in enumerate(reversed(path))]
    return hops


def broken_hops(paths: DataFrame, tables: dict[str, DataFrame], ends: DataFrame, deadline: float) -> DataFrame:
    """Per lost pair the hop where the event ended, and what the records say about that hop.

    `ends` has `event`, `published`. Returns `event`, `node`, `near`, `far`, `link`, `sent` (near queued it
    for the link), `dropped` (the reason with which near gave it up, or null), `closed` (the link was
    lost before the deadline), `last` (far is the subscriber's host).
    """
    signs = (tables["forwarded"].select("event", "node").unionByName(tables["delivered"].select("event", "node"))
             .unionByName(tables["published"].select("event", "node"))
             .unionByName(tables["duplicate"].select("event", "node")).distinct()
             .withColumnRenamed("node", "far").withColumn("seen", F.lit(True)))
    first = (paths.join(signs, ["event", "far"], "left").groupBy("event", "node")
             .agg(F.min(F.when(F.col("seen").isNull(), F.struct("place", "near", "far", "link"))).alias("hop"))
             .select("event", "node", "hop.near", "hop.far", "hop.link"))
    queued = (tables["forwarded"].select("event", F.col("node").alias("near"), F.explode("to").alias("link"))
              .distinct().withColumn("sent", F.lit(True)))
    drops = (tables["event_dropped"].groupBy("event", F.col("node").alias("near"), "link")
             .agg(F.min("reason").alias("dropped")))
    closures = tables["link_lost"].groupBy("link").agg(F.min("t").alias("lost_at"))
    return (first.join(queued, ["event", "near", "link"], "left").join(drops, ["event", "near", "link"], "left")
            .join(closures, "link", "left").join(ends, "event")
            .select("event", "node", "near", "far", "link", F.coalesce("sent", F.lit(False)).alias("sent"), "dropped",
                    F.coalesce(F.col("lost_at") <= F.col("published") + deadline, F.lit(False)).alias("closed"),
                    (F.col("far") == F.col("node")).alias("last")))


def reason() -> Column:
    """Why a pair was lost, over the columns of delivery.outcomes joined with `broken_hops`."""
    hop = F.col("link").isNotNull()
    return (F.when(F.col("source_down"), _why("node_down", "the publisher's host went down"))
            .when(F.col("bounded") & F.col("bound").isNull(), _why("partitioned", "no path before the deadline"))
            .when(F.col("delivered").isNotNull(), _why("late", "delivered after the deadline"))
            .when(~F.col("in_tree") & ~F.col("connected"),
                  _why("repairing", "hosts apart when it was published; carrying would have helped"))
            .when(~F.col("in_tree"), _why("repairing", "hosts connected, their trees were not one"))
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
