"""The sides of a comparison: which runs may stand beside each other, and which are of one kind.

What a comparison is about may differ: the world, the node's settings, how a world is set up. All
else must be the same, the movement too: hosts, radio, workload, faults, duration, window. Runs of
one side differ by their seed alone.
"""
from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis import RULES, metrics
from analysis.errors import AnalysisError
from analysis.facts import Families, Sent
from analysis.metrics import FAMILIES
from analysis.run import Run, read
from analysis.summary import SAFETY

SETTINGS = ("run.world", "node.", "netns.")  # keys that a comparison may be about
FREE = ("run.seed", "run.name", "run.journal", "run.capture", "run.capture_most", "run.fidelity.")  # keys that change no number
TRACE = "trace.movements.gz"
_NOTHING = object()


@dataclass(frozen=True)
class Member:
    """One analysed run of a side."""

    run: Run
    keys: dict[str, object] = field(repr=False)  # the scenario's values by dotted key
    numbers: dict[str, float] = field(repr=False)  # metrics by key
    window: tuple[float, float]  # s: as it was measured
    correct: bool
    notes: tuple[str, ...]
    swept: bool = False  # a row of a study's table: its keys are those that settings give, and it has no run directory

    @property
    def settings(self) -> dict[str, object]:
        """What may tell one side from the other. How namespaces are set up matters only where there are any."""
        if self.swept:
            return self.keys
        real = self.keys.get("run.world") in ("netns", "hwsim", "mininet")
        return {k: v for k, v in self.keys.items() if _under(k, SETTINGS) and (real or not k.startswith("netns."))}

    @property
    def invalid_because(self) -> list[str]:
        return self.run.invalid_because


@dataclass(frozen=True)
class Side:
    label: str
    members: tuple[Member, ...]
    notes: tuple[str, ...] = ()  # on runs that are not among them

    @property
    def seeds(self) -> list[int]:
        return [member.run.seed for member in self.members]

    def values(self, key: str) -> dict[int, float]:
        """The number by seed, of the runs that have it."""
        found = {m.run.seed: m.numbers.get(key, math.nan) for m in self.members}
        return {seed: value for seed, value in found.items() if not math.isnan(value)}


def sides(left: Sequence[Path | str], right: Sequence[Path | str], needed: Sequence[str],
          say: Callable[[str], None] = lambda sentence: None) -> list[Side]:
    """Read the runs and lay them out on two or more sides; `needed` are the numbers that each must have.

    Without `right`, two runs are a side each and more are parted by their settings; one folder of a study has a side for each
    setting. A run without an analysis, or with one that lacks a number, is analysed, after `say` was told. Raises AnalysisError:
    runs of different scenarios (it names the first key that differs), one run twice, not two kinds of settings.
    """
    if len(left) == 1 and not right and (Path(left[0]) / "runs.parquet").exists():
        return _of_study(Path(left[0]))
    found = [(path, read(path)) for path in (*left, *right)]
    _same_scenario([run for _, run in found])
    parts = [[run for _, run in found[:len(left)]], [run for _, run in found[len(left):]]] if right else \
        _parted([run for _, run in found])
    for part in parts:
        _one_kind(part)
    members = [tuple(_member(run, needed, say) for run in part) for part in parts]
    _same_window([member for part in members for member in part])
    labels = _labels(members[0][0].settings, members[1][0].settings) if len(members) == 2 else \
        _several_labels([part[0].settings for part in members])
    return [Side(label, part) for label, part in zip(labels, members, strict=True)]


def _of_study(folder: Path) -> list[Side]:
    """A side for each setting of a study; failed runs are left out, with a note."""
    from analysis import table
    found = table.read(folder)
    parted: dict[str, list[Member]] = {setting: [] for setting in found.settings}
    failed: Counter[str] = Counter()
    noted = Counter(row.setting for row in found.rows if row.notes)
    for row in found.rows:
        if row.failed:
            failed[row.setting] += 1
            continue
        run = Run(folder, folder.name, "sim", row.seed, math.nan, math.nan, 0.0, 0.0, 0.0, (0.0, 0.0), {}, None, {}, {}, ())
        correct = all(row.numbers.get(key) == 0 for key in SAFETY)
        parted[row.setting].append(Member(run, dict(row.values), dict(row.numbers), run.window, correct, (), True))
    if empty := [setting for setting, members in parted.items() if not members]:
        raise AnalysisError(f"{folder}: all runs of the setting {empty[0]} failed; let `roamcast sweep` run them again")
    if len(parted) < 2:
        raise AnalysisError(f"{folder}: has one setting; a comparison needs two")
    return [Side(setting, tuple(members), (
        *([f"{setting}: {failed[setting]} of {failed[setting] + len(members)} runs failed and are left out"] if failed[setting] else []),
        *([f"{setting}: {noted[setting]} of {len(members)} runs have notes, in the column notes of the table"] if noted[setting] else [])))
        for setting, members in parted.items()]


def differing(left: dict[str, object], right: dict[str, object]) -> list[str]:
    """The keys whose values differ, in the order of the scenario."""
    return [k for k in {**left, **right} if left.get(k, _NOTHING) != right.get(k, _NOTHING)]


def flat(table: object, key: str = "") -> dict[str, object]:
    """A scenario's values by dotted key; tables in a list have its place in brackets."""
    if isinstance(table, dict) and (table or not key):
        return {k: v for name, inner in table.items()
                for k, v in flat(inner, f"{key}.{name}" if key else str(name)).items()}
    if isinstance(table, list) and table and isinstance(table[0], dict):
        return {k: v for place, inner in enumerate(table) for k, v in flat(inner, f"{key}[{place}]").items()}
    return {key: table}


def _under(key: str, some: tuple[str, ...]) -> bool:
    return any(key == name or (name.endswith(".") and key.startswith(name)) for name in some)


def _fixed(run: Run) -> dict[str, object]:
    return {k: v for k, v in flat(run.scenario).items() if not _under(k, SETTINGS + FREE)}


def _same_scenario(runs: Sequence[Run]) -> None:
    if len(runs) < 2:
        raise AnalysisError("one run is not enough to compare; give two run directories, or several per side")
    first = runs[0]
    traces: dict[int | None, Run] = {}
    for run in runs:
        _must_agree(first, run)
        # of a model each seed has its own movement; of a trace or of fixed places there is one
        which = run.seed if run.scenario.get("mobility", {}).get("model") == "random_waypoint" else None
        print_, other = _fingerprint(run), traces.setdefault(which, run)
        if print_ is not None and print_ != _fingerprint(other):
            raise AnalysisError(f"{run.path}: {TRACE}: the hosts move differently from those in {other.path}; "
                                "only runs of one scenario can be compared")


def _must_agree(first: Run, run: Run) -> None:
    one, other = _fixed(first), _fixed(run)
    for key in differing(one, other)[:1]:
        raise AnalysisError(f"{run.path}: {key}: found {_shown(other, key)}, and {_shown(one, key)} in {first.path}; "
                            "only runs of one scenario can be compared (world and [node] may differ)")


def _shown(keys: dict[str, object], key: str) -> str:
    text = json.dumps(keys[key]) if key in keys else "nothing"
    return text if len(text) <= 60 else text[:57] + "..."


def _fingerprint(run: Run) -> str | None:
    """Of the movement as it was replayed; None where that is not there any more."""
    try:
        with gzip.open(run.path / TRACE) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
    except (OSError, EOFError) as error:
        raise AnalysisError(f"{run.path / TRACE}: cannot be read: {error}") from None


def _parted(runs: Sequence[Run]) -> list[list[Run]]:
    """By settings, in the order in which they were given."""
    if len(runs) == 2:
        return [[runs[0]], [runs[1]]]
    kinds: list[tuple[dict[str, object], list[Run]]] = []
    for run in runs:
        settings = _settings(run)
        same = next((part for known, part in kinds if known == settings), None)
        if same is None:
            kinds.append((settings, [run]))
        else:
            same.append(run)
    if len(kinds) == 1:
        raise AnalysisError("all these runs have the same world and node settings; say which to compare with which: "
                            "roamcast compare RUN ... --with RUN ...")
    return [part for _, part in kinds]


def _settings(run: Run) -> dict[str, object]:
    return Member(run, flat(run.scenario), {}, run.window, True, ()).settings


def _one_kind(runs: Sequence[Run]) -> None:
    """A mean over runs of one side is over seeds and over nothing else."""
    seen: dict[int, Run] = {}
    first = _settings(runs[0])
    for run in runs:
        if run.seed in seen:
            raise AnalysisError(f"{run.path}: run.seed: found {run.seed}, as in {seen[run.seed].path} on the same side; "
                                "give one run of each seed")
        seen[run.seed] = run
        for key in differing(first, _settings(run))[:1]:
            raise AnalysisError(f"{run.path}: {key}: found {_shown(_settings(run), key)}, and {_shown(first, key)} in "
                                f"{runs[0].path} on the same side; runs on one side may differ only in their seed")


def _same_window(members: Sequence[Member]) -> None:
    """A run that was cut short measured less."""
    for member in members:
        if member.window != members[0].window:
            some = [f"{m.window[0]:g}-{m.window[1]:g} s" for m in (member, members[0])]
            raise AnalysisError(f"{member.run.path}: measured {some[0]}, and {members[0].run.path} {some[1]}: one of "
                                "them was cut short; leave it out, or run it again")


def _member(run: Run, needed: Sequence[str], say: Callable[[str], None]) -> Member:
    from analysis import analyse
    found = _summary(run, needed)
    if found is None:
        say(f"{run.path} has no analysis by this version: analysing it first")
        analyse(run.path)
        found = _summary(run, needed)
        if found is None:
            raise AnalysisError(f"{run.path / 'summary.json'}: the analysis left no readable numbers there")
    numbers = {k: math.nan if v is None else float(v) for k, v in found["numbers"].items()}
    numbers |= metrics.numbers(families_sent(run, numbers.get("deliveries", 0)))
    window = (float(found["window"][0]), float(found["window"][1]))
    return Member(run, flat(run.scenario), numbers, window, bool(found["correct"]), tuple(map(str, found["notes"])))


def _summary(run: Run, needed: Sequence[str]) -> dict[str, Any] | None:
    """What an analysis wrote; None if it is not there, of another version, or of a run that went on after it."""
    try:
        found = json.loads((run.path / "summary.json").read_text())
        whole = found["rules"] == RULES and all(key in found["numbers"] for key in needed) \
            and {"window", "correct", "notes"} <= found.keys()
        written = (run.path / "summary.json").stat().st_mtime
        ended = found["ended"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    gone_on = not math.isnan(run.ended) and ended != min(run.duration, run.ended) \
        or any(log.stat().st_mtime > written for log in run.logs if log.is_file())
    return found if whole and not gone_on and run.tables.is_dir() else None


def families_sent(run: Run, deliveries: float) -> Families:
    """What was sent by family of messages, from the table that the analysis wrote."""
    from pyarrow import Table, compute, parquet
    from pyarrow.fs import LocalFileSystem

    from analysis.overhead import families
    known = families()
    sent = dict.fromkeys(FAMILIES, (0, 0))
    path = run.tables / "traffic.parquet"
    if path.exists():  # a kind of record that was never met has no table
        lines = compute.list_flatten(parquet.read_table(str(path.resolve()), columns=["sent"], partitioning=None,
                                                        filesystem=LocalFileSystem())["sent"]).combine_chunks()
        by_type = Table.from_struct_array(lines).group_by("type").aggregate([("messages", "sum"), ("bytes", "sum")])
        for row in by_type.to_pylist():
            messages, size = sent[family := known.get(row["type"], "other")]
            sent[family] = (messages + row["messages_sum"], size + row["bytes_sum"])
    hosts = len(run.hosts) - len(run.silent)
    return Families({family: Sent(deliveries, messages, size, hosts, run.ended)
                     for family, (messages, size) in sent.items()})


def _labels(left: dict[str, object], right: dict[str, object]) -> tuple[str, str]:
    """What tells the sides apart, short enough for the head of a column."""
    keys = differing(left, right)
    if "run.world" in keys:
        return str(left["run.world"]), str(right["run.world"])
    if len(keys) == 1:
        name = keys[0].rpartition(".")[2]
        both = [side.get(keys[0], "unset") for side in (left, right)]
        labels = [value if isinstance(value, str) and value else f"{name} {json.dumps(value)}" for value in both]
        if max(map(len, labels)) <= 24:
            return labels[0], labels[1]
    return "left", "right"


def _several_labels(settings: Sequence[dict[str, object]]) -> list[str]:
    """Likewise for more than two sides: the values that tell them apart, or letters where those are too long."""
    keys = list(dict.fromkeys(key for one in settings for other in settings for key in differing(one, other)))
    if "run.world" in keys:  # what only some worlds know goes without saying
        keys = [key for key in keys if not key.startswith("netns.")]
    labels = [", ".join(value if isinstance(value := one.get(key), str) and value else f"{key.rpartition('.')[2]} {json.dumps(value)}"
                        for key in keys) for one in settings]
    short = max(map(len, labels)) <= 40 and len(set(labels)) == len(labels)
    return labels if short else [f"setting {at}" for at in range(1, len(settings) + 1)]
