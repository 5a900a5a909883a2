"""Clients that roam, in the analysis: what they are owed, why they lost it, what their moves cost."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import mobility
from analysis import roaming
from analysis.report import write
from analysis.summary import Summary
from tests.analysis.rundirs import Log

DEVICE = 3  # hosts 0-1-2 are brokers in a row


@pytest.fixture(scope="module")
def found(tmp_path_factory, study):
    """A client that is at 0 from 5 to 20 s and at 2 from 22 to 40 s, then nowhere, and walks at 2 m/s; it wants all
    that 1 publishes, each case once."""
    log = Log(4, 60.0)
    log.scenario["workload"] = {"roam": [DEVICE]}
    still = [mobility.Trajectory(np.zeros(1), np.array([[100.0 * host, 0.0]])) for host in range(3)]
    way = mobility.Trajectory(np.array([0.0, 60.0]), np.array([[0.0, 0.0], [120.0, 0.0]]))
    log.movement = mobility.Movement([f"h{i}" for i in range(4)], [*still, way], 60.0)
    log.up(*range(4))
    links = {}
    for i, j in ((0, 1), (1, 2)):
        log.contact(i, j, 0.0)
        links[i, j] = log.link(i, j, 1.0)
    for broker in (0, 1, 2):
        log.contact(broker, DEVICE, 0.0)
    log.subscribe(DEVICE, 2.0, "app", [], "00")
    log.subscribe(2, 2.0, "app", [("kind", "=", ["mine"])], "01")
    moved(log, 5.0, 0, 1, [], None)
    log.add(DEVICE, 20.0, "moved_out", broker=0, turn=1, reason="silent", announced=False)
    moved(log, 22.0, 2, 2, [0], 2.0, waited=True)
    log.add(2, 22.5, "handoff", device=DEVICE, holder=0, outcome="fetched", events=3, bytes=60, duplicates=1, late=True,
            asked=2, seconds=0.5)
    log.add(DEVICE, 23.0, "duplicate", event="1.1.1", link="2-3.00000001")
    log.add(DEVICE, 40.0, "moved_out", broker=2, turn=2, reason="channel", announced=False)
    for number, (t, came, sent) in enumerate(((8.0, 8.1, 0), (9.0, None, 0), (12.0, None, 0), (15.0, None, None),
                                              (23.5, 23.6, 2), (24.0, None, 2), (41.0, None, None)), 1):
        event = f"1.1.{number}"
        log.publish(1, t, event, {"n": number})
        if sent is not None:
            log.add(1, t, "forwarded", event=event, to=[links[min(1, sent), max(1, sent)]], **{"from": None})
        if came is not None:
            log.deliver(DEVICE, came, event, 1, t)
    log.add(0, 5.0, "session_opened", device=DEVICE, epoch=1, turn=1, resumed=False, holders=[])
    log.publish(1, 16.0, "1.1.8", {"n": 8})  # its broker had it, and the next one fetched it there
    log.add(1, 16.0, "forwarded", event="1.1.8", to=[links[0, 1]], **{"from": None})
    log.add(0, 22.4, "session_closed", device=DEVICE, turn=1, reason="stopped", events=1)
    log.deliver(DEVICE, 22.6, "1.1.8", 1, 16.0)
    log.publish(1, 23.0, "1.1.9", {"n": 9})  # from its broker; what went to 0 besides, after STOP, was for nobody
    log.add(1, 23.0, "forwarded", event="1.1.9", to=[links[0, 1], links[1, 2]], **{"from": None})
    log.deliver(DEVICE, 23.1, "1.1.9", 1, 23.0)
    log.add(0, 18.0, "buffer_dropped", device=DEVICE, event="1.1.2", reason="bytes")
    log.publish(DEVICE, 10.0, "3.1.1", {"kind": "mine"})
    log.add(0, 10.1, "forwarded", event="3.1.1", to=[links[0, 1]], **{"from": None})
    log.add(1, 10.1, "forwarded", event="3.1.1", to=[links[1, 2]], **{"from": links[0, 1]})
    log.deliver(2, 10.2, "3.1.1", 2, 10.0)
    log.publish(DEVICE, 21.0, "3.1.2", {"kind": "mine"})
    log.publish(DEVICE, 12.0, "3.1.3", {"kind": "mine"})
    log.add(DEVICE, 19.0, "publication_dropped", event="3.1.3", reason="bytes")
    log.add(0, 50.0, "traffic", sent=[{"type": "STOP", "messages": 4, "bytes": 200}, {"type": "HELLO", "messages": 9, "bytes": 9},
                                      {"type": "WANT", "messages": 2, "bytes": 60, "filters": 2}],
            received=[], dropped=[], datagrams_sent=15, datagrams_received=0)
    return study(log.write(tmp_path_factory.mktemp("roaming") / "run"))


def moved(log: Log, t: float, broker: int, turn: int, holders: list[int], away: float | None, waited: bool = False) -> None:
    log.add(DEVICE, t, "moved_in", broker=broker, turn=turn, holders=holders, away=away)
    log.add(DEVICE, t + 0.25, "let_in", broker=broker, turn=turn, seconds=0.25, waited=waited)


@pytest.mark.parametrize("event, node, reason, detail", [
    ("1.1.2", DEVICE, "handoff", "buffer for the client was full"),
    ("1.1.3", DEVICE, "handoff", "the client moved before the deadline"),
    ("1.1.4", DEVICE, "handoff", "the client moved before the deadline"),
    ("1.1.6", DEVICE, "stale_route", "had no route onward"),  # at its broker for all of the time
    ("1.1.7", DEVICE, "handoff", "the client was attached to no broker"),
    ("3.1.2", 2, "handoff", "the publisher was attached to no broker"),
    ("3.1.3", 2, "handoff", "the publisher gave it up"),
])
def test_why_it_was_lost(found, event, node, reason, detail):
    pairs = pd.read_parquet(found.run.tables / "outcomes.parquet").set_index(["event", "node"])
    assert pairs.loc[event, node]["reason"] == reason and detail in pairs.loc[event, node]["detail"]


def test_what_roaming_clients_are_owed_counts(found):
    assert (found.numbers["expected"], found.numbers["delivered"]) == (12, 5)
    assert found.numbers["lost_handoff"] == 6


def test_each_move_has_a_row(found):
    rows = found.moves.to_dict("records")
    assert [(row["broker"], row["at"], row["moved"]) for row in rows] == [(0, 5.0, False), (2, 22.0, True)]
    last = rows[1]
    assert last["speed"] == pytest.approx(2.0, abs=0.01) and last["first"] == pytest.approx(0.6)
    assert (last["away"], last["let_in"], last["waited"], last["fetched"], last["duplicates"]) == (2.0, 0.25, True, 3, 2)
    assert pd.read_parquet(found.run.tables / "moves.parquet").shape == found.moves.shape


def test_the_headline_numbers(found):
    numbers = found.numbers
    assert (numbers["roam_attachments"], numbers["roam_moves"], numbers["roam_waited"]) == (2, 1, 1)
    assert numbers["roam_control"] == 3.0 and numbers["roam_dropped"] == 2
    table = Summary("title", [numbers]).table()
    assert "Roaming" in table and "first event, median" in table
    assert roaming.by_speed(found.moves)[0]["speed"] == "1.5 to 3"


def test_the_tree_is_that_of_the_brokers(found):
    assert found.numbers["tree_share"] > 0.97 and found.shape["hosts"].max() == 3


def test_what_came_to_a_client_was_not_misrouted(found):
    """Of 10 event messages those led somewhere that went to its broker with events that came, both of its own, the one
    with the event that a buffer dropped, and the one to the former broker while that held its subscriptions."""
    assert found.misrouted == {"sent": 10, "misrouted": 3}


def test_the_report_has_a_section_of_moves_by_speed(found):
    page = write(found, Summary("title", [found.numbers])).read_text()
    assert "Clients that roam" in page and "<td>1.5 to 3</td><td>1</td>" in page and "250 ms" in page


def test_nothing_is_said_where_no_client_roams(tmp_path, study):
    log = Log(2, 60.0)
    log.up(0, 1)
    quiet = study(log.write(tmp_path / "run"))
    assert quiet.moves is None and all(math.isnan(value) for key, value in quiet.numbers.items() if key.startswith("roam_"))
    assert "Roaming" not in Summary("title", [quiet.numbers]).table()
    assert "Clients that roam" not in write(quiet, Summary("title", [quiet.numbers])).read_text()
