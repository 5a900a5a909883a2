"""A scenario that extends another: what wins, whose paths are meant, whose file is blamed, and what is no base."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import topologies
from topologies import ScenarioError, file

PARK = """
[run]
duration = 60
warm_up = 10
[hosts]
count = 6
[mobility]
model = "random_waypoint"
area = [200, 200]
[radio]
range = 150
[workload]
kinds = 4
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "park.toml").write_text(PARK)
    return tmp_path


def load(folder: Path, text: str, overrides=None) -> topologies.Scenario:
    (folder / "mine.toml").write_text(text)
    return topologies.load(folder / "mine.toml", overrides or {})


def refused(folder: Path, text: str, overrides=None) -> list[str]:
    with pytest.raises(ScenarioError) as told:
        load(folder, text, overrides)
    return [problem.replace(f"{folder}/", "") for problem in told.value.problems]


def test_a_scenario_has_what_its_base_has_and_its_own_values(folder):
    found = load(folder, 'base = "park.toml"\n[run]\nduration = 90\n[node]\nreplay_window = 0', {"run.seed": 4})
    base = topologies.load(folder / "park.toml")
    assert (found.run.duration, found.run.warm_up, found.run.window, found.run.seed) == (90, 10, (10, 80), 4)
    assert (found.run.name, found.node.replay_window) == ("mine", 0) and found.mobility == base.mobility
    (folder / "again.toml").write_text(found.to_toml())
    assert topologies.load(folder / "again.toml") == found, "what it extends is written out"


def test_bases_may_have_bases_in_other_folders_and_paths_are_those_of_the_file_that_names_them(folder):
    deep = folder / "deep" / "traces"
    deep.mkdir(parents=True)
    (deep / "two.movements.gz").write_bytes(gzip.compress(b"0 0 0 60 9 9\n0 5 5 60 1 1\n"))
    (folder / "deep" / "walk.toml").write_text('base = "../park.toml"\n[mobility]\ntrace = "traces/two.movements.gz"\n[hosts]\ncount = 2')
    found = load(folder, 'base = "deep/walk.toml"\n[run]\nduration = 30')
    assert found.mobility.trace == str(deep / "two.movements.gz") and len(found.movement()) == 2


@pytest.mark.parametrize("text, kept", [
    ('[mobility]\npositions = [[0, 0], [9, 9]]\n[hosts]\nnames = ["a", "b"]', lambda s: s.names == ["a", "b"] and s.mobility.model == "static"),
    ('[radio]\nmodel = "log_distance"', lambda s: s.radio.model == "log_distance"),
    ('[radio]\nloss = 0.1', lambda s: (s.radio.range, s.radio.loss) == (150, 0.1)),
    ('[mobility]\narea = [300, 300]', lambda s: s.mobility.area == (300, 300) and s.mobility.speed == (0.5, 2))])
def test_a_table_of_another_kind_replaces_the_whole_table(folder, text, kept):
    assert kept(load(folder, f'base = "park.toml"\n{text}'))


@pytest.mark.parametrize("base, said", [
    ('"prak.toml"', 'mine.toml: base: found "prak.toml", which is not a file; did you mean park.toml?'),
    ('"x/y.toml"', 'mine.toml: base: found "x/y.toml", which is not a file; give the path of a scenario, relative to this file'),
    ('"."', 'mine.toml: base: found ".", which is not a file; give the path of a scenario, relative to this file'),
    ('""', 'mine.toml: base: found ""; give the path of a scenario, relative to this file'),
    ('"a\\u0000b"', 'mine.toml: base: found "a\\u0000b"; give the path of a scenario, relative to this file'),
    (f'"{"n" * 300}"', f'mine.toml: base: found "{"n" * 56}..., which is not a file; give the path of a scenario, relative to this file'),
    ("3", "mine.toml: base: found 3; give the path of a scenario, relative to this file"),
    ('"mine.toml"', "mine.toml: base: found a circle: mine.toml extends mine.toml; leave out base in one of them"),
    ('"one.toml"', "two.toml: base: found a circle: one.toml extends two.toml extends one.toml; leave out base in one of them"),
    ('"back.toml"', "back.toml: base: found a circle: mine.toml extends back.toml extends mine.toml; leave out base in one of them"),
    ('"loop.toml"', 'mine.toml: base: found "loop.toml", which is not a file; give the path of a scenario, relative to this file'),
    ('"torn.toml"', 'torn.toml: not TOML: ')])
def test_what_is_no_base_is_one_sentence(folder, base, said):
    for name, text in (("one", 'base = "two.toml"'), ("two", 'base = "one.toml"'), ("back", 'base = "mine.toml"'), ("torn", "[")):
        (folder / f"{name}.toml").write_text(text)
    (folder / "loop.toml").symlink_to("loop.toml")
    [problem] = refused(folder, f"base = {base}")
    assert problem.startswith(said), problem


def test_a_tower_of_bases_has_an_end(folder):
    for at in range(file.MOST_BASES + 1):
        (folder / f"{at}.toml").write_text(f'base = "{f"{at - 1}.toml" if at else "park.toml"}"')
    assert load(folder, f'base = "{file.MOST_BASES - 2}.toml"').run.duration == 60
    [problem] = refused(folder, f'base = "{file.MOST_BASES}.toml"')
    assert problem == f"1.toml: base: found more than {file.MOST_BASES} scenarios one on top of another; give fewer"


def test_a_problem_names_the_file_that_has_the_key(folder):
    (folder / "wrong.toml").write_text('base = "park.toml"\n[run]\nwarm_up = -1\n[node]\nhello_intervall = 3')
    told = refused(folder, 'base = "wrong.toml"\n[hosts]\ncount = 0', {"node.replay_window": -1})
    assert sorted(problem.split(": found")[0] for problem in told) == [
        "mine.toml: hosts.count", "mine.toml: node.replay_window", "wrong.toml: node.hello_intervall", "wrong.toml: run.warm_up"]
