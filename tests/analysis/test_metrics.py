"""The one table of metrics: each is whole, computed by hand from facts, and the docs say what it says."""
from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from analysis import facts, metrics
from analysis.losses import DROPS, REASONS
from analysis.metrics import BY_KEY, FORMS, METRICS, numbers
from analysis.summary import Estimate, Summary, show


def test_every_metric_is_whole():
    assert max(Counter(metric.key for metric in METRICS).values()) == 1
    assert max(Counter((metric.section, metric.label) for metric in METRICS).values()) == 1
    for metric in METRICS:
        assert metric.key.isidentifier() and metric.label and metric.form in FORMS and metric.says
        assert not metric.says.endswith(".") and metric.shown in ("always", "known", "some", "never")
    sections = list(dict.fromkeys(metric.section for metric in METRICS))
    assert [metric.section for metric in METRICS] == sorted((metric.section for metric in METRICS), key=sections.index)


def test_numbers_by_hand():
    found = numbers(facts.Delivered(8, 6, 7.0, 0, np.arange(101) / 100, 12.0, 0), facts.Sent(5, 20, 1000, 4, 50.0))
    assert (found["ratio"], found["bound"], found["ratio_to_bound"], found["hops_mean"]) == (6 / 8, 7 / 8, 6 / 7, 2.0)
    assert (found["latency_median"], found["latency_p95"], found["latency_p99"]) == (0.5, 0.95, 0.99)
    assert (found["messages_per_delivery"], found["bytes_per_delivery"], found["bytes_per_host_second"]) == (4, 200, 5)
    assert "twice" not in found and "repairs" not in found
    shape = numbers(facts.Shape(np.array([4, 6, 0]), np.array([4, 3, 0])))
    assert shape == {"tree_share": 0.7, "whole_share": pytest.approx(2 / 3)}


def test_without_a_whole_there_is_no_share():
    found = numbers(facts.Delivered(0, 0, 0, 0, None, math.nan, 0), facts.Sent(0, math.nan, math.nan, 0, 0.0))
    assert all(math.isnan(found[key]) for key in ("ratio", "bound", "ratio_to_bound", "latency_median", "hops_mean",
                                                  "messages_per_delivery", "bytes", "bytes_per_host_second"))
    assert found["expected"] == 0
    unknown = numbers(facts.Delivered(4, 2, math.nan, 0, None, math.nan, 0), unknown=(facts.Roaming,))
    assert unknown["ratio"] == 0.5 and math.isnan(unknown["bound"]) and math.isnan(unknown["roam_moves"])


def test_losses_have_a_metric_a_reason():
    found = numbers(facts.Lost({"radio": 3}))
    assert found == {f"lost_{reason}": 3 if reason == "radio" else 0 for reason in REASONS}
    assert {reason for reason, _ in DROPS.values()} <= REASONS.keys()


def test_names_stand_alone():
    assert BY_KEY["latency_median"].name == "median latency" and BY_KEY["ratio"].name == "delivery ratio"
    assert BY_KEY["lost_stale_route"].name == "lost, stale route" and BY_KEY["hops_mean"].name == "hops, mean"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_written_for_one_run_and_for_several(form):
    assert show(Estimate(0.5, 0.0, 1), form) and "±" in show(Estimate(0.5, 0.25, 3), form)
    assert show(Estimate(math.nan, 0.0, 0), form) == "-"
    whole = dict.fromkeys(BY_KEY, 0.0)
    assert {row[1] for row in Summary("", [whole]).rows()} == {
        metric.label for metric in METRICS if metric.shown in ("always", "known")}


def test_the_docs_have_the_table():
    assert metrics.page() == metrics.PAGE.read_text(encoding="utf-8"), "run `python -m analysis.metrics`"
