"""Means over seeds, their confidence intervals, and the printed table."""
from __future__ import annotations

import math

import pytest

from analysis.metrics import METRICS
from analysis.summary import Summary, seconds, show


def numbers(**some: float) -> dict[str, float]:
    return {**{metric.key: 0 for metric in METRICS}, **some}


def test_one_run_shows_its_numbers():
    table = Summary("park", [numbers(expected=1200, ratio=0.5, latency_median=0.0123, lost_radio=3, bound=math.nan)]).table()
    lines = table.splitlines()
    assert lines[0] == "park"
    assert any("1,200" in line for line in lines) and any("50.0 %" in line for line in lines)
    assert any("12.3 ms" in line for line in lines)
    assert any("Lost" in line and "radio" in line for line in lines) and "overflow" not in table
    assert any("physical bound" in line and " - " in line for line in lines)


def test_several_runs_show_mean_and_interval():
    summary = Summary("park", [numbers(ratio=0.8), numbers(ratio=0.9), numbers(ratio=1.0)])
    mean, half, runs = summary.estimate("ratio")
    # t quantile of 2 degrees of freedom, 4.3027, times 0.1 / sqrt(3)
    assert (mean, runs) == (pytest.approx(0.9), 3) and half == pytest.approx(4.30265 * 0.1 / math.sqrt(3), rel=1e-4)
    assert show(summary.estimate("ratio"), "share") == "90.0 [65.2, 100.0] %"  # no share is above 1
    lines = Summary("park", summary.numbers, seeds=[4, 7, 12]).table().splitlines()
    assert [line for line in lines if " 7: delivery ratio 90.0 %" in line]


@pytest.mark.parametrize("time, text", [(0.00125, "1.25 ms"), (0.0123, "12.3 ms"), (0.1234, "123 ms"), (0.9996, "1.00 s"),
                                        (1.234, "1.23 s"), (61.25, "61.2 s"), (1234.4, "1,234 s"), (0.0, "0 ms"),
                                        (0.00000125, "0.001 ms")])
def test_a_time_has_three_significant_digits(time, text):
    assert seconds(time) == text


def test_runs_that_lack_a_number_do_not_count_in_its_mean():
    summary = Summary("park", [numbers(latency_median=0.2), numbers(latency_median=math.nan)])
    assert summary.estimate("latency_median") == (0.2, 0.0, 1)
    assert summary["latency_median"] == 0.2


def test_a_broken_safety_property_is_said():
    assert "VIOLATED" in Summary("park", [numbers(), numbers(twice=1)]).table()
    assert "holds" in Summary("park", [numbers()]).table()
