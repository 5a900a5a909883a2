"""What each radio saw, as pcap files that Wireshark, tshark and scapy open.

The file format is libpcap's with nanosecond time stamps and link type Ethernet. The medium
carries datagrams only, so the headers around them are synthesised: host id h has the Ethernet
address 02:00 followed by h in four bytes and the IPv4 address 10.0.0.1 + h (in 10.0.0.0/8), the
UDP port is the one of node/schema/header.toml at both ends, and broadcasts go to
10.255.255.255 and ff:ff:ff:ff:ff:ff. Checksums are right. A frame is stamped when it began for
its sender and when it was complete for its receivers; retries are not repeated.
"""
from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

from emulation.medium import Frame
from emulation.records import AppendOnly

MAGIC = 0xA1B23C4D  # time stamps in nanoseconds
ETHERNET = 1
SNAP_LENGTH = 65535
MAX_HOSTS = (1 << 24) - 2

_FILE_HEADER = struct.Struct("<IHHiIII")
_PACKET_HEADER = struct.Struct("<IIII")
_IP = struct.Struct("!BBHHHBBH4s4s")
_UDP = struct.Struct("!HHHH")
_BROADCAST_IP = bytes((10, 255, 255, 255))
_BROADCAST_MAC = b"\xff" * 6
_FIRST = int(IPv4Address("10.0.0.1"))


def address(host: int) -> IPv4Address:
    """The IPv4 address of a host."""
    return IPv4Address(_FIRST + host)


def ethernet_frame(sender: int, destination: int | None, port: int, datagram: bytes) -> bytes:
    """The datagram with Ethernet, IPv4 and UDP headers around it."""
    source = (_FIRST + sender).to_bytes(4, "big")
    target = _BROADCAST_IP if destination is None else (_FIRST + destination).to_bytes(4, "big")
    length = 8 + len(datagram)
    # the pseudo header, the UDP header without checksum, and the data
    total = _sum(source) + _sum(target) + 17 + 2 * length + 2 * port + _sum(datagram)
    udp = _UDP.pack(port, port, length, _fold(total) or 0xFFFF)
    ip = _IP.pack(0x45, 0, 20 + length, 0, 0x4000, 1, 17, 0, source, target)
    ip = ip[:10] + _fold(_sum(ip)).to_bytes(2, "big") + ip[12:]
    mac = _BROADCAST_MAC if destination is None else b"\x02\x00" + destination.to_bytes(4, "big")
    return b"".join((mac, b"\x02\x00", sender.to_bytes(4, "big"), b"\x08\x00", ip, udp, datagram))


def _sum(data: bytes) -> int:
    """A number congruent to the sum of the 16-bit words of `data`: 65536 is 1 modulo 65535."""
    return int.from_bytes(data if len(data) % 2 == 0 else data + b"\0", "big") % 0xFFFF


def _fold(total: int) -> int:
    """The Internet checksum (RFC 1071) of words with this sum; never of all zero words here."""
    return 0xFFFF - (total % 0xFFFF or 0xFFFF)


class Captures:
    """One pcap file per radio in a folder; implements what the medium calls a capture."""

    def __init__(self, folder: Path, hosts: int, port: int, epoch: float) -> None:
        """`epoch`: the wall clock (s since 1970) at time 0 of the run."""
        head = _FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, SNAP_LENGTH, ETHERNET)
        self._files = [AppendOnly(folder / f"{host}.pcap", head) for host in range(hosts)]
        self._port = port
        self._epoch_ns = round(epoch * 1e9)

    def sent(self, frame: Frame, time: float) -> None:
        self._files[frame.sender].append(self._packet(frame, time))

    def received(self, frame: Frame, hosts: list[int], time: float) -> None:
        packet = self._packet(frame, time)
        for host in hosts:
            self._files[host].append(packet)

    def flush(self) -> None:
        for file in self._files:
            file.flush()

    def _packet(self, frame: Frame, time: float) -> bytes:
        data = frame.packet
        if data is None:
            data = frame.packet = ethernet_frame(frame.sender, frame.destination, self._port, frame.payload)
        seconds, nanoseconds = divmod(self._epoch_ns + round(time * 1e9), 1_000_000_000)
        return _PACKET_HEADER.pack(seconds, nanoseconds, len(data), len(data)) + data


def read(path: Path) -> Iterator[tuple[int, bytes]]:
    """(nanoseconds since 1970, frame) of every whole packet; a cut last one is left out.

    Raises ValueError for a file that is not one of ours.
    """
    with path.open("rb") as file:
        head = file.read(_FILE_HEADER.size)
        if len(head) < _FILE_HEADER.size or _FILE_HEADER.unpack(head)[0] != MAGIC:
            raise ValueError(f"{path}: not a pcap file with nanoseconds in little-endian order")
        while len(header := file.read(_PACKET_HEADER.size)) == _PACKET_HEADER.size:
            seconds, nanoseconds, length, _ = _PACKET_HEADER.unpack(header)
            data = file.read(length)
            if len(data) < length:
                return
            yield seconds * 1_000_000_000 + nanoseconds, data
