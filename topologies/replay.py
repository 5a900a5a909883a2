"""Notes about a trace as a scenario replays it: what its reader assumed, and what may not be intended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mobility import Movement, TraceError, Trajectory
from topologies.motion import Trace
from topologies.problems import one_line, show
from topologies.run import NAME, Run
from topologies.scenario import Scenario

FASTEST = 300.0  # m/s; beyond, seconds or meters are meant otherwise
SLOWEST = 0.01  # m/s; if nobody is faster, milliseconds or kilometers are more likely
FAST, SLOW = 40.0, 0.1  # m/s of more than half of all way: then minutes or centimeters, or kilometers, are more likely
COUNTRY = 12.0  # degrees from end to end
SMALLEST = 1.0  # m; all the way of all hosts within less is more likely degrees
SMALL = 10.0  # m; within less it is a room, or more likely kilometers


def is_short(run: Run) -> bool:
    """Whether a run is too short for any event to be expected: one note says so, in place of all that follow from it."""
    return run.grace > run.last_measured


def remarks(scenario: Scenario) -> Iterator[str]:
    """Notes, each "key: what was found; what to do"; none for a scenario without a trace."""
    if not isinstance(scenario.mobility, Trace):
        return
    try:
        whole, replayed = scenario.trace(), scenario.movement()
        assert whole is not None  # as it replays a trace
    except TraceError:  # it was there when the scenario was checked; who starts the run will be told
        return
    yield from (f"mobility.trace: {one_line(note)}" for note in whole.notes)
    yield from _hosts(scenario, whole)
    start = scenario.mobility.start
    if not is_short(scenario.run):
        yield from (f"mobility.trace: {note}" for note in _times(whole, start, start + scenario.run.duration))
    yield from _two_clocks(scenario, start)
    yield from (f"mobility.trace: {note}" for note in _at_the_start(replayed.names, whole, start))
    yield from (f"mobility.trace: {note}" for note in _ways(replayed))
    yield from (f"mobility.trace: {note}" for note in _twins(replayed))


def _hosts(scenario: Scenario, whole: Movement) -> Iterator[str]:
    count, names = len(scenario.names), scenario.names
    if count < len(whole):
        yield f"hosts: the first {count} of the {len(whole)} hosts of the trace take part; leave hosts.count and names out for all"
    strange = [name for name in whole.names[:count] if not re.match(NAME, name)]
    if strange and names == [str(k) for k in range(count)]:
        yield (f"hosts: the trace's names cannot be host names (the first: {one_line(show(strange[0]))}), "
               f"so hosts are named 0 to {count - 1}, in its order")


def _times(whole: Movement, start: float, end: float) -> Iterator[str]:
    """Where the span that is replayed lies in the trace; times of the trace."""
    begin = min(float(t.times[0]) for t in whole.trajectories)
    moving = [span for span in map(_moving, whole.trajectories) if span]
    if begin < 0:
        yield f"the first {-begin:.15g} s are before 0 and are not replayed"
    if not moving:
        yield "no host moves in it"
        return
    first, last = min(span[0] for span in moving), max(span[1] for span in moving)
    if first >= end:
        yield (f"no host moves in this run: the first moves at {first:.15g} s of the trace; "
               f"use mobility.start = {first:.15g} to begin there")
    elif last <= start:
        yield f"no host moves in this run: the last movement ends at {last:.15g} s of the trace, before mobility.start"
    elif last < (start + end) / 2:
        yield f"no host moves after {last:.15g} s of it, so for {end - last:.15g} s of the {end - start:.15g} s of the run"
    elif begin > start:
        yield (f"it begins at {begin:.15g} s, and until then no host moves; use mobility.start = {begin:.15g} "
               "to begin there")


def _two_clocks(scenario: Scenario, start: float) -> Iterator[str]:
    """Times of the scenario that could all be meant as times of the trace."""
    rows = (*scenario.faults, *scenario.workload.subscribe, *scenario.workload.publish)
    times = [row.at for row in rows if row.at > 0]
    if start > 0 and times and (first := min(times)) >= start:
        yield (f"mobility.start: all times of the scenario are relative to it: at = {first:g} is {start + first:.15g} s of the trace")


def _moving(trajectory: Trajectory) -> tuple[float, float] | None:
    """From when to when a host moves at all (s); None for one that does not."""
    steps = np.flatnonzero((trajectory.points[1:] != trajectory.points[:-1]).any(axis=1))
    return (float(trajectory.times[steps[0]]), float(trajectory.times[steps[-1] + 1])) if len(steps) else None


def _at_the_start(names: list[str], whole: Movement, start: float) -> Iterator[str]:
    """Hosts with two places at the very instant at which the run begins, which its movement does not show."""
    two = []
    for name, way in zip(names, whole.trajectories):
        of_then = way.points[way.times == start]
        if len(of_then) > 1 and (of_then != of_then[-1]).any():
            two.append(name)
    if two:
        yield (f"{len(two)} of {len(names)} hosts {'has' if len(two) == 1 else 'have'} two places at {start:.15g} s, when the run begins (the first: host "
               f"{two[0]}): the last place is used")


def _twins(replayed: Movement) -> Iterator[str]:
    """Hosts that go the same way all the time: a line twice, more likely than two hosts."""
    first: dict[bytes, str] = {}
    twins = []
    for name, way in zip(replayed.names, replayed.trajectories):
        same = first.setdefault(way.times.tobytes() + way.points.tobytes() + way.lives.tobytes(), name)
        if same != name:
            twins.append((name, same))
    if twins:
        yield (f"{len(twins)} of {len(replayed)} hosts {'moves' if len(twins) == 1 else 'move'} exactly like another host (the first: host {twins[0][0]}, like "
               f"host {twins[0][1]})")


def _ways(replayed: Movement) -> Iterator[str]:
    """What the hosts do in the run; times of the run."""
    absent = [name for name, t in zip(replayed.names, replayed.trajectories) if not t.always_present]
    if absent:
        yield (f"{len(absent)} of {len(replayed)} hosts {'is' if len(absent) == 1 else 'are'} absent at times: an absent host is out of range, but its "
               "programs run, and its events and subscriptions count")
    legs = _legs(replayed)
    at_once = np.flatnonzero((legs.took == 0) & (legs.way > 0))
    if len(at_once):
        first = at_once[np.lexsort((legs.host[at_once], legs.begin[at_once]))[0]]
        yield (f"{len(at_once)} jump{'s' if len(at_once) > 1 else ''}, where a host has two places at one time (the first: host "
               f"{replayed.names[legs.host[first]]} at {legs.begin[first]:.6g} s)")
    speeds = np.divide(legs.way, legs.took, out=np.zeros_like(legs.way), where=legs.took > 0)
    fastest = int(np.argmax(speeds)) if len(speeds) else 0
    top = float(speeds[fastest]) if len(speeds) else 0.0
    if top > FASTEST:
        yield (f"host {replayed.names[legs.host[fastest]]} moves at {top:.3g} m/s at {legs.begin[fastest]:.6g} s; expected times in s and places "
               "in m")
    elif 0 < top < SLOWEST:
        yield f"no host is faster than {top:.3g} m/s (host {replayed.names[legs.host[fastest]]}); expected times in s and places in m"
    elif top and not SLOW <= (typical := _typical(speeds, legs.way)) <= FAST:
        yield (f"hosts cover half of their distance at {'more' if typical > FAST else 'less'} than {typical:.3g} m/s ({3.6 * typical:.3g} km/h); expected times "
               f"in s, not {'min' if typical > FAST else 'ms'}, and places in m, not {'cm' if typical > FAST else 'km'}")
    low = np.min([t.points.min(axis=0)[:2] for t in replayed.trajectories], axis=0)
    high = np.max([t.points.max(axis=0)[:2] for t in replayed.trajectories], axis=0)
    yield from within(low, high)


def _typical(speeds: np.ndarray, way: np.ndarray) -> float:
    """The speed (m/s) at which half of all way is covered: what hosts do while they stand, or jump, hardly counts."""
    order = np.argsort(speeds)
    covered = np.cumsum(np.where(speeds > 0, way, 0.0)[order])
    return float(speeds[order][np.searchsorted(covered, covered[-1] / 2)])


def within(low: np.ndarray, high: np.ndarray) -> Iterator[str]:
    """What the bounds of all places say about their unit."""
    size = float((high - low)[:2].max())
    if 0 < size < SMALLEST:
        yield f"all hosts stay within {size:.3g} m; expected places in m, not degrees"
    elif may_be_degrees(low, high):
        yield f"all hosts stay within {size:.3g} m, far from 0, 0; expected places in m, not degrees"
    elif 0 < size < SMALL:
        yield f"all hosts stay within {size:.3g} m; expected places in m, not km"


def extent(movement: Movement) -> tuple[float, float]:
    """m: how far all places of a movement reach in x and y."""
    low = np.min([t.points.min(axis=0)[:2] for t in movement.trajectories], axis=0)
    high = np.max([t.points.max(axis=0)[:2] for t in movement.trajectories], axis=0)
    return float(high[0] - low[0]), float(high[1] - low[1])


def may_be_degrees(low: np.ndarray, high: np.ndarray) -> bool:
    """Whether the bounds of all places could be those of a country, in latitude and longitude in either order."""
    span, most = (high - low)[:2], np.maximum(np.abs(low), np.abs(high))[:2]
    offset = float(np.hypot(*(low + high)[:2])) / 2
    return bool(SMALLEST <= span.max() < COUNTRY and most.max() <= 180 and most.min() <= 90 and offset > 3 * span.max())


class _Legs(NamedTuple):
    """All legs of all hosts in flat arrays."""

    host: np.ndarray
    begin: np.ndarray  # s
    took: np.ndarray  # s
    way: np.ndarray  # m


def _legs(movement: Movement) -> _Legs:
    counts = np.array([len(t.times) for t in movement.trajectories])
    host = np.repeat(np.arange(len(counts)), counts)
    times = np.concatenate([t.times for t in movement.trajectories])
    points = np.zeros((len(times), movement.dimensions))
    for axis in range(movement.dimensions):
        points[:, axis] = np.concatenate([t.points[:, axis] if axis < t.points.shape[1] else np.zeros(len(t.times))
                                          for t in movement.trajectories])
    own = host[1:] == host[:-1]  # the others lead from one host to the next
    return _Legs(host[:-1][own], times[:-1][own], np.diff(times)[own], np.linalg.norm(np.diff(points, axis=0), axis=1)[own])
