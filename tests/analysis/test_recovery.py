"""Lost events that came back, by hand: counted in time or late, from whom, after how many rounds."""
from __future__ import annotations

import math

import pandas as pd
import pytest

from analysis import metrics, recovery
from tests.analysis.rundirs import Log


def frame(rows):
    return pd.DataFrame(rows, columns=["node", "source", "giver", "rounds", "seconds"])


SENT = pd.DataFrame({"type": ["TAGGED_EVENT", "GOSSIP_ANSWER", "COUNTERS"], "family": ["events", "recovery", "recovery"],
                     "messages": [5, 2, 3], "bytes": [600, 150, 250]})


def test_numbers():
    found = frame([(1, 0, 0, 1, 0.5), (2, 0, 1, 3, 1.5), (3, 0, 1, 2, 2.5)])
    told = metrics.numbers(recovery.facts(found, SENT))
    assert told == pytest.approx({"recovered_events": 3, "recovered_from_source": 1 / 3,
                                  "recovered_rounds": 2.0, "recovered_median": 1.5, "recovered_p95": 2.4,
                                  "recovery_share": 0.4})


def test_a_run_without_recovery_has_no_word_of_it():
    assert recovery.facts(frame([]), SENT[:1]) is None
    told = metrics.numbers(recovery.facts(frame([]), SENT))
    assert told["recovered_events"] == 0 and told["recovery_share"] == 0.4 and math.isnan(told["recovered_rounds"])


def test_givers():
    rows = recovery.by_giver(frame([(1, 0, 0, 1, 0.5), (2, 0, 4, 3, 1.0), (3, 0, 4, 2, 2.0), (3, 0, 4, 1, 9.0)]))
    assert rows == [{"giver": 4, "events": 3, "takers": 2, "rounds": 2.0, "seconds": 2.0},
                    {"giver": 0, "events": 1, "takers": 1, "rounds": 1.0, "seconds": 0.5}]


def test_recovered_deliveries_count_as_others_do_and_a_link_that_sends_once_may_have_lost_it(spark, tmp_path):
    from analysis import analyse
    log = Log(4, 40.0, deadline=5.0)
    log.scenario.setdefault("node", {})["retransmission"] = False
    log.up(0, 1, 2, 3)
    links = [log.link(0, 1, 1.0), log.link(1, 2, 1.0, nonce=2), log.link(2, 3, 1.0, nonce=3)]
    for i in range(3):
        log.contact(i, i + 1, 0.0)
    log.subscribe(3, 1.0, "app", [("kind", "=", ["a"])], "aa")
    for number, came, recovered in ((1, 0.1, False), (2, 2.0, True), (3, 8.0, True), (4, None, False)):
        t, event = 5.0 + 2 * number, f"0.1.{number}"
        log.publish(0, t, event, {"kind": "a"})
        for host in range(3 if number == 1 else 2):
            log.add(host, t, "forwarded", event=event, to=[links[host]], **{"from": links[host - 1] if host else None})
        if came is not None:
            log.add(3, t + came, "delivered", client="app", event=event, hops=3, published=t, recovered=recovered)
        if recovered:
            log.add(3, t + came, "event_recovered", event=event, giver=1, rounds=2, seconds=1.5)
    log.add(1, 39.0, "traffic", sent=[{"type": "GOSSIP_ANSWER", "messages": 2, "bytes": 100},
                                      {"type": "TAGGED_EVENT", "messages": 8, "bytes": 900}],
            received=[], dropped=[], datagrams_sent=1, datagrams_received=0)
    path = log.write(tmp_path / "run")
    summary = analyse(path)
    assert (summary["expected"], summary["delivered"], summary["lost_late"]) == (4, 2, 1)
    assert summary["recovered_events"] == 2 and summary["recovered_in_time"] == 1
    assert summary["recovery_share"] == pytest.approx(0.1)
    pairs = pd.read_parquet(path / "tables" / "outcomes.parquet").set_index("event")
    assert pairs.loc["0.1.4", "reason"] == "radio" and "once" in pairs.loc["0.1.4", "detail"]
    assert list(pairs.loc[["0.1.2", "0.1.3"], "recovered"]) == [True, True]
    assert "Lost events that came back" in (path / "report.html").read_text()
    assert "recovered or replayed" in summary.table()
