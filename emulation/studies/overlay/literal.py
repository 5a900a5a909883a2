"""The papers' figures to the letter, where the node remembers more than they do.

cugola-frey-murphy-picco-dynamic-topology, figures 2 and 7. The node remembers what each neighbor was told and sends only
what changes that. The figures remember nothing: who is told what follows from how many subscribers of the pattern are in
`subTab` at that moment. Entries of a lost link are out of it, so a subscription that comes back over the new path is a
first one again, and goes to all neighbors, who have it; and an unsubscription goes to neighbors that were never told.
Receivers pass over both, so tables come out the same and only the count of messages differs. What the figures leave
open and the node decides otherwise stays the node's: entries belong to a link's incarnation, not to the neighbor.

`entries = "kept"` is another reading of the lost figure 9: the entries of a lost link stay in `subTab` until FLUSH or the
timer has them processed. Figure 2's rule then does all the rest, and figure 9's P is not empty where an old end is a new
end too.

`flush = "none"`: informed link activation (figure 9) on its two timers alone.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from node import reconcile, wire
from node.event import AnyEvent
from node.filters import Filter
from node.ids import LinkId
from node.reconcile import Everything, Routing
from node.reconcile.informed import Informed
from node.routing.forwarding import SubscriptionForwarding
from node.routing.strategy import Surroundings
from node.routing.table import FilterHash, Hop
from node.routing.told import Told
from node.seams import Channels


class Literal(SubscriptionForwarding):
    """Subscription forwarding by counting, as figures 2 and 7 have it; for strawman, timed, notified and informed."""

    stays = False  # whether the entries of a lost link stay in the table while they wait

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._moving = False  # entries go from the table to `pending`: nobody is told

    # ---- a link goes, figure 7's manageBrokenLink and unsubTimerExpires --------------------------------
    def remove_link(self, link: LinkId, keep: bool = False) -> None:
        self._moving = keep
        super().remove_link(link, keep)
        self._moving = False

    def let_go(self, lost: LinkId, flush: bool = True) -> None:
        """processUnsubFrom(n, p) for every <n, p> of pending[rId]."""
        for key in self.holding.let_go(lost):
            if self.stays:
                self.leave(lost, key)
            else:
                self._withdraw(key)
        if flush:
            self.flush()

    def _withdraw(self, key: FilterHash) -> None:
        """The end of figure 2's processUnsubFrom, whose entry is out of the table already."""
        hops = self.table.hops_of(key)
        if not hops:
            for link, state in self.links.items():
                self.less_wanted(link, state, key)
        elif len(hops) == 1 and (only := next(iter(hops))) in self.links:
            self.less_wanted(only, self.links[only], key)

    def leave(self, hop: Hop, key: FilterHash) -> bool:
        return False if self._moving and self.stays else super().leave(hop, key)

    # ---- a link comes -------------------------------------------------------------------------------
    def release(self, link: LinkId, still: Iterable[FilterHash] = ()) -> None:
        """Figure 9's steps 4 and 7: `still` are its taggedSubs, and nothing else is held back."""
        held = self.holding.release(link)
        state = self.links.get(link)
        if state is None:
            return
        still = set(still)
        for key in [key for key, _ in self.table] if isinstance(held, Everything) else sorted(held):
            if key not in still and self.is_wanted(link, key):
                self.more_wanted(link, state, key, self.table.filter(key))
        self.holding.hold(link, still)
        self.flush()

    # ---- what a change of the table makes of it: a message, whatever was told before --------------------
    def more_wanted(self, link: LinkId, state: Told, key: FilterHash, wanted: Filter, since: float | None = None) -> None:
        if not self._silent(link):
            state.to_sub[key] = wanted
            self.unsent[link] = state

    def less_wanted(self, link: LinkId, state: Told, key: FilterHash) -> None:
        if not self._moving and not self._silent(link):
            state.to_unsub[key] = None
            self.unsent[link] = state

    def wanted_here(self, key: FilterHash, wanted: Filter, since: float | None) -> None:
        """Figure 9 holds back what is tagged, whoever wants it."""

    def _silent(self, link: LinkId) -> bool:
        """Before ACTIVATE the paper's new link is not there."""
        return self.holding.holds_everything(link)

    # ---- events ---------------------------------------------------------------------------------------
    def next_hops(self, event: AnyEvent, arrival: LinkId | None) -> tuple[list[LinkId], list[str]]:
        links, clients = super().next_hops(event, arrival)
        return [link for link in links if link in self.links] if self.stays else links, clients


class Staying(Literal):
    stays = True


class WithoutFlush:
    """Channels for figure 9 without its steps 5 and the FLUSH of 6: nobody is told that the subscriptions have come; T_u
    has to outlast them."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self.sent_position, self.received_position = channels.sent_position, channels.received_position

    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        if type(message) is not wire.Flush:
            self._channels.send(links, message)


def on_timers(around: reconcile.Surroundings[Routing]) -> Informed:
    return Informed(around._replace(channels=WithoutFlush(around.channels)))
