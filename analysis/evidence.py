"""What losses.py goes by beside the records that name events: put together once for a run, for every task that judges."""
from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from analysis import lives
from analysis.ingest import Ingest
from analysis.intervals import Intervals
from analysis.losses import Evidence, Span
from analysis.run import Run


def evidence(run: Run, found: Ingest, spans: Intervals, cut: pd.DataFrame) -> Evidence:
    """`run` has its end; `cut`: lives.cut_short."""
    tables = found.tables
    ended = {} if run.treeless else dict.fromkeys(run.silent, -math.inf) | lives.broken_off(run, found, spans.lives, cut)
    overflows = found.sums["radio_overflow"]
    full: dict[int, list[float]] = {} if overflows.empty else overflows.groupby("host")["t"].agg(list).to_dict()
    return Evidence(tables["link_lost"].groupby(["node", "link"])["t"].min().to_dict(),
                    spans.tree_links.groupby("link")["up"].min().to_dict(), _held_back(tables), ended, full,
                    run.scenario.get("node", {}).get("strategy") != "event")


def _held_back(tables: Mapping[str, pd.DataFrame]) -> dict[tuple[int, str], Span]:
    """(host, link) -> since the host opened the link, until it had told it all that was wanted."""
    def first(kind: str) -> dict[tuple[int, str], float]:
        found: dict[tuple[int, str], float] = tables[kind].groupby(["node", "link"])["t"].min().to_dict()
        return found

    gained, lost, released = first("link_gained"), first("link_lost"), first("subscriptions_released")
    found = {}
    for t, node, link, held in tables["link_activated"][["t", "node", "link", "held"]].itertuples(index=False):
        end = released.get((node, link), lost.get((node, link), math.inf)) if held else t
        found[node, link] = gained.get((node, link), t), end
    return found
