"""Events that went where nobody wanted them: the messages that the papers call misrouted.

cugola-frey-murphy-picco-dynamic-topology, section V-C.1: a message of an event is misrouted when neither the
broker that gets it nor any behind it has a client that wants the event. Here a broker wants what it delivered, and
what it took in for a client that roams, which is its client until its session is over: the event may have come to
the client by another broker, which fetched it, or not at all. A message that was lost on its link is not known to be
misrouted, nor are those that led to it.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_SCHEMA = "sent long, misrouted long"


def misrouted(tables: dict[str, DataFrame], attached: pd.DataFrame | None = None,
              sessions: pd.DataFrame | None = None) -> dict[str, int]:
    """`sent` and `misrouted` messages of events over tree links in the whole run, retransmissions not counted.

    `attached` is roaming.attachments and `sessions` roaming.sessions, where clients roam: what comes to a client was wanted
    by its broker, and by those that held its subscriptions meanwhile; what a client publishes begins at its broker.
    """
    delivered = tables["delivered"]
    if attached is not None:
        keeping = _kept(tables, sessions)
        at = F.broadcast(delivered.sparkSession.createDataFrame(
            attached[["device", "broker", "up", "down"]], "device long, broker long, up double, down double"))
        delivered = (delivered.join(at, (F.col("node") == F.col("device")) & F.col("t").between(F.col("up"), F.col("down")),
                                    "left").withColumn("node", F.coalesce("broker", "node")))
    over = (tables["forwarded"].select("event", "node", F.explode("to").alias("link")).withColumn("end", F.lit("sent"))
            .unionByName(delivered.select("event", "node", F.lit(None).cast("string").alias("link"))
                         .withColumn("end", F.lit("wanted")))
            .unionByName(tables["event_dropped"].select("event", "node", "link").withColumn("end", F.lit("lost"))))
    if attached is not None:
        over = over.unionByName(tables["forwarded"].where(F.col("from").isNull()).select(
            "event", "node", F.lit(None).cast("string").alias("link"), F.lit("begun").alias("end"))).unionByName(keeping)
    events = over.groupBy("event").agg(F.collect_list(F.struct("node", "link", "end")).alias("ways"))
    row = events.mapInPandas(_count, _SCHEMA).agg(F.sum("sent").alias("sent"), F.sum("misrouted").alias("misrouted")).collect()[0]
    return {"sent": row.sent or 0, "misrouted": row.misrouted or 0}


def _kept(tables: dict[str, DataFrame], sessions: pd.DataFrame) -> DataFrame:
    """`event`, `node`, `link`, `end`: brokers that an event reached for a client that had it by another, or never."""
    delivered = tables["delivered"].select("event", "node", "t", "published")
    held = F.broadcast(delivered.sparkSession.createDataFrame(
        sessions[["device", "broker", "up", "down"]], "device long, broker long, up double, down double"))
    meanwhile = (F.col("node") == F.col("device")) & (F.col("up") <= F.col("t")) & (F.col("down") >= F.col("published"))
    return (delivered.join(held, meanwhile).select("event", F.col("broker").alias("node"))
            .unionByName(tables["buffer_dropped"].select("event", "node"))
            .select("event", "node", F.lit(None).cast("string").alias("link"), F.lit("wanted").alias("end")))


def _count(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        counted = [count(int(event.partition(".")[0]), [(way["node"], way["link"], way["end"]) for way in ways])
                   for event, ways in zip(batch["event"], batch["ways"], strict=True)]
        yield pd.DataFrame(counted, columns=["sent", "misrouted"])


def count(source: int, ways: list[tuple[int, str | None, str]]) -> tuple[int, int]:
    """(messages, misrouted ones) of one event that `source` published, from (host, link, end).

    end is `sent` or `lost` over the link, or `wanted` at the host, or `begun` there (at the source where there is none
    such). Messages that came again are misrouted too.
    """
    sent = {(near, link) for near, link, end in ways if end == "sent"}
    lost = sent & {(near, link) for near, link, end in ways if end == "lost"}
    beside: dict[int, list[str]] = {}
    for near, link in sorted(sent - lost):
        beside.setdefault(near, []).append(link)
    begun = dict.fromkeys([host for host, _, end in ways if end == "begun"]) or {source: None}
    came: dict[int, tuple[int, str] | None] = dict(begun)  # host -> the message that brought the event there
    queue = deque(begun)
    while queue:
        near = queue.popleft()
        for link in beside.get(near, ()):
            far = _far(link, near)
            if far not in came:
                came[far] = (near, link)
                queue.append(far)
    useful = set(lost)
    for host in [host for host, _, end in ways if end == "wanted"] + [near for near, _ in lost]:
        while (message := came.get(host)) is not None and message not in useful:
            useful.add(message)
            host = message[0]
    return len(sent), len(sent - useful)


def _far(link: str, near: int) -> int:
    """The other end of a link, written `low-high.nonce`."""
    low, high = map(int, link.partition(".")[0].split("-"))
    return high if near == low else low
