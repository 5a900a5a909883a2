"""What is around a datagram in a captured frame: Ethernet or radiotap and 802.11, then IPv4 or IPv6, and UDP.

Sources: radiotap.org for the fields of radiotap; IEEE 802.11-2020, section 9.2 for the frames; RFC 791, 8200 and 768. Nothing
is believed: a length that leads out of the frame is a `fault`, unless the capture kept only a part of the frame.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv6Address

ETHERNET, IEEE802_11, RADIOTAP = 1, 105, 127
LINKS = {ETHERNET: "ethernet", IEEE802_11: "802.11", RADIOTAP: "radiotap"}
IPV4, IPV6, VLANS, UDP = 0x0800, 0x86DD, (0x8100, 0x88A8), 17
SNAP = bytes.fromhex("aaaa03000000")
# radiotap's fields from bit 0 on: bytes and alignment
FIELDS = ((8, 8), (1, 1), (1, 1), (4, 2), (2, 1), (1, 1), (1, 1), (2, 2), (2, 2), (2, 2), (1, 1), (1, 1), (1, 1), (1, 1),
          (2, 2), (2, 2), (1, 1), (1, 1), (8, 4), (3, 1))
FLAGS, RATE, CHANNEL, SIGNAL, MCS = 1, 2, 3, 5, 19
FCS_INCLUDED, FCS_WRONG = 0x10, 0x40
HT_RATES = (6.5e6, 13e6, 19.5e6, 26e6, 39e6, 52e6, 58.5e6, 65e6)  # bit/s, one stream, 20 MHz, long guard interval
FCS_BYTES = 4
MANAGEMENT = {0: "association", 1: "association", 2: "association", 3: "association", 4: "probe", 5: "probe", 8: "802.11 beacon",
              10: "disassociation", 11: "authentication", 12: "deauthentication", 13: "action"}
CONTROL = {8: "block ack", 9: "block ack", 10: "ps-poll", 11: "rts", 12: "cts", 13: "802.11 ack"}
SHORT_CONTROL = (12, 13)  # they have one address


@dataclass(slots=True)
class Layers:
    """What was found, from the outside inward; None for what the frame does not have."""

    fault: str | None = None
    signal: int | None = None  # dBm
    rate: float | None = None  # bit/s
    frequency: int | None = None  # MHz
    air: int | None = None  # bytes of the 802.11 frame, its check sequence included
    kind: str | None = None  # data, 802.11 beacon, 802.11 ack, ...
    retry: bool | None = None  # the radio sent it again
    station: str | None = None  # who put it on the air, as an Ethernet address
    target: str | None = None
    source: str | None = None  # IP addresses
    destination: str | None = None
    ports: tuple[int, int] | None = None
    payload: bytes | None = None  # of UDP


class _Short(Exception):
    """A length leads out of the frame, or the frame ends before a header does; str() says where."""


def read(link: int | None, length: int, data: bytes) -> Layers:
    """The layers of a frame of `length` bytes, of which `data` were kept."""
    found = Layers()
    try:
        if link == RADIOTAP:
            data, cut = _radiotap(found, data)
            length -= cut
            _ieee802_11(found, length, data)
        elif link == IEEE802_11:
            found.air = length + FCS_BYTES
            _ieee802_11(found, length, data)
        elif link == ETHERNET:
            _ethernet(found, length, data)
        else:
            found.fault = f"link: type {link} is not read; capture Ethernet, radiotap or 802.11"
    except _Short as error:
        found.fault = found.fault or str(error)
    return found


def _need(data: bytes, size: int, what: str) -> None:
    if len(data) < size:
        raise _Short(f"{what}: {len(data)} bytes, and its header has {size}")


def _radiotap(found: Layers, data: bytes) -> tuple[bytes, int]:
    """The frame behind the header, without its check sequence; and how many bytes were cut off."""
    _need(data, 8, "radiotap")
    size, present = struct.unpack_from("<HI", data, 2)
    if data[0] != 0 or not 8 <= size <= len(data):
        raise _Short("radiotap: its version or its length makes no sense")
    at, word = 8, present
    while word & 1 << 31:
        if at + 4 > size:
            raise _Short("radiotap: its fields lead out of it")
        word, = struct.unpack_from("<I", data, at)
        at += 4
    flags = 0
    for bit, (width, alignment) in enumerate(FIELDS):
        if not present & 1 << bit:
            continue
        at += -at % alignment
        if at + width > size:
            raise _Short("radiotap: its fields lead out of it")
        if bit == FLAGS:
            flags = data[at]
        elif bit == RATE:
            found.rate = data[at] * 500_000.0 or None
        elif bit == CHANNEL:
            found.frequency, = struct.unpack_from("<H", data, at)
        elif bit == SIGNAL:
            found.signal, = struct.unpack_from("<b", data, at)
        elif bit == MCS and data[at] & 2:
            found.rate = _ht_rate(data[at + 1], data[at + 2])
        at += width
    frame = data[size:-FCS_BYTES] if flags & FCS_INCLUDED and len(data) >= size + FCS_BYTES else data[size:]
    found.air = len(frame) + FCS_BYTES
    if flags & FCS_WRONG:
        found.fault = "802.11: its check sequence is wrong"
    return frame, len(data) - len(frame)


def _ht_rate(flags: int, index: int) -> float | None:
    if index > 31:
        return None
    wide, short = (108 / 52 if flags & 3 == 1 else 1.0), (10 / 9 if flags & 4 else 1.0)
    return HT_RATES[index % 8] * (index // 8 + 1) * wide * short


def _ieee802_11(found: Layers, length: int, data: bytes) -> None:
    found.air = max(found.air or 0, length + FCS_BYTES)
    if found.fault:  # what its bytes say means nothing
        return
    _need(data, 10, "802.11")
    form, subtype, flags = data[0] >> 2 & 3, data[0] >> 4, data[1]
    found.retry = bool(flags & 8)
    found.target = _mac(data[4:10])
    if form == 1:
        found.kind = CONTROL.get(subtype, "802.11 control")
        if subtype not in SHORT_CONTROL and len(data) >= 16:
            found.station = _mac(data[10:16])
        return
    _need(data, 24, "802.11")
    found.station = _mac(data[10:16])
    if form != 2:
        found.kind = MANAGEMENT.get(subtype, "802.11 management") if form == 0 else "802.11 extension"
        return
    found.kind = "data"
    if subtype & 4 or flags & 0x40:  # without data, or encrypted
        return
    head = 24 + (6 if flags & 3 == 3 else 0) + (2 if subtype & 8 else 0)
    if subtype & 8 and flags & 0x80:
        head += 4
    _need(data, head + 8, "802.11")
    if data[head:head + 6] == SNAP:
        _network(found, int.from_bytes(data[head + 6:head + 8], "big"), length - head - 8, data[head + 8:])


def _ethernet(found: Layers, length: int, data: bytes) -> None:
    _need(data, 14, "ethernet")
    found.target, found.station, found.kind = _mac(data[:6]), _mac(data[6:12]), "data"
    at = 12
    while (kind := int.from_bytes(data[at:at + 2], "big")) in VLANS:
        at += 4
        _need(data, at + 2, "ethernet")
    _network(found, kind, length - at - 2, data[at + 2:])


def _network(found: Layers, kind: int, length: int, data: bytes) -> None:
    """`length`: bytes that the packet may have, of which `data` were kept."""
    if kind == IPV4:
        _need(data, 20, "ip")
        head, whole = 4 * (data[0] & 15), int.from_bytes(data[2:4], "big")
        protocol, later = data[9], int.from_bytes(data[6:8], "big") & 0x3FFF  # a fragment
        found.source, found.destination = f"{data[12]}.{data[13]}.{data[14]}.{data[15]}", f"{data[16]}.{data[17]}.{data[18]}.{data[19]}"
        good = data[0] >> 4 == 4 and 20 <= head <= whole
    elif kind == IPV6:
        _need(data, 40, "ip")
        head, whole, protocol, later = 40, 40 + int.from_bytes(data[4:6], "big"), data[6], 0
        found.source, found.destination = str(IPv6Address(data[8:24])), str(IPv6Address(data[24:40]))
        good = data[0] >> 4 == 6
    else:
        return
    if not good or whole > length:
        raise _Short("ip: its version or its length makes no sense")
    if protocol == UDP and not later:
        _datagram(found, whole - head, data[head:whole])


def _datagram(found: Layers, length: int, data: bytes) -> None:
    _need(data, 8, "udp")
    source, destination, size = struct.unpack_from("!HHH", data)
    if not 8 <= size <= length:
        raise _Short(f"udp: says {size} bytes where there are {length}")
    found.ports = source, destination
    found.payload = data[8:size]
    if len(data) < size:
        found.fault = f"cut: the capture kept {len(data)} of the {size} bytes of UDP"


def _mac(octets: bytes) -> str:
    return octets.hex(":")
