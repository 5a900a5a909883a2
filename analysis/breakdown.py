"""The delivery outcomes counted in every way the report shows: by each task for its events, then put together."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pandas as pd

PERCENTS = np.arange(101)
RECORDED = 2e-6  # s that two times in records may be off each other
_SETS = {"whole": [], "bin": ["bin"], "reason": ["reason", "detail"], "kind": ["kind"], "node": ["node"],
         "source": ["source"], "hops": ["hops"]}
_SPREAD = ("whole", "kind", "node", "source")  # those of which latencies are told
_SUMS = ["delivered", "repeats", "impossible", "early", "recovered", "hops_sum"]


class Breakdown(NamedTuple):
    """Frames with `expected`, `delivered` (in time), `reachable` (by the bound), `impossible` (delivered before
    the bound, or without one), `early` (before the publication), `recovered` and `repeats`; those of classes, kinds, nodes and
    sources also with `percentiles`, the latency's percentiles 0, 1, .. 100 in s (None where nothing was delivered). Only pairs whose hosts
    were up throughout and whose client is not at the publisher's own node, except `classes`."""

    classes: pd.DataFrame  # by `class`: counted, local, node_down; also `hops_sum`
    bins: pd.DataFrame  # by `bin`, start of the bin in s
    reasons: pd.DataFrame  # lost pairs by `reason`, `detail`
    kinds: pd.DataFrame  # by `kind`
    nodes: pd.DataFrame  # by subscriber's `node`
    sources: pd.DataFrame  # by publisher's `source`
    hops: pd.DataFrame  # delivered pairs by `hops`
    bin_width: float  # s


def count(outcomes: pa.Table, window: tuple[float, float]) -> dict[str, pa.Table]:
    """Some rows of the table `outcomes`, counted in all ways at once: way -> its sums."""
    width, number = bin_width(window), pa.int64()
    at, in_time, bound = outcomes["published"], outcomes["in_time"], outcomes["bound"]
    beyond = pc.or_kleene(pc.is_null(bound), pc.less(outcomes["delivered"], pc.subtract(bound, RECORDED)))
    hops = pc.if_else(in_time, outcomes["hops"], pa.scalar(None, number))
    pairs = pa.table({
        "class": pc.if_else(outcomes["node_down"], "node_down", pc.if_else(outcomes["local"], "local", "counted")),
        "bin": pc.add(pc.multiply(pc.floor(pc.divide(pc.subtract(at, window[0]), width)), width), window[0]),
        **{name: outcomes[name] for name in ("reason", "detail", "kind", "node", "source")}, "hops": hops,
        "delivered": in_time.cast(number), "reachable": bound, "latency": outcomes["latency"],
        "repeats": pc.max_element_wise(pc.subtract(outcomes["times"], 1), 0),
        "impossible": pc.and_(in_time, pc.fill_null(beyond, False)).cast(number),
        "early": pc.fill_null(pc.less(outcomes["latency"], -RECORDED), False).cast(number),
        "recovered": pc.and_(in_time, pc.fill_null(outcomes["recovered"], False)).cast(number),
        "hops_sum": hops})
    found = {}
    for way, by in _SETS.items():
        keys = ["class", *by]
        rows = pairs if way == "whole" else pairs.filter(pc.equal(pairs["class"], "counted"))
        spread = [("latency", "list")] if way in _SPREAD else []
        found[way] = rows.group_by(keys).aggregate(
            [([], "count_all"), ("reachable", "count"), *((name, "sum") for name in _SUMS), *spread]).rename_columns(
            [*keys, "expected", "reachable", *_SUMS, *(["latency"] if spread else [])])
    return found


def breakdown(parts: Sequence[dict[str, pa.Table]], window: tuple[float, float]) -> Breakdown:
    """What `count` found for all parts of the outcomes, put together."""
    whole = {way: _together([part[way] for part in parts], ["class", *by], way) for way, by in _SETS.items()}
    return Breakdown(whole["whole"], whole["bin"], whole["reason"][whole["reason"]["reason"].notna()], whole["kind"],
                     whole["node"], whole["source"], whole["hops"][whole["hops"]["hops"].notna()], bin_width(window))


def _together(parts: list[pa.Table], keys: list[str], way: str) -> pd.DataFrame:
    table = pa.concat_tables(parts)
    counts = table.select([name for name in table.column_names if name != "latency"]).to_pandas()
    rows = counts.groupby(keys, dropna=False)
    found = rows.sum(min_count=1).reset_index()
    if way in _SPREAD:
        taken = [latency.values.drop_null().to_numpy() for latency in table["latency"]]
        found["percentiles"] = [_percentiles([taken[row] for row in group.index]) for _, group in rows]
    return found if way == "whole" else found.drop(columns="hops_sum")


def _percentiles(latencies: list[np.ndarray]) -> np.ndarray | None:
    values = np.concatenate(latencies)
    return np.percentile(values, PERCENTS) if len(values) else None


def bin_width(window: tuple[float, float]) -> float:
    """A round number of s that cuts the window into 30 to 75 bins."""
    span = max(window[1] - window[0], 0.0)
    for width in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400):
        if span / width <= 75:
            return float(width)
    return span / 60
