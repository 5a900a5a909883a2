"""What one evaluation is made of. The sweep, the points, the drawings and the page are the same for all.

An evaluation is data and a few functions: its charts (panels of curves over a swept parameter), the quantities
that they show, and what its paper claims. A run is the parameters that it is given: those of `roamcast reproduce overlay`,
or the dotted keys of a scenario for `roamcast run --measure`, of which the seed's is one (simulators.command).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from emulation.studies.points import Swept, Tables

Given = dict[str, Any]  # the parameters of a run, as JSON holds them
Result = dict[str, Any]  # of one run, as the command that does it writes it
Figure = int | str
Sweep = tuple[str, tuple[Swept, ...]]  # a parameter and its values
Claim = tuple[str, str, Callable[[Tables], tuple[str, str]]]  # figure, what is stated, check: measured and verdict


class Series(NamedTuple):
    """One curve. `quantity` is that of the panel unless given."""

    name: str
    overrides: Given
    quantity: str = ""


class Panel(NamedTuple):
    """One chart. `quantity` is one of the evaluation's; those over time have `x` the time, not `sweep`."""

    figure: Figure
    letter: str
    title: str
    quantity: str
    ylabel: str
    sweep: Sweep
    xlabel: str
    series: tuple[Series, ...]
    base: Given = {}
    log: bool = False  # the axis of x
    ylog: bool = False
    dots: tuple[float, ...] = ()  # lines at values of x that the text speaks of
    bars: bool = False  # a bar for each value of x, in layers, and no curves
    drawn: bool = True  # False: measured for a claim, and no figure
    seed: str = "seed"  # the parameter; "run.seed" where the runs are scenarios

    @property
    def name(self) -> str:
        return f"{self.figure}{self.letter}"


class Quantities(NamedTuple):
    """From one run to numbers. Those of `relative` compare a run with its rival of the same seed (in %); those
    `over_time` give a value for each bin of time."""

    scalar: Callable[[str, Result], float | None]  # None where there is nothing to tell
    names: tuple[str, ...]  # scalar ones that are cheap to take all at once when a file is read
    relative: dict[str, str] = {}  # -> what is compared
    over_time: dict[str, Callable[[Result], list[tuple[float, float]]]] = {}


def counts(result: Result, name: str) -> list[int]:
    """What a run counted under this name, for each bin of time or each of what there were several."""
    found: list[int] = result[name]
    return found


def parameter(result: Result, name: str) -> float:
    """A number that a run was given."""
    found: float = result["parameters"][name]
    return found


class Look(NamedTuple):
    """How a series is drawn."""

    color: str
    marker: str = "."
    label: str = ""  # its name unless given


def itself(given: Given) -> Given:
    return given


@dataclass(frozen=True)
class Evaluation:
    """`claims` are (figure, what is stated, check); see verdicts.py."""

    name: str
    title: str  # of the page
    place: str  # what the figures belong to, as an error says it: "section V"
    panels: tuple[Panel, ...]
    quantities: Quantities
    claims: tuple[Claim, ...]
    looks: dict[str, Look]
    expense: Callable[[Given], float]  # about how many s a run takes, for batches of like size
    rival: Callable[[Given], Given] = itself  # the run that a run is compared with
    plain: Callable[[Given], Given] = itself  # without parameters that change nothing: equal runs are one run
    readings: Given = field(default_factory=lambda: {"replacement": "seeker"})  # of the simulator, what all runs are given
    shared: dict[str, frozenset[Figure]] = field(default_factory=dict)  # panels measured in the runs of several figures

    @property
    def figures(self) -> tuple[Figure, ...]:
        """In the order of the page."""
        return tuple(dict.fromkeys(panel.figure for panel in self.panels if panel.drawn))

    def of(self, figures: tuple[Figure, ...]) -> tuple[Panel, ...]:
        """Their panels, and what else is measured in the same runs."""
        return tuple(panel for panel in self.panels
                     if self.shared.get(panel.name, frozenset((panel.figure,))) & set(figures))
