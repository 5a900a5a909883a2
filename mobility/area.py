"""Whether the places of a trace fit the area that a parameter file or a header declares, from 0 to a side in m."""

from __future__ import annotations

BEYOND = 0.1  # of the side; groups and maps may go a little beyond it


def outside(low: float, high: float, side: float) -> float | None:
    """The coordinate that is outside; None if `low` to `high` fit."""
    if high > side * (1 + BEYOND):
        return high
    return low if low < -side * BEYOND else None
