"""Timed deferred unsubscription: what a lost link wanted is withdrawn T_u later.

cugola-frey-murphy-picco-dynamic-topology, section IV-A.1 and figure 7; numbers in brackets are the figure's.
Subscriptions that a new link brings meet a tree that is still dense, and so travel not far (observation 1).
Needs nothing of the tree but the two ends' own notices.

The entries of the lost link leave the table at once and wait as `pending`. So they are not told to a new link
that shares this dispatcher, and do not count when others subscribe or unsubscribe meanwhile. A timer touches
only the entries of the link that was lost, never those of a newer link to the same neighbor.
"""
from __future__ import annotations

from typing import NamedTuple

from node.environment import Timer
from node.ids import LinkId
from node.reconcile import Path, Routing, Surroundings
from node.seams import LinkMessages, RoutedMessages

MAX_PENDING = 64  # lost links that wait; beyond them the oldest is processed


class Pending(NamedTuple):
    """A lost link whose unsubscriptions are not processed yet."""

    since: float
    timer: Timer


class Timed:
    def __init__(self, around: Surroundings[Routing]) -> None:
        self._station, self._channels, self._courier, self._routing, self._table = around
        self._env, self._config = self._station.env, self._station.config
        self._me = self._station.me.node
        self._pending: dict[LinkId, Pending] = {}  # by the lost link, which is the reconfiguration's id
        self.link_messages: LinkMessages = {}
        self.routed_messages: RoutedMessages = {}

    def lost(self, link: LinkId) -> None:
        """removeLinkTo(n)"""
        self._manage_broken_link(link, self._config.unsubscription_timer)

    def gained(self, link: LinkId) -> None:
        """addLinkTo(n): SUB(p) for every filter in the table, which holds nothing of lost links."""
        self._routing.add_link(link)  # [2]

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """This protocol does not look at how a lost and a new link belong together."""

    def abandoned(self, rid: LinkId) -> None:
        """Nor at what the tree tries: the timer runs."""

    def _manage_broken_link(self, link: LinkId, wait: float, leaf_too: bool = False) -> None:
        """manageBrokenLink(n, rId): move the link's entries from the table to `pending`.

        A leaf dispatcher has nobody to send unsubscriptions to, and nothing to defer."""
        leaf = all(other == link for other in self._routing.links)
        self._routing.remove_link(link, keep=leaf_too or not leaf)
        kept = len(self._routing.kept(link))
        if not kept or link in self._pending:
            return
        if len(self._pending) >= MAX_PENDING:
            self._process_pending(next(iter(self._pending)), "timer")
        self._env.record("unsubscriptions_deferred", rid=str(link), filters=kept)
        self._pending[link] = Pending(self._env.now(), self._start(link, wait))  # [1]

    def _start(self, rid: LinkId, wait: float) -> Timer:
        return self._env.call_later(wait, lambda: self._process_pending(rid, "timer"))

    def _restart(self, rid: LinkId) -> None:
        """Let T_u run, counted from the loss, in place of another time."""
        pending = self._pending.get(rid)
        if pending is not None:
            pending.timer.cancel()
            left = pending.since + self._config.unsubscription_timer - self._env.now()
            self._pending[rid] = pending._replace(timer=self._start(rid, max(left, 0.0)))

    def _process_pending(self, rid: LinkId, cause: str) -> None:
        """unsubTimerExpires(n, rId): processUnsubFrom(n, p) for every <n, p> of pending[rId]."""
        pending = self._pending.pop(rid, None)
        if pending is None:
            return
        pending.timer.cancel()
        self._env.record("unsubscriptions_processed", rid=str(rid), cause=cause)
        self._routing.let_go(rid)  # [3]
