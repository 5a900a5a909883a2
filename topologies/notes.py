"""Notes about a valid scenario that may not say what its author meant.

They report what a scenario leaves open and what has no effect. Notes that need the node's filter language are in
emulation/workload.py. `emulation.runner.notes` has both, for `check`, the run and its report.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from mobility import Movement, TooDense, TraceError, Trajectory, waypoint
from mobility.contacts import effort
from topologies import idle, replay
from topologies.draws import bounds
from topologies.faults import HostFault, LinkFault
from topologies.motion import RandomWaypoint, Static, Trace
from topologies.problems import one_line, show
from topologies.radio import LogDistanceRadio, UnitDiskRadio
from topologies.scenario import Scenario
from topologies.workload import Publish, Subscribe

MOST_APART = 0.1  # share of the base rate's range by which the data rate's may be shorter without a word
MOST_ALIKE = 3  # notes of one kind that are told one by one
MOST_NAMED = 8  # hosts in one line
MOST_INSTANTS = 200_000  # of explicit events that are looked at
FEWEST = 0.1  # neighbors of a host, or subscribers of an event, on average: below, next to nothing happens
MOST_COARSE = 0.1  # share of the measured time that one record of traffic may span
FRAME = 2e-4  # s: of a frame on the air, whatever it carries
DAY = 86_400.0  # s; a longer run was more likely meant in ms
LONG = 120.0  # s; a longer deadline or grace was more likely meant in ms
SLOW_RATE = 1e5  # bit/s; less is more likely kbit/s, as no radio for such a network is so slow
RATES_OF_80211A = (6e6, 9e6, 12e6, 18e6, 24e6, 36e6, 48e6, 54e6)  # bit/s
MANY_AT_ONCE = 3  # hosts that publish at one time, from which on it is said: two wait for each other, and that is all

WIDE = 5.0  # times the diagonal of all places: then the range is no m, or the places are none
MANY_NEIGHBORS = 10
SHELLS = ("sh", "bash", "dash", "zsh", "ash", "busybox")
DEVIATIONS = 4  # of shadowing and fading, beyond which nothing is received by luck
FAR_REFERENCE = 10.0  # m
MOST_LOOKS = 10_000_000  # at hosts, to find out who ever meets whom: some seconds' work


def notes(scenario: Scenario) -> list[str]:
    """Sentences "key: what was found; what to do"; none of them stops the scenario from running."""
    kinds = (_reach(scenario.radio), _wide(scenario), _radio(scenario), _run(scenario), _hosts(scenario), _places(scenario), _model(scenario), _trace(scenario), _meetings(scenario),
             _workload(scenario), _generator(scenario), _subscriptions(scenario), _publications(scenario), _busy(scenario), _bursts(scenario),
             _absent(scenario), _gone(scenario), _node(scenario), _faults(scenario), idle.notes(scenario))
    return [*map(one_line, replay.remarks(scenario)), *(note for kind in kinds for note in few(kind))]


def few(told: Iterable[str]) -> Iterator[str]:
    """The first notes for each key, and how many more there are; each on one line, whatever names it contains."""
    kinds: Counter[str] = Counter()
    for note in told:
        kind = re.sub("[0-9]+", "", note.partition(": ")[0])
        kinds[kind] += 1
        if kinds[kind] <= MOST_ALIKE:
            yield one_line(note)
    if more := sum(max(times - MOST_ALIKE, 0) for times in kinds.values()):
        yield f"and {more:,} more of this kind; fix these first, then check again"


def named(scenario: Scenario, hosts: Iterable[int]) -> str:
    """host 3 / hosts 0, 1 ("ann") and 4 more"""
    hosts = list(hosts)
    shown = ", ".join(scenario.naming.who(host).removeprefix("host ") for host in hosts[:MOST_NAMED])
    more = f" and {len(hosts) - MOST_NAMED:,} more" if len(hosts) > MOST_NAMED else ""
    return f"host{'s' if len(hosts) != 1 else ''} {shown}{more}"


def half_range(radio: LogDistanceRadio, sensitivity: float) -> float:
    """Distance (m) within which more than half of the frames are received, over all shadowing and fading."""
    margin = radio.tx_power - radio.reference_loss - sensitivity
    return float(radio.reference_distance * 10.0 ** (max(margin, 0.0) / (10.0 * radio.exponent)))


def farthest(radio: UnitDiskRadio | LogDistanceRadio) -> tuple[float, str]:
    """Distance (m) beyond which almost no frame is received, and the words for it."""
    if not isinstance(radio, LogDistanceRadio):
        return radio.range, f"radio.range = {radio.range:g} m"
    most = half_range(radio, radio.sensitivity - DEVIATIONS * math.hypot(radio.shadowing, radio.fading))
    return most, f"almost nothing is received beyond {most:.0f} m"


def _reach(radio: object) -> Iterator[str]:
    if not isinstance(radio, LogDistanceRadio):
        return
    if radio.reference_distance > FAR_REFERENCE:
        yield (f"radio.reference_distance: {radio.reference_distance:g} m: closer hosts are received no more strongly than "
               "at that distance; give reference_loss at 1 m, unless you mean this")
    if radio.tx_power - radio.reference_loss < radio.sensitivity:
        yield (f"radio.tx_power: {radio.tx_power:g} dBm less reference_loss = {radio.reference_loss:g} dB is below "
               f"sensitivity = {radio.sensitivity:g} dBm: most broadcasts are lost at any distance")
        return
    base, data = half_range(radio, radio.sensitivity), half_range(radio, radio.data_sensitivity)
    yield (f"radio: half of the broadcasts ({radio.base_rate / 1e6:g} Mbit/s) are received at {base:.0f} m, half of "
           f"the unicasts ({radio.data_rate / 1e6:g} Mbit/s) at {data:.0f} m")
    if data < base * (1.0 - MOST_APART):
        yield (f"radio.data_sensitivity: {radio.data_sensitivity:g} dBm with sensitivity = {radio.sensitivity:g}: "
               f"beacons make neighbors between {data:.0f} and {base:.0f} m whom few unicasts reach (a gray zone, "
               "docs/worlds.md); leave it out, unless that is what you study")


def _wide(scenario: Scenario) -> Iterator[str]:
    """A range many times as long as anybody can be away from anybody."""
    radio, motion = scenario.radio, scenario.mobility
    reach = half_range(radio, radio.sensitivity) if isinstance(radio, LogDistanceRadio) else radio.range
    try:
        size = math.hypot(*(motion.area if isinstance(motion, RandomWaypoint) else replay.extent(scenario.movement())))
    except TraceError:  # it was there when the scenario was checked; who starts the run will be told
        return
    if len(scenario.names) > 1 and size >= replay.SMALL and reach > WIDE * size:
        yield (f"{'radio' if isinstance(radio, LogDistanceRadio) else 'radio.range'}: {reach:.5g} m, and no two hosts are ever more than {size:.4g} m apart: all "
               "hear each other at all times; ranges and places are in m")


def _radio(scenario: Scenario) -> Iterator[str]:
    radio = scenario.radio
    if radio.loss >= 1:
        yield "radio.loss: 1, so no frame is received except on radio.links with a lower loss; use a share below 1"
    if radio.delay >= scenario.run.deadline:
        yield (f"radio.delay: {radio.delay:g} s with run.deadline = {scenario.run.deadline:g}, so no event is in time; use a "
               "longer deadline or a shorter delay")
    patience, key = min((getattr(scenario.node, key), key) for key in ("request_wait", "join_wait", "channel_give_up"))
    if scenario.node.tree != "none" and 2.0 * radio.delay >= patience:
        yield (f"radio.delay: {radio.delay:g} s each way, but a host waits only node.{key} = {patience:g} s for an answer, so a "
               "tree hardly grows; expected a delay in s")
    for key in ("base_rate", "data_rate"):
        if getattr(radio, key) < SLOW_RATE:
            yield f"radio.{key}: {getattr(radio, key):g} bit/s, so 100 bytes take {800 / getattr(radio, key):.2g} s; expected a rate in bit/s"
    world = scenario.run.world
    for key in ("base_rate", "data_rate") if world == "hwsim" else ("base_rate",) if world == "mininet" else ():
        if (rate := getattr(radio, key)) not in RATES_OF_80211A:
            sent = max((known for known in RATES_OF_80211A if known <= rate), default=RATES_OF_80211A[0])
            yield f"radio.{key}: {rate:g} bit/s is not a rate of 802.11a; frames are sent at {sent:g} bit/s"
    if radio.data_rate < radio.base_rate:
        yield (f"radio.data_rate: {radio.data_rate:g} bit/s, slower than base_rate = {radio.base_rate:g}; "
               "radios send broadcasts at their lowest rate")
    for k, link in enumerate(radio.links):
        if link.loss == radio.loss:
            yield f"radio.links[{k}]: loss = {link.loss:g}, the same as radio.loss, so it has no effect; leave it out"


def _run(scenario: Scenario) -> Iterator[str]:
    run = scenario.run
    low, high = run.window
    if replay.is_short(run):
        yield (f"run.grace: an event is expected only if its subscriber subscribed {run.grace:g} s before it, and no event after {run.last_measured:g} s is "
               f"measured, so nothing is expected in a run of {run.duration:g} s; use a longer run.duration")
    if high > run.duration - run.deadline + 1e-9:
        yield (f"run.window: events after {run.duration - run.deadline:g} s are not measured, although the window ends at {high:g} s: the run "
               f"ends before their deadline of {run.deadline:g} s; use a longer run.duration")
    if low < run.warm_up:
        yield f"run.window: it begins at {low:g} s, before warm_up = {run.warm_up:g} is over, so part of the warm-up is measured"
    if run.duration > DAY:
        yield f"run.duration: {run.duration:g} s, which is {run.duration / 3600:.3g} h; expected s"
    for key in ("deadline", "grace"):
        if (given := getattr(run, key)) >= LONG:
            yield f"run.{key}: {given:g} s, which is {given / 60:.3g} min; expected s, not ms"
    if run.warm_up > run.duration / 2:
        yield f"run.warm_up: {run.warm_up:g} s of a run of {run.duration:g} s, so less than half of it is measured; expected s"
    if run.world != "sim":
        for key, limit in (*((key, run.duration) for key in ("medium", "positions", "nodes", "host", "stall")), ("dropped", 1.0)):
            if (given := getattr(run.fidelity, key)) >= limit:
                yield f"run.fidelity.{key}: {given:g}, a limit that no run exceeds, so no run is invalid by it"
            elif key in ("medium", "nodes", "host") and given >= run.deadline:
                yield (f"run.fidelity.{key}: {given:g} s, as long as run.deadline = {run.deadline:g}: a run would be valid although all its events were "
                       "late because of the machine; expected s")
    if run.journal and scenario.workload.roam:
        yield f"run.journal: none is kept for roaming clients ({named(scenario, scenario.workload.roam)}); only brokers have one"


def _hosts(scenario: Scenario) -> Iterator[str]:
    hosts, count = scenario.hosts, len(scenario.names)
    naming = scenario.naming
    if hosts.numbers is not None and not naming.muddled:
        yield "hosts.numbers: has no effect if no name is or contains another host's number; leave it out"
    if count == 1:
        yield "hosts: with one host, nothing is sent by radio; use two or more"
    if naming.muddled:
        what = "are numbers" if naming.twofold else "contain numbers"
        yield (f"hosts: names {what} that are not their hosts' ids: {naming.confusion()}; records, captures and the files of the "
               "run directory use ids")
    for key, own in hosts.each.items():
        if own == type(own)():
            yield f"hosts.{key}: has no effect on {scenario.naming.who(int(key))}; leave it out"
        if own.interface is not None:
            yield f"hosts.{key}.interface: a run receives and sends frames on {own.interface} of this machine"
    for command in hosts.commands(count):
        if len(command) == 1 and re.search(r"\s", command[0]):
            yield (f'hosts.command: {show(command[0])} is the name of a single program, spaces included; write ["program", "argument"]')
        elif any(re.search(r"[$|<>&*~`]", part) for part in command) and Path(command[0]).name not in SHELLS:
            yield f'hosts.command: {show(list(command))}: no shell reads it, so $, ~, *, | and so on are not expanded; use ["sh", "-c", ".."] to run one'
    without = [host for host in range(count) if not hosts.runs_node(host)]
    idle_ = [host for host in without if hosts.command_of(host) is None and hosts.interface_of(host) is None]
    if idle_:
        yield f"hosts: {named(scenario, idle_)} {'runs' if len(idle_) == 1 else 'run'} no node and no command, so nothing happens there"
    if without and _plans(scenario):
        yield (f"workload: has no effect at {named(scenario, without)} without our node; only programs of your own subscribe and "
               "publish there")


def _plans(scenario: Scenario) -> bool:
    """Whether part of the workload applies to all hosts."""
    workload = scenario.workload
    rows: tuple[Subscribe | Publish, ...] = (*workload.subscribe, *workload.publish)
    return workload.kinds > 0 or any(row.hosts is None for row in rows)


def _places(scenario: Scenario) -> Iterator[str]:
    """Static places that cannot have been meant, and hosts that nobody can hear."""
    motion = scenario.mobility
    radio = scenario.radio
    if isinstance(motion, RandomWaypoint) and len(scenario.names) > 1:
        disk = not isinstance(radio, LogDistanceRadio)
        reach = half_range(radio, radio.sensitivity) if isinstance(radio, LogDistanceRadio) else radio.range
        near = (len(scenario.names) - 1) * math.pi * reach ** 2 / (motion.area[0] * motion.area[1])
        mute = isinstance(radio, LogDistanceRadio) and radio.tx_power - radio.reference_loss < radio.sensitivity  # which is told by itself
        if near < FEWEST and not mute:
            yield (f"{'radio.range' if disk else 'radio'}: {reach:.5g} m in an area of {motion.area[0]:g} m x {motion.area[1]:g} m gives a host "
                   f"{near:.2g} neighbors on average")
    if not isinstance(motion, Static):
        return
    same = Counter(motion.positions)
    if crowded := [place for place, times in same.items() if times > 1]:
        hosts = [host for host, place in enumerate(motion.positions) if same[place] > 1]
        where = ", ".join(f"{x:g}" for x in crowded[0])
        yield f"mobility.positions: {named(scenario, hosts)} share a place with another host, such as [{where}]"
    for axis, which in ((0, "first"), (2, "third")) if len(motion.positions) > 2 and len(motion.positions[0]) == 3 else ():
        column = [place[axis] for place in motion.positions]
        if any(column == [host + first for host in range(len(column))] for first in (0, 1)):
            yield (f"mobility.positions: the {which} number of each place looks like its host's id but is read as {'xyz'[axis]} of [x, y, z]; leave "
                   "ids out, because places are in the order of the hosts")
    if len(motion.positions) < 2:
        return
    points = np.array(motion.positions)
    yield from (f"mobility.positions: {note}" for note in replay.within(points.min(axis=0), points.max(axis=0)))
    most, said = farthest(radio)
    nearest = cKDTree(points).query(points, k=2)[0][:, 1]
    if len(alone := np.flatnonzero(nearest > most)):
        yield (f"mobility.positions: {named(scenario, alone.tolist())} {'is' if len(alone) == 1 else 'are'} out of range of everybody "
               f"({said}, the nearest at {nearest[alone].min():g} m)")


def _model(scenario: Scenario) -> Iterator[str]:
    """Parameters of random waypoint that look like other units, or with which hardly anybody moves."""
    motion, duration = scenario.mobility, scenario.run.duration
    if not isinstance(motion, RandomWaypoint):
        return
    if motion.speed[1] > replay.FASTEST or motion.speed[1] < replay.SLOW or motion.speed[0] > replay.FAST:
        yield f"mobility.speed: up to {motion.speed[1]:g} m/s ({3.6 * motion.speed[1]:.4g} km/h); expected m/s"
    if max(motion.area) < replay.SMALL:
        yield f"mobility.area: {motion.area[0]:g} m x {motion.area[1]:g} m; expected lengths in m"
    if motion.pause[1] > duration and waypoint.moving_share(motion.area, motion.speed, motion.pause) < 0.5:
        pauses = f"{motion.pause[0]:g} s and more" if motion.pause[0] > duration else f"up to {motion.pause[1]:g} s"
        yield f"mobility.pause: {pauses}, but the run lasts {duration:g} s, so most hosts never move; expected s"


def _meetings(scenario: Scenario) -> Iterator[str]:
    """Hosts of a trace that nobody ever hears, and what is said of links between hosts that never hear each other."""
    if isinstance(scenario.mobility, RandomWaypoint) or len(scenario.names) < 2:
        return
    try:
        if isinstance(scenario.mobility, Trace):
            yield from _alone(scenario, scenario.movement())
        yield from _apart(scenario)
    except TraceError:  # it was there when the scenario was checked; who starts the run will be told
        return


def _alone(scenario: Scenario, movement: Movement) -> Iterator[str]:
    most, said = farthest(scenario.radio)
    met = movement.met(most, MOST_LOOKS)
    if met is None:
        yield (f"mobility.trace: {len(movement):,} hosts, so it would take too long to find out who is ever in range of whom ({said}); not "
               "checked")
    elif len(alone := np.flatnonzero(~met)):
        yield (f"mobility.trace: {named(scenario, alone.tolist())} {'is' if len(alone) == 1 else 'are'} out of range of everybody throughout the "
               f"run ({said})")


def _apart(scenario: Scenario) -> Iterator[str]:
    """Links that are spoken of, between hosts that are never in range of each other."""
    links = {f"radio.links[{k}]": (link.from_, link.to) for k, link in enumerate(scenario.radio.links)}
    links |= {f"faults[{k}]": fault.link for k, fault in enumerate(scenario.faults) if isinstance(fault, LinkFault)}
    if not links:
        return
    hosts = sorted({host for link in links.values() for host in link})
    most, said = farthest(scenario.radio)
    whole, duration = scenario.movement(), scenario.run.duration
    some = Movement([whole.names[host] for host in hosts], [whole.trajectories[host] for host in hosts], duration)
    contacts = None
    if effort(some.pieces, most, 0.0, duration) <= MOST_LOOKS:
        with suppress(TooDense):
            contacts = some.contacts(most, 0.0, duration)
    if contacts is None:
        yield (f"radio.links: {len(hosts):,} hosts, so it would take too long to find out whether the ends of each link are ever in range of each "
               "other; not checked")
        return
    pairs = {frozenset((hosts[i], hosts[j])) for i, j in zip(contacts.i.tolist(), contacts.j.tolist())}
    for key, (one, other) in links.items():
        if frozenset((one, other)) not in pairs:
            yield (f"{key}: {named(scenario, (one, other))} are out of range of each other throughout the run "
                   f"({said}), so it has no effect")


def _trace(scenario: Scenario) -> Iterator[str]:
    """What of a trace is left out, or cannot be as it is there."""
    trace, motion = scenario.trace(), scenario.mobility
    if trace is None or not isinstance(motion, Trace):
        return
    count = len(scenario.names)
    start, end = motion.start, motion.start + scenario.run.duration
    absent = [host for host, way in enumerate(trace.trajectories[:count]) if not way.always_present]
    never = [host for host in absent if _never_there(trace.trajectories[host], start, end)]
    if never:
        yield f"mobility.trace: {named(scenario, never)} {'is' if len(never) == 1 else 'are'} absent during the whole run"
    for k, fault in enumerate(scenario.faults):
        for host in (fault.host,) if isinstance(fault, HostFault) else fault.link:
            if host in absent and host not in never and not trace.trajectories[host].present(start + fault.at):
                yield f"faults[{k}]: affects {scenario.naming.who(host)} at {fault.at:g} s, when it is absent in the trace"


def _never_there(way: Trajectory, start: float, end: float) -> bool:
    """Whether a trajectory has no place in a span: at its waypoints within, and at both ends."""
    times = [start, end, *(float(t) for t in way.times if start <= t <= end)]
    return not any(way.present(t) for t in times)


def _workload(scenario: Scenario) -> Iterator[str]:
    workload = scenario.workload
    generated = workload.kinds > 0
    logged = workload.log is not None
    subscribed = bool(workload.subscribe) or generated and workload.subscriptions > 0
    published = bool(workload.publish) or logged or generated and workload.publish_interval > 0
    if published and not subscribed:
        yield ("workload: events are published but nobody subscribes, so nothing is delivered; add "
               "[[workload.subscribe]], or kinds for the generator")
    elif not subscribed and not published:
        yield ("workload: nobody subscribes and nothing is published, so nothing is delivered; add [[workload.subscribe]] and "
               "[[workload.publish]], or kinds for the generator")
    elif subscribed and not published:
        yield ("workload: hosts subscribe but nothing is published, so nothing is delivered; add "
               "[[workload.publish]], or kinds and publish_interval for the generator")


def _generator(scenario: Scenario) -> Iterator[str]:
    workload, run = scenario.workload, scenario.run
    if not workload.kinds:
        return
    interval, left = workload.publish_interval, run.duration - workload.start
    short = replay.is_short(run)
    if interval > left and not short:
        yield (f"workload.publish_interval: {interval:g} s, but the generator runs for {left:g} s, so about {1 - left / interval:.0%} of the hosts "
               "publish nothing")
    hosts, high = len(scenario.names if workload.hosts is None else workload.hosts), run.last_measured
    if workload.subscriptions and not short and workload.start + run.grace > high and workload.start < run.window[1]:
        yield (f"run.grace: the generator subscribes at {workload.start:g} s, and events are expected from {run.grace:g} s later, after the last "
               f"measured event ({high:g} s), so nothing is expected")
    if interval and not short and (high - max(run.window[0], workload.start)) * hosts / interval < 1:
        yield f"run.window: from {run.window[0]:g} to {high:g} s the generator publishes hardly any events; use a longer window"
    if 0 < workload.subscriptions * hosts / workload.kinds < FEWEST:
        yield (f"workload.kinds: {workload.kinds:,}, of which each host subscribes to {workload.subscriptions}: an event has "
               f"{workload.subscriptions * hosts / workload.kinds:.2g} subscribers on average")
    if interval and (load := hosts / interval * (FRAME + workload.payload * 8 / scenario.radio.data_rate)) > 1:
        yield (f"workload.publish_interval: {hosts} hosts with an event each every {interval:g} s need {load:.3g} times the air's capacity "
               "if all hear each other, even if each event is sent once")
    if workload.payload and workload.publish:
        yield (f"workload.payload: {workload.payload} bytes are added to the generator's events only; those of workload.publish carry "
               "their attributes")
    taken = {f'kind = "k{kind:02d}"' for kind in range(min(workload.kinds, MOST_INSTANTS))} if workload.subscriptions else set()
    for k, row in enumerate(workload.subscribe):
        if (row.until is not None or row.on is not None) and (same := next((text for text in row.all_filters if text in taken), None)):
            yield (f"workload.subscribe[{k}].{'until' if row.on is None else 'on'}: hosts to which the generator gave the same filter, {same}, lose it then "
                   "too, because a client has a filter once")
    if workload.start >= run.window[1]:
        yield f"workload.start: {workload.start:g} s, after the end of run.window at {run.window[1]:g} s, so nothing is measured"


def _subscriptions(scenario: Scenario) -> Iterator[str]:
    run = scenario.run
    high = run.last_measured
    for k, row in enumerate(scenario.workload.subscribe):
        key = f"workload.subscribe[{k}]"
        if row.until is not None and row.until >= run.duration:
            yield f"{key}.until: {row.until:g} s, but the run ends at {run.duration:g} s, so it is never withdrawn"
        if replay.is_short(run):
            continue
        if row.on is not None and bounds(row.on)[1] < run.grace + run.deadline:
            yield (f"{key}.on: a subscription lasts at most {bounds(row.on)[1]:g} s, but an event is expected only by who is subscribed from run.grace = "
                   f"{run.grace:g} s before it until run.deadline = {run.deadline:g} s after it, so nothing is expected")
        if row.at + run.grace > high:
            yield (f"{key}.at: {row.at:g} s, and events are expected from run.grace = {run.grace:g} s later, after the last "
                   f"measured event ({high:g} s), so nothing is expected")
        elif row.until is not None and row.until - row.at < run.grace + run.deadline:
            yield (f"{key}.until: it lasts {row.until - row.at:g} s, but an event is expected only by who is subscribed from run.grace = "
                   f"{run.grace:g} s before it until run.deadline = {run.deadline:g} s after it, so nothing is expected")


def _publications(scenario: Scenario) -> Iterator[str]:
    run, count = scenario.run, len(scenario.names)
    low, high = run.window[0], run.last_measured
    for k, row in enumerate(scenario.workload.publish):
        key, hosts = f"workload.publish[{k}]", count if row.hosts is None else len(row.hosts)
        end = min(run.duration, math.inf if row.until is None else row.until)
        if row.every is None and row.until is not None:
            yield f"{key}.until: has no effect on a single event; add `every`, or leave it out"
        if row.until is not None and row.until > run.duration:
            yield f"{key}.until: {row.until:g} s, but the run ends at {run.duration:g} s"
        if row.every is not None and row.is_exact and row.at + row.every >= end:
            yield f"{key}.every: {row.every:g} s after {row.at:g} s is not before {end:g} s, so there is one event per host"
        if row.spread and hosts == 1:
            yield f"{key}.spread: with one host there is nothing to spread; leave it out"
        if row.spread and row.at + row.spread * (hosts - 1) / hosts >= end:
            yield f"{key}.spread: {row.spread:g} s from {row.at:g} s on goes beyond {end:g} s, so some hosts publish nothing"
        if not row.falls_into(low, high, run.duration):
            yield f"{key}: all of its events are outside {low:g} to {high:g} s, so none is measured; check run.window"


def _busy(scenario: Scenario) -> Iterator[str]:
    """Explicit events that come faster than the air takes them, beside those of the generator."""
    count = len(scenario.names)
    rate = sum((count if row.hosts is None else len(row.hosts)) * row.busiest() for row in scenario.workload.publish)
    if (load := rate * FRAME) > 1:
        yield (f"workload.publish: {rate:,.0f} events per second need {load:.3g} times the air's capacity if all hosts hear each other, even if "
               "each event is sent once")


def _instants(scenario: Scenario) -> Iterator[tuple[float, int, int]]:
    """(s, row, host) of each explicit event whose time is not drawn, as far as they can be counted in a moment."""
    duration = scenario.run.duration
    for k, row in enumerate(scenario.workload.publish):
        hosts = range(len(scenario.names)) if row.hosts is None else row.hosts
        end = min(duration, math.inf if row.until is None else row.until)
        for number, host in enumerate(hosts if row.is_exact else ()):
            first = row.at + (row.spread or 0.0) * number / len(hosts)
            times = 1 if row.every is None else math.ceil(max(end - first, 0.0) / row.every)
            for count in range(times if first < end else 0):
                yield round(first + count * (row.every or 0.0), 6), k, host


def _bursts(scenario: Scenario) -> Iterator[str]:
    """Explicit events of many hosts at one instant: they meet on the air, and wait for each other."""
    hosts: Counter[float] = Counter()
    for time, _, _ in islice(_instants(scenario), MOST_INSTANTS):
        hosts[time] += 1
    crowded = [time for time, times in hosts.items() if times >= MANY_AT_ONCE]
    if not crowded:
        return
    worst = max(crowded, key=lambda time: (hosts[time], -time))
    rows = list(dict.fromkeys(k for time, k, _ in islice(_instants(scenario), MOST_INSTANTS) if time == worst))
    keys = ", ".join(f"[{k}]" for k in rows[:MOST_NAMED]) + (f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else "")
    spread = min((row.every for k in rows if (row := scenario.workload.publish[k]).every), default=1.0)
    others = f", and {MANY_AT_ONCE} or more at {len(crowded) - 1:,} other times" if len(crowded) > 1 else ""
    yield (f"workload.publish{keys}: {hosts[worst]:,} events are published at one time, {worst:g} s{others}: they wait for each other "
           f"on the air, which adds to their latency; use spread = {spread:g} to start the hosts of a table one after the other, "
           "or give each its own `at`")


def _down(scenario: Scenario) -> dict[int, list[tuple[float, float]]]:
    """When hosts are down or frozen by [[faults]]: spans in s, by host."""
    spans: dict[int, list[tuple[float, float]]] = {}
    for fault in sorted(scenario.faults, key=lambda fault: fault.at):
        if not isinstance(fault, HostFault):
            continue
        of = spans.setdefault(fault.host, [])
        is_open = bool(of) and of[-1][1] == math.inf
        if fault.action in ("start", "thaw"):
            of.append((of.pop()[0] if is_open else 0.0, fault.at))
        elif not is_open:
            of.append((fault.at, math.inf))
    return spans


def _gone(scenario: Scenario) -> Iterator[str]:
    """Hosts that are down for good before anything counts for them."""
    run, workload, hosts = scenario.run, scenario.workload, range(len(scenario.names))
    ends = {host: of[-1][0] for host, of in _down(scenario).items() if of and of[-1][1] == math.inf}
    if len(ends) == len(hosts) and (last := max(ends.values())) < run.last_measured:
        yield f"faults: all hosts are down from {last:g} s on, but events are measured until {run.last_measured:g} s"
    if workload.kinds or workload.log is not None or not workload.publish:  # events all along, or none, which another note says
        return
    first = min(event.at for event in workload.publish)
    for k, row in enumerate(workload.subscribe):
        subscribers = hosts if row.hosts is None else row.hosts
        if all(ends.get(host, math.inf) <= max(first, row.at + run.grace) for host in subscribers):
            yield (f"workload.subscribe[{k}]: {named(scenario, subscribers)} {'is' if len(subscribers) == 1 else 'are'} down by [[faults]] before any "
                   "event counts there, so nothing is expected")


def _absent(scenario: Scenario) -> Iterator[str]:
    """Explicit events of hosts that are down or frozen at the time: they are not published."""
    spans = _down(scenario)
    missed: dict[int, Counter[int]] = {}
    for time, k, host in islice(_instants(scenario), MOST_INSTANTS if spans else 0):
        if any(begin <= time < end for begin, end in spans.get(host, ())):
            missed.setdefault(k, Counter())[host] += 1
    for k, hosts in missed.items():
        yield (f"workload.publish[{k}]: {hosts.total():,} of its events are due while {named(scenario, sorted(hosts))} "
               f"{'is' if len(hosts) == 1 else 'are'} down by [[faults]], so they are not published")


_NEVER = {  # what does not come to pass where a timer of [node] is as long as the run
    "leader_interval": "leaders are not announced, and trees that meet hardly merge",
    "request_wait": "a host that seeks a tree waits for replies until the end and joins none",
    "join_wait": "an unanswered join is never retried",
    "merge_wait": "trees that meet never merge",
    "rto_min": "nothing lost on a link is retransmitted",
    "rto_max": "what is lost several times on a link is hardly retransmitted",
    "rto_initial": "nothing lost on a new link is retransmitted",
    "channel_give_up": "no link is ever given up for missing acknowledgements",
    "unsubscription_timer": "subscriptions of a lost link are never withdrawn",
    "subscription_timer": "what `informed` holds back is never sent",
    "activate_wait": "the end of a new link never stops waiting",
    "path_wait": "an interrupted reconfiguration is never given up",
    "handoff_wait": "a new broker waits for old ones until the end",
    "roam_dwell": "no client moves to a broker that it hears better",
    "traffic_interval": "traffic is counted once, at the end",
}


def _node(scenario: Scenario) -> Iterator[str]:
    """Timers with which a part never comes to do its work."""
    node, duration = scenario.node, scenario.run.duration
    first = node.hello_interval * node.hello_up
    if duration / 2 <= first < duration and not replay.is_short(scenario.run):
        yield (f"node.hello_interval: {node.hello_up} beacons at {node.hello_interval:g} s make a neighbor, but the run lasts {duration:g} s: "
               f"there are no neighbors before {first:g} s")
    if node.hello_interval < MANY_NEIGHBORS * FRAME:
        yield (f"node.hello_interval: {node.hello_interval:g} s, so the beacons of {MANY_NEIGHBORS} hosts in range of each other fill the air")
    if node.tree != "none" and node.ack_delay >= node.rto_max:
        yield (f"node.ack_delay: {node.ack_delay:g} s, but what is not acknowledged within rto_max = {node.rto_max:g} s is retransmitted: everything is "
               "sent twice, or the link is given up")
    if scenario.workload.roam and node.client_age < node.handoff_wait:
        yield (f"node.client_age: {node.client_age:g} s, but a new broker waits handoff_wait = {node.handoff_wait:g} s for old ones, so "
               "events are dropped meanwhile")
    if first >= duration:
        yield (f"node.hello_interval: {node.hello_up} beacons at {node.hello_interval:g} s make a neighbor, but the run lasts {duration:g} s: "
               "there are no neighbors")
    if node.tree != "none" and node.channel_give_up <= node.rto_initial:
        yield (f"node.channel_give_up: {node.channel_give_up:g} s, but the first retransmission comes after rto_initial = "
               f"{node.rto_initial:g} s, so a link ends at the first loss")
    idle_keys = set(idle.keys(scenario))
    for key, then in _NEVER.items():
        value = getattr(node, key)
        if value >= duration and f"node.{key}" not in idle_keys and value != type(node).model_fields[key].default:
            yield f"node.{key}: {value:g} s in a run of {duration:g} s: {then}"
    warm_up = scenario.run.warm_up
    if warm_up and not replay.is_short(scenario.run) and node.traffic_interval > (duration - warm_up) * MOST_COARSE:
        yield (f"node.traffic_interval: {node.traffic_interval:g} s, but {duration - warm_up:g} s are measured: traffic counts at the end of "
               f"such an interval, so part of the warm-up ({warm_up:g} s) counts as sent after it")
    if node.recovery == "none":
        return
    if node.cache_lifetime < node.gossip_interval:
        yield (f"node.cache_lifetime: {node.cache_lifetime:g} s is less than a round (gossip_interval = {node.gossip_interval:g} s), so most events "
               "are gone before anybody asks for them")
    if node.gossip_interval >= duration:
        yield f"node.gossip_interval: {node.gossip_interval:g} s in a run of {duration:g} s, so no round takes place"
    elif node.lost_patience < node.gossip_interval:
        yield (f"node.lost_patience: {node.lost_patience:g} s is less than a round (gossip_interval = {node.gossip_interval:g} s), so most "
               "lost events are given up before anybody asks for them")
    if node.gossip_forward == 0 and node.recovery != "publisher_pull":
        yield "node.gossip_forward: 0, so gossip ends at the first broker"


def _faults(scenario: Scenario) -> Iterator[str]:
    first: dict[int, HostFault] = {}
    for fault in sorted(scenario.faults, key=lambda fault: fault.at):
        if isinstance(fault, HostFault):
            first.setdefault(fault.host, fault)
    late = [host for host, fault in first.items() if fault.action == "start"]
    if late:
        yield f"faults: {named(scenario, sorted(late))} {'is' if len(late) == 1 else 'are'} absent before the first \"start\""
    twice = Counter((fault.host, fault.at) for fault in scenario.faults if isinstance(fault, HostFault))
    for (host, at), times in twice.items():
        if times > 1:
            yield f"faults: {times} affect {scenario.naming.who(host)} at one time, {at:g} s; they apply in the order of the file"
    links = Counter((frozenset(fault.link), fault.at) for fault in scenario.faults if isinstance(fault, LinkFault))
    for (link, at), times in links.items():
        if times > 1:
            yield f"faults: {times} affect the link between {named(scenario, sorted(link))} at one time, {at:g} s; they apply in the order of the file"
    cut = {(link.from_, link.to) for link in scenario.radio.links if link.loss >= 1}
    for k, fault in enumerate(scenario.faults):
        if isinstance(fault, LinkFault) and {fault.link, fault.link[::-1]} <= cut:
            yield f"faults[{k}]: no frame passes between {named(scenario, fault.link)} anyway, because of radio.links, so it has no effect; leave one of them out"
