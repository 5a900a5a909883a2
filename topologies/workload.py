"""[workload]: who subscribes to what, who publishes what and how often.

The generator: there are `kinds` kinds of events, "k00", "k01", ..; every host subscribes to
some of them with filters like `kind = "k07"` and publishes events of a random kind. Explicit
[[workload.subscribe]] and [[workload.publish]] come beside it, and switch it off by default, as does a log.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from topologies.draws import Amount, Value, mean
from topologies.section import AsTuple, Host, Hosts, NotNegative, Positive, Section, Share

if TYPE_CHECKING:
    from topologies.scenario import Scenario

MOST_FILTERS = 1024  # that a node holds for one client
MOST_PAYLOAD = 32_768  # bytes
SHORTEST = 1e-3  # s: a span of being on or off, and between two events of a table

Filter = Annotated[str, Field(min_length=1, max_length=4096)]


class Cycle(Section):
    """What goes on for a while, rests for a while, and begins anew."""

    def share_on(self) -> float:
        """Of the time, on average."""
        on, off = getattr(self, "on", None), getattr(self, "off", None)
        return 1.0 if on is None or off is None else mean(on) / (mean(on) + mean(off))


class Subscribe(Cycle):
    """[[workload.subscribe]]"""

    hosts: Hosts | None = Field(None, description="by id or name; by default all")
    filter: str | None = Field(None, min_length=1, max_length=4096, description='such as `kind = "temp" and value > 30`; or give `filters`')
    filters: Annotated[tuple[Filter, ...], AsTuple] = Field((), max_length=100_000, description="filters, of which each host subscribes to `pick`, drawn anew each time")
    pick: Annotated[int, Field(ge=1, le=MOST_FILTERS)] | None = Field(None, description="how many of `filters` a host holds at a time; by default all")
    at: NotNegative = Field(0.0, description="s: time of the subscription")
    until: Positive | None = Field(None, description="s: when it is withdrawn; by default never")
    on: Amount | None = Field(None, description="s: how long it is held before it is withdrawn and comes back; a number or a distribution")
    off: Amount | None = Field(None, description="s: how long it stays withdrawn; with `on`")

    @property
    def held(self) -> int:
        """How many filters a host holds at a time."""
        return self.pick or len(self.all_filters)

    @property
    def all_filters(self) -> tuple[str, ...]:
        return self.filters if self.filter is None else (self.filter, *self.filters)

    def changes(self, duration: float) -> float:
        """How often a host subscribes and unsubscribes in a run, on average."""
        span = max(min(duration, math.inf if self.until is None else self.until) - self.at, 0.0)
        cycles = 1.0 if self.on is None or self.off is None else span / (mean(self.on) + mean(self.off)) + 1.0
        return 2.0 * self.held * cycles


class Publish(Cycle):
    """[[workload.publish]]"""

    hosts: Hosts | None = Field(None, description="by id or name; by default all")
    at: NotNegative = Field(0.0, description="s: when the first event is published")
    every: Annotated[float, Field(ge=SHORTEST)] | None = Field(
        None, description="s: between two events; by default only one"
    )
    until: Positive | None = Field(None, description="s: no event from then on; by default until the end")
    spread: NotNegative | None = Field(
        None,
        description="s: spread the hosts' first events evenly over this, in the order of `hosts`; 0: all at once; by default, several hosts with `every` begin at random moments of the first interval",
    )
    process: Literal["periodic", "poisson"] = Field("periodic", description="events every `every` s, or at random with that mean")
    jitter: Annotated[float, Field(ge=0, le=0.5)] = Field(0.0, description="largest share of `every` by which a periodic event is early or late")
    burst: Amount = Field(1, description="events in place of each one, rounded; a number or a distribution")
    gap: NotNegative = Field(0.1, description="s: between the events of a burst; 0: all at once")
    on: Amount | None = Field(None, description="s: how long a host publishes before it pauses; a number or a distribution")
    off: Amount | None = Field(None, description="s: how long it pauses; with `on`")
    day: Annotated[float, Field(ge=1)] | None = Field(None, description="s: length of a day, in which the rate rises and falls like a cosine; `every` is the mean")
    night: Share = Field(0.0, description="lowest rate of the day as a share of the highest")
    noon: NotNegative | None = Field(None, description="s: time of the highest rate; by default half a day after 0")
    payload: Amount = Field(0, description="bytes added to each event, rounded, at most 32,768; a number or a distribution")
    event: dict[str, Value] = Field(min_length=1, max_length=64, description="attributes of the event: values or distributions")

    @property
    def is_exact(self) -> bool:
        """Whether its times follow from the table alone, without a draw, for each host that `hosts` has."""
        return self.every is None and self.burst == 1 or (
            self.process == "periodic" and not self.jitter and self.burst == 1 and self.on is None and self.day is None
            and (self.spread is not None or self.hosts is not None and len(self.hosts) == 1))

    @property
    def depth(self) -> float:
        """By how much of the mean the rate rises and falls over a day."""
        return 0.0 if self.day is None else (1.0 - self.night) / (1.0 + self.night)

    def passed(self, time: float) -> float:
        """s: the integral of the day's rate, whose mean is 1, up to a time."""
        if self.day is None:
            return time
        noon = self.day / 2 if self.noon is None else self.noon
        return time + self.depth * self.day / math.tau * math.sin(math.tau * (time - noon) / self.day)

    def expected(self, hosts: int, duration: float) -> float:
        """Events of all its hosts in a run, on average over seeds. `hosts`: of the scenario."""
        many = hosts if self.hosts is None else len(self.hosts)
        end = min(duration, math.inf if self.until is None else self.until)
        burst = max(mean(self.burst), 0.0)
        if self.every is None:
            return many * burst if self.at < end else 0.0
        span = max(self.passed(end) - self.passed(self.at), 0.0) * self.share_on()
        begun = 0.0 if self.process == "poisson" or self.spread is None and many > 1 else 0.5 if self.spread else 1.0  # the one at the begin
        return many * burst * (math.ceil(span / self.every) if self.is_exact and begun == 1.0 else span / self.every)

    def busiest(self) -> float:
        """Events of a host in a second while it publishes most, bursts smoothed."""
        return 0.0 if self.every is None else max(mean(self.burst), 0.0) * (1.0 + self.depth) / self.every

    def falls_into(self, begin: float, end: float, stop: float) -> bool:
        """Whether an event of it may be published from `begin` to `end`, in a run that ends at `stop`; all in s."""
        if not self.is_exact:  # at any time, from its begin on
            return self.at <= end and min(stop, math.inf if self.until is None else self.until) > begin
        spread = self.spread or 0.0
        times = 0 if self.every is None else max(math.ceil((begin - self.at - spread) / self.every - 1e-9), 0)
        first = self.at + times * (self.every or 0.0)  # of its instants, the first whose spread does not end before `begin`
        return first <= end and first + spread >= begin - 1e-9 and first < min(stop, math.inf if self.until is None else self.until)


class Workload(Section):
    kinds: int = Field(
        ge=0,
        le=1_000_000,
        description="kinds of events; by default 20, or 0 (no generator) if there are explicit ones",
    )
    subscriptions: int = Field(
        ge=0,
        le=MOST_FILTERS,
        description="kinds that each host subscribes to; by default 2, or 0 without a generator",
    )
    publish_interval: float = Field(5.0, ge=0, description="s: between two events of a host; 0: none")
    publish_jitter: Annotated[float, Field(ge=0, le=0.5)] = Field(
        0.1, description="largest share of the interval by which an event is early or late"
    )
    payload: int = Field(0, ge=0, le=MOST_PAYLOAD, description="bytes added to each event of the generator")
    start: NotNegative = Field(0.0, description="s: when the generator begins")
    until: Positive | None = Field(None, description="s: when the generator publishes no more; by default never")
    hosts: Hosts | None = Field(None, description="by id or name: whom the generator drives; by default all")
    event: dict[str, Value] = Field(
        default={}, max_length=63, description="further attributes of the generator's events: values or distributions"
    )
    log: str | None = Field(
        None, min_length=1, description="a log of publications to replay, CSV, relative to the scenario's file"
    )
    roam: Annotated[tuple[Host, ...], AsTuple] = Field(
        (), description="by id or name: hosts that are roaming clients, without a broker"
    )
    subscribe: Annotated[tuple[Subscribe, ...], AsTuple] = Field((), description="explicit subscriptions")
    publish: Annotated[tuple[Publish, ...], AsTuple] = Field((), description="explicit events")

    def generated(self, hosts: int, duration: float) -> float:
        """Events of the generator in a run, on average. `hosts`: of the scenario."""
        if not self.kinds or not self.publish_interval:
            return 0.0
        span = max(min(duration, math.inf if self.until is None else self.until) - self.start, 0.0)
        return (hosts if self.hosts is None else len(self.hosts)) * span / max(self.publish_interval, SHORTEST)


def planned_events(scenario: Scenario) -> float:
    """Events that the tables of a workload plan for a whole run, on average over seeds; without its log."""
    workload, hosts, duration = scenario.workload, len(scenario.names), scenario.run.duration
    return workload.generated(hosts, duration) + sum(row.expected(hosts, duration) for row in workload.publish)
