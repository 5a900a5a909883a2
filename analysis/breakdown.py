"""The delivery outcomes counted in every way the report shows, in one pass over them."""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.run import Run

PERCENTS = np.arange(101)
RECORDED = 2e-6  # s that two times in records may be off each other
_SETS = {"whole": [], "bin": ["bin"], "reason": ["reason", "detail"], "kind": ["kind"], "node": ["node"],
         "source": ["source"], "hops": ["hops"]}


class Breakdown(NamedTuple):
    """Frames with `expected`, `delivered` (in time), `reachable` (by the bound), `impossible` (delivered before
    the bound, or without one), `repeats`, and `percentiles`, a list of the latency's percentiles
    0, 1, .. 100 in s (None where nothing was delivered). Only pairs whose hosts
    were up throughout and whose client is not at the publisher's own node, except `classes`."""

    classes: pd.DataFrame  # by `class`: counted, local, node_down
    bins: pd.DataFrame  # by `bin`, start of the bin in s
    reasons: pd.DataFrame  # lost pairs by `reason`, `detail`
    kinds: pd.DataFrame  # by `kind`
    nodes: pd.DataFrame  # by subscriber's `node`
    sources: pd.DataFrame  # by publisher's `source`
    hops: pd.DataFrame  # delivered pairs by `hops`
    bin_width: float  # s


def breakdown(run: Run, outcomes: DataFrame) -> Breakdown:
    """Count the pairs of `delivery.outcomes` in all ways at once."""
    width = bin_width(run)
    pairs = outcomes.select(
        F.when(F.col("node_down"), "node_down").when(F.col("local"), "local").otherwise("counted").alias("class"),
        (F.floor((F.col("published") - run.window[0]) / width) * width + run.window[0]).alias("bin"),
        "reason", "detail", "kind", "node", "source", F.when(F.col("in_time"), F.col("hops")).alias("hops"),
        "in_time", "bound", "delivered", "times", "latency", "recovered")
    too_early = F.col("bound").isNull() | (F.col("delivered") < F.col("bound") - RECORDED)
    keys = ["class", "bin", "reason", "detail", "kind", "node", "source", "hops"]
    found = (pairs.groupingSets([[F.col(c) for c in ("class", *chosen)] for chosen in _SETS.values()],
                                *[F.col(k) for k in keys])
             .agg(F.grouping_id().alias("grouping"), F.count("*").alias("expected"),
                  F.sum(F.col("in_time").cast("int")).alias("delivered"), F.count("bound").alias("reachable"),
                  F.sum(F.greatest(F.col("times") - 1, F.lit(0))).alias("repeats"),
                  F.sum((F.col("in_time") & too_early).cast("int")).alias("impossible"),
                  F.sum(F.coalesce(F.col("recovered") & F.col("in_time"), F.lit(False)).cast("int")).alias("recovered"),
                  F.avg("hops").alias("mean_hops"), F.avg("latency").alias("mean_latency"),
                  F.percentile("latency", [float(p) / 100 for p in PERCENTS]).alias("percentiles"))
             .toPandas())

    def part(name: str, *sort: str) -> pd.DataFrame:
        chosen = {"class", *_SETS[name]}
        code = sum(0 if key in chosen else 1 << (len(keys) - 1 - place) for place, key in enumerate(keys))
        rows = found[(found["grouping"] == code)]
        if name != "whole":
            rows = rows[rows["class"] == "counted"]
        kept = [c for c in found.columns if c not in keys or c in chosen]
        return rows[kept].sort_values(list(sort) or _SETS[name], ignore_index=True)

    reasons, hops = part("reason"), part("hops")
    return Breakdown(part("whole", "class"), part("bin"), reasons[reasons["reason"].notna()],
                     part("kind"), part("node"), part("source"), hops[hops["hops"].notna()], width)


def bin_width(run: Run) -> float:
    """A round number of s that cuts the window into 30 to 75 bins."""
    span = max(run.window[1] - run.window[0], 0.0)
    for width in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400):
        if span / width <= 75:
            return float(width)
    return span / 60
