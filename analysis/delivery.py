"""For every event and every client that should have had it: delivered or not, when, and why not."""
from __future__ import annotations

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis import losses, roaming
from analysis.routes import routes
from analysis.run import Run


def outcomes(spark: SparkSession, run: Run, expected: DataFrame, tables: dict[str, DataFrame],
             radio_links: pd.DataFrame, links: pd.DataFrame, hosts: int, attached: pd.DataFrame | None = None) -> DataFrame:
    """One row a pair of `expected`, with what became of it.

    Adds `delivered` (s, the first time, or null), `times` (how often), `hops`, `recovered`, `bound` (s,
    earliest possible arrival, null when not by the deadline; also null when no radio links are known),
    `connected` (the radio led from source to client at the time of publication), `in_time`,
    `latency` (s, or null), `reason` and `detail` (null when delivered in time).
    """
    got = (tables["delivered"].repartition("event").groupBy("event", "node", "client")
           .agg(F.min(F.struct("t", "hops", "recovered")).alias("first"), F.count("*").alias("times"))
           .select("event", "node", "client", F.col("first.t").alias("delivered"), F.col("first.hops").alias("hops"),
                   F.col("first.recovered").alias("recovered"), "times"))
    if attached is not None:  # an event's way begins or ends with one
        links = pd.concat([links, roaming.as_links(attached)], ignore_index=True)
    ways = routes(spark, expected.where("not local"), radio_links, links, hosts, run.deadline).repartition("event")
    judged = (expected.join(got, ["event", "node", "client"], "left").join(ways, ["event", "node"], "left")
              .withColumn("bound", F.when(F.col("local"), F.col("published")).otherwise(F.col("bound")))
              .withColumn("times", F.coalesce("times", F.lit(0)))
              .withColumn("connected", F.coalesce(F.col("bound") == F.col("published"), F.lit(False)))
              .withColumn("in_time", F.coalesce(F.col("delivered") <= F.col("published") + run.deadline, F.lit(False)))
              .withColumn("latency", F.when(F.col("in_time"), F.col("delivered") - F.col("published")))).cache()
    whys = losses.whys(run, judged.where("not in_time and not node_down"), tables, attached)
    return judged.drop("path").join(whys, ["event", "node", "client"], "left")
