"""The physical bound: when could an event have reached each host, over space and time?

Earliest arrival in the contact graph: hosts store, carry and forward over every radio link between
living hosts, one-way links too (a broadcast needs no answer); a transmission takes no time, and a host
that stops keeps what it carries. A protocol that does not carry events delivers less. None delivers
more over the links that the world recorded; what may pass beside those is in docs/analysis.md.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class ContactGraph:
    """Directed contacts as arrays of one length, for a fixed number of hosts.

    From `up` to `down` (s) `head` receives what `tail` sends.
    """

    def __init__(self, tail: np.ndarray, head: np.ndarray, up: np.ndarray, down: np.ndarray, hosts: int) -> None:
        self.tail, self.head = tail.astype(np.int64, copy=False), head.astype(np.int64, copy=False)
        self.up, self.down = up.astype(float, copy=False), down.astype(float, copy=False)
        self.hosts = hosts

    @classmethod
    def of(cls, links: pd.DataFrame, hosts: int) -> ContactGraph:
        """links: intervals.Intervals.radio_links."""
        return cls(links["tail"].to_numpy(), links["head"].to_numpy(), links["up"].to_numpy(), links["down"].to_numpy(), hosts)

    def joined(self, tail: int, head: int, at: float) -> bool:
        """Whether `head` could receive what `tail` sent at `at` (s)."""
        return bool(((self.tail == tail) & (self.head == head) & (self.up <= at) & (self.down >= at)).any())

    def between(self, start: float, end: float) -> Slice:
        """The contacts of which some part lies in [start, end] (s), ordered by head."""
        kept = np.flatnonzero((self.up <= end) & (self.down >= start))
        kept = kept[np.argsort(self.head[kept], kind="stable")]
        return Slice(self.tail[kept], self.head[kept], self.up[kept], self.down[kept], self.hosts)


class Slice(ContactGraph):
    """Contacts ordered by head, as `between` gives them."""

    def __init__(self, tail: np.ndarray, head: np.ndarray, up: np.ndarray, down: np.ndarray, hosts: int) -> None:
        super().__init__(tail, head, up, down, hosts)
        self.firsts = np.flatnonzero(np.diff(self.head, prepend=-1))
        self.heads = self.head[self.firsts]

    def earliest(self, source: int, start: float, end: float) -> np.ndarray:
        """Earliest arrival (s) at each host of what `source` has at `start`; inf when after `end`.

        Rounds of relaxation over all contacts at once: as many
        rounds as the longest of the fastest paths has hops.
        """
        arrival = np.full(self.hosts, np.inf)
        arrival[source] = start
        if not len(self.tail):
            return arrival
        limit = np.minimum(self.down, end)
        while True:
            reached = np.maximum(arrival[self.tail], self.up)
            reached[reached > limit] = np.inf
            best = np.minimum(np.minimum.reduceat(reached, self.firsts), arrival[self.heads])
            if (best == arrival[self.heads]).all():
                return arrival
            arrival[self.heads] = best
