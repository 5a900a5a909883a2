"""What the page has of losses and events: the rows of the tables, ways through the tree, hops by the records, and its limits."""
from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis import journeys
from tests.analysis.rundirs import Log, network

HOP = ("depart", "near", "far", "arrive")


@pytest.fixture(scope="module")
def whole(study, tmp_path_factory):
    log = network(8, 80.0, 4, radius=200.0, side=450.0, kinds=4, loss=0.15, crash=True, deadline=5.0)
    return study(log.write(tmp_path_factory.mktemp("journeys") / "run"))


@pytest.fixture(scope="module")
def outcomes(whole):
    found = pd.read_parquet(whole.run.tables / "outcomes.parquet")
    return found[~found["local"] & ~found["node_down"] & found["reason"].notna()]


def hops(event: list) -> list[tuple[int, ...]]:
    return list(zip(*[iter(event[3])] * 4, strict=True))


def test_losses_are_the_rows_of_the_table(whole, outcomes):
    data = journeys.journeys(whole)
    assert len(outcomes) > 20 and data["lost"] == len(outcomes) == len(data["losses"]) and journeys.left_out(data) == []
    assert {name.replace(" ", "_"): count for name, _, count in data["reasons"]} == outcomes["reason"].value_counts().to_dict()
    assert all(says for _, says, _ in data["reasons"])
    told = {(data["events"][event][2], node, client, data["reasons"][reason][0].replace(" ", "_"), data["details"][detail], near, far)
            for _, event, node, client, reason, detail, near, far, *_ in data["losses"]}
    rows = outcomes.fillna({"near": -1, "far": -1})
    assert told == set(rows[["event", "node", "client", "reason", "detail", "near", "far"]].itertuples(index=False, name=None))
    assert [loss[0] for loss in data["losses"]] == sorted(round(t * 1e4) for t in outcomes["published"])


def test_the_way_leads_from_publisher_to_subscriber_over_the_hop_where_it_ended(whole):
    data, ended = journeys.journeys(whole), 0
    for t, event, node, _, _, _, near, far, path, _ in data["losses"]:
        if path is None:
            assert near == -1
            continue
        assert path[0] == data["events"][event][1] and path[-1] == node
        links = whole.tree_links[(whole.tree_links["up"] <= t * 1e-4 + 1e-6) & (whole.tree_links["down"] > t * 1e-4 - 1e-6)]
        standing = {frozenset(pair) for pair in zip(links["i"], links["j"], strict=True)}
        assert all(frozenset(pair) in standing for pair in zip(path, path[1:], strict=False))
        if near != -1:
            ended += 1
            assert (near, far) in zip(path, path[1:], strict=False)
            # as far as the hop, the records show that it travelled
            taken = {(hop[1], hop[2]) for hop in hops(data["events"][event]) if hop[3] >= 0}
            assert all(pair in taken for pair in zip(path[:path.index(near) + 1], path[1:path.index(near) + 1], strict=False))
            assert (near, far) not in taken
    assert ended > 5


def test_hops_and_deliveries_are_those_of_the_records(whole):
    data = journeys.journeys(whole)
    sent = pd.read_parquet(whole.run.tables / "forwarded.parquet")
    came = pd.read_parquet(whole.run.tables / "delivered.parquet")
    assert len(data["events"]) == data["published"] == len(pd.read_parquet(whole.run.tables / "published.parquet"))
    assert sum(len(hops(event)) for event in data["events"]) == sent["to"].map(len).sum()
    found = sorted((event[2], event[4][k + 1], event[0] + event[4][k]) for event in data["events"] for k in range(0, len(event[4]), 2))
    assert [one[:2] for one in found] == sorted(zip(came["event"], came["node"], strict=True))
    assert np.allclose(sorted(t for *_, t in found), np.sort(came["t"]) * 1e4, atol=1.01)
    for event in data["events"]:
        assert all(arrive == -1 or arrive >= depart for depart, _, _, arrive in hops(event))


def test_a_hop_arrives_when_the_far_host_first_tells_of_it(study, tmp_path):
    log = Log(3, 60.0)
    log.up(0, 1, 2)
    first, second = log.link(0, 1, 1.0), log.link(1, 2, 1.0, nonce=2)
    log.publish(0, 10.0, "0.1.1", {"kind": "a"})
    log.add(0, 10.0, "forwarded", event="0.1.1", to=[first], **{"from": None})
    log.add(1, 10.004, "forwarded", event="0.1.1", to=[second, "1-9.0000000a"], **{"from": first})
    log.deliver(2, 10.0105, "0.1.1", 2, 10.0)
    log.publish(0, 20.0, "0.1.2", {"kind": "a"})
    log.add(0, 20.0, "forwarded", event="0.1.2", to=[first], **{"from": None})
    data = journeys.journeys(study(log.write(tmp_path / "run")))
    assert [event[:3] for event in data["events"]] == [[100_000, 0, "0.1.1"], [200_000, 0, "0.1.2"]]
    assert hops(data["events"][0]) == [(0, 0, 1, 40), (40, 1, 2, 105)]  # nothing tells where the other link leads
    assert data["events"][0][4] == [105, 2] and hops(data["events"][1]) == [(0, 0, 1, -1)]


def test_the_page_holds_so_many_and_says_how_many_there_are(whole, outcomes, monkeypatch):
    monkeypatch.setattr(journeys, "MAX_LOSSES", 12)
    data = journeys.journeys(whole)
    shown = [loss[0] * 1e-4 for loss in data["losses"]]
    assert len(shown) == 12 and journeys.left_out(data)[0].startswith(f"the time line marks 12 of {len(outcomes)} losses")
    quarters = np.quantile(outcomes["published"], [0, 0.25, 0.5, 0.75, 1])
    assert all(np.histogram(shown, quarters)[0] >= 1)  # spread over the run
    monkeypatch.setattr(journeys, "MAX_EVENTS", 30)
    monkeypatch.setattr(journeys, "MAX_HOPS", 60)
    data = journeys.journeys(whole)
    assert sum(len(event[3]) // 4 + len(event[4]) // 2 for event in data["events"]) <= 60 and 0 < len(data["events"]) <= 30
    assert journeys.left_out(data)[-1].startswith(f"the map plays {len(data['events'])} of {data['published']} events")
    assert data["lost"] == len(outcomes)
