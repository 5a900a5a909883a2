"""Signals out of captures: radiotap of all layouts, whose frame it is, and what is no such frame."""
from __future__ import annotations

import gzip
import io
import struct

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.dot11 import Dot11, Dot11Ack, Dot11Beacon, Dot11QoS, RadioTap
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import LLC, SNAP
from scapy.packet import Raw
from scapy.utils import PcapWriter

from analysis import metrics, signals
from analysis import run as runs
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


def heard(receiver: int, data: bytes, began: float) -> list[tuple]:
    return signals.heard(receiver, io.BytesIO(data), began)


@pytest.mark.parametrize("nano", [True, False])
def test_a_station_is_known_from_its_first_datagram_on(tmp_path, nano):
    ack = SIGNAL / Dot11(type=1, subtype=13, addr1=station(7)) / Dot11Ack()
    own = RadioTap(present="Rate+Channel", Rate=6.0, ChannelFrequency=5180)
    found = heard(3, capture(tmp_path / "3.pcap", [
        beacon(7), datagram(7), beacon(7), ack, datagram(9, quality=True), datagram(3, own)], nano), 90.0)
    assert [(row[0], row[1], round(row[2], 6), row[3], row[4]) for row in found] == [
        (3, 7, 11.0, -70, 6e6), (3, 7, 12.0, -70, 6e6), (3, 9, 14.0, -70, 6e6)]


def test_fields_in_front_of_the_signal_are_passed_over(tmp_path):
    frames = [datagram(7, RadioTap(present=present, mac_timestamp=5, Rate=12.0, ChannelFrequency=2412, dBm_AntSignal=-41))
              for present in ("TSFT+Flags+Rate+Channel+dBm_AntSignal", "Flags+dBm_AntSignal", "dBm_AntSignal+dBm_AntNoise")]
    found = heard(0, capture(tmp_path / "0.pcap", frames), 0.0)
    assert [row[3] for row in found] == [-41] * 3 and found[0][4] == 12e6


@given(st.binary(max_size=400), st.integers(0, 300))
def test_no_bytes_are_too_strange(data, cut):
    head = struct.pack("<IHHiIII", signals.NANOSECONDS, 2, 4, 0, 0, 65535, 127)
    frame = bytes([0, 0, 15, 0]) + data
    whole = head + struct.pack("<IIII", 1, 2, len(frame), len(frame)) + frame + data
    heard(0, whole[:24 + cut], 0.0)
    heard(0, head + data, 0.0)


def test_a_datagram_over_ipv6_tells_its_sender_too(tmp_path):
    frame = (SIGNAL / Dot11(type=2, subtype=0, addr1="ff:ff:ff:ff:ff:ff", addr2=station(4), addr3=CELL)
             / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(code=0x86DD) / IPv6(src="fe80::1", dst="ff02::1")
             / UDP(sport=wire.PORT, dport=wire.PORT) / Raw(_datagram(4)))
    assert [row[:2] for row in heard(0, capture(tmp_path / "a", [frame, beacon(4)]), 0.0)] == [(0, 4), (0, 4)]


def test_a_capture_of_strangers_alone_and_one_of_another_time_are_said(spark, tmp_path):
    log = Log(3, 30.0, deadline=5.0)
    log.manifest["epoch"] = 90.0
    path = log.write(tmp_path / "run")
    (path / "captures").mkdir()
    capture(path / "captures" / "0.pcap", [beacon(2), beacon(1)])
    capture(path / "captures" / "1.pcap", [datagram(2)])
    found = signals.signals(spark, runs.read(path), signals.captured(runs.read(path))[0], tmp_path)
    assert [note.partition(":")[0] for note in signals.broken_off(found, 30.0)] == ["the capture of host 0 has no signals"]
    assert [note[:60] for note in signals.broken_off(found, 4.0)][1:] == ["the capture of host 1 was made from 10 to 10 s of the run, wh"[:60]]


def test_a_run_with_and_without_signals(spark, tmp_path):
    log = Log(3, 30.0, deadline=5.0)
    log.up(0, 1, 2)
    path = log.write(tmp_path / "run")
    (path / "captures").mkdir(exist_ok=True)
    assert signals.captured(runs.read(path)) == ({}, [])
    assert signals.facts(None) is None
    levels = [-50, -60, -70, -80, -90]
    for host in (0, 1):
        capture(path / "captures" / f"{host}.pcap", [datagram(2, RadioTap(
            present="Rate+dBm_AntSignal", Rate=6.0, dBm_AntSignal=level)) for level in levels])
    (path / "captures" / "2.pcap").write_bytes(b"")
    captures, notes = signals.captured(runs.read(path))
    assert notes == ["captures/2.pcap was skipped: it is empty"]
    found = signals.signals(spark, runs.read(path), captures, tmp_path)
    rows = pd.read_parquet(tmp_path / "signals.parquet")
    assert sorted(zip(rows["receiver"], rows["sender"], rows["signal"], strict=True)) == sorted(
        (host, 2, level) for host in (0, 1) for level in levels)
    assert metrics.numbers(signals.facts(found)) == {"signal_median": -70.0, "signal_weak": -90.0}


@pytest.mark.parametrize(("manifest", "known"), [
    ({"epoch": 1.7e9}, True), ({"started": "2023-11-14T22:13:20+00:00"}, True), ({"started": "2023-11-14T22:13:20"}, False),
    ({"started": None}, False), ({"epoch": True}, False), ({"epoch": "x", "started": "yesterday"}, False), ({}, False)])
def test_times_of_captures_that_nothing_ties_to_the_run_are_said(tmp_path, manifest, known):
    log = Log(2, 30.0, deadline=5.0)
    del log.manifest["epoch"]
    log.manifest |= manifest
    path = log.write(tmp_path / "run")
    assert signals.captured(runs.read(path)) == ({}, [])
    (path / "captures").mkdir()
    capture(path / "captures" / "0.pcap", [datagram(1)])
    captures, notes = signals.captured(runs.read(path))
    assert list(captures) == [0] and (notes == []) == known and all("in s since 1970" in note for note in notes)


def pcapng(frames, link: int = 127) -> bytes:
    """As tshark writes it by default: two interfaces, of which the second has the frames, in millionths of a second."""
    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    whole = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    whole += block(1, struct.pack("<HHI", 1, 0, 65535)) + block(1, struct.pack("<HHI", link, 0, 65535))
    for k, frame in enumerate(map(bytes, frames)):
        high, low = divmod((100 + k) * 1_000_000, 2**32)
        whole += block(6, struct.pack("<IIIII", 1, high, low, len(frame), len(frame)) + frame + bytes(-len(frame) % 4))
    return whole


FRAMES = [datagram(7), beacon(7), datagram(9, quality=True)]
ROWS = [(7, 10.0, -70), (7, 11.0, -70), (9, 12.0, -70)]


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["1.pcap", "1.pcapng", "1.pcap.gz"])
def test_a_capture_is_read_whatever_its_form_and_name(tmp_path, form, packed, name):
    run = runs.read(Log(2, 30.0).write(tmp_path / "run"))
    data = capture(tmp_path / "any", FRAMES) if form == "pcap" else pcapng(FRAMES)
    (run.path / "captures").mkdir()
    (run.path / "captures" / name).write_bytes(gzip.compress(data) if packed else data)
    captures, notes = signals.captured(run)
    assert not notes and list(captures) == [1]
    with signals._opened(captures[1]) as file:
        assert [(row[1], round(row[2], 6), row[3]) for row in signals.heard(1, file, 90.0)] == ROWS


@pytest.mark.parametrize("data", [capture, pcapng])
def test_a_capture_that_breaks_off_says_so_and_counts_until_there(tmp_path, data):
    whole = capture(tmp_path / "any", FRAMES) if data is capture else pcapng(FRAMES)
    assert [row[1] for row in heard(1, whole, 0.0)] == [7, 7, 9]
    for cut in (1, 5, 20, len(bytes(FRAMES[2])) + 10):
        assert [row[1] for row in heard(1, whole[:-cut], 0.0)] == [7, 7, None], cut
    packed = gzip.compress(whole)
    (tmp_path / "0.pcap").write_bytes(packed[:-9])
    with signals._opened(tmp_path / "0.pcap") as file:
        assert signals.heard(1, file, 0.0)[-1][1] is None


def test_files_that_are_no_captures_of_hosts_are_named(tmp_path):
    log = Log(3, 30.0)
    log.scenario["run"]["world"] = "hwsim"
    run = runs.read(log.write(tmp_path / "run"))
    folder = run.path / "captures"
    folder.mkdir()
    good, wired = capture(tmp_path / "any", FRAMES), pcapng(FRAMES, link=1)
    files = {"0.pcap": good, "0.pcapng": good, "1.pcap": b"", "1.cap": b"no capture at all, whatever it may be",
             "2.pcap": good[:20] + b"\1\0\0\0" + good[24:], "3.pcap": good, "0 copy.pcap": good, "1.pcap.gz": gzip.compress(good)[:9],
             "1.pcapng": wired, "medium.jsonl": b"{}\n"}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    captures, notes = signals.captured(run)
    assert {host: path.name for host, path in captures.items()} == {0: "0.pcap", 1: "1.pcapng"}
    said = dict(note.removeprefix("captures/").split(" was skipped: ") for note in notes)
    assert said.keys() == files.keys() - {"0.pcap", "1.pcapng", "medium.jsonl"}  # the last is the medium's own
    assert said["0.pcapng"] == "0.pcap is from the same host" and said["1.pcap"] == "it is empty"
    assert "not a capture" in said["1.cap"] and "not a capture" in said["1.pcap.gz"] and "radiotap" in said["2.pcap"]
    assert "its name" in said["3.pcap"] and "its name" in said["0 copy.pcap"]
    assert heard(1, wired, 0.0) == [(1, None, 0.0, 0, 0.0, 0)]
