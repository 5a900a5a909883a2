"""The table `frames`: its columns, and the rows of a part of a capture. `python -m analysis.frames.table` writes the columns
into docs/captures.md.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from analysis.frames import datagrams, layers
from analysis.frames.capture import Packet, Part, packets

BATCH = 5000  # rows
PAGE = Path(__file__).resolve().parents[2] / "docs" / "captures.md"
BEGIN, END = "<!-- frames: written by `python -m analysis.frames.table` -->\n", "<!-- end -->\n"
CHANNEL = pa.struct([("node", pa.int64()), ("nonce", pa.int64()), ("sequence", pa.int64())])
MESSAGE = pa.struct([("type", pa.string()), ("envelope", pa.string()), ("bytes", pa.int64()), ("to", pa.list_(CHANNEL)),
                     ("event", pa.string()), ("fields", pa.string())])


class Column(NamedTuple):
    name: str
    type: pa.DataType
    unit: str
    meaning: str


COLUMNS = (
    Column("capture", pa.string(), "", "the file's name up to its first dot; in a run the id of the host whose radio it was"),
    Column("offset", pa.int64(), "B", "from the beginning of the file (unpacked) to what this row is of"),
    Column("size", pa.int64(), "B", "of the file that this row is of, headers of the format included: rows leave out nothing but "
           "the file's head and the blocks of pcapng that hold no packet"),
    Column("time", pa.int64(), "ns", "since 1970, by the clock of the capture; null where it has none"),
    Column("length", pa.int64(), "B", "of the frame, as the capture says"),
    Column("captured", pa.int64(), "B", "of it that the capture kept"),
    Column("link", pa.string(), "", "`ethernet`, `radiotap`, `802.11`, or the number of another type"),
    Column("kind", pa.string(), "", "`data`; of 802.11 also `802.11 beacon`, `802.11 ack`, `rts`, `cts`, `probe` and others"),
    Column("signal", pa.int64(), "dBm", "null where the capture has none, as in what its own radio sent"),
    Column("rate", pa.float64(), "bit/s", "null where the capture has none"),
    Column("frequency", pa.int64(), "MHz", "of the channel; null where the capture has none"),
    Column("air", pa.int64(), "B", "of the 802.11 frame, its check sequence included; null for Ethernet"),
    Column("retry", pa.bool_(), "", "the radio sent it again; null for Ethernet"),
    Column("station", pa.string(), "", "Ethernet address of who put it on the air; null where the frame does not tell"),
    Column("target", pa.string(), "", "Ethernet address of whom it is for"),
    Column("source", pa.string(), "", "IP address"),
    Column("destination", pa.string(), "", "IP address"),
    Column("sender", pa.int64(), "", "of a datagram of ours: the node that put it on the air"),
    Column("epoch", pa.int64(), "", "its boot epoch"),
    Column("counter", pa.int64(), "", "of the datagram: each of a node's life has the next one"),
    Column("authenticated", pa.bool_(), "", "it has a tag, which is not checked"),
    Column("bytes", pa.int64(), "B", "of the datagram: UDP payload"),
    Column("messages", pa.list_(MESSAGE), "", "what it carries, [below](#messages)"),
    Column("malformed", pa.string(), "", "what is wrong with it: a word, a colon, the detail; null for most"),
)
SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])


def batches(part: Part, capture: str) -> Iterator[pa.RecordBatch]:
    """The rows of a part, some thousands at a time. Raises OSError."""
    found = (_row(capture, packet) for packet in packets(part))
    while rows := list(islice(found, BATCH)):
        columns = zip(*rows, strict=True)
        yield pa.record_batch([pa.array(values, column.type) for values, column in zip(columns, COLUMNS, strict=True)],
                              schema=SCHEMA)


def _row(capture: str, packet: Packet) -> tuple[Any, ...]:
    head = (capture, packet.offset, packet.size, packet.time, packet.length, len(packet.data))
    if packet.link is None:
        return (*head, *[None] * (len(COLUMNS) - len(head) - 1), packet.fault)
    found = layers.read(packet.link, packet.length or 0, packet.data)
    fault = packet.fault or found.fault
    datagram = None
    if found.payload is not None and found.ports is not None and datagrams.PORT in found.ports and not fault:
        try:
            datagram = datagrams.read(found.payload)
        except datagrams.Malformed as error:
            fault = str(error)
    ours: tuple[Any, ...] = (None,) * 6
    if datagram is not None:
        ours = (datagram.sender, datagram.epoch, datagram.counter, datagram.authenticated, len(found.payload or b""),
                [message._asdict() for message in datagram.messages])
    return (*head, layers.LINKS.get(packet.link, str(packet.link)), found.kind, found.signal, found.rate, found.frequency, found.air,
            found.retry, found.station, found.target, found.source, found.destination, *ours, fault)


def page() -> str:
    """The table of columns for the page."""
    rows = "".join(f"| `{one.name}` | {_sql(one.type)} | {one.unit} | {one.meaning} |\n" for one in COLUMNS)
    return f"| column | type | unit | meaning |\n|---|---|---|---|\n{rows}"


def _sql(of: pa.DataType) -> str:
    names = {pa.string(): "string", pa.int64(): "bigint", pa.float64(): "double", pa.bool_(): "boolean"}
    return names.get(of, "array<struct>")


def write_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{page()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
