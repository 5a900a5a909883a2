"""The workload in namespaces is the one of the simulator: the same draws at the same times, by every host."""
from __future__ import annotations

import pytest

from tests.system import runs
from tests.system.test_netns import LIMITS
from tests.system.test_netns import pytestmark as pytestmark

SCENARIO = '[run]\nduration = 6\ndeadline = 2\nworld = "netns"\n' + LIMITS + """
[mobility]
positions = [[0, 0], [100, 0], [200, 0]]
[workload]
log = "log.csv"
[[workload.subscribe]]
filters = ["kind = 'drawn' and value > 0", "kind = 'logged'"]
pick = 1
on = { exponential = 1 }
off = { exponential = 1 }
[[workload.publish]]
process = "poisson"
every = 0.8
burst = { uniform = [1, 2] }
gap = 0.05
payload = { uniform = [0, 50] }
event = { kind = "drawn", value = { walk = [0.0, 1.0] }, place = { zipf = ["a", "b"] } }
"""


def test_hosts_in_namespaces_do_what_they_do_in_the_simulator(tmp_path):
    (tmp_path / "log.csv").write_text("time,host,kind,value\n1.5,2,logged,3\n3.25,0,logged,4.5\n")
    scenario = runs.scenario_file(tmp_path, SCENARIO)
    ours, sim = runs.run(scenario, tmp_path / "netns"), runs.run(scenario, tmp_path / "sim", run__world="sim")
    for kind, keys in (("published", ("attributes", "bytes")), ("subscribed", ("hash",)), ("unsubscribed", ("hash",))):
        found = [[[(row["t"], *(row[key] for key in keys)) for row in runs.of_kind(path, kind) if row["node"] == host] for host in range(3)] for path in (ours, sim)]
        assert [[row[1:] for row in host] for host in found[0]] == [[row[1:] for row in host] for host in found[1]] and any(found[1]), kind
        assert all(late[0] >= due[0] - 0.001 for mine, theirs in zip(*found) for late, due in zip(mine, theirs, strict=True)), kind
    published = runs.of_kind(sim, "published")
    assert len(published) > 12 and sorted(round(row["t"], 6) for row in published if "logged" in str(row["attributes"])) == pytest.approx([1.5, 3.25])
    assert (ours / "publications.csv").read_bytes() == (tmp_path / "log.csv").read_bytes()
