"""Which events were seen: the memory that keeps an event from being handled twice.

jaeger-self-managing-thesis, definition 5 (nothing twice). An event is known by (source, boot
epoch, sequence). Bounded on both sides: a window of sequence numbers for each source, and the
sources heard of last. What is older than its source's window counts as seen, so a source that
was not evicted is never delivered twice.
"""
from __future__ import annotations

from node.ids import Epoch, NodeId

WINDOW = 4096  # sequence numbers remembered per (source, epoch)
MAX_SOURCES = 4096


class SeenEvents:
    def __init__(self) -> None:
        # (source, epoch) -> [highest sequence, bits: bit i = highest - i was seen]; oldest use first
        self._sources: dict[tuple[NodeId, Epoch], list[int]] = {}

    def first_time(self, source: NodeId, epoch: Epoch, sequence: int) -> bool:
        """Remember the event; False if it was seen or is too old to tell."""
        key = (source, epoch)
        window = self._sources.pop(key, None)
        if window is None:
            if len(self._sources) >= MAX_SOURCES:
                del self._sources[next(iter(self._sources))]
            self._sources[key] = [sequence, 1]
            return True
        self._sources[key] = window
        highest, bits = window
        ahead = sequence - highest
        if ahead > 0:
            window[0] = sequence
            window[1] = ((bits << ahead) | 1) & _MASK if ahead < WINDOW else 1
            return True
        if -ahead >= WINDOW or bits >> -ahead & 1:
            return False
        window[1] = bits | 1 << -ahead
        return True


_MASK = (1 << WINDOW) - 1
