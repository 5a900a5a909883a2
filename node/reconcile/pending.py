"""Deferred unsubscriptions: lost links whose entries wait until something, or a timer, has them processed.

cugola-frey-murphy-picco-dynamic-topology, section IV-A.1 and figure 7; numbers in brackets are the figure's. The
entries of a lost link leave the table at once and wait here as figure 7's `pending`. So they are not told to a new
link that shares this dispatcher, and do not count when others subscribe or unsubscribe meanwhile. A timer touches
only the entries of the link that was lost, never those of a newer link to the same neighbor.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from node.environment import Timer
from node.ids import LinkId
from node.reconcile import Routing, Surroundings

MAX_PENDING = 64  # lost links that wait; beyond them the oldest is processed


class Lost(NamedTuple):
    """A lost link whose unsubscriptions are not processed yet."""

    since: float
    timer: Timer


class Pending:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._env, self._routing = around.station.env, around.routing
        self._lost: dict[LinkId, Lost] = {}  # by the lost link, which is the reconfiguration's id

    def __iter__(self) -> Iterator[LinkId]:
        return iter(self._lost)

    def __len__(self) -> int:
        return len(self._lost)

    def defer(self, link: LinkId, wait: float, leaf_too: bool = False) -> None:
        """manageBrokenLink(n, rId): move the link's entries from the table to here, for so long.

        A leaf dispatcher has nobody to send unsubscriptions to, and nothing to defer."""
        leaf = all(other == link for other in self._routing.links)
        self._routing.remove_link(link, keep=leaf_too or not leaf)
        kept = len(self._routing.kept(link))
        if not kept or link in self._lost:
            return
        if len(self._lost) >= MAX_PENDING:
            self.process(next(iter(self._lost)), "timer")
        self._env.record("unsubscriptions_deferred", rid=str(link), filters=kept)
        self._lost[link] = Lost(self._env.now(), self._start(link, wait))  # [1]

    def restart(self, rid: LinkId, wait: float) -> None:
        """Let this time, counted from the loss, run in place of another."""
        lost = self._lost.get(rid)
        if lost is not None:
            lost.timer.cancel()
            left = lost.since + wait - self._env.now()
            self._lost[rid] = lost._replace(timer=self._start(rid, max(left, 0.0)))

    def process(self, rid: LinkId, cause: str) -> None:
        """unsubTimerExpires(n, rId): processUnsubFrom(n, p) for every <n, p> of pending[rId]."""
        if self.take(rid, cause):
            self._routing.let_go(rid)  # [3]

    def take(self, rid: LinkId, cause: str) -> bool:
        """Whether they waited; they are the caller's to process now."""
        lost = self._lost.pop(rid, None)
        if lost is None:
            return False
        lost.timer.cancel()
        self._env.record("unsubscriptions_processed", rid=str(rid), cause=cause)
        return True

    def _start(self, rid: LinkId, wait: float) -> Timer:
        return self._env.call_later(wait, lambda: self.process(rid, "timer"))
