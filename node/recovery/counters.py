"""Counters per (source, epoch, filter hash): how a subscriber notices what it has not received.

costa-epidemic-reliability, section 4.2 (sequence numbers per source and pattern, attached at the source), and what the
paper leaves open, as the design has it: at most 16 numbers an event; a subscriber's first number is its baseline; and
a source goes on counting a filter that was withdrawn for as long as caches keep events, or what is
published while the network is in two parts could not be missed in the other.

A counter begins at the source's count of its own events, of which each adds at most one to it. So a counter that was
forgotten and begins again never goes back.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from node.filters import Attributes, Filter
from node.ids import Epoch, NodeId
from node.memory import Memory

ATTACHED = 16  # numbers of one event (schema/messages.toml)
COUNTED = 8192  # filters that a source counts
WITHDRAWN = 1024  # of them withdrawn
HEARD = 16384  # counters of all sources that are remembered
GAP = 256  # numbers missed at once; more are not looked for

Counter = tuple[bytes, NodeId, Epoch]  # filter's hash, source, its epoch


class Published:
    """The source's side: how many of this node's events matched each filter that somebody else wants."""

    def __init__(self, lifetime: float, now: Callable[[], float]) -> None:
        """`lifetime`: s that a withdrawn filter is counted."""
        self._lifetime, self._now = lifetime, now
        self._numbers: Memory[bytes, int] = Memory(COUNTED)
        self._withdrawn: Memory[bytes, tuple[Filter, float]] = Memory(WITHDRAWN)  # the earliest first
        self._count = 0

    def current(self, key: bytes) -> int:
        """The number of the last event for this filter."""
        number = self._numbers.get(key)
        if number is None:
            number = self._count
            self._numbers.remember(key, number)
        return number

    def withdrawn(self, wanted: Filter) -> None:
        """The filter has left the table, or a part of it."""
        self._withdrawn.remember(wanted.hash, (wanted, self._now() + self._lifetime))

    def attach(self, sequence: int, attributes: Attributes, live: list[bytes]) -> tuple[tuple[bytes, int], ...]:
        """Count an event; `live`: hashes of the filters that it matches and that are in the table. Of more than fit
        some are counted, others with the next event."""
        now = self._now()
        while self._withdrawn and (key := next(iter(self._withdrawn))) and self._withdrawn[key][1] < now:
            del self._withdrawn[key]
        keys = live + [key for key, (wanted, _) in self._withdrawn.items()
                       if key not in live and wanted.matches(attributes)]
        if len(keys) > ATTACHED:
            start = sequence * ATTACHED % len(keys)
            keys = (keys + keys)[start:start + ATTACHED]
        counters = []
        for key in keys:
            number = self.current(key) + 1
            self._numbers.remember(key, number)
            counters.append((key, number))
        self._count = sequence
        return tuple(counters)


class Numbers:
    """The highest number heard of each counter; what was not heard of for longest is forgotten."""

    def __init__(self) -> None:
        self._highest: OrderedDict[Counter, int] = OrderedDict()
        self._of: dict[bytes, dict[Counter, None]] = {}  # by filter

    def get(self, counter: Counter) -> int | None:
        return self._highest.get(counter)

    def of(self, key: bytes) -> list[Counter]:
        """The counters of a filter."""
        return list(self._of.get(key, ()))

    def heard(self, counter: Counter, number: int) -> range | None:
        """Numbers skipped on the way to this one; empty for the first, which is the baseline; None for a number that
        is not new. One that is far behind is new too: of the two the higher was forged, or the source forgot."""
        highest = self._highest.pop(counter, None)
        if highest is not None and highest - GAP < number <= highest:
            self._highest[counter] = highest
            return None
        self._highest[counter] = number
        if highest is None:
            self._of.setdefault(counter[0], {})[counter] = None
            if len(self._highest) > HEARD:
                self._forget(next(iter(self._highest)))
        if highest is None or number <= highest:
            return range(0)
        return range(max(highest + 1, number - GAP), number)

    def forget(self, key: bytes) -> None:
        """All counters of a filter."""
        for counter in self.of(key):
            self._forget(counter)

    def _forget(self, counter: Counter) -> None:
        del self._highest[counter]
        own = self._of[counter[0]]
        del own[counter]
        if not own:
            del self._of[counter[0]]
