"""Named states: an enum, and beside it the table of the changes that are allowed.

    class Phase(State): ASKING, ATTACHED, OVER = range(3)
    CHANGES: Changes[Phase] = {Phase.ASKING: {Phase.ATTACHED, Phase.OVER}, Phase.ATTACHED: {Phase.OVER}, Phase.OVER: set()}

    self.phase = changed(CHANGES, self.phase, Phase.ATTACHED)

A change that the table lacks is a fault of ours, not of whoever sent something: an assertion, which every test checks.
"""
from __future__ import annotations

from collections.abc import Mapping, Set
from enum import Enum
from typing import TypeVar


class State(Enum):
    """A state prints as its name."""

    def __str__(self) -> str:
        return self.name.lower()


S = TypeVar("S", bound=State)
Changes = Mapping[S, Set[S]]


def changed(changes: Changes[S], before: S, after: S) -> S:
    """The state `after`, which may follow `before`. To stay is no change."""
    assert after is before or after in changes[before], f"{before} may not become {after}"
    return after
