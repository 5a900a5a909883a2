"""Who subscribes to what and who publishes what and when: the scenario's table [workload].

Every host has one local client, `app`. What the generator does is drawn from streams keyed by (seed, "workload", host),
what a table says from those of emulation/timing.py, never from the nodes' own, so that two protocols, or two worlds,
meet the same workload.
"""
from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Protocol

from emulation import chance, draws, timing
from emulation.scheduler import Scheduler
from node import wire
from node.event import size_of
from node.filters import Filter, FilterError, never, parse
from node.filters.language import check_attributes
from topologies import Scenario
from topologies import publications as logged
from topologies.draws import Choice, Draw, Scalar, Zipf, bounds
from topologies.notes import few
from topologies.problems import one_line
from topologies.publications import Publication
from topologies.replay import is_short
from topologies.workload import MOST_PAYLOAD, Publish, Subscribe, planned_events
from topologies.workload import Workload as Plan

CLIENT = "app"
MOST_PAIRS = 1_000_000  # of filters and events that are held against each other before a run
MOST_TRIED = 200  # events that are drawn to see which filters match them
MOST_LOGGED = 1000  # rows of a log that are looked at likewise
MOST_COUNTED = 200_000  # publications that are drawn before a run, to say how many they are


class WorkloadError(Exception):
    """Filters or events of the workload that no node would take; str() has a line for each, with key and cure."""


def check_workload(workload: Plan) -> None:
    """What only the node's filter language can tell of a workload. Raises WorkloadError with all of it."""
    problems = []
    for k, entry in enumerate(workload.subscribe):
        for key, text in _filters(entry):
            try:
                parse(text)
            except FilterError as error:
                problems.append(f"workload.subscribe[{k}].{key}: {error}")
    events = [(f"workload.publish[{k}].event", row.event) for k, row in enumerate(workload.publish)]
    for key, event in [("workload.event", {"kind": "k00", **workload.event}), *events]:
        try:
            for attributes in _alternatives(event):
                check_attributes(attributes)
        except FilterError as error:
            problems.append(f"{key}: {error}")
    if problems:
        raise WorkloadError("\n".join(map(one_line, problems)))


def _filters(row: Subscribe) -> Iterator[tuple[str, str]]:
    """(key, filter) of each filter of a table."""
    if row.filter is not None:
        yield "filter", row.filter
    yield from ((f"filters[{k}]", text) for k, text in enumerate(row.filters))


def _alternatives(event: Mapping[str, Scalar | Draw]) -> Iterator[dict[str, Scalar]]:
    """Events in which each attribute has, in turn, each of the texts and bounds that it may have."""
    first = {name: next(iter(_possible(value))) for name, value in event.items()}
    yield first
    for name, value in event.items():
        for other in _possible(value) if isinstance(value, Draw) else ():
            yield {**first, name: other}


def _possible(value: Scalar | Draw) -> Iterable[Scalar]:
    """The values themselves, where they are named, or numbers at the bounds."""
    if isinstance(value, Zipf | Choice):
        return value.values
    return [value] if not isinstance(value, Draw) else [bound if math.isfinite(bound) else value.mean() for bound in value.bounds()]


def check_log(scenario: Scenario) -> None:
    """What only the filter language can tell of a log that is replayed. Raises WorkloadError, and LogError for a log that
    was changed since the scenario was read."""
    for row in logged.of(scenario):
        try:
            check_attributes(row.event)
        except FilterError as error:
            raise WorkloadError(one_line(f"workload.log: {error} (at {row.time:g} s)")) from None


def notes(scenario: Scenario) -> Iterator[str]:
    """What only the filter language can tell of a workload that is in order: what matches nothing, and what is given twice."""
    yield from few(_oversized(scenario))
    yield from few(_never(scenario))
    yield from few(_unmet(scenario))
    yield from few(_repeated(scenario))
    yield from _late(scenario)


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
    """An event of each kind of the workload, as large as it gets where that has a bound."""
    workload, last = scenario.workload, len(scenario.names) - 1
    if workload.kinds and workload.publish_interval:
        number = _numbered(scenario.run.duration / workload.publish_interval)
        yield wire.Event(last, 1, number, 0.0, 1, {"kind": kind_name(workload.kinds - 1), **_largest(workload.event)}, bytes(workload.payload))
    for row in workload.publish:
        number = _numbered(row.expected(1, scenario.run.duration))
        most = min(max(bounds(row.payload)[1], 0), MOST_PAYLOAD)
        yield wire.Event(max(row.hosts or (last,)), 1, number, 0.0, 1, _largest(row.event), bytes(round(most)))
    if rows := logged.of(scenario):
        largest = max(rows, key=lambda row: sum(len(str(value)) for value in row.event.values()))
        yield wire.Event(largest.host, 1, _numbered(len(rows)), 0.0, 1, largest.event, b"")


def _largest(event: Mapping[str, Scalar | Draw]) -> dict[str, Scalar]:
    return {name: max(_possible(value), key=lambda one: len(str(one))) for name, value in event.items()}


def _numbered(events: float) -> int:
    """The number of a host's last event."""
    return min(int(events) + 1, 2**32 - 1)


def _never(scenario: Scenario) -> Iterator[str]:
    """Filters that no event of anybody can match."""
    for k, row in enumerate(scenario.workload.subscribe):
        for key, text in _filters(row):
            if why := never(parse(text)):
                yield f"workload.subscribe[{k}].{key}: can never match: {why}"


def _unmet(scenario: Scenario) -> Iterator[str]:
    """Subscriptions that no planned event can match while it counts for them, and events that nobody wants."""
    workload = scenario.workload
    if not workload.subscribe and not workload.publish:
        return
    published = [_some(row.event, chance.stream(scenario.run.seed, "workload.check", k)) for k, row in enumerate(workload.publish)]
    others = _others(scenario)
    filters = [(k, key, parse(text)) for k, row in enumerate(workload.subscribe) for key, text in _filters(row)]
    if len(filters) * (sum(map(len, published)) + len(others)) > MOST_PAIRS:
        yield "workload: too many filters and events to check here which of them match nothing"
        return
    drawn = {kind_name(kind) for kind in range(workload.kinds)} if workload.subscriptions else set()
    wanted = [False] * len(workload.publish)
    for k, key, found in filters:
        row, place = workload.subscribe[k], f"workload.subscribe[{k}]"
        matching = [number for number, events in enumerate(published) if any(found.matches(event) for event in events)]
        for number in matching:
            wanted[number] = True
        if never(found) or any(map(found.matches, others)):  # the former is told by itself
            continue
        events = [workload.publish[number] for number in matching]
        if not events and (workload.publish or others):
            yield f"{place}.{key}: no event of the workload matches {found}{_as_tried(scenario)}; check names, types and case of the events' attributes"
        elif events and not is_short(scenario.run) and not any(_in_time(scenario, row, event) for event in events):
            yield (f"{place}: every event that matches {found} is published less than run.grace = {scenario.run.grace:g} s after the "
                   "subscription, or after its end: none is expected there")
        elif events and not any(_elsewhere(scenario, row, event) for event in events):
            yield f"{place}: only its own host publishes what matches {found}: such deliveries are local and do not count"
    for k in range(len(workload.publish)):
        if not wanted[k] and (filters or drawn) and not any(event.get("kind") in drawn for event in published[k]):
            yield f"workload.publish[{k}].event: no subscription of the workload matches it{_as_tried(scenario)}, so it is delivered to nobody"


def _some(event: Mapping[str, Scalar | Draw], draw: random.Random) -> list[dict[str, Scalar]]:
    """The event of a table, or events that it may draw: with every value that is named, and as many as are tried by chance."""
    if not any(isinstance(value, Draw) for value in event.values()):
        return [dict(event)]  # type: ignore[arg-type]
    drawn = draws.event(event)
    return [*islice(_alternatives(event), MOST_TRIED), *(drawn(draw) for _ in range(MOST_TRIED))]


def _others(scenario: Scenario) -> list[Mapping[str, Scalar]]:
    """Events of the generator and of the log."""
    workload = scenario.workload
    more = _some(workload.event, chance.stream(scenario.run.seed, "workload.check")) if workload.event else [{}]
    kinds = range(workload.kinds) if workload.publish_interval else ()
    generated: list[Mapping[str, Scalar]] = [{"kind": kind_name(kind), **more[kind % len(more)]} for kind in kinds]
    return generated + [row.event for row in logged.of(scenario)[:MOST_LOGGED]]


def _as_tried(scenario: Scenario) -> str:
    """What a note about events that match nothing rests on, where not all of them were looked at."""
    workload = scenario.workload
    tried = []
    if any(isinstance(value, Draw) for event in (workload.event, *(row.event for row in workload.publish)) for value in event.values()):
        tried.append(f"{MOST_TRIED} draws")
    if len(logged.of(scenario)) > MOST_LOGGED:
        tried.append(f"the first {MOST_LOGGED:,} rows of the log")
    return f" in {' and '.join(tried)}" if tried else ""


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
        filters = [parse(text) for text in row.all_filters]
        for host in range(len(scenario.names)) if row.hosts is None else row.hosts:
            for found in filters:
                held.setdefault((host, found), []).append(k)
    told: set[tuple[int, int]] = set()
    for (host, found), numbers in held.items():
        for one, other in pairwise(sorted(numbers, key=lambda k: rows[k].at)):
            first, second = rows[one], rows[other]
            if (one, other) in told or first.until is not None and first.until <= second.at:
                continue
            told.add((one, other))
            ends = [row.until for row in (first, second) if row.until is not None]
            until = f", and both end at {min(ends):g} s" if ends else ""
            if any(row.on is not None or row.pick is not None for row in (first, second)):
                until = ", and whichever table withdraws it first ends both"
            yield (f"workload.subscribe[{one}] and [{other}]: {scenario.naming.who(host)} subscribes to {found} twice at the same time; it "
                   f"counts once{until}")


def _late(scenario: Scenario) -> Iterator[str]:
    """Rows of a log that come after the end of the run."""
    rows, duration = logged.of(scenario), scenario.run.duration
    if late := sum(row.time >= duration for row in rows):
        yield f"workload.log: {late:,} of its {len(rows):,} rows {'is' if late == 1 else 'are'} at or after the end of the run, {duration:g} s, and not replayed"


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


Event = tuple[float, Mapping[str, object], bytes]  # s, attributes, payload


def generated(workload: Plan, host: int, seed: int, end: float) -> tuple[list[str], Iterator[Event]]:
    """The filters to which the generator subscribes a host, and what it publishes there before `end`, by time."""
    draw = chance.stream(seed, "workload", host)
    if not workload.kinds:
        return [], iter(())
    kinds = sorted(draw.sample(range(workload.kinds), workload.subscriptions))
    events = _generated(workload, host, seed, draw, min(end, math.inf if workload.until is None else workload.until))
    return [f'kind = "{kind_name(kind)}"' for kind in kinds], events


def _generated(plan: Plan, host: int, seed: int, draw: random.Random, stop: float) -> Iterator[Event]:
    if not plan.publish_interval:
        return
    first = time = plan.start + draw.random() * plan.publish_interval
    more, draw_more = draws.event(plan.event), chance.stream(seed, "workload.values/generator", host)
    names, count = _names(plan.kinds), 1
    while time < stop:
        attributes = {"kind": draw.choice(names), **more(draw_more)}
        payload = draw.randbytes(plan.payload)
        shift = plan.publish_jitter * (2.0 * draw.random() - 1.0)
        yield time, attributes, payload
        time, count = first + (count + shift) * plan.publish_interval, count + 1


@lru_cache(maxsize=4)
def _names(kinds: int) -> tuple[str, ...]:
    return tuple(map(kind_name, range(kinds)))


def planned(row: Publish, number: int, host: int, rank: int, hosts: int, seed: int, end: float) -> Iterator[Event]:
    """What a host publishes by a table before `end`, by time; `number` of the table, `rank` of the host among its `hosts`."""
    event, draw = draws.event(row.event), chance.stream(seed, f"workload.values/{number}/{host}")
    times = timing.publications(row, number, host, rank, hosts, seed, end)
    return ((time, event(draw), payload) for time, payload in zip(times, timing.payloads(row, number, host, seed)))


def publications(scenario: Scenario) -> Iterator[Event]:
    """What all hosts of a scenario would publish if they were up throughout; host by host, not by time."""
    workload, seed, end = scenario.workload, scenario.run.seed, scenario.run.duration
    everybody = range(len(scenario.names))
    for host in everybody if workload.hosts is None else workload.hosts:
        yield from generated(workload, host, seed, end)[1]
    for number, row in enumerate(workload.publish):
        of = everybody if row.hosts is None else row.hosts
        for rank, host in enumerate(of):
            yield from planned(row, number, host, rank, len(of), seed, end)
    yield from ((row.time, row.event, b"") for row in logged.of(scenario) if row.time < end)


def expected(scenario: Scenario) -> str:
    """How many publications the workload plans, in words: counted as the run will draw them, or where they are very many from
    the tables alone."""
    about = planned_events(scenario)
    if about > MOST_COUNTED:
        return f"about {about:,.0f} publications"
    count = sum(1 for _ in publications(scenario))
    return "1 publication" if count == 1 else f"{count:,} publications"


def _by_host(log: Sequence[Publication], driven: Collection[int]) -> dict[int, list[Publication]]:
    rows: dict[int, list[Publication]] = {}
    for row in log:
        if row.host in driven:
            rows.setdefault(row.host, []).append(row)
    return rows


class Workload:
    """Drives the clients on the nodes of one run.

    `clock` has now() and call_at(); `broker_of(host)` is the host's broker, None while it is
    down. A host that is down publishes nothing; its client subscribes again when it returns.
    """

    def __init__(self, clock: Scheduler, workload: Plan, hosts: int, seed: int, end: float,
                 broker_of: Callable[[int], Any], only: Collection[int] | None = None, counts: Counts | None = None,
                 log: Sequence[Publication] = ()) -> None:
        """`only`: the hosts that are driven from here; all of them by default. `log`: publications that are replayed, by time."""
        self.counts = OwnCounts() if counts is None else counts
        self._clock = clock
        self._end = end
        self._broker_of = broker_of
        self._wanted: list[dict[str, None]] = [{} for _ in range(hosts)]  # filters subscribed now
        driven = range(hosts) if only is None else only
        for host in driven if workload.hosts is None else [host for host in workload.hosts if host in driven]:
            subscriptions, events = generated(workload, host, seed, end)
            for wanted in subscriptions:
                self._at(workload.start, self._subscribe, host, wanted)
            self._follow(host, events)
        for number, entry in enumerate(workload.subscribe):
            of = range(hosts) if entry.hosts is None else entry.hosts
            for host in _driven(entry, driven):
                self._hold(host, timing.holdings(entry, number, host, len(of), seed, end))
        for number, event in enumerate(workload.publish):
            of = range(hosts) if event.hosts is None else event.hosts
            for rank, host in enumerate(of):
                if host in driven:
                    self._follow(host, planned(event, number, host, rank, len(of), seed, end))
        for host, rows in _by_host(log, driven).items():
            self._follow(host, ((row.time, row.event, b"") for row in rows))

    def started(self, host: int, broker: Any) -> None:
        """A node began a life: its client attaches and subscribes to what it wants by now."""
        broker.attach(CLIENT, self._deliver)
        for wanted in self._wanted[host]:
            broker.subscribe(CLIENT, wanted)

    # ---- one after the other ------------------------------------------------------------------
    def _follow(self, host: int, events: Iterator[Event]) -> None:
        """Publish each event at its time, if it is before the end: the next one is drawn whether the host is up or not."""
        if (event := next(events, None)) is not None:
            self._at(event[0], self._next, host, events, event)

    def _next(self, host: int, events: Iterator[Event], event: Event) -> None:
        self._follow(host, events)
        self._publish(host, event[1], event[2])

    def _hold(self, host: int, holdings: Iterator[timing.Holding]) -> None:
        """Subscribe and unsubscribe at the times of each holding."""
        if (holding := next(holdings, None)) is None:
            return
        for wanted in holding.filters:
            self._at(holding.begin, self._subscribe, host, wanted)
        if holding.until is not None:
            self._at(holding.until, self._release, host, holding.filters, holdings)

    def _release(self, host: int, filters: Sequence[str], holdings: Iterator[timing.Holding]) -> None:
        for wanted in filters:
            self._unsubscribe(host, wanted)
        self._hold(host, holdings)

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
