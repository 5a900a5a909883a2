"""Numbers of a scenario that become others as they are read: 9007199254740993.0 is no double.

The rule is that of filters (node/filters/language.py), which the rooms may not share; a test holds the two together.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, InvalidOperation


class Inexact(float):
    """A number that is written with more digits than a number holds; `text` is how."""

    text: str


def number(text: str) -> float:
    """A number with a fraction as TOML writes it, Inexact where it says more than the nearest double holds."""
    value = float(text)
    if len(text) <= 15 and 1e-300 < abs(value) < 1e300 or not math.isfinite(value) or _says(text, value):
        return value  # 15 digits are always held
    found = Inexact(value)
    found.text = text
    return found


def _says(text: str, value: float) -> bool:
    """Whether this text is a way to write the double: its shortest one, or what it is exactly, rounded somewhere."""
    try:
        written = Decimal(text)
    except InvalidOperation:  # an exponent beyond all that can be calculated with
        return False
    if written == Decimal(repr(value)):
        return True
    return written == Context(prec=max(len(written.as_tuple().digits), 1)).create_decimal(value)
