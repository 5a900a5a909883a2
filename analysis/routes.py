"""For every event and every host that should have it: when it could have come, and along which way.

One pass over the events gives both the physical bound (bound.py) and the path through the tree that
was standing when the event was published, from which losses.py finds where an event ended.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.bound import ContactGraph

SLICE = 1.0  # s of publications that share one choice of contacts
_SCHEMA = "event string, node long, bound double, path array<struct<near: long, far: long, link: string>>"


class Forest:
    """Tree links as arrays `link`, `i`, `j`, `up`, `down`."""

    def __init__(self, links: pd.DataFrame) -> None:
        self.names = links["link"].to_numpy(dtype=object)
        self.i, self.j = links["i"].to_numpy(), links["j"].to_numpy()
        self.up, self.down = links["up"].to_numpy(dtype=float), links["down"].to_numpy(dtype=float)

    def paths(self, source: int, at: float) -> dict[int, list[tuple[int, int, str]]]:
        """Host -> the hops (near, far, link) from `source` to it over the links open at `at`."""
        beside: dict[int, list[tuple[int, str]]] = {}
        for row in np.flatnonzero((self.up <= at) & (self.down > at)):
            i, j = int(self.i[row]), int(self.j[row])
            beside.setdefault(i, []).append((j, self.names[row]))
            beside.setdefault(j, []).append((i, self.names[row]))
        paths: dict[int, list[tuple[int, int, str]]] = {source: []}
        queue = deque([source])
        while queue:
            near = queue.popleft()
            for far, link in beside.get(near, ()):
                if far not in paths:
                    paths[far] = [*paths[near], (near, far, link)]
                    queue.append(far)
        return paths


def routes(spark: SparkSession, pairs: DataFrame, radio_links: pd.DataFrame, links: pd.DataFrame, hosts: int,
           deadline: float) -> DataFrame:
    """For pairs with `event`, `source`, `published`, `node`: `event`, `node`, `bound`, `path`.

    `bound` is the earliest arrival in s, null when not by the deadline; `path` the hops through the
    tree, null when the tree did not connect the two. `radio_links` has `tail`, `head`, `up`, `down`; `links`
    has `link`, `i`, `j`, `up`, `down`; all ids are below `hosts`.
    """
    known = spark.sparkContext.broadcast((ContactGraph(
        *(radio_links[c].to_numpy() for c in ("tail", "head", "up", "down")), hosts), Forest(links)))

    def solve(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield pd.DataFrame(_solved(*known.value, batch, deadline), columns=["event", "node", "bound", "path"])

    events = (pairs.groupBy("event", "source", "published").agg(F.collect_set("node").alias("nodes"))
              .sortWithinPartitions("published"))
    return events.mapInPandas(solve, _SCHEMA)


def _solved(graph: ContactGraph, forest: Forest, events: pd.DataFrame, deadline: float) -> Iterator[tuple]:
    current, part = None, graph
    for event, source, start, nodes in events.itertuples(index=False):
        piece = start // SLICE
        if piece != current:
            current, part = piece, graph.between(piece * SLICE, (piece + 1) * SLICE + deadline)
        arrival = part.earliest(int(source), start, start + deadline)
        paths = forest.paths(int(source), start)
        for node in nodes:
            yield event, node, None if np.isinf(arrival[node]) else arrival[node], paths.get(int(node))
