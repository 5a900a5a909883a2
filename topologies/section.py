"""What all tables of a scenario share: strict types, no unknown keys, no later changes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Section(BaseModel):
    """One table of a scenario. Descriptions begin with the unit, where there is one."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # TOML has lists, frozen tables have tuples


AsTuple = BeforeValidator(_tuple)
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Timer = Annotated[float, Field(ge=1e-3)]  # s; below, a node would do nothing but wake up
Share = Annotated[float, Field(ge=0, le=1)]
Host = Annotated[int, Field(ge=0)]  # an id; names are replaced by ids before the schema sees them
Hosts = Annotated[tuple[Host, ...], AsTuple, Field(min_length=1)]
