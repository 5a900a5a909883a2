"""The packets of a capture file: pcap and pcapng, either byte order, micro- and nanoseconds, packed by gzip or not.

Nothing in a file is believed. Every byte behind a file's head belongs to one packet, to a block of pcapng that holds no
packet, or to a packet whose `fault` says what is wrong with these bytes; so what is damaged can be counted, and reading
goes on behind it. A place where reading can go on is one from which several headers follow each other and make sense.

Large files are cut into parts. pcap has no index, and reading all headers first would have one process touch the whole
file. So a part of a pcap file begins behind a packet from which on the headers make sense for longer than any one packet can
be, the largest one of those that reach over the place: a capture inside of a packet is not taken for the capture. If the last
record of a part still reaches past the start of the next, a row says so. In pcapng a packet means something only with the descriptions of interfaces before it, which may stand anywhere;
there the heads of the blocks are walked over first. What gzip packed is one part: it can only be read from its beginning.
"""
from __future__ import annotations

import gzip
import mmap
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple

import numpy as np

SPLIT = 32 << 20  # bytes of a file for a part
LARGEST = 1 << 18  # bytes of a packet, as libpcap allows them
LARGEST_BLOCK = 1 << 20  # bytes of a block of pcapng; larger ones are no blocks
READ = 1 << 22  # bytes read at once
STEP = 1 << 14  # bytes searched at once for where packets begin again
CHAIN = {"pcap": 4, "pcapng": 2}  # headers in a row that show where packets begin again
CLOSE = 86_400  # s between a packet and the next; headers further apart show nothing
NAME = re.compile(r"[^.].*\.(pcap|pcapng|cap)(\.gz)?", re.IGNORECASE)  # of captures in a folder
GZIP = b"\x1f\x8b"
HEAD, RECORD = 24, 16  # bytes in front of a pcap file and of each of its packets
MAGICS = {0xA1B2C3D4: 1_000_000, 0xA1B23C4D: 1_000_000_000}  # of a pcap file -> parts of a second in its stamps
SECTION, INTERFACE, OLD_PACKET, SIMPLE, PACKET = 0x0A0D0D0A, 1, 2, 3, 6  # types of blocks of pcapng
BYTE_ORDER = 0x1A2B3C4D
OTHER_BLOCKS = {4, 5, 7, 8, 9, 10, 11, 0xBAD, 0x40000BAD, *range(0x201, 0x20A)}  # known, and without packets
_BLOCKS = {SECTION, INTERFACE, OLD_PACKET, SIMPLE, PACKET, *OTHER_BLOCKS}
LATEST = 2**63 - 1  # ns since 1970


class Interface(NamedTuple):
    link: int  # type of its link layer
    snap: int  # bytes kept of a packet at most, 0: all
    units: int  # of its stamps, in a second
    offset: int  # s to add to them


class Part(NamedTuple):
    """A part of a capture: the packets that begin in [start, end) of its bytes, unpacked ones if gzip packed it."""

    path: str
    start: int
    end: int | None  # None: where the file ends
    form: str  # pcap, pcapng; else why it is neither
    order: str = "<"
    interfaces: tuple[Interface, ...] = ()
    packed: bool = False


class Packet(NamedTuple):
    offset: int  # bytes from the beginning of the file, unpacked, to its header
    size: int  # bytes of the file that it takes, header included
    time: int | None  # ns since 1970
    link: int | None  # type of the link layer
    length: int | None  # bytes on the wire
    data: bytes
    fault: str | None = None  # what is wrong with it


def files(path: Path) -> list[Path]:
    """The capture at a path, or those in a folder by their names. Raises FileNotFoundError where there is none."""
    if path.is_dir():
        if found := sorted(file for file in path.iterdir() if NAME.fullmatch(file.name)):
            return found
        raise FileNotFoundError(f"{path}: no file in it ends in .pcap, .pcapng or .cap, or these with .gz")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder; give a capture, or a folder of captures")
    return [path]


def parts(path: Path, split: int = SPLIT) -> list[Part]:
    """A capture cut into parts of about `split` bytes; one part that says why for what is no capture. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return [Part(str(path), 0, 0, "file: not a plain file")]
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    try:
        with _opened(path, packed) as opened:
            head = opened.read1(HEAD) if packed else opened.read(HEAD)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return [Part(str(path), 0, 0, "gzip: damaged at its beginning", packed=True)]
    size = os.stat(path).st_size
    first = _first(str(path), head, packed)
    if first.form not in ("pcap", "pcapng") or packed or size <= split:
        return [first]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _cut_pcap(first, data, split) if first.form == "pcap" else _cut_pcapng(first, data, split)


def _first(path: str, head: bytes, packed: bool) -> Part:
    """The part that is the whole file, by how it begins."""
    for order in "<>":
        if len(head) == HEAD and (units := MAGICS.get(struct.unpack_from(order + "I", head)[0])):
            snap, link = struct.unpack_from(order + "II", head, 16)
            return Part(path, HEAD, None, "pcap", order, (Interface(link & 0xFFFF, snap, units, 0),), packed)
    if len(head) >= 12 and head[:4] == struct.pack("<I", SECTION) and (found := _order_of(head, 0)):
        return Part(path, 0, None, "pcapng", found, (), packed)
    why = "file: empty" if not head else "file: neither pcap nor pcapng"
    return Part(path, 0, None, why, packed=packed)


def _opened(path: Path | str, packed: bool) -> BufferedIOBase:
    return gzip.open(path) if packed else open(path, "rb")


def _cut_pcap(whole: Part, data: mmap.mmap, split: int) -> list[Part]:
    starts = [whole.start]
    for near in range(whole.start + split, len(data) - split // 2, split):
        before = near - LARGEST - RECORD
        window = data[max(before, whole.start):near + 4 * LARGEST]
        found = _reaching_over(whole, window, near - max(before, whole.start), near + 4 * LARGEST >= len(data))
        if found is not None and near + found > starts[-1]:
            starts.append(near + found)
    ends: list[int | None] = [*starts[1:], None]
    return [whole._replace(start=start, end=end) for start, end in zip(starts, ends, strict=True)]


def _reaching_over(part: Part, data: bytes, near: int, ended: bool) -> int | None:
    """How far behind `near` the record ends that reaches over that place; None where none is found.

    It is the first that begins before, fits, and has others behind it for longer than a packet can be: a capture inside of a
    packet has records that fit, too, and behind its last one the true ones go on, but all of them begin later.
    """
    for place in _records(part, data, 0):
        if place >= near:
            break
        step = _plausible(part, data, place)
        if step is not None and step[0] >= near and _chained(part, data, step[0], LARGEST, ended):
            return step[0] - near
    return None


def _cut_pcapng(whole: Part, data: mmap.mmap, split: int) -> list[Part]:
    found, state, at = [whole], whole, 0
    while (block := _block(state, data, at)) is not None:
        if at >= found[-1].start + split:
            found[-1] = found[-1]._replace(end=at)
            found.append(state._replace(start=at))
        state = _described(state, data, at, *block)
        at += block[1]
    return found


def packets(part: Part) -> Iterator[Packet]:
    """The packets of a part in their order, and in their places what is wrong. Raises OSError where there is no file."""
    if part.form not in ("pcap", "pcapng"):
        size = os.stat(part.path).st_size if not part.packed and not part.form.startswith("file: not") else 0
        yield Packet(0, size, None, None, None, b"", part.form)
        return
    with _opened(part.path, part.packed) as file:
        yield from _Reader(part, file).packets()


class _Reader:
    """Reads a part through a window that always reaches far enough behind the place that is read."""

    def __init__(self, part: Part, file: BufferedIOBase) -> None:
        self._part, self._file = part, file
        self._data, self._at, self._base = b"", 0, part.start  # window, place in it, where in the file it begins
        self._ended, self._damaged = False, False
        self._before: int | None = None  # s of the packet before
        if part.packed:
            self._skip(part.start)
        else:
            file.seek(part.start)
        self._reach = 2 * LARGEST if part.form == "pcap" else 2 * LARGEST_BLOCK

    def _skip(self, size: int) -> None:
        try:
            while size > 0 and (data := self._file.read(size)):
                size -= len(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            self._ended = self._damaged = True

    def _fill(self) -> None:
        """Have enough bytes behind the place, or all that there are."""
        if self._ended or len(self._data) - self._at >= self._reach:
            return
        pieces, size = [self._data[self._at:]], len(self._data) - self._at
        self._base += self._at
        self._at = 0
        while not self._ended and size < self._reach + READ:
            try:
                piece = self._file.read1(READ)
            except (EOFError, gzip.BadGzipFile, zlib.error):
                self._ended = self._damaged = True
                break
            self._ended = not piece
            pieces.append(piece)
            size += len(piece)
        self._data = b"".join(pieces)

    @property
    def _offset(self) -> int:
        return self._base + self._at

    def packets(self) -> Iterator[Packet]:
        take = self._record if self._part.form == "pcap" else self._next_block
        end = self._part.end
        while True:
            self._fill()
            if self._at >= len(self._data) or end is not None and self._offset >= end:
                break
            found = take()
            if end is not None and self._offset > end:  # it leads past the place where the next part begins
                offset = self._offset - found.size if found is not None else end
                yield Packet(offset, end - offset, None, None, None, b"", "record: leads into the middle of the packets behind it")
                return
            if found is not None:
                yield found
        if self._damaged:
            yield Packet(self._offset, 0, None, None, None, b"", "gzip: damaged or cut here; what came after is missing")

    def _bad(self, why: str, least: int = 1) -> Packet:
        """What is no packet, up to where packets begin again."""
        end = self._part.end
        limit = len(self._data) if end is None else min(len(self._data), end - self._base)
        size, at = 0, self._at
        found = _resumes(self._part, self._data, at + least, self._ended, self._before)
        size = (limit if found is None else min(found, limit)) - at
        if found is None and not self._ended and limit == len(self._data):
            size = max(least, len(self._data) - at - self._reach // 2)  # the rest may begin a packet
        offset, self._at = self._offset, at + size
        return Packet(offset, size, None, None, None, b"", why)

    # ---- pcap

    def _record(self) -> Packet:
        data, at, part = self._data, self._at, self._part
        left = len(data) - at
        if left < RECORD:
            return self._bad(f"cut: the file ends in the header of a packet, {left} bytes behind its beginning", left)
        seconds, fraction, kept, length = struct.unpack_from(part.order + "IIII", data, at)
        face = part.interfaces[0]
        if fraction >= face.units or kept > LARGEST:
            return self._bad("record: its header makes no sense")
        size = RECORD + kept
        usual = 0 < kept == (min(length, face.snap) if face.snap else length)
        jumps = self._before is not None and abs(seconds - self._before) > CLOSE
        if size > left:
            return self._short(part, seconds, fraction, length, left)
        if not usual or jumps:  # then the next one must show that its length is right
            behind = at + size
            if not (behind == len(data) and self._ended or _plausible(part, data, behind) is not None):
                return self._bad("record: its length is wrong")
        fault = f"record: says that {kept} bytes of {length} were kept" if kept > length else None
        packet = Packet(self._offset, size, _nanoseconds(seconds * face.units + fraction, face), face.link, length,
                        data[at + RECORD:at + size], fault)
        self._at, self._before = at + size, seconds
        return packet

    def _short(self, part: Part, seconds: int, fraction: int, length: int, left: int) -> Packet:
        """A packet that says to be longer than what is left of the file: the last one was cut, or it lies."""
        face, data, at = part.interfaces[0], self._data, self._at
        if _resumes(part, data, at + 1, True, seconds) is not None:
            return self._bad("record: says to be longer than the rest of the file")
        packet = Packet(self._offset, left, _nanoseconds(seconds * face.units + fraction, face), face.link, length,
                        data[at + RECORD:], "cut: the file ends within this packet")
        self._at = len(data)
        return packet

    # ---- pcapng

    def _next_block(self) -> Packet | None:
        """The next block; None for one that has no packet."""
        data, at, left = self._data, self._at, len(self._data) - self._at
        block = _block(self._part, data, at)
        if block is None:
            whole = left >= 8 and _length(self._part, data, at) or 0
            cut = left < 12 or left < whole <= LARGEST_BLOCK and _resumes(self._part, data, at + 1, True, None) is None
            return self._bad("cut: the file ends within this block", left) if cut and self._ended else \
                self._bad("block: its two lengths differ or make no sense")
        kind, size = block
        offset = self._offset
        self._at += size
        if kind in (PACKET, OLD_PACKET, SIMPLE):
            return _packet(self._part, data, at, kind, size, offset)
        before = len(self._part.interfaces)
        self._part = _described(self._part, data, at, kind, size)
        if kind == INTERFACE and len(self._part.interfaces) == before:
            return Packet(offset, size, None, None, None, b"", "block: a description of an interface that is too short")
        if kind not in _BLOCKS:
            return Packet(offset, size, None, None, None, b"", f"block: of the unknown type {kind:#x}")
        return None


def _nanoseconds(stamp: int, face: Interface) -> int | None:
    found = stamp * 1_000_000_000 // face.units + face.offset * 1_000_000_000
    return found if 0 <= found <= LATEST else None


def _order_of(data: bytes | mmap.mmap, at: int) -> str | None:
    """The byte order of a section that begins here."""
    return next((order for order in "<>" if len(data) >= at + 12
                 and struct.unpack_from(order + "I", data, at + 8)[0] == BYTE_ORDER), None)


def _length(part: Part, data: bytes | mmap.mmap, at: int) -> int:
    kind, size = struct.unpack_from(part.order + "II", data, at)
    if kind == SECTION and (order := _order_of(data, at)):
        size, = struct.unpack_from(order + "I", data, at + 4)
    return int(size)


def _block(part: Part, data: bytes | mmap.mmap, at: int) -> tuple[int, int] | None:
    """(type, size) of the block that begins here; None for what is no whole block."""
    if len(data) < at + 12:
        return None
    kind, = struct.unpack_from(part.order + "I", data, at)
    order = part.order
    if kind == SECTION:
        order = _order_of(data, at) or ""
        if not order:
            return None
    size, = struct.unpack_from(order + "I", data, at + 4)
    least = 28 if kind == SECTION else 12
    if size % 4 or not least <= size <= LARGEST_BLOCK or at + size > len(data):
        return None
    return (kind, size) if struct.unpack_from(order + "I", data, at + size - 4)[0] == size else None


def _described(part: Part, data: bytes | mmap.mmap, at: int, kind: int, size: int) -> Part:
    """What is known of the section and its interfaces behind a block."""
    if kind == SECTION:
        return part._replace(order=_order_of(data, at) or part.order, interfaces=())
    if kind != INTERFACE or size < 20:
        return part
    link, snap = struct.unpack_from(part.order + "HxxI", data, at + 8)
    units, offset, option, end = 1_000_000, 0, at + 16, at + size - 4
    while option + 4 <= end:
        code, length = struct.unpack_from(part.order + "HH", data, option)
        value = data[option + 4:min(option + 4 + length, end)]
        if code == 0:
            break
        if code == 9 and len(value) == 1:
            units = 2 ** (value[0] & 127) if value[0] & 128 else 10 ** value[0]
        if code == 14 and len(value) == 8:
            offset, = struct.unpack(part.order + "q", value)
        option += 4 + length + -length % 4
    return part._replace(interfaces=(*part.interfaces, Interface(link, snap, units, offset)))


def _packet(part: Part, data: bytes, at: int, kind: int, size: int, offset: int) -> Packet:
    """The packet in a block."""
    head, room = {PACKET: (20, 32), OLD_PACKET: (20, 32), SIMPLE: (4, 16)}[kind]
    if size < room:
        return Packet(offset, size, None, None, None, b"", "block: too short for a packet")
    number, stamp = 0, None
    if kind == SIMPLE:
        length, = struct.unpack_from(part.order + "I", data, at + 8)
        kept = min(length, size - room, (part.interfaces[0].snap if part.interfaces else 0) or length)
    else:
        number, high, low, kept, length = struct.unpack_from(part.order + ("IIIII" if kind == PACKET else "HxxIIII"), data, at + 8)
        stamp = high << 32 | low
    if number >= len(part.interfaces):
        return Packet(offset, size, None, None, length, b"", f"block: of interface {number}, which the file does not describe")
    face = part.interfaces[number]
    start, fault = at + 8 + head, None
    if kept > size - room:
        kept, fault = size - room, f"block: says that {kept} bytes were kept and has room for {size - room}"
    elif kept > length:
        fault = f"block: says that {kept} bytes of {length} were kept"
    return Packet(offset, size, None if stamp is None else _nanoseconds(stamp, face), face.link, length,
                  data[start:start + kept], fault)


# ---- where packets begin again


def _plausible(part: Part, data: bytes, at: int, before: int | None = None) -> tuple[int, int] | None:
    """(where the next header would be, s) if a pcap record may begin here. `before`: s of the one before."""
    if len(data) < at + RECORD:
        return None
    seconds, fraction, kept, length = struct.unpack_from(part.order + "IIII", data, at)
    good = fraction < part.interfaces[0].units and 0 < kept <= length <= LARGEST
    return (at + RECORD + kept, seconds) if good and (before is None or abs(seconds - before) <= CLOSE) else None


def _resumes(part: Part, data: bytes, start: int, ended: bool, known: int | None) -> int | None:
    """The first place from `start` on from which whole packets follow each other: for some of them (CHAIN), or up to the end
    of the file, where `data` ends with it (`ended`). `known`: s of the last packet before."""
    places = _records(part, data, start) if part.form == "pcap" else _blocks(part, data, start)
    return next((place for place in places if _chained(part, data, place, 0, ended, known)), None)


def _chained(part: Part, data: bytes, place: int, span: int, ended: bool, known: int | None = None) -> bool:
    """Whether whole packets follow each other from `place` on, for at least `span` bytes. Few before the end of the file must
    begin close to `known`: bytes of a packet may look like one header."""
    at, count, before, first = place, 0, None, None
    while count < CHAIN[part.form] or at - place <= span:
        following: int | None
        if part.form == "pcap":
            step = _plausible(part, data, at, before)
            following, before = step if step is not None else (None, None)
            first = first if count else before
        else:
            block = _block(part, data, at)
            following = at + block[1] if block is not None and block[0] in _BLOCKS else None
        if following is None or following > len(data):
            cut = following is not None or len(data) - at < RECORD  # the last of them
            return ended and count >= 2 and part.form == "pcap" and cut
        at, count = following, count + 1
        if at == len(data) and ended:
            return first is None or known is None or abs(first - known) <= CLOSE
    return True


def _records(part: Part, data: bytes, start: int) -> Iterator[int]:
    """Where pcap records may begin, by their headers alone."""
    count = len(data) - start - RECORD + 1
    if count <= 0:
        return
    for near in range(start, start + count, STEP):
        size = min(STEP, start + count - near)
        raw = np.frombuffer(data, np.uint8, size + RECORD - 1, near).astype(np.uint32)
        if part.order == ">":
            words = raw[:-3] << 24 | raw[1:-2] << 16 | raw[2:-1] << 8 | raw[3:]
        else:
            words = raw[:-3] | raw[1:-2] << 8 | raw[2:-1] << 16 | raw[3:] << 24
        fraction, kept, length = (words[shift:shift + size] for shift in (4, 8, 12))
        good = (fraction < part.interfaces[0].units) & (kept > 0) & (kept <= length) & (length <= LARGEST)
        yield from (near + int(place) for place in np.flatnonzero(good))


def _blocks(part: Part, data: bytes, start: int) -> Iterator[int]:
    """Where blocks of pcapng of a known type may begin; they begin at multiples of 4 behind what is whole."""
    kinds = [struct.pack(part.order + "I", kind) for kind in (PACKET, SECTION, INTERFACE, SIMPLE, OLD_PACKET, 4, 5)]
    for near in range(start, len(data), STEP):
        found = []
        for kind in kinds:
            place = data.find(kind, near, near + STEP + 3)
            while place >= 0:
                found.append(place)
                place = data.find(kind, place + 1, near + STEP + 3)
        yield from sorted(found)
