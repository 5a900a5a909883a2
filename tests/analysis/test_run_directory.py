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
from analysis.signals import captured

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


SOUND = SCENARIO | {"node": {"tree": "maodv", "strategy": "subscription", "retransmission": True}}
ENDED = {"outcome": "complete", "ended": 60.0, "world": "sim"}


@pytest.mark.parametrize(("section", "changes", "refused"), [
    ("run", {"window": ["0", "50"]}, "run.window: found '0'"), ("run", {"window": [True, 50.0]}, "run.window: found True"),
    ("hosts", {"count": 2.7}, "hosts.count is 2.7"), ("hosts", {"count": "3"}, "hosts.count is 3"),
    ("hosts", {"count": True}, "hosts.count is True"), ("hosts", {"names": "abc"}, "hosts.names: found 'abc'"),
    ("workload", {"roam": ["2"]}, "workload.roam: found"), ("workload", {"roam": 2}, "workload.roam: found 2"),
    ("workload", {"roam": [9]}, "workload.roam: found")])
def test_values_of_another_type_are_not_made_to_fit(tmp_path, section, changes, refused):
    with pytest.raises(AnalysisError, match=refused):
        read(directory(tmp_path, SOUND | {section: SOUND[section] | changes}))


@pytest.mark.parametrize(("scenario", "manifest", "told"), [
    ({"hosts": {"count": 2, "names": ["a", "b", "c"]}}, ENDED, "hosts.count = 2 and 3 hosts.names"),
    ({"hosts": {"count": 3, "names": ["a", "a", "c"]}}, ENDED, "several hosts one name"),
    ({"node": SOUND["node"] | {"tree": "nonee"}}, ENDED, "unknown values in node.tree:"),
    ({"node": SOUND["node"] | {"retransmission": "false"}}, ENDED, "unknown values in node.retransmission:"),
    ({"run": SOUND["run"] | {"world": "Field"}}, ENDED, "the world 'Field' of scenario.toml is none of sim"),
    *(({}, ENDED | {"ended": ended}, "which is not a time") for ended in (True, "60", -1, None, math.nan)),
    ({}, ENDED | {"ended": 600.0}, "manifest.json says that the run ended at 600 s"),
    *(({}, ENDED | {"fidelity": odd}, "whether the run was valid is unknown") for odd in (["x"], "invalid", 3)),
    *(({}, ENDED | changes, "notes in manifest.json are not a list") for changes in ({"notes": "x"}, {"notes": {}}, {"fidelity": {"notes": "x"}})),
])
def test_what_contradicts_itself_or_is_not_known_is_a_note(tmp_path, scenario, manifest, told):
    before = read(directory(tmp_path, SOUND, json.dumps(ENDED))).notes
    [note] = [note for note in read(directory(tmp_path, SOUND | scenario, json.dumps(manifest))).notes
              if note not in before and not note.startswith("no records of")]
    assert told in note


def test_keys_that_stand_twice_in_a_manifest_and_odd_words_on_validity_are_heeded(tmp_path):
    (tmp_path / "captures").touch()
    (tmp_path / "world.jsonl").touch()
    run = read(directory(tmp_path, SOUND, '{"outcome":"running","outcome":"complete","ended":60.0,"fidelity":{"valid":"no"}}'))
    assert any("has a key twice" in note for note in run.notes) and any("world.jsonl is empty" in note for note in run.notes)
    assert run.invalid_because == ["its manifest says valid = 'no'"] and not run.radio_known
    assert captured(run)[1] == ["captures is not a folder and was skipped"]
    for valid, because in ((0, ["its manifest says valid = '0'"]), (True, []), (None, []), (False, ["its manifest says so and gives no reason"])):
        assert read(directory(tmp_path, SOUND, json.dumps({"fidelity": {"valid": valid}}))).invalid_because == because


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
