"""A random network's run, counted again in plain Python from its log files alone."""
from __future__ import annotations

import json
from collections import defaultdict

import pytest

from analysis import analyse
from tests.analysis.rundirs import network
from tests.analysis.test_bound import earliest


@pytest.fixture(scope="module", params=[3])
def seen(request, tmp_path_factory, spark):
    log = network(8, 80.0, request.param, radius=170.0, interval=4.0, kinds=4, loss=0.05, side=420.0, crash=True,
                  grace=3.0, deadline=8.0, window=[5.0, 72.0])
    path = log.write(tmp_path_factory.mktemp("network") / "run")
    records = defaultdict(list)
    for file in [path / "world.jsonl", *sorted((path / "nodes").glob("*.jsonl"))]:
        for line in file.read_text().splitlines():
            record = json.loads(line)
            records[record["kind"]].append(record)
    return path, records, analyse(path)


def spans(changes, end):
    """[(up, down)] from [(t, rises)]."""
    found, since = [], None
    for t, rises in sorted(changes):
        if rises and since is None:
            since = t
        elif not rises and since is not None:
            found.append((since, t))
            since = None
    return found + ([(since, end)] if since is not None else [])


def lives(records, end):
    changes = defaultdict(list)
    for kind, rises in (("host_up", True), ("host_down", False)):
        for r in records[kind]:
            changes[r["host"]].append((r["t"], rises))
    return {host: spans(changed, end) for host, changed in changes.items()}


def test_delivery_and_bound_are_what_plain_python_counts(seen):
    path, records, summary = seen
    end, grace, deadline = 80.0, 3.0, 8.0
    alive = lives(records, end)
    wanted = defaultdict(set)  # node -> kinds; the model's clients never leave
    for r in records["subscribed"]:
        wanted[r["node"]].add(r["constraints"][0]["values"][0]["s"])
    directed = defaultdict(list)
    for kind, rises in (("radio_up", True), ("radio_down", False)):
        for r in records[kind]:
            directed[r["from"], r["to"]].append((r["t"], rises))
    contacts = [(i, j, max(up, a, c), min(down, b, d)) for (i, j), changed in directed.items()
                for up, down in spans(changed, end) for a, b in alive[i] for c, d in alive[j]
                if max(up, a, c) <= min(down, b, d)]
    got = {(r["event"], r["node"]): r["t"] for r in records["delivered"]}
    counts = dict.fromkeys(("expected", "delivered", "reachable", "node_down", "local"), 0)
    for event in records["published"]:
        p, source = event["t"], event["node"]
        if not 5.0 <= p <= 72.0:
            continue
        kind = next(a["value"]["s"] for a in event["attributes"] if a["name"] == "kind")
        arrival = earliest(contacts, 8, source, p, p + deadline)
        for node in [n for n, kinds in wanted.items() if kind in kinds]:
            up = any(a <= p - grace and p + deadline <= b for a, b in alive[node])
            if p - grace < 0:
                continue  # nobody was subscribed so early
            if not up:
                counts["node_down"] += 1
            elif node == source:
                counts["local"] += 1
            else:
                counts["expected"] += 1
                counts["delivered"] += got.get((event["event"], node), 1e9) <= p + deadline
                counts["reachable"] += arrival[node] < float("inf")
    assert counts["node_down"] > 0 and 0 < counts["delivered"] < counts["reachable"] < counts["expected"]
    assert (summary["expected"], summary["delivered"]) == (counts["expected"], counts["delivered"])
    assert summary["bound"] == pytest.approx(counts["reachable"] / counts["expected"])
    assert (summary["node_down"], summary["local_expected"]) == (counts["node_down"], counts["local"])


def test_the_model_is_safe_and_its_losses_have_reasons(seen):
    _, _, summary = seen
    assert summary.correct
    lost = {k: v for k, v in summary.numbers[0].items() if k.startswith("lost_") and v}
    assert sum(lost.values()) == summary["expected"] - summary["delivered"]
    assert lost["lost_overflow"] > 0 and lost["lost_partitioned"] > 0


def test_overhead_is_the_sum_of_the_traffic_records(seen):
    _, records, summary = seen
    sent = sum(s["bytes"] for r in records["traffic"] for s in r["sent"])
    remote = sum(r["node"] != int(r["event"].split(".")[0]) for r in records["delivered"])
    assert summary["bytes"] == sent and summary["deliveries"] == remote
    assert summary["bytes_per_delivery"] == pytest.approx(sent / remote)
