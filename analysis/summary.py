"""The headline numbers of one run or of several seeds, and the table that is printed.

Over several runs of one scenario every number is a mean with its 95% confidence interval (Student's t).
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from analysis.metrics import FORMS, METRICS, Metric
from topologies.problems import one_line

CONFIDENCE = 0.95


SAFETY = [metric.key for metric in METRICS if metric.section == "Correctness"]


class Estimate(NamedTuple):
    """A mean over runs; `half` is half the width of its 95% confidence interval (0 for one run)."""

    mean: float
    half: float
    runs: int

    def interval(self, form: str) -> tuple[float, float]:
        """The confidence interval; that of a share ends where shares end."""
        low, high = self.mean - self.half, self.mean + self.half
        return (max(0.0, low), min(1.0, high)) if form == "share" else (low, high)


class Summary(Mapping[str, float]):
    """Headline numbers by key (METRICS); a number that a run cannot give is nan."""

    def __init__(self, title: str, numbers: Sequence[Mapping[str, float]], notes: Sequence[str] = (),
                 reports: Sequence[object] = (), seeds: Sequence[int] | None = None, invalid: Sequence[str] = ()) -> None:
        self.title, self.notes, self.reports = title, list(notes), list(reports)
        self.invalid = list(invalid)  # why the numbers are about the machine, not about the network
        self.numbers = [dict(n) for n in numbers]
        self.seeds = list(range(1, len(self.numbers) + 1)) if seeds is None else list(seeds)  # one for each of `numbers`

    def __getitem__(self, key: str) -> float:
        return self.estimate(key).mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers[0] if self.numbers else ())

    def __len__(self) -> int:
        return len(self.numbers[0]) if self.numbers else 0

    def estimate(self, key: str) -> Estimate:
        """The mean of `key` over the runs that have it. Raises KeyError for a key that none has."""
        values = [n[key] for n in self.numbers if not math.isnan(n[key])]
        if not values:
            return Estimate(math.nan, 0.0, 0)
        mean = math.fsum(values) / len(values)
        if len(values) < 2:
            return Estimate(mean, 0.0, len(values))
        from scipy import stats
        half = stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * stats.sem(values)
        return Estimate(mean, float(half), len(values))

    @property
    def correct(self) -> bool:
        """No delivery of any run broke a safety property."""
        return all(n[key] == 0 for n in self.numbers for key in SAFETY)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(section, label, value, note) of everything worth a line."""
        there = [(metric, self.estimate(metric.key)) for metric in METRICS if metric.key in self]
        return [(metric.section, metric.label, show(estimate, metric.form), "" if metric.plain else metric.says)
                for metric, estimate in there if _worth(metric, estimate)]

    def _by_seed(self) -> list[str]:
        """What each of several runs said, a line a seed."""
        if len(self.numbers) < 2:
            return []
        shown = [m for m in METRICS if m.by_seed and m.key in self]
        width = max(len(str(seed)) for seed in self.seeds)
        return [f"{head:<12} {seed:>{width}}: " + ", ".join(
            f"{m.name} {show(Estimate(numbers[m.key], 0.0, 1), m.form)}" for m in shown)
            for head, seed, numbers in zip(["By seed", *[""] * len(self.seeds)], self.seeds, self.numbers, strict=False)]

    def table(self) -> str:
        """The table that is printed, as plain text."""
        rows = self.rows()
        label = max((len(r[1]) for r in rows), default=0)
        value = max((len(r[2]) for r in rows), default=0)
        lines, section = [self.title], None
        for part, name, shown, note in rows:
            head = part if part != section else ""
            section = part
            lines.append(f"{head:<12} {name:<{label}}  {shown:>{value}}  {note}".rstrip())
        verdict = "holds" if self.correct else "VIOLATED, see the report"
        lines.append(f"{'Verdict':<12} safety (nothing twice, unpublished, unsubscribed) {verdict}")
        lines += [f"{head:<12} NOT VALID, the numbers are about the machine: {reason}"
                  for head, reason in zip(["Validity", *[""] * len(self.invalid)], self.invalid, strict=False)]
        lines += self._by_seed()
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(map(one_line, lines))  # names and notes come from files


def _worth(metric: Metric, estimate: Estimate) -> bool:
    """Whether the table has a line for it."""
    known = not math.isnan(estimate.mean)
    return {"always": True, "known": known, "some": known and estimate.mean > 0, "never": False}[metric.shown]


def seconds(x: float) -> str:
    """A time with three significant digits, in ms or s."""
    factor, unit = _scale(x)
    return f"{x * factor:,.{_digits(x * factor)}f}{unit}"


def _scale(x: float) -> tuple[float, str]:
    return (1000, " ms") if abs(x) < 0.9995 else (1, " s")  # what rounds to 1000 ms is 1 s


def _digits(x: float) -> int:
    """Decimals that leave three significant digits; of less than 0.001 only those down to there."""
    rounded = float(f"{x:.2e}")
    return 0 if rounded == 0 else min(3, max(0, 2 - math.floor(math.log10(abs(rounded)))))


def show(estimate: Estimate, form: str) -> str:
    """A number with its unit, and the confidence interval when there are several runs."""
    if math.isnan(estimate.mean):
        return "-"
    if estimate.runs < 2:
        return one(estimate.mean, form)
    factor, unit, _, digits = FORMS[form]
    if form == "seconds":
        factor, unit = _scale(estimate.mean)
        digits = _digits(estimate.mean * factor)
    ends = estimate.interval(form)
    if form == "share" and (ends[0] == 0 or ends[1] == 1) and estimate.half:
        low, high = (f"{end * factor:.{digits}f}" for end in ends)
        return f"{estimate.mean * factor:.{digits}f} [{low}, {high}]{unit}"
    return f"{estimate.mean * factor:,.{digits}f} ± {estimate.half * factor:,.{digits}f}{unit}"


def one(x: float, form: str) -> str:
    """The number of one run with its unit."""
    if form == "seconds":
        return seconds(x)
    factor, unit, digits, of_mean = FORMS[form]
    return f"{x * factor:,.{digits if form != 'count' or x == int(x) else of_mean}f}{unit}"
