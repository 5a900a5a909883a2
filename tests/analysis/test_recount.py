"""Every pair of a run with churn judged again in plain Python and pandas, from the records and docs/analysis.md alone."""
from __future__ import annotations

import json
from collections import defaultdict, deque

import pandas as pd
import pytest

import topologies
from emulation import runner

GRACE, DEADLINE = 2.0, 3.0
CHURN = {
    "run": {"duration": 60, "warm_up": 8, "grace": GRACE, "deadline": DEADLINE, "capture": False, "seed": 6},
    "hosts": {"count": 14}, "mobility": {"area": [560, 560], "speed": [4, 16], "pause": [0, 2]}, "radio": {"loss": 0.3},
    "node": {"retransmission": False},
    "workload": {"kinds": 3, "subscriptions": 1, "publish_interval": 2, "subscribe": [
        {"hosts": [0, 5], "filter": 'kind = "k01"', "at": 2, "until": 30}, {"hosts": [1], "filter": 'kind prefix "k"'}]},
    "faults": [{"at": 12, "host": 3, "action": "crash"}, {"at": 24, "host": 3, "action": "start"}, {"at": 18, "host": 5, "action": "stop"},
               {"at": 18, "host": 5, "action": "start"}, {"at": 22, "host": 7, "action": "stop"}]}


@pytest.fixture(scope="module")
def told(tmp_path_factory, study):
    """kind -> its records, in the order of the files; the window; and the table `outcomes`."""
    path = runner.run(topologies.build(CHURN), tmp_path_factory.mktemp("recount") / "run")
    records = defaultdict(list)
    for file in [path / "world.jsonl", *sorted((path / "nodes").glob("*.jsonl"))]:
        for line in file.read_text().splitlines():
            record = json.loads(line)
            records[record["kind"]].append(record)
    found = study(path)
    pairs = pd.read_parquet(found.run.tables / "outcomes.parquet").set_index(["event", "node", "client"]).sort_index()
    return records, found.run.window, pairs


def spans(records, rise: str, fall: str, key, end: float) -> dict:
    """key -> [(up, down)], each rise with the fall that follows it."""
    changes = defaultdict(list)
    for kind, rises in ((rise, True), (fall, False)):
        for number, record in enumerate(records[kind]):
            changes[key(record)].append((record["t"], rises, number))
    found = {}
    for name, told in changes.items():
        found[name], since = [], None
        for t, rises, _ in sorted(told):
            if rises and since is None:
                since = t
            elif not rises and since is not None:
                found[name].append((since, t))
                since = None
        if since is not None:
            found[name].append((since, end))
    return found


def cut(one, other):
    return [(max(a, c), min(b, d)) for a, b in one for c, d in other if max(a, c) <= min(b, d)]


class Recount:
    """The words of docs/analysis.md, one by one."""

    def __init__(self, records) -> None:
        self.records, end = records, CHURN["run"]["duration"]
        self.alive = spans(records, "host_up", "host_down", lambda r: r["host"], end)
        self.radio = {pair: cut(cut(own, self.alive[pair[0]]), self.alive[pair[1]]) for pair, own in
                      spans(records, "radio_up", "radio_down", lambda r: (r["from"], r["to"]), end).items()}
        ends = spans(records, "link_gained", "link_lost", lambda r: (r["link"], r["node"], r["neighbor"]), end)
        self.tree = {link: (i, j, cut(self.lived(i, own), self.lived(j, ends.get((link, j, i), []))))
                     for (link, i, j), own in ends.items() if i < j}
        self.ends = {(link, i, j): self.lived(i, own) for (link, i, j), own in ends.items()}
        self.gone = {(link, i): own[0][1] for (link, i, _), own in self.ends.items()}  # when an end held it no more
        self.closed = {(record["node"], record["link"]): record["t"] for record in reversed(records["link_lost"])}
        self.of = defaultdict(lambda: defaultdict(list))
        for kind in ("published", "forwarded", "delivered", "duplicate", "event_dropped", "undelivered"):
            for record in records[kind]:
                self.of[record["event"]][kind].append(record)

    def lived(self, host, links):
        """Links as far as the life went in which they began."""
        return [(up, min(down, died)) for up, down in links for born, died in self.alive[host] if born <= up <= died]

    def up(self, host, start, end) -> bool:
        return any(born <= start and died >= end for born, died in self.alive[host])

    def arrivals(self, source, start, end) -> dict:
        """Earliest arrival at each host, by relaxation until nothing changes."""
        at = {source: start}
        changed = True
        while changed:
            changed = False
            for (tail, head), own in self.radio.items():
                for up, down in own:
                    t = max(at.get(tail, end * 2), up)
                    if t <= min(down, end) and t < at.get(head, end * 2):
                        at[head], changed = t, True
        return at

    def path(self, source, target, t):
        beside = defaultdict(list)
        for link, (i, j, own) in self.tree.items():
            if any(up <= t < down for up, down in own):
                beside[i].append((j, link))
                beside[j].append((i, link))
        before, queue = {source: None}, deque([source])
        while queue:
            near = queue.popleft()
            for far, link in beside[near]:
                if far not in before:
                    before[far] = (near, link)
                    queue.append(far)
        if target not in before:
            return None
        hops = []
        while before[target]:
            hops.insert(0, (before[target][0], target, before[target][1]))
            target = before[target][0]
        return hops

    def way(self, source, target, t):
        """As `path`, over links whose near ends alone held them where those of both do not lead on."""
        ways, queue = {source: []}, deque([source])
        while queue:
            both = list(queue)
            for near in both:
                for far in self.alive:
                    if far not in ways and (more := self.path(near, far, t)):
                        ways[far] = ways[near] + more
                        both.append(far)
            queue.clear()
            for near in both:
                for (link, i, far), own in self.ends.items():
                    if i == near and far not in ways and any(up <= t < down for up, down in own):
                        ways[far] = [*ways[near], (near, far, link)]
                        queue.append(far)
        return ways.get(target)

    def pieces(self, source, target, t) -> str:
        """The tree that the event met, by its fragments at that moment."""
        hosts, half = set(), [(near, far) for (link, near, far), own in self.ends.items() if any(up <= t < down for up, down in own)
                              and self.gone.get((link, far), t + 1) <= t]
        for host in (source, target):
            hosts |= {other for other in self.alive if self.path(host, other, t) is not None}
        seek = {host for host in hosts if [one["seeking"] for one in self.records["tree_state"] if one["node"] == host and one["t"] <= t][-1:] == [True]}
        return "seeking" if seek or any({near, far} & hosts for near, far in half) else "unmerged"

    def reason(self, event: str, source: int, published: float, node: int, reached: float | None, delivered: float | None) -> str:
        of, deadline = self.of[event], published + DEADLINE
        if reached is None:
            return "partitioned"
        if delivered is not None:
            return "late"
        seen = {}
        for record in (record for records in of.values() for record in records):
            seen[record["node"]] = min(record["t"], seen.get(record["node"], record["t"]))
        if not self.up(source, published, deadline) and seen.keys() == {source} and not of["forwarded"]:
            return "node_down"
        if reached != published:
            return "apart"
        path = [] if node == source else self.way(source, node, published)
        if path is None:
            return self.pieces(source, node, published)
        place = next((at for at, hop in enumerate(path) if hop[1] not in seen), None)
        if place is None:
            return "unknown"
        near, far, link = path[place]
        sent = min((r["t"] for r in of["forwarded"] if r["node"] == near and link in r["to"]), default=None)
        dropped = sorted((r["t"], r["reason"]) for r in of["event_dropped"] if (r["node"], r["link"]) == (near, link))
        if dropped:
            t, why = dropped[0]
            if why == "link_lost":
                return "link_broke" if self.up(far, t if sent is None else sent, t) else "node_down"
            return {"overflow": "overflow", "hops": "stale_route"}[why]
        if sent is None:
            return "link_broke" if self.closed.get((near, link), deadline) <= seen[near] else "stale_route"
        if not self.up(far, sent, sent):
            return "node_down"
        if not any(up <= sent <= down for up, down in self.radio.get((near, far), ())):
            return "link_broke"
        assert not self.records["radio_overflow"]
        if not self.up(near, sent, sent + 1):
            return "node_down"
        old = all(self.tree[hop[2]][2] and self.tree[hop[2]][2][0][0] <= sent - 2.0 for hop in path[place:])
        return "radio" if far == node or old else "unknown"  # events are sent once here


def asked(records, end: float) -> dict:
    """(node, client, hash) -> when the client meant to get that: until it took it back while its host lived."""
    stops = {(r["host"], r["t"]) for r in records["host_down"]} | {(r["node"], r["t"]) for r in records["node_stopped"]}
    willed = [r for r in records["unsubscribed"] if (r["node"], r["t"]) not in stops]
    return spans({"up": records["subscribed"], "down": willed}, "up", "down", lambda r: (r["node"], r["client"], r["hash"]), end)


def matching(records, kind: str) -> set:
    """Hashes of the filters that an event of this kind satisfies; all of this run are about `kind` alone."""
    found = set()
    for record in records["subscribed"]:
        [one] = record["constraints"]
        assert one["name"] == "kind"
        text = one["values"][0]["s"]
        if {"=": kind == text, "prefix": kind.startswith(text)}[one["op"]]:
            found.add(record["hash"])
    return found


def test_every_pair_is_what_the_page_says(told):
    records, window, pairs = told
    count, end = Recount(records), CHURN["run"]["duration"]
    wants = asked(records, end)
    seen, reasons = set(), defaultdict(int)
    for record in records["published"]:
        event, source, t = record["event"], record["node"], record["t"]
        if not window[0] <= t <= window[1]:
            continue
        kind = next(a["value"]["s"] for a in record["attributes"] if a["name"] == "kind")
        hashes, until = matching(records, kind), t + DEADLINE
        arrivals = count.arrivals(source, t, until)
        for node, client in {(node, client) for node, client, hash_ in wants if hash_ in hashes}:
            own = sorted(span for hash_ in hashes for span in wants.get((node, client, hash_), ()))
            reached = t - GRACE
            for up, down in own:
                if up <= reached:
                    reached = max(reached, down)
            if reached < until or own[0][0] > t - GRACE:
                continue
            row = pairs.loc[event, node, client]
            seen.add((event, node, client))
            alive = count.up(node, t - GRACE, until)
            got = sorted(r["t"] for r in count.of[event]["delivered"] if (r["node"], r["client"]) == (node, client))
            bound = t if node == source else arrivals.get(node)
            in_time = bool(got) and got[0] <= until
            assert (row["source"], row["published"], row["kind"]) == (source, t, kind)
            assert (row["local"], row["node_down"], row["in_time"], row["times"]) == (node == source, not alive, in_time, len(got))
            assert row["source_down"] == (not count.up(source, t, until)) and row["connected"] == (bound == t)
            for column, wanted in (("delivered", got[0] if got else None), ("bound", bound), ("latency", got[0] - t if in_time else None)):
                assert pd.isna(row[column]) if wanted is None else row[column] == pytest.approx(wanted, abs=1e-9), column
            if in_time or not alive:
                assert pd.isna(row["reason"])
            else:
                wanted = count.reason(event, source, t, node, bound, got[0] if got else None)
                assert row["reason"] == wanted, (event, node, client, row["detail"])
                reasons[wanted] += 1
    assert seen == set(pairs.index)
    assert len(seen) > 500 and len(reasons) >= 4 and pairs["node_down"].any(), dict(reasons)
