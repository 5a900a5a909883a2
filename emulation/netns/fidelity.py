"""How well a real-time run kept to its time: measured in every process, judged at the end.

Lateness is counted in classes whose bounds grow by a tenth, so that a percentile is known to a tenth
of itself. The counts of each process lie in memory that all share: they survive its death.
"""
from __future__ import annotations

import math
import mmap
from collections.abc import Iterable, Sequence

FINEST = 1e-6  # s: all that is earlier counts as this
GROWTH = 1.1
LATE = {"medium": "the medium", "positions": "the position updates", "nodes": "the nodes"}
CLASSES = 208  # the last begins at 340 s
_PER_LOG = 1.0 / math.log(GROWTH)

_WORST = CLASSES  # beside the classes: ns
PUBLISHED, DELIVERED, RECORDS_LOST, UNSENT, NEIGHBORS = range(CLASSES + 1, CLASSES + 6)
SETTING_UP, THAWED = CLASSES + 6, CLASSES + 7  # ns of processor time; ns of the run when it was thawed
_WORDS = CLASSES + 8


class Tally:
    """The counts of one process: a lateness histogram and a few totals, 64 bits each."""

    def __init__(self, words) -> None:
        self.words = words

    def late(self, seconds: float) -> None:
        """Count one lateness."""
        words = self.words
        if seconds <= FINEST:
            words[0] += 1
            return
        words[min(int(math.log(seconds / FINEST) * _PER_LOG), CLASSES - 1)] += 1
        nanoseconds = int(seconds * 1e9)
        if nanoseconds > words[_WORST]:
            words[_WORST] = nanoseconds

    def late_at(self, now: float, seconds: float) -> None:
        """Count how late something was at `now`, a time of the run; that it was late because the scenario
        had frozen the host does not count."""
        self.late(min(seconds, now - self.words[THAWED] * 1e-9))


def tallies(count: int) -> list[Tally]:
    """So many tallies in memory that processes forked from now on share."""
    words = memoryview(mmap.mmap(-1, max(count, 1) * _WORDS * 8)).cast("Q")
    return [Tally(words[k * _WORDS:(k + 1) * _WORDS]) for k in range(count)]


def lateness(tallied: Sequence[Tally]) -> dict[str, object]:
    """Median, 99th percentile and worst of all of these together, in s; null without samples."""
    rows = (tally.words[:CLASSES].tolist() for tally in tallied)
    counts = [sum(column) for column in zip(*rows, strict=True)]
    samples = sum(counts)
    worst = max((tally.words[_WORST] for tally in tallied), default=0) * 1e-9
    return {"samples": samples, "median": _quantile(counts, samples, 0.5, worst),
            "p99": _quantile(counts, samples, 0.99, worst),
            "worst": round(max(worst, FINEST), 6) if samples else None}


def _quantile(counts: Sequence[int], samples: int, share: float, worst: float) -> float | None:
    """The upper bound of the class in which it lies."""
    if not samples:
        return None
    seen = 0
    for k, count in enumerate(counts):
        seen += count
        if seen >= share * samples:
            return round(max(FINEST, min(FINEST * GROWTH ** (k + 1), worst)), 6)
    return round(worst, 6)


def judge(measured: dict, limits, disturbances: Iterable[str]) -> list[str]:
    """Why a run is not valid, one sentence each; none when it kept to the limits of [run.fidelity].

    `measured`: the manifest's table fidelity. `disturbances`: what happened that was not in the scenario.
    """
    wrong = []
    for name, what in LATE.items():
        p99, limit = measured[name]["p99"], getattr(limits, name)
        if p99 is not None and p99 > limit:
            wrong.append(f"the 99th percentile of how late {what} ran is {p99 * 1e3:.4g} ms, more than "
                         f"run.fidelity.{name} = {limit * 1e3:g} ms")
    dropped = measured["socket_drops"] + measured["tap_drops"]
    share = dropped / max(dropped + measured["receptions"], 1)
    if share > limits.dropped:
        wrong.append(f"{dropped} frames were dropped for want of time ({share:.2%} of what was received), "
                     f"more than run.fidelity.dropped = {limits.dropped:.2%}")
    if measured["records_lost"] > limits.records_lost:
        wrong.append(f"{measured['records_lost']} records were lost, more than "
                     f"run.fidelity.records_lost = {limits.records_lost}")
    return wrong + list(disturbances)
