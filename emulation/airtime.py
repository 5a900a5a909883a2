"""How long a frame occupies the air: IEEE 802.11 OFDM (clause 17, 20 MHz, 5 GHz timing).

A datagram costs more than its bytes: headers, the preamble, the gap before, the acknowledgement
after. The constants are the standard's; the back-off is drawn per frame by the medium.
"""
from __future__ import annotations

import math

SLOT = 9e-6  # s; also the time it takes to sense that another has begun
SIFS = 16e-6  # s, between a frame and its acknowledgement
DIFS = SIFS + 2 * SLOT  # s of idle channel before a frame
PREAMBLE = 20e-6  # s, with the signal field
SYMBOL = 4e-6  # s
SERVICE_AND_TAIL = 16 + 6  # bits added to every frame
CW_MIN = 15  # slots of the first back-off window
CW_MAX = 1023  # slots of the largest

MAC_BYTES = 24 + 4  # header and frame check sequence
LLC_BYTES = 8  # LLC/SNAP
IP_BYTES = 20
UDP_BYTES = 8
OVERHEAD_BYTES = MAC_BYTES + LLC_BYTES + IP_BYTES + UDP_BYTES  # in front of and behind a datagram
ACK_BYTES = 14


def frame_time(size: int, rate: float) -> float:
    """Seconds on the air of a frame of `size` bytes, all headers included, at `rate` bit/s."""
    symbols = math.ceil((SERVICE_AND_TAIL + 8 * size) / (rate * SYMBOL) - 1e-9)
    return PREAMBLE + symbols * SYMBOL


def ack_time(base_rate: float) -> float:
    """Seconds from the end of a unicast frame to the end of its acknowledgement."""
    return SIFS + frame_time(ACK_BYTES, base_rate)


def backoff_window(failures: int) -> int:
    """Slots of the contention window after so many failed tries of one frame."""
    return min((CW_MIN + 1) * 2**failures - 1, CW_MAX)
