"""The study of the reconciliation protocols over radio: its runs are scenarios, alike for all protocols, and its sweep works."""
from __future__ import annotations

import csv
import dataclasses
import math

import pytest

import topologies
from emulation.studies import results, simulators, sweep, tables, verdicts
from emulation.studies.mobile import MOBILE, plain
from emulation.studies.mobile.figures import panels
from emulation.studies.mobile.quantities import SCALAR
from emulation.studies.reproduce import reproduce
from tests.cli.command import here

SMALL = dataclasses.replace(MOBILE, panels=panels("hosts", "number of hosts", ("hosts", (6, 9)), "hosts", True))


def build(given: dict):
    scenario: dict = {}
    for key, value in given.items():
        section, name = key.split(".")
        scenario.setdefault(section, {})[name] = value
    return topologies.build(scenario)


def test_every_run_is_a_scenario_and_protocols_differ_in_nothing_else():
    runs = sweep.runs(MOBILE, MOBILE.panels, 2, {})
    assert len(runs) == 2 * 64  # the standard run is a point of all four sweeps
    alike: dict[str, set] = {}
    for given in runs:
        assert simulators.command(given) == "measure"
        scenario = build(given)
        assert scenario.run.window == (8.0, 31.0)
        area = scenario.mobility.area[0] * scenario.mobility.area[1]
        assert area / len(scenario.names) == pytest.approx(12_000, rel=1e-3)
        rest = {key: value for key, value in given.items() if not key.startswith("node.")}
        alike.setdefault(results.key(rest), set()).add(given.get("node.reconcile", given.get("node.strategy")))
    assert sorted(map(len, alike.values())) == [4] * 8 + [6] * 16
    assert all({"strawman", "timed", "informed", "flood"} <= protocols for protocols in alike.values())
    assert MOBILE.rival(plain({"run.seed": 1, "protocol": "path"})) == plain({"run.seed": 1})


def test_the_sweep_from_runs_to_the_page(tmp_path):
    found = reproduce(SMALL, tmp_path, seeds=2)
    assert (found.done, found.tables.missing, found.tables.runs) == (2 * 2 * 6, [], 24)
    assert reproduce(SMALL, tmp_path, seeds=2).done == 0
    rows = means(tmp_path / "figure-hosts-delivery.csv")
    assert set(rows) == {(name, count) for name in ("bound", "strawman", "timed", "notified", "informed", "path", "flood")
                         for count in ("6", "9")}
    assert all(0 < mean <= rows["bound", count] <= 100 for (_, count), mean in rows.items())
    sent = means(tmp_path / "figure-hosts-bytes.csv")
    assert len({sent[name, "9"] for name in ("strawman", "informed", "flood")}) == 3
    one = next(result for result in map(results.read, sorted((tmp_path / "results").glob("*.json")))
               if result["parameters"].get("node.reconcile") == "path")
    assert {name for name in SCALAR if SCALAR[name](one) is None} <= {"involved"}
    text = found.page.read_text()
    assert "a link is replaced by" not in text and "subscription table was the one" not in text
    assert "nothing is delivered twice" in text and text.count("<svg") == len([p for p in SMALL.panels if p.drawn])
    safety = next(verdict for verdict in found.verdicts if verdict.figure == "safety")
    assert safety.verdict == "agrees"  # of the runs that are there: nobody swept the speed
    assert all(name in safety.measured for name in ("strawman 0", "path 0", "flood 0"))


def means(path) -> dict[tuple[str, str], float]:
    with path.open() as file:
        return {(row["series"], row["hosts"]): float(row["mean"]) for row in csv.DictReader(file)}


def test_what_is_claimed_can_go_either_way():
    filled = tables.Tables()
    for panel in MOBILE.panels:
        for series in panel.series:
            for x in panel.sweep[1]:
                value = {"gain": 60.0, "involved": 10.0 if series.name == "strawman" else 2.0}.get(panel.quantity, 0.0)
                filled.points[panel.name, series.name, x] = tables.Point(value, value, value, 3)
    said = {verdict.says: verdict.verdict for verdict in verdicts.judge(MOBILE.claims, filled)}
    assert list(said.values()) == ["close", "differs", "agrees", "agrees", "agrees", "agrees", "agrees"]
    for panel, series, x, value in (("speed-gain", "path", 5, -1.0), ("hosts-involved", "timed", 25, 50.0),
                                    ("speed-misrouted", "timed", 20, 9.0), ("hosts-wrong", "path", 50, 1.0),
                                    ("speed-healed", "notified", 1, 1.0)):
        filled.points[panel, series, x] = tables.Point(value, value, value, 3)
    again = [verdict.verdict for verdict in verdicts.judge(MOBILE.claims, filled)]
    assert again == ["close", "differs", *["differs"] * 5]


@pytest.mark.parametrize("figure", ["hosts", "speed", "rate", "interest"])
def test_safety_is_judged_whichever_figure_was_run(figure):
    filled = tables.Tables()
    for panel in MOBILE.of((figure,)):
        filled.points.update({(panel.name, series.name, x): tables.Point(0.0, 0.0, 0.0, 3)
                              for series in panel.series for x in panel.sweep[1]})

    def judged():
        claims = [claim for claim in MOBILE.claims if claim[0] in ("safety", "tables")]
        return {one.figure: one.verdict for one in verdicts.judge(claims, filled)}

    assert judged() == {"safety": "agrees", "tables": "agrees"}
    for quantity, series in (("wrong", "flood"), ("healed", "timed")):
        x = MOBILE.of((figure,))[0].sweep[1][0]
        filled.points[f"{figure}-{quantity}", series, x] = tables.Point(1.0, 1.0, 1.0, 1)
    assert judged() == {"safety": "differs", "tables": "differs"}


def test_a_run_without_a_loss_involves_nobody_and_is_no_point():
    counted = {"parameters": {"hosts.count": 4}, "involved": []}
    assert SCALAR["involved"](counted) is None
    assert SCALAR["involved"](counted | {"involved": [2, 4]}) == pytest.approx(75.0)
    assert math.isnan(tables.mean([]).mean)


def test_a_rule_of_the_papers_simulator_is_not_taken_for_radios(tmp_path):
    done = here("reproduce", "mobile", "--replacement", "shared", cwd=tmp_path)
    assert done.returncode == 2 and "--replacement shared" in done.stderr and not list(tmp_path.iterdir())


def test_a_batch_that_cannot_be_is_refused_and_a_wrong_run_is_told(tmp_path):
    assert here("run", cwd=tmp_path).returncode == 2
    assert here("run", "--batch", "-", cwd=tmp_path).returncode == 2
    lines = tmp_path / "batch"
    lines.write_text('{"key": "a", "parameters": {"run.duration": 5, "hosts.count": 0, "mobility.area": [9, 9]}}\n')
    done = here("run", "--batch", lines, "--out", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "hosts.count" in results.read(tmp_path / "out" / "a.json")["failed"]
