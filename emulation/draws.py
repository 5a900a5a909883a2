"""Draws values from the distributions of a scenario (topologies/draws.py), each from the stream it is given."""
from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Mapping

from topologies.draws import Choice, Draw, Exponential, Normal, Scalar, Uniform, Walk, Zipf

Source = Callable[[random.Random], Scalar]


def source(value: Scalar | Draw) -> Source:
    """What gives the next value, a fixed one again and again. A walk remembers where it is: one source for each host."""
    if isinstance(value, Walk):
        return _walk(value)
    if isinstance(value, Uniform):
        low, high = value.uniform
        if isinstance(low, int) and isinstance(high, int):
            return lambda draw: draw.randint(low, high)
        return lambda draw: low + (high - low) * draw.random()
    if isinstance(value, Normal):
        return lambda draw: draw.normalvariate(*value.normal)
    if isinstance(value, Exponential):
        return lambda draw: draw.expovariate(1.0 / value.exponential)
    if isinstance(value, Zipf | Choice):
        values, cumulative = value.values, value.cumulative()
        return lambda draw: values[min(bisect_right(cumulative, draw.random() * cumulative[-1]), len(values) - 1)]
    return lambda draw: value


def number(value: int | float | Draw) -> Callable[[random.Random], float]:
    """The same of numbers."""
    drawn = source(value)
    return lambda draw: float(drawn(draw))


def event(attributes: Mapping[str, Scalar | Draw]) -> Callable[[random.Random], dict[str, Scalar]]:
    """The attributes of the next event, drawn in the order of the table."""
    if not any(isinstance(value, Draw) for value in attributes.values()):
        return lambda draw: dict(attributes)  # type: ignore[arg-type]
    sources = [(name, source(value)) for name, value in attributes.items()]
    return lambda draw: {name: drawn(draw) for name, drawn in sources}


def _walk(value: Walk) -> Source:
    """The first value is the given one. A step that would leave the bounds is reflected by them."""
    place: float | None = None

    def step(draw: random.Random) -> float:
        nonlocal place
        place = value.walk[0] if place is None else place + draw.normalvariate(0.0, value.walk[1])
        if value.within is not None:
            low, high = value.within
            span = high - low
            beyond = (place - low) % (2 * span)  # unfolded, the bounds are mirrors
            place = low + (beyond if beyond <= span else 2 * span - beyond)
        return place

    return step
