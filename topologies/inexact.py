"""Numbers of a scenario that change when they are read: 9007199254740993.0 is not a double."""

from __future__ import annotations

from node.schema.numbers import beyond_doubles


class Inexact(float):
    """A number with more digits than a double can hold; `text` is how it was written."""

    text: str


def number(text: str) -> float:
    """A TOML number with a fraction, Inexact if the nearest double has lost digits."""
    if not beyond_doubles(text):
        return float(text)
    found = Inexact(text)
    found.text = text
    return found
