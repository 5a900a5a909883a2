"""FIFO links, virtual time and the loop that everything in a run of the overlay goes through.

cugola-frey-murphy-picco-dynamic-topology, section V-A: links of 10 Mbit/s, error-free unless a rate is given at which they
lose events. A message takes its size over the bandwidth, behind what was sent before it in the same
direction; messages under way when their link breaks are lost. Out-of-band messages (ACTIVATE, the answers of recovery) go as
over a link of their own. Of recovery nothing is repeated, so what links lose of it is lost.

Every action has a cause, the reconfiguration that it comes from or -1: it is inherited by the messages that
are sent and the timers that are set meanwhile, so overlapping reconfigurations can be told apart.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from emulation.studies.overlay.sizes import SINGLE, numbers, patterns
from node import wire
from node.ids import LinkId
from node.seams import LinkMessages

MOST = 50_000_000  # actions in a run: more is a storm
INVOLVING = (wire.Sub, wire.Unsub, wire.SubFlush, wire.Rec, wire.Snapshot)  # section V-C.5


class Storm(RuntimeError):
    """Messages that do not end."""


class End:
    """A link as its sender sees it: one direction, one incarnation."""

    __slots__ = ("code", "free_at", "handlers", "link", "open", "receiver")

    def __init__(self, link: LinkId, receiver: int, handlers: LinkMessages, code: int) -> None:
        self.link = link
        self.receiver = receiver
        self.handlers = handlers  # of the receiver
        self.code = code
        self.open = True
        self.free_at = 0.0


class Timer:
    """The node's port asks for it; its cause is that of whoever set it."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None

    def __call__(self) -> None:
        action, self.action = self.action, None
        if action is not None:
            action()


def loses(salt: int, link: int, rate: float) -> bool:
    """Whether what has this salt (64 random bits) is lost on this link: chance that no other draw moves, so that
    an event meets the same losses whatever is sent besides it. The mixing is SplitMix64's."""
    mixed = salt + link * 0x9E3779B97F4A7C15 & _BITS
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _BITS
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _BITS
    return (mixed ^ mixed >> 31) < rate * 2.0**64


_BITS = 2**64 - 1


Entry = tuple[float, int, End | None, Any, int]  # time, order, end or None, message or action, cause


class Network:
    """Time, the heap, and what was counted."""

    def __init__(self, bandwidth: float, pattern_bits: float, event_bits: float, control_bits: float,
                 number_bits: float = 32.0, loss: float = 0.0, chance: random.Random | None = None) -> None:
        self.time = 0.0
        self.loss = loss  # rate at which a link loses what is not repeated until it arrives
        self.cause = -1
        self.order = 0
        self.heap: list[Entry] = []
        self.ends: list[tuple[int, int]] = []  # by code: sender, receiver
        self.messages = 0  # over links and out of band
        self.events = 0  # of them EVENT
        self.sent: dict[str, list[int]] = {}  # message type -> [messages, patterns in them]
        self.recovery: dict[str, list[float]] = {}  # message type -> [messages, bits]; of TAGGED_EVENT those of its tags
        self.late: list[float] = []  # s that recovered events were late
        self.involved: dict[int, set[int]] = {}  # reconfiguration -> dispatchers
        self.event_time = event_bits / bandwidth
        self._pattern_time = pattern_bits / bandwidth
        self._control_time = control_bits / bandwidth
        self._bandwidth, self._event_bits, self._number_bits = bandwidth, event_bits, number_bits
        self._control_bits = control_bits
        self._chance = chance or random.Random(0)

    def call_at(self, time: float, action: Callable[[], None], cause: int) -> None:
        self.order += 1
        heappush(self.heap, (time if time > self.time else self.time, self.order, None, action, cause))

    def connect(self, link: LinkId, sender: int, receiver: int, handlers: LinkMessages) -> End:
        self.ends.append((sender, receiver))
        return End(link, receiver, handlers, len(self.ends) - 1)

    def account(self, message: wire.Message, copies: int) -> float:
        """Count a message that is no event; how long one copy takes on a link, in s. A SUB of several patterns
        counts as the paper counts, which sends one for each."""
        held = patterns(message)
        counts = self.sent.setdefault(message.name, [0, 0])
        single = held if type(message) in SINGLE else 1
        counts[0] += copies * single
        counts[1] += copies * held
        self.messages += copies * single
        return held * self._pattern_time or self._control_time

    def account_recovery(self, message: wire.Message, copies: int) -> float:
        """Count a message of recovery, or the tags of an event that was counted; how long one copy takes, in s."""
        bits = self._number_bits * numbers(message)
        if type(message) is not wire.TaggedEvent:
            self.messages += copies
            bits += self._control_bits + (self._event_bits if type(message) is wire.GossipAnswer else 0.0)
        counts = self.recovery.setdefault(message.name, [0, 0.0])
        counts[0] += copies
        counts[1] += copies * bits
        return bits / self._bandwidth

    def salt(self) -> int:
        """For `loses`: of a message that is not the same whatever algorithm runs."""
        return self._chance.getrandbits(64)

    def run(self, until: float) -> None:
        """All actions before `until`, by time and then in the order in which they were asked for."""
        heap = self.heap
        events, involving = wire.EVENTS, frozenset(INVOLVING)
        while heap:
            item = heappop(heap)
            time, order, end, what, cause = item
            if time >= until:
                heappush(heap, item)
                break
            self.time = time
            self.cause = cause
            if end is None:
                what()
            elif end.open:
                kind = type(what)
                if kind in events:
                    what[5].trail.append(end.code)
                elif kind in involving and cause >= 0:
                    self.involved[cause].add(end.receiver)
                end.handlers[kind](end.link, what)
        self.time = until
        if self.order > MOST:
            raise Storm(f"more than {MOST:,} actions by {self.time:.3f} s: messages that do not end")
