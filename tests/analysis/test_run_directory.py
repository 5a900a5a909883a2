"""Run directories that no run of ours wrote: one line that names the file, or notes, before anything heavy."""
from __future__ import annotations

import json
import math
import os
import random
import tempfile
from pathlib import Path

import pytest
import tomli_w

from analysis import AnalysisError
from analysis.run import read

SCENARIO = {"run": {"name": "x", "duration": 60.0, "deadline": 10.0, "grace": 5.0, "warm_up": 0.0, "window": [0.0, 50.0],
                    "seed": 1, "world": "sim"},
            "hosts": {"count": 3}, "mobility": {"model": "random_waypoint", "area": [300.0, 200.0]},
            "radio": {"range": 150.0}, "node": {}, "workload": {}}
VALUES = ["x", "</script>", True, -1, 10**9, 10**30, 1e300, math.nan, math.inf, [], [1.0], ["a", "b"], [math.nan, 2.0],
          [2.0, 1.0], [[1], [2]], {}, {"a": 1}]


def directory(folder, scenario: object, manifest: str | bytes = "{}"):
    (folder / "scenario.toml").write_text(tomli_w.dumps(scenario))
    (folder / "manifest.json").write_bytes(manifest if isinstance(manifest, bytes) else manifest.encode())
    return folder


@pytest.mark.parametrize(("section", "key"), [(s, k) for s, table in SCENARIO.items() for k in (None, *table)]
                         + [("hosts", "names")])
def test_any_value_in_the_scenario_of_a_run(tmp_path, section, key):
    for value in VALUES:
        changed = SCENARIO | {section: value if key is None else SCENARIO[section] | {key: value}}
        try:
            run = read(directory(tmp_path, changed))
        except AnalysisError as error:
            assert str(error).startswith(f"{tmp_path / 'scenario.toml'}: ") and "\n" not in str(error)
            continue
        assert len(run.hosts) <= 100_000 and 0 <= run.duration <= 1e9 and run.window[0] <= run.window[1]
        assert all(isinstance(name, str) for name in run.hosts.values())


@pytest.mark.parametrize("text", [b"", b"[run\n", random.Random(1).randbytes(99), b"run = 1\n", b"x = " + b"[" * 9999])
def test_a_scenario_that_cannot_be_read(tmp_path, text):
    (tmp_path / "scenario.toml").write_bytes(text)
    with pytest.raises(AnalysisError, match="scenario.toml: ") as error:
        read(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", [b"", b"[1]", b"[" * 99999, random.Random(2).randbytes(99), b'{"outcome": "complete"'])
def test_a_manifest_that_cannot_be_read_is_a_note(tmp_path, text):
    run = read(directory(tmp_path, SCENARIO, text))
    assert math.isnan(run.ended) and any("did not end in order" in note for note in run.notes)


def test_what_befell_a_run_in_real_time_is_among_its_notes(tmp_path):
    told = "host 3's wlan0 was down from 5.50 s to the end"
    assert told in read(directory(tmp_path, SCENARIO, json.dumps({"fidelity": {"notes": [told]}}))).notes
    for value in (None, told, {"notes": told}, 3):
        assert told not in read(directory(tmp_path, SCENARIO, json.dumps({"fidelity": {"notes": value}}))).notes


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_any_value_in_the_manifest(tmp_path, value):
    for key in ("outcome", "ended", "fidelity", "reason", "world"):
        found = read(directory(tmp_path, SCENARIO, json.dumps({"outcome": "complete", "ended": 60.0, key: value})))
        assert math.isnan(found.ended) or 0 <= found.ended <= 1e9
        assert isinstance(found.manifest["fidelity"], dict)
    found = read(directory(tmp_path, SCENARIO, json.dumps({"fidelity": {"invalid_because": value}})))
    assert isinstance(found.manifest["fidelity"]["invalid_because"], list)


@pytest.fixture
def anybodys():
    """A folder that everybody may enter, whoever owns it."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("shut", ["above", "above/run/nodes", "above/run/nodes/0.jsonl", "above/run/scenario.toml"])
def test_what_may_not_be_read_is_one_sentence(anybodys, shut):
    run = anybodys / "above" / "run"
    (run / "nodes").mkdir(parents=True)
    directory(run, SCENARIO)
    for host in range(3):
        (run / "nodes" / f"{host}.jsonl").touch()
    (anybodys / shut).chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(AnalysisError, match="Permission denied"):
            read(run)
    finally:
        os.seteuid(user)
        (anybodys / shut).chmod(0o755)
