"""The headline numbers of a run straight from its records, without a run directory and without Spark.

A sweep of many runs needs a few numbers of each and nothing to look at. The metrics are those of the analysis
(metrics.py), and so are most of the functions (intervals, bound, misrouted, overhead); what is a join there is a loop here.
tests/analysis/test_tally.py holds that the numbers are equal to those of `study` of the same run. Why events were lost and
what moves of clients cost it does not tell. For worlds that record the radio's truth: `sim`.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from analysis import metrics, misrouted, overhead, roaming
from analysis.bound import ContactGraph
from analysis.breakdown import PERCENTS, RECORDED
from analysis.constraints import matches
from analysis.facts import Breaches, Cost, Delivered, Repairs, Sent
from analysis.intervals import Intervals, put_together
from analysis.routes import SLICE

if TYPE_CHECKING:
    from topologies.scenario import Scenario

# kind -> (family, field of a, field of b, field of the name, field of the hash, whether it rises); "": the record's node
CHANGES = {
    "host_up": ("life", "host", None, None, None, True), "host_down": ("life", "host", None, None, None, False),
    "node_started": ("life", "", None, None, None, True), "node_stopped": ("life", "", None, None, None, False),
    "radio_up": ("radio", "from", "to", None, None, True), "radio_down": ("radio", "from", "to", None, None, False),
    "link_gained": ("tree", "", "neighbor", "link", None, True), "link_lost": ("tree", "", "neighbor", "link", None, False),
    "subscribed": ("want", "", None, "client", "hash", True), "unsubscribed": ("want", "", None, "client", "hash", False),
}
KEPT = {*CHANGES, "published", "delivered", "duplicate", "forwarded", "event_dropped", "repair_ended", "traffic",
        "radio_traffic", "moved_in", "moved_out", "session_opened", "session_closed", "buffer_dropped"}
Record = tuple[float, int, dict[str, Any]]  # t in s, node, fields
Span = tuple[float, float]  # s


class Pair(NamedTuple):
    """An event that a client should have had, its host up throughout and not the publisher's."""

    event: str
    source: int
    published: float
    node: int
    client: str


class Published(NamedTuple):
    at: float  # s
    source: int
    filters: list[str]  # hashes of those that it matches


class Tally:
    """Give it every record of a run as it is made, then ask for `numbers`."""

    def __init__(self, scenario: Scenario) -> None:
        run = scenario.run
        self.hosts = len(scenario.names)
        self.ended, self.warm_up, self.grace, self.deadline = run.duration, run.warm_up, run.grace, run.deadline
        first, last = run.window
        self.window = (first, max(first, min(last, run.duration - run.deadline)))
        self.roams = bool(scenario.workload.roam)
        self.treeless = scenario.node.tree == "none" or scenario.node.strategy == "flood"
        self.counts: Counter[str] = Counter()  # records by kind
        self._of: dict[str, list[Record]] = {kind: [] for kind in KEPT}
        self._changes: list[tuple[str, Record]] = []  # kinds of CHANGES, in order

    def record(self, t: float, node: int, kind: str, fields: dict[str, Any]) -> None:
        """As emulation/worlds/sim/observe.py tells it: time (s), node (-1: the world), kind and fields of records.toml."""
        self.counts[kind] += 1
        if kind in KEPT:
            self._of[kind].append((t, node, fields))
        if kind in CHANGES:
            self._changes.append((kind, (t, node, fields)))

    def numbers(self, known: Known | None = None) -> dict[str, float]:
        """Metrics by key, those of the overhead from the warm-up on too (`paid_`), `losses` of tree links and tables `healed`;
        nan where there is nothing to divide. `known` saves the bound's computation in runs with the same movement."""
        spans = self._intervals()
        due = list(self._expected(spans))
        whole, paid = self._overhead(-1.0, spans), self._overhead(self.warm_up, spans)
        return {**metrics.numbers(self._delivered(due, spans, known or Known()), self._breaches(spans), *whole,
                                  *([] if self.treeless else [Repairs(self._repairs())]), unknown=(Repairs,)),
                "losses": whole[1].lost_links, "healed": self.counts["table_healed"], "paid_losses": paid[1].lost_links,
                **{f"paid_{key}": value for key, value in metrics.numbers(*paid).items()}}

    # ---- intervals ----------------------------------------------------------------------------------------
    def _intervals(self) -> Intervals:
        stops = {(node if kind == "node_stopped" else fields["host"], t)
                 for kind in ("node_stopped", "host_down") for t, node, fields in self._of[kind]}
        changes: dict[tuple[str, int, int, str, str], list[tuple[float, bool]]] = defaultdict(list)
        for kind, (t, node, fields) in self._changes:
            if kind == "unsubscribed" and (node, t) in stops:
                continue  # the host's end, not the client's will
            family, a, b, name, hash_, rises = CHANGES[kind]
            key = (family, fields[a] if a else node, fields[b] if b else -1, fields[name] if name else "",
                   fields[hash_] if hash_ else "")
            changes[key].append((t, rises))
        rows = [(*key, *span) for key, told in changes.items() for span in _paired(key[0], told, self.ended)]
        rows += [("told", node, -1, fields["client"], fields["hash"], t, t) for t, node, fields in self._of["subscribed"]]
        return put_together(pd.DataFrame(rows, columns=["family", "a", "b", "name", "hash", "up", "down"]))

    # ---- delivery -----------------------------------------------------------------------------------------
    def _expected(self, spans: Intervals) -> Iterator[Pair]:
        """expected.py for one run, without the pairs that do not count."""
        wants, held = _by_hash(spans.wants), _by_hash(spans.held)
        lives: dict[int, list[Span]] = defaultdict(list)
        for node, up, down in spans.lives[["node", "up", "down"]].itertuples(index=False):
            lives[node].append((up, down))
        for event, (t, source, filters) in self._events.items():
            if not self.window[0] <= t <= self.window[1]:
                continue
            start, end = t - self.grace, t + self.deadline
            asked: dict[tuple[int, str], set[bool]] = {}
            for known, of in ((False, wants), (True, held)):
                several: dict[tuple[int, str], list[Span]] = defaultdict(list)
                for hash_ in filters:
                    for client, span in of.get(hash_, ()):
                        several[client].append(span)
                for client, all_of in several.items():
                    if _covers(all_of, start, end):
                        asked.setdefault(client, set()).add(known)
            for (node, name), how in asked.items():
                lived = any(born <= start and died >= end for born, died in lives[node])
                if node != source and lived and True in how:
                    yield Pair(event, source, t, node, name)

    @cached_property
    def _events(self) -> dict[str, Published]:
        filters: dict[str, list[dict[str, Any]]] = {}
        for _, _, fields in self._of["subscribed"]:
            filters.setdefault(fields["hash"], fields["constraints"])
        found: dict[str, Published] = {}
        judged: dict[str, list[str]] = {}
        for t, node, fields in sorted(self._of["published"], key=lambda record: record[:2]):
            text = repr(fields["attributes"])
            if text not in judged:
                judged[text] = [key for key, wanted in filters.items() if matches(fields["attributes"], wanted)]
            found.setdefault(fields["event"], Published(t, node, judged[text]))
        return found

    def _delivered(self, due: list[Pair], spans: Intervals, known: Known) -> Delivered:
        first: dict[tuple[str, int, str], tuple[float, int, bool]] = {}
        for t, node, fields in self._of["delivered"]:
            first.setdefault((fields["event"], node, fields["client"]), (t, fields["hops"], bool(fields.get("recovered"))))
        bounds = known.bounds(due, spans.radio_links, self.hosts, self.deadline)
        latencies, hops, reachable, beyond, recovered = [], [], 0, 0, 0
        for pair, bound in zip(due, bounds, strict=True):
            reachable += bound < np.inf
            got = first.get((pair.event, pair.node, pair.client))
            if got is not None and got[0] <= pair.published + self.deadline:
                latencies.append(got[0] - pair.published)
                hops.append(got[1])
                beyond += bool(got[0] < bound - RECORDED)
                recovered += got[2]
        return Delivered(len(due), len(latencies), reachable, beyond,
                         np.percentile(latencies, PERCENTS) if latencies else None, sum(hops), recovered)

    def _breaches(self, spans: Intervals) -> Breaches:
        """correctness.py for one run."""
        held = _by_hash(spans.held)
        events = self._events
        seen: Counter[tuple[int, str, str]] = Counter()
        early = unwanted = 0
        for t, node, fields in self._of["delivered"]:
            event, client = fields["event"], fields["client"]
            seen[node, client, event] += 1
            if event not in events or events[event].at > t:
                early += 1
            if event in events and not any(who == (node, client) and up <= t <= down for hash_ in events[event].filters
                                           for who, (up, down) in held.get(hash_, ())):
                unwanted += 1
        return Breaches(sum(seen.values()) - len(seen), early, unwanted)

    # ---- overhead -----------------------------------------------------------------------------------------
    def _overhead(self, since: float, spans: Intervals) -> tuple[Sent, Cost]:
        """Of what was sent after `since` s; -1 for the whole run."""
        sent = _by_type(record for record in self._of["traffic"] if record[0] > since)
        messages, octets = int(sent["messages"].sum()), int(sent["bytes"].sum())
        over, wasted = self._misrouted(since, spans)
        cost = overhead.cost(sent.assign(cost=overhead.normalized(sent, wasted)), self.treeless)
        lost: dict[str, float] = {}
        for t, _, fields in self._of["link_lost"]:
            lost.setdefault(fields["link"], t)
        losses = sum(t > since for t in lost.values())
        remote = len({(node, fields["client"], fields["event"]) for t, node, fields in self._of["delivered"]
                      if int(fields["event"].partition(".")[0]) != node and t > since})
        span = self.ended - max(since, 0.0)
        airtime = sum(fields["airtime"] for t, _, fields in self._of["radio_traffic"] if t > since)
        duplicates = sum(t > since for t, _, _ in self._of["duplicate"])
        return (Sent(remote, messages, octets, self.hosts, span),
                Cost(cost, losses, over, wasted, duplicates, airtime, span))

    def _misrouted(self, since: float, spans: Intervals) -> tuple[int, int]:
        """(messages, misrouted ones) of events published after `since` s."""
        events = self._events
        ways: dict[str, list[tuple[int, str | None, str]]] = defaultdict(list)
        for t, node, fields in self._of["forwarded"]:
            ways[fields["event"]] += [(node, link, "sent") for link in fields["to"]]
        for event, node in self._wanted(spans) if self.roams else ((fields["event"], node)
                                                                   for _, node, fields in self._of["delivered"]):
            ways[event].append((node, None, "wanted"))
        for t, node, fields in self._of["event_dropped"]:
            ways[fields["event"]].append((node, fields["link"], "lost"))
        if self.roams:
            for t, node, fields in self._of["forwarded"]:
                if fields["from"] is None:
                    ways[fields["event"]].append((node, None, "begun"))
        counted = [misrouted.count(int(event.partition(".")[0]), of) for event, of in ways.items()
                   if since < 0 or event in events and events[event].at > since]
        return sum(sent for sent, _ in counted), sum(wasted for _, wasted in counted)

    def _wanted(self, spans: Intervals) -> Iterator[tuple[str, int]]:
        """(event, broker that had a client that wants it), where clients roam; see misrouted.py."""
        at, held = defaultdict(list), defaultdict(list)
        for device, broker, _, up, down in roaming.attached(
                self._told("moved_in", "moved_out", ["turn", "broker"]), spans.lives, self.ended).itertuples(index=False):
            at[device].append((broker, up, down))
        for device, broker, up, down in roaming.held(
                self._told("session_opened", "session_closed", ["device"]), spans.lives, self.ended).itertuples(index=False):
            held[device].append((broker, up, down))
        for t, node, fields in self._of["delivered"]:
            brokers = [broker for broker, up, down in at[node] if up <= t <= down] or [node]
            brokers += [broker for broker, up, down in held[node] if up <= t and down >= fields["published"]]
            yield from ((fields["event"], broker) for broker in brokers)
        yield from ((fields["event"], node) for _, node, fields in self._of["buffer_dropped"])

    def _told(self, begins: str, ends: str, names: list[str]) -> pd.DataFrame:
        rows = [(node, t, *(fields[name] for name in names), kind == begins)
                for kind in (begins, ends) for t, node, fields in self._of[kind]]
        return pd.DataFrame(rows, columns=["node", "t", *names, "rises"])

    def _repairs(self) -> int:
        return sum(fields["cause"] == "repair" and fields["outcome"] == "joined" for _, _, fields in self._of["repair_ended"])


class Known:
    """The bound of the last run, for the next one if it has the same contacts and events: protocols of one seed do."""

    def __init__(self) -> None:
        self._of: tuple[object, ...] | None = None
        self._bounds: list[float] = []

    def bounds(self, due: list[Pair], radio_links: pd.DataFrame, hosts: int, deadline: float) -> list[float]:
        """Per pair the earliest arrival (s) that the radio allowed; inf when not by the deadline."""
        graph = ContactGraph.of(radio_links, hosts)
        columns = (graph.tail, graph.head, graph.up, graph.down)
        order = np.lexsort(columns[::-1])
        asked = (due, tuple(column[order].tobytes() for column in columns), hosts, deadline)
        if asked != self._of:
            self._of, self._bounds = asked, list(_bounds(due, graph, deadline))
        return self._bounds


def _bounds(due: list[Pair], graph: ContactGraph, deadline: float) -> Iterator[float]:
    arrivals: dict[str, np.ndarray] = {}
    events = sorted({(pair.published, pair.event, pair.source) for pair in due})
    piece, part = 0.0, graph.between(0.0, SLICE + deadline)
    for published, event, source in events:
        if published // SLICE != piece:
            piece = published // SLICE
            part = graph.between(piece * SLICE, (piece + 1) * SLICE + deadline)
        arrivals[event] = part.earliest(source, published, published + deadline)
    for pair in due:
        yield float(arrivals[pair.event][pair.node])


def _paired(family: str, told: list[tuple[float, bool]], end: float) -> Iterator[Span]:
    """intervals.py's: each rise with the fall that follows it; repeated rises or falls change nothing."""
    if family == "life":  # told twice, by node and world: within an instant a life ends before the next one starts
        told = sorted(told)
    up = None
    for t, rises in told:
        if rises and up is None:
            up = t
        elif not rises and up is not None:
            if up <= end:
                yield up, min(t, end)
            up = None
    if up is not None and up <= end:
        yield up, end


def _by_hash(spans: pd.DataFrame) -> Mapping[str, list[tuple[tuple[int, str], Span]]]:
    found: dict[str, list[tuple[tuple[int, str], Span]]] = defaultdict(list)
    for node, client, hash_, up, down in spans[["node", "client", "hash", "up", "down"]].itertuples(index=False):
        found[hash_].append(((node, client), (up, down)))
    return found


def _covers(spans: list[Span], start: float, end: float) -> bool:
    """Whether these leave no gap in [start, end]."""
    reached = start
    for up, down in sorted(span for span in spans if span[0] <= end and span[1] >= start):
        if up > reached:
            return False
        reached = max(reached, down)
    return reached >= end


def _by_type(traffic: Iterator[Record]) -> pd.DataFrame:
    """`type`, `messages`, `bytes`, `filters` (nan where the type carries none), as overhead.by_type has them."""
    found: dict[str, list[Any]] = {}
    for _, _, fields in traffic:
        for row in fields["sent"]:
            sums = found.setdefault(row["type"], [0, 0, None])
            sums[0] += row["messages"]
            sums[1] += row["bytes"]
            if row.get("filters") is not None:
                sums[2] = (sums[2] or 0) + row["filters"]
    rows = [(name, *sums) for name, sums in sorted(found.items())]
    return pd.DataFrame(rows, columns=["type", "messages", "bytes", "filters"]).astype({"filters": float})
