"""Who is in radio reach of whom at this moment, and the truth about it for the analysis.

The sets are kept from the exact contacts of the movement (mobility), one change at a time, so
that their cost grows with the changes and not with hosts squared. Cut links and hosts that are
down take pairs out. Every change of a direction is recorded as radio_up or radio_down.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

import numpy as np

from emulation.propagation import LINK_EXISTS, LogDistance, UnitDisk
from emulation.scheduler import Scheduler
from mobility import Movement

TRUTH_INTERVAL = 0.5  # s between two looks at links whose quality varies


class Neighborhood:
    """Who hears whom, by position and faults; `of[host]` is an ordered tuple of host ids."""

    def __init__(self, scheduler: Scheduler, movement: Movement, propagation: UnitDisk | LogDistance, losses: Callable[[int, int], float],
                 record: Callable[..., None], end: float, down: Iterable[int] = ()) -> None:
        """`losses(from, to)`: share of frames lost beside what propagation loses; `end` in s; `down`: off."""
        count = len(movement.names)
        self.of: list[tuple[int, ...]] = [()] * count
        self._scheduler = scheduler
        self._propagation = propagation
        self._losses = losses
        self._record = record
        self._end = end
        self._reach: list[dict[int, None]] = [{} for _ in range(count)]  # by position alone
        self._cut: set[tuple[int, int]] = set()
        self._down: set[int] = set(down)
        self._heard: list[set[int]] = [set() for _ in range(count)]  # recorded: host -> who hears it
        self._changes = contact_changes(movement.contacts(propagation.reach, 0.0, end))
        self._next: tuple[float, bool, int, int] | None = next(self._changes, None)
        self._follow()
        if propagation.varies:
            scheduler.call_at(scheduler.now() + TRUTH_INTERVAL, self._look)

    # ---- what takes pairs out and brings them back -------------------------------------------
    def cut(self, a: int, b: int) -> None:
        """No frame passes between these two until `restore`."""
        self._cut.add(_pair(a, b))
        self._refresh([(a, b)])

    def restore(self, a: int, b: int) -> None:
        self._cut.discard(_pair(a, b))
        self._refresh([(a, b)])

    def down(self, host: int) -> None:
        """The host's radio is off until `up`."""
        self._down.add(host)
        self._refresh([(host, other) for other in self._reach[host]])

    def up(self, host: int) -> None:
        self._down.discard(host)
        self._refresh([(host, other) for other in self._reach[host]])

    # ---- following the movement --------------------------------------------------------------
    def _follow(self) -> None:
        """Apply all changes up to now and wake again at the next."""
        now = self._scheduler.now()
        changed = []
        while self._next is not None and self._next[0] <= now:
            _, begins, a, b = self._next
            if begins:
                self._reach[a][b] = self._reach[b][a] = None
            else:
                del self._reach[a][b], self._reach[b][a]
            changed.append((a, b))
            self._next = next(self._changes, None)
        self._refresh(changed)
        if self._next is not None and self._next[0] < self._end:
            self._scheduler.call_at(self._next[0], self._follow)

    def _refresh(self, pairs: list[tuple[int, int]]) -> None:
        """Rebuild the sets of the hosts of these pairs, and record what became true of the pairs."""
        for host in dict.fromkeys(host for pair in pairs for host in pair):
            self.of[host] = tuple(
                other for other in self._reach[host]
                if self._is_open(host, other)) if host not in self._down else ()
        for a, b in pairs:
            self._compare(a, b)
            self._compare(b, a)

    def _is_open(self, host: int, other: int) -> bool:
        return other not in self._down and (not self._cut or _pair(host, other) not in self._cut)

    def _look(self) -> None:
        """The quality of links drifts: record which exist now."""
        now = self._scheduler.now()
        for sender, others in enumerate(self.of):
            for receiver in others:
                self._compare(sender, receiver)
        if now + TRUTH_INTERVAL < self._end:
            self._scheduler.call_at(now + TRUTH_INTERVAL, self._look)

    def _compare(self, sender: int, receiver: int) -> None:
        heard = self._heard[sender]
        exists = receiver in self.of[sender] and (
            self._propagation.probability(sender, receiver, self._scheduler.now(), True)
            * (1.0 - self._losses(sender, receiver)) >= LINK_EXISTS)
        if exists and receiver not in heard:
            heard.add(receiver)
            self._record("radio_up", **{"from": sender, "to": receiver})
        elif not exists and receiver in heard:
            heard.discard(receiver)
            self._record("radio_down", **{"from": sender, "to": receiver})


def _pair(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def contact_changes(contacts: np.ndarray) -> Iterator[tuple[float, bool, int, int]]:
    """(time, begins, i, j) in order of time; a contact that begins comes before one that ends."""
    ends: list[tuple[float, int, int]] = []
    for i, j, up, down in zip(contacts["i"].tolist(), contacts["j"].tolist(), contacts["up"].tolist(),
                              contacts["down"].tolist(), strict=True):
        while ends and ends[0][0] < up:
            time, a, b = heappop(ends)
            yield time, False, a, b
        yield up, True, i, j
        heappush(ends, (down, i, j))
    while ends:
        time, a, b = heappop(ends)
        yield time, False, a, b
