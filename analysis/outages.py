"""From the loss of a tree link's radio until its two ends are in one tree again: what a user waits.

The truth of the radio (world.jsonl) tells when a link broke; the nodes notice later. A fragment here is
what tree links whose radio works hold together. Waits that were cut short, because the radio parted
the two ends or the run ended, are censored: the estimator is Kaplan and Meier's (J. American
Statistical Association 53, 1958), which makes use of it that they lasted at least so long.
"""
from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.facts import Waits
from analysis.intervals import meet

WAITED = ["joined", "parted", "ended"]  # outcomes of outages whose ends the radio still connected
PROMPT = 2.0  # s within which a repair is meant to be over
COLUMNS = ["link", "i", "j", "lost", "noticed", "seconds", "outcome"]
_RISE, _FALL, _BREAK = range(3)  # the order of what happens in one instant: intervals are closed
Graph = dict[int, dict[int, int]]  # host -> the hosts beside it -> how many links there are to each


def outages(tree_links: pd.DataFrame, contacts: pd.DataFrame, lives: pd.DataFrame, end: float) -> pd.DataFrame:
    """One row an outage: `link`, `i`, `j`, `lost`, `noticed` (s; noticed by the first end), `seconds`, `outcome`.

    outcome: `joined` after `seconds`; `apart`, the radio did not connect the ends when the link broke; `parted`
    or `ended`, it parted them, or the run ended, after `seconds` without one tree; `returned`, the radio
    link was back after `seconds`, before anyone closed the link. Links that closed while their radio worked,
    and those to a host that stopped, are none.
    """
    breaks = _breaks(tree_links, contacts, lives, end)
    watch = _Watch(breaks[breaks["outcome"] == ""])
    carried = meet(tree_links.merge(contacts, on=["i", "j"], suffixes=("", "2")), "up2", "down2")
    for seconds, outcome in watch.follow(contacts, carried, end):
        breaks.loc[seconds.keys(), "seconds"] = list(seconds.values())
        breaks.loc[seconds.keys(), "outcome"] = outcome
    return breaks.sort_values(["lost", "link"], ignore_index=True)[COLUMNS]


def _breaks(tree_links: pd.DataFrame, contacts: pd.DataFrame, lives: pd.DataFrame, end: float) -> pd.DataFrame:
    """Where a tree link outlived its radio: the outages, those that the radio itself ended with their outcome."""
    spans = contacts.sort_values(["i", "j", "up"])
    spans = spans.assign(back=spans.groupby(["i", "j"])["up"].shift(-1)).rename(columns={"up": "began", "down": "lost"})
    found = tree_links.merge(spans, on=["i", "j"])
    found = found[(found["lost"] >= found["up"]) & (found["lost"] < np.minimum(found["down"], end))]
    for host in ("i", "j"):  # a host that stopped took its radio with it
        stops = lives.rename(columns={"node": host, "down": "lost"})[[host, "lost"]].drop_duplicates()
        found = found.merge(stops, on=[host, "lost"], how="left", indicator="stopped")
        found = found[found["stopped"] == "left_only"].drop(columns="stopped")
    back = found["back"] <= found["down"]
    return found.assign(noticed=found["down"].where(~back & (found["down"] < end)),
                        seconds=(found["back"] - found["lost"]).where(back),
                        outcome=np.where(back, "returned", "")).reset_index(drop=True)


class _Watch:
    """Goes through all changes of radio and tree in order of time, and watches the pairs that wait."""

    def __init__(self, breaks: pd.DataFrame) -> None:
        self._breaks = {row.Index: _Break(row.i, row.j, row.lost) for row in breaks.itertuples()}
        self._radio: Graph = defaultdict(lambda: defaultdict(int))
        self._tree: Graph = defaultdict(lambda: defaultdict(int))
        self._waiting: dict[int, set[tuple[int, int]]] = {}  # outage -> hops of a radio path between its ends
        self._over: dict[str, dict[int, float]] = {"joined": {}, "apart": {}, "parted": {}, "ended": {}}

    def follow(self, contacts: pd.DataFrame, carried: pd.DataFrame, end: float) -> list[tuple[dict[int, float], str]]:
        """(outage -> seconds, outcome) for every outcome. `carried`: tree links while their radio works."""
        changes: list[tuple[float, int, Graph, int, int]] = [
            (broken.lost, _BREAK, {}, number, 0) for number, broken in self._breaks.items()]
        for graph, spans in ((self._radio, contacts), (self._tree, carried)):
            for i, j, up, down in spans[["i", "j", "up", "down"]].itertuples(index=False):
                changes += [(up, _RISE, graph, i, j), (down, _FALL, graph, i, j)]
        for t, what, graph, i, j in sorted(changes, key=lambda change: change[:2]):
            if t >= end:
                break
            if what == _BREAK:
                self._begin(i)
            elif what == _RISE:
                self._rise(t, graph, i, j)
            else:
                self._fall(t, graph, i, j)
        self._over["ended"] = {number: end - self._breaks[number].lost for number in self._waiting}
        return [(seconds, outcome) for outcome, seconds in self._over.items()]

    def _begin(self, number: int) -> None:
        i, j, _ = self._breaks[number]
        if _path(self._tree, i, j) is not None:
            self._over["joined"][number] = 0.0
            return
        path = _path(self._radio, i, j)
        if path is None:
            self._over["apart"][number] = 0.0
        else:
            self._waiting[number] = path

    def _rise(self, t: float, graph: Graph, i: int, j: int) -> None:
        graph[i][j] += 1
        graph[j][i] += 1
        if graph is self._tree and self._waiting:
            fragment = _search(graph, i).keys()
            for number in [n for n in self._waiting if self._breaks[n].i in fragment and self._breaks[n].j in fragment]:
                self._end(number, t, "joined")

    def _fall(self, t: float, graph: Graph, i: int, j: int) -> None:
        for a, b in ((i, j), (j, i)):
            graph[a][b] -= 1
            if not graph[a][b]:
                del graph[a][b]
        if graph is self._radio and j not in graph[i]:
            for number in [n for n, path in self._waiting.items() if (i, j) in path]:
                path = _path(graph, self._breaks[number].i, self._breaks[number].j)
                if path is None:
                    self._end(number, t, "parted")
                else:
                    self._waiting[number] = path

    def _end(self, number: int, t: float, outcome: str) -> None:
        del self._waiting[number]
        self._over[outcome][number] = t - self._breaks[number].lost


class _Break(NamedTuple):
    i: int
    j: int
    lost: float


def _search(graph: Graph, start: int) -> dict[int, int]:
    """Every host that `start` reaches, and the one before it on the way."""
    before = {start: start}
    queue = deque([start])
    while queue:
        near = queue.popleft()
        for far in graph[near]:
            if far not in before:
                before[far] = near
                queue.append(far)
    return before


def _path(graph: Graph, i: int, j: int) -> set[tuple[int, int]] | None:
    """The hops of a shortest path, lower id first; None if there is none."""
    before = _search(graph, i)
    if j not in before:
        return None
    hops = set()
    while j != i:
        hops.add((min(j, before[j]), max(j, before[j])))
        j = before[j]
    return hops


def waits(found: pd.DataFrame) -> Waits:
    """The numbers of `outages`."""
    counted = found[found["outcome"].isin(WAITED)].sort_values("seconds")
    seconds = counted["seconds"].to_numpy(float)
    joined = (counted["outcome"] == "joined").to_numpy()
    left = survival(seconds, joined)

    def quantile(share: float) -> float:
        reached = np.flatnonzero(left <= 1 - share + 1e-12)
        return float(seconds[reached[0]]) if len(reached) else np.nan

    within = np.flatnonzero(seconds <= PROMPT)
    prompt = 1 - float(left[within[-1]]) if len(within) else 0.0
    outcomes = found["outcome"].value_counts()
    noticed = (counted["noticed"] - counted["lost"]).median()
    return Waits(len(counted), quantile(0.5), quantile(0.95), float(seconds.max(initial=0.0)) if len(counted) else np.nan,
                 prompt if len(counted) else np.nan, float(noticed), int((~joined).sum()),
                 int(outcomes.get("apart", 0)), int(outcomes.get("returned", 0)))


def survival(seconds: np.ndarray, joined: np.ndarray) -> np.ndarray:
    """Kaplan and Meier's share of waits that last longer than each of `seconds` (ascending); not `joined`: cut short.

    Shape (n,), in [0, 1]. Waits of one length: those that ended count before those cut short. The same as
    scipy.stats.ecdf, whose import costs an analysis half a second.
    """
    lengths, firsts = np.unique(seconds, return_index=True)
    ended = np.add.reduceat(joined, firsts) if len(seconds) else np.zeros(0)
    at_risk = len(seconds) - firsts
    return np.cumprod(1 - ended / at_risk)[np.searchsorted(lengths, seconds)] if len(seconds) else np.zeros(0)
