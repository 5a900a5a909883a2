"""Is what was delivered right? The safety properties of a correct publish/subscribe system.

jaeger-self-managing-thesis, definition 5: a client gets a notification at most once (a), only what
was published before (b), only what it is subscribed for (c). Checked on every delivery of the run,
not only on those that count.
"""
from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

EXAMPLES = 5


class Violation(NamedTuple):
    """One of the three properties: how many deliveries break it, and some of them."""

    name: str
    says: str
    count: int
    examples: list[str]


SAYS = {
    "twice": "nothing is delivered to a client twice",
    "unpublished": "nothing is delivered that was not published before",
    "unsubscribed": "nothing is delivered to a client that is not subscribed to it",
}


def check(tables: dict[str, DataFrame], events: DataFrame, matches: DataFrame, held: DataFrame,
          lost: Collection[int] | None = ()) -> list[Violation]:
    """The three safety properties, in the order of the definition. `lost`: hosts whose records may lack the end of a life,
    as a power cut leaves them, None for all; what they published in that end is not held to be unpublished."""
    deliveries = tables["delivered"].select("t", "node", "client", "event", F.col("line.row").alias("row"))
    key = ["node", "client", "event"]
    again = (deliveries.groupBy(*key).agg(F.count("*").alias("n"), F.max("t").alias("t")).where("n > 1")
             .select(F.lit("twice").alias("rule"), *key, "t", (F.col("n") - 1).alias("n")))
    told = deliveries.join(events.select("event", "published"), "event", "left")
    unpublished = ((told if lost is not None and not lost else _without_the_cut_off(told, tables, lost))
                   .where("published is null or published > t")
                   .select(F.lit("unpublished").alias("rule"), *key, "t", F.lit(1).alias("n")))
    rightly = (deliveries.join(matches, "event").join(F.broadcast(held), ["node", "client", "hash"])
               .where("t between up and down").select(*key, "t").distinct())
    unsubscribed = (deliveries.join(events.select("event"), "event").join(rightly, [*key, "t"], "left_anti")
                    .select(F.lit("unsubscribed").alias("rule"), *key, "t", F.lit(1).alias("n")))
    wrong = again.unionByName(unpublished).unionByName(unsubscribed)
    found = {row.rule: row for row in wrong.groupBy("rule").agg(
        F.sum("n").alias("count"),
        F.slice(F.sort_array(F.collect_set(F.struct("t", *key))), 1, EXAMPLES).alias("examples")).collect()}
    return [Violation(rule, says, int(found[rule]["count"]) if rule in found else 0,
                      [f"event {e.event} at client {e.client} of host {e.node}, t = {e.t:.3f} s"
                       for e in found[rule]["examples"]] if rule in found else [])
            for rule, says in SAYS.items()]


def _without_the_cut_off(told: DataFrame, tables: dict[str, DataFrame], lost: Collection[int] | None) -> DataFrame:
    """Without deliveries of events that come after the last publication on record of a life that has no end on
    record: the numbers of a life grow by one, so the records that it lost are those past the last."""
    ended = tables["node_stopped"].select(F.concat_ws(".", "node", "epoch").alias("life")).distinct()
    number = F.substring_index("event", ".", -1).cast("long")
    life = F.substring_index("event", ".", 2)
    last = tables["published"].groupBy(life.alias("life")).agg(F.max(number).alias("last"))
    open_ended = told.withColumn("life", life).join(ended, "life", "left_anti").join(last, "life", "left")
    of_these = F.lit(True) if lost is None else F.split("event", r"\.")[0].cast("long").isin(list(lost))
    cut_off = open_ended.where(F.col("published").isNull() & (number > F.coalesce("last", F.lit(0))) & of_these)
    return told.join(cut_off.select("event").distinct(), "event", "left_anti")
