"""Frames and transmission reports as they pass hwsim's netlink port.

drivers/net/wireless/mac80211_hwsim.h: HWSIM_CMD_FRAME is a frame that a radio sends (to us) or receives (from us),
HWSIM_CMD_TX_INFO_FRAME tells a sender what became of one: which rates were tried how often, and the acknowledgement.
"""
from __future__ import annotations

import struct
import sys
from typing import NamedTuple

from emulation.linux.genetlink import HEADS, attributes, message
from emulation.linux.netlink import HEADER, NLMSG_ERROR, attribute

FRAME, TX_INFO_FRAME = 2, 3
RECEIVER, TRANSMITTER, DATA, FLAGS, RX_RATE, SIGNAL, TX_INFO, COOKIE = 1, 2, 3, 4, 5, 6, 7, 8
ACKNOWLEDGED = 4  # a flag
FREQUENCY = 5180  # MHz: the timing of emulation/airtime.py is that of 5 GHz
RATES = (6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000)  # bit/s, as indexed
CELL = bytes.fromhex("02726f616d63")  # the BSSID of all; where it is given nobody searches, and all join at once
DATA_FRAME, HEADER_BYTES = 0x08, 24  # first byte of a plain data frame in ad hoc mode; bytes of its header
SNAP = bytes.fromhex("aaaa03000000")  # LLC and SNAP in front of what Ethernet names by a type
CHECK_BYTES = 4  # of the frame check sequence, which is on the air and not in the data
SHORTEST = 10  # bytes: up to the end of the first address
ARRIVAL, REPORT = 1, 2  # sequence numbers of our messages, by which a refusal tells what was refused
_UNTRIED = struct.pack("=bB", -1, 0)
_RATES_TRIED = 4


class Sent(NamedTuple):
    """A frame that a radio sends: 802.11 header and body without check sequence."""

    data: bytes
    flags: int
    cookie: bytes  # by which hwsim knows it

    @property
    def to(self) -> bytes:
        """The first address: of the receiver, or of a group."""
        return self.data[4:10]


class Refused(NamedTuple):
    """hwsim did not take a message of ours: an arrival at a radio that is off, a report that nobody waits for."""

    sequence: int


def rate_index(rate: float) -> int:
    """hwsim's index of an 802.11a rate: the fastest that is no faster than `rate` bit/s, else the slowest."""
    return max((k for k, known in enumerate(RATES) if known <= rate), default=0)


def read(message_: bytes) -> Sent | Refused | None:
    """What a message from hwsim is; None for one that is of no interest here. Raises ValueError for a broken one."""
    if len(message_) < HEADS:
        raise ValueError("a message shorter than its headers")
    kind = HEADER.unpack_from(message_)[1]
    if kind == NLMSG_ERROR:
        if len(message_) < 2 * HEADER.size + 4:
            raise ValueError("a refusal that is cut off")
        code, = struct.unpack_from("=i", message_, HEADER.size)
        return Refused(HEADER.unpack_from(message_, HEADER.size + 4)[3]) if code else None
    if message_[HEADER.size] != FRAME:
        return None
    found = attributes(message_)
    try:
        data, flags, cookie = found[DATA], found[FLAGS], found[COOKIE]
    except KeyError as error:
        raise ValueError(f"a frame without attribute {error}") from None
    if len(data) < SHORTEST or len(flags) != 4 or len(cookie) != 8:
        raise ValueError("a frame with attributes of wrong lengths")
    return Sent(data, int.from_bytes(flags, sys.byteorder), cookie)


def from_ethernet(frame: bytes) -> bytes | None:
    """An Ethernet frame as an 802.11 one of our cell; None for one without a type (IEEE 802.1H)."""
    if len(frame) < 14 or frame[12:14] < b"\x06\x00":
        return None
    return struct.pack("<HH", DATA_FRAME, 0) + frame[:12] + CELL + bytes(2) + SNAP + frame[12:]


def to_ethernet(data: bytes) -> bytes | None:
    """An 802.11 frame of our cell as an Ethernet one; None for one that carries nothing of the kind, such as a beacon."""
    if len(data) < HEADER_BYTES:
        return None
    body = HEADER_BYTES + (2 if data[0] & 0x80 else 0)  # with quality of service
    if data[0] & 0x4C != DATA_FRAME or data[1] & 3 or data[body:body + len(SNAP)] != SNAP:
        return None
    return data[4:16] + data[body + len(SNAP):]


def content(data: bytes, rate: int) -> bytes:
    """What is the same at all receivers of a frame, for `arrival`; `rate` by its index."""
    return attribute(DATA, data) + _u32(RX_RATE, rate)


def arrival(family: int, receiver: bytes, signal: int, content: bytes) -> bytes:
    """The message by which a radio receives a frame; `signal` in dBm."""
    return message(family, FRAME, attribute(RECEIVER, receiver) + _u32(SIGNAL, signal & 0xFFFFFFFF) + content,
                   sequence=ARRIVAL)


def report(family: int, sender: bytes, sent: Sent, rate: int, tries: int, acknowledged: bool, signal: int) -> bytes:
    """The message that tells a radio what became of its frame; `signal` of the acknowledgement in dBm."""
    tried = struct.pack("=bB", rate, min(tries, 255)) + _UNTRIED * (_RATES_TRIED - 1)
    flags = sent.flags & ~ACKNOWLEDGED | (ACKNOWLEDGED if acknowledged else 0)
    body = (attribute(TRANSMITTER, sender) + _u32(FLAGS, flags) + attribute(COOKIE, sent.cookie)
            + _u32(SIGNAL, signal & 0xFFFFFFFF) + attribute(TX_INFO, tried))
    return message(family, TX_INFO_FRAME, body, sequence=REPORT)


def _u32(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))
