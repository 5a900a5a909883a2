"""The report where a run lacks something or has too much of it: no movement, no bound, no tree, spikes, texts from the air."""
from __future__ import annotations

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from analysis import figures, report, title
from analysis.summary import Summary
from tests.analysis.rundirs import Log, network


def page(whole) -> str:
    return report.write(whole, Summary(title(whole.run), [whole.numbers], whole.notes)).read_text()


def data(text: str) -> dict:
    return json.loads(re.search(r'id="run-data">(.*?)</script>', text, re.S)[1])


def test_a_field_run_has_no_map_no_bound_and_no_partitions(study, tmp_path):
    log = network(6, 60.0, 4, radius=200.0, side=400.0, kinds=3, loss=0.1, deadline=5.0, world="field")
    log.movement, log.lines[-1] = None, []
    log.scenario.pop("mobility")
    log.manifest |= {"nodes": list(range(6)), "left_out": [], "clocks": [{"node": i, "by": "neighbors", "wrong": 0.0004} for i in range(6)]}
    text = page(study(log.write(tmp_path / "run")))
    found = data(text)
    assert '<p id="no-map">No record says where the hosts were, so there is no map.</p>' in text and 'id="map"' not in text
    assert "there is no physical bound" in text and "Ratio to the bound" not in text and '<th scope="col">bound</th>' not in text
    assert "one tree again" not in text.lower() and "– of" not in text and "partitions" not in found["shape"] and found["shape"]["fragments"]
    assert found["losses"] and all(loss[8] is None or loss[8][-1] == loss[2] for loss in found["losses"])


def test_a_run_whose_trace_is_gone_says_so_in_the_place_of_the_map(study, tmp_path):
    log = network(3, 30.0, 4, deadline=5.0)
    log.movement = None
    text = page(study(log.write(tmp_path / "run")))
    assert "The run directory has no trace.movements.gz, so there is no map" in text and 'id="map"' not in text
    (tmp_path / "run" / "trace.movements.gz").write_bytes(b"nonsense")
    assert "There is no map, because the movement cannot be read" in page(study(tmp_path / "run"))


def test_a_run_without_a_tree_tells_of_none(study, tmp_path):
    log = network(4, 40.0, 4, kinds=2, loss=0.2, deadline=5.0)
    log.scenario["node"] |= {"tree": "none", "strategy": "flood"}
    text = page(study(log.write(tmp_path / "run")))
    assert data(text)["treeless"] and "fragments" not in data(text)["shape"] and 'id="count-fragments"' not in text
    assert all(loss[8] is None for loss in data(text)["losses"]) and data(text)["losses"]


def test_texts_from_the_air_end_no_script(study, tmp_path):
    log = Log(2, 60.0)
    log.up(0, 1)
    log.contact(0, 1, 0.0)
    log.link(0, 1, 0.0)
    log.subscribe(1, 0.0, "</script><b>", [], "00000000000000aa")
    log.publish(0, 10.0, "0.1.1", {"kind": "</script><i>"})
    for node in (0, 1):
        log.add(node, 1.0, "traffic", sent=[{"type": "</script><u>", "messages": 1, "bytes": 5}], received=[], dropped=[], datagrams_sent=1, datagrams_received=0)
    whole = study(log.write(tmp_path / "run"))
    text = page(whole)
    assert not re.search(r"</script>\s*<[biu]>", text)
    assert data(text)["losses"][0][3] == "</script><b>"


def test_a_spike_at_the_start_is_cut_off_and_named():
    samples = pd.DataFrame({"t": np.arange(0.5, 300), "fragments": [30, 30] + [2] * 298, "partitions": [1] * 300})
    chart = figures.shape(samples, True)
    assert "cut off above: up to 30, at 0 s" in chart.svg
    assert pd.read_csv(io.StringIO(chart.csv))["fragments"].max() == 30  # whole in the numbers
    flat = figures.shape(samples.assign(fragments=2), True)
    assert "cut off" not in flat.svg and figures.ceiling(np.array([])) is None


@pytest.mark.parametrize(("values", "top"), [([3] * 50, None), ([1] * 199 + [40], 2.2), ([10] * 50 + [20] * 50, None), ([0] * 5, None)])
def test_an_axis_ends_where_a_few_values_would_flatten_it(values, top):
    assert figures.ceiling(np.array(values, dtype=float)) == top
