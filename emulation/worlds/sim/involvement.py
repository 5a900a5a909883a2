"""Which brokers a change of the tree involves, in `sim`: cugola-frey-murphy-picco-dynamic-topology, section V-C.5.

Involved in a reconfiguration are the ends of the lost and of the new link, and whoever receives SUB, UNSUB or REC
that it caused. Each notice of the tree has a cause: the lost link, or the new one of a merge or a join that replaces none.
What a broker sends and the timers it sets meanwhile inherit it, so overlapping reconfigurations are told apart as in
the overlay (emulation/studies/overlay/network.py). Nothing of it is on the wire: a message in a channel is known by the
position that both of its ends count, and what is relayed off the tree names its reconfiguration itself.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from node import wire
from node.broker import Broker
from node.config import NodeConfig
from node.environment import Environment, Timer
from node.ids import LinkId, NodeId
from node.links import Links
from node.station import Decode

INVOLVING = (wire.Sub, wire.Unsub, wire.SubFlush, wire.Rec, wire.Snapshot)


Cause = tuple[str, LinkId]  # ("lost", the link that was lost), or ("gained", a new one that replaces none)


class Involvement:
    """For one run: `broker` in place of Broker. `changes`: cause -> the brokers it involved; `began`: cause -> s."""

    def __init__(self) -> None:
        self.changes: dict[Cause, set[NodeId]] = {}
        self.began: dict[Cause, float] = {}
        self.cause: Cause | None = None  # of what is done at this moment
        self._replaces: dict[LinkId, LinkId] = {}  # new link -> lost link
        self._queued: dict[tuple[LinkId, NodeId, int], Cause] = {}  # link, sender, position in the channel

    def broker(self, node: NodeId, epoch: int, config: NodeConfig, env: Environment, decode: Decode) -> Broker:
        return _Watched(self, node, epoch, config, env, decode)

    def lost(self, since: float) -> list[int]:
        """How many brokers each link involved that was lost from `since` s on."""
        return [len(brokers) for cause, brokers in self.changes.items()
                if cause[0] == "lost" and self.began[cause] >= since]

    def under(self, cause: Cause | None, action: Callable[[], None]) -> None:
        """Do it in the name of `cause`."""
        before, self.cause = self.cause, cause
        try:
            action()
        finally:
            self.cause = before

    def begin(self, cause: Cause, time: float, link: LinkId) -> Cause:
        """The ends of `link` are involved from the first word on."""
        self.began.setdefault(cause, time)
        self.changes.setdefault(cause, set()).update(link[:2])
        return cause

    def gained(self, link: LinkId) -> Cause:
        return ("lost", self._replaces[link]) if link in self._replaces else ("gained", link)

    def replaced(self, lost: LinkId, new: LinkId) -> Cause:
        self._replaces[new] = lost
        return "lost", lost

    def queued(self, link: LinkId, sender: NodeId, position: int) -> None:
        if self.cause is not None:
            self._queued[link, sender, position] = self.cause

    def received(self, link: LinkId, sender: NodeId, position: int) -> Cause | None:
        return self._queued.pop((link, sender, position), None)


class _Port:
    """The node's port, whose timers inherit the cause."""

    def __init__(self, watch: Involvement, env: Environment) -> None:
        self.random, self.now, self.record = env.random, env.now, env.record
        self.broadcast, self.unicast = env.broadcast, env.unicast
        self._watch, self._call_later = watch, env.call_later

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        watch, cause = self._watch, self._watch.cause
        if cause is None:
            return self._call_later(delay, action)
        return self._call_later(delay, lambda: watch.under(cause, action))


class _Channels(Links):
    """Channels that note what is queued in them, once they have `watch`."""

    watch: Involvement

    def send(self, links: Sequence[LinkId], message: wire.Message) -> None:
        if type(message) is wire.Event:
            super().send(links, message)
            return
        before = [self.sent_position(link) for link in links]
        super().send(links, message)
        for link, position in zip(links, before):
            after = self.sent_position(link)
            if after != position:  # else it found no room
                self.watch.queued(link, self._me, after)


class _Watched(Broker):
    channels = _Channels

    def __init__(self, watch: Involvement, node: NodeId, epoch: int, config: NodeConfig, env: Environment,
                 decode: Decode) -> None:
        super().__init__(node, epoch, config, _Port(watch, env), decode)
        self._watch = watch
        if isinstance(self.links, _Channels):
            self.links.watch = watch

    # ---- what comes ----------------------------------------------------------------------------------
    def link_message(self, link: LinkId, message: wire.Message) -> None:
        watch, handle = self._watch, super().link_message
        if type(message) is wire.Event:
            handle(link, message)
            return
        cause = watch.received(link, link.far_end(self.me.node), self.links.received_position(link))
        if cause is not None and type(message) in INVOLVING:
            watch.changes[cause].add(self.me.node)
        watch.under(cause, lambda: handle(link, message))

    def routed_message(self, route: tuple[NodeId, ...], message: wire.Message) -> None:
        rid = getattr(message, "rid", None)
        cause = None if rid is None else ("lost", LinkId(*rid))
        handle = super().routed_message
        self._watch.under(cause if cause in self._watch.changes else None, lambda: handle(route, message))

    # ---- the tree's notices -----------------------------------------------------------------------------
    def gained(self, link: LinkId) -> None:
        handle = super().gained
        self._under(self._watch.gained(link), link, lambda: handle(link))

    def lost(self, link: LinkId, reason: str) -> None:
        handle = super().lost
        self._under(("lost", link), link, lambda: handle(link, reason))

    def replaced(self, rid: LinkId, lost: LinkId, new: LinkId, path: tuple[NodeId, ...] | None, role: str) -> None:
        handle = super().replaced
        self._under(self._watch.replaced(rid, new), new, lambda: handle(rid, lost, new, path, role))

    def abandoned(self, rid: LinkId) -> None:
        handle = super().abandoned
        self._under(("lost", rid), rid, lambda: handle(rid))

    def _under(self, cause: Cause, link: LinkId, action: Callable[[], None]) -> None:
        self._watch.under(self._watch.begin(cause, self.env.now(), link), action)
