"""Runs without a tree: events are broadcast, over one-way links too, and are lost by the radio, not by a repair."""
from __future__ import annotations

import math

import pandas as pd
import pytest

from analysis.report import write
from analysis.summary import Summary
from tests.analysis.rundirs import Log


@pytest.fixture(scope="module")
def flooded(tmp_path_factory, study):
    """Host 0 floods; it is heard by 1 over a one-way link, 1 by 2 both ways; 3 meets 2 later; 4 is alone."""
    log = Log(5, 60.0, deadline=10.0)
    log.scenario["node"] = {"tree": "none", "strategy": "flood"}
    log.up(*range(5))
    log.add(-1, 0.0, "radio_up", **{"from": 0, "to": 1})
    log.contact(1, 2, 0.0)
    log.contact(2, 3, 24.0)
    for host in range(1, 5):
        log.subscribe(host, 1.0, "app", [("kind", "=", ["a"])], "aa")
    for number, (t, heard) in enumerate(((10.0, (1, 2)), (20.0, (1,)), (30.0, (1, 2, 3)), (31.0, ())), 1):
        log.publish(0, t, f"0.1.{number}", {"kind": "a"})
        for hops, host in enumerate(heard, 1):
            log.deliver(host, t + 0.01 * hops, f"0.1.{number}", hops, t)
    log.add(0, 31.0, "refused", what="event 0.1.4 of 1300 bytes, to be flooded", limit=1150)
    log.deliver(4, 10.5, "0.1.1", 4, 10.0)  # over a link that was not recorded
    return study(log.write(tmp_path_factory.mktemp("flood") / "run"))


@pytest.fixture(scope="module")
def outcomes(flooded):
    return pd.read_parquet(flooded.run.tables / "outcomes.parquet").set_index(["event", "node"]).sort_index()


def test_the_bound_goes_over_one_way_links(flooded, outcomes):
    assert outcomes.loc[[("0.1.1", 1), ("0.1.1", 2)], "bound"].tolist() == [10.0, 10.0]
    assert outcomes.loc[("0.1.2", 3), "bound"] == 24.0  # carried from 20 to 24 s
    # 0.1.1 comes to two hosts, the others to three each; partitions are of two-way links
    assert flooded.numbers["bound"] == pytest.approx(11 / 16)
    assert flooded.contacts[["i", "j"]].to_numpy().tolist() == [[1, 2], [2, 3]]
    early = flooded.shape[flooded.shape["t"] < 20]
    assert set(early["partitions"]) == {4}


def test_a_delivery_beyond_the_bound_is_told(flooded):
    assert flooded.numbers["beyond_bound"] == 1
    assert any(note.startswith("1 deliveries are beyond the physical bound") for note in flooded.notes)


def test_losses_are_the_radios(outcomes):
    lost = {key: reason for key, reason in outcomes["reason"].items() if reason}
    assert lost == {
        ("0.1.1", 3): "partitioned",
        ("0.1.2", 2): "radio", ("0.1.2", 3): "apart", ("0.1.2", 4): "partitioned",
        ("0.1.3", 4): "partitioned",
        ("0.1.4", 1): "overflow", ("0.1.4", 2): "overflow", ("0.1.4", 3): "overflow", ("0.1.4", 4): "partitioned"}
    assert outcomes.loc[("0.1.2", 2), "detail"] == "no broadcast came through"


def test_there_is_no_word_of_a_tree(flooded):
    assert math.isnan(flooded.numbers["tree_share"]) and math.isnan(flooded.numbers["normalized_cost"])
    summary = Summary("flood", [flooded.numbers], flooded.notes)
    assert not [row for row in summary.rows() if row[0] == "Tree" or row[1].startswith("normalized cost")]
    assert "beyond the bound" in summary.table()
    report = write(flooded, summary).read_text()
    assert "<h2>The tree</h2>" not in report and "<h2>Overhead</h2>" in report
