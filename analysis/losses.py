"""Why an event did not come: the way it should have taken through the tree, and where it ended.

The rules are in docs/analysis.md. The way is the path between publisher and subscriber over the tree
links that were open at both of their ends when the event was published. The first host on it that
shows no sign of the event tells the reason. Without a tree there is no such path: what the radio could have
brought and did not, the radio lost.
"""
from __future__ import annotations

import math
from typing import NamedTuple

from analysis.delivery import Outcome
from analysis.devices import Attached
from analysis.event import SIGNS, TOLD, Event, Published
from analysis.expected import Pair
from analysis.routes import Hop
from analysis.run import Rules

REASONS = {  # what each says; docs/analysis.md has the rules
    "partitioned": "no path over space and time led from publisher to subscriber before the deadline",
    "repairing": "there was no path in the tree, or a link of it broke",
    "stale_route": "a node on the way did not know where to send the event",
    "overflow": "a queue on the way was full, or the client read too slowly",
    "radio": "sent over a link and not received",
    "node_down": "the publisher's host went down before the deadline",
    "late": "delivered after the deadline",
    "handoff": "a client that roams had no broker, or moved too soon",
}
# The node's word when it gives an event up on its way over a link, in `event_dropped`.
DROPS = {
    "overflow": ("overflow", "a queue on the way was full"),
    "link_lost": ("repairing", "a link broke while it carried the event"),
    "hops": ("stale_route", "it reached the limit of hops: it went in a circle"),
}
# Why a broker gave up what it held for a device, in `buffer_dropped`; any other reason ended the device's session.
GIVEN_UP = {
    "bytes": "a broker's buffer for the client was full",
    "age": "it waited longer for the client than client_age",
    "expired": "the client was away for longer than client_age",
}
Why = tuple[str, str]  # the reason, and in words


class Loss(NamedTuple):
    """Why a pair was lost, and the hop where, if there is one."""

    reason: str
    detail: str
    near: int | None
    far: int | None


class Signs:
    """What records tell of the way of one event."""

    def __init__(self, event: Event) -> None:
        self.seen = {record[TOLD[kind].index("node")] for kind in SIGNS for record in event.of(kind)}  # hosts it came to
        self.queued = {(near, link) for near, _, to in event.of("forwarded") for link in to}
        self.dropped = {(near, link): reason for _, near, link, reason in sorted(event.of("event_dropped"), reverse=True)}
        self.unread = set(event.of("undelivered"))  # (node, client)
        self.refused = bool(event.of("refused"))  # the publisher's own node turned it away
        self.given_up = {device: reason for _, _, device, reason in sorted(event.of("buffer_dropped"), reverse=True)}
        self.unsent = bool(event.of("publication_dropped"))

    def broken(self, path: list[Hop] | None) -> Hop | None:
        """The first hop whose far host shows no sign of the event: where it ended."""
        return next((hop for hop in path or () if hop.far not in self.seen), None)


class Losses:
    """Tells why pairs were lost."""

    def __init__(self, run: Rules, closures: dict[str, float], attached: Attached | None) -> None:
        """closures: link -> when its first end closed it (s). attached: of the clients that roam, if any do."""
        self._run, self._closures, self._attached = run, closures, attached

    def why(self, event: Published, signs: Signs, pair: Pair, outcome: Outcome, path: list[Hop] | None) -> Loss:
        """Of a pair that was not delivered in time, though its host was up. `path`: through the tree, None if there is none."""
        hop = None if self._run.treeless else signs.broken(path)
        why = self._anywhere(signs, pair, outcome)
        if why is None and self._run.treeless:
            why = self._without_tree(signs, outcome)
        if why is None and self._attached is not None:
            why = self._handoff(event, signs, pair, hop, self._attached)
        if why is None:
            why = self._no_path(outcome) if path is None else self._in_tree(event, signs, pair, hop)
        return Loss(*why, *(hop[:2] if hop else (None, None)))

    def _anywhere(self, signs: Signs, pair: Pair, outcome: Outcome) -> Why | None:
        """The rules that come first, with a tree or without."""
        if outcome.source_down:
            return "node_down", "the publisher's host went down"
        if self._run.radio_known and outcome.bound is None:
            return "partitioned", "no path before the deadline"
        if outcome.delivered is not None:
            return "late", "delivered after the deadline"
        if (pair.node, pair.client) in signs.unread:
            return "overflow", "the client read too slowly, and its node had no room for the event"
        return None

    def _without_tree(self, signs: Signs, outcome: Outcome) -> Why:
        if signs.refused:
            return "overflow", "the event is too large for a broadcast"
        if self._run.radio_known and not outcome.connected:
            return "radio", "hosts not connected when it was published; only carrying would have helped"
        return "radio", "no broadcast came through"

    def _handoff(self, event: Published, signs: Signs, pair: Pair, hop: Hop | None, devices: Attached) -> Why | None:
        """What the moves of clients explain, before the tree is asked."""
        given_up = signs.given_up.get(pair.node)
        if given_up is not None:
            return "handoff", GIVEN_UP.get(given_up, "a broker ended the client's session")
        if signs.unsent:
            return "handoff", "the publisher gave it up before a broker had it"
        at = event.at
        if event.source in devices.ids and devices.until(event.source, at) is None:
            return "handoff", "the publisher was attached to no broker"
        if pair.node in devices.ids:
            until = devices.until(pair.node, at)
            if until is None:
                return "handoff", "the client was attached to no broker when it was published"
            if until < at + self._run.deadline:
                return "handoff", "the client moved before the deadline"
        if hop is not None and hop.link.startswith("@") and hop.far == pair.node:
            return "handoff", "its broker did not deliver it"
        return None

    def _no_path(self, outcome: Outcome) -> Why:
        if not self._run.radio_known:
            return "repairing", "publisher and subscriber in different trees"
        if not outcome.connected:
            return "repairing", "hosts not connected when it was published; only carrying would have helped"
        return "repairing", "hosts connected by radio, but in different trees"

    def _in_tree(self, event: Published, signs: Signs, pair: Pair, hop: Hop | None) -> Why:
        if hop is None:
            return "stale_route", "it reached the subscriber's host and was not delivered"
        dropped = signs.dropped.get((hop.near, hop.link))
        if dropped in DROPS:
            return DROPS[dropped]
        sent = (hop.near, hop.link) in signs.queued
        closed = self._closures.get(hop.link, math.inf) <= event.at + self._run.deadline
        if sent and closed:
            return "repairing", "a link broke while it carried the event"
        if sent and hop.far == pair.node:
            return "radio", "sent over the last link, but did not arrive in time"
        if sent and not self._run.retransmits:
            return "radio", "sent once over a link, and not seen beyond it"
        if sent:
            return "stale_route", "a host on the way had no route onward"
        if closed:
            return "repairing", "a link broke before the event reached it"
        return "stale_route", "a host on the way did not know that it was wanted"
