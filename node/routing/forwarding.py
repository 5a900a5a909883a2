"""Subscription forwarding as wanted against told, identity- or covering-based.

cugola-murphy-picco-mobile-environment, section 2; cugola-frey-murphy-picco-dynamic-topology,
section II-A and figure 2. For each link what should be told is a function of the table: the
filters of the local clients and of all other links (identity: the set; covering: its minimal
cover), less what a reconciler holds back on the link, plus what it does not withdraw yet. What
was told is remembered and the difference is sent, SUB before UNSUB. Figure 2's rule (the first
subscriber of a filter is told to all others, the second to the first) is what falls out of it:
a filter's hops change what is wanted only when they go from none to one, from one to two, or back.
So with identity the work is in proportion to the change. With covering a filter that comes is compared with
all that a link was told, and one that goes with the whole table, for what it stood for.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from node import wire
from node.event import AnyEvent
from node.filters import Filter, covers
from node.ids import LinkId, NodeId
from node.memory import Once
from node.reconcile import EVERYTHING, Everything
from node.routing.holding import Holding
from node.routing.recent import Recent
from node.routing.replay import Replay
from node.routing.resync import Resync
from node.routing.strategy import Strategy, Surroundings
from node.routing.table import MAX_FILTERS_PER_LINK, FilterHash, Hop, digest_of, parts
from node.routing.told import Told
from node.seams import Digest

MAX_UNSUB = 96  # hashes in one UNSUB, which then fits a datagram
MAX_DIGESTS = 16  # in a HELLO
MAX_REPAIRS = 64  # links known to replace others
REPAIR = 3.0  # s from the radio loss of a link until another one has taken its place, at most
AGO = 0.01  # s, the unit of `since` in messages
LONGEST_AGO = 65535


class SubscriptionForwarding(Strategy):
    """Besides what all strategies have: what tree neighbors were told. What reconcilers except from that is in `holding`,
    what heals a difference that is left in `resync`."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._covering = around.station.config.forwarding == "covering"
        self.holding = Holding()
        self._window = around.station.config.replay_window
        self._begun = -math.inf  # s; nothing was missed before
        self._repairs: Once[LinkId] = Once(MAX_REPAIRS)  # links that take the place of a lost one
        self._replay: Replay | None = None
        if self._window:
            self._recent = Recent(self._window)
            self._replay = Replay(self._env, around.channels, self._recent,
                                  lambda link, one: self._forward(one.event, None, [link], one.born))
        self.unsent: dict[LinkId, Told] = {}  # what `flush` sends
        self._rider: LinkId | None = None
        self._ridden: set[LinkId] = set()
        self._turn = 0
        self._resync = Resync(around.station, around.channels, self.table, self)
        self.link_messages |= {
            wire.Sub: self._sub_received,
            wire.Unsub: self._unsub_received,
            wire.Resync: self._resync.requested,
            wire.Snapshot: self._resync.snapshot_received,
        }

    def start(self) -> None:
        self._begun = self._env.now()

    # ---- links come and go: what reconcilers ask ------------------------------------------------
    def add_link(self, link: LinkId, held: Iterable[FilterHash] | Everything = ()) -> None:
        """A link opened: tell it all that is wanted, except the filters `held` back until `release`."""
        if link in self.links:
            return
        state = self.links[link] = Told(self._missed_since(link))
        self.holding.hold(link, held)
        if held is not EVERYTHING:
            for key, wanted in self.table:
                if self.is_wanted(link, key):
                    self.more_wanted(link, state, key, wanted, state.missed_since)
            self.flush()

    def replaces(self, link: LinkId) -> None:
        """This link, which is about to open, takes the place of one that was lost just now."""
        self._repairs.first_time(link)

    def _missed_since(self, link: LinkId) -> float | None:
        """From when on (s) the far end of a link that opens now may lack events of this side; None where nobody is asked."""
        if not self._window:
            return None
        window = min(REPAIR, self._window) if link in self._repairs else self._window
        return max(self._env.now() - window, self._begun)

    def remove_link(self, link: LinkId, keep: bool = False) -> None:
        """A link closed: its filters leave the table. With `keep`, what was told to others because
        of them is not withdrawn before `let_go(link)`."""
        if self.links.pop(link, None) is None:
            return
        self.holding.forget(link)
        self.unsent.pop(link, None)
        self._resync.forget(link)
        if self._replay is not None:
            self._replay.forget(link)
        filters = dict(self.table.filters_of(link))
        if keep:
            self.holding.keep(link, filters)
        for key in filters:
            self.leave(link, key)
        self.flush()

    def release(self, link: LinkId, still: Iterable[FilterHash] = ()) -> None:
        """Tell the link what was held back on it and is still wanted, except what is `still` held."""
        held = self.holding.release(link)
        state = self.links.get(link)
        if state is None:
            return
        self.holding.hold(link, still)
        for key in [key for key, _ in self.table] if isinstance(held, Everything) else sorted(held):
            if self.is_wanted(link, key):
                self.more_wanted(link, state, key, self.table.filter(key), state.missed_since)
        self.flush()

    def holds_back(self, link: LinkId) -> bool:
        return bool(self.holding.back.get(link))

    def kept(self, lost: LinkId) -> tuple[Filter, ...]:
        """What a lost link wanted and is not withdrawn yet."""
        return tuple(self.holding.kept.get(lost, {}).values())

    def let_go(self, lost: LinkId, flush: bool = True) -> None:
        """Withdraw what was kept of a lost link, where nobody wants it any more."""
        for key in self.holding.let_go(lost):
            for link, state in self.links.items():
                if key in state.filters and not self.is_wanted(link, key):
                    self.less_wanted(link, state, key)
        if flush:
            self.flush()

    # ---- the steps of a reconfiguration path (node/reconcile/path.py); `flush` ends them ---------------
    def assume(self, link: LinkId, filters: Iterable[Filter], rid: LinkId) -> None:
        """Enter these as if the link's far end had told them, before it knows, and as if it had asked for what it may have
        missed. Its UNSUBs of them are older than that knowledge and do not count before `assured`."""
        filters = list(filters)
        if link in self.links:
            self.holding.assume(link, (wanted.hash for wanted in filters), rid)
            since = self._missed_since(link)
            self.replay(link, [wanted for wanted in filters if self.enter(link, wanted, since)], since)

    def assured(self, link: LinkId, rid: LinkId) -> None:
        """The far end of the link knows what was assumed of it."""
        self.holding.assured(link, rid)
        if link in self.links:
            self._resync.changed(link)

    def was_assumed(self, link: LinkId, filters: Iterable[Filter]) -> None:
        """The other side of `assume`: the link's far end counts these as told. What is not wanted of them
        must be withdrawn by `prune`, once whatever makes them wanted is done."""
        state = self.links.get(link)
        if state is None:
            return
        for wanted in filters:
            if wanted.hash not in state.filters:
                state.filters[wanted.hash] = wanted
                state.digest ^= digest_of(wanted.hash)

    def prune(self, link: LinkId) -> None:
        """Withdraw all that the link was told and need not know."""
        state = self.links.get(link)
        if state is None:
            return
        for key in list(state.filters):
            if key in state.filters and not self.is_wanted(link, key):
                self.less_wanted(link, state, key)
        if self._covering:
            for key, told in list(state.filters.items()):
                if any(dominates(other, told) for other in state.filters.values()):
                    state.withdraw(key)
        self.unsent[link] = state

    def erase(self, link: LinkId, keys: Iterable[FilterHash]) -> None:
        """As an UNSUB of these would, without telling anyone yet."""
        assumed = self.holding.assumed_of(link)
        for key in keys:
            if key not in assumed:
                self.leave(link, key)
        if link in self.links:
            self._resync.changed(link)

    def take_withdrawn(self, link: LinkId, most: int) -> tuple[FilterHash, ...]:
        """What would now be withdrawn over the link by an UNSUB, to travel by another message instead."""
        state = self.links.get(link)
        if state is None:
            return ()
        keys = tuple(state.to_unsub)[:most]
        for key in keys:
            del state.to_unsub[key]
        return keys

    def mark(self, link: LinkId) -> None:
        """A message that changes what the link's far end holds was sent."""
        if link in self.links:
            self.links[link].position = self._channels.sent_position(link)

    def send_snapshot(self, link: LinkId, asked: bool = False) -> None:
        """All filters told over the link, whole, whatever the far end holds; `asked` for, not too often."""
        if asked:
            self._resync.asked(link)
        elif link in self.links:
            self._resync.send(link)

    def is_fenced(self, link: LinkId) -> bool:
        """Whether the far end does not know yet what was assumed of it."""
        return link in self.holding.assumed

    # ---- a FLUSH that rides on subscriptions (node/reconcile/flush.py) ----------------------------------
    def begin_ride(self, rid: LinkId) -> None:
        """From here on the last SUB on each link carries the FLUSH of this reconfiguration."""
        self._rider, self._ridden = rid, set()

    def end_ride(self) -> set[LinkId]:
        """On which links it went along."""
        self._rider = None
        ridden, self._ridden = self._ridden, set()
        return ridden

    # ---- local clients --------------------------------------------------------------------------
    def subscribe(self, client: str, wanted: Filter) -> None:
        self.enter(client, wanted)
        self.flush()

    def unsubscribe(self, client: str, key: FilterHash) -> None:
        self.leave(client, key)
        self.flush()
        if self._recovery is not None and not any(type(hop) is str for hop in self.table.hops_of(key)):
            self._recovery.unsubscribed(key)

    # ---- messages from tree neighbors -----------------------------------------------------------
    def _sub_received(self, link: LinkId, message: wire.Sub) -> None:
        self.subscribed(link, message.filters, message.since)

    def subscribed(self, link: LinkId, filters: Iterable[Filter], ago: int | None) -> None:
        """The far end of the link wants these, and what it may have missed since then, `ago` in AGO."""
        if link not in self.links:
            self._station.dropped("dead_link")
            return
        since = None if ago is None or not self._window else self._env.now() - min(ago * AGO, self._window)  # nobody has more
        filters = [wanted for wanted in filters
                   if self.enter(link, wanted, since) or link in self.table.hops_of(wanted.hash)]
        self._resync.changed(link)
        self.flush()
        self.replay(link, filters, since)

    def replay(self, link: LinkId, entered: Collection[Filter], since: float | None) -> None:
        """Send over the link what it has come to want and may have missed."""
        if self._replay is not None and since is not None and entered:
            self._replay.begin(link, entered, since)

    def _unsub_received(self, link: LinkId, message: wire.Unsub) -> None:
        if link not in self.links:
            self._station.dropped("dead_link")
            return
        self.erase(link, message.filters)
        self.flush()

    def digests_received(self, node: NodeId, digests: Sequence[Digest]) -> None:
        """The part of a neighbor's HELLO that states what it told over its links."""
        self._resync.digests_received(node, digests)

    def digests(self) -> list[Digest]:
        """For the next HELLO: (neighbor, nonce, channel position, digest of what it was told)."""
        me = self._me
        links = list(self.links.items())
        if len(links) > MAX_DIGESTS:  # a beacon has no room for all: take turns
            self._turn = (self._turn + MAX_DIGESTS) % len(links)
            links = (links + links)[self._turn:self._turn + MAX_DIGESTS]
        return [(link.far_end(me), link.nonce, state.position, state.digest.to_bytes(8, "big"))
                for link, state in links]

    # ---- events -----------------------------------------------------------------------------------
    def next_hops(self, event: AnyEvent, arrival: LinkId | None) -> tuple[list[LinkId], list[str]]:
        return self.table.match(event.attributes)

    # ---- the table, and what its changes make wanted -----------------------------------------------
    def enter(self, hop: Hop, wanted: Filter, since: float | None = None) -> bool:
        """Add an entry (no flush); False if it was there or the hop is full. `since`: from when on the hop may have missed
        events (s); whoever is told of the filter is told that, too."""
        key = wanted.hash
        hops = self.table.hops_of(key)
        if since is not None:
            self._ask(hop, key, wanted, since)
        if hop in hops:
            return False
        if type(hop) is LinkId and len(self.table.filters_of(hop)) >= MAX_FILTERS_PER_LINK:
            self._refuse(hop)
            return False
        before = len(hops)
        only = next(iter(hops)) if before == 1 else None
        self.table.add(hop, wanted)
        if self._recovery is not None and type(hop) is LinkId:
            self._recovery.told(hop, key)
        if before == 0:  # figure 2: the first subscriber
            for link, state in self.links.items():
                if link != hop:
                    self.more_wanted(link, state, key, wanted, since)
        elif before == 1 and only in self.links:  # figure 2: the second
            self.more_wanted(only, self.links[only], key, wanted, since)
        if before and type(hop) is str:
            self.wanted_here(key, wanted, since)
        return True

    def wanted_here(self, key: FilterHash, wanted: Filter, since: float | None) -> None:
        """A local client wants what others want, too: it is held back no more."""
        for link in [link for link in self.holding.back if link in self.links]:
            self.more_wanted(link, self.links[link], key, wanted, since)

    def _ask(self, hop: Hop, key: FilterHash, wanted: Filter, since: float) -> None:
        """Where others were told of the filter lately, or of one that stands for it, they are asked for what was before."""
        for link, state in self.links.items():
            if link == hop:
                continue
            told = [key] if key in state.filters else [
                other for other, one in state.filters.items() if dominates(one, wanted)] if self._covering else []
            for one in told:
                if state.ask(one, since):
                    self.unsent[link] = state

    def _refuse(self, link: LinkId) -> None:
        state = self.links[link]
        if not state.refused:  # once a link, or its far end could fill the log
            state.refused = True
            self._env.record("refused", what=f"filters over link {link}", limit=MAX_FILTERS_PER_LINK)

    def leave(self, hop: Hop, key: FilterHash) -> bool:
        """Take an entry out (no flush); False if it was not there."""
        known = self.table.remove(hop, key)
        if known is None:
            return False
        if self._recovery is not None and type(hop) is LinkId:
            self._recovery.withdrawn(known)
        hops = self.table.hops_of(key)
        if not hops:
            for link, state in self.links.items():
                if link != hop:
                    self.less_wanted(link, state, key)
        elif len(hops) == 1:
            only = next(iter(hops))
            if only in self.links:
                self.less_wanted(only, self.links[only], key)
        return True

    def replace(self, link: LinkId, filters: Iterable[Filter]) -> tuple[int, int]:
        """Make these the entries of a link; how many were added and removed."""
        new = {wanted.hash: wanted for wanted in filters}
        assumed = self.holding.assumed_of(link)  # older than what was assumed, like an UNSUB
        gone = [key for key in self.table.filters_of(link) if key not in new and key not in assumed]
        removed = sum(self.leave(link, key) for key in gone)
        since = self._missed_since(link)
        added = [wanted for wanted in new.values() if self.enter(link, wanted, since)]
        self.flush()
        self.replay(link, added, since)
        return len(added), removed

    def is_wanted(self, link: LinkId, key: FilterHash) -> bool:
        """Does any hop but this link want it?"""
        hops = self.table.hops_of(key)
        return len(hops) > (link in hops)

    def more_wanted(self, link: LinkId, state: Told, key: FilterHash, wanted: Filter, since: float | None = None) -> None:
        """The filter became wanted on the link."""
        held = self.holding.back
        if key in state.filters or held and self._is_held(link, key):
            return
        if self._covering:
            if any(dominates(told, wanted) for told in state.filters.values()):
                return
            for other in [k for k, told in state.filters.items() if dominates(wanted, told)]:
                state.withdraw(other)
        if since is None and held.get(link):  # it may stand for one that is held back, whose events were missed
            since = state.missed_since
        state.tell(key, wanted, self._env.now(), since)
        self.unsent[link] = state

    def _is_held(self, link: LinkId, key: FilterHash) -> bool:
        """Whether a reconciler holds the filter back: no filter of a local client, unless it holds everything."""
        held = self.holding.back.get(link, ())
        return key in held and (held is EVERYTHING or not self.table.is_local(key))

    def less_wanted(self, link: LinkId, state: Told, key: FilterHash) -> None:
        """The filter is no longer wanted on the link."""
        self.holding.no_more_wanted(link, key)
        if key not in state.filters or self.holding.keeps(key):
            return
        gone = state.filters[key]
        state.withdraw(key)
        self.unsent[link] = state
        if self._covering:
            for other, wanted in self.table:  # what it stood for must be told now
                if dominates(gone, wanted) and self.is_wanted(link, other):
                    self.more_wanted(link, state, other, wanted)

    # ---- sending the difference -----------------------------------------------------------------------
    def flush(self) -> None:
        """Send every link its difference: SUB before UNSUB, and equal ones as one message to several."""
        if not self.unsent:
            return
        subs: dict[tuple[int | None, tuple[FilterHash, ...]], tuple[list[LinkId], dict[FilterHash, Filter]]] = {}
        unsubs: dict[tuple[FilterHash, ...], list[LinkId]] = {}
        for link, state in self.unsent.items():
            told, since = state.take_subscriptions()
            if told:
                subs.setdefault((self._ago(since), tuple(told)), ([], told))[0].append(link)
            if state.to_unsub:
                unsubs.setdefault(tuple(state.to_unsub), []).append(link)
                state.to_unsub = {}
        sent, self.unsent = self.unsent, {}
        for (ago, _), (links, filters) in subs.items():
            pieces = list(parts(filters.values()))
            for part in pieces[:-1]:
                self._channels.send(links, wire.Sub(part, ago))
            if self._rider is None:
                self._channels.send(links, wire.Sub(pieces[-1], ago))
            else:
                self._channels.send(links, wire.SubFlush(pieces[-1], ago, self._rider))
                self._ridden.update(links)
        for keys, links in unsubs.items():
            for i in range(0, len(keys), MAX_UNSUB):
                self._channels.send(links, wire.Unsub(keys[i:i + MAX_UNSUB]))
        for link, state in sent.items():
            state.position = self._channels.sent_position(link)

    def _ago(self, since: float | None) -> int | None:
        """As messages have it."""
        return None if since is None else min(max(math.ceil((self._env.now() - since) / AGO), 0), LONGEST_AGO)


def dominates(f: Filter, g: Filter) -> bool:
    """f makes telling g needless: it covers g; of two that cover each other the lower hash counts."""
    return f is not g and covers(f, g) and (f.hash < g.hash or not covers(g, f))
