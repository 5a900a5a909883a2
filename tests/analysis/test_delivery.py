"""A run written by hand, whose every answer is known: what is expected, what came, and why not."""
from __future__ import annotations

import pandas as pd
import pytest

from tests.analysis.rundirs import Log

ALL = [("kind", "=", ["a"])]


@pytest.fixture(scope="module")
def told(tmp_path_factory, study):
    """Five hosts in a row 0-1-2-3-4, host 5 alone, host 6 dies. 100 s, deadline 10 s, grace 2 s."""
    log = Log(7, 100.0, grace=2.0, window=[10.0, 90.0])
    log.up(*range(7))
    log.add(-1, 55.0, "host_down", host=6, how="crash")
    log.up(6, t=70.0, epoch=2)
    for i in range(4):
        log.contact(i, i + 1, 0.0)
    log.contact(5, 0, 48.0, 50.0)  # a carrier's meeting, no link
    log.add(-1, 0.0, "radio_up", **{"from": 5, "to": 4})  # one-way, and nothing comes from 5
    log.contact(4, 6, 0.0)
    links = {i: log.link(i, i + 1, 1.0, nonce=i + 1) for i in (0, 2, 3)}
    links[1] = log.link(1, 2, 1.0, down=64.0, nonce=2)
    links[4] = log.link(4, 6, 1.0, down=58.0, nonce=5)
    again = log.link(1, 2, 66.0, nonce=99)
    for host in (0, 4, 5, 6):
        log.subscribe(host, 5.0, "app", ALL, "aa")
    log.subscribe(6, 70.0, "app", ALL, "aa")
    log.subscribe(3, 33.0, "late", ALL, "aa")  # after the grace of event 2
    log.add(3, 41.0, "unsubscribed", client="late", hash="aa")  # before the deadline of event 2b

    def walk(event: str, t: float, *hops: tuple[int, str]) -> None:
        for host, link in hops:
            log.add(host, t, "forwarded", event=event, to=[link], **{"from": None})

    def event(number: int, t: float) -> str:
        log.publish(0, t, f"0.1.{number}", {"kind": "a"})
        log.deliver(0, t, f"0.1.{number}", 0, t)
        return f"0.1.{number}"

    whole = [(0, links[0]), (1, links[1]), (2, links[2]), (3, links[3]), (4, links[4])]
    first = event(1, 20.0)  # comes to 4 and 6; 5 is partitioned
    walk(first, 20.0, *whole)
    log.deliver(4, 20.25, first, 4, 20.0)
    log.deliver(6, 20.75, first, 5, 20.0)
    second = event(2, 34.0)  # full queue at 2
    walk(second, 34.0, (0, links[0]), (1, links[1]))
    log.add(2, 34.0, "forwarded", event=second, to=[links[2]], **{"from": links[1]})
    log.add(2, 34.1, "event_dropped", event=second, link=links[2], reason="overflow")
    third = event(3, 45.0)  # 5 could have had it at 48 by carrying; 1 did not know it was wanted
    walk(third, 45.0, (0, links[0]))
    log.deliver(1, 45.0, third, 1, 45.0, client="spy")  # nobody subscribed here: wrong, and a sign of arrival
    fourth = event(4, 52.0)  # 6 dies before the deadline; 4 gets it twice, late both times
    walk(fourth, 52.0, *whole[:4])
    log.deliver(4, 63.0, fourth, 4, 52.0)
    log.deliver(4, 63.5, fourth, 4, 52.0)
    fifth = event(5, 62.0)  # link 1-2 breaks at 64 with it
    walk(fifth, 62.0, *whole[:2])
    log.add(1, 64.0, "event_dropped", event=fifth, link=links[1], reason="link_lost")
    sixth = event(6, 65.0)  # published while the tree is in two
    assert sixth
    seventh = event(7, 85.0)  # sent over the last link, never seen
    walk(seventh, 85.0, (0, links[0]), (1, again), (2, links[2]), (3, links[3]))
    event(8, 95.0)  # outside the window
    log.deliver(4, 30.0, "9.9.9", 1, 30.0)  # never published
    log.add(4, 97.0, "duplicate", event=first, link=links[3])
    return study(log.write(tmp_path_factory.mktemp("run") / "run"))


@pytest.fixture(scope="module")
def outcomes(told):
    return pd.read_parquet(told.run.tables / "outcomes.parquet").set_index(["event", "node"]).sort_index()


def reason(outcomes, number: int, node: int) -> str:
    return outcomes.loc[(f"0.1.{number}", node), "reason"]


def test_who_is_expected(outcomes):
    pairs = set(outcomes.index)
    assert {(e, n) for e, n in pairs if e == "0.1.1"} == {("0.1.1", n) for n in (0, 4, 5, 6)}
    assert ("0.1.2", 3) not in pairs  # subscribed later than grace before it, and left before the deadline
    assert not [e for e, _ in pairs if e == "0.1.8"]  # outside the window
    assert outcomes["local"].to_dict() == {(e, n): n == 0 for e, n in pairs}


def test_hosts_that_were_down_are_set_apart(outcomes, told):
    down = set(outcomes.index[outcomes["node_down"]])
    # 6 is down from 55 to 70: events 3 (45-55 is up to the very end), 4, 5 and 6
    assert down == {("0.1.4", 6), ("0.1.5", 6), ("0.1.6", 6)}
    assert told.numbers["node_down"] == 3
    assert outcomes.loc[list(down), "reason"].isna().all()


def test_counts_and_latency(told):
    n = told.numbers
    assert (n["expected"], n["delivered"]) == (18, 2)  # 4 and 5 seven times each, 6 with events 1, 2, 3, 7
    assert n["latency_median"] == pytest.approx(0.5)
    assert n["hops_mean"] == 4.5
    assert n["local_expected"] == 7 and n["local_ratio"] == 1.0
    # 5 can be reached only by what is published in the 10 s before its contact ends: events 3 and 4 (not: 52 > 50)
    assert n["bound"] == pytest.approx(12 / 18)
    assert n["ratio_to_bound"] == pytest.approx(2 / 12)


def test_reasons(outcomes):
    assert reason(outcomes, 1, 5) == "partitioned"
    assert reason(outcomes, 2, 4) == reason(outcomes, 2, 6) == "overflow"
    assert reason(outcomes, 3, 4) == "stale_route"
    assert reason(outcomes, 3, 5) == "apart"
    assert outcomes.loc[("0.1.3", 5), "detail"].startswith("hosts not connected")
    assert reason(outcomes, 4, 4) == "late"
    assert reason(outcomes, 5, 4) == "link_broke"
    assert outcomes.loc[("0.1.5", 4), "detail"].startswith("a link broke while")
    assert reason(outcomes, 6, 4) == "unmerged"  # nobody has recorded that it seeks
    assert reason(outcomes, 7, 4) == "radio"
    assert outcomes.loc[("0.1.3", 5), "bound"] == 48.0


def test_events_are_counted_by_their_kind(outcomes, told):
    assert set(outcomes["kind"]) == {"a"}
    assert told.parts.kinds[["kind", "expected", "delivered"]].to_dict("list") == {
        "kind": ["a"], "expected": [18], "delivered": [2]}


def test_every_loss_has_a_reason(outcomes, told):
    lost = outcomes[~outcomes["in_time"] & ~outcomes["node_down"]]
    assert lost["reason"].notna().all()
    assert outcomes[outcomes["in_time"]]["reason"].isna().all()
    n = told.numbers
    assert sum(v for k, v in n.items() if k.startswith("lost_")) == n["expected"] - n["delivered"]


def test_safety(told):
    found = {v.name: v for v in told.violations}
    assert found["twice"].deliveries == 1 and "0.1.4" in found["twice"].examples[0]
    assert found["unpublished"].deliveries == 1 and "9.9.9" in found["unpublished"].examples[0]
    assert found["unsubscribed"].deliveries == 1 and "spy" in found["unsubscribed"].examples[0]
    assert told.numbers["duplicates"] == 1
