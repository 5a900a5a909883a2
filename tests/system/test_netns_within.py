"""What is done to a run in the world netns from within its hosts and from outside: followed and told, or not valid."""
from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from emulation import addresses
from tests.system import runs
from tests.system.test_netns import (  # noqa: F401 (pytestmark skips where netns cannot be)
    LIMITS,
    PATIENCE,
    family,
    going,
    pytestmark,
    supervisor,
    until,
)

CLIQUE = """
[run]
duration = {duration}
deadline = 2
world = "netns"
{limits}
[mobility]
model = "static"
positions = [[0, 0], [50, 0], [0, 50], [50, 50], [25, 25], [25, 0]]
[node]
hello_interval = 0.2
leader_interval = 0.3
[[workload.subscribe]]
filter = 'kind = "temp"'
[[workload.publish]]
hosts = [0]
at = 1
every = 0.2
event = {{ kind = "temp", value = 35 }}
"""


def scenario(folder: Path, commands: dict[int, str], more: str = "", duration: int = 8, limits: str = LIMITS) -> Path:
    """A scenario whose hosts do these things in a shell, each to its own interface."""
    does = "".join(f"[hosts.{host}]\ncommand = [\"sh\", \"-c\", \"{text}\"]\n" for host, text in commands.items())
    return runs.scenario_file(folder, CLIQUE.format(duration=duration, limits=limits) + does + more)


def deliveries(directory: Path, host: int, after: float) -> int:
    return sum(record["node"] == host and record["t"] > after for record in runs.of_kind(directory, "delivered"))


def states(directory: Path, host: int) -> list[tuple[str, float]]:
    found = [r for r in runs.of_kind(directory, "host_interface") if r["host"] == host]
    return [(record["state"], record["t"]) for record in found]


@pytest.mark.needs("ip")
@pytest.mark.parametrize("neighbors", ["frames", "permanent"])
def test_what_befalls_an_interface_is_followed_and_told(tmp_path, neighbors):
    strange = "02:00:00:00:99:99"
    ours = runs.run(scenario(tmp_path, {
        1: f"sleep 2; ip link set wlan0 down; ip link set wlan0 address {strange}; ip link set wlan0 up",
        2: "sleep 2; ip link set wlan0 down; sleep 2; ip link set wlan0 up; sleep 1; ip -6 -o address show wlan0",
        3: "sleep 2; ip link delete wlan0",
        4: "sleep 2; ip link set wlan0 mtu 1400; ip link set wlan0 down; ip link set wlan0 name radio; ip link set radio up",
        5: "sleep 2; ip -6 address delete fd72:6f61:6d63::6/64 dev wlan0; ip address add 10.0.0.3/8 dev wlan0",
    }, f"[netns]\nneighbors = \"{neighbors}\"\n"), tmp_path / "run")
    manifest = runs.manifest(ours)
    fidelity, notes = manifest["fidelity"], "\n".join(manifest["fidelity"]["notes"])
    assert manifest["outcome"] == "complete" and manifest["ended"] == pytest.approx(8, abs=0.01)
    assert fidelity["invalid_because"] == [] and fidelity["tap_drops"] == 0
    for told in (f"host 1's wlan0 got the Ethernet address {strange} at ", "host 2's wlan0 was down from ",
                 "host 3's wlan0 was removed at ", "host 4's wlan0 got the MTU 1400 at ", "host 4's wlan0 was renamed radio at ",
                 "host 5's wlan0 was without its address fd72:6f61:6d63::6 from ",
                 "host 5's wlan0 took 10.0.0.3, the address of host 2, at "):
        assert told in notes
    assert "host 0" not in notes.replace("of host 0", "") and "could not get" not in notes
    (down, went), (up, came) = states(ours, 2)
    assert (down, up) == ("down", "up") and 2 <= went < came
    assert {record["address"] for record in runs.of_kind(ours, "host_interface") if record["host"] == 1} == {
        "02:00:00:00:00:01", strange}
    parted = {(r["kind"], r["from"], r["to"]) for r in runs.of_kind(ours, "radio_up", "radio_down") if went <= r["t"] <= came + 1}
    assert {("radio_down", 2, 0), ("radio_down", 0, 2), ("radio_up", 2, 0), ("radio_up", 0, 2)} <= parted
    shown = (ours / "programs" / "2.log").read_text()
    assert str(addresses.ipv6(2)) in shown and str(addresses.link_local(2)) in shown
    gone = states(ours, 3)[-1]
    assert gone[0] == "gone" and not deliveries(ours, 3, gone[1] + 0.5)
    for host in (1, 4):  # on the air again after a moment, at the new address, by the new name
        assert deliveries(ours, host, states(ours, host)[-1][1])
    assert deliveries(ours, 2, came)
    assert {r["to"] for r in runs.of_kind(ours, "radio_down")} >= {3}


@pytest.mark.needs("ip")
def test_a_host_whose_node_is_deaf_makes_the_run_not_valid(tmp_path):
    ours = runs.run(scenario(tmp_path, {
        1: "sleep 2; ip -4 address flush dev wlan0",
        2: "sleep 2; ip link add br0 type bridge; ip link set wlan0 master br0; ip link set br0 up",
        3: "sleep 2; ip link set wlan0 address 02:00:00:00:00:04",
    }, duration=8), tmp_path / "run")
    because, notes = ("\n".join(runs.manifest(ours)["fidelity"][key]) for key in ("invalid_because", "notes"))
    assert "host 1's wlan0 was without its address 10.0.0.2 from " in because
    assert "datagrams that reached host 2's interface did not reach its node" in because
    assert "host 3's wlan0 took the Ethernet address of host 4, 02:00:00:00:00:04, at " in because
    assert "host 2 got another interface br0 at " in notes and "host 2's wlan0 became part of another interface" in notes


STRANGE = """
import socket
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as end:
    end.bind(("wlan0", 0))
    for _ in range(300):
        end.send(b"\\xff" * 6 + bytes.fromhex("02000000000188b5") + bytes(60))
"""


@pytest.mark.needs("ip")
def test_what_hosts_do_is_not_taken_for_lateness_and_one_hides_no_other(tmp_path):
    """Frames of a protocol that no kernel knows, and an interface that goes down again and again with frames on their way."""
    (tmp_path / "strange.py").write_text(STRANGE)
    ours = runs.run(scenario(tmp_path, {
        1: f"sleep 2; exec {sys.executable} {tmp_path}/strange.py",
        2: "sleep 2; for k in $(seq 40); do ip link set wlan0 mtu $((1400 + k)); ip link set wlan0 down; "
           "ip link set wlan0 up; done",
        3: "sleep 2; ip link set wlan0 down",
        4: "ip link set wlan0 mtu 100",  # what is longer comes in fragments, and IPv6 is none
    }), tmp_path / "run")
    fidelity = runs.manifest(ours)["fidelity"]
    assert fidelity["invalid_because"] == [] and fidelity["tap_drops"] == 0
    notes = fidelity["notes"]
    [down] = [note for note in notes if note.startswith("host 3's wlan0 ")]
    assert " was down from " in down and down.endswith(" s to the end")
    assert [note for note in notes if note.startswith("host 2's")][-1].startswith("host 2's wlan0: and ")
    assert [note.split(" from ")[0] for note in notes if note.startswith("host 4's")][1:] == [
        f"host 4's wlan0 was without its address {address}" for address in sorted([addresses.ipv6(4), addresses.link_local(4)])]


def node_of(out: Path, host: int) -> int:
    """The process that is a host's node, when it has started."""
    until(lambda: any(r["node"] == host for r in runs.of_kind(out, "node_started")), "the node does not start")
    first = supervisor(out)
    nodes = sorted(pid for pid, space in family(first).items() if space != os.readlink(f"/proc/{first}/ns/net"))
    return nodes[host]  # they are forked in the order of their ids


STRICT = LIMITS.replace("stall = 60", "stall = 1.5")


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_node_that_stands_still_is_named(tmp_path, goes_on):
    out = tmp_path / "run"
    with going(scenario(tmp_path, {}, limits=STRICT, duration=6), out) as process:
        victim = node_of(out, 4)
        time.sleep(1.0)
        os.kill(victim, signal.SIGSTOP)
        if goes_on:
            time.sleep(2.0)
            os.kill(victim, signal.SIGCONT)
        _, loud = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3 and "host 4's node stood still for " in loud
    assert "host 4's node was stopped from outside (SIGSTOP) from " in loud and (goes_on or " s to the end" in loud)
    assert runs.manifest(out)["fidelity"]["latest_node"] == 4


def test_what_the_scenario_freezes_may_stand_still(tmp_path):
    faults = "".join(f'[[faults]]\nat = {at}\nhost = {host}\naction = "{action}"\n' for at, host, action in (
        (1.5, 4, "freeze"), (4, 4, "thaw"), (3, 5, "freeze")))
    fidelity = runs.manifest(runs.run(scenario(tmp_path, {}, faults, 6, STRICT), tmp_path / "run"))["fidelity"]
    assert not [reason for reason in fidelity["invalid_because"] if "host 4" in reason or "host 5" in reason]


def test_a_supervisor_or_a_command_that_stands_still_is_named(tmp_path):
    out = tmp_path / "run"
    with going(scenario(tmp_path, {0: "kill -STOP $$", 1: "exec sleep 300"}, limits=STRICT, duration=6), out, "--allow-commands") as process:
        first = supervisor(out)
        time.sleep(1.0)
        os.kill(first, signal.SIGSTOP)
        time.sleep(2.0)
        os.kill(first, signal.SIGCONT)
        _, loud = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3 and "supervisor, which carries out the faults, stood still for " in loud
    assert "host 0's command was stopped from outside (SIGSTOP) from " in loud and "host 1" not in loud
