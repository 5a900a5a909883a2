"""A person's own study (topologies/study.py): its runs, when there are seeds enough, and its table.

All is in one folder: study (its name), results/ (a file a run), and the table (analysis/table.py). A run is known by its
content, the complete scenario and the trace that it replays: what is there and was made by the same code is not run again.
"""
from __future__ import annotations

import difflib
import hashlib
import math
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from analysis import table
from analysis.errors import AnalysisError
from analysis.metrics import BY_KEY
from analysis.summary import Summary
from emulation import runner
from emulation.studies import engine, results, simulators
from emulation.studies.folder import alone
from emulation.studies.sweep import Report
from mobility import outside
from mobility.wholefile import check_place
from topologies.file import flat
from topologies.problems import about, one_line, show
from topologies.scenario import Scenario
from topologies.study import Setting, Stop, Study


class StudyError(Exception):
    """A study that cannot be swept; str() is one sentence."""


class Planned(NamedTuple):
    setting: Setting
    seed: int
    key: str  # of its content
    given: dict[str, Any]  # for simulators.done


class Outcome(NamedTuple):
    table: table.Table
    done: int  # runs made now
    found: int  # that were there
    other_code: int  # of those made now: were there, made by other code
    seeds: int  # of each setting
    widest: float  # the widest half of an interval of the stopping rule's metric; nan without a rule


def notes(study: Study) -> list[str]:
    """Checks what `topologies` cannot, and returns what a person should know of the settings, each note once. Raises
    StudyError, emulation.workload.WorkloadError and mobility.TraceError."""
    for setting in study.settings:
        if setting.scenario.run.world != "sim":
            raise StudyError(f'{study.path}: run.world: found "{setting.scenario.run.world}"; a sweep simulates, give "sim"')
        runner.check(setting.scenario)
    if study.stop is not None and study.stop.metric not in BY_KEY:
        near = difflib.get_close_matches(study.stop.metric, BY_KEY, 1)
        raise StudyError(f"{study.path}: stop.metric: found {show(study.stop.metric)}, which is no metric; "
                         + (f'did you mean "{near[0]}"?' if near else "docs/analysis.md lists them by their keys"))
    return list(dict.fromkeys(note for setting in study.settings for note in runner.notes(setting.scenario)))


def sweep(study: Study, out: Path, report: Report = lambda done, of, failed: None, at_once: int | None = None,
          master: str | None = None) -> Outcome:
    """Do what is missing of a study in `out`, and write its table. Raises AnalysisError, one line; whatever ends this early
    keeps what is done."""
    try:
        with alone(out, "study", study.name, "table") as folder:
            for name in (table.NAME, "runs.csv", "columns.csv"):
                check_place(out / name)
            return _Sweep(study, out, folder, report, at_once, master).outcome()
    except OSError as error:
        raise AnalysisError(f"{error.filename or out}: cannot be written: {error.strerror}; finished runs are kept") from None


class _Sweep:
    def __init__(self, study: Study, out: Path, folder: Path, report: Report, at_once: int | None, master: str | None) -> None:
        self._study, self._out, self._folder, self._report = study, out, folder, report
        self._at_once, self._master = at_once, master
        self._code = simulators.simulator("analyse").code
        self._results: dict[str, dict[str, Any]] = {}
        self._done = self._found = self._other_code = 0
        self._tables = [_tables(setting.scenario) for setting in study.settings]

    def outcome(self) -> Outcome:
        self._refuse_strangers()
        seeds, stop, widest = self._study.seeds, self._study.stop, math.nan
        count = len(seeds) if stop is None else stop.least
        while True:
            planned = list(self._plan(seeds[:count]))
            self._do([one for one in planned if one.key not in self._results])
            if stop is None:
                break
            widest = max(_half(self._results, [one for one in planned if one.setting is setting], stop) for setting in self._study.settings)
            if widest <= stop.half_width or count == len(seeds):
                break
            count = min(len(seeds), _next(count, widest / stop.half_width))
        found = self._table(planned)
        table.write(self._out, found)
        return Outcome(found, self._done, self._found, self._other_code, count, widest)

    def _plan(self, seeds: Sequence[int]) -> Iterator[Planned]:
        for setting, tables in zip(self._study.settings, self._tables, strict=True):
            for seed in seeds:
                scenario = tables | {"run": tables["run"] | {"seed": seed}}
                yield Planned(setting, seed, _key(scenario), {"scenario": scenario})

    def _refuse_strangers(self) -> None:
        there = {path.stem for path in self._folder.glob("*.json")}
        if there and not any(one.key in there for one in self._plan(self._study.seeds)):
            raise AnalysisError(f"{self._out}: holds the results of {len(there)} runs, and none is a run of this study: they are another's, "
                                "or its scenario was changed; give another --out, or remove the folder")

    def _do(self, planned: list[Planned]) -> None:
        """All of them have a result after that, read or made."""
        todo = []
        for one in planned:
            known = self._read(one.key)
            if known is None or "failed" in known or known.get("code") != self._code:
                self._other_code += known is not None and "failed" not in known
                todo.append(one.given | {"key": one.key})
            else:
                self._results[one.key] = known
                self._found += 1
        ended = failed = 0

        def keep(given: dict[str, Any], result: dict[str, Any]) -> None:
            nonlocal ended, failed
            key = given["key"]
            results.keep(self._folder / f"{key}.json", result | {"key": key, "parameters": given["scenario"]})
            self._results[key] = result
            ended, failed = ended + 1, failed + ("failed" in result)
            self._report(ended, len(todo), failed)

        if todo:
            self._report(0, len(todo), 0)
            engine.work(simulators.done, todo, keep, self._at_once, self._master)
        self._done += ended

    def _read(self, key: str) -> dict[str, Any] | None:
        try:
            return results.read(self._folder / f"{key}.json")
        except (FileNotFoundError, results.Damaged):
            return None

    def _table(self, planned: Sequence[Planned]) -> table.Table:
        keys = [table.Column(key, (known := about(key, Scenario))[0], "", known[1]) for key in self._study.keys]
        values = {setting.label: _values(tables, self._study.keys) for setting, tables in
                  zip(self._study.settings, self._tables, strict=True)}
        return table.Table(keys, [table.Row(one.setting.label, values[one.setting.label], one.seed, _numbers(self._results[one.key]),
                                            one_line(self._results[one.key].get("failed", "")),
                                            "\n".join(map(one_line, self._results[one.key].get("notes", ())))) for one in planned])


def _tables(scenario: Scenario) -> dict[str, Any]:
    """A scenario as tables. Its name, and what is kept beside the records, change no number."""
    tables = tomllib.loads(scenario.to_toml())
    tables["run"] |= {"name": "sweep", "capture": False, "journal": False}
    return tables


def _key(scenario: dict[str, Any]) -> str:
    """Of a run's content: of a trace, a log, a model and metrics from outside, what is in it counts, not where it lies."""
    motion, workload = dict(scenario["mobility"]), dict(scenario["workload"])
    if "trace" in motion:
        motion["trace"] = _digest(motion["trace"])
    if "log" in workload:
        workload["log"] = _digest(workload["log"])
    if motion.get("model") == "outside":
        motion["sha256"] = outside.models()[motion["name"]].sha256
    metrics = sorted(part.sha256 for part in outside.parts(outside.METRICS))
    return results.key(scenario | {"mobility": motion, "workload": workload} | ({"metrics": metrics} if metrics else {}))


@cache
def _digest(trace: str) -> str:
    with open(trace, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _values(tables: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """What the keys of a study are in one setting, defaults included."""
    known = dict(flat(tables))
    return {key: known.get(key) for key in keys}


def _numbers(result: dict[str, Any]) -> dict[str, float]:
    return {key: math.nan if value is None else value for key, value in result.get("numbers", {}).items()}


def _half(known: dict[str, dict[str, Any]], planned: Sequence[Planned], stop: Stop) -> float:
    """Half of the interval of one setting; inf with fewer than two runs that have the metric."""
    numbers = [_numbers(known[one.key]) for one in planned]
    estimate = Summary("", [{stop.metric: one.get(stop.metric, math.nan)} for one in numbers]).estimate(stop.metric)
    return estimate.half if estimate.runs > 1 else math.inf


def _next(count: int, too_wide: float) -> int:
    """Seeds to look again at: as many as an interval that narrows with the root of their number needs; twice as many at most."""
    return min(2 * count, max(count + 1, math.ceil(count * min(too_wide, 2.0) ** 2)))
