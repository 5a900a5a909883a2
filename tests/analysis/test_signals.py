"""Signals out of captures: radiotap of all layouts, whose frame it is, and what is no such frame."""
from __future__ import annotations

import gzip
import struct
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

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
from node import wire
from tests.analysis.captures import hello
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
    return hello(host, 5)


def beacon(host: int, tap=SIGNAL):
    return tap / Dot11(type=0, subtype=8, addr1="ff:ff:ff:ff:ff:ff", addr2=station(host), addr3=CELL) / Dot11Beacon()


def capture(path: Path, frames, nano: bool = True) -> Path:
    writer = PcapWriter(str(path), linktype=127, nano=nano)
    for k, frame in enumerate(frames):
        frame.time = 100.0 + k
        writer.write(frame)
    writer.close()
    return path


def heard(receiver: int, path: Path, began: float) -> list[tuple]:
    rows, damaged, _ = signals.heard(receiver, path, began)
    assert not damaged
    return rows


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
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 127)
    frame = bytes([0, 0, 15, 0]) + data
    whole = head + struct.pack("<IIII", 1, 2, len(frame), len(frame)) + frame + data
    with TemporaryDirectory() as folder:
        path = Path(folder, "0.pcap")
        for strange in (whole[:24 + cut], head + data):
            path.write_bytes(strange)
            signals.heard(0, path, 0.0)


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
    assert notes == ["captures/2.pcap has no part in the signals: it is not a capture (file: empty)"]
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
    data = capture(tmp_path / "any", FRAMES).read_bytes() if form == "pcap" else pcapng(FRAMES)
    (run.path / "captures").mkdir()
    (run.path / "captures" / name).write_bytes(gzip.compress(data) if packed else data)
    captures, notes = signals.captured(run)
    assert not notes and list(captures) == [1]
    assert [(row[1], round(row[2], 6), row[3]) for row in heard(1, captures[1], 90.0)] == ROWS


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_capture_that_breaks_off_says_so_and_counts_what_can_be_read(tmp_path, form):
    path = capture(tmp_path / "0.pcap", FRAMES)
    if form == "pcapng":
        path.write_bytes(pcapng(FRAMES))
    whole = path.read_bytes()
    assert [row[1] for row in heard(1, path, 0.0)] == [7, 7, 9]
    for cut in (5, 20, len(bytes(FRAMES[2])) + 10):
        path.write_bytes(whole[:-cut])
        rows, damaged, tells = signals.heard(1, path, 0.0)
        assert ([row[1] for row in rows][:2], damaged, tells) == ([7, 7], 1, True), cut
    path.write_bytes(gzip.compress(whole)[:-9])
    assert signals.heard(1, path, 0.0)[1] == 1
    found = signals.Heard(Counter(), {1: 1, 2: 3}, {1: True}, {})
    assert [note.partition(":")[0] for note in signals.broken_off(found)] == [
        "the capture of host 1 is damaged or cut in 1 place", "the capture of host 2 is damaged or cut in 3 places",
        "the capture of host 1 has no signals"]


def test_a_frame_whose_check_sequence_is_wrong_does_not_count(tmp_path):
    wrong = RadioTap(present="Flags+Rate+dBm_AntSignal", Flags=0x40, Rate=6.0, dBm_AntSignal=-20)
    right = RadioTap(present="Flags+Rate+dBm_AntSignal", Flags=0, Rate=6.0, dBm_AntSignal=-70)
    assert [row[1:2] + row[3:4] for row in heard(0, capture(tmp_path / "0.pcap", [
        datagram(8, wrong), datagram(7, right), beacon(7, wrong)]), 0.0)] == [(7, -70)]


def test_files_that_are_no_captures_of_hosts_are_named(tmp_path):
    log = Log(3, 30.0)
    log.scenario["run"]["world"] = "hwsim"
    run = runs.read(log.write(tmp_path / "run"))
    folder = run.path / "captures"
    folder.mkdir()
    good, wired = capture(tmp_path / "any", FRAMES).read_bytes(), pcapng(FRAMES, link=1)
    files = {"0.pcap": good, "0.pcapng": good, "1.cap": wired, "2.pcap": good[:20] + b"\1\0\0\0" + good[24:], "3.pcap": good,
             "00.pcap": good, "0 copy.pcap": good, "walk.pcap.gz": gzip.compress(good)[:9], "notes.txt": b"", "medium.jsonl": b"{}\n"}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    captures, notes = signals.captured(run)
    assert {host: path.name for host, path in captures.items()} == {0: "0.pcap", 1: "1.cap"}  # an interface of pcapng may have radiotap
    assert notes[0].startswith("in captures were left out") and "0.pcapng" in notes[0] and "notes.txt" in notes[0] and "medium" not in notes[0]
    said = dict(note.removeprefix("captures/").split(" has no part in the signals: ") for note in notes[1:])
    assert said.keys() == {"2.pcap", "3.pcap", "00.pcap", "0 copy.pcap", "walk.pcap.gz"}
    assert "radiotap" in said["2.pcap"] and all("its name" in said[name] for name in ("3.pcap", "00.pcap", "0 copy.pcap", "walk.pcap.gz"))
    assert signals.heard(1, captures[1], 0.0) == ([], 0, False)
