"""What reconcilers have told later, or withdrawn later, than wanted against told would (forwarding.py).

cugola-frey-murphy-picco-dynamic-topology, section IV. Three exceptions: filters *held back* on a new link, filters *kept* of a
lost one, and filters *assumed* of a link before its far end knows, whose UNSUB is older than that knowledge. This part
remembers them. It knows no table and sends nothing; what follows from them is the routing's to do.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from node.filters import Filter
from node.ids import LinkId
from node.reconcile import Everything
from node.routing.table import FilterHash


class Holding:
    """All exceptions of a node. `back` is read where each filter passes."""

    def __init__(self) -> None:
        self.back: dict[LinkId, set[FilterHash] | Everything] = {}  # not told to this link for now
        self.kept: dict[LinkId, Mapping[FilterHash, Filter]] = {}  # of this lost link: not withdrawn yet
        # link -> reconfiguration -> filters assumed of it
        self.assumed: dict[LinkId, dict[LinkId, frozenset[FilterHash]]] = {}

    def forget(self, link: LinkId) -> None:
        """The link is closed."""
        self.back.pop(link, None)
        self.assumed.pop(link, None)

    # ---- held back on a link --------------------------------------------------------------------
    def hold(self, link: LinkId, keys: Iterable[FilterHash] | Everything) -> None:
        held = keys if isinstance(keys, Everything) else set(keys)
        if held:
            self.back[link] = held

    def holds_everything(self, link: LinkId) -> bool:
        """Or everything of others."""
        return isinstance(self.back.get(link), Everything)

    def release(self, link: LinkId) -> set[FilterHash] | Everything:
        """What was held back; from now on nothing is."""
        return self.back.pop(link, set())

    def no_more_wanted(self, link: LinkId, key: FilterHash) -> None:
        """Whoever wants the filter anew wants it told."""
        held = self.back.get(link)
        if held and not isinstance(held, Everything):
            held.discard(key)

    # ---- kept of a lost link ----------------------------------------------------------------------
    def keep(self, lost: LinkId, filters: Mapping[FilterHash, Filter]) -> None:
        if filters:
            self.kept[lost] = filters

    def keeps(self, key: FilterHash) -> bool:
        return any(key in filters for filters in self.kept.values())

    def let_go(self, lost: LinkId) -> Iterable[FilterHash]:
        """What was kept of the link; from now on nothing is."""
        return self.kept.pop(lost, {})

    # ---- assumed of a link --------------------------------------------------------------------------
    def assume(self, link: LinkId, keys: Iterable[FilterHash], rid: LinkId) -> None:
        self.assumed.setdefault(link, {})[rid] = frozenset(keys)

    def assured(self, link: LinkId, rid: LinkId) -> None:
        """The far end of the link knows what this reconfiguration assumed of it."""
        of = self.assumed.get(link, {})
        of.pop(rid, None)
        if not of:
            self.assumed.pop(link, None)

    def assumed_of(self, link: LinkId) -> frozenset[FilterHash]:
        of = self.assumed.get(link)
        return frozenset().union(*of.values()) if of else frozenset()
