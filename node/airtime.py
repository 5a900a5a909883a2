"""What a message to several neighbors costs as one broadcast, and what as unicasts.

The rule of the design: one radio broadcast to several tree neighbors "where that is cheaper, the
bystanders' work counted in". The constants are the standard's (IEEE 802.11-2020, clause 17, OFDM, 20 MHz, 5 GHz
timing), and those of the emulated medium too; what the rule makes of them need not be exact, because it
only compares.
"""
from __future__ import annotations

SLOT = 9e-6  # s; also the time it takes to sense that another has begun
SIFS = 16e-6  # s, between a frame and its acknowledgement
DIFS = SIFS + 2 * SLOT  # s of idle channel before a frame
PREAMBLE = 20e-6  # s, with the signal field; sent before any frame at any rate
CW_MIN = 15  # slots of the first back-off window
CONTENTION = DIFS + CW_MIN / 2 * SLOT  # s, before a frame: DIFS and the mean first back-off

MAC_BYTES = 24 + 4  # header and frame check sequence
LLC_BYTES = 8  # LLC/SNAP
IP_BYTES = 20
UDP_BYTES = 8
OVERHEAD_BYTES = MAC_BYTES + LLC_BYTES + IP_BYTES + UDP_BYTES  # in front of and behind a datagram
ACK_BYTES = 14  # of the MAC's acknowledgement
RECEPTION = 100e-6  # s of a bystander's processor for a datagram it did not need


def unicast_cost(size: int, base_rate: float, data_rate: float) -> float:
    """Seconds of air for a datagram of `size` bytes to one neighbor: data rate, acknowledged by the MAC."""
    frame = PREAMBLE + (size + OVERHEAD_BYTES) * 8 / data_rate
    return CONTENTION + frame + SIFS + PREAMBLE + ACK_BYTES * 8 / base_rate


def broadcast_cost(size: int, base_rate: float) -> float:
    """Seconds of air for a datagram of `size` bytes to all in range: base rate, acknowledged by nobody."""
    return CONTENTION + PREAMBLE + (size + OVERHEAD_BYTES) * 8 / base_rate


def broadcast_is_cheaper(size: int, missing: list[float], bystanders: int,
                         base_rate: float, data_rate: float) -> bool:
    """Whether one broadcast costs less than a unicast to each addressee.

    `size`: bytes of the datagram. `missing`: for each addressee the share of broadcasts that did not reach it
    so far (0..1); each such one costs a unicast after all. `bystanders`: hosts in range that are not
    addressed; each spends RECEPTION on a broadcast, and nothing on a unicast, which its card filters out.
    """
    unicast = unicast_cost(size, base_rate, data_rate)
    broadcast = broadcast_cost(size, base_rate) + bystanders * RECEPTION + sum(missing) * unicast
    return broadcast < len(missing) * unicast
