"""Lost events that came back: how many, from whom, after how many gossip rounds, how late, and what it cost.

costa-epidemic-reliability. A node records `event_recovered` when an answer brings an event that it had asked for.
"""
from __future__ import annotations

import math

import pandas as pd

FAMILY = "recovery"  # of gossip, requests, answers and counters (node/schema/messages.toml); tags count to the events
KEYS = ("recovered_events", "recovered_in_time", "recovered_from_source", "recovered_rounds", "recovered_median",
        "recovered_p95", "recovery_share")


def recoveries(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """`node`, `source`, `giver`, `rounds`, `seconds` (since the loss was noticed) of each, in the order of time."""
    found = tables["event_recovered"][["t", "node", "event", "giver", "rounds", "seconds"]].copy()
    found["source"] = found["event"].str.split(".").str[0].astype("int64")
    return found.sort_values(["t", "node", "event"], ignore_index=True)


def numbers(found: pd.DataFrame, sent: pd.DataFrame, in_time: int) -> dict[str, float]:
    """The headline numbers; nan in a run without recovery. `sent`: overhead.by_type; `in_time`: of the counted
    deliveries those that a recovery made in time."""
    spent = int(sent.loc[sent["family"] == FAMILY, "bytes"].sum())
    if not len(found) and not spent:
        return dict.fromkeys(KEYS, math.nan)
    some = len(found) > 0
    return dict(zip(KEYS, (
        len(found), in_time,
        float((found["giver"] == found["source"]).mean()) if some else math.nan,
        float(found["rounds"].mean()) if some else math.nan,
        *(float(found["seconds"].quantile(q)) if some else math.nan for q in (0.5, 0.95)),
        spent / int(sent["bytes"].sum()) if spent else 0.0)))


def by_giver(found: pd.DataFrame, most: int = 10) -> list[dict]:
    """Who gave events back, who gave most first: `giver`, `events`, `takers`, `rounds` (mean), `seconds` (median)."""
    rows = found.groupby("giver").agg(events=("source", "size"), takers=("node", "nunique"), rounds=("rounds", "mean"),
                                      seconds=("seconds", "median")).reset_index()
    rows = rows.sort_values(["events", "giver"], ascending=[False, True]).head(most)
    return [{**row, "giver": int(row["giver"])} for row in rows.to_dict("records")]
