"""Groups of runs of one scenario side by side: what differs, and what may be chance. Of more than two, each with the first.

Each mean has a 95% confidence interval over seeds (Student's t), and so has the difference, right
less left: by the paired t-test where both sides ran the same seeds (the same movement and the same
workload cancel out), else by Welch's. Many numbers are tested at once, and one in twenty would
seem to differ by chance: Holm's correction (Holm, A simple sequentially rejective multiple test
procedure, 1979) keeps the chance of even one false alarm among all of them at 5%.
"""
from __future__ import annotations

import csv
import io
import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from analysis.errors import AnalysisError
from analysis.facts import Families
from analysis.means import check_name
from analysis.metrics import FORMS, METRICS, Metric
from analysis.sides import TRACE, Side, differing, sides
from analysis.summary import CONFIDENCE, SAFETY, Estimate, Summary
from mobility.wholefile import write_whole
from topologies.problems import one_line

ALPHA = 1 - CONFIDENCE
DIFFERS, UNCLEAR, NOISE = "differs", "unclear", "noise"
EQUAL, CONSTANT, UNTOLD = "equal", "constant", "-"  # no spread to test by; too few runs to test
_STEADY = 1e-9  # spread, as a share of the values, below which numbers are the same number


class Difference(NamedTuple):
    """right - left; `low` to `high` is the confidence interval, nan where there is none, and `p` of no difference."""

    mean: float
    low: float
    high: float
    p: float
    steady: bool = False  # the same in all runs: nothing to test by


class Row(NamedTuple):
    metric: Metric
    left: Estimate
    right: Estimate
    difference: Difference
    p: float  # after Holm's correction
    verdict: str
    runs: int  # that the difference stands on: pairs, or the runs of the smaller side


@dataclass(frozen=True)
class Comparison:
    left: Side
    right: Side
    paired: bool
    rows: list[Row]
    notes: list[str]
    together: int  # numbers tested at once, in all comparisons that belong together

    @property
    def single(self) -> bool:
        """A side has one run only: nothing can be told from noise."""
        return min(len(self.left.members), len(self.right.members)) < 2

    @property
    def valid(self) -> bool:
        return not any(m.invalid_because for side in (self.left, self.right) for m in side.members)

    @property
    def settings(self) -> dict[str, tuple[object, object]]:
        """What tells the sides apart: key -> its values, left and right; None where a side has no such key."""
        one, other = self.left.members[0].settings, self.right.members[0].settings
        keys = differing(one, other)
        if "run.world" in keys:  # what only one of two worlds knows goes without saying
            keys = [key for key in keys if not key.startswith("netns.")]
        return {key: (one.get(key), other.get(key)) for key in keys}


def compare(left: Sequence[Path | str], right: Sequence[Path | str] = (),
            say: Callable[[str], None] = lambda sentence: None) -> list[Comparison]:
    """Lay runs side by side (how they are parted: analysis.sides.sides), each further side beside the first. Holm's correction is
    for all of these comparisons together. Raises AnalysisError, one line."""
    needed = [metric.key for metric in METRICS if metric.compared and metric.computed.facts is not Families]
    one, *others = sides(left, right, needed, say)
    drawn = [_differences(one, other) for other in others]
    adjusted = holm([d.p for _, rows in drawn for *_, d in rows])
    together = sum(not math.isnan(p) for p in adjusted)
    left_p = iter(adjusted)
    return [Comparison(one, other, paired, [
        Row(metric, _estimate(a), _estimate(b), d, p := next(left_p), _verdict(d, p), min(len(a), len(b)))
        for metric, a, b, d in rows], _notes(one, other), together)
        for other, (paired, rows) in zip(others, drawn, strict=True)]


def _differences(one: Side, other: Side) -> tuple[bool, list[tuple[Metric, dict[int, float], dict[int, float], Difference]]]:
    """Whether the two are paired by seed, and what each metric is in both."""
    both = set(one.seeds) & set(other.seeds)
    # of a study all seeds are the same, but for failed runs
    paired = set(one.seeds) == set(other.seeds) or one.members[0].swept and len(both) > 1
    found = []
    for metric in _metrics(one, other):
        a, b = one.values(metric.key), other.values(metric.key)
        if paired:  # the means, too, are of the seeds that both have, or they would not fit their difference
            shared = a.keys() & b.keys()
            a, b = ({seed: values[seed] for seed in sorted(shared)} for values in (a, b))
        found.append((metric, a, b, difference(a, b, paired)))
    return paired, found


def difference(left: Mapping[int, float], right: Mapping[int, float], paired: bool) -> Difference:
    """right - left, of numbers by seed; `paired`: seed by seed, by the seeds that both have."""
    seeds = sorted(left.keys() & right.keys()) if paired else []
    a, b = ([side[seed] for seed in (seeds if paired else side)] for side in (left, right))
    if not a or not b:
        return Difference(math.nan, math.nan, math.nan, math.nan)
    samples = [np.subtract(b, a)] if paired else [np.array(a), np.array(b)]
    mean, size = float(np.mean(b) - np.mean(a)), float(np.abs([*a, *b]).max())
    if min(len(a), len(b)) < 2:
        return Difference(mean, math.nan, math.nan, math.nan)
    if all(np.ptp(sample) <= _STEADY * size for sample in samples):
        mean = 0.0 if abs(mean) <= _STEADY * size else mean
        return Difference(mean, mean, mean, math.nan, True)
    with warnings.catch_warnings():  # of a side without spread, which Welch's test allows
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.ttest_rel(b, a) if paired else stats.ttest_ind(b, a, equal_var=False)
        low, high = test.confidence_interval(CONFIDENCE)
    return Difference(mean, float(low), float(high), float(test.pvalue))


def holm(p: Sequence[float]) -> list[float]:
    """The p values after Holm's correction, in the same order; nan (not tested) stays and does not count.

    SciPy has those for the false discovery rate only (stats.false_discovery_control)."""
    order = sorted((i for i, value in enumerate(p) if not math.isnan(value)), key=lambda i: p[i])
    out, least = [math.nan] * len(p), 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p[i]))
        out[i] = least
    return out


def _verdict(found: Difference, p: float) -> str:
    if found.steady:
        return EQUAL if found.mean == 0 else CONSTANT
    if math.isnan(p):
        return UNTOLD
    if p <= ALPHA:
        return DIFFERS
    return UNCLEAR if found.p <= ALPHA else NOISE


def _metrics(left: Side, right: Side) -> list[Metric]:
    """What is compared; families of messages and reasons of losses where there are any."""
    found = [(metric, [*left.values(metric.key).values(), *right.values(metric.key).values()])
             for metric in METRICS if metric.compared]
    return [metric for metric, values in found if (any(values) if metric.shown in ("some", "never") else values)]


def _estimate(values: Mapping[int, float]) -> Estimate:
    return Summary("", [{"": value} for value in values.values()] or [{"": math.nan}]).estimate("")


def _notes(left: Side, right: Side) -> list[str]:
    notes = _versions(left, right)
    for side in (left, right):
        notes += side.notes
        for member in side.members:
            name = f"{side.label}, seed {member.run.seed} ({member.run.path.name})"
            if member.invalid_because:
                notes.append(f"{name} IS NOT VALID, its numbers are about the machine: {'; '.join(member.invalid_because)}")
            if not member.correct:
                notes.append(f"{name}: safety (nothing twice, unpublished, unsubscribed) is VIOLATED, see {'the columns ' + ', '.join(SAFETY) if member.swept else 'its report'}")
            if not member.swept and not (member.run.path / TRACE).is_file():
                notes.append(f"{name} has no {TRACE}: nothing shows whether its hosts moved as the others did")
            notes += [f"{name}: {note}" for note in member.notes]
    return notes


def _versions(left: Side, right: Side) -> list[str]:
    """A word when not all runs were made by one version: what differs may be the versions'."""
    made: dict[str, list[str]] = {}
    if left.members[0].swept:  # whose results are all of one code
        return []
    for side in (left, right):
        for member in side.members:
            version, commit = (member.run.manifest.get(key) for key in ("roamcast", "commit"))
            made.setdefault(f"{version or 'unknown'}{f' ({str(commit)[:7]})' if commit else ''}", []).append(
                f"{side.label} seed {member.run.seed}")
    if len(made) == 1:
        return []
    some = "; ".join(f"{version}: {', '.join(runs[:3])}{f' and {len(runs) - 3} more' if len(runs) > 3 else ''}"
                     for version, runs in made.items())
    return [f"these runs are from different versions of Roamcast, which may explain what differs ({some})"]


# --- the printed table -------------------------------------------------------------------------------------------

def table(found: Comparison) -> str:
    """The comparison as plain text."""
    head, *lines = cells(found)
    for above, line in zip(reversed(lines[:-1]), reversed(lines[1:]), strict=True):
        line[0] = "" if line[0] == above[0] else line[0]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    shown = ["  ".join(cell.ljust(width) if i < 2 or i == 6 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip() for line in [head, *lines]]
    text = [title(found), *shown, "", *reading(found), *(f"note: {note}" for note in found.notes)]
    return "\n".join(map(one_line, text))  # names and notes come from files


def cells(found: Comparison) -> list[list[str]]:
    """The head of the table, and a line for each number: section, label, left, right, difference, and with several runs p, verdict."""
    head = ["", "", found.left.label, found.right.label, "difference [95% CI]", "p", ""]
    counts = len(found.left.members), len(found.right.members)
    whole = max(counts) if found.paired else min(counts)
    lines = [_cells(row, whole) for row in found.rows]
    if found.single:
        head, lines = [*head[:4], "difference"], [line[:5] for line in lines]
    return [head, *lines]


def title(found: Comparison) -> str:
    """Which sides these are, their seeds, and what tells them apart."""
    left, right = found.left, found.right
    apart = [f"{key} {_word(a)} | {_word(b)}" for key, (a, b) in found.settings.items()]
    more = f" and {len(apart) - 6} more" if len(apart) > 6 else ""
    seeds = [", ".join(map(str, sorted(side.seeds))) for side in (left, right)]
    return (f"{left.members[0].run.name}, {left.label} | {right.label}: seeds "
            f"{seeds[0] if seeds[0] == seeds[1] else ' | '.join(seeds)}; "
            + (f"differ in {', '.join(apart[:6])}{more}" if apart else "world and node settings are the same"))


def _word(value: object) -> str:
    return "unset" if value is None else value if isinstance(value, str) else json.dumps(value)


def reading(found: Comparison) -> list[str]:
    """What was tested and what came of it, in sentences."""
    if found.single:
        return ["One run per side cannot tell a difference from noise: give several seeds per side for a verdict."]
    pairs = f"seed by seed over {len(set(found.left.seeds) & set(found.right.seeds))} seeds" if found.paired else (
        f"{len(found.left.members)} runs and {len(found.right.members)} with other seeds")
    lines = [f"Test: {'paired' if found.paired else 'Welch'} t, {pairs}. p after Holm's correction for "
             f"{found.together} numbers tested at once."]
    shared = sorted(set(found.left.seeds) & set(found.right.seeds))
    if not found.paired and len(shared) > 1:
        lines.append(f"Both sides have the seeds {', '.join(map(str, shared))}: compare only these, and the test is paired "
                     "and sharper.")
    for verdict, words in ((DIFFERS, "Not noise"), (UNCLEAR, "Unclear, below 5% alone but not among so many"),
                           (CONSTANT, "The same difference in every run, so there is nothing to test")):
        some = [row.metric.name for row in found.rows if row.verdict == verdict]
        if some or verdict == DIFFERS:
            lines.append(f"{words}: {'; '.join(some) or 'nothing'}.")
    noise, equal = (sum(row.verdict == verdict for row in found.rows) for verdict in (NOISE, EQUAL))
    return [*lines, f"Noise, as far as these runs tell: {noise} numbers. Equal in every run: {equal}."]


def _cells(row: Row, runs: int) -> list[str]:
    """The line of a row; it says when it stands on fewer than `runs`."""
    means = [row.left.mean, row.right.mean]
    factor, unit, *_ = FORMS[row.metric.form]
    if row.metric.form == "seconds" and np.nanmax(np.abs(means)) < 1:
        factor, unit = 1000, " ms"
    d = row.difference
    halves = [row.left.half, row.right.half, *([] if math.isnan(d.low) else [(d.high - d.low) / 2])]
    digits = _digits([h * factor for h in halves if h > 0], [v * factor for v in [*means, d.mean]])

    def text(x: float) -> str:
        return f"{round(x * factor, digits) + 0.0:,.{digits}f}"

    def side(estimate: Estimate) -> str:
        if math.isnan(estimate.mean):
            return "-"
        return text(estimate.mean) + (f" ± {text(estimate.half)}" if estimate.runs > 1 else "") + unit

    sign = "" if math.isnan(d.mean) or d.mean <= 0 else "+"
    interval = "" if math.isnan(d.low) or d.steady else f" [{text(d.low)}, {text(d.high)}]"
    change = "-" if math.isnan(d.mean) else f"{sign}{text(d.mean)}{interval}"
    fewer = f" ({row.runs} of {runs} runs)" if row.runs < runs else ""
    return [row.metric.section, row.metric.label, side(row.left), side(row.right), change,
            "" if math.isnan(row.p) else "<0.001" if row.p < 0.001 else f"{row.p:.3f}", row.verdict + fewer]


def _digits(halves: list[float], values: list[float]) -> int:
    """So many that the narrowest interval shows two figures, or without intervals the numbers three."""
    known = [abs(v) for v in values if v and not math.isnan(v)]
    if halves:
        return min(4, max(0, 1 - math.floor(math.log10(min(halves)))))
    if not known or all(v == round(v) for v in known):
        return 0
    return min(4, max(0, 2 - math.floor(math.log10(max(known)))))


# --- the files ---------------------------------------------------------------------------------------------------

def write(found: Sequence[Comparison], path: Path) -> None:
    """The comparisons as JSON or CSV, by the name's end; numbers in s, shares and bytes. Several are a list, or have the labels of
    their sides in front. Raises AnalysisError."""
    check_name(path)
    told = [_told(one) for one in found]
    try:
        write_whole(path, json.dumps(told[0] if len(told) == 1 else told, indent=1) + "\n" if path.suffix == ".json" else _as_csv(found))
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be written: {error.strerror}") from None


def _record(row: Row) -> dict[str, object]:
    def plain(x: float) -> float | None:
        return None if math.isnan(x) else x

    def half(estimate: Estimate) -> float | None:
        return estimate.half if estimate.runs > 1 else None

    d = row.difference
    return {"section": row.metric.section, "label": row.metric.label, "key": row.metric.key, "form": row.metric.form,
            "better": row.metric.better or None, "left": plain(row.left.mean), "left_half": half(row.left), "left_runs": row.left.runs,
            "right": plain(row.right.mean), "right_half": half(row.right), "right_runs": row.right.runs,
            "difference": plain(d.mean), "low": plain(d.low), "high": plain(d.high), "p": plain(d.p),
            "p_holm": plain(row.p), "verdict": "untold" if row.verdict == UNTOLD else row.verdict, "runs": row.runs}


def _told(found: Comparison) -> dict[str, object]:
    sides_ = [{"label": side.label, "seeds": side.seeds, "runs": [str(m.run.path) for m in side.members]}
              for side in (found.left, found.right)]
    test = None if found.single else "paired t" if found.paired else "Welch t"
    return {"scenario": found.left.members[0].run.name, "left": sides_[0], "right": sides_[1],
                       "settings": {key: list(pair) for key, pair in found.settings.items()}, "confidence": CONFIDENCE,
                       "test": test, "correction": "Holm", "tested": found.together, "valid": found.valid,
                       "numbers": [_record(row) for row in found.rows], "notes": found.notes}


def _as_csv(found: Sequence[Comparison]) -> str:
    text = io.StringIO()
    records = [({"of": one.left.label, "and": one.right.label} if len(found) > 1 else {}) | _record(row) for one in found for row in one.rows]
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
