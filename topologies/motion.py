"""[mobility]: a model with its parameters, fixed places, or a trace file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

import mobility
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
        return {RandomWaypoint: "<random_waypoint>", Static: "<static>", Trace: "<trace>"}[type(table)]
    if not isinstance(table, dict):
        return None
    if "trace" in table:
        return "<trace>"
    return f"<{table.get('model', 'static' if 'positions' in table else 'random_waypoint')}>"


Mobility = Annotated[
    Annotated[RandomWaypoint, Tag("<random_waypoint>")]
    | Annotated[Static, Tag("<static>")]
    | Annotated[Trace, Tag("<trace>")],
    Discriminator(_kind),
]
