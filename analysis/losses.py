"""Why an event did not come: the way it should have taken through the tree, and where it ended.

The rules are in docs/analysis.md. The way is the path between publisher and subscriber over the tree
links that were open at both of their ends when the event was published. The first host on it that
shows no sign of the event tells the reason. Without a tree there is no such path: what the radio could have
brought and did not, the radio lost.
"""
from __future__ import annotations

from functools import reduce

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.run import Run

REASONS = ("partitioned", "repairing", "stale_route", "overflow", "radio", "node_down", "late", "handoff")
SIGNS = ("published", "forwarded", "delivered", "undelivered", "duplicate", "event_dropped")  # that an event came to a host
# The node's word when it gives an event up on its way over a link, in `event_dropped`.
DROPS = {
    "overflow": ("overflow", "a queue on the way was full"),
    "link_lost": ("repairing", "a link broke with the event in it"),
    "hops": ("stale_route", "it had gone as many hops as an event may: in a circle"),
}


# Why a broker gave up what it held for a device, in `buffer_dropped`; any other reason ended the device's session.
GIVEN_UP = {
    "bytes": "a broker's buffer for the client was full",
    "age": "it waited longer for the client than client_age",
    "expired": "the client was away for longer than client_age",
}


def whys(run: Run, lost: DataFrame, tables: dict[str, DataFrame], attached: pd.DataFrame | None = None) -> DataFrame:
    """`event`, `node`, `client`, `reason`, `detail` of each lost pair, `near`, `far` (the hop, where there is one).

    `lost` has the columns of delivery.outcomes and `path`; `attached` is roaming.attachments, where clients roam.
    """
    unread = tables["undelivered"].select("event", "node", "client", F.lit(True).alias("unread")).distinct()
    lost = lost.join(unread, ["event", "node", "client"], "left")
    if run.treeless:
        found = lost.join(_refused(tables), "event", "left").withColumn("why", _without_tree(run.radio_known)).withColumns(
            {"near": F.lit(None).cast("long"), "far": F.lit(None).cast("long")})
    else:
        hops = broken_hops(lost, tables, run.deadline)
        found = lost.join(hops, ["event", "node"], "left")
        if attached is not None:
            found = _about_devices(found, tables, attached, run)
        found = found.withColumn("why", _in_tree(run.radio_known, attached is not None, run.retransmits))
    return found.select("event", "node", "client", "why.reason", "why.detail", "near", "far")


def _about_devices(lost: DataFrame, tables: dict[str, DataFrame], attached: pd.DataFrame, run: Run) -> DataFrame:
    """Adds `sub_apart`, `pub_apart` (a device, attached to no broker when it was published), `moved` (not to the
    same one until the deadline), `given_up` (why a broker gave it up, or null), `unsent` (the publisher gave it up)."""
    spans = F.broadcast(lost.sparkSession.createDataFrame(
        attached[["device", "up", "down"]], "device long, up double, down double"))
    devices = F.broadcast(spans.select("device").unionByName(lost.sparkSession.createDataFrame(
        [(device,) for device in run.roaming], "device long")).distinct())
    for host, until in (("node", "sub_until"), ("source", "pub_until")):
        there = (lost.select("event", host, "published").distinct()
                 .join(spans, (F.col(host) == F.col("device")) & F.col("published").between(F.col("up"), F.col("down")))
                 .groupBy("event", host).agg(F.max("down").alias(until)))
        is_device = devices.select(F.col("device").alias(host), F.lit(True).alias(f"{until}_of"))
        lost = lost.join(there, ["event", host], "left").join(is_device, host, "left")
    dropped = (tables["buffer_dropped"].groupBy("event", F.col("device").alias("node"))
               .agg(F.min_by("reason", "t").alias("given_up")))
    unsent = tables["publication_dropped"].select("event", F.lit(True).alias("unsent")).distinct()
    subscriber, publisher = (F.col(name).isNotNull() for name in ("sub_until_of", "pub_until_of"))
    return (lost.join(F.broadcast(dropped), ["event", "node"], "left").join(F.broadcast(unsent), "event", "left")
            .withColumn("sub_apart", subscriber & F.col("sub_until").isNull())
            .withColumn("pub_apart", publisher & F.col("pub_until").isNull())
            .withColumn("moved", subscriber & (F.col("sub_until") < F.col("published") + run.deadline)))


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
            .when(F.col("delivered").isNotNull(), _why("late", "delivered after the deadline"))
            .when(F.col("unread"), _why("overflow", "the client read too slowly, and its node had no room for the event")))


def _without_tree(radio_known: bool) -> Column:
    apart = F.lit(radio_known) & ~F.col("connected")
    return (_anywhere(radio_known)
            .when(F.col("refused"), _why("overflow", "the event is larger than a broadcast carries"))
            .when(apart, _why("radio", "hosts apart when it was published; carrying would have helped"))
            .otherwise(_why("radio", "no broadcast came through")))


def _handoff(rules: Column) -> Column:
    """What the moves of clients explain, before the tree is asked."""
    for reason, says in GIVEN_UP.items():
        rules = rules.when(F.col("given_up") == reason, _why("handoff", says))
    return (rules.when(F.col("given_up").isNotNull(), _why("handoff", "a broker ended the client's session"))
            .when(F.col("unsent"), _why("handoff", "the publisher gave it up before a broker had it"))
            .when(F.col("pub_apart"), _why("handoff", "the publisher was attached to no broker"))
            .when(F.col("sub_apart"), _why("handoff", "the client was attached to no broker when it was published"))
            .when(F.col("moved"), _why("handoff", "the client moved before the deadline"))
            .when(F.col("link").startswith("@") & F.col("last"), _why("handoff", "its broker did not hand it out")))


def _in_tree(radio_known: bool, roams: bool, retransmits: bool) -> Column:
    hop, apart = F.col("link").isNotNull(), F.lit(radio_known) & ~F.col("connected")
    rules = _anywhere(radio_known)
    if roams:
        rules = _handoff(rules)
    rules = (rules.when(F.col("path").isNull() & apart,
                   _why("repairing", "hosts apart when it was published; carrying would have helped"))
             .when(F.col("path").isNull() & F.lit(radio_known), _why("repairing", "hosts connected, their trees were not one"))
             .when(F.col("path").isNull(), _why("repairing", "their trees were not one")))
    for dropped, why in DROPS.items():
        rules = rules.when(hop & (F.col("dropped") == dropped), _why(*why))
    return (rules
            .when(hop & F.col("sent") & F.col("closed"), _why("repairing", "a link broke with the event in it"))
            .when(hop & F.col("sent") & F.col("last"), _why("radio", "sent over the last link, did not come in time"))
            .when(hop & F.col("sent") & F.lit(not retransmits), _why("radio", "sent over a link once, and not seen behind it"))
            .when(hop & F.col("sent"), _why("stale_route", "a host on the way had no route onward"))
            .when(hop & F.col("closed"), _why("repairing", "a link broke before the event came to it"))
            .when(hop, _why("stale_route", "a host on the way did not know that it was wanted"))
            .otherwise(_why("stale_route", "it came to the subscriber's host and was not handed over")))


def _why(reason: str, detail: str) -> Column:
    return F.struct(F.lit(reason).alias("reason"), F.lit(detail).alias("detail"))
