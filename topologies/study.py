"""A study: one scenario in several settings, each with the same seeds. Reads the study file and checks every run of it.

    base = "park-12.toml"                   # the scenario, relative to the study's file
    seeds = "1-10"

    [grid]                                  # every combination of these values; or a table [[settings]] for each setting
    node.hello_interval = [0.5, 1.0, 2.0, 4.0]

    [stop]                                  # no more seeds once the interval of a metric is narrow in every setting
    metric = "ratio"
    half_width = 0.01
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from topologies import file
from topologies.problems import ScenarioError, from_validation, line, show
from topologies.scenario import Scenario, build
from topologies.section import Section
from topologies.seeds import FORM, LARGEST, seeds

MOST_SETTINGS = 1_000  # each is checked before the first run
MOST_RUNS = 100_000
LONGEST_LABEL = 80  # characters
RESERVED = {  # key -> why no setting has it
    **dict.fromkeys(("run.seed", "run.name"), "all settings run the same seeds, under the study's name"),
    **dict.fromkeys(("run.journal", "run.capture"), "it changes no number, and a sweep keeps neither"),
}
TABLES = ("grid", "settings", "seeds", "stop")  # a file with one of these is a study


class Stop(Section):
    """[stop]: seeds are added until the interval is narrow enough in every setting, or there are no more."""

    metric: str = Field(min_length=1, max_length=64, description="key of the metric whose interval decides")
    half_width: float = Field(gt=0, description="half the width of its 95 % interval, in the metric's unit, at most")
    least: int = Field(5, ge=3, le=1_000_000, description="seeds of each setting before the first look")


class Written(Section):
    """A study file as it is written."""

    base: str = Field(min_length=1, description="the scenario, relative to this file")
    seeds: Any = Field(description='seeds of each setting, such as "1-30"')
    grid: dict[str, Any] | None = Field(None, description="lists of values by key: every combination is a setting")
    settings: list[dict[str, Any]] | None = Field(None, description="the tables [[settings]], one for each setting")
    stop: Stop | None = Field(None, description="the table [stop]")


class Setting(NamedTuple):
    label: str
    values: Mapping[str, Any]  # dotted key -> value, as it is written
    scenario: Scenario  # complete; its seed is to be replaced


class Study(NamedTuple):
    path: Path
    keys: tuple[str, ...]  # that some setting gives, in the order of the file
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    stop: Stop | None

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def runs(self) -> int:
        """At most."""
        return len(self.settings) * len(self.seeds)


def is_study(path: Path) -> bool:
    """Whether a file is a study and no scenario. Raises ScenarioError for what is neither."""
    return any(name in file.read(path) for name in TABLES)


def load(path: str | Path) -> Study:
    """Read a study and check all its settings. Raises ScenarioError with every problem found, one line each."""
    path = Path(path)
    tables = file.read(path)
    if not any(name in tables for name in TABLES):
        raise ScenarioError([f"{path}: found no seeds, no grid and no settings; give a study (docs/studies.md), not a scenario"])
    try:
        written = Written.model_validate(tables)
    except ValidationError as error:
        problems, _, more = from_validation(path, error, Written)
        raise ScenarioError(problems, more) from None
    numbers = _seeds(path, written.seeds)
    settings = _settings(path, written, len(numbers))
    if (count := len(settings) * len(numbers)) > MOST_RUNS:
        raise ScenarioError([_too_many(path, len(settings), len(numbers), count)])
    if written.stop is not None and written.stop.least > len(numbers):
        raise ScenarioError([line(path, "stop.least", f"{written.stop.least} with {len(numbers)} seeds", "give as many seeds or more")])
    return Study(path, tuple(dict.fromkeys(key for _, values in settings for key in values)),
                 tuple(_checked(path, written.base, settings)), numbers, written.stop)


def _seeds(path: Path, given: object) -> tuple[int, ...]:
    if isinstance(given, list) and given and all(type(seed) is int and 0 <= seed <= LARGEST for seed in given):
        given = ",".join(map(str, given))
    if not isinstance(given, str):
        raise ScenarioError([line(path, "seeds", show(given), f"{FORM}, or a list of whole numbers from 0 to {LARGEST}")])
    try:
        return seeds(given)
    except ValueError as error:
        raise ScenarioError([f"{path}: seeds: {error}"]) from None


def _too_many(path: Path, settings: int, numbers: int, count: int) -> str:
    return f"{path}: found {count:,} runs ({settings:,} settings, {numbers:,} seeds each); a study has at most {MOST_RUNS:,}; give fewer"


def _settings(path: Path, written: Written, numbers: int) -> list[tuple[str, dict[str, Any]]]:
    """(label, values) of each. The number is known before any is made."""
    if (written.grid is None) == (written.settings is None):
        found = "grid together with settings" if written.grid is not None else "no grid and no settings"
        raise ScenarioError([f"{path}: found {found}; give one of the two: [grid], or a table [[settings]] for each setting"])
    values = _grid(path, written.grid, numbers) if written.grid is not None else _list(path, written.settings or [], numbers)
    keys = list(dict.fromkeys(key for _, one in values for key in one))
    for key in keys:
        if key in RESERVED:
            raise ScenarioError([line(path, key, "a value for each setting", f"leave it out; {RESERVED[key]}")])
    short = _short(keys)
    labelled = [(label if label is not None else _label(one, short), one) for label, one in values]
    twice = [label for label, times in Counter(label for label, _ in labelled).items() if times > 1]
    if twice:
        raise ScenarioError([line(path, "settings", f"two with the label {show(twice[0])}", "give each its own, or leave one out")])
    return labelled


def _grid(path: Path, grid: Mapping[str, Any], numbers: int) -> list[tuple[str | None, dict[str, Any]]]:
    lists = dict(file.flat(grid))
    if not lists:
        raise ScenarioError([line(path, "grid", "nothing in it", "give a key of the scenario with a list of values")])
    for key, value in lists.items():
        if not isinstance(value, list):
            raise ScenarioError([line(path, f"grid.{key}", show(value), "give a list of values, [..]")])
        if not value:
            raise ScenarioError([line(path, f"grid.{key}", "an empty list", "give the values that it is to take")])
    _count(path, math.prod(map(len, lists.values())), numbers)
    return [(None, dict(zip(lists, chosen, strict=True))) for chosen in itertools.product(*lists.values())]


def _list(path: Path, settings: Sequence[Mapping[str, Any]], numbers: int) -> list[tuple[str | None, dict[str, Any]]]:
    if not settings:
        raise ScenarioError([line(path, "settings", "none", "give a table [[settings]] for each setting")])
    _count(path, len(settings), numbers)
    found: list[tuple[str | None, dict[str, Any]]] = []
    for at, given in enumerate(settings):
        label = given.get("label")
        if label is not None and not (isinstance(label, str) and 0 < len(label) <= LONGEST_LABEL and label.isprintable()):
            raise ScenarioError([line(path, f"settings[{at}].label", show(label), f"expected a text of 1 to {LONGEST_LABEL} characters")])
        found.append((label, dict(file.flat({key: value for key, value in given.items() if key != "label"}))))
    return found


def _count(path: Path, settings: int, numbers: int) -> None:
    if settings * numbers > MOST_RUNS:
        raise ScenarioError([_too_many(path, settings, numbers, settings * numbers)])
    if settings > MOST_SETTINGS:
        raise ScenarioError([f"{path}: found {settings:,} settings; a study has at most {MOST_SETTINGS:,}; give fewer"])


def _short(keys: Sequence[str]) -> dict[str, str]:
    """The last part of each key, or the whole key where two end alike."""
    ends = Counter(key.rpartition(".")[2] for key in keys)
    return {key: key if ends[key.rpartition(".")[2]] > 1 else key.rpartition(".")[2] for key in keys}


def _label(values: Mapping[str, Any], short: Mapping[str, str]) -> str:
    text = ", ".join(f"{short[key]}={word(value)}" for key, value in values.items()) or "as in the base"
    return text if len(text) <= LONGEST_LABEL else text[:LONGEST_LABEL - 3] + "..."


def word(value: object) -> str:
    """A value as a label and a table have it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _checked(path: Path, base: str, settings: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Setting]:
    """Each setting with its scenario; no two may be the same. Raises ScenarioError."""
    below = file.layers_below(path, base)
    tables = file.whole(below)
    known: dict[str, str] = {}
    for label, values in settings:
        try:
            scenario = build(file.override(tables, values), path)
        except ScenarioError as error:
            raise file.blamed(error, [(path, file.override({}, values)), *below], path) from None
        alike = known.setdefault(scenario.model_dump_json(), label)
        if alike != label:
            raise ScenarioError([f"{path}: found two settings alike, {show(alike)} and {show(label)}: they make the same scenario; "
                                 "leave one out"])
        yield Setting(label, values, scenario)
