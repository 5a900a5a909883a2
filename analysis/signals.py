"""How strong the frames were that radios heard, where a capture tells: 802.11 frames behind radiotap headers.

The world hwsim captures so, and `roamcast capture --monitor` in a field. Whose a frame is its datagram says (the
sender in our header, node/schema/header.toml), and that station's other frames are known by its address from then on.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.run import Run
from node.schema import header

SCHEMA = "receiver long, sender long, t double, signal long, rate double, bytes long"
NANOSECONDS, MICROSECONDS, RADIOTAP = 0xA1B23C4D, 0xA1B2C3D4, 127
FIELDS = ((8, 8), (1, 1), (1, 1), (4, 2), (2, 1), (1, 1))  # bytes and alignment of radiotap's fields up to the signal
RATE, SIGNAL = 2, 5
SNAP_IPV4 = bytes.fromhex("aaaa030000000800")
UDP = 17


def signals(spark: SparkSession, run: Run) -> DataFrame | None:
    """One row a frame that was received and whose sender is known; None where no capture has signals.

    `t` in s of the run, `signal` in dBm, `rate` in bit/s; `receiver` is the number in the capture's name.
    """
    captures = [path for path in sorted((run.path / "captures").glob("*.pcap")) if path.stem.isdecimal() and _tells(path)]
    if not captures:
        return None
    began = float(run.manifest.get("epoch") or 0.0)
    files = spark.createDataFrame([(int(path.stem), str(path)) for path in captures], "host long, path string")

    def rows(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            for host, path in zip(batch["host"], batch["path"], strict=True):
                yield pd.DataFrame(heard(int(host), Path(path).read_bytes(), began),
                                   columns=["receiver", "sender", "t", "signal", "rate", "bytes"])

    return files.repartition(min(len(captures), spark.sparkContext.defaultParallelism)).mapInPandas(rows, SCHEMA)


def strength(found: DataFrame | None) -> dict[str, float]:
    """For the summary: the median signal of what was received and that of its weakest twentieth, dBm; nan without any."""
    row = None if found is None else found.agg(F.percentile("signal", F.lit(0.5)).alias("median"),
                                               F.percentile("signal", F.lit(0.05)).alias("weak")).first()
    if row is None or row["median"] is None:
        return {"signal_median": math.nan, "signal_weak": math.nan}
    return {"signal_median": row["median"], "signal_weak": row["weak"]}


def _tells(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(24)
    if len(head) < 24:
        return False
    order = _order(head)
    return order is not None and struct.unpack_from(f"{order[0]}I", head, 20)[0] & 0xFFFF == RADIOTAP


def _order(head: bytes) -> tuple[str, float] | None:
    """(byte order, s of a stamp's second part) of a pcap file, None for something else."""
    for order in "<>":
        magic = struct.unpack_from(f"{order}I", head)[0]
        if magic in (NANOSECONDS, MICROSECONDS):
            return order, 1e-9 if magic == NANOSECONDS else 1e-6
    return None


def heard(receiver: int, capture: bytes, began: float) -> list[tuple[int, int, float, int, float, int]]:
    """The rows of one capture. A last record that was cut off is left out; what is no frame is passed over."""
    order, part = _order(capture)
    stamp, at, rows, stations = struct.Struct(f"{order}IIII"), 24, [], {}
    while at + stamp.size <= len(capture):
        seconds, fraction, length, _ = stamp.unpack_from(capture, at)
        at += stamp.size
        data = capture[at:at + length]
        at += length
        if len(data) < length or (tap := _radiotap(data)) is None:
            continue
        signal, rate, frame = tap
        if len(frame) < 16 or signal is None:
            continue  # an acknowledgement names no sender; what the radio sent itself has no signal
        station = frame[10:16]
        if (sender := _node(frame)) is not None and station not in stations:
            stations[station] = sender
        if station in stations:
            rows.append((receiver, stations[station], seconds - began + fraction * part, signal, rate, len(frame)))
    return rows


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
    if frame[0] & 0x4C != 0x08 or frame[body:body + 8] != SNAP_IPV4:
        return None
    packet = frame[body + 8:]
    udp = 4 * (packet[0] & 15) if packet else 0
    if udp < 20 or len(packet) < udp + 8 + _SENDER_AT + 4 or packet[9] != UDP:
        return None
    if not any(packet[udp + side:udp + side + 2] == _PORT for side in (0, 2)):
        return None
    datagram = packet[udp + 8:]
    return int.from_bytes(datagram[_SENDER_AT:_SENDER_AT + 4], "big") if datagram.startswith(_MAGIC) else None


_HEADER = header()
_MAGIC, _PORT = _HEADER.magic, _HEADER.port.to_bytes(2, "big")
_SENDER_AT = struct.calcsize("!" + "".join(form for name, form, _ in _HEADER.fields[:[
    name for name, *_ in _HEADER.fields].index("sender")]))
