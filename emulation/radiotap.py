"""The header that stands before 802.11 frames in captures: what the radio knew of each (radiotap.org).

A little-endian header of 8 bytes says which fields follow, each aligned to its size.
"""
from __future__ import annotations

import struct

RATE, CHANNEL, SIGNAL = 2, 3, 5  # bits of the fields, in the order of the fields
OFDM, GHZ_2, GHZ_5 = 0x0040, 0x0080, 0x0100  # flags of a channel
_HEAD = struct.Struct("<BBHIBxHH")
_SIGNAL = struct.Struct("<b")


def header(rate: int, frequency: int, signal: int | None = None) -> bytes:
    """`rate` in bit/s, `frequency` in MHz, `signal` in dBm where the frame was received."""
    fields = 1 << RATE | 1 << CHANNEL | (0 if signal is None else 1 << SIGNAL)
    flags = OFDM | (GHZ_5 if frequency > 5000 else GHZ_2)
    tail = b"" if signal is None else _SIGNAL.pack(max(-128, min(signal, 127)))
    return _HEAD.pack(0, 0, _HEAD.size + len(tail), fields, rate // 500_000, frequency, flags) + tail
