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
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from emulation import addresses
from emulation.medium import Frame
from emulation.records import AppendOnly, flush_all

MAGIC = 0xA1B23C4D  # time stamps in nanoseconds
ETHERNET, RADIOTAP = 1, 127  # link types
SNAP_LENGTH = 65535
HELD = 1 << 24  # bytes of frames, of all radios together, that wait to be written at most
HELD_EACH = 1 << 15  # likewise, times the radios: what stays in the processor's cache is written faster

_FILE_HEADER = struct.Struct("<IHHiIII")
_STAMP = struct.Struct("<IIII")
_HEADERS = struct.Struct("!6s6sH BBHHHBBHII HHHH")  # Ethernet, IPv4, UDP
_BROADCAST_IP = int(addresses.IPV4_BROADCAST)
_BROADCAST_MAC = b"\xff" * 6
_FIRST = int(addresses.ipv4(0))
_IPV4, _DO_NOT_FRAGMENT, _TTL, _PROTOCOL_UDP = 0x0800, 0x4000, 1, 17


def file_header(link_type: int) -> bytes:
    """What a pcap file with nanosecond stamps begins with."""
    return _FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, SNAP_LENGTH, link_type)


def ethernet_frame(sender: int, destination: int | None, port: int, datagram: bytes) -> bytes:
    """The datagram with Ethernet, IPv4 and UDP headers around it.

    Checksums (RFC 1071) as the remainder by 65535, which is the sum of the 16-bit words because
    65536 leaves 1; so a whole datagram is summed as one large number.
    """
    source, mac = _addresses(sender)
    target, target_mac = _addresses(destination)
    length = 8 + len(datagram)
    pseudo = source + target + _PROTOCOL_UDP + length  # what both checksums cover, modulo 65535
    data = int.from_bytes(datagram, "big") << (len(datagram) % 2 * 8)  # an odd end is padded with zero
    ip_sum = (pseudo + 0x4500 + 20 + _DO_NOT_FRAGMENT + (_TTL << 8)) % 0xFFFF
    udp_sum = (pseudo + length + 2 * port + data) % 0xFFFF
    # a remainder of 0 stands for the sum 0xFFFF, whose checksum is 0, which UDP writes as 0xFFFF
    return _HEADERS.pack(target_mac, mac, _IPV4,
                         0x45, 0, 20 + length, 0, _DO_NOT_FRAGMENT, _TTL, _PROTOCOL_UDP,
                         0xFFFF - ip_sum if ip_sum else 0, source, target,
                         port, port, length, 0xFFFF - udp_sum) + datagram


@lru_cache(maxsize=4096)
def _addresses(host: int | None) -> tuple[int, bytes]:
    """IPv4 and Ethernet address of a host; None is all of them."""
    if host is None:
        return _BROADCAST_IP, _BROADCAST_MAC
    return _FIRST + host, addresses.mac(host)


def datagrams(port: int) -> Callable[[Frame], bytes]:
    """What a capture has of frames whose payloads are datagrams between sockets of this UDP port."""
    return lambda frame: ethernet_frame(frame.sender, frame.destination, port, frame.payload)


class Captures:
    """One pcap file per radio in a folder; implements what the medium calls a capture."""

    def __init__(self, folder: Path, hosts: int, epoch: float, bytes_of: Callable[[Frame], bytes],
                 link_type: int = ETHERNET, most: int | None = None) -> None:
        """`epoch`: the wall clock (s since 1970) at time 0 of the run; `bytes_of(frame)`: what is written of it; `most`: bytes
        of one file, at which it ends."""
        head = file_header(link_type)
        self._files = [AppendOnly(folder / f"{host}.pcap", head, most) for host in range(hosts)]
        self._pieces = [file.pieces for file in self._files]  # filled here, one list for each radio
        self._most_held = min(HELD, HELD_EACH * hosts)
        self._held = 0  # bytes in them, a frame that several radios saw counted for each
        self._bytes_of = bytes_of
        self._epoch_ns = round(epoch * 1e9)

    def begin(self, epoch: float) -> None:
        """The wall clock at time 0, where it is known only when the files are there."""
        self._epoch_ns = round(epoch * 1e9)

    def sent(self, frame: Frame, time: float) -> None:
        stamped = self._stamped(frame, time)
        self._pieces[frame.sender].append(stamped)
        self._held += len(stamped)

    def received(self, frame: Frame, hosts: list[int], time: float) -> None:
        stamped = self._stamped(frame, time)
        pieces = self._pieces
        for host in hosts:
            pieces[host].append(stamped)
        self._held += len(stamped) * len(hosts)
        if self._held > self._most_held:
            self.flush()

    def note(self, host: int, time: float, data: bytes) -> None:
        """Write that a radio saw these bytes, where radios do not see the same ones."""
        self._pieces[host].append(self._stamp(time, data))
        self._held += _STAMP.size + len(data)
        if self._held > self._most_held:
            self.flush()

    def flush(self) -> None:
        """Write out what was collected. Raises DiskFull after trying every file."""
        self._held = 0
        flush_all(self._files)

    def files(self) -> list[AppendOnly]:
        """One for each radio, for who writes them out one at a time."""
        return self._files

    def _stamped(self, frame: Frame, time: float) -> bytes:
        data = frame.ethernet
        if data is None:
            data = frame.ethernet = self._bytes_of(frame)
        return self._stamp(time, data)

    def _stamp(self, time: float, data: bytes) -> bytes:
        seconds, nanoseconds = divmod(self._epoch_ns + round(time * 1e9), 1_000_000_000)
        return _STAMP.pack(seconds, nanoseconds, len(data), len(data)) + data


def read(path: Path) -> Iterator[tuple[int, bytes]]:
    """(nanoseconds since 1970, Ethernet frame) of every whole one; a cut last one is left out.

    Raises ValueError for a file that is not one of ours.
    """
    with path.open("rb") as file:
        head = file.read(_FILE_HEADER.size)
        if len(head) < _FILE_HEADER.size or _FILE_HEADER.unpack(head)[0] != MAGIC:
            raise ValueError(f"{path}: not a pcap file with nanoseconds in little-endian order")
        while len(header := file.read(_STAMP.size)) == _STAMP.size:
            seconds, nanoseconds, length, _ = _STAMP.unpack(header)
            data = file.read(length)
            if len(data) < length:
                return
            yield seconds * 1_000_000_000 + nanoseconds, data
