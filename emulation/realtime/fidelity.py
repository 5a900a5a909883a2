"""How well a real-time run kept to its time: measured in every process, judged at the end.

Lateness is counted in classes whose bounds grow by a tenth, so that a percentile is known to a tenth
of itself. The counts of each process lie in memory that all share: they survive its death.
"""
from __future__ import annotations

import math
import mmap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from topologies.netns import Fidelity as Limits

FINEST = 1e-6  # s: all that is earlier counts as this
GROWTH = 1.1
LATE = {"medium": "the medium", "positions": "the position updates", "nodes": "the nodes"}
CLASSES = 208  # the last begins at 340 s
_PER_LOG = 1.0 / math.log(GROWTH)

_WORST, _WORST_FROM = CLASSES, CLASSES + 1  # beside the classes: ns; ns of the run when what was so late was due
PUBLISHED, DELIVERED, RECORDS_LOST, UNSENT, NEIGHBORS = range(CLASSES + 2, CLASSES + 7)
SETTING_UP, THAWED = CLASSES + 7, CLASSES + 8  # ns of processor time; ns of the run when it was thawed
SEEN = CLASSES + 9  # ns of the run when the process last counted
CALLED, TAKEN = CLASSES + 10, CLASSES + 11  # broadcasts of a node, and what the medium got of them
REACHED, HEARD = CLASSES + 12, CLASSES + 13  # datagrams that the medium gave to a host, and what its node got of them
REFUSED = CLASSES + 14  # datagrams that the kernel did not take of a node
_WORDS = CLASSES + 15
LOST_INSIDE = 20, 0.05  # datagrams of each life, and share of all, that may be lost at a host without a word
ENOUGH = 200  # samples of one process: with fewer a single late one would be its 99th percentile
MOST_TOLD = 10  # hosts that are named one by one


class Tally:
    """The counts of one process: a lateness histogram and a few totals, 64 bits each."""

    def __init__(self, words: memoryview[int]) -> None:
        self.words = words

    def late(self, seconds: float, due: float = 0.0) -> None:
        """Count one lateness, of what was due at a time of the run."""
        words = self.words
        if seconds <= FINEST:
            words[0] += 1
            return
        words[min(int(math.log(seconds / FINEST) * _PER_LOG), CLASSES - 1)] += 1
        nanoseconds = int(seconds * 1e9)
        if nanoseconds > words[_WORST]:
            words[_WORST], words[_WORST_FROM] = nanoseconds, int(max(due, 0.0) * 1e9)

    def late_at(self, now: float, seconds: float) -> None:
        """Count how late something was at `now`, a time of the run; that it was late because the scenario
        had frozen the host does not count."""
        seconds = min(seconds, now - self.words[THAWED] * 1e-9)
        self.late(seconds, now - seconds)

    @property
    def worst(self) -> float:
        """s that anything was late at most."""
        return self.words[_WORST] * 1e-9

    @property
    def worst_from(self) -> float:
        """The run's time, in s, when that was due."""
        return self.words[_WORST_FROM] * 1e-9


def tallies(count: int) -> list[Tally]:
    """So many tallies in memory that processes forked from now on share."""
    words = memoryview(mmap.mmap(-1, max(count, 1) * _WORDS * 8)).cast("Q")
    return [Tally(words[k * _WORDS:(k + 1) * _WORDS]) for k in range(count)]


def lateness(tallied: Sequence[Tally]) -> dict[str, Any]:
    """Median, 99th percentile and worst of all of these together, and from when on it was so late, in s; null without
    samples."""
    rows = (tally.words[:CLASSES].tolist() for tally in tallied)
    counts = [sum(column) for column in zip(*rows, strict=True)]
    samples = sum(counts)
    worst, worst_from = max(((tally.worst, tally.worst_from) for tally in tallied), default=(0.0, 0.0))
    return {"samples": samples, "median": _quantile(counts, samples, 0.5, worst),
            "p99": _quantile(counts, samples, 0.99, worst),
            "worst": round(max(worst, FINEST), 6) if samples else None,
            "worst_from": round(worst_from, 3) if samples else None}


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


def lost_inside(name: str, words: memoryview[int], lives: int, dropped: int) -> list[str]:
    """What a host's node and the medium ought to have had from each other and had not, in sentences. `dropped`: by the
    host's full sockets, which is judged elsewhere. A life that is cut short leaves a few uncounted."""
    said = []
    for there, here, ways in ((REACHED, HEARD, "reached {}'s interface did not reach its node"),
                              (CALLED, TAKEN, "{}'s node sent to all did not leave its interface")):
        lost = words[there] - words[here] - (dropped if there == REACHED else 0)
        if lost > lives * LOST_INSIDE[0] + LOST_INSIDE[1] * words[there]:
            said.append(f"{lost} of {words[there]} datagrams that {ways.format(name)}: something at the host drops them, "
                        "perhaps a firewall, a bridge or a queueing discipline")
    return said


class Part(NamedTuple):
    """A process whose lateness is judged by itself."""

    name: str
    tally: Tally
    host: bool = False  # a host's node: its percentile counts, too


def judge(measured: dict[str, Any], limits: Limits, disturbances: Iterable[str], parts: Iterable[Part] = ()) -> list[str]:
    """Why a run is not valid, one sentence each; none when it kept to the limits of [run.fidelity].

    `measured`: the manifest's table fidelity. `disturbances`: what happened that was not in the scenario.
    """
    wrong = few([said for part in parts for said in _by_itself(part, limits)], "hosts were as late", MOST_TOLD)
    for name, what in LATE.items():
        p99, limit = measured[name]["p99"], getattr(limits, name)
        if p99 is not None and p99 > limit:
            wrong.append(f"the 99th percentile of how late {what} ran is {p99 * 1e3:.4g} ms, more than "
                         f"run.fidelity.{name} = {limit * 1e3:g} ms")
    dropped = measured["socket_drops"] + measured["tap_drops"]
    share = dropped / max(dropped + measured["receptions"], 1)
    if share > limits.dropped:
        wrong.append(f"{dropped} frames were dropped because nobody read them in time ({share:.2%} of what was "
                     f"received), more than run.fidelity.dropped = {limits.dropped:.2%}")
    if measured["records_lost"] > limits.records_lost:
        wrong.append(f"{measured['records_lost']} records were lost, more than "
                     f"run.fidelity.records_lost = {limits.records_lost}")
    return wrong + list(disturbances)


def _by_itself(part: Part, limits: Limits) -> list[str]:
    """What is wrong with one process, whatever the others did."""
    if part.tally.worst > limits.stall:
        return [f"{part.name} stood still for {part.tally.worst:.2f} s from {part.tally.worst_from:.1f} s on, more than "
                f"run.fidelity.stall = {limits.stall:g} s"]
    found = lateness([part.tally])
    if part.host and found["samples"] >= ENOUGH and found["p99"] > limits.host:
        return [f"the 99th percentile of how late {part.name} ran is {found['p99'] * 1e3:.4g} ms, more than run.fidelity.host = "
                f"{limits.host * 1e3:g} ms"]
    return []


def few(sentences: list[str], rest: str, most: int) -> list[str]:
    """Not more of them than a person reads."""
    more = len(sentences) - most
    return sentences[:most] + ([f"and {more} more {rest}"] if more > 0 else [])
