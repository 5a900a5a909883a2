"""From records of change to intervals: radio contacts, tree links, lives of hosts, subscriptions.

Every interval is closed, [up, down] in s. What is still open at the end of the run ends there.
"""
from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def intervals(changes: DataFrame, keys: Sequence[str], end: float) -> DataFrame:
    """Pair each rise with the fall that follows it.

    `changes` has `keys`, `t`, `line` (order of the records within one instant) and `rises` (bool).
    Repeated rises or falls change nothing. Returns `keys`, `up`, `down`.
    """
    order = Window.partitionBy(*keys).orderBy("t", "line")
    return (changes
            .withColumn("before", F.lag("rises", 1, False).over(order))
            .where(F.col("rises") != F.col("before"))
            .withColumn("down", F.least(F.lead("t", 1, end).over(order), F.lit(end)))
            .where(F.col("rises") & (F.col("t") <= end))
            .select(*keys, F.col("t").alias("up"), "down"))


def lives(tables: dict[str, DataFrame], end: float) -> DataFrame:
    """When each host's node was up: `node`, `up`, `down`.

    From the world's word where there is one (it also knows of crashes), else from the node's own.
    """
    def said(table: str, host: str, rises: bool) -> DataFrame:
        # within an instant an end comes before a start: a restart, not a life of no length
        return tables[table].select(F.col(host).alias("node"), "t", F.lit(int(rises)).alias("line"),
                                    F.lit(rises).alias("rises"))

    changes = (said("host_up", "host", True).unionByName(said("host_down", "host", False))
               .unionByName(said("node_started", "node", True)).unionByName(said("node_stopped", "node", False)))
    return intervals(changes, ["node"], end)


def contacts(tables: dict[str, DataFrame], lives: DataFrame, end: float) -> DataFrame:
    """Two-way radio contacts between living hosts: `i` < `j`, `up`, `down`.

    Both directions are needed: over a one-way link no reliable channel, and no tree link, exists.
    """
    def said(table: str, rises: bool) -> DataFrame:
        return tables[table].select("from", "to", "t", "line", F.lit(rises).alias("rises"))

    directed = intervals(said("radio_up", True).unionByName(said("radio_down", False)), ["from", "to"], end)
    there = directed.where(F.col("from") < F.col("to")).select(
        F.col("from").alias("i"), F.col("to").alias("j"), "up", "down")
    back = directed.where(F.col("from") > F.col("to")).select(
        F.col("to").alias("i"), F.col("from").alias("j"), F.col("up").alias("up2"), F.col("down").alias("down2"))
    both = there.join(back, ["i", "j"]).select(
        "i", "j", F.greatest("up", "up2").alias("up"), F.least("down", "down2").alias("down"))
    both = _within(both.where("up <= down"), "i", lives)
    return _within(both, "j", lives)


def tree_links(tables: dict[str, DataFrame], lives: DataFrame, end: float) -> DataFrame:
    """Tree links as both of their ends had them: `link`, `i` < `j`, `up`, `down`."""
    def said(table: str, rises: bool) -> DataFrame:
        return tables[table].select("node", "neighbor", "link", "t", "line", F.lit(rises).alias("rises"))

    ends = intervals(said("link_gained", True).unionByName(said("link_lost", False)),
                     ["node", "neighbor", "link"], end)
    low = ends.where(F.col("node") < F.col("neighbor")).select(
        "link", F.col("node").alias("i"), F.col("neighbor").alias("j"), "up", "down")
    high = ends.where(F.col("node") > F.col("neighbor")).select(
        "link", F.col("up").alias("up2"), F.col("down").alias("down2"))
    both = low.join(high, "link").select(
        "link", "i", "j", F.greatest("up", "up2").alias("up"), F.least("down", "down2").alias("down"))
    both = _within(both.where("up < down"), "i", lives)
    return _within(both, "j", lives)


def wants(tables: dict[str, DataFrame], lives: DataFrame, end: float) -> DataFrame:
    """What clients meant to be subscribed to: `node`, `client`, `hash`, `up`, `down`.

    A want ends by the client's word only: a host that dies does not change what its client wants.
    A subscription taken back in the very instant its node stops counts as such a death.
    """
    key = ["node", "client", "hash"]
    deaths = lives.select("node", F.col("down").alias("t"))
    willed = tables["unsubscribed"].join(F.broadcast(deaths), ["node", "t"], "left_anti")

    def said(table: DataFrame, rises: bool) -> DataFrame:
        return table.select(*key, "t", "line", F.lit(rises).alias("rises"))

    return intervals(said(tables["subscribed"], True).unionByName(said(willed, False)), key, end)


def held(tables: dict[str, DataFrame], wants: DataFrame, lives: DataFrame) -> DataFrame:
    """The subscriptions that nodes held: a want, in each life of the host in which it was told.

    Returns `node`, `client`, `hash`, `up`, `down`; intervals of one key may overlap.
    """
    key = ["node", "client", "hash"]
    told = tables["subscribed"].select(*key, "t").distinct()
    alive = F.broadcast(lives.select("node", F.col("up").alias("born"), F.col("down").alias("died")))
    return (told.join(wants, key).where("t between up and down")
            .join(alive, "node").where("t between born and died")
            .select(*key, F.col("t").alias("up"), F.least("down", "died").alias("down")))


def _within(links: DataFrame, host: str, lives: DataFrame) -> DataFrame:
    """The parts of the intervals in which `host` was up."""
    lives = F.broadcast(lives.select(F.col("node").alias(host), F.col("up").alias("born"),
                                     F.col("down").alias("died")))
    kept = [c for c in links.columns if c not in ("up", "down")]
    return (links.join(lives, host)
            .select(*kept, F.greatest("up", "born").alias("up"), F.least("down", "died").alias("down"))
            .where("up <= down"))
