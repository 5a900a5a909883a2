"""[workload]: who subscribes to what, who publishes what and how often.

The generator: there are `kinds` kinds of events, "k00", "k01", ..; every host subscribes to
some of them with filters like `kind = "k07"` and publishes events of a random kind. Explicit
[[workload.subscribe]] and [[workload.publish]] come beside it, and switch it off by default.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from topologies.section import AsTuple, Host, Hosts, NotNegative, Positive, Section

MOST_FILTERS = 1024  # that a node holds for one client


def _attribute(value: Any) -> Any:
    """One finding for a value that is none of the four, not one for each."""
    if isinstance(value, str | bool | int) or isinstance(value, float) and math.isfinite(value):
        return value
    raise PydanticCustomError("attribute_type", "not an attribute's value")


Value = Annotated[str | bool | int | float, BeforeValidator(_attribute)]


class Subscribe(Section):
    """[[workload.subscribe]]"""

    hosts: Hosts | None = Field(None, description="by id or name; by default all")
    filter: str = Field(min_length=1, max_length=4096, description='such as `kind = "temp" and value > 30`')
    at: NotNegative = Field(0.0, description="s: time of the subscription")
    until: Positive | None = Field(None, description="s: when it is withdrawn; by default never")


class Publish(Section):
    """[[workload.publish]]"""

    hosts: Hosts | None = Field(None, description="by id or name; by default all")
    at: NotNegative = Field(0.0, description="s: when the first event is published")
    every: Annotated[float, Field(ge=1e-3)] | None = Field(
        None, description="s: between two events; by default only one"
    )
    until: Positive | None = Field(None, description="s: no event from then on; by default until the end")
    spread: NotNegative = Field(
        0.0,
        description="s: spread the hosts' first events evenly over this, in the order of `hosts`; 0: all at once",
    )
    event: dict[str, Value] = Field(min_length=1, max_length=64, description="attributes of the event")

    def falls_into(self, begin: float, end: float, stop: float) -> bool:
        """Whether an event of it may be published from `begin` to `end`, in a run that ends at `stop`; all in s."""
        times = 0 if self.every is None else max(math.ceil((begin - self.at - self.spread) / self.every - 1e-9), 0)
        first = self.at + times * (self.every or 0.0)  # of its instants, the first whose spread does not end before `begin`
        return first <= end and first + self.spread >= begin - 1e-9 and first < min(stop, math.inf if self.until is None else self.until)


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
    payload: int = Field(0, ge=0, le=32_768, description="bytes added to each event of the generator")
    start: NotNegative = Field(0.0, description="s: when the generator begins")
    roam: Annotated[tuple[Host, ...], AsTuple] = Field(
        (), description="by id or name: hosts that are roaming clients, without a broker"
    )
    subscribe: Annotated[tuple[Subscribe, ...], AsTuple] = Field((), description="explicit subscriptions")
    publish: Annotated[tuple[Publish, ...], AsTuple] = Field((), description="explicit events")
