"""What a reconciliation protocol is: it hears the tree's notices and steers the routing.

cugola-frey-murphy-picco-dynamic-topology, sections III-B and IV. Subscription forwarding is
wanted against told (routing/forwarding.py): for each link what should be told is a function of
the table. A protocol changes only what is held back on a new link and how long the entries of a
lost link stay; it never touches the hops of local clients.

A protocol is one file beside its pseudo-code, a class without a base: strawman, timed, notified, informed, path.
What several of them do is a noun in a file of its own, which each of them has, and hands what is to be called when
something comes of it:

    pending      unsubscriptions of lost links that wait                 timed, notified, informed, path
    flush        FLUSH, behind the subscriptions of a new link           notified, informed, path
    old_end      what the end of a lost link tells of it: ACTIVATE       informed, path
    new_end      a link that is told nothing before ACTIVATE, and        informed, path
                 not all before T_s; has `words`, an ACTIVATE in parts
    reservation  a broker's turn in one reconfiguration path             path

All that they keep is keyed by the lost link's incarnation (`rid`) or by the new link's, and dies with it, so the same
neighbor back within a timer is another matter altogether.

What a protocol calls are its `Surroundings`, and nothing else.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from node.filters import Filter
from node.ids import LinkId, NodeId
from node.routing.table import FilterHash, SubscriptionTable
from node.seams import Channels, Host, LinkMessages, OffTree, RoutedMessages

# reconfiguration path: near old end, ..., near new end, far new end, ..., far old end
Path = tuple[NodeId, ...]

OLD_ENDS = ("old_near", "old_far")
NEW_ENDS = ("new_near", "new_far")
ANNOUNCED = 64  # links that are to open


class Replacement(NamedTuple):
    """What a link that is about to open stands for."""

    rid: LinkId
    path: Path | None


class Everything:
    """Holds every filter, also those yet to come."""

    def __init__(self, local: bool) -> None:
        """`local`: also those of local clients."""
        self.local = local

    def __contains__(self, key: FilterHash) -> bool:
        return True


EVERYTHING = Everything(local=True)
OTHERS = Everything(local=False)


class Links(Protocol):
    """What every routing does with links (node/routing/strategy.py): figure 2's two operations."""

    def add_link(self, link: LinkId, held: Iterable[FilterHash] | Everything = ()) -> None:
        """A link opened: tell it all that is wanted, except the filters `held` back until `release`."""

    def remove_link(self, link: LinkId, keep: bool = False) -> None:
        """A link closed: its filters leave the table. With `keep`, what was told to others because of them is not
        withdrawn before `let_go`."""


class Routing(Links, Protocol):
    """What subscription forwarding does for reconcilers besides; node/routing/forwarding.py says what each means."""

    @property
    def links(self) -> Mapping[LinkId, object]: ...
    def is_wanted(self, link: LinkId, key: FilterHash) -> bool: ...
    def release(self, link: LinkId, still: Iterable[FilterHash] = ()) -> None: ...
    def kept(self, lost: LinkId) -> tuple[Filter, ...]: ...
    def let_go(self, lost: LinkId, flush: bool = True) -> None: ...
    def subscribed(self, link: LinkId, filters: Iterable[Filter], ago: int | None) -> None: ...
    def flush(self) -> None: ...

    # a FLUSH that rides on subscriptions
    def begin_ride(self, rid: LinkId) -> None: ...
    def end_ride(self) -> set[LinkId]: ...

    # the steps of a reconfiguration path
    def assume(self, link: LinkId, filters: Iterable[Filter], rid: LinkId) -> None: ...
    def assured(self, link: LinkId, rid: LinkId) -> None: ...
    def was_assumed(self, link: LinkId, filters: Iterable[Filter]) -> None: ...
    def prune(self, link: LinkId) -> None: ...
    def erase(self, link: LinkId, keys: Iterable[FilterHash]) -> None: ...
    def take_withdrawn(self, link: LinkId, most: int) -> tuple[FilterHash, ...]: ...
    def mark(self, link: LinkId) -> None: ...
    def send_snapshot(self, link: LinkId, asked: bool = False) -> None: ...


R_co = TypeVar("R_co", bound=Links, covariant=True)


class Surroundings(NamedTuple, Generic[R_co]):
    """What a protocol may call. The table is the routing's: a protocol reads it."""

    station: Host
    channels: Channels
    courier: OffTree  # the papers' "out of band"; it may get lost
    routing: R_co
    table: SubscriptionTable


class Reconciler(Protocol):
    link_messages: LinkMessages
    routed_messages: RoutedMessages

    def lost(self, link: LinkId) -> None: ...
    def gained(self, link: LinkId) -> None: ...
    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: Path | None, role: str) -> None:
        """Link `new` takes the place of `lost`. `role` of this node: old_near (it seeks), old_far, new_near,
        new_far, on_path; one call for each of several. After `lost` at the old ends, before `gained` at the
        new ones."""

    def abandoned(self, rid: LinkId) -> None:
        """No link will take the place of this one."""


def crossing(path: Path, new: LinkId) -> int | None:
    """Where the path goes over the new link: index of the near new end; None if it does not."""
    for at in range(len(path) - 1):
        if {path[at], path[at + 1]} == {new.low, new.high}:
            return at
    return None
