"""Study files: what is a setting, and what is refused before any work starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from topologies import ScenarioError, seeds, study
from topologies.study import MOST_RUNS

FOLDER = Path(__file__).resolve().parents[2] / "topologies"
BASE = """
[run]
duration = 40
warm_up = 5
deadline = 4
[hosts]
count = 4
[mobility]
area = [100, 100]
"""


def load(folder: Path, text: str, base: str = 'base = "park.toml"\n') -> study.Study:
    (folder / "park.toml").write_text(BASE)
    (folder / "mine.toml").write_text(base + text)
    return study.load(folder / "mine.toml")


def test_a_grid_has_every_combination(tmp_path):
    found = load(tmp_path, 'seeds = "1-3,7"\n[grid]\nnode.reconcile = ["path", "timed"]\nmobility.speed = [[1, 2], [3, 4]]\nradio.loss = [0]')
    assert found.seeds == (1, 2, 3, 7) and found.runs == 16 and found.keys == ("node.reconcile", "mobility.speed", "radio.loss")
    assert [one.label for one in found.settings] == [f"reconcile={name}, speed={speed}, loss=0" for name in ("path", "timed")
                                                     for speed in ("[1, 2]", "[3, 4]")]
    assert [one.scenario.mobility.speed for one in found.settings] == [(1, 2), (3, 4)] * 2
    assert found.name == found.settings[0].scenario.run.name == "mine"


def test_settings_may_be_listed_with_labels_and_whole_tables(tmp_path):
    found = load(tmp_path, 'seeds = [4, 2]\n[[settings]]\n[[settings]]\nlabel = "flooding"\nnode = {tree = "none", strategy = "flood"}\n'
                           '[[settings]]\n"radio.model" = "log_distance"\n[stop]\nmetric = "ratio"\nhalf_width = 0.1\nleast = 3'
                 .replace("[4, 2]", "[4, 2, 9]"))
    assert [one.label for one in found.settings] == ["as in the base", "flooding", "model=log_distance"] and found.seeds == (4, 2, 9)
    assert found.settings[1].values == {"node.tree": "none", "node.strategy": "flood"} and found.stop.least == 3


@pytest.mark.parametrize("text, said", [
    ('seeds = "1-3"\n[grid]\nnode.hello_intrval = [1]', 'mine.toml: node.hello_intrval: found an unknown key; did you mean "hello_interval"?'),
    ('seeds = "1-3"\n[gird]\nnode.hello_interval = [1]', 'mine.toml: gird: found an unknown key; did you mean "grid"?'),
    ('seeds = "1-3"\n[grid]\nnode.hello_interval = [1, -1]', "mine.toml: node.hello_interval: found -1; expected 0.001 or more"),
    ('seeds = "1-3"\n[grid]\nrun.seed = [1, 2]', "mine.toml: run.seed: found a value for each setting; leave it out"),
    ('seeds = "30-1"\n[grid]\nradio.loss = [0]', 'mine.toml: seeds: found the range "30-1", which runs backwards; give "1-30"'),
    ('seeds = "1,1"\n[grid]\nradio.loss = [0]', "mine.toml: seeds: found seed 1 twice; give each once"),
    ('seeds = ""\n[grid]\nradio.loss = [0]', 'mine.toml: seeds: found ""; give numbers and ranges'),
    ('seeds = 10\n[grid]\nradio.loss = [0]', "mine.toml: seeds: found 10; give numbers and ranges"),
    ('seeds = [-1]\n[grid]\nradio.loss = [0]', "mine.toml: seeds: found [-1]; give numbers and ranges"),
    ('seeds = "1-3"\n[grid]', "mine.toml: grid: found nothing in it; give a key"),
    ('seeds = "1-3"\n[grid]\nradio.loss = []', "mine.toml: grid.radio.loss: found an empty list; give the values"),
    ('seeds = "1-3"\n[grid]\nradio.loss = 0.1', "mine.toml: grid.radio.loss: found 0.1; give a list of values, [..]"),
    ('seeds = "1-3"', "mine.toml: found no grid and no settings; give one of the two"),
    ('seeds = "1-3"\nsettings = []', "mine.toml: settings: found none; give a table [[settings]] for each"),
    ('seeds = "1-3"\n[grid]\nradio.loss = [0]\n[[settings]]\nradio.loss = 0', "mine.toml: found grid together with settings"),
    ('seeds = "1-3"\n[grid]\nradio.loss = [0, 0.0]', 'mine.toml: found two settings alike, "loss=0" and "loss=0.0": they make the same'),
    ('seeds = "1-3"\n[[settings]]\nlabel = "a"\n[[settings]]\nlabel = "b"\nnode.replay_window = 10',
     'mine.toml: found two settings alike, "a" and "b": they make the same scenario; leave one out'),
    ('seeds = "1-3"\n[[settings]]\nlabel = "a"\n[[settings]]\nlabel = "a"\nradio.loss = 0.1', 'mine.toml: settings: found two with the label "a"'),
    ('seeds = "1-3"\n[[settings]]\nlabel = 3', "mine.toml: settings[0].label: found 3; expected a text"),
    (f'seeds = "1-1000000"\n[grid]\nradio.loss = [{", ".join(f"{at / 2000}" for at in range(1000))}]',
     f"mine.toml: found 1,000,000,000 runs (1,000 settings, 1,000,000 seeds each); a study has at most {MOST_RUNS:,}; give fewer"),
    ('seeds = "1-9999999999"\n[grid]\nradio.loss = [0]', "mine.toml: seeds: found 9,999,999,999 seeds; give at most 1,000,000"),
    ("seeds = '1'\n[grid]\n" + "\n".join(f"{key} = [{', '.join(str(at) for at in range(1, 100))}]" for key in ("hosts.count", "workload.kinds")),
     "mine.toml: found 9,801 settings; a study has at most 1,000; give fewer"),
    ('seeds = "1-4"\n[grid]\nradio.loss = [0]\n[stop]\nmetric = "ratio"\nhalf_width = 0.1', "mine.toml: stop.least: found 5 with 4 seeds"),
    ('seeds = "1-4"\n[grid]\nradio.loss = [0]\n[stop]\nmetric = "ratio"\nhalf_width = 0', "mine.toml: stop.half_width: found 0; expected above 0"),
    ('', "mine.toml: found no seeds, no grid and no settings; give a study")])
def test_a_bad_study_is_one_sentence(tmp_path, text, said):
    with pytest.raises(ScenarioError) as told:
        load(tmp_path, text)
    assert len(told.value.problems) == 1
    assert str(told.value).removeprefix(f"{tmp_path}/").startswith(said), told.value


@pytest.mark.parametrize("base, said", [
    ('base = "prak.toml"\n', 'base: found "prak.toml", which is not a file; did you mean'), ("", "base: found nothing"),
    ('base = "mine.toml"\n', "base: found a circle")])
def test_a_bad_base_is_one_sentence(tmp_path, base, said):
    with pytest.raises(ScenarioError) as told:
        load(tmp_path, 'seeds = "1"\n[grid]\nradio.loss = [0]', base)
    [problem] = told.value.problems
    assert problem.startswith(f"{tmp_path}/mine.toml: {said}"), problem


def test_what_is_wrong_in_the_base_is_told_of_the_base(tmp_path):
    (tmp_path / "broken.toml").write_text(BASE.replace("warm_up = 5", "warm_up = -5"))
    with pytest.raises(ScenarioError, match=r"broken\.toml: run\.warm_up: found -5"):
        load(tmp_path, 'seeds = "1"\n[grid]\nradio.loss = [0]', 'base = "broken.toml"\n')


@pytest.mark.parametrize("name", sorted(path.name for path in (FOLDER / "studies").glob("*.toml")))
def test_shipped_studies_load_and_are_listed(name):
    assert study.load(FOLDER / "studies" / name).runs > 1 and study.is_study(FOLDER / "studies" / name)
    assert f"`studies/{name}`" in (FOLDER / "README.md").read_text()


def test_seeds_as_people_write_them():
    assert seeds.seeds("1-3, 9,5") == (1, 2, 3, 9, 5) and seeds.seeds("0") == (0,)
    for text in ("1-", "-1", "a", "1..3", "1 2", "٣", "1,,2"):
        with pytest.raises(ValueError, match="give numbers and ranges"):
            seeds.seeds(text)
    with pytest.raises(ValueError, match="expected at most"):
        seeds.seeds(str(2**63))
