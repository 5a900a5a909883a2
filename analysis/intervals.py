"""From records of change to intervals: radio contacts, tree links, lives of hosts, subscriptions.

Every interval is closed, [up, down] in s. What is still open at the end of the run ends there. One
job pairs all rises with their falls; what it finds is small enough for every task to get a copy,
and is put together here.
"""
from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_KEY = ["family", "a", "b", "name", "hash"]


class Intervals(NamedTuple):
    """Frames with `up` and `down`, and what they are of."""

    lives: pd.DataFrame  # `node`: its host was up
    radio_links: pd.DataFrame  # `tail`, `head`, two living hosts: head can receive what tail sends
    contacts: pd.DataFrame  # `i` < `j`: two-way radio between living hosts; a one-way link carries no channel
    tree_links: pd.DataFrame  # `link`, `i` < `j`: both ends, alive, held the tree link
    wants: pd.DataFrame  # `node`, `client`, `hash`: what a client means to get, whether its host lives or not
    held: pd.DataFrame  # the same: what the node knew of it, in each life; may overlap


def intervals(tables: dict[str, DataFrame], end: float, cut: pd.DataFrame | None = None) -> Intervals:
    """All intervals of a run that ended at `end` s. `cut`: lives that ended without a word, as lives.cut_short finds them."""
    changes = _changes(tables)
    if cut is not None and len(cut):
        ends = tables["node_stopped"].sparkSession.createDataFrame(cut[["node", "t"]], "node long, t double")
        changes = changes.unionByName(_rows(ends, "life", False, a="node"))
    paired = _paired(changes, end)
    told = _rows(tables["subscribed"], "told", a="node", name="client", hash="hash").select(
        *_KEY, F.col("t").alias("up"), F.col("t").alias("down"))
    return put_together(paired.unionByName(told).toPandas())


def put_together(found: pd.DataFrame) -> Intervals:
    """From `family`, `a`, `b`, `name`, `hash`, `up`, `down`, a row a rise with the fall that follows it, and a row a
    subscription as it was told to the node (family told, `up` and `down` the moment)."""
    def family(which: str, **columns: str) -> pd.DataFrame:
        return found[found["family"] == which][[*columns, "up", "down"]].rename(columns=columns)

    lives = family("life", a="node").sort_values(["node", "up"], ignore_index=True)
    wants = family("want", a="node", name="client", hash="hash")
    radio = _within(_within(family("radio", a="tail", b="head"), "tail", lives), "head", lives)
    return Intervals(lives, radio, _contacts(radio),
                     _tree_links(family("tree", a="i", b="j", name="link"), lives), wants,
                     _held(family("told", a="node", name="client", hash="hash"), wants, lives))


def _changes(tables: dict[str, DataFrame]) -> DataFrame:
    """Every rise and fall: `family`, `a`, `b`, `name`, `hash` (together its key), `t`, `line`, `rises`."""
    stops = tables["host_down"].select(F.col("host").alias("node"), "t").unionByName(
        tables["node_stopped"].select("node", "t"))
    # taken back in the very instant that the node stops: the host's end, not the client's will
    willed = tables["unsubscribed"].join(F.broadcast(stops.distinct()), ["node", "t"], "left_anti")
    radio, tree = {"a": "from", "b": "to"}, {"a": "node", "b": "neighbor", "name": "link"}
    want = {"a": "node", "name": "client", "hash": "hash"}
    parts = [
        # lives: from the world's word where there is one (it also knows of crashes), else from the node's
        _rows(tables["host_up"], "life", True, a="host"), _rows(tables["host_down"], "life", False, a="host"),
        _rows(tables["node_started"], "life", True, a="node"), _rows(tables["node_stopped"], "life", False, a="node"),
        _rows(tables["radio_up"], "radio", True, **radio), _rows(tables["radio_down"], "radio", False, **radio),
        _rows(tables["link_gained"], "tree", True, **tree), _rows(tables["link_lost"], "tree", False, **tree),
        _rows(tables["subscribed"], "want", True, **want), _rows(willed, "want", False, **want)]
    return reduce(DataFrame.unionByName, parts)


def _rows(table: DataFrame, family: str, rises: bool = True, **key: str) -> DataFrame:
    columns = {"a": F.lit(-1).cast("long"), "b": F.lit(-1).cast("long"), "name": F.lit(""), "hash": F.lit("")}
    columns |= {column: F.col(field) for column, field in key.items()}
    # a life is told in two files: within an instant its end comes before the next one's start
    line = F.struct(F.lit(int(rises)).cast("long").alias("block"), F.lit(0).cast("long").alias("row"))
    return table.select(F.lit(family).alias("family"), *[c.alias(name) for name, c in columns.items()], "t",
                        (line if family == "life" else F.col("line")).alias("line"), F.lit(rises).alias("rises"))


def _paired(changes: DataFrame, end: float) -> DataFrame:
    """Each rise with the fall that follows it; repeated rises or falls change nothing."""
    order = Window.partitionBy(*_KEY).orderBy("t", "line")
    return (changes.withColumn("before", F.lag("rises", 1, False).over(order))
            .where(F.col("rises") != F.col("before"))
            .withColumn("down", F.least(F.lead("t", 1, end).over(order), F.lit(end)))
            .where(F.col("rises") & (F.col("t") <= end))
            .select(*_KEY, F.col("t").alias("up"), "down"))


def _contacts(directed: pd.DataFrame) -> pd.DataFrame:
    there = directed[directed["tail"] < directed["head"]].rename(columns={"tail": "i", "head": "j"})
    back = directed[directed["tail"] > directed["head"]].rename(columns={"tail": "j", "head": "i"})
    return meet(there.merge(back, on=["i", "j"], suffixes=("", "2")), "up2", "down2")


def _tree_links(ends: pd.DataFrame, lives: pd.DataFrame) -> pd.DataFrame:
    low = ends[ends["i"] < ends["j"]]
    high = ends[ends["i"] > ends["j"]][["link", "up", "down"]]
    both = meet(low.merge(high, on="link", suffixes=("", "2")), "up2", "down2")
    return _lived(_lived(both[both["up"] < both["down"]], "i", lives), "j", lives)[["link", "i", "j", "up", "down"]]


def _held(told: pd.DataFrame, wants: pd.DataFrame, lives: pd.DataFrame) -> pd.DataFrame:
    """A want, in each life of the host in which it was told to the node."""
    key = ["node", "client", "hash"]
    at = told[[*key, "up"]].drop_duplicates().rename(columns={"up": "at"})
    at = at.merge(wants, on=key)
    at = at[at["at"].between(at["up"], at["down"])].rename(columns={"down": "until"}).drop(columns="up")
    at = at.merge(lives, on="node")
    at = at[at["at"].between(at["up"], at["down"])]
    return at[key].assign(up=at["at"], down=np.minimum(at["down"], at["until"])).reset_index(drop=True)


def meet(links: pd.DataFrame, up: str, down: str) -> pd.DataFrame:
    """The parts of the intervals that lie in [`up`, `down`] too; these two columns go."""
    both = links.assign(up=np.maximum(links["up"], links[up]), down=np.minimum(links["down"], links[down]))
    return both[both["up"] <= both["down"]].drop(columns=[up, down])


def _lived(links: pd.DataFrame, host: str, lives: pd.DataFrame) -> pd.DataFrame:
    """The intervals as far as the life of `host` went in which they began: with it goes what it held."""
    lived = lives.rename(columns={"node": host, "up": "born", "down": "died"})
    both = links.merge(lived, on=host)
    return meet(both[both["up"].between(both["born"], both["died"])], "born", "died").reset_index(drop=True)


def _within(links: pd.DataFrame, host: str, lives: pd.DataFrame) -> pd.DataFrame:
    """The parts of the intervals in which `host` was up."""
    lived = lives.rename(columns={"node": host, "up": "born", "down": "died"})
    return meet(links.merge(lived, on=host), "born", "died").reset_index(drop=True)
