"""The hwsim world without hwsim: its messages by the kernel's headers, its medium in virtual time, its absence told."""
from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.dot11 import RadioTap

from emulation import addresses, capture, dissect, radiotap
from emulation.capture import RADIOTAP, Captures
from emulation.clock import Clock
from emulation.linux import genetlink
from emulation.medium import Frame, Medium
from emulation.worlds.hwsim import frames, radio
from emulation.worlds.hwsim.ends import RadioFrame
from tests.emulation.air import line, standing
from tests.emulation.spaces import elsewhere
from topologies.scenario import LogDistanceRadio, RadioLink, UnitDiskRadio

FAMILY = 30
PATIENCE = 300.0  # s


# ---- netlink as the kernel packs it --------------------------------------------------------------
def attribute(kind: int, value: bytes) -> bytes:
    """struct nlattr, include/uapi/linux/netlink.h."""
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def from_kernel(data: bytes, flags: int = 3, cookie: int = 7, command: int = 2, extra: bytes = b"") -> bytes:
    """What mac80211_hwsim_tx_frame_nl sends, in its order."""
    body = (attribute(2, bytes.fromhex("42000000 0100")) + attribute(3, data) + attribute(4, struct.pack("=I", flags))
            + attribute(19, struct.pack("=I", 5180)) + attribute(7, bytes([0, 1, 255, 0, 255, 0, 255, 0]))
            + attribute(21, bytes(12)) + attribute(8, struct.pack("=Q", cookie)) + extra)
    return struct.pack("=IHHIIBBH", 20 + len(body), FAMILY, 0, 0, 0, command, 1, 0) + body


def fields(message: bytes) -> tuple[int, int, dict[int, bytes]]:
    """(command, sequence, attributes) of a message of ours, taken apart without our code."""
    length, kind, _, sequence, _, command, _, _ = struct.unpack_from("=IHHIIBBH", message)
    assert length == len(message) and kind == FAMILY
    found, at = {}, 20
    while at < length:
        size, name = struct.unpack_from("=HH", message, at)
        found[name] = message[at + 4:at + size]
        at += size + -size % 4
    assert at == length
    return command, sequence, found


def data_frame(sender: int, to: int | None, size: int = 100) -> bytes:
    """An 802.11 data frame of an IBSS."""
    address = b"\xff" * 6 if to is None else addresses.mac(to)
    return struct.pack("<HH", 0x0008, 0) + address + addresses.mac(sender) + frames.CELL + bytes(2) + bytes(size)


@given(st.binary(min_size=10, max_size=2000), st.integers(0, 7), st.integers(0, 2**64 - 1))
def test_a_frame_that_the_kernel_sends_is_read(data, flags, cookie):
    sent = frames.read(from_kernel(data, flags, cookie))
    assert sent == frames.Sent(data, flags, struct.pack("=Q", cookie))
    assert sent.to == data[4:10]


@given(st.binary(max_size=300))
def test_what_is_broken_is_a_value_error_and_no_other(data):
    for candidate in (data, from_kernel(bytes(30))[:len(data)] + data, from_kernel(bytes(30), extra=data)):
        try:
            frames.read(candidate)
        except ValueError:
            pass


def test_notices_are_passed_over_and_refusals_tell_what_was_refused():
    assert frames.read(from_kernel(bytes(30), command=5)) is None

    def answer(code: int, sequence: int) -> bytes:
        return struct.pack("=IHHIIi", 36, 2, 0x100, sequence, 0, code) + struct.pack("=IHHII", 80, FAMILY, 1, sequence, 0)

    assert frames.read(answer(0, 0)) is None
    assert frames.read(answer(-22, frames.ARRIVAL)) == frames.Refused(frames.ARRIVAL)
    assert frames.read(answer(-22, frames.REPORT)) == frames.Refused(frames.REPORT)


@given(st.binary(min_size=24, max_size=1600), st.integers(-120, 0), st.integers(0, 7))
def test_an_arrival_has_what_hwsim_asks_for(data, signal, rate):
    receiver = bytes.fromhex("060012345678")
    command, sequence, found = fields(frames.arrival(FAMILY, receiver, signal, frames.content(data, rate)))
    assert command == 2 and sequence == frames.ARRIVAL
    assert found == {1: receiver, 3: data, 5: struct.pack("=I", rate), 6: struct.pack("=i", signal)}


@given(st.integers(0, 3), st.integers(0, 7), st.integers(1, 400), st.booleans(), st.integers(-120, 0))
def test_a_report_has_what_hwsim_asks_for(flags, rate, tries, acknowledged, signal):
    sent = frames.Sent(bytes(30), flags, struct.pack("=Q", 99))
    sender = bytes.fromhex("060012345678")
    command, sequence, found = fields(frames.report(FAMILY, sender, sent, rate, tries, acknowledged, signal))
    assert command == 3 and sequence == frames.REPORT
    assert found[2] == sender and found[8] == struct.pack("=Q", 99) and found[6] == struct.pack("=i", signal)
    assert found[4] == struct.pack("=I", flags | 4 * acknowledged)
    assert found[7] == bytes([rate, min(tries, 255)]) + bytes([255, 0]) * 3  # index -1: not tried


@given(st.binary(min_size=12, max_size=12), st.integers(0x600, 0xFFFF), st.binary(max_size=1500))
def test_frames_of_real_devices_cross_both_ways(both, kind, payload):
    ethernet = both + kind.to_bytes(2, "big") + payload
    data = frames.from_ethernet(ethernet)
    seen = RadioTap(radiotap.header(6_000_000, 5180) + data)
    assert bytes.fromhex(seen.addr1.replace(":", "")) + bytes.fromhex(seen.addr2.replace(":", "")) == both
    assert seen.addr3 == frames.CELL.hex(":") and seen.type == 2 and seen.subtype == 0
    assert frames.to_ethernet(data) == ethernet
    with_service = bytes([0x88]) + data[1:24] + b"\x05\0" + data[24:]
    assert frames.to_ethernet(with_service) == ethernet


@given(st.binary(max_size=200))
def test_what_is_no_such_frame_does_not_cross(data):
    assert frames.from_ethernet(data[:13]) is None
    if (ethernet := frames.to_ethernet(data)) is not None:
        assert data[0] & 0x4C == 8 and ethernet[:12] == data[4:16]
    beacon = b"\x80" + bytes(60)
    nothing = b"\x48" + bytes(60)
    assert frames.to_ethernet(beacon) is None and frames.to_ethernet(nothing) is None


def test_rates_are_the_nearest_that_are_not_faster():
    assert [frames.RATES[frames.rate_index(rate)] for rate in (1e3, 6e6, 11e6, 24e6, 53e6, 54e6, 1e9)] == \
        [6e6, 6e6, 9e6, 24e6, 48e6, 54e6, 54e6]


def test_joining_names_network_cell_channel_and_rates():
    found, at, whole = {}, 0, radio.joining(5, UnitDiskRadio(base_rate=12e6, data_rate=36e6))
    while at < len(whole):
        size, name = struct.unpack_from("=HH", whole, at)
        found[name] = whole[at + 4:at + size]
        at += size + -size % 4
    assert found[52] == b"roamcast" and len(found[6]) == 6 and found[6][0] & 3 == 2 and found[60] == b""
    assert struct.unpack("=I", found[3]) == (5,) and struct.unpack("=I", found[38]) == (5180,)
    assert found[36] == bytes([24, 72]) and struct.unpack("=I", found[107]) == (120,)  # in 500 and in 100 kbit/s


def test_generic_netlink_of_this_kernel_answers():
    with genetlink.open_socket() as control:
        assert genetlink.family(control, "nlctrl") == genetlink.CONTROLLER
        with pytest.raises(FileNotFoundError):
            genetlink.family(control, "no such family")


# ---- the medium ----------------------------------------------------------------------------------
class Radios:
    """`told`: (time, sender, cookie, tries, acknowledged); `got`: (receiver, frame, signal)."""

    def __init__(self, movement, kind=UnitDiskRadio, **table) -> None:
        self.clock, self.told, self.got = Clock(), [], []
        table["links"] = tuple(RadioLink(**{"from": a, "to": b, "loss": loss}) for a, b, loss in table.get("links", ()))
        self.medium = Medium(self.clock, movement, kind(**table), 1, self._deliver, lambda *_, **__: None,
                             overhead=frames.CHECK_BYTES, done=self.report)

    def report(self, frame: RadioFrame) -> None:
        cookie = int.from_bytes(frame.sent.cookie, sys.byteorder)
        self.told.append((self.clock.now(), frame.sender, cookie, frame.tries, frame.acknowledged))

    def send(self, at: float, sender: int, to: int | None, cookie: int = 1) -> None:
        data = data_frame(sender, to)
        frame = RadioFrame(sender, to, data, 0, frames.Sent(data, 0, struct.pack("=Q", cookie)))
        self.clock.call_at(at, lambda: self.medium.queue(frame) or self.report(frame))

    def _deliver(self, receiver: int, frame: RadioFrame) -> None:
        self.got.append((receiver, frame.payload, frame.signal(receiver, self.medium.power)))


def test_every_frame_is_reported_once_with_its_tries():
    air = Radios(line(3), retries=3, links=[(0, 1, 1.0)])
    air.send(1.0, 1, 2, 11)  # acknowledged at once
    air.send(2.0, 0, 1, 12)  # a dead direction
    air.send(3.0, 1, None, 13)
    air.send(4.0, 0, 2, 14)  # out of reach
    air.clock.run(5.0)
    assert [told[1:] for told in air.told] == [(1, 11, 1, True), (0, 12, 4, False), (1, 13, 1, False), (0, 14, 4, False)]
    assert sorted(receiver for receiver, _, _ in air.got) == [0, 2, 2]
    airtime = air.told[2][0] - 3.0
    assert airtime == pytest.approx(20e-6 + 4e-6 * -(-(22 + 8 * (len(data_frame(1, None)) + 4)) // 24))


def test_what_is_in_hand_or_queued_when_a_radio_goes_off_is_reported_as_lost():
    air = Radios(line(2), queue=2)
    for cookie in range(5):  # one in hand, two waiting, two too many
        air.send(1.0, 0, None, cookie)
    air.clock.call_at(1.0 + 1e-6, lambda: air.medium.host_down(0))
    air.send(2.0, 0, None, 9)  # its radio is off
    air.clock.run(3.0)
    assert [(told[2], told[4]) for told in air.told] == [(3, False), (4, False), (0, False), (1, False), (2, False),
                                                        (9, False)]
    assert not air.got


def test_signals_are_those_of_the_model():
    loud = Radios(standing((0, 0), (10, 0), (40, 0)), LogDistanceRadio, shadowing=0.0)
    loud.send(1.0, 0, None)
    loud.clock.run(2.0)
    assert {receiver: signal for receiver, _, signal in loud.got} == {1: round(16 - 46.7 - 25), 2: round(16 - 46.7 - 40.05)}
    plain = Radios(line(2))
    plain.send(1.0, 0, None)
    plain.clock.run(2.0)
    assert [signal for _, _, signal in plain.got] == [-50]


# ---- captures ------------------------------------------------------------------------------------
@given(st.sampled_from(frames.RATES), st.sampled_from((2412, 5180)), st.none() | st.integers(-200, 200))
def test_the_radiotap_header_is_read_by_scapy(rate, frequency, signal):
    seen = RadioTap(radiotap.header(rate, frequency, signal) + data_frame(0, 1))
    assert seen.Rate == rate / 1e6 and seen.ChannelFrequency == frequency
    assert ("5GHz" in seen.ChannelFlags) == (frequency > 5000)
    assert seen.dBm_AntSignal == (None if signal is None else max(-128, min(signal, 127)))
    assert seen.addr2 == "02:00:00:00:00:00" and seen.len == 14 + (signal is not None)


def test_a_capture_of_radios_is_dissected_with_its_signals(tmp_path):
    captures = Captures(tmp_path, 1, 1.0, capture.datagrams(4710), RADIOTAP)
    ethernet = capture.ethernet_frame(1, None, 4710, b"something")
    body = data_frame(1, None, 0) + bytes.fromhex("aaaa03000000") + ethernet[12:]
    captures.note(0, 0.5, radiotap.header(6_000_000, 5180, -61) + body)
    captures.note(0, 0.75, radiotap.header(6_000_000, 5180) + body)
    captures.flush()
    assert [data for _, data in capture.read(tmp_path / "0.pcap")][1].endswith(body)
    heard, sent = dissect.lines(tmp_path / "0.pcap")
    assert heard.startswith("00:00:01.500000 ") and "10.0.0.2" in heard and heard.endswith(" -61 dBm")
    assert sent.startswith("00:00:01.750000 ") and not sent.endswith("dBm")


def test_frames_of_other_worlds_stay_as_they_are(tmp_path):
    captures = Captures(tmp_path, 1, 0.0, capture.datagrams(4710))
    captures.sent(Frame(0, None, b"x"), 0.0)
    captures.flush()
    assert (tmp_path / "0.pcap").read_bytes()[20:24] == struct.pack("<I", 1)


# ---- bad input -----------------------------------------------------------------------------------
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a network namespace")
def test_a_radio_that_never_joins_is_told():
    said = elsewhere(lambda: radio.await_carrier("lo", 0.1))  # down, as it is in a new namespace
    assert said.startswith("NotJoined: its radio lo did not join the ad hoc network in 0.1 s") and "netns" in said
    radio.await_carrier("lo", 0.1)


absent = pytest.mark.skipif(radio._there(), reason="mac80211_hwsim is loaded here")


def started(tmp_path: Path, modprobe: str | None) -> subprocess.CompletedProcess:
    """`roamcast run --world hwsim` where modprobe is this script, or is not there."""
    scenario = tmp_path / "two.toml"
    scenario.write_text('[run]\nduration = 1\ndeadline = 0.1\n[mobility]\nmodel = "static"\npositions = [[0, 0], [9, 0]]\n')
    folder = tmp_path / "bin"
    folder.mkdir()
    if modprobe is not None:
        (folder / "modprobe").write_text(modprobe)
        (folder / "modprobe").chmod(0o755)
    code = ("import sys; from emulation.worlds.hwsim import radio; import shutil; which = shutil.which\n"
            f"shutil.which = lambda name, path=None: which(name, path={str(folder)!r})\n"
            "from cli.main import main; sys.exit(main(sys.argv[1:]))")
    return subprocess.run([sys.executable, "-P", "-c", code, "run", str(scenario), "--world", "hwsim", "--no-analysis",
                           "--out", str(tmp_path / "run")], capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])})


@absent
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is told to load the module")
@pytest.mark.parametrize(("modprobe", "sign"), [
    (None, "there is no modprobe; install kmod"),
    ("#!/bin/sh\necho 'modprobe: FATAL: Module mac80211_hwsim not found.' >&2\nexit 1\n",
     f"this kernel ({os.uname().release}) has no mac80211_hwsim (FATAL: Module mac80211_hwsim not found."),
    ("#!/bin/sh\nexit 0\n", "is loaded but does not answer"),
])
def test_a_kernel_without_the_module_is_one_sentence_that_names_netns(tmp_path, modprobe, sign):
    done = started(tmp_path, modprobe)
    assert done.returncode == 2 and not (tmp_path / "run").exists()
    said = [text for text in done.stderr.splitlines() if not text.startswith(("roamcast: note:", "roamcast: expected load"))]
    assert len(said) == 1 and sign in said[0] and said[0].endswith("use --world netns")
