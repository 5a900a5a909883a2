"""Who subscribes to what and who publishes what and when: the scenario's table [workload].

Every host has one local client, `app`. Kinds of events, subscriptions and times are drawn from
streams keyed by (seed, "workload", host), never from the nodes' own, so that two protocols, or
two worlds, meet the same workload.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Protocol

from emulation import chance
from emulation.scheduler import Scheduler
from node import wire
from node.event import size_of
from node.filters import Filter, FilterError, never, parse
from node.filters.language import check_attributes
from topologies import Scenario
from topologies.notes import few
from topologies.problems import one_line
from topologies.replay import is_short
from topologies.workload import Publish, Subscribe
from topologies.workload import Workload as Plan

CLIENT = "app"
MOST_PAIRS = 1_000_000  # of filters and events that are held against each other before a run


class WorkloadError(Exception):
    """Filters or events of the workload that no node would take; str() has a line for each, with key and cure."""


def check_workload(workload: Plan) -> None:
    """What only the node's filter language can tell of a workload. Raises WorkloadError with all of it."""
    problems = []
    for k, entry in enumerate(workload.subscribe):
        try:
            parse(entry.filter)
        except FilterError as error:
            problems.append(f"workload.subscribe[{k}].filter: {error}")
    for k, event in enumerate(workload.publish):
        try:
            check_attributes(event.event)
        except FilterError as error:
            problems.append(f"workload.publish[{k}].event: {error}")
    if problems:
        raise WorkloadError("\n".join(map(one_line, problems)))


def notes(scenario: Scenario) -> Iterator[str]:
    """What only the filter language can tell of a workload that is in order: what matches nothing, and what is given twice."""
    yield from few(_oversized(scenario))
    yield from few(_never(scenario))
    yield from few(_unmet(scenario))
    yield from few(_repeated(scenario))


def _oversized(scenario: Scenario) -> Iterator[str]:
    """Events that a queue, a cache or a buffer never takes, headers and all."""
    node, events = scenario.node, list(islice(_samples(scenario), MOST_PAIRS))
    if not events:
        return
    sent, kept = (max(map(size, events)) for size in (lambda event: len(wire.encode_message(event)), size_of))
    for key, size, matters, then in (
        ("channel_queue", sent, node.tree != "none", "no link ever takes it, so nobody else gets it"),
        ("cache_bytes", kept, node.recovery != "none", "it is never kept for others, and node.recovery does not bring it back"),
        ("client_buffer", sent, bool(scenario.workload.roam), "it is never held for a roaming client"),
    ):
        if matters and size > (most := getattr(node, key)):
            yield f"node.{key}: {most} bytes, but an event of the workload takes {size} with its header: {then}; raise it, or publish smaller events"


def _samples(scenario: Scenario) -> Iterator[wire.Event]:
    """An event of each kind of the workload, as large as it gets."""
    workload, last = scenario.workload, len(scenario.names) - 1
    if workload.kinds and workload.publish_interval:
        yield wire.Event(last, 1, _numbered(scenario.run.duration / workload.publish_interval), 0.0, 1, {"kind": kind_name(workload.kinds - 1)}, bytes(workload.payload))
    for row in workload.publish:
        number = _numbered(scenario.run.duration / (row.every or math.inf))
        yield wire.Event(max(row.hosts or (last,)), 1, number, 0.0, 1, row.event, b"")


def _numbered(events: float) -> int:
    """The number of a host's last event."""
    return min(int(events) + 1, 2**32 - 1)


def _never(scenario: Scenario) -> Iterator[str]:
    """Filters that no event of anybody can match."""
    for k, row in enumerate(scenario.workload.subscribe):
        if why := never(parse(row.filter)):
            yield f"workload.subscribe[{k}].filter: can never match: {why}"


def _unmet(scenario: Scenario) -> Iterator[str]:
    """Subscriptions that no planned event can match while it counts for them, and events that nobody wants."""
    workload = scenario.workload
    if not workload.subscribe and not workload.publish:
        return
    if len(workload.subscribe) * (len(workload.publish) + workload.kinds) > MOST_PAIRS:
        yield "workload: too many filters and events to check here which of them match nothing"
        return
    generated = [{"kind": kind_name(kind)} for kind in range(workload.kinds)] if workload.publish_interval else []
    drawn = {kind_name(kind) for kind in range(workload.kinds)} if workload.subscriptions else set()
    filters = [parse(row.filter) for row in workload.subscribe]
    wanted = [False] * len(workload.publish)
    for k, (row, found) in enumerate(zip(workload.subscribe, filters)):
        matching = [number for number, event in enumerate(workload.publish) if found.matches(event.event)]
        for number in matching:
            wanted[number] = True
        if any(map(found.matches, generated)):
            continue
        key, events = f"workload.subscribe[{k}]", [workload.publish[number] for number in matching]
        if never(found):  # which is told by itself
            continue
        if not events and (workload.publish or generated):
            yield f"{key}.filter: no event of the workload matches {found}; check names, types and case of the events' attributes"
        elif events and not is_short(scenario.run) and not any(_in_time(scenario, row, event) for event in events):
            yield (f"{key}: every event that matches {found} is published less than run.grace = {scenario.run.grace:g} s after the "
                   "subscription, or after its end: none is expected there")
        elif events and not any(_elsewhere(scenario, row, event) for event in events):
            yield f"{key}: only its own host publishes what matches {found}: such deliveries are local and do not count"
    for k, event in enumerate(workload.publish):
        if not wanted[k] and event.event.get("kind") not in drawn and (filters or drawn):
            yield f"workload.publish[{k}].event: no subscription of the workload matches it, so it is delivered to nobody"


def _in_time(scenario: Scenario, row: Subscribe, event: Publish) -> bool:
    """Whether one of the events may be published while the subscription counts for it."""
    run = scenario.run
    begin, end = row.at + run.grace, (run.duration if row.until is None else row.until) - run.deadline
    return begin > end or event.falls_into(begin, end, run.duration)  # the former is told by itself


def _elsewhere(scenario: Scenario, row: Subscribe, event: Publish) -> bool:
    """Whether a host other than the subscriber publishes it."""
    everybody = range(len(scenario.names))
    subscribers, publishers = set(everybody if row.hosts is None else row.hosts), set(everybody if event.hosts is None else event.hosts)
    return len(subscribers | publishers) > 1


def _repeated(scenario: Scenario) -> Iterator[str]:
    """One filter twice at a host: a client holds it once, and the first `until` takes it back."""
    held: dict[tuple[int, Filter], list[int]] = {}
    rows = scenario.workload.subscribe
    for k, row in enumerate(rows):
        for host in range(len(scenario.names)) if row.hosts is None else row.hosts:
            held.setdefault((host, parse(row.filter)), []).append(k)
    told: set[tuple[int, int]] = set()
    for (host, found), numbers in held.items():
        for one, other in pairwise(sorted(numbers, key=lambda k: rows[k].at)):
            first, second = rows[one], rows[other]
            if (one, other) in told or first.until is not None and first.until <= second.at:
                continue
            told.add((one, other))
            ends = [row.until for row in (first, second) if row.until is not None]
            until = f", and both end at {min(ends):g} s" if ends else ""
            yield (f"workload.subscribe[{one}] and [{other}]: {scenario.naming.who(host)} subscribes to {found} twice at the same time; it "
                   f"counts once{until}")


def kind_name(kind: int) -> str:
    """k07: what the generator calls a kind of events."""
    return f"k{kind:02d}"


class Counts(Protocol):
    """Where a workload counts what it published and what was delivered."""

    published: int
    delivered: int


@dataclass(slots=True)
class OwnCounts:
    """Counts from 0."""

    published: int = 0
    delivered: int = 0


class Workload:
    """Drives the clients on the nodes of one run.

    `clock` has now() and call_at(); `broker_of(host)` is the host's broker, None while it is
    down. A host that is down publishes nothing; its client subscribes again when it returns.
    """

    def __init__(self, clock: Scheduler, workload: Plan, hosts: int, seed: int, end: float,
                 broker_of: Callable[[int], Any], only: Collection[int] | None = None, counts: Counts | None = None) -> None:
        """`only`: the hosts that are driven from here; all of them by default."""
        self.counts = OwnCounts() if counts is None else counts
        self._clock = clock
        self._plan = workload
        self._end = end
        self._broker_of = broker_of
        self._kinds = [kind_name(kind) for kind in range(workload.kinds)]
        self._wanted: list[dict[str, None]] = [{} for _ in range(hosts)]  # filters subscribed now
        driven = range(hosts) if only is None else only
        if self._kinds:
            for host in driven:
                self._plan_host(host, chance.stream(seed, "workload", host))
        for entry in workload.subscribe:
            for host in _driven(entry, driven):
                self._at(entry.at, self._subscribe, host, entry.filter)
                if entry.until is not None:
                    self._at(entry.until, self._unsubscribe, host, entry.filter)
        for event in workload.publish:
            of = range(hosts) if event.hosts is None else event.hosts
            for number, host in enumerate(of):
                if host in driven:
                    self._plan_publication(host, event, event.at + event.spread * number / len(of), 0)

    def started(self, host: int, broker: Any) -> None:
        """A node began a life: its client attaches and subscribes to what it wants by now."""
        broker.attach(CLIENT, self._deliver)
        for wanted in self._wanted[host]:
            broker.subscribe(CLIENT, wanted)

    # ---- the generator --------------------------------------------------------------------------
    def _plan_host(self, host: int, draw: random.Random) -> None:
        plan = self._plan
        for kind in sorted(draw.sample(range(plan.kinds), plan.subscriptions)):
            self._at(plan.start, self._subscribe, host, f'kind = "{self._kinds[kind]}"')
        if plan.publish_interval > 0:
            first = plan.start + draw.random() * plan.publish_interval
            self._at(first, self._publish_drawn, host, draw, first, 1)

    def _publish_drawn(self, host: int, draw: random.Random, first: float, count: int) -> None:
        """The stream is drawn from whether the host is up or not: later draws stay the same."""
        plan = self._plan
        kind = draw.choice(self._kinds)
        payload = draw.randbytes(plan.payload)
        shift = plan.publish_jitter * (2.0 * draw.random() - 1.0)
        self._at(first + (count + shift) * plan.publish_interval, self._publish_drawn, host, draw, first,
                 count + 1)
        self._publish(host, {"kind": kind}, payload)

    # ---- the explicit part --------------------------------------------------------------------
    def _plan_publication(self, host: int, entry: Publish, first: float, count: int) -> None:
        time = first + count * (entry.every or 0.0)
        if entry.until is None or time < entry.until:
            self._at(time, self._publish_planned, host, entry, first, count)

    def _publish_planned(self, host: int, entry: Publish, first: float, count: int) -> None:
        if entry.every is not None:
            self._plan_publication(host, entry, first, count + 1)
        self._publish(host, entry.event, b"")

    # ---- on the brokers -----------------------------------------------------------------------
    def _at(self, time: float, action: Callable[..., None], *arguments: Any) -> None:
        if time < self._end:
            self._clock.call_at(time, lambda: action(*arguments))

    def _subscribe(self, host: int, wanted: str) -> None:
        self._wanted[host][wanted] = None
        broker = self._broker_of(host)
        if broker is not None:
            broker.subscribe(CLIENT, wanted)

    def _unsubscribe(self, host: int, wanted: str) -> None:
        self._wanted[host].pop(wanted, None)
        broker = self._broker_of(host)
        if broker is not None:
            broker.unsubscribe(CLIENT, wanted)

    def _publish(self, host: int, attributes: Mapping[str, object], payload: bytes) -> None:
        broker = self._broker_of(host)
        if broker is not None:
            broker.publish(CLIENT, attributes, payload)
            self.counts.published += 1

    def _deliver(self, event: object) -> None:
        self.counts.delivered += 1


def _driven(entry: Subscribe | Publish, driven: Collection[int]) -> list[int]:
    """The hosts of an explicit entry that are driven from here."""
    return [host for host in (driven if entry.hosts is None else entry.hosts) if host in driven]
