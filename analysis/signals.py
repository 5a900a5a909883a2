"""How strong the frames were that radios heard, where a capture tells: 802.11 frames behind radiotap headers.

The world hwsim captures so, and `roamcast capture --monitor` in a field. Whose a frame is its datagram says (the
sender in our header, node/schema/header.toml), and that station's other frames are known by its address from then on.
"""
from __future__ import annotations

import gzip
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.facts import Signals
from analysis.local import Context
from analysis.run import Run
from node.schema import header

SCHEMA = pa.schema([("receiver", pa.int64()), ("sender", pa.int64()), ("t", pa.float64()), ("signal", pa.int64()),
                    ("rate", pa.float64()), ("bytes", pa.int64())])
WITH_SIGNALS = ("hwsim", "field")  # worlds whose captures have some, or should
HEAD, GZIP = 24, b"\x1f\x8b"  # bytes of a pcap file's header; how a file begins that gzip packed
ASTRAY = 5.0  # s before or behind a run that a capture may be by its clock
HEADS = (4, 16)  # bytes that a reader asks for where a packet or a block may begin
_NAME = re.compile(r"(0|[1-9]\d{0,5})\.(pcap|pcapng|cap)(\.gz)?")
NANOSECONDS, MICROSECONDS, RADIOTAP = 0xA1B23C4D, 0xA1B2C3D4, 127
PCAP, PCAPNG = (NANOSECONDS, MICROSECONDS), bytes.fromhex("0a0d0d0a")  # how files begin
FIELDS = ((8, 8), (1, 1), (1, 1), (4, 2), (2, 1), (1, 1))  # bytes and alignment of radiotap's fields up to the signal
RATE, SIGNAL = 2, 5
SNAP_IPV4, SNAP_IPV6 = bytes.fromhex("aaaa030000000800"), bytes.fromhex("aaaa0300000086dd")
UDP = 17
IPV6_HEADER = 40  # bytes
OURS = "medium.jsonl"  # in the same folder, by the medium of the world netns: what became of each frame

Order = Literal["little", "big"]
Row = tuple[int, int | None, float, int, float, int]  # of SCHEMA; without a sender: see heard


def captured(run: Run) -> tuple[dict[int, Path], list[str]]:
    """The capture of each host that may tell signals, and notes on files in the folder `captures` that do not, or are
    passed over. About captures of worlds without signals there is nothing to say."""
    folder = run.path / "captures"
    found: dict[int, Path] = {}
    notes = ["captures is not a folder and was skipped"] if folder.is_file() else []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name == OURS:
            continue
        named = _NAME.fullmatch(path.name)
        host = int(named[1]) if named else -1
        if host not in run.hosts:
            why = "its name is not NUMBER.pcap with the number of one of the run's hosts"
        elif (head := _head(path)) is None or head and not _known(head):
            why = "it is not a capture in the format pcap or pcapng"
        elif not head:
            why = "it is empty"
        elif host in found:
            why = f"{found[host].name} is from the same host"
        elif _tells(head):
            found[host] = path
            continue
        elif run.world in WITH_SIGNALS:
            why = "its frames have no radiotap headers, which hold the signal"
        else:
            continue
        notes.append(f"captures/{path.name} was skipped: {why}")
    if found and run.began is None:
        notes.append("the manifest has neither an epoch nor a start with a time zone: times in the table signals are those of the wall "
                     "clock, in s since 1970")
    return dict(sorted(found.items())), notes


class Heard(NamedTuple):
    """What captures told."""

    levels: Counter[int]  # signal in dBm -> frames received so
    # host -> 1 for a capture that broke off, 0 for one that has no frame with a radiotap header, 2 for none whose sender is known
    broken: dict[int, int]
    spans: dict[int, tuple[float, float]]  # host -> s of the run, the earliest and the latest frame that counts


def signals(context: Context, run: Run, captures: dict[int, Path], out: Path) -> Heard:
    """Write `out`/signals.parquet, one row a frame that was received and whose sender is known, one Spark job.

    `t` in s of the run, `signal` in dBm, `rate` in bit/s; `receiver` is the number in the capture's name.
    """
    began, folder = run.began or 0.0, out.resolve() / "signals.parquet"
    folder.mkdir()

    def written(host: int, path: str) -> Heard:
        with _opened(Path(path)) as file:
            rows = heard(host, file, began)
        known = [row for row in rows if row[1] is not None]
        columns = zip(*known, strict=True) if known else [()] * len(SCHEMA)
        table = pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
        with (folder / f"part-{host}.parquet").open("wb") as file:
            pq.write_table(table, file)
        times = [row[2] for row in known]
        return Heard(Counter(row[3] for row in known), {host: row[5] for row in rows if row[1] is None},
                     {host: (min(times), max(times))} if times else {})

    files = [(host, str(path.resolve())) for host, path in captures.items()]
    found = context.parallelize(files, len(files)).map(lambda file: written(*file)).collect()
    return Heard(sum((one.levels for one in found), Counter()), {host: why for one in found for host, why in one.broken.items()},
                 {host: span for one in found for host, span in one.spans.items()})


def broken_off(found: Heard, ended: float = math.inf) -> list[str]:
    """Notes on captures that end in the middle, hold no signals after all, or were made at another time than the run."""
    why = {0: "has no signals: none of its frames has a radiotap header",
           1: "ends in the middle of a frame, or is damaged there: what came before counts",
           2: f"has no signals: none of its frames is from a known host, which a datagram over UDP port {_HEADER.port} would show"}
    notes = [f"the capture of host {host} {why[which]}" for host, which in sorted(found.broken.items())]
    return notes + [f"the capture of host {host} was made from {first:,.0f} to {last:,.0f} s of the run, which ended at "
                    f"{ended:g} s: its clock was wrong, or it is from another run; its signals count"
                    for host, (first, last) in sorted(found.spans.items()) if first > ended + ASTRAY or last < -ASTRAY]


def facts(found: Heard | None) -> Signals | None:
    """None where no capture tells signals."""
    if found is None or not found.levels:
        return None
    levels = sorted(found.levels)
    return Signals(np.repeat(np.array(levels, dtype=np.int16), [found.levels[level] for level in levels]))


def _opened(path: Path) -> BufferedIOBase:
    """A capture to read, unpacked if gzip packed it, whatever its name says."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    return gzip.open(path) if packed else path.open("rb")


def _head(path: Path) -> bytes | None:
    """The first bytes of a capture; None for what cannot be read."""
    try:
        with _opened(path) as file:
            return file.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return None


def _order(head: bytes) -> Order | None:
    """The byte order of a pcap file; None for anything else."""
    orders: tuple[Order, Order] = ("little", "big")
    return next((order for order in orders if int.from_bytes(head[:4], order) in PCAP and len(head) == HEAD), None)


def _known(head: bytes) -> bool:
    return head[:4] == PCAPNG or _order(head) is not None


def _tells(head: bytes) -> bool:
    """Whether the frames of a file that begins so may have radiotap headers. One in pcapng tells it of each interface."""
    order = _order(head)
    return order is None or int.from_bytes(head[20:24], order) & 0xFFFF == RADIOTAP


def heard(receiver: int, capture: BufferedIOBase, began: float) -> list[Row]:
    """The rows of one capture. What is no frame is passed over; a row without a sender tells that it broke off, has no
    radiotap headers, or no frame of a known sender."""
    rows: list[Row] = []
    stations: dict[bytes, int] = {}
    tells = False
    for stamp, link, data in _packets(capture):
        if data is None:
            return [*rows, (receiver, None, 0.0, 0, 0.0, 1)]
        if link & 0xFFFF != RADIOTAP:
            continue
        tells = True
        if (tap := _radiotap(data)) is None:
            continue
        signal, rate, frame = tap
        if len(frame) < 16 or signal is None:
            continue  # an acknowledgement names no sender; what the radio sent itself has no signal
        station = frame[10:16]
        if (sender := _node(frame)) is not None and station not in stations:
            stations[station] = sender
        if station in stations:
            rows.append((receiver, stations[station], stamp - began, signal, rate, len(frame)))
    return rows or [(receiver, None, 0.0, 0, 0.0, 2 if tells else 0)]


def _packets(capture: BufferedIOBase) -> Iterator[tuple[float, int, bytes | None]]:
    """(s since 1970, type of its link layer, the packet); None for the packet where the file breaks off."""
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader
    whole = _Whole(capture)
    try:
        reader: Any = RawPcapReader(whole)  # type: ignore[arg-type]  # pcapng too; it reads what has `read`
        while (found := next(reader, None)) is not None and not whole.missing:
            data, about = found
            if hasattr(about, "tsresol"):
                yield ((about.tshigh or 0) * 2**32 + (about.tslow or 0)) / about.tsresol, about.linktype, data
            else:
                yield about.sec + about.usec * (1e-9 if reader.nano else 1e-6), reader.linktype, data
    except (Scapy_Exception, OSError, EOFError, ValueError, ArithmeticError, LookupError, struct.error, zlib.error):
        whole.missing += 1
    if whole.missing:
        yield 0.0, RADIOTAP, None


class _Whole:
    """A file that counts how often a reader got less than it asked for; to get nothing in place of a head is the end."""

    def __init__(self, file: BufferedIOBase) -> None:
        self._file, self.missing = file, 0

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._file.read(size)
        except (OSError, EOFError, zlib.error):  # packed, and damaged
            self.missing += 1
            return b""
        self.missing += len(data) < size and (len(data) > 0 or size not in HEADS)
        return data

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def _radiotap(data: bytes) -> tuple[int | None, float, bytes] | None:
    """(signal in dBm, rate in bit/s, the frame behind the header); None for what has no such header."""
    if len(data) < 8 or data[0] != 0:
        return None
    length, present = struct.unpack_from("<HI", data, 2)
    if length > len(data) or length < 8:
        return None
    at, more = 8, present
    while more & 1 << 31 and at + 4 <= length:
        more, = struct.unpack_from("<I", data, at)
        at += 4
    signal, rate = None, 0.0
    for bit, (size, alignment) in enumerate(FIELDS):
        if not present & 1 << bit:
            continue
        at += -at % alignment
        if at + size > length:
            return None
        if bit == RATE:
            rate = data[at] * 500_000.0
        if bit == SIGNAL:
            signal = data[at] - 256 if data[at] > 127 else data[at]
        at += size
    return signal, rate, data[length:]


def _node(frame: bytes) -> int | None:
    """Who sent the datagram of ours in a frame; None for any other frame."""
    body = 24 + (2 if frame[0] & 0x88 == 0x88 else 0)
    kind, packet = frame[body:body + 8], frame[body + 8:]
    if frame[0] & 0x4C != 0x08 or kind not in (SNAP_IPV4, SNAP_IPV6) or not packet:
        return None
    udp, inside = (4 * (packet[0] & 15), 9) if kind == SNAP_IPV4 else (IPV6_HEADER, 6)
    if udp < 20 or len(packet) < udp + 8 + _SENDER_AT + 4 or packet[inside] != UDP:
        return None
    if not any(packet[udp + side:udp + side + 2] == _PORT for side in (0, 2)):
        return None
    datagram = packet[udp + 8:]
    return int.from_bytes(datagram[_SENDER_AT:_SENDER_AT + 4], "big") if datagram.startswith(_MAGIC) else None


_HEADER = header()
_MAGIC, _PORT = _HEADER.magic, _HEADER.port.to_bytes(2, "big")
_SENDER_AT = struct.calcsize("!" + "".join(form for name, form, _ in _HEADER.fields[:[
    name for name, *_ in _HEADER.fields].index("sender")]))
