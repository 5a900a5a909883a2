"""Publications that are known to have been made and are in no record: their numbers are missing.

A life numbers its events from one, without a gap. What is missing below the highest number that any record names was
published, and its record lost: with the last records before a power cut, on a full disk, with a file. No pair of such an
event can be expected, since what it said is not known, so the delivery ratio leaves them out; how many there are is
told. What was published after the highest number and came to nobody leaves no sign at all.
"""
from __future__ import annotations

from functools import reduce

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.run import some
from node.schema import records as record_kinds


def unrecorded(tables: dict[str, DataFrame], counts: dict[str, int]) -> pd.DataFrame:
    """A row a life that lacks any: `source`, `epoch`, `missing`, and `delivered`, how many of them came to some client."""
    naming = [kind for kind, record in record_kinds().items() if "event" in record.fields and counts.get(kind)]
    if not naming:
        return pd.DataFrame(columns=["source", "epoch", "missing", "delivered"])
    named = reduce(DataFrame.unionByName, [
        tables[kind].select("event", F.lit(kind == "published").alias("made"), F.lit(kind == "delivered").alias("came"))
        for kind in naming])
    part = F.split("event", r"\.")
    events = (named.groupBy("event").agg(F.max("made").alias("made"), F.max("came").alias("came"))
              .select(*(part[place].cast("long").alias(name) for place, name in enumerate(("source", "epoch", "number"))),
                      "made", "came"))
    lives = events.groupBy("source", "epoch").agg(
        (F.max("number") - F.sum(F.col("made").cast("long"))).alias("missing"),
        F.sum((F.col("came") & ~F.col("made")).cast("long")).alias("delivered"))
    return lives.where("missing > 0").toPandas().sort_values(["source", "epoch"], ignore_index=True)


def notes(found: pd.DataFrame, hosts: dict[int, str]) -> list[str]:
    """What a reader of the delivery ratio must know of them."""
    if found.empty:
        return []
    by_host = found.groupby("source")["missing"].sum()
    told = [f"{n:,} of host {hosts.get(int(host), host)}" for host, n in by_host.sort_values(ascending=False).items()]
    return [f"{int(found['missing'].sum()):,} publications are in no record ({some(told)}; their numbers are missing below the "
            f"highest that anybody named): the delivery ratio leaves them out, though {int(found['delivered'].sum()):,} of them "
            "came to clients; what came to nobody after the highest is not known at all"]
