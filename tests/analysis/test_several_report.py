"""One report of several runs: seeds with their means, settings side by side; its numbers are those of the runs' own tables."""
from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from analysis import AnalysisError, analyse, compare, several, table
from analysis.metrics import METRICS
from analysis.summary import show
from cli.main import main
from tests.analysis.rundirs import network


def cells(page: str, table: str) -> list[list[str]]:
    """The body of a table, as text."""
    body = re.search(rf'<table[^>]*{table}[^>]*>.*?<tbody>(.*?)</tbody>', page, re.S)[1]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
            for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)]


def drawn(page: str, name: str) -> pd.DataFrame:
    """What a chart draws, as it saves it."""
    text = re.search(rf'<figure data-name="{name}">.*?<script type="application/json">(.*?)</script>', page, re.S)[1]
    return pd.read_csv(io.StringIO(json.loads(text)), keep_default_na=False)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory, spark):
    folder = tmp_path_factory.mktemp("several")
    paths = [network(6, 40.0, seed, radius=200.0, side=350.0, kinds=3, loss=0.1, deadline=5.0).write(folder / f"seed-{seed}") for seed in (1, 2)]
    summary = analyse(paths)
    several.write_runs(summary, folder / "all.html")
    return folder, summary, (folder / "all.html").read_text()


def counted(run: Path) -> pd.DataFrame:
    pairs = pd.read_parquet(run / "tables" / "outcomes.parquet")
    return pairs[~pairs["local"] & ~pairs["node_down"]]


def test_the_runs_of_a_scenario_are_one_report(seeds):
    folder, summary, page = seeds
    assert re.findall(r'<a href="([^"]+)">', page) == ["seed-1/report.html", "seed-2/report.html"]
    runs = cells(page, 'id="runs"')
    assert [row[:2] for row in runs] == [["seed-1", "1"], ["seed-2", "2"]]
    assert [row[2] for row in runs] == [f"{100 * counted(folder / name)['in_time'].mean():.1f} %" for name in ("seed-1", "seed-2")]
    numbers = {row[0]: row[1:] for row in cells(page, 'class="numbers"')}
    assert numbers["Delivery: delivery ratio"] == [show(summary.estimate("ratio"), "share"), runs[0][2], runs[1][2]]
    assert numbers["Delivery: expected"][1:] == [str(len(counted(folder / name))) for name in ("seed-1", "seed-2")]
    assert "Safety holds in every run" in page and "2 runs are few for an interval" in page and "Not valid" not in page


def test_its_charts_draw_the_numbers_of_the_tables(seeds):
    folder, _, page = seeds
    pairs = {f"seed {seed}": counted(folder / f"seed-{seed}") for seed in (1, 2)}
    assert drawn(page, "all-ratio")["value"].to_list() == pytest.approx([of["in_time"].mean() for of in pairs.values()])
    losses = drawn(page, "all-losses").set_index("reason")
    for name, of in pairs.items():
        assert {reason: n for reason, n in losses[name].items() if n} == of["reason"].value_counts().to_dict()
    over_time = drawn(page, "all-delivery")
    for name, of in pairs.items():
        ratios = pd.to_numeric(over_time.set_index("published_from_s")[name]).dropna()
        width = over_time["published_from_s"].diff().min()
        start = ratios.index[0]
        assert ratios.iloc[0] == pytest.approx(of[of["published"].between(start, start + width, inclusive="left")]["in_time"].mean())


def test_settings_side_by_side_are_one_report(seeds):
    folder, *_ = seeds
    others = []
    for seed in (1, 2):
        log = network(6, 40.0, seed, radius=200.0, side=350.0, kinds=3, loss=0.4, deadline=5.0)
        log.scenario["node"]["replay_window"] = 0
        others.append(log.write(folder / f"<other>-{seed}"))
    analyse(others)
    found = compare.compare([folder / "seed-1", folder / "seed-2", *others])
    several.write_sides(found, folder / "sides.html")
    page = (folder / "sides.html").read_text()
    runs = cells(page, 'id="runs"')
    assert [row[0] for row in runs] == ["seed-1", "seed-2", "<other>-1", "<other>-2"] and "<other>" not in page
    assert [row[1] for row in runs] == [found[0].left.label] * 2 + [found[0].right.label] * 2
    numbers = {row[0]: row[1:] for row in cells(page, 'class="numbers"')}
    assert numbers["Delivery: delivery ratio"] == compare.cells(found[0])[1 + [row.metric.key for row in found[0].rows].index("ratio")][2:]
    assert compare.reading(found[0])[0] in html.unescape(page) and "%3Cother%3E-1/report.html" in page
    assert drawn(page, "sides-ratio")["side"].nunique() == 2


def test_settings_of_a_study_are_one_report_without_links(tmp_path):
    rows = [table.Row(f"window {window:g}", {"node.replay_window": window}, seed, {
        metric.key: 0.0 if metric.section == "Correctness" else 0.5 + 0.01 * seed for metric in METRICS}) for window in (0.0, 10.0) for seed in (1, 2)]
    rows[2] = rows[2]._replace(numbers={**rows[2].numbers, "twice": 1.0})
    table.write(tmp_path, table.Table([table.Column("node.replay_window", "s", "", "")], rows))
    several.write_sides(compare.compare([tmp_path]), tmp_path / "sides.html")
    page = (tmp_path / "sides.html").read_text()
    assert [row[1:4] for row in cells(page, 'id="runs"')] == [[f"window {w}", str(s), f"{50 + s:.1f} %"] for w in (0, 10) for s in (1, 2)]
    assert "<a href" not in page and "run a setting by itself" in page and "Safety is violated in the runs that are marked" in page
    assert [row[0] for row in cells(page, 'id="runs"')] == ["–", "–", "– safety violated", "–"]


def test_the_commands_write_it(seeds, capsys, tmp_path):
    folder, *_ = seeds
    runs = [str(folder / "seed-1"), str(folder / "seed-2")]
    assert main(["analyse", *runs, "--out", str(tmp_path / "x.html")]) == 0
    assert capsys.readouterr().out.endswith(f"Report of all: {tmp_path / 'x.html'}\n")
    assert "seed-1/report.html" in (tmp_path / "x.html").read_text()
    assert main(["compare", *runs, "--out", str(tmp_path / "y.html")]) == 0
    assert "<title>" in (tmp_path / "y.html").read_text()
    assert main(["analyse", *runs, "--out", str(tmp_path / "x.txt")]) == 2
    assert "end it with .json or .csv or .html" in capsys.readouterr().err


def test_it_is_written_through_no_link(seeds, tmp_path):
    _, summary, _ = seeds
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "x.html").symlink_to("victim")
    with pytest.raises(AnalysisError, match="symbolic link"):
        several.write_runs(summary, tmp_path / "x.html")
    assert (tmp_path / "victim").read_text() == "mine"
