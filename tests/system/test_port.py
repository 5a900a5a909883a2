"""Radios in the loop: a host that is a real device, here one in a namespace at the other end of a wire."""
from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulation import addresses, capture
from emulation.linux import kernel
from emulation.worlds.netns.world import FABRIC
from tests.node import field_hosts
from tests.system import runs

PATIENCE = 300.0  # s
SIOCETHTOOL, SET_TX_CHECKSUMS = 0x8946, 0x17
PORT = f"rc-{os.getpid()}"
SCENARIO = """
[run]
duration = {duration}
deadline = 2
world = "netns"
[run.fidelity]
medium = 60
nodes = 60
positions = 60
host = 60
stall = 60
dropped = 1
[hosts.2]
interface = "{port}"
[mobility]
model = "static"
positions = [[0, 0], [100, 0], [200, 0]]
[node]
hello_interval = 0.2
leader_interval = 0.5
[[workload.subscribe]]
hosts = [0]
filter = 'kind = "temp"'
"""


def _supported() -> str:
    if os.geteuid() != 0:
        return "needs root, for an interface of this machine"
    try:
        FABRIC.check()
    except kernel.Unsupported as error:
        return str(error)
    return ""


pytestmark = [pytest.mark.skipif(bool(_supported()), reason=_supported() or "supported"), pytest.mark.needs("ip", "nsenter"),
              pytest.mark.real_time]


@contextlib.contextmanager
def device(interface: str = PORT, ethernet: str | None = None):
    """A wire whose one end is an interface here and whose other is wlan7 in a namespace: its name. The address is host 2's.

    `ethernet`: its Ethernet address, in place of one of chance.
    """
    space = f"roamcast-port-{os.getpid()}"

    ip = field_hosts.ip
    ip("netns", "add", space)
    try:
        ip("link", "add", "name", interface, "type", "veth", "peer", "name", "wlan7", "netns", space)
        ip("link", "set", interface, "up")
        if ethernet is not None:
            ip("link", "set", "wlan7", "address", ethernet, at=space)
        ip("addr", "add", f"{addresses.ipv4(2)}/8", "broadcast", "10.255.255.255", "dev", "wlan7", at=space)
        ip("link", "set", "wlan7", "up", at=space)
        inside(space, _sums_in_frames)
        yield space
    finally:
        subprocess.run(["ip", "link", "del", interface], stderr=subprocess.DEVNULL)
        ip("netns", "del", space)


def inside(space: str, job) -> int:
    """A fork of this process in a namespace does a job; waits for it, and gives its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _enter(space)
            job()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _enter(space: str) -> None:
    descriptor = os.open(f"/run/netns/{space}", os.O_RDONLY)
    kernel.setns(descriptor, kernel.CLONE_NEWNET)
    os.close(descriptor)


def _sums_in_frames() -> None:
    """A card computes checksums; a virtual wire leaves them out unless it is told so."""
    value = (ctypes.c_uint32 * 2)(SET_TX_CHECKSUMS, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, SIOCETHTOOL, struct.pack("16sP16x", b"wlan7", ctypes.addressof(value)))


@contextlib.contextmanager
def node(space: str, folder: Path):
    """`roamcast node` on the device, as host 2."""
    environment = {**os.environ, "PYTHONPATH": str(runs.ROOT)}
    process = subprocess.Popen([*field_hosts.inside(space), sys.executable, "-P", "-m", "cli", "node", "--id", "2",
                                "--interface", "wlan7", "--control", str(folder / "2.sock"), "--records",
                                str(folder / "2.jsonl"), "--state", str(folder / "2.json"), "--config",
                                str(folder / "node.toml")], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def publish(folder: Path) -> None:
    """For ever."""
    from node.client import Client

    with Client(folder / "2.sock") as client:
        while True:
            client.publish({"kind": "temp", "value": 31})
            time.sleep(0.5)


def until(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_real_device_is_a_host_among_others(tmp_path):
    (tmp_path / "node.toml").write_text("[node]\nhello_interval = 0.2\nleader_interval = 0.5\n")
    scenario = runs.scenario_file(tmp_path, SCENARIO.format(port=PORT, duration=9))
    with device() as space, node(space, tmp_path):
        until((tmp_path / "2.sock").exists)
        talker = os.fork()
        if talker == 0:
            try:
                publish(tmp_path)
            finally:
                os._exit(1)
        try:
            ours = runs.run(scenario, tmp_path / "run")
        finally:
            os.kill(talker, signal.SIGKILL)
            os.waitpid(talker, 0)
        link = field_hosts.ip("-j", "link", "show", "wlan7", at=space)
    address = json.loads(link)[0]["address"]
    manifest = runs.manifest(ours)
    assert manifest["fidelity"]["valid"], manifest["fidelity"]["invalid_because"]
    assert manifest["fidelity"]["ports"] == {"2": {"interface": PORT, "device": address, "down_at": None}}
    assert sorted({r["node"] for r in runs.of_kind(ours, "node_started")}) == [0, 1]
    delivered = [r for r in runs.of_kind(ours, "delivered") if r["node"] == 0]
    assert len(delivered) >= 4 and {r["event"].partition(".")[0] for r in delivered} == {"2"}  # by way of host 1: 2 is out of 0's range
    heard = {frame[6:12] for _, frame in capture.read(ours / "captures" / "0.pcap")}
    assert bytes.fromhex(address.replace(":", "")) not in heard and addresses.mac(1) in heard
    at_port = [frame for _, frame in capture.read(ours / "captures" / "2.pcap")]
    assert {frame[6:12] for frame in at_port} == {bytes.fromhex(address.replace(":", "")), addresses.mac(1)}


def test_a_port_that_goes_down_is_told_and_the_run_goes_on(tmp_path):
    scenario = runs.scenario_file(tmp_path, SCENARIO.format(port=PORT, duration=5))
    with device():
        breaker = os.fork()
        if breaker == 0:
            try:
                out = tmp_path / "run"
                until(lambda: (out / "live.json").exists() and runs.of_kind(out, "node_started"))
                subprocess.run(["ip", "link", "set", PORT, "down"])
            finally:
                os._exit(0)
        ours = runs.run(scenario, tmp_path / "run")
        os.waitpid(breaker, 0)
    because = runs.manifest(ours)["fidelity"]["invalid_because"]
    assert len(because) == 1 and because[0].startswith(f"host 2's interface {PORT} went down at ")
    assert runs.manifest(ours)["outcome"] == "complete"


def test_an_interface_that_is_not_there_is_one_sentence(tmp_path):
    scenario = runs.scenario_file(tmp_path, SCENARIO.format(port="rc-nothing", duration=3))
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "run", str(scenario), "--out", str(tmp_path / "run")],
                          env={**os.environ, "PYTHONPATH": str(runs.ROOT)}, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and not (tmp_path / "run").exists()
    assert done.stderr.splitlines()[-1].startswith("roamcast: host 2: there is no interface rc-nothing for a host's radio; there are lo")
