"""When clients that roam were with which broker, to be asked moment by moment."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Stay(NamedTuple):
    """A device with a broker, from `up` to `down` (s)."""

    row: int  # of the frame it is from
    broker: int
    up: float
    down: float


class Attached:
    """The stays of each device: its attachments, or its sessions."""

    def __init__(self, spans: pd.DataFrame, ids: Iterable[int] = ()) -> None:
        """spans: `device`, `broker`, `up`, `down`. ids: devices that may be in none of them."""
        self._of: dict[int, list[Stay]] = {}
        for row, device, broker, up, down in spans[["device", "broker", "up", "down"]].itertuples():
            self._of.setdefault(device, []).append(Stay(row, broker, up, down))
        self.ids = frozenset([*ids, *self._of])

    def of(self, device: int) -> list[Stay]:
        return self._of.get(device, [])

    def until(self, device: int, at: float) -> float | None:
        """How long (s) it stays where it is at that moment; None if it is nowhere."""
        return max((stay.down for stay in self.of(device) if stay.up <= at <= stay.down), default=None)
