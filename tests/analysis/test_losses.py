"""Where an event ended in the tree, and which reason that is."""
from __future__ import annotations

import ast
from pathlib import Path

import pandas as pd
import pytest

from analysis.losses import DROPS
from tests.analysis.rundirs import Log

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, study):
    """Hosts 0-1-2-3 in a row and 4 beside 1; all links stay. Clients at 3 and 4."""
    log = Log(5, 60.0)
    log.up(*range(5))
    links = {}
    for i, j in ((0, 1), (1, 2), (2, 3), (1, 4)):
        log.contact(i, j, 0.0)
        links[i, j] = log.link(i, j, 1.0)
    for host in (3, 4):
        log.subscribe(host, 2.0, "app", [], "00")

    def event(number: int, *to: tuple[int, int], came: tuple[int, ...] = ()) -> str:
        name, t = f"0.1.{number}", 10.0 + number
        log.publish(0, t, name, {})
        log.add(0, t, "forwarded", event=name, to=[links[0, 1]], **{"from": None})
        log.add(1, t, "forwarded", event=name, to=[links[pair] for pair in to], **{"from": links[0, 1]})
        for host in came:
            log.deliver(host, t + 0.1, name, 2, t)
        return name

    event(1, (1, 4), came=(4,))  # 1 does not know that 3 wants it
    event(2)  # 1 knows of nobody, and says so
    third = event(3, (1, 2), (1, 4), came=(4,))
    log.add(1, 13.1, "event_dropped", event=third, link=links[1, 2], reason="link_lost")
    log.add(1, 13.2, "event_dropped", event=third, link=links[1, 2], reason="overflow")  # the later one is no cause
    event(4, (1, 2), (1, 4), came=(4,))  # came to 2, which says nothing of it
    fifth = "0.1.5"  # too many hops at 1, which forwards it to nobody
    log.publish(0, 15.0, fifth, {})
    log.add(0, 15.0, "forwarded", event=fifth, to=[links[0, 1]], **{"from": None})
    for pair in ((1, 2), (1, 4)):
        log.add(1, 15.0, "event_dropped", event=fifth, link=links[pair], reason="hops")
    sixth = event(6, (1, 2), (1, 4), came=(4,))  # came to 3, whose client did not read
    log.add(2, 16.1, "forwarded", event=sixth, to=[links[2, 3]], **{"from": links[1, 2]})
    log.add(3, 16.1, "undelivered", client="app", event=sixth)
    found = study(log.write(tmp_path_factory.mktemp("losses") / "run"))
    return pd.read_parquet(found.run.tables / "outcomes.parquet").set_index(["event", "node"]).sort_index()


@pytest.mark.parametrize("number, node, reason, detail, hop", [
    (1, 3, "stale_route", "did not know that it was wanted", (1, 2)),
    (2, 3, "stale_route", "did not know that it was wanted", (1, 2)),
    (2, 4, "stale_route", "did not know that it was wanted", (1, 4)),
    (3, 3, "link_broke", "a link broke while it carried the event", (1, 2)),
    (4, 3, "stale_route", "had no route onward", (1, 2)),
    (5, 3, "stale_route", "limit of hops", (1, 2)),
    (5, 4, "stale_route", "limit of hops", (1, 4)),
])
def test_where_an_event_ended(outcomes, number, node, reason, detail, hop):
    row = outcomes.loc[(f"0.1.{number}", node)]
    assert row["reason"] == reason and detail in row["detail"] and (row["near"], row["far"]) == hop


def test_an_event_that_a_client_did_not_read_in_time_ended_at_no_hop(outcomes):
    row = outcomes.loc[("0.1.6", 3)]
    assert row["reason"] == "overflow" and "read too slowly" in row["detail"] and pd.isna(row["near"])


def test_what_was_delivered_has_no_reason(outcomes):
    assert outcomes["in_time"].sum() == 4 and outcomes[outcomes["in_time"]]["reason"].isna().all()


def test_every_word_of_the_node_for_a_drop_has_its_reason():
    calls = [call for path in (ROOT / "node").rglob("*.py") for call in ast.walk(ast.parse(path.read_text()))
             if isinstance(call, ast.Call) and call.args and ast.unparse(call.args[0]) == "'event_dropped'"]
    said = {ast.literal_eval(word.value) for call in calls for word in call.keywords if word.arg == "reason"}
    assert said == set(DROPS)
