"""Numbers of a scenario that become others as they are read: 9007199254740993.0 is no double."""

from __future__ import annotations

from node.schema.numbers import beyond_doubles


class Inexact(float):
    """A number that is written with more digits than a number holds; `text` is how."""

    text: str


def number(text: str) -> float:
    """A number with a fraction as TOML writes it, Inexact where it says more than the nearest double holds."""
    if not beyond_doubles(text):
        return float(text)
    found = Inexact(text)
    found.text = text
    return found
