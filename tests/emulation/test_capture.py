"""The captures: valid for other people's programs, complete, and readable when they were cut."""
from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.all import IP, UDP, Ether, rdpcap

import topologies
from emulation import addresses, capture, runner
from emulation.capture import read
from tests.emulation.air import Air, line

EPOCH = 1_767_225_600.0
PORT = 4710


@pytest.fixture
def captured(tmp_path):
    """Three hosts on a line: a broadcast of host 1, then a unicast from 1 to 2."""
    captures = capture.Captures(tmp_path, 3, EPOCH, capture.datagrams(PORT))
    air = Air(line(3), capture=captures)
    air.at(1.5, 1, None, b"to all")
    air.at(2.25, 1, 2, b"odd")
    air.run()
    captures.flush()
    return tmp_path


def test_scapy_reads_what_each_radio_saw(captured):
    seen = {host: rdpcap(str(captured / f"{host}.pcap")) for host in range(3)}
    assert [[bytes(packet[UDP].payload) for packet in seen[host]] for host in range(3)] == [
        [b"to all"], [b"to all", b"odd"], [b"to all", b"odd"]]
    broadcast, unicast = seen[2]
    assert broadcast[Ether].dst == "ff:ff:ff:ff:ff:ff" and broadcast[IP].dst == "10.255.255.255"
    assert (unicast[IP].src, unicast[IP].dst) == (str(addresses.ipv4(1)), "10.0.0.3")
    assert unicast[Ether].src == "02:00:00:00:00:01" and unicast[UDP].dport == PORT


def test_times_are_virtual_and_exact(captured):
    [(sent, _), _] = capture.read(captured / "1.pcap")
    [(received, _)] = capture.read(captured / "0.pcap")
    assert sent == int(EPOCH + 1) * 10**9 + 500_000_000
    assert 0 < received - sent < 10**6


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=1200), st.integers(0, 2**24 - 3), st.none() | st.integers(0, 2**24 - 3))
def test_checksums_are_those_that_scapy_computes(datagram, sender, destination):
    frame = Ether(capture.ethernet_frame(sender, destination, PORT, datagram))
    again = frame.copy()
    del again[IP].chksum, again[UDP].chksum
    again = Ether(bytes(again))
    assert (frame[IP].chksum, frame[UDP].chksum) == (again[IP].chksum, again[UDP].chksum)
    assert bytes(frame[UDP].payload)[: len(datagram)] == datagram


@pytest.mark.needs("tshark")
def test_tshark_finds_nothing_wrong(captured):
    shown = subprocess.run(
        [shutil.which("tshark") or "tshark", "-r", captured / "2.pcap", "-o", "udp.check_checksum:TRUE", "-o",
         "ip.check_checksum:TRUE", "-T", "fields", "-e", "ip.src", "-e", "udp.length", "-e", "ip.checksum.status",
         "-e", "udp.checksum.status", "-e", "_ws.malformed"], capture_output=True, text=True, check=True)
    assert shown.stdout.split("\n")[:2] == ["10.0.0.2\t14\t1\t1\t", "10.0.0.2\t11\t1\t1\t"]  # 1 = good


def test_whole_packets_of_a_cut_file_are_read(captured):
    path = captured / "1.pcap"
    whole = path.read_bytes()
    packets = list(capture.read(path))
    lengths = []
    for size in range(24, len(whole) + 1):
        path.write_bytes(whole[:size])
        found = list(capture.read(path))
        assert found == packets[: len(found)]
        lengths.append(len(found))
    assert lengths == sorted(lengths) and lengths[-1] == 2
    path.write_bytes(b"no capture, but long enough for a header")
    with pytest.raises(ValueError, match="pcap"):
        list(capture.read(path))


def test_a_capture_that_reaches_its_cap_ends_with_a_whole_frame_and_the_run_says_so(tmp_path):
    text = ('[run]\nduration = 20\ndeadline = 5\n[hosts]\ncount = 3\n[mobility]\npositions = [[0, 0], [50, 0], [100, 0]]\n'
            "[workload]\nkinds = 3\npublish_interval = 1\n")
    (tmp_path / "x.toml").write_text(text)
    runs = {}
    for most in (None, 3000):
        scenario = topologies.load(tmp_path / "x.toml", {} if most is None else {"run.capture_most": most})
        runs[most] = runner.run(scenario, tmp_path / f"run-{most}")
    whole, cut = (list(read(runs[most] / "captures" / "1.pcap")) for most in (None, 3000))
    size = (runs[3000] / "captures" / "1.pcap").stat().st_size
    assert len(cut) < len(whole) and cut == whole[:len(cut)] and 3000 - len(whole[len(cut)][1]) - 16 < size <= 3000
    manifest = json.loads((runs[3000] / "manifest.json").read_text())
    assert manifest["captures_cut"] == 3 and any("0.pcap, 1.pcap, 2.pcap; frames and records are not compared" in note for note in manifest["notes"])
    assert "captures_cut" not in json.loads((runs[None] / "manifest.json").read_text()) and not (runs[3000] / "captures.cut").exists()
    for host in range(3):
        assert (runs[3000] / "nodes" / f"{host}.jsonl").read_bytes() == (runs[None] / "nodes" / f"{host}.jsonl").read_bytes()
