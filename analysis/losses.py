"""Why an event did not come: the way it should have taken through the tree, and where it ended.

The rules are in docs/analysis.md. What the radio ruled out comes first. Then the way decides: the path between publisher
and subscriber over the tree links that their near ends held when the event was published. The first host on it that
shows no sign of the event tells the cause. Without a tree there is no such path: what the radio could have brought and
did not, the radio lost. What no record tells is `unknown`.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from analysis.delivery import Outcome
from analysis.devices import Attached
from analysis.event import SIGNS, TOLD, Event, Published
from analysis.expected import Pair
from analysis.fragments import Hop, Pieces
from analysis.run import Rules

REASONS = {  # what each says; docs/analysis.md has the rules
    "partitioned": "no path over space and time led from publisher to subscriber before the deadline",
    "apart": "the radio did not connect the two at publication, and later only a host that carried the event",
    "link_broke": "the tree looked whole, and a link on the way broke with the event or before it got there",
    "seeking": "it met a tree in pieces, in which a fragment was looking for a new parent",
    "unmerged": "the radio connected the two, but they were in two trees that had not merged",
    "stale_route": "a node on the way did not know where to send the event",
    "overflow": "a queue on the way was full, or the client read too slowly",
    "radio": "sent over a link and not received",
    "node_down": "the event's host went down with it, or the next one on its way was down",
    "late": "delivered after the deadline",
    "handoff": "a client that roams had no broker, or moved too soon",
    "unknown": "the records do not tell",
}
# The node's word when it gives an event up on its way over a link, in `event_dropped`.
DROPS = {
    "overflow": ("overflow", "a queue on the way was full"),
    "link_lost": ("link_broke", "a link broke while it carried the event"),
    "hops": ("stale_route", "it reached the limit of hops"),
}
# Why a broker gave up what it held for a device, in `buffer_dropped`; any other reason ended the device's session.
GIVEN_UP = {
    "bytes": "a broker's buffer for the client was full",
    "age": "it waited longer for the client than client_age",
    "expired": "the client was away for longer than client_age",
}
SPREAD = 2.0  # s after which a link that opened has told what is wanted beyond it; it is given up sooner if it cannot
REPORT = 1.0  # s between two reports of a world on its radio
LOOSE = ("stale_route", "radio", "unknown")  # what a client that left its broker explains better
Why = tuple[str, str]  # the reason, and in words
Span = tuple[float, float]  # s

NEXT_DOWN = "node_down", "the next host on its way was down"
WENT_DOWN = "node_down", "a host went down with it"
MISSING = "unknown", "records of a host on its way are missing"


class Loss(NamedTuple):
    """Why a pair was lost, and the hop where, if there is one."""

    reason: str
    detail: str
    near: int | None
    far: int | None


class Evidence(NamedTuple):
    """What the records of a run tell beside those that name events. Times in s."""

    closed: Mapping[tuple[int, str], float]  # (host, link) -> when that end closed it
    opened: Mapping[str, float]  # link -> when both ends held it
    held_back: Mapping[tuple[int, str], Span]  # (host, link) -> from when to when it did not tell the new link all
    ended: Mapping[int, float]  # host that lived on -> when its records end; -inf for one without records
    overflowed: Mapping[int, list[float]]  # host -> reports that its radio's queue had been full
    tables: bool  # whether events go only where tables say so


class Signs:
    """What records tell of the way of one event."""

    def __init__(self, event: Event) -> None:
        self.seen: dict[int, float] = {}  # hosts it came to, and when
        for kind in SIGNS:
            t, node = TOLD[kind].index("t"), TOLD[kind].index("node")
            for record in event.of(kind):
                self.seen[record[node]] = min(record[t], self.seen.get(record[node], math.inf))
        self.queued: dict[tuple[int, str], float] = {}  # (near, link) -> when first
        for at, near, _, to in sorted(event.of("forwarded"), key=lambda record: -record[0]):
            self.queued |= {(near, link): at for link in to}
        dropped = sorted(event.of("event_dropped"), reverse=True)
        self.dropped = {(near, link): (at, reason) for at, near, link, reason in dropped}
        self.unread = {(node, client) for _, node, client in event.of("undelivered")}
        self.refused = bool(event.of("refused"))  # the publisher's own node turned it away
        self.given_up = {device: reason for _, _, device, reason in sorted(event.of("buffer_dropped"), reverse=True)}
        self.unsent = bool(event.of("publication_dropped"))

    def broken(self, path: list[Hop] | None) -> int | None:
        """The place on the path of the first hop whose far host shows no sign of the event: where it ended."""
        return next((at for at, hop in enumerate(path or ()) if hop.far not in self.seen), None)


class Losses:
    """Tells why pairs were lost."""

    def __init__(self, run: Rules, evidence: Evidence, lived: Callable[[int, float, float], bool],
                 joined: Callable[[int, int, float], bool], pieces: Pieces, attached: Attached | None) -> None:
        """lived: whether a host was up from one time to another; joined: whether the radio led from one host to another
        at a time (s). attached: of the clients that roam, if any do."""
        self._run, self._evidence, self._attached = run, evidence, attached
        self._lived, self._joined, self._pieces = lived, joined, pieces

    def why(self, event: Published, signs: Signs, pair: Pair, outcome: Outcome, path: list[Hop] | None) -> Loss:
        """Of a pair that was not delivered in time, though its host was up. `path`: through the tree, None if there is none."""
        place = None if self._run.treeless else signs.broken(path)
        way = [] if place is None or path is None else path[place:]
        why = self._anywhere(event, signs, pair, outcome)
        if why is None and self._attached is not None:
            why = self._handoff(event, signs, pair, self._attached)
        if why is None and self._run.radio_known and not outcome.connected:
            why = "apart", "hosts not connected when it was published; only carrying would have helped"
        if why is None and self._run.treeless:
            why = self._without_tree(event, signs)
        if why is None:
            why = self._pieces.why(event.source, pair.node, event.at) if path is None else self._in_tree(event, signs, pair, way)
            if self._attached is not None:
                why = self._moved(event, pair, way, self._attached, why)
        return Loss(*why, *(way[0][:2] if way else (None, None)))

    def _anywhere(self, event: Published, signs: Signs, pair: Pair, outcome: Outcome) -> Why | None:
        """The rules that come first, with a tree or without."""
        if self._run.radio_known and outcome.bound is None:
            return "partitioned", "no path before the deadline"
        if outcome.delivered is not None:
            return "late", ("delivered after the deadline, by a replay, a recovery or a handoff" if outcome.recovered else
                            "delivered after the deadline, in its publisher's order")
        if (pair.node, pair.client) in signs.unread:
            return "overflow", "the client read too slowly, and its node had no room for the event"
        if outcome.source_down and not signs.queued and signs.seen.keys() == {event.source} and not self._run.treeless:
            return "node_down", "the publisher's host went down before anything took the event over"
        return None

    # ---- without a tree -----------------------------------------------------------------------------
    def _without_tree(self, event: Published, signs: Signs) -> Why:
        if signs.refused:
            return "overflow", "the event is too large for a broadcast"
        if signs.seen.keys() <= {event.source}:
            if self._radio_was_full(event.source, event.at):
                return "overflow", "the publisher's radio had a full queue"
            if not self._lived(event.source, event.at, event.at + REPORT):
                return WENT_DOWN
        return "radio", "no broadcast came through"

    def _radio_was_full(self, host: int, at: float) -> bool:
        return any(told - REPORT <= at <= told for told in self._evidence.overflowed.get(host, ()))

    # ---- clients that roam ----------------------------------------------------------------------------
    def _handoff(self, event: Published, signs: Signs, pair: Pair, devices: Attached) -> Why | None:
        """What the moves of clients explain, before the radio and the tree are asked."""
        given_up = signs.given_up.get(pair.node)
        if given_up is not None:
            return "handoff", GIVEN_UP.get(given_up, "a broker ended the client's session")
        if signs.unsent:
            return "handoff", "the publisher gave it up before a broker had it"
        if event.source in devices.ids and devices.until(event.source, event.at) is None:
            return "handoff", "the publisher was attached to no broker"
        if pair.node in devices.ids and devices.until(pair.node, event.at) is None:
            return "handoff", "the client was attached to no broker when it was published"
        return None

    def _moved(self, event: Published, pair: Pair, way: list[Hop], devices: Attached, why: Why) -> Why:
        """What the tree tells, unless the client had left its broker, or that had the event."""
        until = devices.until(pair.node, event.at) if pair.node in devices.ids else None
        if until is not None and until < event.at + self._run.deadline and why[0] in LOOSE:
            return "handoff", "the client moved before the deadline"
        if way and way[0].link.startswith("@") and way[0].far == pair.node:
            return "handoff", "its broker did not deliver it"
        return why

    # ---- with a tree ------------------------------------------------------------------------------------
    def _missing(self, host: int, until: float) -> bool:
        """Whether records of the host are missing that it would have made by then (s)."""
        return self._evidence.ended.get(host, math.inf) <= until

    def _in_tree(self, event: Published, signs: Signs, pair: Pair, way: list[Hop]) -> Why:
        """`way`: the path from the hop on where the event ended; empty if it came to the subscriber's host."""
        if not way:
            return "unknown", "it reached the subscriber's host, and no record says why it was not delivered"
        near, far, link = way[0]
        dropped = signs.dropped.get((near, link))
        if dropped is not None and dropped[1] in DROPS:
            at = signs.queued.get((near, link), dropped[0])
            return NEXT_DOWN if dropped[1] == "link_lost" and not self._lived(far, at, dropped[0]) else DROPS[dropped[1]]
        if self._missing(near, event.at + self._run.deadline) or self._missing(far, event.at + self._run.deadline):
            return MISSING
        sent = signs.queued.get((near, link))
        if sent is None:
            return self._not_sent(way, signs.seen[near])
        return (self._sent if self._run.retransmits else self._sent_once)(event, pair, way, sent)

    def _not_sent(self, way: list[Hop], at: float) -> Why:
        """`at`: when the event was at the near host (s)."""
        near, far, link = way[0]
        if self._evidence.closed.get((near, link), math.inf) <= at:
            return "link_broke", "a link broke before the event reached it"
        return self._unheard(way, at) or ("stale_route", "a host on the way did not know that it was wanted")

    def _unheard(self, way: list[Hop], at: float) -> Why | None:
        """Whether on this way a new link's far end did not tell all that is wanted beyond it."""
        held = (self._evidence.held_back.get((hop.far, hop.link), (0.0, -1.0)) for hop in way)
        if any(up <= at <= down for up, down in held):
            return "stale_route", "a host on the way had not heard that it was wanted: a reconciler held that back"
        return None

    def _sent(self, event: Published, pair: Pair, way: list[Hop], sent: float) -> Why:
        """Over a channel, which names all events that it drops: so it came, or was on its way still."""
        near, far, link = way[0]
        until = event.at + self._run.deadline
        if not self._lived(near, sent, until):
            return WENT_DOWN
        if far != pair.node:
            return self._unheard(way[1:], sent) or ("stale_route", "a host on the way had no route onward")
        if self._evidence.closed.get((near, link), math.inf) <= until:
            return "unknown", "it was sent over the last link and not dropped, and the subscriber's host says nothing of it"
        return "radio", "sent over the last link, but did not arrive in time"

    def _sent_once(self, event: Published, pair: Pair, way: list[Hop], sent: float) -> Why:
        near, far, link = way[0]
        if not self._lived(far, sent, sent):
            return NEXT_DOWN
        if self._run.radio_known and not self._joined(near, far, sent):
            return "link_broke", "sent over a link whose radio was gone"
        if not self._run.radio_known and min(self._evidence.closed.get((end, link), math.inf) for end in (near, far)) <= event.at + self._run.deadline:
            return "link_broke", "a link broke while it carried the event"
        if self._radio_was_full(near, sent):
            return "overflow", "sent once, and the radio's queue was full at that time"
        if not self._lived(near, sent, sent + REPORT):
            return WENT_DOWN
        known = all(self._evidence.opened.get(hop.link, math.inf) <= sent - SPREAD for hop in way) and not self._unheard(way, sent)
        if far == pair.node or known or not self._evidence.tables:
            return "radio", "sent once over a link, and not seen beyond it"
        return "unknown", "sent once over a link: lost in the air, or the host there had not heard yet where it was wanted"
