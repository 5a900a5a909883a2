"""Whole runs in the world netns: what they leave behind, what befalls them, and that nothing outlives them."""
from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mobility
from emulation import addresses, airtime, capture, rundir
from emulation.linux import kernel
from emulation.realtime import probe
from emulation.world import WorldError
from emulation.worlds.netns.taps import ETHERNET_BYTES, OVERHEAD
from emulation.worlds.netns.world import FABRIC
from node import schema, wire
from node.airtime import DIFS
from tests.system import runs
from topologies.scenario import UnitDiskRadio

PATIENCE = 300.0  # s
LATE = 0.2  # s: later than that and it is the machine that a run shows
TCP_BYTES = 20 + 32  # of the headers of IPv4 and TCP, with its time stamps
LIMITS = "[run.fidelity]\nmedium = 60\nnodes = 60\npositions = 60\nhost = 60\nstall = 60\ndropped = 1\n"  # the machine may be busy
CHAIN = """
[run]
duration = 5
deadline = 2
world = "netns"
""" + LIMITS + """
[mobility]
model = "static"
positions = [[0, 0], [100, 0], [200, 0]]
[node]
hello_interval = 0.2
leader_interval = 0.3
"""
FLOW = """
[[workload.subscribe]]
hosts = [2]
filter = 'kind = "temp"'
[[workload.publish]]
hosts = [0]
at = 2.5
every = 0.25
until = 4
event = { kind = "temp", value = 35 }
"""


def _supported() -> str:
    try:
        FABRIC.check()
    except kernel.Unsupported as error:
        return str(error)
    return ""


pytestmark = [pytest.mark.skipif(bool(_supported()), reason=_supported() or "supported"), pytest.mark.real_time]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(runs.ROOT)}


@contextlib.contextmanager
def going(scenario: Path, out: Path, *more: str):
    """`roamcast run` of a scenario in a process of its own, once its run has begun."""
    command = [sys.executable, "-P", "-m", "cli", "run", str(scenario), "--out", str(out), "--no-analysis", *more]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: (out / "live.json").exists() or process.poll() is not None, "the run does not begin")
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        process.kill()
        process.communicate()


def until(condition, what: str):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"in {PATIENCE:g} s: {what}")


def command(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-P", "-m", "cli", *words], env=environment(), capture_output=True,
                          text=True, timeout=PATIENCE)


def supervisor(out: Path) -> int:
    return json.loads((out / "live.json").read_text())["pid"]


def family(pid: int) -> dict[int, str]:
    """All processes of a supervisor's pid namespace, with their pid and their network namespace."""
    space, found = os.readlink(f"/proc/{pid}/ns/pid"), {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry / "ns/pid") == space:
                found[int(entry.name)] = os.readlink(entry / "ns/net")
    return found


def medium_of(out: Path) -> int:
    """The process that holds all TAP devices."""
    for pid in family(supervisor(out)):
        with contextlib.suppress(OSError):
            if sum(os.readlink(name) == "/dev/net/tun" for name in Path(f"/proc/{pid}/fd").iterdir()) > 1:
                return pid
    raise AssertionError("no medium")


def gone(processes) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in processes)


def timely(scenario: Path, out: Path) -> Path:
    """A run of a scenario in which nothing was very late, if the machine is idle enough for one in a few tries."""
    for attempt in range(4):
        ours = runs.run(scenario, out.with_name(f"{out.name}-{attempt}"))
        if worst(runs.manifest(ours)["fidelity"]) < LATE:
            break
    return ours


def worst(fidelity: dict) -> float:
    """s that anything of a run was late at most."""
    return max(fidelity[name]["worst"] or 0.0 for name in ("medium", "positions", "nodes"))


def test_a_run_leaves_what_the_simulator_leaves(tmp_path):
    scenario = runs.scenario_file(tmp_path, CHAIN + FLOW)
    ours, sim = timely(scenario, tmp_path / "netns"), runs.run(scenario, tmp_path / "sim", run__world="sim")
    told = runs.manifest(ours)
    assert told["outcome"] == "complete" and told["world"] == "netns"
    assert told["fidelity"]["valid"] and told["fidelity"]["real_time"]
    assert 5 <= told["seconds"] < 5 + PATIENCE and told["ended"] == pytest.approx(5, abs=0.01)

    def events(directory: Path, kind: str) -> list[tuple]:
        return [(record["node"], record["event"]) for record in runs.of_kind(directory, kind)]

    assert events(ours, "published") == events(sim, "published") != []
    assert sorted(events(ours, "delivered")) == sorted(events(sim, "delivered")) != []
    due = [2.5 + 0.25 * number for number in range(len(events(ours, "published")))]
    assert all(record["t"] > at - 0.001 for at, record in zip(due, runs.of_kind(ours, "published"), strict=True))
    for record in runs.of_kind(ours, *schema.records()):
        assert not schema.faults(record)
    truth = ("radio_up", "host_up")
    assert [{**r, "t": 0} for r in runs.of_kind(ours, *truth)] == [{**r, "t": 0} for r in runs.of_kind(sim, *truth)]
    assert not (ours / "control").exists() and not (ours / "live.json").exists()
    for directory in (ours, sim):  # what was counted in the last second is recorded
        last = {record["node"]: record["t"] for record in runs.of_kind(directory, "traffic", "radio_traffic")}
        assert sorted(last) == [-1, 0, 1, 2] and min(last.values()) >= 5
    assert {"published": len(events(ours, "published")), "delivered": len(events(ours, "delivered"))} == \
        told["workload"]


def test_captures_hold_whole_frames_and_the_mediums_decisions(tmp_path):
    ours = runs.run(runs.scenario_file(tmp_path, CHAIN + "[radio]\nloss = 0.2\n"), tmp_path / "run")
    seen = [[frame for _, frame in capture.read(ours / "captures" / f"{host}.pcap")] for host in range(3)]
    stamps = [at for at, _ in capture.read(ours / "captures" / "1.pcap")]
    epoch = runs.manifest(ours)["epoch"]
    end = 5.1 + worst(runs.manifest(ours)["fidelity"])
    assert all(0 <= at / 1e9 - epoch <= end for at in stamps) and any(at % 1000 for at in stamps)
    ports = {int.from_bytes(frame[34:36]) for frame in seen[1] if frame[12:14] == b"\x08\x00"}
    assert ports == {wire.PORT}
    for host, frames in enumerate(seen):
        sources = {frame[6:12] for frame in frames}
        near = {other for other in (host - 1, host, host + 1) if 0 <= other < 3}
        assert sources == {addresses.mac(other) for other in near}
    decided = [json.loads(line) for line in (ours / "captures" / "medium.jsonl").read_text().splitlines()]
    assert {"delivered", "lost", "collided"} <= set(decided[0])
    assert any(line["lost"] for line in decided) and any(line["delivered"] for line in decided)
    for host, frames in enumerate(seen):
        sent = sum(line["from"] == host and line["try"] == 1 for line in decided)
        assert sum(frame[6:12] == addresses.mac(host) for frame in frames) - sent in (0, 1)  # one on the air


def test_faults_strike_at_their_times_and_records_survive_a_crash(tmp_path):
    text = CHAIN.replace("duration = 5", "duration = 6") + """
    [workload]
    kinds = 3
    subscriptions = 3
    publish_interval = 0.2
    """ + "".join(f"[[faults]]\nat = {at}\n{what}\n" for at, what in (
        (2, 'host = 0\naction = "crash"'), (3.5, 'host = 0\naction = "start"'),
        (2.5, 'host = 2\naction = "stop"'), (4, 'host = 2\naction = "start"'),
        (3, 'host = 1\naction = "freeze"'), (4.5, 'host = 1\naction = "thaw"'),
        (1, 'link = [0, 1]\naction = "cut"'), (1.5, 'link = [0, 1]\naction = "restore"')))
    ours = runs.run(runs.scenario_file(tmp_path, text), tmp_path / "run")
    fidelity = runs.manifest(ours)["fidelity"]
    assert fidelity["invalid_because"] == [] and fidelity["nodes"]["worst"] < 1.4  # not what was frozen for 1.5 s
    happened = [r for r in runs.of_kind(ours, "host_up", "host_down", "host_frozen", "host_thawed") if r["t"] > 0]
    assert [(r["kind"], r["host"], r.get("how")) for r in happened] == [
        ("host_down", 0, "crash"), ("host_down", 2, "stop"), ("host_frozen", 1, None), ("host_up", 0, None),
        ("host_up", 2, None), ("host_thawed", 1, None)]
    times = [r["t"] for r in happened]
    assert all(at <= t < at + 0.25 + worst(fidelity) for at, t in zip((2, 2.5, 3, 3.5, 4, 4.5), times, strict=True))
    crash, freeze, start, thaw = times[0], times[2], times[3], times[5]
    assert sorted((r["epoch"], r["node"]) for r in runs.of_kind(ours, "node_started")) == [
        (1, 0), (1, 1), (1, 2), (2, 0), (2, 2)]
    assert [r["node"] for r in runs.of_kind(ours, "node_stopped")] == [2]
    own = [r["t"] for r in runs.of_kind(ours, "published") if r["node"] == 0]
    assert any(1.5 < t < 2.05 for t in own) and not any(crash + 0.1 < t < start for t in own) and own[-1] > 4.5
    frozen = [r["t"] for r in runs.of_kind(ours, "published") if r["node"] == 1]
    assert not any(freeze + 0.1 < t < thaw - 0.05 for t in frozen)
    assert sum(4.45 <= t for t in frozen) >= 5  # late, not left out
    cut = [(r["kind"], r["from"], r["to"]) for r in runs.of_kind(ours, "radio_up", "radio_down")
           if 0.9 < r["t"] < 1.9]
    assert cut == [("radio_down", 0, 1), ("radio_down", 1, 0), ("radio_up", 0, 1), ("radio_up", 1, 0)]


@pytest.mark.parametrize("victim", ["caller", "supervisor", "medium"])
def test_a_kill_leaves_nothing(tmp_path, victim):
    out = tmp_path / "run"
    scenario = runs.scenario_file(tmp_path, CHAIN.replace("duration = 5", "duration = 300"))
    named = set(Path("/var/run/netns").iterdir()) if Path("/var/run/netns").is_dir() else set()
    interfaces = socket.if_nameindex()
    with going(scenario, out) as process:
        pid = supervisor(out)
        processes = family(pid)
        spaces = set(processes.values())
        assert len(processes) == 5 and len(spaces) == 4  # supervisor, medium, three nodes; ours and theirs
        assert socket.if_nameindex() == interfaces
        until(lambda: len(runs.of_kind(out, "node_started")) == 3, "the nodes do not start")
        os.kill({"caller": process.pid, "supervisor": pid, "medium": medium_of(out)}[victim], signal.SIGKILL)
        until(lambda: gone(processes), "processes that outlive the run")
        if victim != "caller":
            told, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 1 and "killed" in told
            manifest = runs.manifest(out)
            assert manifest["outcome"] == "failed" and "killed" in manifest["reason"]
            assert not (out / "live.json").exists()
    left = set(Path("/var/run/netns").iterdir()) if Path("/var/run/netns").is_dir() else set()
    assert left <= named or all("roamcast" in name.name for name in left - named)  # other tests make theirs
    assert not any(name == addresses.INTERFACE for _, name in socket.if_nameindex())
    assert len(runs.of_kind(out, "node_started")) == 3


def test_two_runs_side_by_side_and_ctrl_c(tmp_path):
    scenario = runs.scenario_file(tmp_path, CHAIN.replace("duration = 5", "duration = 300"))
    with going(scenario, tmp_path / "a") as first, going(scenario, tmp_path / "b") as second:
        processes = {**family(supervisor(tmp_path / "a")), **family(supervisor(tmp_path / "b"))}
        time.sleep(1.5)
        for process, out in ((first, tmp_path / "a"), (second, tmp_path / "b")):
            process.send_signal(signal.SIGINT)
            told, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 130 and "Interrupted" in told, told
            manifest = runs.manifest(out)
            assert manifest["outcome"] == "interrupted" and 1 < manifest["ended"] < 60
            assert len(runs.of_kind(out, "node_started")) == 3
            last = {record["node"]: record["t"] for record in runs.of_kind(out, "traffic")}
            assert len(last) == 3 and min(last.values()) > manifest["ended"] - 0.2
            heard = {frame[6:12] for _, frame in capture.read(out / "captures" / "0.pcap")}
            assert heard == {addresses.mac(0), addresses.mac(1)}
        assert gone(processes)


def test_a_host_killed_from_outside_is_told(tmp_path):
    out = tmp_path / "run"
    with going(runs.scenario_file(tmp_path, CHAIN), out, "--watch") as process:
        pid = supervisor(out)
        strangers = {pid, medium_of(out)}
        victim = max(set(family(pid)) - strangers)
        os.kill(victim, signal.SIGKILL)
        told, loud = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3 and "NOT VALID" in loud and "killed from outside (signal 9)" in loud
        assert re.search(r"^roamcast: expected load: about 0\.\d of", loud, re.MULTILINE)
        watched = [line.split()[:2] for line in loud.splitlines() if line.endswith(" 0")]
        assert ["0", "up"] in watched and any(state == "down" for _, state in watched)
    assert [r["how"] for r in runs.of_kind(out, "host_down")] == ["died"]
    assert not runs.manifest(out)["fidelity"]["valid"]


@pytest.mark.needs("ip")
def test_people_at_a_host(tmp_path):
    out, heard = tmp_path / "run", tmp_path / "heard"
    text = CHAIN.replace("duration = 5", "duration = 300") + "[hosts]\nnames = ['ann', 'bob', 'carl']\n"
    with going(runs.scenario_file(tmp_path, text), out):
        shown = command("exec", str(out), "bob", "--", "ip", "-4", "-o", "address", "show", "wlan0")
        assert shown.returncode == 0 and f"inet {addresses.ipv4(1)}/8" in shown.stdout
        assert command("exec", str(out), "1", "--", "sh", "-c", "exit 7").returncode == 7
        ask = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 5000)); s.settimeout(50); "
        listener = subprocess.Popen([sys.executable, "-P", "-m", "cli", "exec", str(out), "carl", "--",
                                     sys.executable, "-c", ask + "print('up', flush=True); print(s.recvfrom(100))"],
                                    env=environment(), stdout=subprocess.PIPE, text=True)
        assert listener.stdout.readline() == "up\n"
        say = f"for _ in range(20): s.sendto(b'hello', ('{addresses.ipv4(2)}', 5000))"
        assert command("exec", str(out), "bob", "--", sys.executable, "-c",
                       ask.replace("5000", "5001") + "\n" + say).returncode == 0
        assert "hello" in listener.communicate(timeout=PATIENCE)[0]
        published = command("pub", "--run", str(out), "--host", "ann", "kind=x")
        assert published.returncode == 0 and published.stdout.startswith("0.1."), published
        with heard.open("w") as file:
            subscriber = subprocess.Popen([sys.executable, "-P", "-m", "cli", "sub", "--run", str(out), "--host", "carl",
                                           'kind = "x"'], env=environment(), stdout=file)
        until(lambda: command("pub", "--run", str(out), "--host", "ann", "kind=x").returncode == 0 and heard.read_text(),
              "carl hears nothing of ann")
        subscriber.terminate()
        assert subscriber.wait(PATIENCE) == 0 and json.loads(heard.read_text().splitlines()[0])["attributes"] == {"kind": "x"}
        wrong = command("exec", str(out), "dora", "--", "true")
        assert wrong.returncode == 2 and wrong.stderr == f'roamcast: {out}: found "dora", which is no host; known: ann, bob, carl\n'
    over = command("exec", str(out), "bob", "--", "true")
    assert over.returncode == 2 and "over" in over.stderr


HELLO = """
import os, socket, sys, time
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as end:
    end.settimeout(60)
    end.bind(("::", 5000))
    if sys.argv[1:]:
        for _ in range(20):
            end.sendto(b"hello", (sys.argv[1], 5000))
            time.sleep(0.1)
    else:
        print(*end.recvfrom(100)[:1], flush=True)
"""


@pytest.mark.parametrize("neighbors", ["frames", "permanent"])
def test_addresses_are_resolved_on_the_air_or_known_from_the_start(tmp_path, neighbors):
    """Both kinds of addresses, between two hosts in range: our node's unicasts by IPv4, a program's by IPv6."""
    (tmp_path / "hello.py").write_text(HELLO)
    text = f"""
    [netns]
    neighbors = "{neighbors}"
    [hosts.0]
    command = ["{sys.executable}", "{tmp_path}/hello.py", "{addresses.ipv6(1)}"]
    [hosts.1]
    command = ["{sys.executable}", "{tmp_path}/hello.py"]
    """
    ours = runs.run(runs.scenario_file(tmp_path, CHAIN + FLOW + text), tmp_path / "run")
    assert (ours / "programs" / "1.log").read_text() == "b'hello'\n"
    assert {record["node"] for record in runs.of_kind(ours, "delivered")} == {2}
    frames = [frame for _, frame in capture.read(ours / "captures" / "1.pcap")]
    arp = sum(frame[12:14] == b"\x08\x06" for frame in frames)
    solicitations = sum(frame[12:14] == b"\x86\xdd" and (frame[20], frame[54]) == (58, 135) for frame in frames)
    assert (arp > 0, solicitations > 0) == (neighbors == "frames",) * 2
    assert any(frame[12:14] == b"\x08\x00" and not frame[0] & 1 for frame in frames)  # a unicast by IPv4


def test_other_programs_beside_and_instead_of_the_node(tmp_path):
    say = "echo I am $ROAMCAST_HOST at $ROAMCAST_ADDRESS; "
    text = CHAIN + f"""
    [hosts.0]
    command = ["sh", "-c", "{say} sleep 300"]
    [hosts.1]
    command = ["sh", "-c", "{say} exit 4"]
    node = false
    """
    ours = runs.run(runs.scenario_file(tmp_path, text), tmp_path / "run")
    assert sorted(r["node"] for r in runs.of_kind(ours, "node_started")) == [0, 2]
    assert (ours / "programs/0.log").read_text() == "I am 0 at 10.0.0.1\n"
    because = runs.manifest(ours)["fidelity"]["invalid_because"]
    assert len(because) == 1 and "host 1's command failed" in because[0] and "exit code 4" in because[0]
    missing = text.replace('"sh", "-c"', '"no-such-program"', 1)
    with pytest.raises(WorldError, match="host 0's command no-such-program: there is no such program"):
        runs.run(runs.scenario_file(tmp_path, missing), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("places, told", [
    ([[0, 0], [100, 0], [150, 0]], "host 2 hears host 0, which is out of its range"),
    ([[0, 0], [100, 0], [2000, 0]], "host 2 does not hear host 1, which is in its range (and 1 more pairs)")])
def test_the_self_check_names_a_pair(tmp_path, monkeypatch, places, told):
    elsewhere = mobility.Movement(["0", "1", "2"], [mobility.Trajectory(np.zeros(1), np.array([place], dtype=float))
                                                    for place in places], 5.0)
    monkeypatch.setattr(probe, "standing", lambda movement: elsewhere)
    with pytest.raises(WorldError, match="the self-check disagrees") as caught:
        runs.run(runs.scenario_file(tmp_path, CHAIN), tmp_path / "run")
    assert told in str(caught.value).replace("host 1 does not hear host 2", "host 2 does not hear host 1")
    assert runs.manifest(tmp_path / "run")["outcome"] == "failed"


def test_an_overloaded_run_says_so(tmp_path):
    """The medium is kept from running for a while, as by a machine that has too much to do."""
    out = tmp_path / "run"
    with going(runs.scenario_file(tmp_path, CHAIN.replace(LIMITS, "")), out) as process:
        medium = medium_of(out)
        for _ in range(3):
            os.kill(medium, signal.SIGSTOP)
            time.sleep(0.7)
            os.kill(medium, signal.SIGCONT)
            time.sleep(0.3)
        _, loud = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3 and "THIS RUN IS NOT VALID" in loud
    assert "how late the medium ran is" in loud and "run.fidelity.medium = 10 ms" in loud
    fidelity = runs.manifest(out)["fidelity"]
    assert not fidelity["valid"] and 0.3 < fidelity["medium"]["p99"] <= fidelity["medium"]["worst"]


def test_a_full_disk_ends_the_run_and_keeps_what_was_written(tmp_path):
    scenario = runs.scenario_file(tmp_path, CHAIN.replace("duration = 5", "duration = 60"))
    out = tmp_path / "run"
    limit = rundir.MANIFEST_BYTES + 2000  # a run whose last word does not fit is not begun
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "run", str(scenario), "--out", str(out), "--no-analysis"],
                          env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 1 and "The disk is full (" in done.stdout, done
    manifest = runs.manifest(out)
    assert manifest["outcome"] == "disk_full" and 0 < manifest["ended"] < 60
    assert len(runs.of_kind(out, "node_started")) == 3


@pytest.mark.needs("ip", "babeld")
def test_an_unmodified_routing_daemon_over_the_moving_radio(tmp_path):
    """babeld from Debian on a row of hosts whose last one walks up to the first."""
    places = [([0.0], [[0.0, 0.0]]), ([0.0], [[100.0, 0.0]]), ([0.0], [[200.0, 0.0]]),
              ([0.0, 7.0, 8.0], [[300.0, 0.0], [300.0, 0.0], [-100.0, 0.0]])]
    walk = mobility.Movement([str(k) for k in range(4)], [mobility.Trajectory(np.array(times), np.array(points))
                                                          for times, points in places], 60.0)
    mobility.write(walk, tmp_path / "walk.movements", "bonnmotion")
    babeld = "exec babeld -w -h 0.5 -H 0.5 -I $ROAMCAST_RUN/$ROAMCAST_HOST.pid -S '' wlan0"
    scenario = runs.scenario_file(tmp_path, f"""
    [run]
    duration = 60
    world = "netns"
    {LIMITS}
    [mobility]
    trace = "walk.movements"
    [hosts]
    node = false
    command = ["sh", "-c", "{babeld}"]
    [hosts.0]
    command = ["sh", "-c", "ip -o monitor route & {babeld}"]
    """)
    out = tmp_path / "run"

    def routed(by: int) -> bool:
        """Whether babeld has put a route from the first host to the last over this one."""
        return f"{addresses.ipv4(3)} via {addresses.ipv4(by)} dev wlan0 proto babel" in (
            out / "programs" / "0.log").read_text()

    with going(scenario, out, "--allow-commands") as process:
        until(lambda: (out / "programs" / "0.log").exists() and routed(1), "no route along the row")
        assert not routed(3)
        until(lambda: routed(3), "the route does not follow the host")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert not runs.of_kind(out, "node_started") and runs.of_kind(out, "host_up")


@pytest.mark.needs("iperf3")
def test_the_radios_rate_bounds_what_a_program_gets(tmp_path):
    """TCP by iperf3 from Debian. The bound: a segment, the gap before it and the MAC's acknowledgement, no back-off."""
    client = f"until iperf3 --client {addresses.ipv4(0)} --time 3 --json > $ROAMCAST_RUN/flow.json; do sleep 0.2; done"
    scenario = runs.scenario_file(tmp_path, f"""
    [run]
    duration = 60
    world = "netns"
    {LIMITS}
    [mobility]
    model = "static"
    positions = [[0, 0], [100, 0]]
    [hosts]
    node = false
    [hosts.0]
    command = ["iperf3", "--server", "--one-off"]
    [hosts.1]
    command = ["sh", "-c", "{client}; touch $ROAMCAST_RUN/done"]
    """)
    out = tmp_path / "run"
    with going(scenario, out, "--allow-commands") as process:
        until((out / "done").exists, "iperf3 does not end")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert runs.manifest(out)["fidelity"]["invalid_because"] == []
    flow = json.loads((out / "flow.json").read_text())
    segment, radio = flow["start"]["tcp_mss_default"], UnitDiskRadio()
    air = airtime.frame_time(segment + TCP_BYTES + OVERHEAD + ETHERNET_BYTES, radio.data_rate)
    bound = 8 * segment / (DIFS + air + airtime.ack_time(radio.base_rate))
    assert bound / 50 < flow["end"]["sum_received"]["bits_per_second"] < bound < radio.data_rate


def test_bad_input_is_a_sentence(tmp_path, monkeypatch):
    scenario = runs.scenario_file(tmp_path, CHAIN)
    monkeypatch.setattr(kernel, "TUN", "/dev/net/no-tun")
    with pytest.raises(WorldError, match="/dev/net/no-tun does not exist; load it as root"):
        runs.run(scenario, tmp_path / "a")
    monkeypatch.undo()
    monkeypatch.setattr(kernel, "allow_files", lambda wanted: 70)
    with pytest.raises(WorldError, match="need 76 open files and this session may have 70, enough for 1 hosts"):
        runs.run(scenario, tmp_path / "b")
    monkeypatch.undo()
    monkeypatch.setattr(addresses, "MAX_HOSTS", 2)
    with pytest.raises(WorldError, match="3 hosts: 10.0.0.0/8 has addresses for 2"):
        runs.run(scenario, tmp_path / "c")
    assert not any((tmp_path / name).exists() for name in "abc")
