"""Sweeps of studies: the table, resuming by content and code, failures, the stopping rule, kills, folders of others."""
from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import topologies
from analysis import AnalysisError, analyse, table
from analysis.metrics import METRICS
from emulation import runner
from emulation.studies import results, simulators, study
from mobility import outside
from tests.cli.command import ENVIRONMENT, here, roamcast, start
from topologies import study as studies

BASE = """
[run]
duration = 20
warm_up = 3
deadline = 3
grace = 1
[hosts]
count = 5
[mobility]
area = [150, 150]
speed = [2, 8]
[radio]
range = 80
[workload]
kinds = 2
publish_interval = 2
"""
STUDY = 'base = "base.toml"\nseeds = "1-2"\n[grid]\nnode.reconcile = ["path", "strawman"]\n'
FILES = ("runs.parquet", "runs.csv", "columns.csv")


def made(folder: Path, text: str = STUDY, base: str = BASE) -> studies.Study:
    (folder / "base.toml").write_text(base)
    (folder / "mine.toml").write_text(text)
    return studies.load(folder / "mine.toml")


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def test_a_sweep_has_every_metric_is_the_same_again_and_is_resumed(tmp_path):
    given, out = made(tmp_path), tmp_path / "out"
    told = []
    first = study.sweep(given, out, lambda *counts: told.append(counts))
    assert (first.done, first.found, first.other_code) == (4, 0, 0) and told == [(done, 4, 0) for done in range(5)]
    whole = contents(out)
    rows = table.read(out).rows
    assert [(row.values["node.reconcile"], row.seed) for row in rows] == [("path", 1), ("path", 2), ("strawman", 1), ("strawman", 2)]

    # the numbers are those of a run with a run directory, analysed by Spark
    scenario = topologies.load(tmp_path / "base.toml", {"node.reconcile": "path", "run.seed": 2, "run.capture": False})
    known = analyse(runner.run(scenario, tmp_path / "run"))
    assert len(known) > 60 and {key: value for key, value in known.items() if value == value} \
        == {key: value for key, value in rows[1].numbers.items() if value == value and key in known}
    assert set(rows[1].numbers) == {metric.key for metric in METRICS}

    files = sorted((out / "results").iterdir())
    times = {file: file.stat().st_mtime_ns for file in files}
    assert (study.sweep(given, out).done, contents(out)) == (0, whole)
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-30])  # torn
    old = results.read(files[2]) | {"code": "older"}
    results.keep(files[2], old)
    again = study.sweep(given, out, at_once=1)
    assert (again.done, again.found, again.other_code) == (3, 1, 1) and contents(out) == whole
    assert files[3].stat().st_mtime_ns == times[files[3]]
    assert study.sweep(made(tmp_path), tmp_path / "second").done == 4 and contents(tmp_path / "second") == whole

    more = study.sweep(made(tmp_path, STUDY.replace("1-2", "1-3")), out)
    assert (more.done, more.found) == (2, 4)
    with pytest.raises(AnalysisError, match="out: holds the results of 6 runs, and none is a run of this study"):
        study.sweep(made(tmp_path, base=BASE.replace("20", "21")), out)
    (tmp_path / "other.toml").write_text(STUDY)
    with pytest.raises(AnalysisError, match="out: holds the study 'mine', whose table would be lost; give another --out"):
        study.sweep(studies.load(tmp_path / "other.toml"), out)


def test_a_run_that_fails_is_named_and_the_rest_is_kept(tmp_path):
    """A trace that lost a host after the check."""
    (tmp_path / "trace.movements").write_text("0 0 0 20 0 0\n0 1 1 20 1 1\n")
    (tmp_path / "gone.movements").write_text("0 0 0 20 5 5\n0 1 1 20 2 2\n")
    made(tmp_path, STUDY.replace("node.reconcile", "mobility.trace").replace('"path", "strawman"', '"trace.movements", "gone.movements"'),
         BASE.replace("area = [150, 150]\nspeed = [2, 8]", 'trace = "trace.movements"').replace("count = 5", "count = 2"))
    given = studies.load(tmp_path / "mine.toml")
    (tmp_path / "gone.movements").write_text("0 0 0 20 5 5\n")  # of one host, where two were checked
    found = study.sweep(given, tmp_path / "out")
    assert [bool(row.failed) for row in found.table.rows] == [False, False, True, True]
    assert "the trace has 1" in found.table.rows[2].failed and "ratio" not in found.table.rows[2].numbers
    (tmp_path / "gone.movements").write_text("0 0 0 20 5 5\n0 1 1 20 2 2\n")
    study._digest.cache_clear()
    again = study.sweep(given, tmp_path / "out")
    assert (again.done, again.found) == (2, 2) and not any(row.failed for row in again.table.rows)


def test_seeds_are_added_until_the_intervals_are_narrow(tmp_path):
    text = STUDY.replace("1-2", "1-12") + '[stop]\nmetric = "bytes_per_host_second"\nhalf_width = {}\nleast = 3\n'
    wide = study.sweep(made(tmp_path, text.format(1e9)), tmp_path / "out")
    assert (wide.seeds, wide.done) == (3, 6) and 0 < wide.widest < 1e9
    narrow = study.sweep(made(tmp_path, text.format(wide.widest / 1.2)), tmp_path / "out")
    assert 3 < narrow.seeds <= 12 and narrow.found == 6 and narrow.done == 2 * narrow.seeds - 6
    never = study.sweep(made(tmp_path, text.format(1e-9)), tmp_path / "out")
    assert never.seeds == 12 and len(never.table.rows) == 24 and never.widest > 1e-9
    assert study._next(5, 1.1) == 7 and study._next(5, 100) == study._next(5, float("inf")) == 10 and study._next(5, 1.0001) == 6


@pytest.mark.parametrize("text, said", [
    (STUDY.replace("path", "pth"), 'node.reconcile: found "pth"; expected'),
    (STUDY + 'run.capture = [true, false]', "run.capture: found a value for each setting; leave it out; it changes no number"),
    (STUDY + 'run.world = ["netns"]', 'run.world: found "netns"; a sweep simulates, give "sim"'),
    (STUDY.replace("1-2", "1-9") + '[stop]\nmetric = "ration"\nhalf_width = 1', 'stop.metric: found "ration", which is no metric; did you mean "ratio"?'),
    (STUDY.replace("1-2", "2-1"), 'seeds: found the range "2-1", which runs backwards')])
def test_nothing_is_left_of_a_study_that_is_refused(tmp_path, text, said):
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "mine.toml").write_text(text)
    done = here("sweep", "mine.toml", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(f"roamcast: mine.toml: {said}"), done.stderr
    assert len(done.stderr.splitlines()) == 1 and sorted(path.name for path in tmp_path.iterdir()) == ["base.toml", "mine.toml"]


def test_scenarios_are_no_code():
    """Or an example that is edited would have all runs made again."""
    before = simulators.code.__wrapped__(topologies)
    file = Path(topologies.__file__).with_name("scratch-of-a-test.toml")
    try:
        file.write_text("[run]")
        assert simulators.code.__wrapped__(topologies) == before
    finally:
        file.unlink()


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_sweep_that_is_killed_loses_nothing_that_was_done(tmp_path, number):
    made(tmp_path, STUDY.replace("1-2", "1-5"))
    process = start("sweep", "mine.toml", "-j", "2", cwd=tmp_path, start_new_session=True)
    folder, until = tmp_path / "studies" / "mine" / "results", time.monotonic() + 300
    while time.monotonic() < until and len(list(folder.glob("*.json"))) < 3:
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=120)
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 3 <= len(kept) < 10
    done = roamcast("sweep", "mine.toml", "-j", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{10 - len(kept)} runs done; {len(kept)} results reused" in done.stdout and "s left" in done.stderr
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items()) and len(list(folder.iterdir())) == 10


@pytest.mark.slow
def test_a_standalone_master_gives_the_same_table(tmp_path):
    """A master and a worker of Spark in processes of their own."""
    import pyspark

    made(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    environment = ENVIRONMENT | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    run = [str(home / "bin" / "spark-class")]
    master = subprocess.Popen([*run, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
                              cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    worker = subprocess.Popen([*run, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "-c", "2", "-m", "1g",
                               "-d", str(tmp_path / "work"), f"spark://127.0.0.1:{port}"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.2)
        there = roamcast("sweep", "mine.toml", "--out", "there", "--master", f"spark://127.0.0.1:{port}", cwd=tmp_path)
        alone = roamcast("sweep", "mine.toml", "--out", "here", cwd=tmp_path)
    finally:
        for process in (worker, master):
            process.terminate()
            process.wait(60)
    assert there.returncode == alone.returncode == 0, there.stderr + alone.stderr
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_several_seeds_have_a_run_directory_each_as_if_run_alone(tmp_path):
    (tmp_path / "base.toml").write_text(BASE)
    done = here("run", "base.toml", "--seeds", "3,5", "--set", "node.reconcile=strawman", "--set", "run.capture=false", "--out", "runs",
                    "--no-analysis", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["s3", "s5"]
    alone = runner.run(topologies.load(tmp_path / "base.toml", {"run.seed": 5, "node.reconcile": "strawman", "run.capture": False}), tmp_path / "alone")
    for name in ("world.jsonl", *(f"nodes/{host}.jsonl" for host in range(5)), "scenario.toml"):
        assert (alone / name).read_bytes() == (tmp_path / "runs" / "s5" / name).read_bytes()


@pytest.mark.parametrize("options, said", [
    (["--seeds", "3-1"], '--seeds: found the range "3-1", which runs backwards; give "1-3"'), (["--seeds", "1", "--seed", "2"], "--seeds: found together"),
    (["--seeds", "1", "--measure"], "--seeds: found together with --measure"), (["-j", "2"], "-j: found without --seeds"),
    (["--seeds", "1-2", "--world", "netns"], "--seeds: found together with world netns"), (["--seeds", "1-2", "--watch"], "--watch: found together with --seeds"),
    (["--seeds", "1-1001"], "--seeds: found 1,001 runs"), (["--set", "run"], '--set: found "run"; give KEY=VALUE'), (["--set", "=3"], "--set: found"),
    (["--set", "run.seed=1", "--seed", "2"], "--set run.seed: found its value twice"), (["--set", "a.b=1", "--set", "a.b=2"], "--set a.b: found its value twice"),
    (["--set", "run.duration=[1"], '--set run.duration: found "[1"; give a value'), (["--set", "run.duration=1\nx = 2"], "--set run.duration: found"),
    (["--set", "node.reconcil=path"], 'base.toml: node.reconcil: found an unknown key; did you mean "reconcile"?'),
    (["--set", "radio.range=-3"], "base.toml: radio.range: found -3")])
def test_options_of_run_that_will_not_do_are_one_sentence(tmp_path, options, said):
    (tmp_path / "base.toml").write_text(BASE)
    done = here("run", "base.toml", *options, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"roamcast: {said}") and len(done.stderr.splitlines()) == 1, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["base.toml"]


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_study_is_no_scenario(tmp_path, command):
    made(tmp_path)
    done = here(command, "mine.toml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "roamcast: mine.toml: a study, no scenario; `roamcast sweep mine.toml` checks and runs it\n")


def test_a_log_or_a_model_of_other_content_is_another_run(tmp_path, monkeypatch):
    """The same names, other content: what a sweep has kept is not taken for it."""
    (tmp_path / "x.toml").write_text('[run]\nduration = 20\n[hosts]\ncount = 2\n[mobility]\nmodel = "outside"\nname = "still"\n[workload]\nlog = "log.csv"\n')
    monkeypatch.setenv("ROAMCAST_MOBILITY", str(tmp_path / "still.py"))
    model = "from mobility import Movement, Trajectory\nimport numpy as np\ndef still(hosts, duration, seed):\n    return Movement([str(h) for h in range(hosts)], " \
            "[Trajectory(np.zeros(1), np.array([[{}, 0.0]])) for h in range(hosts)], duration)\nMODELS = {{'still': still}}\n"
    keys = []
    for place, value in ((1, 1), (2, 1), (2, 2), (2, 2)):
        (tmp_path / "still.py").write_text(model.format(place))
        (tmp_path / "log.csv").write_text(f"time,host,a\n1,0,{value}\n")
        for cached in (outside._parts, study._digest):
            cached.cache_clear()
        keys.append(study._key(study._tables(topologies.load(tmp_path / "x.toml"))))
    outside._parts.cache_clear()
    study._digest.cache_clear()
    assert len(set(keys)) == 3 and keys[2] == keys[3]
    (tmp_path / "more.py").write_text("METRICS = []\n")
    monkeypatch.setenv("ROAMCAST_METRICS", str(tmp_path / "more.py"))
    assert study._key(study._tables(topologies.load(tmp_path / "x.toml"))) not in keys
