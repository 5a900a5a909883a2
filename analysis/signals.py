"""How strong the frames were that radios heard, where a capture tells: 802.11 frames behind radiotap headers.

The world hwsim captures so, and `roamcast capture --monitor` in a field. The sender of a frame is known from its datagram,
and that station's other frames from its address from then on. Frames are read as everywhere (analysis/frames/).
"""
from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis import stored
from analysis.facts import Signals
from analysis.frames import capture, datagrams, layers
from analysis.local import Context
from analysis.run import Run

SCHEMA = pa.schema([("receiver", pa.int64()), ("sender", pa.int64()), ("t", pa.float64()), ("signal", pa.int64()),
                    ("rate", pa.float64()), ("bytes", pa.int64())])
WITH_SIGNALS = ("hwsim", "field")  # worlds whose captures have some, or should
ASTRAY = 5.0  # s before or behind a run that a capture may be by its clock

Row = tuple[int, int, float, int, float | None, int]  # of SCHEMA


def captured(run: Run) -> tuple[dict[int, Path], list[str]]:
    """The captures that can hold signals, by host, and notes on files in the folder `captures` that are skipped. Captures of
    worlds without signals are skipped silently."""
    folder = run.path / "captures"
    files, notes = stored.captures(run)
    found: dict[int, Path] = {}
    for path in files:
        name = path.name.partition(".")[0]
        host = int(name) if name.isascii() and name.isdecimal() and str(int(name)) == name else -1
        if host not in run.hosts:
            why = "its name is not NUMBER.pcap with the number of one of the run's hosts; `roamcast frames` reads it as a sniffer's"
        else:
            link = _link(path)
            if isinstance(link, str):
                why = f"it is not a capture ({link})"
            elif link is None or link == layers.RADIOTAP:
                found[host] = path
                continue
            elif run.world in WITH_SIGNALS:
                why = "its frames have no radiotap headers, which hold the signal"
            else:
                continue
        notes.append(f"captures/{path.name} has no part in the signals: {why}")
    if found and run.began is None:
        notes.append("the manifest has neither an epoch nor a start with a time zone: times in the table signals are those of the wall "
                     "clock, in s since 1970")
    if folder.is_file():
        notes.append("captures is not a folder and was skipped")
    return dict(sorted(found.items())), notes


def _link(path: Path) -> int | str | None:
    """The link layer of a pcap file; None for one in pcapng, where each interface has its own; what is wrong with any other."""
    try:
        part = capture.parts(path, sys.maxsize)[0]
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if part.form == "pcapng":
        return None
    return part.interfaces[0].link if part.form == "pcap" else part.form


class Heard(NamedTuple):
    """What captures told."""

    levels: Counter[int]  # signal in dBm -> frames received so
    damaged: dict[int, int]  # host -> places where its capture is damaged or cut
    without: dict[int, bool]  # host whose capture tells no signal -> whether it has radiotap headers at all
    spans: dict[int, tuple[float, float]]  # host -> s of the run, the earliest and the latest frame that counts


def signals(context: Context, run: Run, captures: dict[int, Path], out: Path) -> Heard:
    """Write `out`/signals.parquet, one row a frame that was received and whose sender is known, one Spark job.

    `t` in s of the run, `signal` in dBm, `rate` in bit/s (null where the header has none), `bytes` of the 802.11 frame with
    its check sequence; `receiver` is the number in the capture's name. Frames whose check sequence is wrong do not count.
    """
    began, folder = run.began or 0.0, out.resolve() / "signals.parquet"
    folder.mkdir()

    def written(host: int, path: str) -> Heard:
        rows, damaged, tells = heard(host, Path(path), began)
        columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
        table = pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
        with (folder / f"part-{host}.parquet").open("wb") as file:
            pq.write_table(table, file)
        times = [row[2] for row in rows]
        return Heard(Counter(row[3] for row in rows), {host: damaged} if damaged else {}, {} if rows else {host: tells},
                     {host: (min(times), max(times))} if times else {})

    files = [(host, str(path.resolve())) for host, path in captures.items()]
    found = context.parallelize(files, len(files)).map(lambda file: written(*file)).collect()
    return Heard(sum((one.levels for one in found), Counter()), {host: count for one in found for host, count in one.damaged.items()},
                 {host: tells for one in found for host, tells in one.without.items()},
                 {host: span for one in found for host, span in one.spans.items()})


def broken_off(found: Heard, ended: float = math.inf) -> list[str]:
    """Notes on captures that are damaged, hold no signals after all, or were made at another time than the run."""
    notes = [f"the capture of host {host} is damaged or cut in {count:,} place{'s' if count > 1 else ''}: what can be read counts"
             for host, count in sorted(found.damaged.items())]
    notes += [f"the capture of host {host} has no signals: none of its frames "
              + (f"is from a known host, which a datagram over UDP port {datagrams.PORT} would show" if tells else "has a radiotap header")
              for host, tells in sorted(found.without.items())]
    return notes + [f"the capture of host {host} was made from {first:,.0f} to {last:,.0f} s of the run, which ended at "
                    f"{ended:g} s: its clock was wrong, or it is from another run; its signals are counted anyway"
                    for host, (first, last) in sorted(found.spans.items()) if first > ended + ASTRAY or last < -ASTRAY]


def facts(found: Heard | None) -> Signals | None:
    """None where no capture tells signals."""
    if found is None or not found.levels:
        return None
    levels = sorted(found.levels)
    return Signals(np.repeat(np.array(levels, dtype=np.int16), [found.levels[level] for level in levels]))


def heard(receiver: int, path: Path, began: float) -> tuple[list[Row], int, bool]:
    """The rows of one capture, the places where it is damaged, and whether it has radiotap headers. Raises OSError."""
    rows: list[Row] = []
    stations: dict[str, int] = {}
    damaged, tells = 0, False
    for packet in capture.packets(capture.parts(path, sys.maxsize)[0]):
        damaged += packet.fault is not None
        if packet.link != layers.RADIOTAP:
            continue
        tells = True
        found = layers.read(packet.link, packet.length or 0, packet.data)
        if found.fault or found.station is None or found.signal is None or packet.time is None:
            continue  # an acknowledgement names no sender; what the radio sent itself has no signal
        if found.station not in stations and (sender := _sender(found)) is not None:
            stations[found.station] = sender
        if found.station in stations:
            rows.append((receiver, stations[found.station], packet.time / 1e9 - began, found.signal, found.rate, found.air or 0))
    return rows, damaged, tells


def _sender(found: layers.Layers) -> int | None:
    """Who sent the datagram of ours in a frame; None for any other frame."""
    if found.payload is None or found.ports is None or datagrams.PORT not in found.ports:
        return None
    try:
        datagram = datagrams.read(found.payload)
    except datagrams.Malformed:
        return None
    return None if datagram is None else datagram.sender
