"""The table of a study and its figures: what comes back, what is drawn, that nothing is cut off, and what cannot be drawn."""
from __future__ import annotations

import csv
import math

import pyarrow.parquet as pq
import pytest

from analysis import plot, table
from analysis.compare import difference
from analysis.errors import AnalysisError
from analysis.metrics import METRICS
from cli.main import main


def made(settings: dict[str, dict], seeds: int = 4) -> table.Table:
    keys = [table.Column(key, "m/s" if key == "mobility.pace" else "", "", f"what {key} is") for key in next(iter(settings.values()))]
    rows = [table.Row(name, values, seed, {"ratio": 0.5 + 0.01 * at + 0.02 * math.sin(7.0 * seed + at), "latency_median": 0.01 * seed})
            for at, (name, values) in enumerate(settings.items()) for seed in range(1, seeds + 1)]
    return table.Table(keys, rows)


GRID = {f"{name}, {pace}": {"node.reconcile": name, "mobility.pace": pace} for name in ("path", "timed", "informed") for pace in (1, 2, 20)}
LIST = {name: {"node.strategy": name} for name in ("subscription", "flood", "a setting with a label that goes on over several lines")}


def test_a_table_comes_back_and_documents_its_columns(tmp_path):
    given = made(GRID)
    given.rows.append(table.Row("path, 1", {"node.reconcile": "path", "mobility.pace": 1}, 9, {}, "it failed, for a reason"))
    table.write(tmp_path, given)
    found = table.read(tmp_path)
    assert found.keys == given.keys and len(found.rows) == 37 and found.rows[-1].failed == "it failed, for a reason"
    assert [row[:3] for row in found.rows] == [row[:3] for row in given.rows]
    assert found.values("path, 1", "ratio") == given.values("path, 1", "ratio") and 9 not in found.values("path, 1", "ratio")
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "columns.csv").open() as file:
        columns = {row["column"]: row for row in csv.DictReader(file)}
    assert list(rows[0]) == list(columns) == ["setting", "node.reconcile", "mobility.pace", "seed", *(m.key for m in METRICS), "failed", "notes"]
    assert float(rows[0]["ratio"]) == found.rows[0].numbers["ratio"] and rows[0]["roam_moves"] == rows[-1]["ratio"] == ""
    assert columns["latency_median"]["unit"] == "s" and columns["mobility.pace"]["unit"] == "m/s"
    assert pq.read_schema(tmp_path / "runs.parquet").field("airtime_share").metadata[b"unit"] == b"0 to 1"
    before = (tmp_path / "runs.parquet").read_bytes()
    table.write(tmp_path, found)
    assert (tmp_path / "runs.parquet").read_bytes() == before


@pytest.mark.parametrize("values", [[True, False], [1, 2.5], ["a", 3], [[1, 2], [3, 4]], [2**70, 1], [None, "x"]])
def test_settings_of_every_kind_have_a_column(tmp_path, values):
    table.write(tmp_path, made({f"s{at}": {"node.x": value} for at, value in enumerate(values)}))
    assert len({str(row.values["node.x"]) for row in table.read(tmp_path).rows}) == len(values)


@pytest.mark.parametrize("settings, against", [(GRID, None), (GRID, "path"), (GRID, "timed, 2"), (LIST, None), (LIST, "flood"),
                                               ({f"s{at}": {"node.a": at % 8, "mobility.pace": at // 8} for at in range(24)}, None)])
def test_no_word_is_cut_off_and_nothing_overlaps(settings, against):
    found = plot.chart(made(settings), "ratio", "pace" if "mobility.pace" in next(iter(settings.values())) else None, against)
    figure = plot.figure_of(found)
    figure.draw_without_rendering()
    (axes,), whole = figure.axes, figure.bbox
    assert whole.width / figure.dpi == plot.COLUMN
    ticks = [[tick.label1 for tick in axis.get_major_ticks() if min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())]
             for axis in (axes.xaxis, axes.yaxis)]  # those that are drawn
    labels = [label for label in (axes.yaxis.label, axes.xaxis.label) if label.get_text()]
    for word in (*labels, *figure.legends, *ticks[0], *ticks[1]):
        box = word.get_window_extent()
        assert whole.x0 <= box.x0 and whole.y0 <= box.y0 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1, word
    for labels in ticks:
        boxes = [one.get_window_extent() for one in labels]
        assert not any(one.overlaps(other) for one, other in zip(boxes, boxes[1:]))
    assert not any(legend.get_window_extent().overlaps(axes.bbox) for legend in figure.legends)
    label = axes.get_ylabel() if found.x else axes.get_xlabel()
    assert label.endswith("(points)" if against else "(%)") and (not found.x or axes.get_xlabel() == "pace (m/s)")
    low, high = axes.get_ylim() if found.x else axes.get_xlim()
    assert all(low < 100 * point.mean < high for of in found.lines.values() for point in of), "all points are in the picture"
    looks = {(line.get_linestyle(), line.get_marker()) for line in axes.get_lines() if line.get_marker() in "os^Dv<>P" and found.x}
    assert len(looks) == (len(found.lines) if found.x else 0), "without colors, too, each line has its look"


def test_differences_are_paired_seed_by_seed():
    given = made(GRID)
    found = plot.chart(given, "ratio", against="path")
    wanted = difference(given.values("path, 2", "ratio"), given.values("timed, 2", "ratio"), True)
    assert found.x == "mobility.pace" and list(found.lines) == ["timed", "informed"]
    assert found.lines["timed"][1] == (2, wanted.mean, wanted.low, wanted.high, 4)


@pytest.mark.parametrize("options, said", [
    (["--metric", "ration"], "ration: no metric"), (["--x", "reconcile"], "--x reconcile: no key with several numbers in this study; give one of mobility.pace"),
    (["--against", "nobody"], "--against nobody: no line and no setting of this study; give one of path; timed; informed; path, 1"),
    (["--metric", "signal_median"], "signal_median: no run has a value of it"), (["--out", "nowhere"], "nowhere: no such folder; make it")])
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, capsys, options, said):
    table.write(tmp_path, made(GRID))
    before = sorted(tmp_path.iterdir())
    assert main(["plot", str(tmp_path), *options]) == 2
    assert capsys.readouterr().err.startswith(f"roamcast: {said}") and sorted(tmp_path.iterdir()) == before


def test_figures_are_files_of_three_kinds_and_the_same_each_time(tmp_path, capsys):
    table.write(tmp_path, made(GRID))
    names = [tmp_path / f"figure-ratio.{end}" for end in ("svg", "pdf", "png", "csv")]
    found = []
    for _ in range(2):
        assert main(["plot", str(tmp_path)]) == 0
        found.append([name.read_bytes() for name in names])
    assert found[0] == found[1] and b"<svg" in found[0][0] and found[0][1].startswith(b"%PDF") and found[0][2].startswith(b"\x89PNG")
    assert "9 settings, 4 seeds each, bars are 95 % intervals" in capsys.readouterr().out
    assert names[3].read_text().startswith("line,mobility.pace,mean,low,high,runs\npath,1,0.")


def test_where_there_is_no_study_or_a_broken_one_it_says_so(tmp_path, capsys):
    assert main(["plot", str(tmp_path)]) == 2 and "has no runs.parquet; give the folder of a study" in capsys.readouterr().err
    (tmp_path / "runs.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(AnalysisError, match="cannot be read .*; let `roamcast sweep` write it again"):
        table.read(tmp_path)
    with pytest.raises(AnalysisError, match="9 lines|found 9"):
        plot.chart(made({f"s{at}": {"node.a": str(at % 9), "mobility.pace": at // 9} for at in range(18)}), "ratio")


def test_what_is_not_drawn_is_said(tmp_path, capsys):
    given = made(LIST, 3)
    rows = [row._replace(numbers={}, failed="died") if row.setting == "flood" else row for row in given.rows]
    table.write(tmp_path, given._replace(rows=rows))
    assert main(["plot", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "2 settings, 3 seeds" in said and "note: not drawn, for want of a value: flood" in said and "3 failed runs" in said
    table.write(tmp_path, made(LIST, 1))
    assert main(["plot", str(tmp_path)]) == 0
    assert "note: points of one run have no interval" in capsys.readouterr().out
