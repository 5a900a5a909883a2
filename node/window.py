"""A sliding window over numbers that count up: which of the latest have come, in the bits of one integer."""
from __future__ import annotations

Window = tuple[int, int]  # the highest number; bits: bit i is set when `highest - i` has come


def slid(highest: int, bits: int, number: int, mask: int) -> Window | None:
    """The window with this number in it, None if it has come before. `mask`: as many ones as the window is wide; the number
    must not lie below that."""
    ahead = number - highest
    if ahead > 0:
        return number, (bits << ahead | 1) & mask if ahead < mask.bit_length() else 1
    return None if bits >> -ahead & 1 else (highest, bits | 1 << -ahead)
