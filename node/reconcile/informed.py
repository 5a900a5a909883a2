"""Informed link activation: the old ends tell the new ends which filters the new link need not hear of.

cugola-frey-murphy-picco-dynamic-topology, section IV-B; figure 9 is lost, its steps are in the prose:
[1] a lost link is handled as in timed.py; T_u starts. When the tree names the link that replaces it,
[2] each old end sends ACTIVATE(rId, P) to the new end of its own side, P = the filters that were wanted
towards the lost neighbor only. On ACTIVATE the new end [3] starts T_s, [4] tells the new link every filter
that is local or not in P (the others are its taggedSubs) and [5] sends FLUSH(rId) behind. [6] FLUSH or T_u
makes an old end process `pending[rId]`. [7] When T_s expires, every tagged filter that is still in the table
is told. The timers should satisfy (1): T_u + t_prop < T_s + t_rep.

The paper's link is not there before ACTIVATE. Ours is, and may carry what the far end tells already; until
ACTIVATE it is told nothing. Over radio ACTIVATE may never come: after `activate_wait` the new end goes on
with an empty P, as it does at once where it was an old end itself (the entries of the lost link are no
longer in its table) or where no path is known that ACTIVATE could take; which of these it was is recorded.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from node import wire
from node.environment import Timer
from node.ids import LinkId
from node.memory import Memory
from node.reconcile import EVERYTHING, OLD_ENDS, Path, Routing, Surroundings, crossing
from node.reconcile.notified import Notified, Replacement
from node.routing.table import FilterHash

WORDS = 64  # reconfigurations whose ACTIVATE came before the link opened
ROOM = 1080  # bytes of a datagram for the route and the hashes of an ACTIVATE
ID, HASH = 5, 9  # bytes of one of each at most


class Waiting(NamedTuple):
    """A new link that is told nothing yet."""

    replacement: Replacement
    timer: Timer


class Informed(Notified):
    def __init__(self, around: Surroundings[Routing]) -> None:
        super().__init__(around)
        self._waiting: dict[LinkId, Waiting] = {}  # by the new link
        self._tagged: dict[LinkId, Timer] = {}  # by the new link: T_s
        self._overtaken: Memory[LinkId, list[FilterHash]] = Memory(WORDS)  # P of what FLUSH made an old end process
        # rid -> part -> P; part -1 once it is complete
        self._words: Memory[LinkId, dict[int, tuple[FilterHash, ...]]] = Memory(WORDS)
        self.routed_messages |= {wire.InformedActivate: self._activate_received}

    def lost(self, link: LinkId) -> None:
        waiting, tagged = self._waiting.pop(link, None), self._tagged.pop(link, None)
        if waiting is not None:
            waiting.timer.cancel()
        if tagged is not None:
            tagged.cancel()
        super().lost(link)  # [1]

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """substituteLinkTo(n, new link)"""
        super().replaced(rid, lost, new, path, role)
        if role in OLD_ENDS and path is not None:
            self._inform(rid, new, path)

    def gained(self, link: LinkId) -> None:
        replacement = self._announced.pop(link, None)
        if replacement is None:
            super().gained(link)
            return
        self._await(link, replacement, self._config.activate_wait)
        if replacement.path is None:
            self._activate(link, (), "no_path")
        elif self._me in replacement.rid[:2]:
            self._activate(link, (), "shared")
        else:
            self._try_words(replacement.rid)

    # ---- the old end ------------------------------------------------------------------------------
    def _inform(self, rid: LinkId, new: LinkId, path: Path) -> None:
        """[2] at an old end; nothing to send where it is a new end too."""
        turn = crossing(path, new)
        if turn is None or self._me not in (path[0], path[-1]):
            self._station.dropped("bad_path")
            return
        route = path[:turn + 1] if self._me == path[0] else path[:turn:-1]
        if len(route) == 1:
            return
        only = self._overtaken.pop(rid, None) or self._only(rid)
        size = min((ROOM - ID * len(route)) // HASH, 256)
        pieces = [tuple(only[i:i + size]) for i in range(0, len(only), size)] or [()]
        for part, piece in enumerate(pieces):
            self._courier.send(route, wire.InformedActivate(rid, part, len(pieces), piece))

    def _only(self, rid: LinkId) -> list[FilterHash]:
        """P: what is wanted towards the lost neighbor only."""
        hops_of = self._table.hops_of
        return [wanted.hash for wanted in self._routing.kept(rid) if not hops_of(wanted.hash)]

    def _process_pending(self, rid: LinkId, cause: str) -> None:
        """[6]; over radio FLUSH may come before the tree names the new link, ACTIVATE before the UNSUBs."""
        only = self._only(rid) if cause == "flush" else None
        super()._process_pending(rid, cause)
        if only:
            self._overtaken.remember(rid, only)

    # ---- the new end ------------------------------------------------------------------------------
    def _activate_received(self, route: Path, message: wire.InformedActivate) -> None:
        rid = LinkId(*message.rid)
        if route[0] not in rid[:2] or not message.part < message.parts:
            self._station.dropped("bad_path")
            return
        word = self._word_of(rid)
        word[message.part] = message.filters
        if len(word) >= message.parts:
            word[-1] = ()  # complete
            self._try_words(rid)

    def _word_of(self, rid: LinkId) -> dict[int, tuple[FilterHash, ...]]:
        """The parts of an ACTIVATE that are here; of too many reconfigurations, the one heard of longest ago is
        forgotten."""
        word = self._words.get(rid, {})
        self._words.remember(rid, word)
        return word

    def _try_words(self, rid: LinkId) -> None:
        """Activate the link that waits for this ACTIVATE, when both are here."""
        if -1 not in self._words.get(rid, ()):
            return
        for link, waiting in self._waiting.items():
            if waiting.replacement.rid == rid:
                word = self._words.pop(rid)
                self._activate(link, [key for piece in word.values() for key in piece], "informed")
                return

    def _await(self, link: LinkId, replacement: Replacement, wait: float) -> None:
        """Tell the new link nothing until ACTIVATE comes, or the wait is over."""
        old = self._waiting.get(link)
        if old is not None:
            old.timer.cancel()
        timer = self._env.call_later(wait, lambda: self._activate(link, (), "timeout"))
        self._waiting[link] = Waiting(replacement, timer)
        self._routing.add_link(link, EVERYTHING)

    def _activate(self, link: LinkId, only: Iterable[FilterHash], cause: str) -> None:
        """On ACTIVATE(rId, P): steps 3 to 5."""
        waiting = self._waiting.pop(link, None)
        if waiting is None:
            return
        waiting.timer.cancel()
        rid = waiting.replacement.rid
        tagged = [key for key in only if self._routing.is_wanted(link, key) and not self._is_local(key)]
        self._env.record("link_activated", rid=str(rid), link=str(link), held=len(tagged), cause=cause)
        if tagged:
            self._tagged[link] = self._env.call_later(  # [3]
                self._config.subscription_timer, lambda: self._subscription_timer_expires(link))
        self._begin_flush(rid)
        self._routing.release(link, still=tagged)  # [4]
        self._send_flush(link, waiting.replacement)  # [5]

    def _is_local(self, key: FilterHash) -> bool:
        return any(type(hop) is str for hop in self._table.hops_of(key))

    def _subscription_timer_expires(self, link: LinkId) -> None:
        """[7]: SUB for every tagged filter that is still in the table."""
        del self._tagged[link]
        self._env.record("subscriptions_released", link=str(link))
        self._routing.release(link)
