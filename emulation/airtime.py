"""How long a frame occupies the air: IEEE 802.11 OFDM (clause 17, 20 MHz, 5 GHz timing).

A datagram costs more than its bytes: headers, the preamble, the gap before, the acknowledgement
after. The standard's constants are in node/airtime.py, which weighs broadcasts against unicasts by them;
the back-off is drawn per frame by the medium.
"""
from __future__ import annotations

import math

from node.airtime import ACK_BYTES, CW_MIN, PREAMBLE, SIFS

SYMBOL = 4e-6  # s
SERVICE_AND_TAIL = 16 + 6  # bits added to every frame
CW_MAX = 1023  # slots of the largest


def frame_time(size: int, rate: float) -> float:
    """Seconds on the air of a frame of `size` bytes, all headers included, at `rate` bit/s."""
    symbols = math.ceil((SERVICE_AND_TAIL + 8 * size) / (rate * SYMBOL) - 1e-9)
    return PREAMBLE + symbols * SYMBOL


def ack_time(base_rate: float) -> float:
    """Seconds from the end of a unicast frame to the end of its acknowledgement."""
    return SIFS + frame_time(ACK_BYTES, base_rate)


def backoff_window(failures: int) -> int:
    """Slots of the contention window after so many failed tries of one frame."""
    return min(((CW_MIN + 1) << failures) - 1, CW_MAX)
