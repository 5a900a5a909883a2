"""For every event and every client that should have had it: delivered or not, when, and why not."""
from __future__ import annotations

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis import losses
from analysis.bound import earliest_arrivals
from analysis.run import Run


def outcomes(spark: SparkSession, run: Run, expected: DataFrame, tables: dict[str, DataFrame],
             contacts: pd.DataFrame, links: pd.DataFrame, hosts: int) -> DataFrame:
    """One row a pair of `expected`, with what became of it.

    Adds `delivered` (s, the first time, or null), `times` (how often), `hops`, `recovered`, `bound` (s,
    earliest possible arrival, null when not by the deadline; also null when no contacts are known),
    `connected` (source and client were connected by radio at the time of publication), `in_time`,
    `latency` (s, or null), `reason` and `detail` (null when delivered in time).
    """
    got = (tables["delivered"].groupBy("event", "node", "client")
           .agg(F.min(F.struct("t", "hops", "recovered")).alias("first"), F.count("*").alias("times"))
           .select("event", "node", "client", F.col("first.t").alias("delivered"), F.col("first.hops").alias("hops"),
                   F.col("first.recovered").alias("recovered"), "times"))
    goals = expected.where("not local").select("event", "source", "published", "node").distinct()
    bounds = earliest_arrivals(spark, goals.repartition("source"), contacts, hosts, run.deadline)
    limit = F.col("published") + run.deadline
    judged = (expected.join(got, ["event", "node", "client"], "left")
              .join(bounds.select("event", "node", "bound"), ["event", "node"], "left")
              .withColumn("bound", F.when(F.col("local"), F.col("published")).otherwise(F.col("bound")))
              .withColumn("times", F.coalesce("times", F.lit(0)))
              .withColumn("connected", F.coalesce(F.col("bound") == F.col("published"), F.lit(False)))
              .withColumn("in_time", F.coalesce(F.col("delivered") <= limit, F.lit(False)))
              .withColumn("latency", F.when(F.col("in_time"), F.col("delivered") - F.col("published")))
              .withColumn("bounded", F.lit(run.radio_known))).cache()
    lost = judged.where("not in_time and not node_down")
    paths = losses.tree_paths(spark, lost.select("event", "source", "published", "node").distinct(), links).cache()
    ends = lost.select("event", "published").distinct()
    hops = losses.broken_hops(paths, tables, ends, run.deadline)
    whys = (lost.select("event", "node", "client", "source_down", "bounded", "bound", "delivered", "connected")
            .join(paths.select("event", "node").distinct().withColumn("in_tree", F.lit(True)),
                  ["event", "node"], "left").fillna(False, ["in_tree"])
            .join(hops, ["event", "node"], "left").withColumn("why", losses.reason())
            .select("event", "node", "client", "why.reason", "why.detail", "near", "far"))
    return judged.drop("bounded").join(whys, ["event", "node", "client"], "left")
