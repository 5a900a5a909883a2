"""The world mininet without Mininet-WiFi: the replay, the range, what is said of bad input, and the adapter on a wire."""
from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topologies
from emulation import addresses, capture
from emulation.linux import kernel
from emulation.medium import propagation_of
from emulation.realtime import probe
from emulation.realtime.processes import Failed
from emulation.world import WorldError
from emulation.worlds.mininet import loop, network, replay, station
from emulation.worlds.mininet.world import WORLD
from tests.emulation.spaces import elsewhere
from tests.system import runs
from topologies.scenario import UnitDiskRadio

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0  # s
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as Mininet-WiFi does")
SCENARIO = """
[run]
duration = {duration}
deadline = 1
world = "mininet"
[run.fidelity]
nodes = 60
positions = 60
host = 60
stall = 60
[mobility]
model = "static"
positions = [[0, 0], [100, 0], [50, 80]]
[node]
hello_interval = 0.2
leader_interval = 0.5
[[workload.subscribe]]
hosts = [0, 2]
filter = 'kind = "temp"'
[[workload.publish]]
hosts = [1]
event = {{ kind = "temp" }}
at = 1.2
every = 0.25
"""


def _missing() -> str:
    try:
        network.python()
    except kernel.Unsupported as error:
        return str(error)
    return ""


# ---- where stations are --------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["rwp50-ped", "park-12", "split-and-merge", "minute-apart"])
@given(times=st.lists(st.floats(0.0, 120.0), min_size=1, max_size=12))
def test_places_are_those_of_the_trace_at_any_time_however_late(name, times):
    movement = _movement(name)
    told, told_by = np.full((len(movement), 3), np.nan), replay.Replay(movement)
    for t in times:  # in any order, with any gaps: nothing adds up
        for host, *place in told_by.moved(t):
            told[host] = place
        at = probe.places(movement, t)
        assert np.abs(told[:, :at.shape[1]] - at).max() <= replay.MOVED
    assert told_by.moved(times[-1]) == []


_movements: dict = {}


def _movement(name: str):
    if name not in _movements:
        _movements[name] = topologies.load(runs.LIBRARY / f"{name}.toml").movement()
    return _movements[name]


@given(st.floats(1.0, 1e5))
def test_wmediumd_delivers_up_to_the_range_and_not_beyond(reach):
    exponent, noise = replay.path_loss(reach)
    edge = replay.edge(exponent, noise)
    assert abs(edge - reach) <= 0.024 * reach
    for distance, arrives in ((edge * 0.999, True), (edge * 1.001, False)):
        above = replay.TX_POWER + 2 * replay.GAIN - int(replay.loss(exponent, distance)) - noise  # as wmediumd reckons
        assert (above >= replay.LEAST) == arrives


def test_broadcasts_go_out_at_a_rate_that_the_radio_has():
    assert [replay.broadcast_rate(rate) for rate in (6e6, 5.9e6, 1e3, 1e9)] == [6.0, 5.5, 1.0, 54.0]


def test_who_hears_whom_may_go_either_way_about_the_edge():
    movement = topologies.load(runs.LIBRARY / "park-12.toml").movement()
    distances = np.linalg.norm(np.diff(probe.places(movement)[[0, 1]], axis=0))
    for share, certain in ((1.03, True), (1.01, False), (0.99, False), (0.97, True)):
        radio = UnitDiskRadio(range=float(distances) * share)
        found = probe.reception(movement, radio, propagation_of(radio, movement, 1), set(), edge=0.02)[0, 1]
        assert math.isnan(found) != certain and (not certain or found == float(share > 1))


# ---- what is said --------------------------------------------------------------------------------
@pytest.mark.skipif(not _missing(), reason="Mininet-WiFi is installed here")
def test_without_mininet_wifi_one_sentence_says_how_to_get_it_and_names_two_worlds(tmp_path):
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "run", str(runs.LIBRARY / "park-12.toml"), "--world", "mininet",
                           "--out", str(tmp_path / "run")], capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 2 and not (tmp_path / "run").exists()
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for sign in ("Mininet-WiFi is installed neither", "install.sh", "vagrant up", "--world hwsim", "--world netns"):
        assert sign in done.stderr


@pytest.mark.parametrize(("program", "sign"), [("wmediumd", "util/install.sh -l"), ("hwsim_mgmt", "util/install.sh -W")])
def test_a_program_of_mininet_wifi_that_is_missing_is_named(monkeypatch, program, sign):
    monkeypatch.setattr(network, "python", lambda: sys.executable)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(network.shutil, "which", lambda name, path=None: None if name == program else f"/usr/bin/{name}")
    with pytest.raises(kernel.Unsupported, match=f"its program {program} is not; .*{sign}.*--world hwsim and --world netns"):
        network.check()


def test_an_ordinary_user_is_told(monkeypatch):
    monkeypatch.setattr(network, "python", lambda: sys.executable)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(kernel.Unsupported, match="needs root; .*netns"):
        network.check()


@pytest.mark.skipif(not _missing(), reason="Mininet-WiFi is installed here")
def test_a_mininet_wifi_that_cannot_be_loaded_is_told():
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        here.send(b"{}")
        subprocess.run([sys.executable, str(network.DRIVER), str(there.fileno())], pass_fds=[there.fileno()], timeout=PATIENCE)
        said = json.loads(here.recv(4096))["failed"]
    assert "installed but cannot be loaded (No module named 'mininet')" in said and "docs/worlds.md" in said


def test_one_run_at_a_time(monkeypatch, tmp_path):
    monkeypatch.setattr(network, "LOCK", tmp_path / "lock")
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Failed, match="another run in world mininet is active here"):
            network._alone()
    network._alone()


@root
def test_an_interface_in_the_loop_that_is_not_there_is_told(tmp_path):
    text = SCENARIO.format(duration=5).replace("hosts = [1]", "hosts = [0]") + '[hosts.1]\ninterface = "nosuch0"\n'
    with pytest.raises(WorldError, match="host 1: there is no interface nosuch0 for a host's radio; there are lo"):
        WORLD.check(topologies.load(runs.scenario_file(tmp_path, text)))


@root
def test_an_interface_that_cannot_move_is_told():
    def job() -> None:
        with open(f"/proc/{os.getppid()}/ns/net") as space:
            loop.move(3, "lo", space.fileno())

    said = elsewhere(job)
    assert said.startswith("Failed: host 3: lo cannot be moved into its station") and "ip link" in said


@root
def test_a_station_that_never_joins_is_told(monkeypatch):
    monkeypatch.setattr(station, "PATIENCE", 0.1)

    def job() -> None:
        tap = kernel.open_tap(addresses.INTERFACE, addresses.INDEX)  # down, as a radio without a network
        with open("/proc/self/ns/net") as space:
            station.make(type("Plan", (), {"stations": [space.fileno()], "ports": {}}), 0)
        os.close(tap)

    said = elsewhere(job)
    assert said.startswith("NotJoined: its radio wlan0 did not join the ad hoc network in 0.1 s") and "netns" in said


# ---- the adapter, with stations on a wire --------------------------------------------------------
def command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "tests.emulation.wired", *words]


def start(folder: Path, duration: float, more: str = "") -> subprocess.Popen:
    scenario = runs.scenario_file(folder, SCENARIO.format(duration=duration) + more)
    return subprocess.Popen(command("run", str(scenario), "--no-analysis", "--out", str(folder / "run")), text=True,
                            stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})


@root
@pytest.mark.needs("ip", "nsenter")
@pytest.mark.real_time
def test_a_run_moves_captures_and_strikes_its_faults(tmp_path):
    more = "[[faults]]\nat = 2\naction = \"crash\"\nhost = 2\n[[faults]]\nat = 2.6\naction = \"start\"\nhost = 2\n"
    process = start(tmp_path, 4.5, more)
    _, said = process.communicate(timeout=PATIENCE)
    out = tmp_path / "run"
    log = (out / "hosts.log").read_text() if (out / "hosts.log").exists() else ""
    assert process.returncode == 0, said + log
    manifest = runs.manifest(out)
    fidelity = manifest["fidelity"]
    assert fidelity["notes"] == []  # the scenario's own faults switch its radio
    assert manifest["world"] == "mininet" and fidelity["valid"] and fidelity["medium"]["samples"] == 0
    assert 0 < fidelity["positions"]["samples"] <= 46 and fidelity["receptions"] > 50
    assert {(r["from"], r["to"]) for r in runs.of_kind(out, "radio_down")} == {(0, 2), (2, 0), (1, 2), (2, 1)}
    delivered = runs.of_kind(out, "delivered")
    assert {r["node"] for r in delivered} == {0, 2} and len([r for r in delivered if r["node"] == 0]) > 8
    assert any(r["t"] > 2.7 for r in delivered if r["node"] == 2)  # it is on the air again
    for host in range(3):
        stamps = [at / 1e9 - manifest["epoch"] for at, _ in capture.read(out / "captures" / f"{host}.pcap")]
        assert len(stamps) > 20 and 0.0 <= min(stamps) and max(stamps) < 5.0 + fidelity["nodes"]["worst"]
    senders = {frame[6:12] for _, frame in capture.read(out / "captures" / "0.pcap")}
    assert senders >= {addresses.mac(host) for host in range(3)}


@root
@pytest.mark.needs("ip", "nsenter")
@pytest.mark.parametrize("victim", ["caller", "supervisor", "stations"])
def test_a_kill_leaves_nothing(tmp_path, victim):
    process = start(tmp_path, 60)
    live = tmp_path / "run" / "live.json"
    end = time.monotonic() + PATIENCE
    while not live.exists():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    supervisor = json.loads(live.read_text())["pid"]
    inside = members(supervisor)
    driver = min(pid for pid in inside if b"serve(socket" in Path(f"/proc/{pid}/cmdline").read_bytes())
    assert len(inside) >= 2 + 2 * 3  # supervisor, the process in the medium's place; stations and nodes
    os.kill({"caller": process.pid, "supervisor": supervisor, "stations": driver}[victim], signal.SIGKILL)
    told, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == (-9 if victim == "caller" else 1), said
    assert victim != "stations" or "Mininet-WiFi's process was killed" in told
    end = time.monotonic() + PATIENCE
    while left := [pid for pid in inside if os.path.exists(f"/proc/{pid}")]:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def members(supervisor: int) -> list[int]:
    """The processes of the pid namespace that a supervisor is the first of."""
    space = os.readlink(f"/proc/{supervisor}/ns/pid")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/pid") == space:
                found.append(int(pid))
        except OSError:
            continue
    return found
