"""[mobility]: a model with its parameters, fixed places, or a trace file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

import mobility
from mobility import Movement, TraceError, outside
from topologies.section import AsTuple, NotNegative, Section

FARTHEST = 1e9  # m
Side = Annotated[float, Field(ge=1e-6, le=FARTHEST)]
Speed = Annotated[float, Field(ge=0, le=1e6)]
Pause = Annotated[float, Field(ge=0, le=1e9)]
Coordinate = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Place = Annotated[tuple[Coordinate, ...], AsTuple, Field(min_length=2, max_length=3)]


class RandomWaypoint(Section):
    model: Literal["random_waypoint"] = Field("random_waypoint", description="go somewhere, pause, repeat")
    area: Annotated[tuple[Side, Side], AsTuple] = Field(description="m: width and height")
    speed: Annotated[tuple[Speed, Speed], AsTuple] = Field(
        (0.5, 2.0), description="m/s: minimum, above 0, and maximum; uniform"
    )
    pause: Annotated[tuple[Pause, Pause], AsTuple] = Field(
        (0.0, 30.0), description="s: minimum and maximum; uniform"
    )
    start: Literal["steady", "classic"] = Field(
        "steady", description="in the steady state, or all at uniform places at the start of a leg"
    )


class Outside(Section):
    model: Literal["outside"] = Field("outside", description="a model from outside the checkout ([extending.md](extending.md#from-outside-the-checkout))")
    name: str = Field(min_length=1, max_length=64, description="the model's name")
    parameters: dict[str, Any] = Field(default={}, description="what the model takes")

    def moved(self, hosts: int, duration: float, seed: int) -> Movement:
        """What the model says. Raises TraceError for a model that is not there or does not work."""
        try:
            part = outside.models()[self.name]
        except (outside.OutsideError, KeyError) as error:
            raise TraceError(self.name, None, f"the model is not there ({error})") from None
        try:
            found = part.value(hosts, duration, seed, **self.parameters)
        except Exception as error:  # other people's code
            raise TraceError(part.file, None, f"{self.name} failed: {type(error).__name__}: {error}; correct its parameters, or the model") from None
        if not isinstance(found, Movement) or len(found) != hosts:
            what = f"a movement of {len(found)} hosts" if isinstance(found, Movement) else type(found).__name__
            raise TraceError(part.file, None, f"{self.name}: found {what}; expected a Movement of {hosts} hosts")
        return found


class Static(Section):
    model: Literal["static"] = Field("static", description="nobody moves")
    positions: Annotated[tuple[Place, ...], AsTuple] = Field(
        min_length=1, max_length=100_000, description="m: position of each host, [x, y] or [x, y, z]"
    )


def _of_a_format(name: str) -> str:
    if name not in mobility.FORMATS:
        raise PydanticCustomError("literal_error", "one of {expected}", {"expected": " or ".join(map(repr, mobility.FORMATS))})
    return name


class Trace(Section):
    trace: str = Field(min_length=1, description="the file, relative to the scenario's")
    format: Annotated[str, AfterValidator(_of_a_format)] = Field(
        description="format of the file (see [mobility.md](mobility.md)); by default recognized by its name"
    )
    start: NotNegative = Field(0.0, description="s: time in the trace at which the run begins")
    dimensions: int | None = Field(
        None,
        ge=2,
        le=3,
        description="dimensions of a BonnMotion file that could be `t x y` or `t x y z`",
    )
    zero_speed: Literal["stop", "jump"] = Field(
        "stop",
        description="an ns-2 `setdest` of speed 0 stops the node (ns-2) or moves it there at once (CORE)",
    )


def reader_options(table: Mapping[str, object]) -> dict[str, object]:
    """What of a table [mobility], which may not be in order, goes to the reader of its format, defaults left out."""
    return {
        key: table[key]
        for key, (format, values) in mobility.OPTIONS.items()
        if table.get("format") == format
        and table.get(key) in values
        and table[key] != Trace.model_fields[key].default
    }


def _kind(table: object) -> str | None:
    if isinstance(table, Section):
        return {RandomWaypoint: "<random_waypoint>", Outside: "<outside>", Static: "<static>", Trace: "<trace>"}[type(table)]
    if not isinstance(table, dict):
        return None
    if "trace" in table:
        return "<trace>"
    return f"<{table.get('model', 'static' if 'positions' in table else 'random_waypoint')}>"


Mobility = Annotated[
    Annotated[RandomWaypoint, Tag("<random_waypoint>")]
    | Annotated[Static, Tag("<static>")]
    | Annotated[Outside, Tag("<outside>")]
    | Annotated[Trace, Tag("<trace>")],
    Discriminator(_kind),
]
