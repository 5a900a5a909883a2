"""What an interface of the kernel's sees, into a pcap file: for worlds whose medium is not ours, and for the field.

A ring of memory that the kernel fills (AF_PACKET, TPACKET_V3; packet(7), Documentation/networking/packet_mmap.rst): a
frame costs one copy here, and while we are late the ring takes what comes. What it could not take the kernel counts.

With `Monitor` a second interface of the same radio hears all that is on its channel, with a radiotap header before
each frame: rate, signal, and also frames that are for others.
"""
from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from emulation.capture import ETHERNET, RADIOTAP, file_header
from emulation.linux import genetlink
from emulation.linux.netlink import attribute
from emulation.records import AppendOnly

SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION, TPACKET_V3 = 263, 5, 6, 10, 2
ALL_PROTOCOLS = 0x0003
BLOCK, BLOCKS = 1 << 18, 16  # bytes; 4 MiB in all
FRAME = 2048  # bytes that the kernel expects; longer ones fit as well
RETIRE = 50  # ms after which a block is handed over however full it is
HANDED_OVER = 1  # TP_STATUS_USER
LINK_TYPES = {1: ETHERNET, 772: ETHERNET, 803: RADIOTAP}  # of ARPHRD_: Ethernet, loopback, radiotap
SIOCGIFHWADDR, SIOCSIFFLAGS, IFF_UP = 0x8927, 0x8914, 1
RETURNS = 0.5  # s between two looks for an interface that is gone

NL80211, NEW_INTERFACE, DEL_INTERFACE = "nl80211", 7, 8
IFINDEX, IFNAME, IFTYPE, FLAGS, MONITOR, CONTROL, OTHER_CELLS = 3, 4, 5, 23, 6, 3, 4

_BLOCK_HEAD = struct.Struct("=IIIII")  # version, to private data, status, frames, to the first
_FRAME_HEAD = struct.Struct("=I16sIH")  # to the next, stamp and lengths as pcap has them, status, to the data


class SnifferError(Exception):
    """An interface that cannot be listened to; str() is one sentence."""


def open_ring(interface: str, blocks: int = BLOCKS, retire: int = RETIRE) -> tuple[socket.socket, int]:
    """A socket that sees an interface of this namespace, its ring of `blocks` filled from now on; and the link type.

    A block is handed over after `retire` ms at the latest. Raises SnifferError.
    """
    try:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise SnifferError("listening to an interface needs root, or the capability CAP_NET_RAW") from None
    try:
        link_type = _link_type(opened, interface)
        opened.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        opened.setsockopt(SOL_PACKET, PACKET_RX_RING,
                          struct.pack("=7I", BLOCK, blocks, FRAME, BLOCK * blocks // FRAME, retire, 0, 0))
        opened.bind((interface, ALL_PROTOCOLS))
    except OSError as error:
        opened.close()
        if error.errno == errno.ENODEV:
            names = ", ".join(name for _, name in socket.if_nameindex())
            raise SnifferError(f"there is no interface {interface}; there are {names}") from None
        raise SnifferError(f"cannot listen to {interface}: {error.strerror}") from None
    except SnifferError:
        opened.close()
        raise
    return opened, link_type


def _link_type(opened: socket.socket, interface: str) -> int:
    """What frames an interface has now. Raises SnifferError, and OSError when it is gone."""
    kind = struct.unpack_from("=H", fcntl.ioctl(opened, SIOCGIFHWADDR, struct.pack("40s", interface.encode()[:15])), 16)[0]
    if kind not in LINK_TYPES:
        raise SnifferError(f"{interface} carries neither Ethernet nor radiotap frames; give another interface")
    return LINK_TYPES[kind]


class Ring:
    """What the kernel has seen through a socket of `open_ring`; `dropped` counts what found the ring full."""

    def __init__(self, opened: socket.socket, blocks: int = BLOCKS) -> None:
        self.socket = opened
        self.dropped = 0
        self._blocks, self._block = blocks, 0
        self._memory = mmap.mmap(opened.fileno(), BLOCK * blocks)

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """(head, data) of every frame in the blocks that the kernel has handed over: a pcap file's record."""
        ring = self._memory
        while True:
            start = self._block * BLOCK
            _, _, status, frames, first = _BLOCK_HEAD.unpack_from(ring, start)
            if not status & HANDED_OVER:
                break
            at = start + first
            for _ in range(frames):
                to_next, record, _, to_data = _FRAME_HEAD.unpack_from(ring, at)
                begin = at + to_data
                yield record, ring[begin:begin + int.from_bytes(record[8:12], "little")]
                at += to_next
            struct.pack_into("=I", ring, start + 8, 0)  # it is the kernel's again
            self._block = (self._block + 1) % self._blocks
        _, dropped, _ = struct.unpack("=III", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12))
        self.dropped += dropped

    def close(self) -> None:
        self._memory.close()
        self.socket.close()


class Sniffer:
    """Writes what an interface sees to a new file; `frames` and `dropped` count, and `interruptions`: how often the
    interface was down or away."""

    def __init__(self, interface: str, path: Path) -> None:
        """Raises SnifferError, and OSError for the file."""
        self._interface = interface
        self.frames = self.dropped = self.interruptions = 0
        opened, self._link_type = open_ring(interface)
        self._ring: Ring | None = Ring(opened)
        self._file = AppendOnly(path, file_header(self._link_type))

    def run(self, going: Callable[[], bool]) -> None:
        """Until `going()` is false, which is asked several times a second; while the interface is gone, it waits for it.
        Raises SnifferError when it comes back with frames of another kind, which this file cannot hold."""
        try:
            while going():
                if self._ring is None:
                    self._return()
                elif not self._wait(self._ring):
                    self._leave(self._ring)
        finally:
            self.close()

    def take(self) -> None:
        """All that the kernel has handed over by now, as `run` does again and again. Raises DiskFull."""
        if self._ring is not None:
            self._take(self._ring)

    def close(self) -> None:
        """Take what is in the ring still, and write it out. Raises DiskFull."""
        if self._ring is not None:
            time.sleep(2 * RETIRE / 1000)  # the block in hand is given over
            self._take(self._ring)
            self._leave(self._ring)
        self._file.flush()

    def _wait(self, ring: Ring) -> bool:
        """Take what comes in a little while; whether the interface is still there."""
        poll = select.poll()
        poll.register(ring.socket, select.POLLIN | select.POLLERR)
        ready = poll.poll(2 * RETIRE)
        self._take(ring)
        if any(events & (select.POLLERR | select.POLLNVAL) for _, events in ready):
            code = ring.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self.interruptions += 1
            if code == errno.ENETDOWN:
                time.sleep(RETIRE / 1000)  # it may only be down; then it goes on by itself, if its frames are the same
                with contextlib.suppress(OSError):
                    self._check(_link_type(ring.socket, self._interface))
            return self._interface in (name for _, name in socket.if_nameindex())
        return True

    def _take(self, ring: Ring) -> None:
        """Every block that the kernel has handed over."""
        before = ring.dropped
        for head, data in ring.records():
            self._file.append(head + data)
            self.frames += 1
        self.dropped += ring.dropped - before

    def _leave(self, ring: Ring) -> None:
        self._take(ring)
        ring.close()
        self._ring = None

    def _return(self) -> None:
        try:
            opened, link_type = open_ring(self._interface)
        except SnifferError:
            time.sleep(RETURNS)
            return
        try:
            self._check(link_type)
        except SnifferError:
            opened.close()
            raise
        self._ring = Ring(opened)

    def _check(self, link_type: int) -> None:
        if link_type != self._link_type:
            raise SnifferError(f"{self._interface} now carries frames of another kind, as when a radio enters or leaves monitor mode; "
                               f"the capture ends after {self.frames:,} frames: start another")


class Monitor:
    """A monitor interface beside an interface of a radio, for as long as the context lasts; its value is the name."""

    def __init__(self, interface: str) -> None:
        self._interface = interface

    def __enter__(self) -> str:
        """Raises SnifferError."""
        try:
            index = socket.if_nametoindex(self._interface)
        except OSError:
            names = ", ".join(name for _, name in socket.if_nameindex())
            raise SnifferError(f"there is no interface {self._interface}; there are {names}") from None
        name = f"mon{index}"
        heard = attribute(CONTROL, b"") + attribute(OTHER_CELLS, b"")
        try:
            with genetlink.open_socket() as control:
                kind = genetlink.family(control, NL80211)
                genetlink.ask(control, kind, NEW_INTERFACE, attribute(IFINDEX, struct.pack("=I", index))
                              + attribute(IFNAME, name.encode() + b"\0") + attribute(IFTYPE, struct.pack("=I", MONITOR))
                              + attribute(FLAGS, heard))
                self._index = socket.if_nametoindex(name)
                _up(name)
        except OSError as error:
            raise SnifferError(f"{self._interface} cannot go into monitor mode ({error.strerror}); capture without "
                               "--monitor, or use a radio that has monitor mode") from None
        return name

    def __exit__(self, *failure: object) -> None:
        try:
            with genetlink.open_socket() as control:
                genetlink.ask(control, genetlink.family(control, NL80211), DEL_INTERFACE,
                              attribute(IFINDEX, struct.pack("=I", self._index)))
        except OSError:
            pass  # the radio is gone, and it with it


def _up(name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sH22x", name.encode(), IFF_UP))


def going_until(stop: list[object], seconds: float | None) -> Callable[[], bool]:
    """True until something is put in `stop`, or so long."""
    end = None if seconds is None else time.monotonic() + seconds
    return lambda: not stop and (end is None or time.monotonic() < end)
