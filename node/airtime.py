"""What a message to several neighbors costs as one broadcast, and what as unicasts.

The rule of the design: one radio broadcast to several tree neighbors "where that is cheaper, the
bystanders' work counted in". The timing constants are those of 802.11a/g (IEEE 802.11-2020, 17.4.4, OFDM);
they need not be exact, because the rule only compares.
"""
from __future__ import annotations

HEADERS = 64  # bytes: UDP, IP, LLC and MAC around a datagram
PREAMBLE = 20e-6  # s, sent before any frame at any rate
CONTENTION = 34e-6 + 7.5 * 9e-6  # s, DIFS and the mean first backoff
SIFS = 16e-6  # s
MAC_ACK = 14  # bytes
RECEPTION = 100e-6  # s of a bystander's processor for a datagram it did not need


def unicast_cost(size: int, base_rate: float, data_rate: float) -> float:
    """Seconds of air for a datagram of `size` bytes to one neighbor: data rate, acknowledged by the MAC."""
    frame = PREAMBLE + (size + HEADERS) * 8 / data_rate
    return CONTENTION + frame + SIFS + PREAMBLE + MAC_ACK * 8 / base_rate


def broadcast_cost(size: int, base_rate: float) -> float:
    """Seconds of air for a datagram of `size` bytes to all in range: base rate, acknowledged by nobody."""
    return CONTENTION + PREAMBLE + (size + HEADERS) * 8 / base_rate


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
