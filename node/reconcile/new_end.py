"""The end of a new link: the link is told nothing of others until ACTIVATE comes, and not all until T_s expires.

cugola-frey-murphy-picco-dynamic-topology, section IV-B. On ACTIVATE(rId, P) the new end [3] starts T_s, [4] tells the
new link every filter that is local or not in P (the others are its taggedSubs) and [5] sends FLUSH(rId) behind. [7]
When T_s expires, every tagged filter that is still in the table is told.

The paper's link is not there before ACTIVATE. Ours is, and may carry what the far end tells already; until
ACTIVATE it is told no filters but those of local clients, which are in no P (and with a path not even these, for REC may
move them). Over radio ACTIVATE may never come: when the wait is over, the new end goes on with an
empty P.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from node import wire
from node.environment import Timer
from node.ids import LinkId
from node.reconcile import EVERYTHING, Everything, Path, Replacement, Routing, Surroundings
from node.reconcile.flush import Flush
from node.reconcile.words import Words
from node.routing.table import FilterHash
from node.seams import RoutedMessages


class Waiting(NamedTuple):
    """A new link that is told nothing yet."""

    replacement: Replacement
    timer: Timer


class NewEnd:
    def __init__(self, around: Surroundings[Routing], flush: Flush) -> None:
        self._station, self._routing, self._table = around.station, around.routing, around.table
        self._env, self._config = around.station.env, around.station.config
        self._flush = flush
        self._waiting: dict[LinkId, Waiting] = {}
        self._tagged: dict[LinkId, Timer] = {}  # T_s
        self.words = Words()
        self.routed_messages: RoutedMessages = {wire.InformedActivate: self._activate_received}

    def __len__(self) -> int:
        """Links that are not told all yet."""
        return len(self._waiting) + len(self._tagged)

    def __contains__(self, link: LinkId) -> bool:
        """Whether the link is told nothing yet."""
        return link in self._waiting

    # ---- until ACTIVATE ---------------------------------------------------------------------------
    def wait(self, link: LinkId, replacement: Replacement, wait: float, held: Everything = EVERYTHING) -> None:
        """Tell the new link nothing of what is `held` until ACTIVATE comes, or the wait is over."""
        self.pause(link)
        timer = self._env.call_later(wait, lambda: self.activate(link, (), "timeout"))
        self._waiting[link] = Waiting(replacement, timer)
        self._routing.add_link(link, held)

    def pause(self, link: LinkId) -> None:
        """The wait has no end for now."""
        if link in self._waiting:
            self._waiting[link].timer.cancel()

    def resume(self, link: LinkId) -> None:
        """It has one again."""
        if link in self._waiting:
            self.wait(link, self._waiting[link].replacement, self._config.activate_wait)

    def forget(self, link: LinkId) -> None:
        """The link is lost."""
        self.pause(link)
        self._waiting.pop(link, None)
        tagged = self._tagged.pop(link, None)
        if tagged is not None:
            tagged.cancel()

    def tell_all(self, link: LinkId) -> None:
        """Without ACTIVATE, for all that it would hold back is known."""
        self.pause(link)
        self._waiting.pop(link, None)
        self._routing.release(link)

    # ---- ACTIVATE ---------------------------------------------------------------------------------
    def _activate_received(self, route: Path, message: wire.InformedActivate) -> None:
        rid = LinkId(*message.rid)
        if route[0] not in rid[:2] or not message.part < message.parts:
            self._station.dropped("bad_path")
        elif self.words.add(rid, message):
            self.listen(rid)

    def listen(self, rid: LinkId) -> None:
        """Activate the link that waits for this ACTIVATE, when both are here."""
        if not self.words.is_complete(rid):
            return
        for link, waiting in self._waiting.items():
            if waiting.replacement.rid == rid:
                self.activate(link, self.words.take(rid), "informed")
                return

    def activate(self, link: LinkId, only: Iterable[FilterHash], cause: str) -> None:
        """On ACTIVATE(rId, P): steps 3 to 5, if the link waits."""
        waiting = self._waiting.pop(link, None)
        if waiting is None:
            return
        waiting.timer.cancel()
        rid = waiting.replacement.rid
        tagged = [key for key in only if self._routing.is_wanted(link, key) and not self._table.is_local(key)]
        self._env.record("link_activated", rid=str(rid), link=str(link), held=len(tagged), cause=cause)
        if tagged:
            self._tagged[link] = self._env.call_later(  # [3]
                self._config.subscription_timer, lambda: self._subscription_timer_expires(link))
        self._flush.begin(rid)
        self._routing.release(link, still=tagged)  # [4]
        self._flush.send(link, waiting.replacement)  # [5]

    def _subscription_timer_expires(self, link: LinkId) -> None:
        """[7]: SUB for every tagged filter that is still in the table."""
        del self._tagged[link]
        self._env.record("subscriptions_released", link=str(link))
        self._routing.release(link)
