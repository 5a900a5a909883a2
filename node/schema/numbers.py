"""Which decimal numbers a double holds: one rule for filters, attributes, the command line and scenarios."""
from __future__ import annotations

import math
from decimal import Context, Decimal, InvalidOperation


def beyond_doubles(text: str) -> bool:
    """Whether a decimal number says more than the nearest double holds: 9007199254740993.0, which would become
    another number. 0.1 does not, although its double is a little more: as far as it is written, it is that."""
    held = float(text)
    if len(text) <= 15 and 1e-300 < abs(held) < 1e300 or not math.isfinite(held):
        return False  # 15 digits are always held
    try:
        written = Decimal(text)
    except InvalidOperation:  # an exponent beyond all that can be calculated with
        return True
    if written == Decimal(repr(held)):
        return False
    digits = max(len(written.as_tuple().digits), 1)
    return written != Context(prec=digits).create_decimal(held)
