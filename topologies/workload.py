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

    hosts: Hosts | None = Field(None, description="by id or name; all of them by default")
    filter: str = Field(min_length=1, max_length=4096, description='such as `kind = "temp" and value > 30`')
    at: NotNegative = Field(0.0, description="s: when")
    until: Positive | None = Field(None, description="s: when it is taken back; never by default")


class Publish(Section):
    """[[workload.publish]]"""

    hosts: Hosts | None = Field(None, description="by id or name; all of them by default")
    at: NotNegative = Field(0.0, description="s: when the first one is published")
    every: Annotated[float, Field(ge=1e-3)] | None = Field(
        None, description="s: between two; only one by default"
    )
    until: Positive | None = Field(None, description="s: none after that; to the end by default")
    spread: NotNegative = Field(
        0.0, description="s: over which the hosts' first ones are spread evenly, in the order of `hosts`; 0: all at one instant"
    )
    event: dict[str, Value] = Field(min_length=1, max_length=64, description="its attributes")


class Workload(Section):
    kinds: int = Field(
        ge=0, le=1_000_000, description="of events; 20 by default, 0 (no generator) beside explicit ones"
    )
    subscriptions: int = Field(
        ge=0,
        le=MOST_FILTERS,
        description="different kinds that each host subscribes to; 2 by default, 0 without a generator",
    )
    publish_interval: float = Field(5.0, ge=0, description="s: between two events of a host; 0: none")
    publish_jitter: Annotated[float, Field(ge=0, le=0.5)] = Field(
        0.1, description="share of the interval by which each event is early or late at most"
    )
    payload: int = Field(0, ge=0, le=32_768, description="bytes: put on top of each event of the generator")
    start: NotNegative = Field(0.0, description="s: when the generator begins")
    roam: Annotated[tuple[Host, ...], AsTuple] = Field(
        (), description="by id or name: hosts that are clients only, attach to a broker by radio and move on"
    )
    subscribe: Annotated[tuple[Subscribe, ...], AsTuple] = Field((), description="explicit subscriptions")
    publish: Annotated[tuple[Publish, ...], AsTuple] = Field((), description="explicit events")
