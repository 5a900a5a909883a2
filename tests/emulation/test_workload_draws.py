"""What tables of the workload draw: rates, distributions, phases, churn and logs, with fixed seeds, within statistical bounds."""
from __future__ import annotations

import json
import math
import re
import statistics
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

import topologies
from emulation import runner
from emulation.workload import WorkloadError, check_workload, expected, planned, publications
from tests.emulation.test_workload import diary, table
from topologies import ScenarioError
from topologies.workload import Publish, Subscribe, planned_events

PAGE = Path(__file__).resolve().parents[2] / "docs" / "workload.md"
HOSTS = '[hosts]\ncount = 4\n[mobility]\narea = [100, 100]\n'
SIGMAS = 4.5  # of a count: a seed that was chosen before the code stays within


def times(end: float = 10_000.0, hosts: int = 1, host: int = 0, seed: int = 1, **keys) -> list[float]:
    row = Publish.model_validate({"event": {"a": 1}, **keys})
    return [event[0] for event in planned(row, 0, host, host, hosts, seed, end)]


def values(value, count: int = 20_000, host: int = 0) -> list:
    row = Publish.model_validate({"event": {"a": value}, "every": 1.0})
    return [event[1]["a"] for event in planned(row, 0, host, 0, 1, 1, float(count))]


def near(count: float, mean: float) -> bool:
    """Whether a count of independent things is what the mean makes likely."""
    return abs(count - mean) <= SIGMAS * math.sqrt(mean)


# ---- times ------------------------------------------------------------------------------------
def test_several_hosts_are_never_in_lockstep_unless_asked():
    phases = [times(hosts=20, host=host, every=10.0)[0] for host in range(20)]
    assert len(set(phases)) == 20 and all(0 <= phase < 10 for phase in phases)
    assert 2 < statistics.mean(phases) < 8 and max(phases) - min(phases) > 5
    for host in range(3):
        found = times(hosts=20, host=host, every=10.0, end=100.0)
        assert all(later - earlier == pytest.approx(10.0) for earlier, later in pairwise(found)) and len(found) == 10
    assert {times(hosts=20, host=host, every=10.0, spread=0.0)[0] for host in range(20)} == {0.0}
    assert times(every=10.0, at=3.0)[:2] == [3.0, 13.0]  # one host begins when it is told to


def test_jitter_shifts_each_event_and_adds_up_to_nothing():
    found = times(every=10.0, jitter=0.2, end=10_000.0)
    off = [time - 10.0 * k for k, time in enumerate(found)]
    assert max(map(abs, off)) <= 2.0 and statistics.pstdev(off) == pytest.approx(4.0 / math.sqrt(12), rel=0.1)


def test_poisson_has_its_rate_and_gaps_without_memory():
    found = times(process="poisson", every=2.0)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert near(len(found), 5000) and near(sum(gap > 2.0 for gap in gaps), len(gaps) / math.e)
    assert statistics.pstdev(gaps) == pytest.approx(2.0, rel=0.1)
    assert times(process="poisson", every=2.0, seed=2) != found == times(process="poisson", every=2.0)


def test_bursts_have_their_size_and_gap():
    found = times(every=10.0, burst=3, gap=0.5, end=30.0)
    assert found == [0.0, 0.5, 1.0, 10.0, 10.5, 11.0, 20.0, 20.5, 21.0]
    assert times(every=1.0, burst=3, gap=0.75, end=3.0) == sorted(k + n * 0.75 for k in range(3) for n in range(3) if k + n * 0.75 < 3)
    drawn = times(every=10.0, burst={"choice": [1, 11], "weights": [1.0, 1.0]}, gap=0.0)
    assert set(Counter(drawn).values()) == {1, 11} and len(drawn) == pytest.approx(6000, rel=0.05)


def test_on_and_off_leave_silence():
    found = times(every=1.0, on=10.0, off=20.0, end=300.0)
    assert len(found) == 100 and all(time % 30.0 < 10.0 for time in found)
    drawn = times(process="poisson", every=0.5, on={"exponential": 30.0}, off={"exponential": 60.0}, end=100_000.0)
    assert len(drawn) == pytest.approx(100_000 / 3 / 0.5, rel=0.1)
    assert max(later - earlier for earlier, later in pairwise(drawn)) > 100
    begins = {times(every=1.0, on=10.0, off=20.0, hosts=8, host=host)[0] for host in range(8)}
    assert max(begins) > 5  # some hosts begin while off


def test_a_day_has_its_highest_rate_at_noon():
    row = {"process": "poisson", "every": 1.0, "day": 1000.0, "night": 0.25}
    found = times(end=20_000.0, **row)
    by_hour = Counter(int(time % 1000 // 250) for time in found)
    assert near(len(found), 20_000)
    depth = 0.6  # (1 - 0.25) / (1 + 0.25)
    day, night = 5000 * (1 + depth * 2 / math.pi), 5000 * (1 - depth * 2 / math.pi)
    assert near(by_hour[1] + by_hour[2], 2 * day) and near(by_hour[0] + by_hour[3], 2 * night)
    shifted = Counter(int(time % 1000 // 500) for time in times(end=20_000.0, noon=250.0, **row))
    assert shifted[0] > 2 * shifted[1]
    assert len(times(end=20_000.0, every=1.0, day=1000.0)) == pytest.approx(20_000, abs=2)  # a periodic one has the mean, too


def test_an_attribute_more_changes_no_time_and_another_host_no_draw():
    plain = Publish(event={"a": 1}, every=5.0, process="poisson")
    more = Publish.model_validate({"event": {"a": 1, "b": {"normal": [0, 1]}}, "every": 5.0, "process": "poisson", "payload": {"uniform": [1, 9]}})
    lines = [[line for line in diary(table(publish=(row,)), hosts=3) if isinstance(line[2], dict)] for row in (plain, more)]
    assert [line[:2] for line in lines[0]] == [line[:2] for line in lines[1]]
    alone = diary(table(publish=(more,)), hosts=3, down=(0, 2))
    assert [line for line in lines[1] if line[1] == 1] == [line for line in alone if isinstance(line[2], dict)]


# ---- values -----------------------------------------------------------------------------------
def test_values_follow_their_distributions():
    whole = values({"uniform": [1, 6]})
    assert all(type(value) is int for value in whole) and all(near(count, 20_000 / 6) for count in Counter(whole).values()) and len(set(whole)) == 6
    fractions = values({"uniform": [0.0, 2.0]})
    assert 0 <= min(fractions) and max(fractions) < 2 and statistics.mean(fractions) == pytest.approx(1.0, abs=0.03)
    normal = values({"normal": [20, 3]})
    assert statistics.mean(normal) == pytest.approx(20, abs=0.1) and statistics.pstdev(normal) == pytest.approx(3, rel=0.05)
    assert statistics.mean(values({"exponential": 5.0})) == pytest.approx(5, rel=0.05)
    words = Counter(values({"choice": ["a", "b"], "weights": [3.0, 1.0]}))
    assert near(words["b"], 5000) and near(words["a"], 15_000)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_ranks_of_zipf_fall_as_their_exponent_says(exponent):
    seen = Counter(values({"zipf": 50, "exponent": exponent}))
    total = sum(k ** -exponent for k in range(1, 51))
    for rank in (1, 2, 5, 20):
        assert near(seen[rank], 20_000 * rank ** -exponent / total)
    assert set(values({"zipf": ["x", "y"]}, 100)) == {"x", "y"}


def test_a_walk_goes_in_small_steps_by_itself_and_within_its_bounds():
    walk = values({"walk": [20, 0.5], "within": [18, 23]})
    assert walk[0] == 20 and 18 <= min(walk) and max(walk) <= 23 and max(walk) > 22.5 and min(walk) < 18.5
    steps = [later - earlier for earlier, later in pairwise(values({"walk": [0.0, 0.5]}))]
    assert statistics.pstdev(steps) == pytest.approx(0.5, rel=0.05)
    assert values({"walk": [20, 0.5]}, 50, host=1)[1:] != values({"walk": [20, 0.5]}, 50)[1:]


def test_sizes_are_drawn_rounded_and_kept_in_bounds():
    row = Publish.model_validate({"event": {"a": 1}, "every": 1.0, "payload": {"normal": [100, 80]}})
    sizes = [len(event[2]) for event in planned(row, 0, 0, 0, 1, 1, 5000.0)]
    assert min(sizes) == 0 and 90 < statistics.mean(sizes) < 115 and max(sizes) > 250
    assert max(len(line[3]) for line in diary(table(publish=(Publish(event={"a": 1}, payload=7),))) if len(line) > 3) == 7


# ---- subscriptions ----------------------------------------------------------------------------
def test_clients_come_and_go_by_rate():
    row = Subscribe.model_validate({"filters": ["a = 1", "b = 1", "c = 1"], "pick": 1, "on": {"exponential": 20.0}, "off": {"exponential": 10.0}})
    lines = [line for line in diary(table(subscribe=(row,)), hosts=20, end=10_000.0) if str(line[2])[0] in "+-"]
    began = sum(line[2].startswith("+") for line in lines)
    assert began == pytest.approx(20 * 10_000 / 30, rel=0.1)
    assert all(near(count, began / 3) for count in Counter(line[2] for line in lines if line[2].startswith("+")).values())
    own = [line for line in lines if line[1] == 3]
    assert [line[2][0] for line in own[:6]] == ["+", "-", "+", "-", "+", "-"]
    assert all(earlier[2][1:] == later[2][1:] for earlier, later in zip(own[::2], own[1::2]))
    held = sum(later[0] - earlier[0] for earlier, later in zip(own[::2], own[1::2]))
    assert held == pytest.approx(10_000 * 2 / 3, rel=0.15)


def test_each_host_picks_its_own_filters_and_keeps_them():
    row = Subscribe.model_validate({"filters": [f"a = {k}" for k in range(50)], "pick": 3})
    lines = diary(table(subscribe=(row,)), hosts=5)
    picked = [frozenset(line[2] for line in lines if line[1] == host and line[2].startswith("+")) for host in range(5)]
    assert all(len(one) == 3 for one in picked) and len(set(picked)) == 5


# ---- the generator and the log ----------------------------------------------------------------
def test_the_generator_serves_some_hosts_for_a_while_with_more_attributes():
    keys = {"kinds": 5, "subscriptions": 1, "publish_interval": 1.0}
    plain = diary(table(**keys), hosts=3)
    some = diary(table(**keys, hosts=(1,), until=50.0, event={"value": topologies.workload.Publish.model_validate(
        {"event": {"x": {"uniform": [1, 3]}}}).event["x"]}), hosts=3)
    events = [line for line in some if isinstance(line[2], dict)]
    assert {line[1] for line in events} == {1} and max(line[0] for line in events) < 50 and {line[2]["value"] for line in events} == {1, 2, 3}
    assert [(line[0], line[2]["kind"]) for line in events] == [(line[0], line[2]["kind"]) for line in plain if isinstance(line[2], dict) and line[1] == 1 and line[0] < 50]


LOG = "time,host,kind,value,door:text,wet\n2.5,0,temp,21.5,,true\n1,b,temp,3,,\n2.5,0,door,,07,false\n99,1,late,1,x,\n"


def logged(tmp_path, text=LOG, more=""):
    (tmp_path / "log.csv").write_text(text)
    (tmp_path / "x.toml").write_text(f'[run]\nduration = 20\n[hosts]\nnames = ["a", "b"]\n[mobility]\narea = [9, 9]\n[workload]\nlog = "log.csv"\n{more}')
    scenario = topologies.load(tmp_path / "x.toml")
    runner.check(scenario)
    return scenario


def test_a_log_is_replayed_exactly_and_from_the_run_directory_again(tmp_path):
    scenario = logged(tmp_path, more='[[workload.subscribe]]\nfilter = "kind exists"\n')
    wanted = [(1.0, 1, {"kind": "temp", "value": 3}), (2.5, 0, {"kind": "temp", "value": 21.5, "wet": True}), (2.5, 0, {"kind": "door", "door": "07", "wet": False})]
    assert scenario.workload.kinds == 0 and expected(scenario) == "3 publications"
    assert [(time, event) for time, event, _ in publications(scenario)] == [(time, event) for time, _, event in wanted]
    assert any(note.startswith("workload.log: 1 of its 4 rows") for note in runner.notes(scenario))
    path = runner.run(scenario, tmp_path / "run")
    records = [json.loads(line) for host in (0, 1) for line in (path / "nodes" / f"{host}.jsonl").read_text().splitlines()]
    published = [row for row in records if "attributes" in row]
    assert [(row["t"], row["node"], len(row["attributes"])) for row in sorted(published, key=lambda row: row["t"])] == [(time, host, len(event)) for time, host, event in wanted]
    assert (path / "publications.csv").read_text() == LOG
    again = topologies.load(path / "scenario.toml")
    assert list(publications(again)) == list(publications(scenario))


@pytest.mark.parametrize(("text", "told"), [
    ("", "no column \"time\""), ("time,host\n1,0\n", "no column of an attribute"), ("time,host,a,a\n", 'the column "a" twice'),
    ("time,host,a:word\n", 'the column "a:word"; expected one of :text, :number, :truth'),
    ("time,host,a\n1,0\n", "2 cells in line 2; expected 3"), ("time,host,a\n-1,0,1\n", 'time "-1" in line 2'),
    ("time,host,a\n1,9,1\n", 'host "9" in line 2; expected an id from 0 to 1'), ("time,host,a\n1,carl,1\n", 'host "carl", which is no host in line 2'),
    ("time,host,a\n1,0,1\n2,0,x\n", '"x" in line 3 of the column "a", which has numbers elsewhere; call the column a:text'),
    ("time,host,a\n1,0,\n", "no attribute in line 2"), ("time,host,a:truth\n1,0,yes\n", '"yes" in line 2 of the column "a"; expected true or false'),
    ("time,host,a\n", "no row below the first line"), ("time,host,a\n30,0,1\n", "a first publication at 30 s in a run of 20 s"),
    ('time,host,a\n1,0,"x', "which is not CSV in UTF-8"), ("time,host,a\n1,0,9007199254740993.5\n", "more digits than a number can hold"),
])
def test_a_log_that_cannot_be_replayed_is_refused_in_a_sentence(tmp_path, text, told):
    with pytest.raises(ScenarioError) as error:
        logged(tmp_path, text)
    problem = str(error.value)
    assert problem.startswith(f"{tmp_path / 'x.toml'}: workload.log: found ") and told in problem and "\n" not in problem


def test_a_log_that_no_node_would_take_is_refused(tmp_path):
    with pytest.raises(WorkloadError, match=r"workload\.log: .*\(at 1 s\)"):
        logged(tmp_path, f"time,host,{'a' * 300}\n1,0,1\n")
    with pytest.raises(ScenarioError, match=r'workload.log: found "none.csv", which cannot be read'):
        (tmp_path / "y.toml").write_text(f"[run]\nduration = 20\n{HOSTS}[workload]\nlog = 'none.csv'\n")
        topologies.load(tmp_path / "y.toml")


# ---- what is refused --------------------------------------------------------------------------
PUBLISH = "[[workload.publish]]\nevent = {{ a = {} }}\n{}\n"


@pytest.mark.parametrize(("value", "keys", "told"), [
    ("{ unifrom = [1, 2] }", "", "publish[0].event.a: found {\"unifrom\": [1, 2]}; expected one distribution: { uniform = [0, 9] }"),
    ("{ uniform = [2, 1] }", "", "expected the lower value first"), ("{ normal = [1] }", "", "normal: mean and standard deviation"),
    ("{ normal = [1, -1] }", "", "expected a deviation of 0 or more"), ("{ zipf = 0 }", "", "expected from 1 to 100,000 values"),
    ("{ choice = ['a'], weights = [1, 2] }", "", "expected as many weights as values, 1"), ("{ choice = ['a'], wieghts = [1] }", "", '"wieghts" is no key of choice; known: choice, weights'),
    ("{ walk = [5, 1], within = [6, 7] }", "", "expected the first value within its bounds"),
    ("1", "every = 1\nburst = { choice = ['a'] }", "publish[0].burst: found"), ("1", "payload = -5", "publish[0].payload: found -5 bytes on average"),
    ("1", "every = 1\non = 5", "publish[0].on: found it without `off`"), ("1", "process = 'poisson'", "publish[0].process: found it without `every`"),
    ("1", "every = 1\nnight = 0.5", "publish[0].night: found it without `day`"), ("1", "every = 1\nprocess = 'poisson'\njitter = 0.1", "publish[0].jitter: found 0.1"),
    ("1", "every = 1\ngap = 3", "publish[0].gap: found it without `burst`"), ("1", "every = 1\nburst = 0", "publish[0].burst: found 0 events on average"),
    ("1", "every = 0.001\nburst = 10000\n[run]\nduration = 25", "workload: found about 1,000,000,000 publications in 25 s"),
    ("1", "[[workload.subscribe]]\nat = 1", "subscribe[0].filter: found nothing"), ("1", "[[workload.subscribe]]\nfilters = ['a = 1']\npick = 2", "subscribe[0].pick: found 2 of 1 filters"),
    ("1", "[[workload.subscribe]]\nfilter = 'a = 1'\non = 0.001\noff = 0.001\n[run]\nduration = 1e7", "workload.subscribe: found about "),
    ("{ uniform = [1, 9007199254740993.0] }", "", "with more digits than a number can hold"),
])
def test_bad_tables_are_refused_with_key_and_cure(tmp_path, value, keys, told):
    run = "" if "[run]" in keys else "[run]\nduration = 60\n"
    (tmp_path / "x.toml").write_text(f"{run}{HOSTS}{PUBLISH.format(value, keys)}")
    with pytest.raises(ScenarioError) as error:
        topologies.load(tmp_path / "x.toml")
    assert told in str(error.value) and str(error.value).startswith(f"{tmp_path / 'x.toml'}: workload"), error.value


def test_a_value_that_may_be_drawn_and_no_node_takes_is_refused():
    row = Publish.model_validate({"event": {"a": {"choice": ["x", "y" * 70_000]}}})
    with pytest.raises(WorkloadError, match=r"workload\.publish\[0\]\.event: "):
        check_workload(table(publish=(row,)))


# ---- how many ---------------------------------------------------------------------------------
@pytest.mark.parametrize("keys", [
    {"every": 7.0}, {"every": 7.0, "spread": 0.0}, {"every": 7.0, "spread": 3.0}, {"every": 3.0, "process": "poisson"}, {"at": 5.0},
    {"every": 5.0, "on": 20.0, "off": 10.0}, {"every": 5.0, "burst": {"uniform": [1, 3]}, "gap": 0.0}, {"every": 5.0, "day": 200.0}, {"every": 5.0, "until": 333.0, "at": 50.0},
])
def test_what_is_expected_is_what_is_drawn_on_average(keys):
    hosts, seeds, end = 5, 40, 1000.0
    row = Publish.model_validate({"event": {"a": 1}, **keys})
    found = sum(len(times(end, hosts, host, seed, **keys)) for host in range(hosts) for seed in range(seeds))
    assert found / seeds == pytest.approx(row.expected(hosts, end), rel=0.02)


def test_check_counts_as_the_run_draws(tmp_path, capsys):
    from cli import main

    (tmp_path / "x.toml").write_text(f"[run]\nduration = 60\n{HOSTS}[workload]\nkinds = 5\n" + PUBLISH.format("1", "every = 3\nprocess = 'poisson'"))
    assert main.main(["check", str(tmp_path / "x.toml")]) == 0
    scenario = topologies.load(tmp_path / "x.toml")
    count = sum(1 for _ in publications(scenario))
    assert f"4 hosts, 60 s in sim, {count} publications\n" in capsys.readouterr().out
    assert count == len([line for line in diary(scenario.workload, 4, end=60.0) if isinstance(line[2], dict)])
    assert count == pytest.approx(planned_events(scenario), rel=0.2)


def test_every_example_of_the_page_is_a_workload_that_runs(tmp_path):
    text = PAGE.read_text()
    (tmp_path / "monday.csv").write_text(re.search(r"```\n(time,.*?)```", text, re.S)[1])
    examples = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert len(examples) >= 8
    for number, example in enumerate(examples):
        names = '[hosts]\nnames = ["ann", "ben", "pump-1", "pump-2", "pump-3"]\n'
        path = tmp_path / f"x{number}.toml"
        numbers = 'numbers = "ids"\n'
        path.write_text(f"[run]\nduration = 600\n{names}{numbers}[mobility]\narea = [99, 99]\n{example}")
        scenario = topologies.load(path)
        runner.check(scenario)
        assert sum(1 for _ in publications(scenario)) > 0 or "publish" not in example
        assert tomllib.loads(scenario.to_toml())["workload"] and topologies.load(_again(path, scenario)) == scenario


def _again(path: Path, scenario: topologies.Scenario) -> Path:
    again = path.with_name("again.toml")
    again.write_text(scenario.to_toml())
    return again
