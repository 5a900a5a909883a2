"""What the report says of what was run, and the legend of its codes."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis import codes, run, setting
from tests.analysis.rundirs import Log

ROOT = Path(__file__).parents[2]


def made(path, **scenario):
    log = Log(2, 60.0)
    for section, keys in scenario.items():
        log.scenario[section] = keys
    log.manifest |= {"roamcast": "0.1.0", "commit": "a" * 40, "packages": {"numpy": "2.4.6"}}
    return run.settle(run.read(log.write(path)), 60.0)


def test_one_line_says_what_was_run(tmp_path):
    assert setting.headline(made(tmp_path / "a")) == (
        "2 hosts · 60 s, simulated (sim) · seed 1 · random_waypoint in 600 × 600 m · radio unit_disk, range 150 m")
    other = made(tmp_path / "b", mobility={"trace": "walk.movements"}, radio={"model": "log_distance"})
    assert setting.headline(other).endswith("seed 1 · trace walk.movements · radio log_distance")


def test_versions_and_movement_are_said(tmp_path):
    facts = dict(setting.facts(made(tmp_path / "a")))
    assert facts["version"] == "0.1.0, commit " + "a" * 40 and facts["packages"] == "numpy 2.4.6"
    assert facts["movement"].startswith("the model random_waypoint by the seed") and facts["seed"] == "1"


def test_the_whole_scenario_is_a_table_without_its_secret(tmp_path):
    subscribe = [{"hosts": "all", "filter": "a = 1"}, {"hosts": ["h0"], "filter": "b = 2"}]
    found = made(tmp_path / "a", node={"secret": "open sesame", "tree": "maodv"}, workload={"subscribe": subscribe})
    sections, more = setting.scenario(found)
    table = {name: dict(rows) for name, rows in sections}
    assert table["mobility"]["area"] == "[600.0, 600.0]" and table["workload"]["subscribe[1].filter"] == "b = 2"
    assert table["node"] == {"secret": "(set; not shown)", "tree": "maodv"} and more == 0


def test_a_long_scenario_is_cut_and_says_so(tmp_path):
    publish = [{"hosts": "h0", "at": float(k)} for k in range(setting.MOST_LINES)]
    sections, more = setting.scenario(made(tmp_path / "a", workload={"publish": publish}))
    assert sum(len(rows) for _, rows in sections) == setting.MOST_LINES and more > setting.MOST_LINES


@pytest.mark.parametrize("pattern, known", [
    (r'(?:lose|_down|_fail)\([^"\n]*"([a-z_]+)"', codes.LINK_LOST),
    (r'dropped\("([a-z_]+)"|Malformed\("([a-z_]+)"', codes.DROPPED)])
def test_every_code_of_the_nodes_has_its_words_here_and_in_the_docs(pattern, known):
    found = {code for path in (ROOT / "node").rglob("*.py") for match in re.findall(pattern, path.read_text())
             for code in ([match] if isinstance(match, str) else match) if code}
    assert len(found) > 10 and found <= known.keys()
    page = (ROOT / "docs" / "analysis.md").read_text()
    assert [code for code, words in known.items() if f"| `{code}` | {words} |" not in page] == []
