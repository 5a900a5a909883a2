"""Who roams, in a scenario: by id or name, with brokers left and a tree between them; else an error for people."""

from __future__ import annotations

import pytest

import topologies

HEAD = '[run]\nduration = 60\n[mobility]\npositions = [[0, 0], [50, 0], [100, 0]]\n'


def loaded(tmp_path, text: str) -> topologies.Scenario:
    path = tmp_path / "roam.toml"
    path.write_text(HEAD + text)
    return topologies.load(path)


def test_hosts_roam_by_id_and_by_name(tmp_path):
    assert loaded(tmp_path, "").workload.roam == ()
    assert loaded(tmp_path, "[workload]\nroam = [2]\n").workload.roam == (2,)
    named = loaded(tmp_path, '[hosts]\nnames = ["ann", "ben", "cho"]\n[workload]\nroam = ["cho", "ben"]\n')
    assert named.workload.roam == (2, 1)
    (tmp_path / "again.toml").write_text(named.to_toml())
    assert topologies.load(tmp_path / "again.toml") == named


@pytest.mark.parametrize("text, finding", [
    ("[workload]\nroam = [3]\n", "roam.toml: workload.roam: found host 3; expected an id from 0 to 2"),
    ('[workload]\nroam = ["dee"]\n', 'workload.roam[0]: found "dee", which is no host; give an id, the hosts have no names'),
    ("[workload]\nroam = [1, 1]\n", "workload.roam: found host 1 twice; give each host once"),
    ("[workload]\nroam = [0, 1, 2]\n", "workload.roam: found all 3 hosts; leave at least one out as a broker"),
    ("[workload]\nroam = [-1]\n", "workload.roam[0]: found -1"),
    ("[workload]\nroam = 2\n", "workload.roam: found 2"),
    ('[node]\ntree = "none"\nstrategy = "flood"\n[workload]\nroam = [2]\n',
     'workload.roam: found hosts that roam with node.tree = "none"; use node.tree = "maodv"'),
    ('[hosts]\ncount = 3\n[hosts.2]\nnode = false\ncommand = ["true"]\n[workload]\nroam = [2]\n',
     "workload.roam: found host 2, with hosts.2.node = false; leave it out"),
    ("[node]\nclient_buffer = 10\n", "node.client_buffer: found 10"),
    ("[node]\nroam_margin = 1.5\n", "node.roam_margin: found 1.5"),
])
def test_mistakes_are_named(tmp_path, text, finding):
    with pytest.raises(topologies.ScenarioError) as error:
        loaded(tmp_path, text)
    assert finding in str(error.value)
