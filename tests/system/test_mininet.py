"""The world mininet with Mininet-WiFi itself; skipped where it is not installed, and said why."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulation import addresses, capture
from emulation.linux import kernel
from emulation.propagation import Locator
from emulation.worlds.mininet import network
from node import wire
from tests.system import runs
from tests.system.test_port import device, node, publish
from topologies import load

PATIENCE = 300.0  # s: a station takes seconds to make on a slow machine
RANGE = 150.0
RADIOS = Path("/sys/kernel/debug/ieee80211")
LOOSE = "[run.fidelity]\nnodes = 1\npositions = 1\nhost = 5\nstall = 10\n"
HEAD = '[run]\nduration = {duration}\ndeadline = 2\nworld = "mininet"\n' + LOOSE
WALKERS = HEAD + """
[hosts]
count = 10
[mobility]
model = "random_waypoint"
area = [350, 350]
speed = [2, 5]
pause = [0, 5]
[node]
hello_interval = 0.5
leader_interval = 2
[workload]
kinds = 4
subscriptions = 2
publish_interval = 4
"""
CHAIN = HEAD + """
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
PUBLISH = "[[workload.publish]]\nhosts = [2]\nevent = { kind = \"temp\" }\nat = 2\nevery = 0.25\n"


def _why_not() -> str:
    try:
        network.check()
    except kernel.Unsupported as error:
        return f"Mininet-WiFi cannot be tried here: {error}"
    return ""


pytestmark = [pytest.mark.skipif(bool(_why_not()), reason=_why_not() or "it can"), pytest.mark.real_time]


def radios() -> list[str]:
    """Those that this machine has, in whatever namespace."""
    return sorted(os.listdir(RADIOS)) if RADIOS.is_dir() else []


def gone(condition) -> None:
    end = time.monotonic() + PATIENCE
    while condition():
        assert time.monotonic() < end, condition()
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def nothing_left():
    before = set(radios())
    yield
    gone(lambda: set(radios()) - before)


def started(folder: Path, text: str) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-P", "-m", "cli", "run", str(runs.scenario_file(folder, text)), "--no-analysis",
                                "--out", str(folder / "run")], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": str(runs.ROOT)})
    end = time.monotonic() + PATIENCE
    while not (folder / "run" / "live.json").exists():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.1)
    return process


def commands(pid: int) -> dict[int, str]:
    """The processes of a process's pid namespace, by what they are."""
    space, found = os.readlink(f"/proc/{pid}/ns/pid"), {}
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{other}/ns/pid") == space:
                found[int(other)] = Path(f"/proc/{other}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def test_ten_walkers_hear_who_is_in_range_and_nobody_else(tmp_path):
    out = runs.run(runs.scenario_file(tmp_path, WALKERS.format(duration=20)), tmp_path / "run")
    manifest = runs.manifest(out)
    fidelity, workload = manifest["fidelity"], manifest["workload"]
    print(json.dumps(fidelity, indent=1), workload)
    assert manifest["outcome"] == "complete" and fidelity["valid"], fidelity["invalid_because"]
    assert fidelity["tap_drops"] == fidelity["socket_drops"] == fidelity.get("capture_drops", 0) == 0
    assert fidelity["positions"]["samples"] >= 199 and workload["published"] > 30 and workload["delivered"] > 30
    near, far = _heard(out, manifest["epoch"])
    print("heard within 0.93 of the range:", near, "beyond 1.05:", far)
    assert far[1] == 0 and far[0] > 100
    assert near[0] > 500 and near[1] >= 0.97 * near[0]


def _heard(out: Path, epoch: float) -> tuple[list[int], list[int]]:
    """[broadcasts x hosts, of them heard] well within the range and well beyond it."""
    locator = Locator(load(out / "scenario.toml").movement().trajectories)
    hosts = range(10)
    seen = [{frame[28:]: at / 1e9 - epoch for at, frame in capture.read(out / "captures" / f"{host}.pcap")
             if frame[36:38] == wire.PORT.to_bytes(2, "big") and frame[0] & 1} for host in hosts]
    near, far = [0, 0], [0, 0]
    for sender in hosts:
        sent = [(at, frame) for at, frame in capture.read(out / "captures" / f"{sender}.pcap")
                if frame[6:12] == addresses.mac(sender) and frame[36:38] == wire.PORT.to_bytes(2, "big") and frame[0] & 1]
        for at, frame in sent:
            t = at / 1e9 - epoch
            for receiver in set(hosts) - {sender} if 2.0 < t < 19.0 else ():
                share = locator.distance(sender, receiver, t) / RANGE
                for count, counts in ((near, share < 0.93), (far, share > 1.05)):
                    count[0] += counts
                    count[1] += counts and frame[28:] in seen[receiver]
    return near, far


def test_a_station_that_crashes_is_off_the_air_and_joins_again(tmp_path):
    faults = "[[faults]]\nat = 5\naction = \"crash\"\nhost = 1\n[[faults]]\nat = 9\naction = \"start\"\nhost = 1\n"
    out = runs.run(runs.scenario_file(tmp_path, CHAIN.format(duration=18) + PUBLISH + faults), tmp_path / "run")
    manifest = runs.manifest(out)
    assert manifest["fidelity"]["valid"], manifest["fidelity"]["invalid_because"]
    times = [record["t"] for record in runs.of_kind(out, "delivered") if record["node"] == 0]
    assert any(t < 5.0 for t in times) and any(t > 12.0 for t in times)
    assert not any(6.0 < t < 9.0 for t in times)  # host 1 is the only way
    away = [at / 1e9 - manifest["epoch"] for at, frame in capture.read(out / "captures" / "0.pcap") if frame[6:12] == addresses.mac(1)]
    assert not any(5.5 < t < 8.9 for t in away) and max(away) > 12.0


@pytest.mark.parametrize("victim", ["caller", "supervisor", "wmediumd"])
def test_a_kill_leaves_nothing(tmp_path, victim):
    process = started(tmp_path, CHAIN.format(duration=120))
    supervisor = json.loads((tmp_path / "run" / "live.json").read_text())["pid"]
    inside = commands(supervisor)
    wmediumd = next(pid for pid, command in inside.items() if command.startswith("wmediumd"))
    assert sum("mininet:sta" in command for command in inside.values()) == 3 and len(radios()) >= 3
    os.kill({"caller": process.pid, "supervisor": supervisor, "wmediumd": wmediumd}[victim], signal.SIGKILL)
    told, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == (-9 if victim == "caller" else 1), said
    assert victim != "wmediumd" or "wmediumd has ended" in told
    gone(lambda: [pid for pid in inside if os.path.exists(f"/proc/{pid}")])


@pytest.mark.needs("ip")
def test_a_real_device_takes_a_stations_place(tmp_path):
    port = f"rc-{os.getpid()}"
    (tmp_path / "node.toml").write_text("[node]\nhello_interval = 0.2\nleader_interval = 0.5\n")
    text = CHAIN.format(duration=12) + f'[hosts.2]\ninterface = "{port}"\n'
    with device(port, addresses.mac(2).hex(":")) as space, node(space, tmp_path):
        process = started(tmp_path, text)
        publish(space, tmp_path)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, said
        gone(lambda: not Path("/sys/class/net", port).exists())  # it is back
    manifest = runs.manifest(tmp_path / "run")
    assert manifest["fidelity"]["ports"] == {"2": {"interface": port, "device": addresses.mac(2).hex(":"), "down_at": None}}
    delivered = [record for record in runs.of_kind(tmp_path / "run", "delivered") if record["node"] == 0]
    assert len(delivered) >= 4 and {record["event"].partition(".")[0] for record in delivered} == {"2"}
    at_port = {frame[6:12] for _, frame in capture.read(tmp_path / "run" / "captures" / "2.pcap")}
    assert at_port == {addresses.mac(1), addresses.mac(2)}
