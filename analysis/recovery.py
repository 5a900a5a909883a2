"""Lost events that came back: how many, from whom, after how many gossip rounds, how late, and what it cost.

costa-epidemic-reliability. A node records `event_recovered` when an answer brings an event that it had asked for.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.facts import Recovery

FAMILY = "recovery"  # of gossip, requests, answers and counters (node/schema/messages.toml); tags count to the events


def recoveries(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """`node`, `source`, `giver`, `rounds`, `seconds` (since the loss was noticed) of each, in the order of time."""
    found = tables["event_recovered"][["t", "node", "event", "giver", "rounds", "seconds"]].copy()
    found["source"] = found["event"].str.split(".").str[0].astype("int64")
    return found.sort_values(["t", "node", "event"], ignore_index=True)


def facts(found: pd.DataFrame, sent: pd.DataFrame) -> Recovery | None:
    """None for a run without recovery. `sent`: overhead.by_type."""
    spent = int(sent.loc[sent["family"] == FAMILY, "bytes"].sum())
    return Recovery(found, spent, int(sent["bytes"].sum())) if len(found) or spent else None


def by_giver(found: pd.DataFrame, most: int = 10) -> list[dict[str, Any]]:
    """Who gave events back, who gave most first: `giver`, `events`, `takers`, `rounds` (mean), `seconds` (median)."""
    rows = found.groupby("giver").agg(events=("source", "size"), takers=("node", "nunique"), rounds=("rounds", "mean"),
                                      seconds=("seconds", "median")).reset_index()
    rows = rows.sort_values(["events", "giver"], ascending=[False, True]).head(most)
    return [{**row, "giver": int(row["giver"])} for row in rows.to_dict("records")]
