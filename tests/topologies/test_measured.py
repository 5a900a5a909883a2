"""Which explicit events fall into a span, the window of a run or the life of a subscription; where none does it is told."""

from __future__ import annotations

import random

import pytest

from emulation import runner
from tests.topologies.test_notes import WAYPOINTS
from topologies import load
from topologies.workload import Publish


@pytest.mark.parametrize("seed", range(20))
def test_events_fall_into_a_span_as_counting_them_says(seed):
    draw = random.Random(seed)
    for _ in range(200):
        at, every, stop = draw.randrange(40), draw.choice([None, 1.0, 7.0, 12.5, 60.0]), 100.0
        until = draw.choice([None, at + draw.randrange(1, 50)])
        begin = draw.randrange(90)
        end = begin + draw.randrange(20)
        row = Publish.model_validate({"at": float(at), "every": every, "spread": 0.0, "until": until and float(until), "event": {"a": 1}})
        times = [at + (every or 0.0) * k for k in range(1 if every is None else 200)]
        told = any(begin <= t <= end and t < min(stop, until or stop) for t in times)
        assert row.falls_into(begin, end, stop) == told, (row, begin, end)


def test_a_spread_reaches_further():
    row = Publish.model_validate({"at": 0.0, "every": 10.0, "spread": 4.0, "event": {"a": 1}})
    assert row.falls_into(3, 5, 100) and row.falls_into(14, 14, 100) and not row.falls_into(5, 9, 100)


FLOW = "[[workload.subscribe]]\nfilter = 'a > 1'\nhosts = [1]\n[[workload.publish]]\nhosts = [0]\nevery = {}\nevent = {{ a = 2 }}\n"


@pytest.mark.parametrize(("window", "every", "told"), [
    ([11, 14], 5, ["workload.publish[0]: all of its events are outside 11 to 14 s, so none is measured"]),
    ([11, 15], 5, []), ([110, 140], 50, ["workload.publish[0]: all of its events are outside 110 to 140 s"]), ([110, 150], 50, []),
    ([0, 290], 400, ["workload.publish[0].every: 400 s after 0 s", "workload.subscribe[0]: every event that matches a > 1 is published less than"]),
])
def test_events_that_pass_by_what_is_measured_are_told(tmp_path, window, every, told):
    path = tmp_path / "x.toml"
    path.write_text(f"[run]\nduration = 300\nwindow = {window}\n[hosts]\ncount = 3\n{WAYPOINTS}{FLOW.format(every)}")
    notes = runner.notes(load(path))
    assert len(notes) == len(told) and all(map(str.startswith, notes, told))


@pytest.mark.parametrize(("mobility", "radio", "told"), [
    ("area = [300, 200]", "range = 15000", "radio.range: 15000 m, and no two hosts are ever more than 360.6 m apart"),
    ("area = [20, 20]", "range = 150", "radio.range: 150 m, and no two hosts are ever more than 28.28 m apart"),
    ("area = [300, 200]", 'model = "log_distance"\ntx_power = 100', "radio: 4.4875e+05 m, and no two hosts are ever more than 360.6 m apart"),
    ("positions = [[0, 0], [30, 0], [30, 40]]", "range = 1000", "radio.range: 1000 m, and no two hosts are ever more than 50 m apart"),
    ('trace = "w.movements"', "range = 1000", "radio.range: 1000 m, and no two hosts are ever more than 50 m apart"),
    ("area = [300, 200]", "range = 1500", ""), ("positions = [[0, 0], [30, 0], [30, 40]]", "range = 200", ""), ('trace = "w.movements"', "range = 200", ""),
])
def test_a_range_far_beyond_all_places_is_told(tmp_path, mobility, radio, told):
    (tmp_path / "w.movements").write_text("0 0 0 60 30 0\n0 0 40 60 30 40\n0 5 5 60 9 9\n")
    path = tmp_path / "x.toml"
    path.write_text(f"[run]\nduration = 60\n[hosts]\ncount = 3\n[mobility]\n{mobility}\n[radio]\n{radio}\n")
    found = [note for note in runner.notes(load(path)) if "apart: all hear each other at all times" in note]
    assert len(found) == bool(told) and all(note.startswith(told) for note in found)
