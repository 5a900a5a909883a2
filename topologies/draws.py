"""Values that are drawn: the distributions that a scenario may name in place of a number, a text or a truth.

A distribution is a table with the key that names it, such as `{ normal = [20, 3] }`. What is drawn, and from which
stream, is in emulation/draws.py.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from topologies.section import AsTuple, Section

MOST_RANKS = 100_000  # of a Zipf distribution
Number = int | float
Scalar = str | bool | int | float


def _attribute(value: Any) -> Any:
    """One finding for a value that is none of the four, not one for each."""
    if isinstance(value, str | bool | int) or isinstance(value, float) and math.isfinite(value):
        return value
    raise PydanticCustomError("attribute_type", "not an attribute's value")


Plain = Annotated[Scalar, BeforeValidator(_attribute)]


class Uniform(Section):
    uniform: Annotated[tuple[Number, Number], AsTuple] = Field(description="lowest and highest value; whole numbers draw whole numbers, both included")

    def mean(self) -> float:
        return sum(self.uniform) / 2

    def bounds(self) -> tuple[float, float]:
        return self.uniform

    def wrong(self) -> str:
        return "" if self.uniform[0] <= self.uniform[1] else "expected the lower value first"


class Normal(Section):
    normal: Annotated[tuple[Number, Number], AsTuple] = Field(description="mean and standard deviation")

    def mean(self) -> float:
        return float(self.normal[0])

    def bounds(self) -> tuple[float, float]:
        return (-math.inf, math.inf) if self.normal[1] else (self.normal[0], self.normal[0])

    def wrong(self) -> str:
        return "" if self.normal[1] >= 0 else "expected a deviation of 0 or more"


class Exponential(Section):
    exponential: Annotated[Number, Field(gt=0)] = Field(description="mean")

    def mean(self) -> float:
        return float(self.exponential)

    def bounds(self) -> tuple[float, float]:
        return 0.0, math.inf

    def wrong(self) -> str:
        return ""


class Zipf(Section):
    zipf: Annotated[int | tuple[Plain, ...], AsTuple] = Field(description="values, the most frequent first; or how many ranks 1, 2, .. there are")
    exponent: Annotated[float, Field(ge=0, le=10)] = Field(1.0, description="rank k is drawn in proportion to 1 / k^exponent")

    @property
    def values(self) -> tuple[Scalar, ...] | range:
        return range(1, self.zipf + 1) if isinstance(self.zipf, int) else self.zipf

    def cumulative(self) -> tuple[float, ...]:
        return zipf_weights(len(self.values), self.exponent)

    def mean(self) -> float:
        return _weighted(self.values, self.cumulative())

    def bounds(self) -> tuple[float, float]:
        return _extremes(self.values)

    def wrong(self) -> str:
        return "" if 1 <= len(self.values) <= MOST_RANKS else f"expected from 1 to {MOST_RANKS:,} values"


class Choice(Section):
    choice: Annotated[tuple[Plain, ...], AsTuple] = Field(description="values")
    weights: Annotated[tuple[Annotated[float, Field(ge=0)], ...], AsTuple] = Field((), description="of the values, in any unit; by default all alike")

    @property
    def values(self) -> tuple[Scalar, ...]:
        return self.choice

    def cumulative(self) -> tuple[float, ...]:
        return tuple(accumulate(self.weights or (1.0,) * len(self.choice)))

    def mean(self) -> float:
        return _weighted(self.values, self.cumulative())

    def bounds(self) -> tuple[float, float]:
        return _extremes(self.values)

    def wrong(self) -> str:
        if not 1 <= len(self.choice) <= MOST_RANKS:
            return f"expected from 1 to {MOST_RANKS:,} values"
        if self.weights and len(self.weights) != len(self.choice):
            return f"expected as many weights as values, {len(self.choice)}"
        return "" if not self.weights or sum(self.weights) > 0 else "expected a weight above 0"


class Walk(Section):
    walk: Annotated[tuple[Number, Number], AsTuple] = Field(description="first value, and the standard deviation of a step from event to event")
    within: Annotated[tuple[Number, Number], AsTuple] | None = Field(None, description="lowest and highest value, from which the walk turns back")

    def mean(self) -> float:
        return float(self.walk[0])

    def bounds(self) -> tuple[float, float]:
        return (-math.inf, math.inf) if self.within is None else self.within

    def wrong(self) -> str:
        if self.walk[1] < 0:
            return "expected a step of 0 or more"
        if self.within is None or self.within[0] <= self.walk[0] <= self.within[1] and self.within[0] < self.within[1]:
            return ""
        return "expected the first value within its bounds, the lower one first"


Draw = Uniform | Normal | Exponential | Zipf | Choice | Walk
KINDS: dict[str, type[Draw]] = {"uniform": Uniform, "normal": Normal, "exponential": Exponential, "zipf": Zipf, "choice": Choice, "walk": Walk}
FORMS = "{ uniform = [0, 9] }, { normal = [20, 3] }, { exponential = 5 }, { zipf = 100 }, { choice = ['a', 'b'] } or { walk = [20, 0.5] }"


def _drawn(value: Any) -> Any:
    """A table becomes the distribution that it names; all else is for the next check."""
    if not isinstance(value, dict):
        return value
    named = [key for key in value if key in KINDS]
    if len(named) != 1:
        raise _refused(f"expected one distribution: {FORMS}")
    try:
        draw = KINDS[named[0]].model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = str(first["loc"][0]) if first["loc"] else named[0]
        known = ", ".join(KINDS[named[0]].model_fields)
        if first["type"] == "extra_forbidden":
            raise _refused(f'"{place}" is no key of {named[0]}; known: {known}') from None
        raise _refused(f"{place}: {KINDS[named[0]].model_fields[place].description}" if place in KINDS[named[0]].model_fields
                       else f"expected {FORMS}") from None
    if why := draw.wrong():
        raise _refused(why)
    return draw


def _refused(cure: str) -> PydanticCustomError:
    return PydanticCustomError("draw", "{cure}", {"cure": cure})


def _value(value: Any) -> Any:
    return value if isinstance(value, Section) else _attribute(value)


def _amount(value: Any) -> Any:
    if isinstance(value, Section):
        if not numeric(value):  # type: ignore[arg-type]
            raise _refused("expected a distribution of numbers")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused("expected a number, or a distribution such as { exponential = 5 }")
    return value


# The inner check runs first.
Value = Annotated[str | bool | int | float | Draw, BeforeValidator(_value), BeforeValidator(_drawn)]
Amount = Annotated[int | float | Draw, BeforeValidator(_amount), BeforeValidator(_drawn)]


def numeric(draw: Draw) -> bool:
    return not isinstance(draw, Zipf | Choice) or all(isinstance(value, int | float) and not isinstance(value, bool) for value in draw.values)


def mean(amount: Number | Draw) -> float:
    """Of a number, or of what is drawn."""
    return float(amount) if isinstance(amount, int | float) else amount.mean()


def bounds(amount: Number | Draw) -> tuple[float, float]:
    """The lowest and the highest value that can be; infinite where there is no bound."""
    return (amount, amount) if isinstance(amount, int | float) else amount.bounds()


@lru_cache(maxsize=64)
def zipf_weights(ranks: int, exponent: float) -> tuple[float, ...]:
    """Cumulative weights of the ranks 1, 2, .."""
    return tuple(accumulate(rank ** -exponent for rank in range(1, ranks + 1)))


def _weighted(values: tuple[Scalar, ...] | range, cumulative: tuple[float, ...]) -> float:
    before = (0.0, *cumulative[:-1])
    return sum(float(value) * (most - least) for value, least, most in zip(values, before, cumulative)) / cumulative[-1]


def _extremes(values: tuple[Scalar, ...] | range) -> tuple[float, float]:
    numbers = [float(value) for value in values]
    return min(numbers), max(numbers)
