"""A task's events judged whole: what was expected of each and what became of it, safety, misrouted messages.

Runs where the tasks run, and so imports no more than it needs; every task has a copy of what is Known.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from analysis import breakdown, misrouted
from analysis.bound import ContactGraph
from analysis.constraints import Filters
from analysis.correctness import Breach, Ends, Safety
from analysis.delivery import deliveries, outcome
from analysis.devices import Attached
from analysis.event import Event, Published
from analysis.expected import Wishes
from analysis.fragments import Forest, Hop, Pieces, Standings
from analysis.losses import Evidence, Losses, Signs
from analysis.routes import Routes
from analysis.run import Rules

_TEXT, _WHOLE, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
OUTCOMES = pa.schema([  # docs/analysis.md has what they mean
    ("event", _TEXT), ("node", _WHOLE), ("client", _TEXT), ("source", _WHOLE), ("published", _REAL), ("kind", _TEXT),
    ("local", _FLAG), ("node_down", _FLAG), ("source_down", _FLAG), ("delivered", _REAL), ("hops", _WHOLE),
    ("recovered", _FLAG), ("times", _WHOLE), ("bound", _REAL), ("connected", _FLAG), ("in_time", _FLAG),
    ("latency", _REAL), ("reason", _TEXT), ("detail", _TEXT), ("near", _WHOLE), ("far", _WHOLE)])

NO_LOSS = (None, None, None, None)  # in the place of a Loss


class Known(NamedTuple):
    """What is known of the run when its events are judged."""

    rules: Rules
    wishes: Wishes
    filters: Filters
    graph: ContactGraph  # what the radio connected
    forest: Forest  # tree links, and attachments of clients that roam
    standings: Standings
    evidence: Evidence
    ends: Ends
    attached: Attached | None  # to brokers, where clients roam
    sessions: Attached | None  # with brokers


class Verdict(NamedTuple):
    """Some events judged."""

    outcomes: pa.Table  # the table of that name
    found: Found


class Found(NamedTuple):
    """What is told of some events beside their outcomes; it adds up."""

    parts: dict[str, pa.Table]  # breakdown.count
    breaches: dict[str, tuple[int, list[Breach]]]  # Safety.found
    sums: Counter[str]  # `sent`, `misrouted` messages; `remote`, `local` deliveries; events published `twice`, `foreign`, `doubled`
    lives: dict[tuple[int, int], tuple[int, int, int]]  # (source, epoch) -> highest number, events published, others delivered
    came: dict[int, tuple[float, int]]  # row of the attachments -> first event (s, inf for none) and duplicates meanwhile


class Judge:
    """Judges events, given in the order of publication."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._routes = Routes(known.graph, known.forest, known.rules.deadline)
        pieces = Pieces(known.forest, known.standings, known.evidence.ended)
        self._losses = Losses(known.rules, known.evidence, known.wishes.lived, known.graph.joined, pieces, known.attached)
        self._safety = Safety(known.wishes, known.ends)
        self._rows: list[tuple[object, ...]] = []
        self._sums: Counter[str] = Counter()
        self._lives: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._came: dict[int, tuple[float, int]] = {}

    def judge(self, events: Iterable[Event]) -> Verdict:
        known = self._known
        for event in events:
            filters = known.filters.matching(event.attributes) if event.at is not None else []
            self._safety.check(event, filters)
            if isinstance(event, Published) and known.rules.window[0] <= event.at <= known.rules.window[1]:
                self._expect(event, filters)
            self._count(event)
            if known.attached is not None:
                self._stays(event, known.attached)
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(OUTCOMES)
        outcomes = pa.table([pa.array(column, field.type) for column, field in zip(columns, OUTCOMES, strict=True)], schema=OUTCOMES)
        return Verdict(outcomes, Found(breakdown.count(outcomes, known.rules.window), self._safety.found, self._sums,
                                       self._lives, self._came))

    def _expect(self, event: Published, filters: list[str]) -> None:
        """The rows of an event in the window."""
        rules, wishes = self._known.rules, self._known.wishes
        start, end = event.at - rules.grace, event.at + rules.deadline
        pairs = wishes.expected(filters, start, end)
        if not pairs:
            return
        source_down, got, kind = not wishes.lived(event.source, event.at, end), deliveries(event), event.kind
        remote = any(pair.node != event.source for pair in pairs)
        arrivals = self._routes.arrivals(event.source, event.at) if remote else np.zeros(0)
        ways: tuple[dict[int, list[Hop]], Signs] | None = None  # looked for when a pair was lost
        for pair in pairs:
            local = pair.node == event.source
            arrival = event.at if local else arrivals[pair.node]
            became = outcome(rules, event, pair, got.get((pair.node, pair.client), []), arrival, source_down)
            loss: tuple[object, ...] = NO_LOSS
            if not became.in_time and not pair.node_down:
                if ways is None:
                    ways = self._routes.paths(event.source, event.at), Signs(event)
                paths, signs = ways
                loss = self._losses.why(event, signs, pair, became, None if local else paths.get(pair.node))
            self._rows.append((event.name, pair.node, pair.client, event.source, event.at, kind, local, pair.node_down, source_down,
                               became.delivered, became.hops, became.recovered, became.times, became.bound, became.connected,
                               became.in_time, became.latency, *loss))

    def _count(self, event: Event) -> None:
        source, made, came = event.namesake, event.of("published"), event.of("delivered")
        sent, wasted = misrouted.messages(event, self._known.attached, self._known.sessions)
        clients = {(node, client) for _, node, client, *_ in came}
        local = sum(node == source for node, _ in clients)
        self._sums.update(sent=sent, misrouted=wasted, local=local, remote=len(clients) - local, twice=len(made) > 1,
                          foreign=any(node != source for _, node, *_ in made),
                          doubled=len({one["name"] for one in event.attributes}) < len(event.attributes))
        if event.told.keys() - {"refused"}:
            life = (source, int(event.life.partition(".")[2]))
            highest, published, delivered = self._lives.get(life, (0, 0, 0))
            self._lives[life] = (max(highest, event.number), published + bool(made), delivered + (bool(came) and not made))

    def _stays(self, event: Event, attached: Attached) -> None:
        """What came to clients that roam, by their attachments."""
        for kind in ("delivered", "duplicate"):
            for t, node, *_ in event.of(kind):
                for stay in attached.of(node):
                    if stay.up <= t <= stay.down:
                        first, again = self._came.get(stay.row, (np.inf, 0))
                        self._came[stay.row] = (min(first, t), again) if kind == "delivered" else (first, again + 1)
