"""Captures of the kernel's interfaces: nothing lost, nothing added, what is lost counted, devices that come and go."""
from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from emulation import addresses, capture
from emulation.linux import kernel, netlink
from emulation.linux.sniffer import BLOCK, BLOCKS, Monitor, Sniffer, SnifferError, going_until
from tests.emulation.spaces import elsewhere

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0  # s
TUNSETLINK, RADIOTAP = 0x400454CD, 803  # of a TAP: the kind of its frames
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to listen to an interface")


def frame(number: int, size: int = 60) -> bytes:
    return b"\xff" * 6 + addresses.mac(7) + b"\x88\xb5" + number.to_bytes(4, "big") + bytes(size)


def seen(path: Path) -> list[int]:
    return [int.from_bytes(data[14:18]) for _, data in capture.read(path) if data[12:14] == b"\x88\xb5"]


def device() -> int:
    """A TAP that is up; a frame that is written to it is one that wlan0 receives."""
    tap = kernel.open_tap(addresses.INTERFACE, addresses.INDEX)
    netlink.set_up(0)
    return tap


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_every_frame_is_in_the_file_once_in_order_and_whole(tmp_path):
    def job() -> None:
        tap = device()
        sniffer = Sniffer(addresses.INTERFACE, tmp_path / "all.pcap")
        before = time.time_ns()
        for number in range(3000):
            os.write(tap, frame(number, 46 + number % 1400))
            if number % 500 == 0:
                sniffer.take()
        sniffer.close()
        assert sniffer.dropped == 0 and sniffer.frames >= 3000
        found = [(at, data) for at, data in capture.read(tmp_path / "all.pcap") if data[12:14] == b"\x88\xb5"]
        assert [data for _, data in found] == [frame(number, 46 + number % 1400) for number in range(3000)]
        stamps = [at for at, _ in found]
        assert stamps == sorted(stamps) and before <= stamps[0] and stamps[-1] <= time.time_ns()

    assert elsewhere(job) == ""


def test_what_the_ring_cannot_take_is_counted(tmp_path):
    def job() -> None:
        tap = device()
        sniffer = Sniffer(addresses.INTERFACE, tmp_path / "some.pcap")
        most = 2 * BLOCK * BLOCKS // 1400
        for number in range(most):  # nobody reads
            os.write(tap, frame(number, 1400))
        sniffer.close()
        kept = seen(tmp_path / "some.pcap")
        assert kept == list(range(len(kept))) and most // 3 < len(kept) < most  # the first ones
        assert most - len(kept) <= sniffer.dropped <= most - len(kept) + 20  # the kernel has words of its own

    assert elsewhere(job) == ""


def test_an_interface_may_go_down_and_away_and_return(tmp_path):
    def job() -> None:
        taps = [device()]
        sniffer = Sniffer(addresses.INTERFACE, tmp_path / "three.pcap")
        stop: list[int] = []
        follower = threading.Thread(target=sniffer.run, args=(going_until(stop, PATIENCE),))
        follower.start()
        os.write(taps[0], frame(1))
        until(lambda: sniffer.frames)
        os.close(taps[0])  # it is gone
        until(lambda: sniffer._ring is None)
        taps[0] = device()
        until(lambda: sniffer._ring is not None)
        os.write(taps[0], frame(2))
        time.sleep(0.1)
        stop.append(1)
        follower.join()
        assert seen(tmp_path / "three.pcap") == [1, 2]
        assert sniffer.interruptions == 1

    assert elsewhere(job) == ""


@pytest.mark.needs("ip")
def test_frames_of_another_kind_end_the_capture(tmp_path):
    """As when a radio goes to monitor mode: the file's head says what frames are in it."""
    def job() -> None:
        tap = device()
        sniffer = Sniffer(addresses.INTERFACE, tmp_path / "two.pcap")
        said: list[str] = []

        def follow() -> None:
            try:
                sniffer.run(going_until([], PATIENCE))
            except SnifferError as error:
                said.append(str(error))

        follower = threading.Thread(target=follow)
        follower.start()
        os.write(tap, frame(1))
        until(lambda: sniffer.frames)
        subprocess.run(["ip", "link", "set", addresses.INTERFACE, "down"], check=True)
        fcntl.ioctl(tap, TUNSETLINK, RADIOTAP)
        subprocess.run(["ip", "link", "set", addresses.INTERFACE, "up"], check=True)
        follower.join()
        assert said and said[0].startswith("wlan0 now carries frames of another kind"), said
        assert seen(tmp_path / "two.pcap") == [1]

    assert elsewhere(job) == ""


def test_what_cannot_be_listened_to_is_one_sentence(tmp_path):
    with pytest.raises(SnifferError, match=r"^there is no interface nothing0; there are .*\blo\b"):
        Sniffer("nothing0", tmp_path / "none.pcap")
    assert not (tmp_path / "none.pcap").exists()
    with pytest.raises(SnifferError, match="^there is no interface nothing0"), Monitor("nothing0"):
        pass
    with pytest.raises(SnifferError, match="^lo cannot go into monitor mode .*without --monitor"), Monitor("lo"):
        pass


def test_the_command(tmp_path):
    def command(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-P", "-m", "cli", "capture", *words], capture_output=True, text=True,
                              timeout=PATIENCE, env={**os.environ, "PYTHONPATH": str(ROOT)})

    out = str(tmp_path / "lo.pcap")
    done = command("lo", "--out", out, "--seconds", "0.2")
    assert done.returncode == 0 and "frames of lo; 0 dropped by the kernel" in done.stdout
    list(capture.read(tmp_path / "lo.pcap"))
    for words, sign in ((("lo", "--out", out, "--seconds", "0.2"), "exists already"),
                        (("nothing0", "--out", out + "2"), "there is no interface nothing0"),
                        (("lo", "--out", str(tmp_path / "no/such/folder")), "choose another with --out")):
        done = command(*words)
        assert done.returncode == 2 and done.stderr.startswith("roamcast: ") and sign in done.stderr
