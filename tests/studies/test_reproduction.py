"""The reproduction: weights, points and intervals, the sweep, what happens to damage and failures, the page."""
from __future__ import annotations

import csv
import dataclasses
import fcntl
import hashlib
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scipy import stats

from analysis import AnalysisError
from emulation.studies import draw, engine, results, simulators, sweep, tables, verdicts
from emulation.studies.dynamic_topology import DYNAMIC_TOPOLOGY, claims, cost
from emulation.studies.dynamic_topology.figures import curves
from emulation.studies.epidemic import EPIDEMIC
from emulation.studies.evaluation import Panel, Series
from emulation.studies.mobile import MOBILE
from emulation.studies.reproduce import reproduce
from node import schema
from tests.cli.command import here

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"dispatchers": 12, "available": 12, "patterns": 2, "subscribers": 0.5}
TINY = (Panel(14, "a", "Tiny", "cost", "cost", ("rate", (3, 6)), "rate", curves("strawman", "informed"), SMALL),
        Panel(14, "b", "Tiny", "improvement", "%", ("rate", (3, 6)), "rate", curves("informed"), SMALL))

SMALL_ONE = dataclasses.replace(DYNAMIC_TOPOLOGY, panels=TINY)  # the evaluation with one small figure


def result(**sent) -> dict:
    bins = [0] * 80
    return {"parameters": {"first": 3.0, "last": 7.0, "settled": 2.0, "repair": 0.1, "dispatchers": 10, "rate": 3.0,
                           "protocol": "timed"},
            "bin": 0.1, "reconfigurations": 4, "sent": sent, "misrouted": [1] * 80, "events": [10] * 80, "messages": [20] * 80,
            "involved": [2, 4, 2, 4], "due": bins, "made": bins, "published": bins, "receivers": bins}


def test_weights_are_table_two_and_name_messages_that_exist():
    weights = cost.weights()
    assert set(weights) <= set(schema.messages())
    assert [weights[name] for name in ("EVENT", "FLUSH", "REC_ACK")] == [(1, 0), (0.1, 0), (0.1, 0)]
    assert weights["SUB"] == weights["UNSUB"] == (0, 1)  # the paper sends one a pattern
    assert weights["REC"] == weights["INFORMED_ACTIVATE"] == (0, 1)
    reconciling = {name for name, table in schema.messages().items()
                   if table.family == "reconcile" and table.scope == "link" or name == "INFORMED_ACTIVATE"}
    assert reconciling <= set(weights), "a message of a reconciler without a weight would be free"


def test_normalized_cost_is_counted_by_hand():
    one = result(SUB={"messages": 7, "patterns": 7}, FLUSH={"messages": 30, "patterns": 0},
                 REC={"messages": 3, "patterns": 40}, REC_ACK={"messages": 2, "patterns": 0})
    assert cost.normalized(one) == pytest.approx(7 + 3 + 40 + 0.2 + 50)  # 50 bins from 3 s on, a misrouted event each
    assert cost.absolute(one) == 7 + 30 + 3 + 2 + 50
    assert cost.involved(one) == pytest.approx(0.3)
    assert cost.good(one) == 40 * 10 - 40
    assert cost.traffic(one) == 40 * 20


def test_intervals_are_students():
    values = [3.0, 5.0, 4.0, 8.0]
    low, high = stats.t.interval(0.95, 3, loc=5.0, scale=stats.sem(values))
    assert tables.mean(values) == pytest.approx((5.0, low, high, 4))
    assert math.isnan(tables.mean([1.0]).low)
    # a ratio that is the same for every seed has no spread, however the seeds differ
    assert tables.less([(10, 40), (20, 80), (5, 20)]) == pytest.approx((75, 75, 75, 3))
    assert tables.less([]) == tables.NOTHING or math.isnan(tables.less([]).mean)


def test_figures_are_12_to_29_and_their_parameters_exist():
    from emulation.studies.overlay import Parameters

    assert DYNAMIC_TOPOLOGY.figures == tuple(range(12, 30))
    told = DYNAMIC_TOPOLOGY.readings | {"memory": "told"}
    for panel, readings in ((panel, given) for panel in DYNAMIC_TOPOLOGY.panels for given in (DYNAMIC_TOPOLOGY.readings, told)):
        for x in panel.sweep[1]:
            for series in panel.series:
                Parameters.of(DYNAMIC_TOPOLOGY.plain(sweep.parameters(panel, series, x, 1, readings)))
    assert len({panel.name for panel in DYNAMIC_TOPOLOGY.panels}) == len(DYNAMIC_TOPOLOGY.panels)


def test_runs_are_shared_between_figures():
    def runs(*numbers, seeds=1):
        return sweep.runs(DYNAMIC_TOPOLOGY, DYNAMIC_TOPOLOGY.of(numbers), seeds, {})

    assert len(runs(16, seeds=2)) == len(runs(28, seeds=2)) == len(runs(16, 28, seeds=2))
    assert len(runs(14, seeds=2)) == len(runs(14, 27, seeds=2))
    # strawman has no timers: one run a seed serves all of a sweep over one
    timers = [run for run in runs(19) if run["protocol"] == "strawman"]
    assert len(timers) == 1


def test_readings_are_of_the_runs_that_they_change():
    def runs(memory):
        return sweep.runs(DYNAMIC_TOPOLOGY, DYNAMIC_TOPOLOGY.of((16, 21, 26)), 1, {"replacement": "seeker", "memory": memory})

    literal, as_nodes = runs("none"), runs("told")
    assert as_nodes == sweep.runs(DYNAMIC_TOPOLOGY, DYNAMIC_TOPOLOGY.of((16, 21, 26)), 1, {"replacement": "seeker"})
    assert len(literal) == len(as_nodes)
    read = [one for one in literal if one not in as_nodes]
    assert {one["protocol"] for one in read} == {"timed", "notified", "informed"} and all(one["memory"] == "none" for one in read)
    assert not {one.get("protocol") for one in literal if one in as_nodes} & {"timed", "notified", "informed"}
    rival = DYNAMIC_TOPOLOGY.rival({"protocol": "informed", "flush": "none", "memory": "none", "entries": "kept", "rate": 30})
    assert rival == {"protocol": "strawman", "rate": 30}


def found_page(out: Path) -> str:
    return re.sub(r"\s+", " ", (out / "reproduction.html").read_text())


def test_a_sweep_is_resumed_and_damage_is_redone(tmp_path):
    first = reproduce(SMALL_ONE, tmp_path, (14,), seeds=2)
    assert (first.done, first.damaged, first.tables.runs, first.tables.wrong) == (8, 0, 8, 0)
    files = sorted((tmp_path / "results").iterdir())
    assert len(files) == 8
    before = {path.name: path.read_bytes() for path in files}
    points = dict(first.tables.points)

    assert reproduce(SMALL_ONE, tmp_path, (14,), seeds=2).done == 0

    files[0].write_bytes(before[files[0].name][:-40])  # torn
    files[1].write_bytes(before[files[1].name].replace(b'"SUB":{"messages":', b'"SUB":{"messages":1', 1))  # altered
    files[2].unlink()
    kept = files[3].stat().st_mtime_ns
    files[4].write_bytes(before[files[5].name])  # another run's, and whole
    for path, body in ((files[6], ""), (files[7], "[1]")):  # nothing, and JSON that is no result
        digest = hashlib.sha256(body.encode()).hexdigest()
        path.write_text(f"{results.MAGIC} {digest}\n{body}\n" if body else "")
    (tmp_path / "results" / f"{files[2].stem}.4711").write_text("rest of a killed process")
    (tmp_path / "results" / ".0123.part").write_text("rest of another")
    again = reproduce(SMALL_ONE, tmp_path, (14,), seeds=2)
    assert (again.done, again.damaged) == (6, 5)
    assert again.tables.points == points  # the same to the last bit
    assert files[3].stat().st_mtime_ns == kept
    assert sorted((tmp_path / "results").iterdir()) == files

    whole = files[3].read_bytes()
    results.keep(files[3], results.read(files[3]) | {"code": "older"})
    assert reproduce(SMALL_ONE, tmp_path, (14,), seeds=2).tables.other_code == 1
    assert "1 of 8 results were made by other code than this" in found_page(tmp_path)
    files[3].write_bytes(whole)

    more = reproduce(SMALL_ONE, tmp_path, (14,), seeds=3)
    assert more.done == 4 and not more.tables.other_code
    with (tmp_path / "figure-14a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["series"], row["rate"]) for row in rows} == {(p, r) for p in ("strawman", "informed") for r in ("3", "6")}
    assert all(row["runs"] == "3" and float(row["low"]) < float(row["mean"]) < float(row["high"]) for row in rows)
    assert (tmp_path / "figure-14b.svg").read_text().count("<svg") == 1
    assert "a link is replaced by one that an old end" in found_page(tmp_path) and "nobody remembers what" in found_page(tmp_path)
    assert (tmp_path / "figure-14b.png").stat().st_size > 5000


@pytest.mark.parametrize("evaluation", [DYNAMIC_TOPOLOGY, EPIDEMIC, MOBILE], ids=lambda one: one.name)
def test_the_legend_covers_nothing_and_no_word_is_cut_off(evaluation):
    """One panel for each label of the axis, that of the longest title, and each with all its curves."""
    panels = {panel.ylabel: panel for panel in sorted(evaluation.panels, key=lambda panel: len(panel.title)) if panel.drawn}
    for panel in panels.values():
        filled = tables.Tables()
        filled.points.update({(panel.name, series.name, x): tables.Point(at, at, at, 2)
                              for at, series in enumerate(panel.series) for x in panel.sweep[1]})
        figure = draw.chart(evaluation, panel, filled)
        figure.draw_without_rendering()
        (axes,), whole = figure.axes, figure.bbox
        for word in (axes.yaxis.label, axes.xaxis.label, axes.title, *figure.legends):
            box = word.get_window_extent()
            assert whole.x0 <= box.x0 and whole.y0 <= box.y0 and box.x1 <= whole.x1 and box.y1 <= whole.y1, (panel.name, word)
        assert not any(legend.get_window_extent().overlaps(axes.bbox) for legend in figure.legends), panel.name


def test_a_run_that_fails_is_one_missing_point(tmp_path):
    bad = (TINY[0]._replace(series=(*TINY[0].series, Series("path", {"protocol": "path", "degree": 2}))), TINY[1])
    evaluation = dataclasses.replace(DYNAMIC_TOPOLOGY, panels=bad)
    found = reproduce(evaluation, tmp_path, (14,), seeds=1)
    assert found.tables.runs == 4 and len(found.tables.missing) == 2
    assert "degree: found 2; from 3 to 64" in found.tables.missing[0]
    assert math.isnan(found.tables.at("14a", "path", 3).mean)
    assert not math.isnan(found.tables.at("14a", "informed", 3).mean)
    assert "2 runs are missing" in found.page.read_text()
    assert reproduce(evaluation, tmp_path, (14,), seeds=1).retried == 2


def doomed(given: dict) -> dict:
    """A run in a worker of Spark, whose process may go with it, or which never ends."""
    if given.get("how") == "forever":
        simulators.LONGEST = 1
        return simulators.result_of(simulators.Simulator(forever, "code"), given)
    if "how" in given:
        os.kill(os.getpid(), given["how"])
    return {"of": given["at"], "by": os.getpid()}


def forever(given: dict) -> dict:
    try:
        while True:
            time.sleep(0.001)
    except Exception:
        return {}


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_run_that_takes_its_process_with_it_is_one_failed_run(at_once):
    """The others go on in other processes."""
    given: list[dict] = [{"at": at} for at in range(8)]
    for at, how in ((1, signal.SIGKILL), (4, signal.SIGABRT), (6, "forever")):
        given[at]["how"] = how
    told = {}
    engine.work(doomed, given, lambda one, result: told.update({one["at"]: result}), at_once)
    assert [at for at, result in sorted(told.items()) if "failed" in result] == [1, 4, 6] and len(told) == 8
    assert told[1]["failed"] == told[4]["failed"] == "the process died: it was killed, or the machine ran out of memory"
    assert told[6]["failed"] == "it took more than 1 s"


def broken(given: dict) -> dict:
    raise ImportError("no such room")


def test_what_is_no_fault_of_a_run_ends_the_sweep():
    with pytest.raises(AnalysisError, match="Spark cannot do the runs: ImportError: no such room"):
        engine.work(broken, [{}, {}], lambda given, result: pytest.fail("was kept"))


def test_where_results_cannot_be_written_the_sweep_ends_with_a_line(tmp_path, monkeypatch):
    """As on a full disk: no run is to blame, none is marked as failed, and the next ones are not tried."""
    (tmp_path / "results").mkdir()
    for one in sweep.runs(SMALL_ONE, TINY, 1, SMALL_ONE.readings):
        (tmp_path / "results" / f"{results.key(one)}.json").mkdir()
    monkeypatch.setattr(results, "missing", lambda folder, runs: (list(runs), 0, 0))
    with pytest.raises(AnalysisError, match=r"\.json: it is a folder; .*; finished runs are kept; start again"):
        reproduce(SMALL_ONE, tmp_path, (14,), seeds=1)
    assert all(path.is_dir() for path in (tmp_path / "results").iterdir())


def descendants(pid: int | str) -> list[str]:
    own = [child for children in Path(f"/proc/{pid}/task").glob("*/children") for child in children.read_text().split()]
    return own + [one for child in own for one in descendants(child)]


def test_the_processes_of_a_sweep_end_behind_their_caller(tmp_path):
    """However it ends: nothing is left that works for nobody."""
    program = (f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
               "from emulation.studies import engine, results, simulators\n"
               "from tests.studies.test_reproduction import SMALL\n"
               "runs = [SMALL | {'rate': 3, 'publish': 40.0, 'seed': seed} for seed in range(1, 200)]\n"
               "from pathlib import Path\n"
               f"engine.work(simulators.done, runs, lambda given, result: results.keep(Path({str(tmp_path)!r}, results.key(given) + '.json'), "
               "result), 2)")
    process = subprocess.Popen([sys.executable, "-P", "-c", program], start_new_session=True)
    until = time.monotonic() + 600
    while time.monotonic() < until and len(list(tmp_path.glob("*.json"))) < 2:
        time.sleep(0.05)
    children = descendants(process.pid)
    assert len(children) >= 3  # Java, and what it has started
    process.kill()
    process.wait()
    while any(Path("/proc", child).exists() for child in children):
        assert time.monotonic() < until, "a process works on for nobody"
        time.sleep(0.05)


def test_a_folder_is_of_one_evaluation_and_of_one_process_at_a_time(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with (out / "evaluation").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(AnalysisError, match="out: another `roamcast reproduce` works there"):
            reproduce(SMALL_ONE, out, (14,), seeds=1)
        print("mobile", file=other)
    with pytest.raises(AnalysisError, match="out: holds the evaluation 'mobile', whose page would be lost; give another"):
        reproduce(SMALL_ONE, out, (14,), seeds=1)
    (tmp_path / "file").touch()
    with pytest.raises(AnalysisError, match="file/results: cannot be created: Not a directory; give another --out"):
        reproduce(SMALL_ONE, tmp_path / "file", (14,), seeds=1)


def test_a_result_of_another_version_of_the_code_is_a_missing_point_that_says_so(tmp_path):
    for given in sweep.runs(SMALL_ONE, TINY, 1, SMALL_ONE.readings):
        results.keep(tmp_path / f"{results.key(given)}.json", {"parameters": given, "cpu": 0.0, "code": "old"})
    found = tables.build(SMALL_ONE, TINY, 1, SMALL_ONE.readings, tmp_path)
    assert found.missing and all("is from another version of the code and lacks" in line for line in found.missing)
    assert math.isnan(found.at("14a", "informed", 3).mean)


def slow():
    return dataclasses.replace(DYNAMIC_TOPOLOGY, panels=tuple(
        panel._replace(base=panel.base | {"publish": 40.0}) for panel in TINY))


def test_an_interrupted_sweep_keeps_what_is_done(tmp_path):
    out = tmp_path / "out"
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from emulation.studies import reproduce
from tests.studies.test_reproduction import slow
reproduce.reproduce(slow(), __import__("pathlib").Path({str(out)!r}), (14,), seeds=30)
"""
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 600
        while time.monotonic() < until and len(list(out.glob("results/*.json"))) < 2:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(600)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    done = list(out.glob("results/*.json"))
    assert 2 <= len(done) < 120
    assert all("failed" not in results.read(path) for path in done)
    todo, damaged, _ = results.missing(
        out / "results", sweep.runs(slow(), slow().panels, 30, slow().readings))
    assert (len(todo), damaged) == (120 - len(done), 0)


def test_every_claim_of_the_issue_is_judged_or_says_what_is_missing():
    found = verdicts.judge(claims.CLAIMS, tables.Tables())
    assert {one.verdict for one in found} == {"unmeasured"}
    about = " ".join(f"{one.figure} {one.says}" for one in found)
    for said in ("0.0988", "exactly 100 %", "3.44", "90.9", "75 %", "20 points", "10 points", "40 %", "notified becomes worse",
                 "T_u = t_rep", "T_s + t_rep", "misrouted", "1:2", "1:10", "about twice", "less inside", "90 % fewer", "up to 50 %",
                 "up to 80 %"):
        assert said in about, said


@pytest.mark.parametrize("stated, point, percent, verdict", [
    (3.44, tables.Point(3.5, 3.4, 3.6, 30), False, "agrees"),
    (3.44, tables.Point(4.2, 3.2, 5.2, 9), False, "agrees"),  # within the interval, which says something
    (3.44, tables.Point(7.2, 3.2, 11.2, 3), False, "unsure"),  # which does not
    (3.44, tables.Point(4.2, 4.1, 4.3, 30), False, "close"),
    (3.44, tables.Point(7.5, 7.0, 8.0, 30), False, "differs"),
    (75, tables.Point(79, math.nan, math.nan, 1), True, "agrees"),
    (75, tables.Point(66, math.nan, math.nan, 1), True, "close"),
    (75, tables.Point(60, math.nan, math.nan, 1), True, "differs"),
])
def test_verdicts_on_numbers(stated, point, percent, verdict):
    assert verdicts.near(stated, point, percent) == verdict


def filled(panel: str, **curves: dict) -> tables.Tables:
    found = tables.Tables()
    for name, values in curves.items():
        for x, value in values.items():
            found.points[panel, name.replace("__", ", "), x] = tables.Point(value, value, value, 3)
    return found


def test_verdicts_on_readings_can_go_either_way():
    two, ten = {"recursive": 50.0, "balanced": 60.0, "labelled": 48.0}, {"balanced": 60.0, "labelled": 59.0, "recursive": 50.0}
    assert claims.grown("labelled", ("timed",), -10)(filled("15 trees", timed=two))[1] == "agrees"
    assert claims.grown("labelled", ("timed",), -10)(filled("15 trees", timed=ten))[1] == "close"
    beats = claims.never_above("18c", ("timed, kept",))
    assert beats(filled("18c", strawman={3: 10.0, 400: 5.0}, timed__kept={3: 4.0, 400: 4.0}))[1] == "agrees"
    text, verdict = beats(filled("18c", strawman={3: 10.0, 400: 5.0}, timed__kept={3: 4.0, 400: 6.0}))
    assert verdict == "differs" and text == "the least improvement is -20.0 %, of timed, kept at 400; at 400: strawman 5, timed, kept 6"
    totals = filled("24 totals", events={1.0: 1000.0}, strawman={1.0: 500.0}, informed={1.0: 300.0})
    assert claims.in_all("strawman", 2)(totals) == ("500 to 1000 messages in the run: 1:2.0", "agrees")
    assert claims.in_all("informed", 10)(totals)[1] == "differs"
    gap = claims.gap_of_deferred([("14c", "informed, kept")], [("14c", "timed, told")])
    assert gap(filled("14c", informed__kept={50: 70.0, 100: 72.0}, timed__told={50: 50.0, 100: 52.0}))[1] == "agrees"
    assert gap(filled("14c", informed__kept={50: 70.0}, timed__told={50: 66.0}))[1] == "differs"


def test_only_rec_that_carry_patterns_are_counted_where_it_says_so():
    found = filled("13a", **{"path REC messages": {"seeker": 8.0}, "path REC_ACK messages": {"seeker": 3.5},
                             "path REC normalized": {"seeker": 90.0}})
    assert claims.rec("13a", "seeker", "REC_ACK")(found) == ("3.50 ± 0.00 REC, 90.0 ± 0.0 normalized: 25.7 patterns each", "agrees")
    assert claims.rec("13a", "seeker")(found)[1] == "differs"


def test_the_totals_of_a_run_are_its_events_and_what_is_sent_once_links_break():
    one = result(SUB={"messages": 7, "patterns": 7})
    scalar = DYNAMIC_TOPOLOGY.quantities.scalar
    assert scalar("good in all", one) == 80 * 10 - 80 and scalar("overhead in all", one) == 7 + 50
    assert scalar("good", one) == (40 * 10 - 40) / 4


def test_what_the_command_line_offers_is_what_the_simulator_knows():
    import argparse

    from cli import reproduce as command
    from emulation.studies import page
    from emulation.studies.overlay.parameters import MEMORIES, REPLACEMENTS

    whole = argparse.ArgumentParser()
    command.add_arguments(whole)
    parser = whole._subparsers._group_actions[0].choices["dynamic-topology"]
    assert set(REPLACEMENTS) == set(page.RULES) and set(MEMORIES) == set(page.MEMORIES)
    for option, known in (("--replacement", REPLACEMENTS), ("--memory", MEMORIES)):
        (choices,) = (action.choices for action in parser._actions if option in action.option_strings)
        assert list(choices) == sorted(known, key=choices.index) and len(choices) == len(known)


@pytest.mark.parametrize("given, said", [
    (("epidemic", "--memory", "none"), "--memory none: in epidemic dispatchers remember what they told, as nodes do; leave it out."),
    (("mobile", "--memory", "told"), "--memory told: in mobile dispatchers remember"),
    (("mobile", "--replacement", "end_any"), "--replacement end_any: in mobile radios decide"),
    (("dynamic-topology", "--memory", "some"), "--memory: found 'some'; give one of 'none', 'told'")])
def test_readings_that_an_evaluation_does_not_leave_open_are_refused(tmp_path, given, said):
    done = here("reproduce", *given, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and not list(tmp_path.iterdir())


def test_verdicts_on_orders_can_go_either_way():
    found = tables.Tables()
    for name, value in zip(("strawman", "path", "informed", "notified", "timed"), (1, 2, 3, 4, 5)):
        found.points["22", name, 50.0] = tables.Point(value, value, value, 3)
    says = [claim for claim in claims.CLAIMS if claim[0] == "22" and "from least to most" in claim[1]][0]
    assert says[2](found)[1] == "agrees"
    found.points["22", "path", 50.0] = tables.Point(9, 9, 9, 3)
    assert says[2](found)[1] == "differs"
    found.points["22", "path", 50.0] = tables.Point(9, 1, 17, 3)
    assert says[2](found)[1] == "unsure"
    found.points["22", "path", 50.0] = tables.Point(9, math.nan, math.nan, 1)
    assert says[2](found)[1] == "unsure"


def test_figures_and_seeds_that_are_not_there_are_told(tmp_path):
    with pytest.raises(AnalysisError, match="figure 11: section V has 12 to 29"):
        reproduce(DYNAMIC_TOPOLOGY, tmp_path, (11,))
    with pytest.raises(AnalysisError, match="figure fourteen: section V has 12 to 29"):
        reproduce(DYNAMIC_TOPOLOGY, tmp_path, ("fourteen",))
    for seeds in (0, -1, 10**9):
        with pytest.raises(AnalysisError, match=f"seeds: found {seeds}; give 1 to 1000"):
            reproduce(DYNAMIC_TOPOLOGY, tmp_path, (14,), seeds=seeds)
    assert not list(tmp_path.iterdir())


def test_the_command_line_of_one_run_and_of_a_batch(tmp_path):
    done = here("reproduce", "overlay", "protocol=informed", "dispatchers=12", "available=12", "patterns=2", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"^INFORMED_ACTIVATE +\d", done.stdout, re.M) and "tables at the end: right" in done.stdout
    assert here("reproduce", "overlay", "protocol=inform", cwd=tmp_path).returncode == 2
    lines = tmp_path / "batch"
    lines.write_text('{"key": "a", "parameters": {"dispatchers": 12, "available": 12}}\n{"key": "b", "parameters": {"rho": 3}}\n')
    done = here("reproduce", "overlay", "--batch", lines, "--out", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert results.read(tmp_path / "out" / "a.json")["reconfigurations"] == 12
    assert "rho: no such parameter" in results.read(tmp_path / "out" / "b.json")["failed"]
