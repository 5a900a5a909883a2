"""Signals out of captures: radiotap of all layouts, whose frame it is, and what is no such frame."""
from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.dot11 import Dot11, Dot11Ack, Dot11Beacon, Dot11QoS, RadioTap
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import LLC, SNAP
from scapy.packet import Raw
from scapy.utils import PcapWriter

from analysis import run as runs
from analysis import signals
from node import schema, wire
from tests.analysis.rundirs import Log

CELL = "02:72:6f:61:6d:63"
SIGNAL = RadioTap(present="Rate+Channel+dBm_AntSignal", Rate=6.0, ChannelFrequency=5180, dBm_AntSignal=-70)


def station(host: int) -> str:
    return f"b8:27:eb:00:00:{host:02x}"  # as a card has it: it tells no host


def datagram(host: int, tap=SIGNAL, quality: bool = False):
    header = Dot11(type=2, subtype=8 if quality else 0, addr1="ff:ff:ff:ff:ff:ff", addr2=station(host), addr3=CELL)
    inner = LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(code=0x0800)
    return (tap / header / (Dot11QoS() / inner if quality else inner)
            / IP(src=f"10.0.0.{host + 1}", dst="10.255.255.255") / UDP(sport=wire.PORT, dport=wire.PORT) / Raw(_datagram(host)))


def _datagram(host: int) -> bytes:
    return struct.pack("!2sBBIII", b"Rc", schema.header().version, 0, host, 1, 5) + b"\x80"


def beacon(host: int, tap=SIGNAL):
    return tap / Dot11(type=0, subtype=8, addr1="ff:ff:ff:ff:ff:ff", addr2=station(host), addr3=CELL) / Dot11Beacon()


def capture(path, frames, nano: bool = True) -> bytes:
    writer = PcapWriter(str(path), linktype=127, nano=nano)
    for k, frame in enumerate(frames):
        frame.time = 100.0 + k
        writer.write(frame)
    writer.close()
    return path.read_bytes()


@pytest.mark.parametrize("nano", [True, False])
def test_a_station_is_known_from_its_first_datagram_on(tmp_path, nano):
    ack = SIGNAL / Dot11(type=1, subtype=13, addr1=station(7)) / Dot11Ack()
    own = RadioTap(present="Rate+Channel", Rate=6.0, ChannelFrequency=5180)
    found = signals.heard(3, capture(tmp_path / "3.pcap", [
        beacon(7), datagram(7), beacon(7), ack, datagram(9, quality=True), datagram(3, own)], nano), 90.0)
    assert [(row[0], row[1], round(row[2], 6), row[3], row[4]) for row in found] == [
        (3, 7, 11.0, -70, 6e6), (3, 7, 12.0, -70, 6e6), (3, 9, 14.0, -70, 6e6)]


def test_fields_in_front_of_the_signal_are_passed_over(tmp_path):
    frames = [datagram(7, RadioTap(present=present, mac_timestamp=5, Rate=12.0, ChannelFrequency=2412, dBm_AntSignal=-41))
              for present in ("TSFT+Flags+Rate+Channel+dBm_AntSignal", "Flags+dBm_AntSignal", "dBm_AntSignal+dBm_AntNoise")]
    found = signals.heard(0, capture(tmp_path / "0.pcap", frames), 0.0)
    assert [row[3] for row in found] == [-41] * 3 and found[0][4] == 12e6


@given(st.binary(max_size=400), st.integers(0, 300))
def test_no_bytes_are_too_strange(data, cut):
    head = struct.pack("<IHHiIII", signals.NANOSECONDS, 2, 4, 0, 0, 65535, 127)
    frame = bytes([0, 0, 15, 0]) + data
    whole = head + struct.pack("<IIII", 1, 2, len(frame), len(frame)) + frame + data
    signals.heard(0, whole[:24 + cut], 0.0)
    signals.heard(0, head + data, 0.0)


def test_a_run_with_and_without_signals(spark, tmp_path):
    log = Log(3, 30.0, deadline=5.0)
    log.up(0, 1, 2)
    path = log.write(tmp_path / "run")
    (path / "captures").mkdir(exist_ok=True)
    assert signals.signals(spark, runs.read(path)) is None
    assert all(math.isnan(value) for value in signals.strength(None).values())
    levels = [-50, -60, -70, -80, -90]
    for host in (0, 1):
        capture(path / "captures" / f"{host}.pcap", [datagram(2, RadioTap(
            present="Rate+dBm_AntSignal", Rate=6.0, dBm_AntSignal=level)) for level in levels])
    (path / "captures" / "2.pcap").write_bytes(b"")
    found = signals.signals(spark, runs.read(path))
    assert {(row["receiver"], row["sender"], row["signal"]) for row in found.collect()} == {
        (host, 2, level) for host in (0, 1) for level in levels}
    assert signals.strength(found) == {"signal_median": -70.0, "signal_weak": -90.0}
