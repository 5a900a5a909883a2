"""Which runs a mean may be over, and the file of means."""
from __future__ import annotations

import csv
import json
import math

import pytest

from analysis import AnalysisError, means, run
from analysis.metrics import METRICS
from analysis.seeds import samples
from analysis.summary import Summary
from tests.analysis.rundirs import Log


def made(path, version="0.1.0", radio=None, **scenario):
    log = Log(2, 60.0, **scenario)
    log.manifest["roamcast"] = version
    log.scenario["radio"] |= radio or {}
    return run.read(log.write(path))


def test_runs_that_differ_by_their_seed_alone_are_samples(tmp_path):
    runs = [made(tmp_path / str(seed), seed=seed) for seed in range(1, 6)]
    assert samples(runs) == (runs, [])
    assert samples(runs[:1]) == (runs[:1], [])


def test_another_parameter_is_refused_by_its_key(tmp_path):
    runs = [made(tmp_path / "a", seed=1), made(tmp_path / "b", seed=2, radio={"range": 200.0})]
    with pytest.raises(AnalysisError, match=r"b/scenario.toml: radio.range: found 200.0, and 150.0 in .*/a; ") as told:
        samples(runs)
    assert "\n" not in str(told.value)


def test_what_changes_no_number_may_differ(tmp_path):
    assert len(samples([made(tmp_path / "a", seed=1), made(tmp_path / "b", seed=2, journal=True)])[0]) == 2


def test_one_seed_is_one_sample(tmp_path):
    runs = [made(tmp_path / name, seed=seed) for name, seed in (("a", 1), ("b", 2), ("c", 1))]
    kept, notes = samples(runs)
    assert kept == runs[:2]
    assert "c was left out: it has seed 1, as has" in notes[0] and notes[0].count(str(tmp_path)) == 2
    assert notes[1].startswith("2 runs are few for an interval")


def test_other_versions_are_said(tmp_path):
    _, notes = samples([made(tmp_path / "a", seed=1), made(tmp_path / "b", "0.2.0", seed=2)])
    assert notes[0] == "the runs were made by different versions: 0.1.0 (a), 0.2.0 (b)"


@pytest.fixture
def summary():
    blank = {metric.key: 0 for metric in METRICS}
    return Summary("park", [{**blank, "ratio": 0.8, "latency_median": 0.00125},
                            {**blank, "ratio": 1.0, "latency_median": math.nan}], seeds=[3, 8])


def test_the_json_file_has_every_metric_by_seed(tmp_path, summary):
    means.write(summary, tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text())
    rows = {row["key"]: row for row in found["metrics"]}
    assert found["seeds"] == [3, 8] and {m.key for m in METRICS} == rows.keys()
    ratio = rows["ratio"]
    assert (ratio["mean"], ratio["n"], ratio["values"]) == (pytest.approx(0.9), 2, {"3": 0.8, "8": 1.0})
    # t quantile of 1 degree of freedom, 12.706, times the standard error 0.1; the interval ends where shares end
    assert ratio["half_width"] == pytest.approx(1.2706, rel=1e-4) and (ratio["low"], ratio["high"]) == (0, 1)
    assert (ratio["better"], rows["bytes_per_delivery"]["better"], rows["expected"]["better"]) == ("higher", "lower", None)
    latency = rows["latency_median"]
    assert (latency["n"], latency["half_width"], latency["values"]) == (1, None, {"3": 0.00125, "8": None})


def test_the_csv_file_says_the_same(tmp_path, summary):
    means.write(summary, tmp_path / "m.csv")
    with open(tmp_path / "m.csv", newline="") as file:
        rows = {row["key"]: row for row in csv.DictReader(file)}
    assert (rows["ratio"]["seed 3"], rows["ratio"]["seed 8"], rows["ratio"]["n"]) == ("0.8", "1.0", "2")
    assert rows["latency_median"]["seed 8"] == rows["latency_median"]["half_width"] == ""


@pytest.mark.parametrize("name, cure", [("m.txt", "json or .csv"), ("none/m.csv", "no folder")])
def test_a_file_that_cannot_be_is_told_before_the_work(tmp_path, name, cure):
    with pytest.raises(AnalysisError, match=cure):
        means.check_name(tmp_path / name)
