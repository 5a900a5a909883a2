"""[mobility]: a model with its parameters, fixed places, or a trace file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

import mobility
from topologies.section import AsTuple, NotNegative, Section

FARTHEST = 1e9  # m
Side = Annotated[float, Field(ge=1e-6, le=FARTHEST)]
Speed = Annotated[float, Field(ge=0, le=1e6)]
Pause = Annotated[float, Field(ge=0, le=1e9)]
Coordinate = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Place = Annotated[tuple[Coordinate, ...], AsTuple, Field(min_length=2, max_length=3)]


class RandomWaypoint(Section):
    model: Literal["random_waypoint"] = Field("random_waypoint", description="go somewhere, pause, and again")
    area: Annotated[tuple[Side, Side], AsTuple] = Field(description="m: width and height")
    speed: Annotated[tuple[Speed, Speed], AsTuple] = Field(
        (0.5, 2.0), description="m/s: least, above 0, and most; uniform"
    )
    pause: Annotated[tuple[Pause, Pause], AsTuple] = Field(
        (0.0, 30.0), description="s: least and most; uniform"
    )
    start: Literal["steady", "classic"] = Field(
        "steady", description="in the steady state, or all at uniform places at the begin of a leg"
    )


class Static(Section):
    model: Literal["static"] = Field("static", description="nobody moves")
    positions: Annotated[tuple[Place, ...], AsTuple] = Field(
        min_length=1, max_length=100_000, description="m: [x, y] or [x, y, z] of each host"
    )


class Trace(Section):
    trace: str = Field(min_length=1, description="the file, relative to the scenario's")
    format: Literal["bonnmotion", "ns2"] = Field(
        description="what is in it; told by the file's name by default"
    )
    start: NotNegative = Field(0.0, description="s: from where in the trace the run begins")
    dimensions: int | None = Field(
        None, ge=2, le=3, description="of a BonnMotion file that does not say whether it is `t x y` or `t x y z`"
    )
    zero_speed: Literal["stop", "jump"] = Field(
        "stop", description="what an ns-2 `setdest` of speed 0 does: stop the node (ns-2), or let it jump there (CORE)"
    )


def reader_options(table: Mapping[str, object]) -> dict[str, object]:
    """What of a table [mobility], which may not be in order, goes to the reader of its format, defaults left out."""
    return {key: table[key] for key, (format, values) in mobility.OPTIONS.items()
            if table.get("format") == format and table.get(key) in values and table[key] != Trace.model_fields[key].default}


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
