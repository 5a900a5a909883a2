"""Two runs of one scenario with different seeds, from their log files to means with intervals."""
from __future__ import annotations

import pytest

from analysis import analyse
from analysis.summary import show
from tests.analysis.rundirs import network


@pytest.fixture(scope="module")
def both(tmp_path_factory, spark):
    folder = tmp_path_factory.mktemp("seeds")
    paths = [network(6, 40.0, seed, radius=200.0, side=350.0, kinds=3, loss=0.1, deadline=5.0).write(folder / f"seed-{seed}")
             for seed in (1, 2)]
    with open(paths[1] / "nodes" / "0.jsonl", "a") as file:
        file.write("nonsense\n")
    return paths, analyse(paths)


def test_every_number_is_a_mean_with_its_interval(both):
    _, summary = both
    first, second = summary.numbers
    assert first["expected"] != second["expected"] and 0 < first["ratio"] < 1 and first["ratio"] != second["ratio"]
    for key in ("ratio", "bound", "latency_median", "bytes_per_delivery"):
        estimate = summary.estimate(key)
        assert estimate.runs == 2 and estimate.mean == pytest.approx((first[key] + second[key]) / 2)
        # the t quantile of one degree of freedom, 12.706, times half the difference (s / sqrt(2) is that)
        assert estimate.half == pytest.approx(12.7062 * abs(first[key] - second[key]) / 2, rel=1e-4)
    line = next(line for line in summary.table().splitlines() if "delivery ratio" in line)
    assert f" {50 * (first['ratio'] + second['ratio']):.1f} " in line and line.split()[0] == "delivery"
    assert line.endswith(show(summary.estimate("ratio"), "share"))
    cost = next(line for line in summary.table().splitlines() if "bytes per delivery" in line)
    assert f"{(first['bytes_per_delivery'] + second['bytes_per_delivery']) / 2:,.0f} ± " in cost


def test_each_run_is_analysed_as_if_it_were_alone(both):
    paths, summary = both
    assert len(summary.reports) == 2
    for path, numbers in zip(paths, summary.numbers, strict=True):
        assert (path / "report.html").is_file()
        alone = analyse(path)
        assert alone.numbers[0] == pytest.approx(numbers, nan_ok=True)


def test_notes_name_the_run_that_they_are_of(both):
    assert "seed-2: 1 lines of the logs are not records (in 0.jsonl)" in both[1].notes
    assert "made" in both[1].title and not [note for note in both[1].notes if note.startswith("1 lines")]
