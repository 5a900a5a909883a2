"""Misrouted events and the papers' normalized cost, by hand."""
from __future__ import annotations

import math

import pytest

from analysis import analyse
from analysis.misrouted import count
from tests.analysis.rundirs import Log

A, B, C, D = "0-1.00000001", "1-2.00000002", "1-3.00000003", "3-4.00000004"


@pytest.mark.parametrize("ways, found", [
    ([(0, A, "sent"), (1, None, "wanted")], (1, 0)),
    ([(0, A, "sent"), (1, B, "sent"), (1, C, "sent"), (2, None, "wanted")], (3, 1)),  # nobody at 3
    ([(0, A, "sent"), (1, B, "sent"), (1, C, "sent"), (3, D, "sent")], (4, 4)),
    ([(0, A, "sent"), (1, C, "sent"), (3, D, "sent"), (3, D, "lost")], (3, 0)),  # who knows who was behind it
    ([(0, A, "sent"), (1, A, "sent"), (1, None, "wanted")], (2, 1)),  # and back again, which is of no use
    ([(0, None, "wanted")], (0, 0)),
])
def test_misrouted_messages(ways, found):
    assert count(0, ways) == found


def test_the_cost_of_a_run(spark, tmp_path):
    log = Log(3, 30.0, deadline=5.0, world="hwsim")
    log.up(0, 1, 2)
    links = [log.link(0, 1, 1.0), log.link(1, 2, 1.0, down=20.0, nonce=2), log.link(1, 2, 21.0, down=25.0, nonce=3)]
    for number, wanted in ((1, True), (2, False)):
        event, t = f"0.1.{number}", 5.0 * number
        log.publish(0, t, event, {"kind": "a"})
        log.add(0, t, "forwarded", event=event, to=[links[0]], **{"from": None})
        log.add(1, t, "forwarded", event=event, to=[links[1]], **{"from": links[0]})
        if wanted:
            log.deliver(2, t, event, 2, t)
    sent = [{"type": "SUB", "messages": 3, "bytes": 200, "filters": 7}, {"type": "FLUSH", "messages": 20, "bytes": 400},
            {"type": "HELLO", "messages": 90, "bytes": 9000}, {"type": "EVENT", "messages": 8, "bytes": 800}]
    for host in (0, 1):
        log.add(host, 29.0, "traffic", sent=sent, received=[], dropped=[], datagrams_sent=1, datagrams_received=0)
    path = log.write(tmp_path / "run")
    summary = analyse(path)
    # two hosts' 7 filters and 20 messages without any, and the two misrouted messages of the second event
    assert summary["normalized_cost"] == pytest.approx(2 * (7 + 20 * 0.1) + 2)
    assert summary["cost_per_loss"] == pytest.approx(20 / 2)
    assert summary["misrouted_share"] == 0.5
    assert math.isnan(summary["airtime_share"])  # no medium said anything
    report = (path / "report.html").read_text()
    assert "20.00 in all, 10.00 per tree link lost" in report
    assert "normalized cost per lost link" in summary.table()
    assert "No record says what was on the air" in report
