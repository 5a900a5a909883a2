"""What the network paid: messages, bytes and the papers' normalized cost per type, datagrams, airtime.

Types and their families are those of `node/schema/messages.toml`. A message in a reliable channel is
counted by the node under its own type each time it is put on the air; DATA is what carries it.
"""
from __future__ import annotations

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.weights import weights
from node.schema import messages


def families() -> dict[str, str]:
    """Message type -> its family."""
    return {name: message.family for name, message in messages().items()}


def by_type(tables: dict[str, DataFrame]) -> pd.DataFrame:
    """`type`, `family`, `messages`, `bytes`, `filters` sent in the whole run, most bytes first."""
    found = (tables["traffic"].select(F.explode("sent").alias("s"))
             .groupBy(F.col("s.type").alias("type"))
             .agg(F.sum("s.messages").alias("messages"), F.sum("s.bytes").alias("bytes"),
                 F.sum("s.filters").cast("double").alias("filters")).toPandas())
    known = families()
    found["family"] = [known.get(name, "other") for name in found["type"]]
    return found.sort_values(["bytes", "type"], ascending=[False, True], ignore_index=True)


def normalized(sent: pd.DataFrame, misrouted: int) -> pd.Series:
    """The normalized cost of each row of `by_type`: table II (weights.py), which counts of events the misrouted.

    nan for a type that the table does not weigh, and where records lack the number of filters.
    """
    events = [name for name in ("TAGGED_EVENT", "EVENT") if (sent["type"] == name).any()]  # of one run all are the one or the other

    def cost(row) -> float:
        if row.type in events:
            return float(misrouted) if row.type == events[0] else 0.0
        each, pattern = weights().get(row.type, (np.nan, 0))
        return each * row.messages + (pattern * row.filters if pattern else 0)

    return pd.Series([cost(row) for row in sent.itertuples()], index=sent.index, dtype=float)


def totals(tables: dict[str, DataFrame]) -> dict[str, float]:
    """Datagrams sent and received by nodes, datagrams dropped, and what the medium carried (airtime in s).

    NaN for the airtime where no medium told of it: in a field, and where it is not ours.
    """
    nodes = tables["traffic"].agg(
        F.sum("datagrams_sent").alias("datagrams_sent"), F.sum("datagrams_received").alias("datagrams_received"),
        F.sum(F.aggregate("dropped", F.lit(0).cast("long"), lambda n, d: n + d["datagrams"])).alias("datagrams_dropped"))
    columns = [c for c in tables["radio_traffic"].columns if c not in ("t", "node", "line")]
    medium = tables["radio_traffic"].agg(*[F.sum(c).alias(c) for c in columns])
    row = nodes.crossJoin(medium).collect()[0]
    return {**{key: value or 0 for key, value in row.asDict().items()},
            "airtime": np.nan if row.airtime is None else row.airtime}


def drops(tables: dict[str, DataFrame]) -> pd.DataFrame:
    """Why nodes dropped datagrams: `reason`, `datagrams`."""
    return (tables["traffic"].select(F.explode("dropped").alias("d")).groupBy(F.col("d.reason").alias("reason"))
            .agg(F.sum("d.datagrams").alias("datagrams")).orderBy(F.desc("datagrams")).toPandas())
