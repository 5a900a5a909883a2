"""Models and metrics from outside the checkout: the worked examples of docs/extending.md run, and what is wrong is told."""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mobility
import topologies
from emulation import runner
from mobility import outside

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    return re.search(rf"```\w+ {re.escape(name)}\n(.*?)```", PAGE, re.S)[1]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    for name in ("circle.py", "circle.toml", "slowest.py"):
        (tmp_path / name).write_text(example(name))
    monkeypatch.setenv("ROAMCAST_MOBILITY", str(tmp_path / "circle.py"))
    return tmp_path


def test_a_model_from_a_file_moves_the_hosts_and_the_run_says_where_it_came_from(parts, monkeypatch):
    scenario = topologies.load(parts / "circle.toml")
    assert scenario.movement().positions(0.0).round(9).tolist() == scenario.movement().positions(0.0).round(9).tolist()
    other = topologies.load(parts / "circle.toml", {"run.seed": 2}).movement()
    assert abs(other.positions(0.0) - scenario.movement().positions(0.0)).max() > 1.0
    path = runner.run(scenario, parts / "run")
    told = json.loads((path / "manifest.json").read_text())["parts"]
    digest = hashlib.sha256((parts / "circle.py").read_bytes()).hexdigest()
    assert told == [{"key": "mobility.name", "name": "circle", "from": "circle.py", "file": "circle.py", "sha256": digest}]
    monkeypatch.delenv("ROAMCAST_MOBILITY")
    again = topologies.load(path / "scenario.toml")  # which needs no model
    assert abs(again.movement().positions(7.0) - mobility.read(path / "trace.movements.gz").positions(7.0)).max() == 0.0
    with pytest.raises(topologies.ScenarioError, match=r'mobility.name: found "circle", which is no model from outside; install its package'):
        topologies.load(parts / "circle.toml")


def test_a_model_from_an_installed_package_has_its_version(parts, monkeypatch):
    info = parts / "site" / "walks-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: walks\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[roamcast.mobility]\nround = walks_of_mine:circle\n")
    (parts / "site" / "walks_of_mine.py").write_text(example("circle.py"))
    monkeypatch.syspath_prepend(str(parts / "site"))
    monkeypatch.setenv("ROAMCAST_MOBILITY", "")
    outside._parts.cache_clear()
    part = outside.models()["round"]
    assert part.told() | {"sha256": ""} == {"name": "round", "from": "walks 1.2", "file": "walks_of_mine.py", "sha256": ""} and len(part.sha256) == 64
    outside._parts.cache_clear()


@pytest.mark.parametrize(("text", "more", "told"), [
    ("MODELS = {", "", "cannot be loaded (SyntaxError"), ("x = 1", "", "found no MODELS in it"), ("MODELS = {'circle': 3}", "", "found no function"),
    ("MODELS = {'circle': lambda hosts, duration, seed: 3}", "", "circle: found int; expected a Movement of 6 hosts"),
    ("MODELS = {'circel': print}", "", 'found "circle", which is no model from outside; did you mean "circel"?'),
    (None, "radius = 60.0", "circle failed: TypeError"),
])
def test_what_is_wrong_with_a_model_is_told(parts, text, more, told):
    if text is not None:
        (parts / "circle.py").write_text(text)
        if "lambda" in text:
            (parts / "circle.toml").write_text(example("circle.toml").replace("parameters", "# parameters"))
    else:
        (parts / "circle.toml").write_text(example("circle.toml").replace("speed = 2.0", "sped = 2.0"))
    outside._parts.cache_clear()
    with pytest.raises(topologies.ScenarioError) as error:
        topologies.load(parts / "circle.toml")
    assert told in str(error.value) and "\n" not in str(error.value) and "mobility.name: found " in str(error.value)
    outside._parts.cache_clear()


def test_a_metric_from_a_file_is_measured_and_a_bad_one_is_refused(parts):
    def measure(metrics: str):
        env = os.environ | {"ROAMCAST_METRICS": metrics, "PYTHONPATH": str(ROOT)}
        return subprocess.run([sys.executable, "-P", "-m", "cli", "run", "circle.toml", "--measure"], env=env, cwd=parts, capture_output=True, text=True)

    done = measure("slowest.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    found = found.get("numbers", found)
    assert found["latency_max"] >= found["latency_p99" if "latency_p99" in found else "latency_median"] > 0
    (parts / "twice.py").write_text(example("slowest.py").replace("latency_max", "latency_median"))
    for name, told in (("none.py", "none.py: cannot be read"), ("twice.py", "latency_median: found a form that is not known, or a key that is taken"), ("circle.py", "found no METRICS in it")):
        done = measure(name)
        assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1, done.stderr
