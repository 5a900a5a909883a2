"""Runs side by side: numbers worked out by hand, what may be compared, the printed table and the files."""
from __future__ import annotations

import copy
import csv
import gzip
import json
import math
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import tomli_w
from scipy import stats

from analysis import RULES
from analysis import compare as comparing
from analysis import table as study_table
from analysis.compare import (
    CONSTANT,
    DIFFERS,
    EQUAL,
    NOISE,
    UNCLEAR,
    difference,
    holm,
    table,
    write,
)
from analysis.errors import AnalysisError
from analysis.metrics import METRICS
from analysis.sides import flat
from analysis.summary import SAFETY
from cli.main import main

SCENARIO = {
    "run": {"name": "park", "duration": 60.0, "warm_up": 5.0, "deadline": 10.0, "grace": 5.0, "window": [5.0, 50.0],
            "seed": 1, "world": "sim", "journal": False, "capture": True},
    "hosts": {"count": 3}, "mobility": {"model": "random_waypoint", "area": [100.0, 100.0]},
    "radio": {"model": "unit_disk", "range": 150.0, "links": []},
    "node": {"hello_interval": 1.0, "reconcile": "strawman"}, "netns": {"neighbors": "frames"},
    "workload": {"kinds": 8, "publish": [{"at": 1.0, "every": 1.0}]}}
NUMBERS = {**{metric.key: 0.0 for metric in METRICS}, "deliveries": 10.0, "expected": 100.0, "bound": 1.0}


def made(path: Path, seed: int = 1, numbers: dict | None = None, trace: bytes = b"0 1 2", invalid: str | None = None,
         window: tuple = (5.0, 50.0), **keys: object) -> Path:
    """A run directory with its analysis; `keys` (a__b for a.b) change the scenario."""
    scenario = copy.deepcopy(SCENARIO)
    scenario["run"]["seed"] = seed
    for key, value in keys.items():
        section, name = key.split("__")
        scenario[section][name] = value
    (path / "tables").mkdir(parents=True)
    (path / "scenario.toml").write_text(tomli_w.dumps(scenario))
    fidelity = {"valid": False, "invalid_because": [invalid]} if invalid else {}
    (path / "manifest.json").write_text(json.dumps({"outcome": "complete", "ended": 60.0, "fidelity": fidelity}))
    (path / "trace.movements.gz").write_bytes(gzip.compress(trace))
    whole = {k: None if math.isnan(v) else v for k, v in (NUMBERS | (numbers or {})).items()}
    (path / "summary.json").write_text(json.dumps({"rules": RULES, "window": window, "ended": 60.0, "correct": True, "notes": [],
                                                   "numbers": whole}))
    sent = [[{"type": "HELLO", "messages": 20, "bytes": 400}, {"type": "DATA", "messages": 5, "bytes": 100}],
            [{"type": "HELLO", "messages": 10, "bytes": 200}, {"type": "SUB", "messages": 1, "bytes": 70}]]
    parquet.write_table(pa.table({"t": [1.0, 2.0], "sent": sent}), path / "tables" / "traffic.parquet")
    return path


def both(folder: Path, left: list[float], right: list[float], key: str = "ratio", first: int = 1) -> list[Path]:
    """Runs in sim and in netns, a seed each, that have these numbers."""
    return ([made(folder / f"a{i}", i, {key: v}) for i, v in enumerate(left, 1)]
            + [made(folder / f"b{i}", i, {key: v}, run__world="netns") for i, v in enumerate(right, first)])


def compare(*given, **more):
    """The one comparison of two sides."""
    [found] = comparing.compare(*given, **more)
    return found


def row(found, key: str):
    return next(r for r in found.rows if r.metric.key == key)


def test_pairs_by_hand():
    # differences 1, 2, 3: mean 2, s = 1, error 1/sqrt(3), t = 2 sqrt(3) = 3.4641 with 2 degrees of freedom, for
    # which p = 1 - t / sqrt(2 + t^2) = 1 - sqrt(12/14); the 97.5% quantile is 4.30265
    found = difference({1: 10.0, 2: 20.0, 3: 30.0}, {3: 33.0, 1: 11.0, 2: 22.0}, paired=True)
    assert found.mean == pytest.approx(2) and found.p == pytest.approx(1 - math.sqrt(12 / 14))
    assert found.high - found.mean == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)
    assert found.mean - found.low == pytest.approx(found.high - found.mean)


def test_welch_by_hand():
    # variances 1 and 4 over 3 runs each: error^2 = 5/3; freedom = (5/3)^2 / ((1/3)^2/2 + (4/3)^2/2) = 50/17
    found = difference({1: 1.0, 2: 2.0, 3: 3.0}, {4: 5.0, 5: 7.0, 6: 9.0}, paired=False)
    half = stats.t.ppf(0.975, 50 / 17) * math.sqrt(5 / 3)
    assert found[:3] == pytest.approx((5, 5 - half, 5 + half))
    assert found.p == pytest.approx(stats.ttest_ind([5, 7, 9], [1, 2, 3], equal_var=False).pvalue)


def test_without_spread_nothing_is_tested():
    for paired in (True, False):
        equal = difference({1: 0.3, 2: 0.3}, {1: 0.1 + 0.2, 2: 0.3}, paired)
        assert equal.steady and equal.mean == 0 and math.isnan(equal.p)
        constant = difference({1: 3.0, 2: 3.0}, {1: 4.0, 2: 4.0}, paired)
        assert constant.steady and constant.mean == 1 and math.isnan(constant.p)
    assert math.isnan(difference({1: 3.0}, {1: 4.0}, True).p) and difference({1: 3.0}, {1: 4.0}, True).mean == 1
    assert math.isnan(difference({1: 3.0}, {2: 4.0}, True).mean)
    # one side without spread, the other with: Welch has something to go by
    assert 0 < difference({1: 3.0, 2: 3.0}, {3: 4.0, 4: 5.0}, False).p < 1


def test_holm_by_hand():
    # 0.01 * 4, 0.02 * 3, then 0.03 * 2 = 0.06, not less than the one before; 0.5 * 1
    assert holm([0.5, 0.01, math.nan, 0.03, 0.02]) == pytest.approx([0.5, 0.04, math.nan, 0.06, 0.06], nan_ok=True)
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_worlds_are_told_apart_and_paired(tmp_path):
    found = compare(both(tmp_path, [0.8, 0.9, 1.0], [0.81, 0.92, 1.03]))
    assert (found.left.label, found.right.label, found.paired) == ("sim", "netns", True)
    ratio = row(found, "ratio")
    assert ratio.left[:2] == pytest.approx((0.9, 4.30265 * 0.1 / math.sqrt(3)), rel=1e-5)
    assert ratio.difference.mean == pytest.approx(0.02) and ratio.difference.p == pytest.approx(1 - math.sqrt(12 / 14))
    # it is the only number with any spread, so the only one tested
    assert found.together == 1 and ratio.p == ratio.difference.p and ratio.verdict == NOISE
    assert row(found, "bound").verdict == EQUAL


def test_other_seeds_are_not_paired(tmp_path):
    found = compare(both(tmp_path, [0.8, 0.9, 1.0], [0.5, 0.6, 0.7], first=3))
    assert not found.paired and row(found, "ratio").difference.mean == pytest.approx(-0.3)
    assert "Welch" in table(found) and "seeds 1, 2, 3 | 3, 4, 5" in table(found) and "sharper" not in table(found)


def test_shared_seeds_are_hinted_at(tmp_path):
    found = compare(both(tmp_path, [0.8, 0.9, 1.0], [0.5, 0.6]))
    assert not found.paired and "the seeds 1, 2: compare only these" in table(found)


def test_verdicts(tmp_path):
    left, right = [], []
    for seed, wobble in enumerate((0.0, 0.1, -0.1, 0.05, -0.05), 1):
        left.append(made(tmp_path / f"l{seed}", seed, {"hops_mean": 2.0, "repairs": 4, "merges": 1, "latency_p95": 1.0}))
        right.append(made(tmp_path / f"r{seed}", seed, node__reconcile="path", numbers={
            "hops_mean": 2.0 + wobble, "repairs": 5, "merges": 3 + wobble, "latency_p95": 1.1 + wobble}))
    found = compare(left + right)
    assert (found.left.label, found.right.label) == ("strawman", "path")
    # errors sqrt(0.00625 / 5): t = 0, 56.6 and 2.83 (p = 0.047), of three numbers tested
    assert {key: row(found, key).verdict for key in ("hops_mean", "repairs", "merges", "latency_p95")} == {
        "hops_mean": NOISE, "repairs": CONSTANT, "merges": DIFFERS, "latency_p95": UNCLEAR}
    text = table(found)
    assert "Not noise: merges." in text and "among so many: 95th percentile latency." in text
    assert "so there is nothing to test: repairs." in text and "for 3 numbers" in text


def test_families_of_messages(tmp_path):
    found = compare(both(tmp_path, [1, 1], [1, 1]))
    assert row(found, "messages_neighbors").left.mean == pytest.approx(3) and row(found, "bytes_neighbors").right.mean == 60
    assert row(found, "bytes_links").left.mean == 10 and row(found, "bytes_subscriptions").left.mean == 7
    assert not any(r.metric.key in ("bytes_tree", "bytes_other", "lost_radio") for r in found.rows), "nothing of them"


def test_a_seed_without_the_number_is_no_pair(tmp_path):
    found = compare(both(tmp_path, [0.2, math.nan, 0.4], [0.3, 0.5, 0.6], "latency_median"))
    latency = row(found, "latency_median")
    assert latency.runs == 2 and latency.difference.mean == pytest.approx(0.15)
    assert "(2 of 3 runs)" in table(found)


def test_one_run_a_side_tells_no_noise(tmp_path, capsys):
    paths = both(tmp_path, [0.8], [0.5])
    assert main(["compare", *map(str, paths)]) == 0
    shown = capsys.readouterr().out
    assert "One run per side cannot tell a difference from noise" in shown and "-30" in shown
    assert "noise," not in shown and "Test:" not in shown


@pytest.mark.parametrize("changed, key", [
    ({"radio__range": 100.0}, "radio.range: found 100.0, and 150.0"), ({"run__duration": 61.0}, "run.duration"),
    ({"run__window": [5.0, 40.0]}, "run.window"), ({"workload__publish": [{"at": 1.0, "every": 2.0}]}, "publish[0].every"),
    ({"radio__loss": 0.1}, "radio.loss: found 0.1, and nothing"), ({"trace": b"0 1 3"}, "the hosts move differently"),
    ({"window": (5.0, 20.0)}, "measured 5-20 s")])
def test_different_scenarios_are_refused(tmp_path, changed, key):
    paths = [made(tmp_path / "a"), made(tmp_path / "b", run__world="netns", **changed)]
    with pytest.raises(AnalysisError) as error:
        compare(paths)
    assert key in str(error.value) and str(paths[1]) in str(error.value) and "\n" not in str(error.value)


def test_each_seed_may_have_its_movement_but_a_trace_is_one(tmp_path):
    compare([made(tmp_path / "a", 1), made(tmp_path / "b", 2, trace=b"5")])
    static = {"mobility__model": "static"}
    with pytest.raises(AnalysisError, match="move differently"):
        compare([made(tmp_path / "c", 1, **static), made(tmp_path / "d", 2, trace=b"5", **static)])


def test_what_no_sides_can_be_made_of(tmp_path):
    a, b, c = (made(tmp_path / f"a{seed}", seed) for seed in (1, 2, 3))
    other = made(tmp_path / "b", 1, node__hello_interval=2.0)
    for left, right, said in [([a], [], "one run is not enough"), ([a, b, c], [], "--with"), ([a, a, other], [], "one run of each"),
                              ([b, other], [c], "differ only in their seed")]:
        with pytest.raises(AnalysisError, match=said):
            compare(left, right)
    assert compare([a, b], [c]).left.seeds == [1, 2], "said by hand, settings need not differ"


def test_how_namespaces_are_set_up_does_not_part_simulations(tmp_path):
    paths = [made(tmp_path / "a", 1), made(tmp_path / "b", 2, netns__neighbors="permanent"),
             made(tmp_path / "c", 1, run__world="netns"), made(tmp_path / "d", 2, run__world="netns")]
    assert len(compare(paths).left.members) == 2


def test_an_invalid_run_is_told_and_the_exit_code_says_so(tmp_path, capsys):
    paths = [made(tmp_path / "a"), made(tmp_path / "b", run__world="netns", invalid="the medium was 90 ms late")]
    assert main(["compare", *map(str, paths)]) == 3
    assert "IS NOT VALID" in (out := capsys.readouterr().out) and "the medium was 90 ms late" in out


def test_runs_of_different_versions_are_named_and_compared(tmp_path):
    paths = both(tmp_path, [0.8, 0.9, 1.0, 0.7], [0.81, 0.92, 1.03, 0.7])
    one, other = ({"roamcast": "0.1.0", "commit": letter * 40} for letter in "ab")

    def notes(*made_by: dict) -> list[str]:
        for path, by in zip(paths, made_by, strict=True):
            manifest = json.loads((path / "manifest.json").read_text()) | {"roamcast": None, "commit": None} | by
            (path / "manifest.json").write_text(json.dumps(manifest))
        return compare(paths).notes

    assert notes(*[one] * 8) == notes(*[{}] * 8) == []
    assert notes(*[one] * 4, *[other] * 4) == [
        "these runs are from different versions of Roamcast, which may explain what differs (0.1.0 (aaaaaaa): sim "
        "seed 1, sim seed 2, sim seed 3 and 1 more; 0.1.0 (bbbbbbb): netns seed 1, netns seed 2, netns seed 3 and 1 "
        "more)"]
    assert "unknown: netns seed 4" in notes(*[one] * 7, {})[0]


def test_files(tmp_path, capsys):
    paths = both(tmp_path, [0.8, 0.9, 1.0], [0.81, 0.92, 1.03])
    for name in ("x.json", "x.csv"):
        assert main(["compare", *map(str, paths), "--out", str(tmp_path / name)]) == 0
    whole = json.loads((tmp_path / "x.json").read_text())
    assert whole["test"] == "paired t" and whole["settings"] == {"run.world": ["sim", "netns"]}
    [ratio] = [n for n in whole["numbers"] if n["key"] == "ratio"]
    assert ratio["difference"] == pytest.approx(0.02) and ratio["verdict"] == "noise" and ratio["runs"] == 3
    with open(tmp_path / "x.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["key"] for line in lines] == [n["key"] for n in whole["numbers"]]
    assert next(float(line["p"]) for line in lines if line["key"] == "ratio") == ratio["p"]
    capsys.readouterr()
    assert main(["compare", *map(str, paths), "--out", "x.txt"]) == 2
    captured = capsys.readouterr()
    assert ".json or .csv" in captured.err and not captured.out
    found = compare(paths)
    with pytest.raises(AnalysisError, match="there is no folder .*nowhere; make it"):
        write([found], tmp_path / "nowhere" / "x.json")


def test_an_old_analysis_is_made_again(tmp_path, monkeypatch):
    paths, told, asked = both(tmp_path, [0.8], [0.5]), [], []
    old = json.loads((paths[1] / "summary.json").read_text())

    def again(path: Path) -> None:  # what an analysis leaves; it takes seconds, and has its own tests
        asked.append(path)
        (path / "summary.json").write_text(json.dumps(old))

    monkeypatch.setattr("analysis.analyse", again)
    for broken in ({**old, "numbers": {"ratio": 1.0}}, {**old, "ended": 30.0}, [], {**old, "numbers": None}):
        (paths[1] / "summary.json").write_text(json.dumps(broken))
        assert row(compare(paths, say=told.append), "ratio").right.mean == 0.5
    (paths[1] / "summary.json").unlink()
    compare(paths, say=told.append)
    assert asked == [paths[1]] * 5 and len(told) == 5 and str(paths[1]) in told[0]


def test_keys():
    assert flat({"a": {"b": [{"c": 1}, {"c": 2}], "d": [], "e": {}}, "f": [1, 2]}) == {
        "a.b[0].c": 1, "a.b[1].c": 2, "a.d": [], "a.e": {}, "f": [1, 2]}


def test_an_analysis_by_other_rules_or_older_than_the_records_is_made_again(tmp_path):
    from analysis.run import read
    from analysis.sides import _summary
    path = made(tmp_path / "a")
    assert _summary(read(path), list(NUMBERS)) is not None
    (path / "nodes").mkdir()
    records = path / "nodes" / "0.jsonl"
    records.write_text("")
    os.utime(records, (4e9, 4e9))
    assert _summary(read(path), list(NUMBERS)) is None
    os.utime(records, (0, 0))
    assert _summary(read(path), list(NUMBERS)) is not None
    saved = json.loads((path / "summary.json").read_text())
    (path / "summary.json").write_text(json.dumps(saved | {"rules": RULES - 1}))
    assert _summary(read(path), list(NUMBERS)) is None


def test_a_run_without_its_movement_is_named(tmp_path):
    paths = [made(tmp_path / "a"), made(tmp_path / "b", run__world="netns")]
    (paths[1] / "trace.movements.gz").unlink()
    [told] = [note for note in compare(paths).notes if "trace.movements.gz" in note]
    assert told.startswith("netns, seed 1 (b) has no ")


def settings(folder: Path) -> list[Path]:
    """Three, with three seeds each."""
    return [made(folder / f"{at}-{seed}", seed, {"ratio": value + 0.01 * seed * seed}, node__hello_interval=float(at))
            for at, value in ((1, 0.5), (2, 0.7), (3, 0.50001)) for seed in (1, 2, 3)]


def test_of_several_settings_each_is_compared_with_the_first_and_holm_is_for_all(tmp_path):
    paths = settings(tmp_path)
    paths[4] = made(tmp_path / "other", 2, {"ratio": 0.76}, node__hello_interval=2.0)
    found = comparing.compare(paths)
    assert [(one.left.label, one.right.label) for one in found] == [("hello_interval 1.0", "hello_interval 2.0"),
                                                                    ("hello_interval 1.0", "hello_interval 3.0")]
    assert all(one.paired and one.left.seeds == one.right.seeds == [1, 2, 3] for one in found)
    tested = [r for one in found for r in one.rows if not math.isnan(r.difference.p)]
    assert [r.p for r in tested] == holm([r.difference.p for r in tested]) and found[0].together == found[1].together == len(tested)
    assert row(found[0], "ratio").p == min(1, len(tested) * row(found[0], "ratio").difference.p), "the least of all"


@pytest.mark.parametrize("name", ["out.json", "out.csv"])
def test_several_comparisons_are_written_with_their_sides(tmp_path, name, capsys):
    assert main(["compare", *map(str, settings(tmp_path)), "--out", str(tmp_path / name)]) == 0
    text = (tmp_path / name).read_text()
    sides = [(one["left"]["label"], one["right"]["label"]) for one in json.loads(text)] if name.endswith("json") else \
        sorted({(line["of"], line["and"]) for line in csv.DictReader(text.splitlines())})
    assert sides == [("hello_interval 1.0", "hello_interval 2.0"), ("hello_interval 1.0", "hello_interval 3.0")]
    assert capsys.readouterr().out.count("Test: paired t, seed by seed over 3 seeds") == 2


def test_runs_of_a_study_that_failed_are_said_and_means_are_of_the_same_seeds(tmp_path):
    safe = dict.fromkeys(SAFETY, 0.0)
    rows = [study_table.Row(name, {"node.reconcile": name}, seed, {"ratio": value + seed / 100} | safe, notes="of it" if seed == 2 else "")
            for name, value in (("path", 0.2), ("strawman", 0.3)) for seed in range(1, 11)]
    rows[17:] = [row._replace(numbers={}, failed="died") for row in rows[17:]]
    rows[0].numbers["twice"] = 1.0
    study_table.write(tmp_path, study_table.Table([study_table.Column("node.reconcile", "", "", "")], rows))
    found = compare([tmp_path])
    ratio = row(found, "ratio")
    assert found.paired and ratio.runs == 7 and ratio.difference.mean == pytest.approx(ratio.right.mean - ratio.left.mean) == pytest.approx(0.1)
    text = table(found)
    assert "seed by seed over 7 seeds" in text and "7 of 10 runs" in text and "strawman: 3 of 10 runs failed and are left out" in text
    assert "path: 1 of 10 runs have notes" in text and "path, seed 1" in text and "VIOLATED, see the columns twice" in text
