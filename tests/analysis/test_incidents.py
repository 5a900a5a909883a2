"""What went wrong in a run stands in the report and below the table; how it ended is a banner."""
from __future__ import annotations

import re

import pytest

from analysis import analyse
from tests.analysis.rundirs import Log


@pytest.fixture(scope="module")
def troubled(tmp_path_factory, spark):
    log = Log(4, 30.0, deadline=5.0)
    log.up(*range(4))
    for t in (3.0, 4.0, 5.0):
        log.add(0, t, "identity_conflict", other=2, epochs=[1, 7])
    log.add(1, 3.5, "identity_conflict", other=2, epochs=[1, 7])
    log.add(3, 6.0, "refused", what="event 3.1.5 of 2000 bytes, to be flooded", limit=1150)
    log.add(3, 7.0, "refused", what="event 3.1.6 of 1500 bytes, to be flooded", limit=1150)
    log.add(1, 7.0, "refused", what="neighbors", limit=64)
    log.add(2, 8.0, "queue_overflow", link="1-2.00000001", message="EVENT")
    log.add(2, 8.0, "queue_overflow", link="1-2.00000001", message="EVENT")
    log.add(1, 8.0, "queue_overflow", link="1-2.00000001", message="SUB")
    log.add(-1, 9.0, "radio_overflow", host=3, frames=40)
    log.add(-1, 10.0, "radio_overflow", host=3, frames=2)
    log.add(0, 11.0, "table_healed", link="0-1.00000001", added=2, removed=1)
    log.add(1, 12.0, "table_healed", link="0-1.00000001", added=3, removed=0)
    log.add(0, 13.0, "link_abandoned", rid="0-1.00000001")
    log.add(0, 1.0, "interface", name="wlan0", state="up", address="10.77.0.1")
    log.add(2, 14.0, "interface", name="wlan0", state="gone", address=None)
    log.add(2, 15.0, "interface", name="wlan0", state="up", address="10.77.0.3")
    log.add(3, 16.0, "records_lost", records=1200)
    log.add(1, 17.0, "slow_sync", seconds=1.74)
    log.manifest = {"outcome": "disk_full", "ended": 20.0, "reason": "no space left for nodes/2.jsonl"}
    path = log.write(tmp_path_factory.mktemp("troubled") / "run")
    return analyse(path), (path / "report.html").read_text()


NOTES = [
    "two running nodes used one identity: h2 (id 2, boot epochs 1, 7; met by hosts h0, h1, 4 times)",
    "nodes refused something at a limit: event … of … bytes, to be flooded (limit 1150; 2 times at host h3), "
    "neighbors (limit 64; once at host h1)",
    "full channel queues refused 3 messages at hosts h1, h2: EVENT (2), SUB (1)",
    "full transmit queues of radios dropped 42 frames of host h3",
    "digests found a wrong subscription table and repaired it 2 times at hosts h0, h1 (5 filters added, 1 removed)",
    "the tree gave up replacing a lost link once at host h0",
    "interfaces changed: gone once at host h2",
    "1,200 records could not be written at host h3, and are missing",
    "the disk took up to 1.7 s to sync at host h1: a power cut may have lost as much",
]


@pytest.mark.parametrize("note", NOTES)
def test_trouble_is_told_in_the_table_and_in_the_report(troubled, note):
    summary, report = troubled
    assert f"note: {note}" in summary.table().splitlines()
    assert f"<li>{note}</li>" in report


def banner(report: str) -> tuple[str, str]:
    found = re.search(r'<div class="banner (\w+)" id="outcome"><strong>(.*?)</strong>', report)
    return found[1], found[2]


def test_a_full_disk_is_a_red_banner(troubled):
    assert banner(troubled[1]) == ("bad", "The disk filled up and the run stopped; records of the last seconds may be "
                                          "missing. (no space left for nodes/2.jsonl)")
    assert "the run ended after 20 s of 30 s" in troubled[1]
    assert re.search(r"\.bad\s*\{[^}]*var\(--bad\)", troubled[1]), "the class has a color of its own"


@pytest.mark.parametrize("outcome, kind, said", [
    ("interrupted", "bad", "The run was interrupted; the analysis covers what it had recorded by then."),
    ("complete", "good", "The run came to its end."),
])
def test_an_interrupted_run_is_red_and_a_whole_one_is_not(spark, tmp_path, outcome, kind, said):
    log = Log(2, 30.0, deadline=5.0)
    log.up(0, 1)
    log.manifest = {"outcome": outcome, "ended": 30.0 if outcome == "complete" else 12.0, "reason": None}
    path = log.write(tmp_path / "run")
    summary = analyse(path)
    report = (path / "report.html").read_text()
    assert banner(report) == (kind, said)
    expected = ("nothing was expected", "the run ended after", "2 hosts that left records did not report their traffic")
    assert [line for line in summary.table().splitlines()
            if line.startswith("note: ") and not line.removeprefix("note: ").startswith(expected)] == []
