"""Which events were seen: the memory that keeps an event from being handled twice.

jaeger-self-managing-thesis, definition 5 (nothing twice). An event is known by (source, boot
epoch, sequence). Bounded on all sides: a window of sequence numbers for each source, one more
where they jumped, and the sources heard of last. What is older than its source's window counts
as seen, so a source that was not evicted, nor jumped twice, is never delivered twice.

A number far ahead is either what is left of many events that did not come here, or forged by
whoever passed it on; so the window that it leaves behind stays, and the source's next event is
found new in one or the other. To silence a source a forger has to be heard more often than it.
"""
from __future__ import annotations

from node.ids import Epoch, NodeId
from node.window import Window, slid

WINDOW = 4096  # sequence numbers remembered per (source, epoch)
MASK = (1 << WINDOW) - 1
MAX_SOURCES = 4096


class SeenEvents:
    def __init__(self) -> None:
        # (source, epoch) -> its window, where that begins, and the one below, from before the numbers
        # jumped; oldest use first
        self._sources: dict[tuple[NodeId, Epoch], tuple[Window, int, Window | None]] = {}

    def first_time(self, source: NodeId, epoch: Epoch, sequence: int) -> bool:
        """Remember the event; False if it was seen or is too old to tell."""
        key = (source, epoch)
        known = self._sources.pop(key, None)
        if known is None:
            if len(self._sources) >= MAX_SOURCES:
                del self._sources[next(iter(self._sources))]
            self._sources[key] = (sequence, 1), 0, None
            return True
        window, floor, before = known
        highest, bits = window
        if -WINDOW < sequence - highest < WINDOW:
            moved = slid(highest, bits, sequence, MASK)
            self._sources[key] = moved or window, floor, before
            return moved is not None
        if before is not None and sequence <= floor and -WINDOW < sequence - before[0] < WINDOW:
            moved = slid(*before, sequence, MASK)
            self._sources[key] = window, floor, moved or before
            return moved is not None
        if sequence < highest:
            self._sources[key] = known
            return False
        # of the two that are left behind, the one in which more was seen is rather the source's own
        if before is None or bits.bit_count() >= before[1].bit_count():
            before = window
        self._sources[key] = (sequence, 1), sequence - WINDOW, before
        return True

    def contains(self, source: NodeId, epoch: Epoch, sequence: int) -> bool:
        """Whether the event was seen or is too old to tell; changes nothing."""
        known = self._sources.get((source, epoch))
        if known is None:
            return False
        window, floor, before = known
        if -WINDOW < sequence - window[0] < WINDOW:
            return slid(*window, sequence, MASK) is None
        if before is not None and sequence <= floor and -WINDOW < sequence - before[0] < WINDOW:
            return slid(*before, sequence, MASK) is None
        return sequence < window[0]
