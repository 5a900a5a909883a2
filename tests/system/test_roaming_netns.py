"""Real processes that walk between brokers, over UDP sockets in namespaces: one that a run makes, one of a program."""

from __future__ import annotations

import json
import os
import sys

import pytest

from emulation.linux import kernel
from emulation.worlds.netns.world import FABRIC
from tests.system import runs


def _supported() -> str:
    try:
        FABRIC.check()
    except kernel.Unsupported as error:
        return str(error)
    return ""


pytestmark = [pytest.mark.skipif(bool(_supported()), reason=_supported() or "supported"), pytest.mark.real_time]

SECONDS, FROM, TO = 26, 8.0, 20.0  # s: of the run; all that is published in between must come
BUSY = 0.3  # s that nodes are late; then neighbors seem to be gone that are not
SCENARIO = """
[run]
duration = {seconds}
deadline = 4
world = "netns"
[run.fidelity]
medium = 60
nodes = 60
positions = 60
host = 60
stall = 60
dropped = 1
[mobility]
trace = "walk.movements"
[radio]
range = 120
[workload]
roam = [4]
[hosts.5]
node = false
command = ["{python}", "{program}", "{out}"]
[[workload.subscribe]]
hosts = [4]
filter = 'kind = "temp"'
[[workload.subscribe]]
hosts = [0, 3]
filter = 'kind = "walk"'
[[workload.publish]]
hosts = [0, 3]
at = 3
every = 0.1
until = 21
event = {{ kind = "temp", number = 1 }}
[[workload.publish]]
hosts = [4]
at = 3
every = 0.4
until = 21
event = {{ kind = "walk" }}
"""


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """Four brokers in a row, and two that walk past them at 30 m/s: (run directory, the program's folder)."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "walk.movements").write_text(
        "0 0 0\n0 100 0\n0 200 0\n0 300 0\n0 0 30 8 0 30 18 300 30 26 300 30\n0 300 40 8 300 40 18 0 40 26 0 40\n")
    (folder / "walk.params").write_text(f"duration={SECONDS}\n")
    text = SCENARIO.format(seconds=SECONDS, python=sys.executable, out=folder / "program.jsonl",
                           program=runs.ROOT / "tests" / "system" / "walker.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(runs.ROOT))
        directory = runs.run(runs.scenario_file(folder, text), folder / "run")
    late = runs.manifest(directory)["fidelity"]["nodes"]["p99"]
    if late > BUSY:
        pytest.skip(f"the machine is too busy for a run in real time: its nodes were {late:.2f} s late (99th percentile), "
                    f"{BUSY:g} s may be; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return directory, folder


@pytest.fixture(scope="module")
def program(walk):
    """(what came to the program, its records, the wall clock when these began)."""
    directory, folder = walk
    log = (directory / "programs" / "5.log").read_text().split()
    began = float(log[0]) if log else float("inf")
    after = began - runs.manifest(directory)["epoch"]
    if after > FROM - 4:
        pytest.skip(f"the machine is too busy: the program was up {after:.1f} s after the run began, {FROM - 4:g} s may be; "
                    f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    came = [json.loads(line) for line in (folder / "program.jsonl").read_text().splitlines()]
    return came, [json.loads(line) for line in (folder / "program.records").read_text().splitlines()], began


def owed(directory, source: int) -> list[str]:
    """What this host published in the time that counts, in order."""
    return [record["event"] for record in runs.of_kind(directory, "published")
            if record["node"] == source and FROM <= record["t"] <= TO]


def check(came: list[str], *owed: list[str]) -> None:
    """Nothing twice, nothing lost, each publisher's in order."""
    assert len(came) == len(set(came))
    for events in owed:
        assert len(events) > 10 and [event for event in came if event in set(events)] == events


def test_the_host_that_roams_loses_nothing(walk):
    directory, _ = walk
    assert len({r["broker"] for r in runs.of_kind(directory, "moved_in") if r["node"] == 4}) >= 2
    assert any(r["device"] == 4 and r["outcome"] == "fetched" and r["events"] > 0
               for r in runs.of_kind(directory, "handoff"))
    check([r["event"] for r in runs.of_kind(directory, "delivered") if r["node"] == 4],
          owed(directory, 0), owed(directory, 3))
    for host in (0, 3):
        check([r["event"] for r in runs.of_kind(directory, "delivered") if r["node"] == host], owed(directory, 4))


def test_a_program_with_a_device_of_its_own_loses_nothing(walk, program):
    directory, _ = walk
    came, records, began = program
    assert len({r["broker"] for r in records if r["kind"] == "moved_in"}) >= 2
    check([event for event, _ in came], owed(directory, 0), owed(directory, 3))
    assert came == [[r["event"], r["recovered"]] for r in records if r["kind"] == "delivered"
                    and not r["event"].startswith("5.")][:len(came)]  # it is told what the records tell
    epoch = runs.manifest(directory)["epoch"]
    mine = [r["event"] for r in records if r["kind"] == "published" and FROM <= began + r["t"] - epoch <= TO]
    for host in (0, 3):
        check([r["event"] for r in runs.of_kind(directory, "delivered") if r["node"] == host], mine)
