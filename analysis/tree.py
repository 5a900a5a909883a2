"""The tree under churn: repairs and how long nodes seek, merges, elections, fragments over time.

cugola-murphy-picco-mobile-environment, section 5.1.1, is the protocol. How long its users wait, from the loss
of the radio on, is in outages.py.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

MAX_SAMPLES = 1200
_SAMPLE = ["t", "hosts", "partitions", "fragments", "cycles", "radio_pairs", "tree_pairs"]


def repairs(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Per cause and outcome: `count`, and seconds `median`, `p95`, `max`; unended ones as outcome `open`."""
    seconds = tables["repair_ended"].groupby(["cause", "outcome"])["seconds"]
    done = pd.DataFrame({"count": seconds.size(), "median": seconds.quantile(0.5), "p95": seconds.quantile(0.95),
                         "max": seconds.max()}).reset_index()
    begun = tables["repair_started"].groupby("cause").size()
    over = done.groupby("cause")["count"].sum()
    left = begun.sub(over, fill_value=0)
    still = [{"cause": cause, "outcome": "open", "count": int(n), "median": np.nan, "p95": np.nan, "max": np.nan}
             for cause, n in left.items() if n > 0]
    whole = pd.concat([done, pd.DataFrame(still)]) if still else done
    return whole.sort_values(["cause", "count"], ascending=[True, False], ignore_index=True)


def seeking_times(tables: dict[str, pd.DataFrame]) -> np.ndarray:
    """Percentiles 0, 1, .. 100 of the seconds from noticing a lost link until joined; empty if none."""
    ended = tables["repair_ended"]
    joined = ended.loc[(ended["cause"] == "repair") & (ended["outcome"] == "joined"), "seconds"].to_numpy(float)
    return np.percentile(joined, np.arange(101)) if len(joined) else np.array([])


class LinkChanges(NamedTuple):
    gained: int  # links
    lost: dict[str, int]  # links by the reason that the first of their ends gave, most first
    elections: int


def link_changes(tables: dict[str, pd.DataFrame]) -> LinkChanges:
    first = tables["link_lost"].sort_values(["t", "line"]).drop_duplicates("link")
    lost = first.groupby("reason").size().sort_values(ascending=False, kind="stable")
    return LinkChanges(tables["link_gained"]["link"].nunique(), {reason: int(n) for reason, n in lost.items()},
                       int((tables["repair_ended"]["outcome"] == "elected").sum()))


def over_time(lives: pd.DataFrame, contacts: pd.DataFrame, links: pd.DataFrame, end: float,
              hosts: int) -> pd.DataFrame:
    """The network's shape, sampled every second (at most 1200 times in a run).

    `t`, `hosts` up, radio `partitions` and tree `fragments` (single hosts count), `cycles` (links too
    many for a forest), and pairs of hosts connected by radio (`radio_pairs`) and, of these, by tree.
    """
    step = max(1.0, end / MAX_SAMPLES)
    living, radio, tree = _Spans(lives, ["node"]), _Spans(contacts, ["i", "j"]), _Spans(links, ["i", "j"])
    return pd.DataFrame([_shape(t, living.at(t)[:, 0], radio.at(t), tree.at(t), hosts) for t in np.arange(0.5 * step, end, step)],
                        columns=_SAMPLE)


class _Spans:
    """Intervals to be asked for those of a moment."""

    def __init__(self, frame: pd.DataFrame, keys: list[str]) -> None:
        self._keys: np.ndarray = frame[keys].to_numpy(dtype=np.int64)
        self._up, self._down = frame["up"].to_numpy(float), frame["down"].to_numpy(float)

    def at(self, t: float) -> np.ndarray:
        """Their keys, of shape (n, number of keys)."""
        there: np.ndarray = self._keys[(self._up <= t) & (self._down > t)]
        return there


def _shape(t: float, living: np.ndarray, contacts: np.ndarray, links: np.ndarray, hosts: int) -> tuple[float, int, int, int, int, int, int]:
    up = np.zeros(hosts, dtype=bool)
    up[living] = True
    partition, _ = _parts(contacts, hosts)
    fragment, edges = _parts(links, hosts)
    partitions, fragments = len(np.unique(partition[up])), len(np.unique(fragment[up]))
    both = partition[up] * np.int64(hosts) + fragment[up]
    return (t, int(up.sum()), partitions, fragments, edges - (hosts - len(np.unique(fragment))),
            _pairs(partition[up]), _pairs(both))


def _parts(edges: np.ndarray, hosts: int) -> tuple[np.ndarray, int]:
    """Component of each host, and the number of distinct edges."""
    pairs = np.unique(edges, axis=0)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(hosts, hosts))
    return connected_components(graph, directed=False)[1].astype(np.int64), len(pairs)


def _pairs(labels: np.ndarray) -> int:
    sizes = np.unique(labels, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())
