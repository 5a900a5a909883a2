"""A memory that is bounded: of more than it holds, what was remembered longest ago is forgotten."""
from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Memory(OrderedDict[K, V]):
    """A dict of at most `most` entries, the one remembered longest ago first. (A plain dict that loses its first entries
    is slow to find the next one.)"""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def remember(self, key: K, value: V) -> tuple[K, V] | None:
        """Enter it, or enter it anew; what had to be forgotten for it."""
        self[key] = value
        self.move_to_end(key)
        return self.popitem(last=False) if len(self) > self.most else None


class Once(Memory[K, None]):
    """What has come before."""

    def first_time(self, key: K) -> bool:
        """Remember it; False if it has come before, as far back as is remembered."""
        if key in self:
            return False
        self.remember(key, None)
        return True
