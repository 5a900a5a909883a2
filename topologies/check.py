"""Checks across tables: values of a scenario that do not go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import mobility
from mobility import outside, waypoint
from node.schema import config
from topologies import amount
from topologies.faults import LinkFault
from topologies.motion import Outside, RandomWaypoint, Static, Trace
from topologies.problems import line, nearest, show
from topologies.run import HostPrograms, Hosts
from topologies.workload import MOST_FILTERS, Publish, Subscribe

if TYPE_CHECKING:
    from topologies.scenario import Scenario

MOST_FOUND = 1000  # by one check: more would only take time and memory, twenty are told
MOST_PLANNED = 2_000_000  # by all hosts together, to bound memory

T = TypeVar("T")
Finding = tuple[str, str, str]  # key, what was found, what to do


def problems(path: Path, scenario: Scenario, read_trace: Callable[[], mobility.Movement],
             broken: Collection[str] = ()) -> list[str]:
    """All problems between the values of a scenario, one line each.

    `broken`: tables with problems of their own; checks that need one of them are skipped.
    """
    found = [finding for check, needed in _CHECKS if not needed & set(broken)
             for finding in islice(check(scenario), MOST_FOUND)]
    if not {"mobility", "hosts", "run"} & set(broken) and isinstance(scenario.mobility, Trace):
        found += _trace(scenario, read_trace())
    return [line(path, *finding) for finding in found]


def _run(scenario: Scenario) -> Iterator[Finding]:
    run = scenario.run
    low, high = run.window
    if run.warm_up >= run.duration:
        yield "run.warm_up", f"{run.warm_up:g} in a run of {run.duration:g} s", "expected less than run.duration"
    elif not low < high and (low, high) != (run.warm_up, run.duration - run.deadline):
        yield "run.window", f"[{low:g}, {high:g}], which is empty", "expected the start first, then the end"
    elif run.deadline >= run.duration and (low, high) == (run.warm_up, run.duration - run.deadline):
        yield "run.deadline", f"{run.deadline:g} in a run of {run.duration:g} s", "expected less than run.duration; both are in s"
    elif not low < high:
        yield (
            "run.window",
            f"[{low:g}, {high:g}], which is empty",
            "use a run longer than warm_up + deadline, or give a window",
        )
    elif low < 0 or high > run.duration:
        yield "run.window", f"[{low:g}, {high:g}]", f"expected a span within the run, [0, {run.duration:g}]"
    elif low >= run.duration - run.deadline:
        found = f"[{low:g}, {high:g}], where nothing is measured: the run ends before the deadline ({run.deadline:g} s) of an event published then"
        yield "run.window", found, f"use a start before {run.duration - run.deadline:g}, a shorter run.deadline or a longer run"


def _hosts(scenario: Scenario) -> Iterator[Finding]:
    hosts = scenario.hosts
    if hosts.count is None and hosts.names is None:
        yield "hosts.count", "nothing", "add it (how many hosts), or hosts.names"
    if hosts.count is not None and hosts.names is not None:
        yield "hosts.count", f"{hosts.count} together with {len(hosts.names)} names", "leave hosts.count out"
    if hosts.names is not None and len(set(hosts.names)) < len(hosts.names):
        yield "hosts.names", f"{show(_twice(hosts.names))} twice", "expected names that differ"
    for key in hosts.each:
        yield from _known(f"hosts.{key}", int(key), len(scenario.names))
    if scenario.run.world == "sim":
        tables: list[tuple[str, Hosts | HostPrograms]] = [("hosts", hosts), *((f"hosts.{key}", own) for key, own in hosts.each.items())]
        for key, table in tables:
            if table.command is not None or table.node is False:
                found = "command" if table.command is not None else "node"
                yield f"{key}.{found}", 'a setting for world "sim", which runs our node only', 'use run.world = "netns"'
    yield from _ports(scenario)


def _ports(scenario: Scenario) -> Iterator[Finding]:
    """Hosts that are real devices behind interfaces of this machine."""
    ports = {key: table for key, table in scenario.hosts.each.items() if table.interface is not None}
    for key, table in ports.items():
        if scenario.run.world == "sim":
            yield f"hosts.{key}.interface", 'a setting for world "sim", in virtual time', 'use run.world = "netns"'
        for name in ("command", "node"):
            if getattr(table, name):
                yield f"hosts.{key}.{name}", "a program for a host that is a real device", "leave it out"
        if scenario.netns.neighbors == "permanent":
            found = '"permanent", but the address of a real device is not known'
            yield "netns.neighbors", f"{found} (hosts.{key}.interface)", 'use "frames"'
    twice = [name for name, times in Counter(table.interface for table in ports.values()).items() if times > 1]
    for interface in twice:
        yield "hosts", f"interface {show(interface)} for two hosts", "expected one interface per host"


def _mobility(scenario: Scenario) -> Iterator[Finding]:
    motion, count = scenario.mobility, len(scenario.names)
    if isinstance(motion, Static):
        if count != len(motion.positions):
            yield "mobility.positions", f"{len(motion.positions)} for {count} hosts", "expected one per host"
        if len({len(place) for place in motion.positions}) > 1:
            yield (
                "mobility.positions",
                "places with two and with three coordinates",
                "expected the same number for all",
            )
    elif isinstance(motion, Outside):
        yield from _outside(scenario, motion)
    elif isinstance(motion, RandomWaypoint):
        try:
            waypoint.check(
                count, motion.area, motion.speed, motion.pause, scenario.run.duration, motion.start
            )
        except ValueError as error:  # "parameter: found this; expected that"
            key, finding = str(error).split(": found ", 1)
            found, cure = finding.split("; ", 1)
            yield f"mobility.{key}", found, cure


def _outside(scenario: Scenario, motion: Outside) -> Iterator[Finding]:
    """A model that is not there, or that refuses its parameters."""
    try:
        known = outside.models()
        if motion.name not in known:
            found = f"{show(motion.name)}, which is no model from outside"
            yield "mobility.name", found, nearest(motion.name, known) if known else "install its package, or name its file in ROAMCAST_MOBILITY"
        else:
            moved = scenario.movement()
            if moved.dimensions == 3 and not all(way.always_present for way in moved.trajectories):
                yield "mobility.name", "absent hosts in 3D, which a run directory cannot store", "use places in 2D, or hosts that stay"
    except (outside.OutsideError, mobility.TraceError) as error:
        found, _, cure = str(error).rpartition("; ")
        yield "mobility.name", found or str(error), cure


def _trace(scenario: Scenario, trace: mobility.Movement) -> Iterator[Finding]:
    motion, names, needed = scenario.mobility, scenario.names, scenario.run.duration
    assert isinstance(motion, Trace)
    if len(names) > len(trace):
        key = "hosts.names" if scenario.hosts.names else "hosts.count"
        yield (
            key,
            f"{len(names)} hosts, but the trace has {len(trace)}",
            f"use at most {len(trace)}, or another trace",
        )
    for key, (format, _) in mobility.OPTIONS.items():
        value = getattr(motion, key)
        if value != type(motion).model_fields[key].default and motion.format != format:
            yield f"mobility.{key}", f"{show(value)} for a trace in {motion.format}", f"leave it out; it is for {format}"
    if scenario.hosts.names is not None and trace.names != [str(k) for k in range(len(trace))]:
        for name, own in zip(names, trace.names):
            if name != own and name in trace.names:
                found = f'"{name}" for the trace\'s host "{own}", but the trace has another host "{name}"'
                yield "hosts.names", found, "leave hosts.names out to use the trace's names, or give others"
                break
    if trace.dimensions == 3 and not all(
            way.always_present or way.window(motion.start, needed).always_present for way in trace.trajectories[:len(names)]):
        yield "mobility.trace", "absent hosts in 3D, which a run directory cannot store", "use places in 2D, or hosts that stay"
    moves = any(len(trajectory.times) > 1 for trajectory in trace.trajectories)
    left = trace.duration - motion.start
    if (moves or trace.duration > 0) and left < needed - 1e-6:
        if left <= 0:
            yield (
                "mobility.start",
                f"{motion.start:g} in a trace of {trace.duration:g} s",
                "expected a time within the trace",
            )
        else:
            after = f" from mobility.start = {motion.start:g} on" if motion.start else ""
            yield (
                "run.duration",
                f"{needed:g}, but the trace lasts {left:g} s{after}",
                f"use at most {left:g}, or a longer trace" + (f" (its duration comes {trace.lasts})" if trace.lasts else ""),
            )


def _radio(scenario: Scenario) -> Iterator[Finding]:
    count, seen = len(scenario.names), set()
    for k, link in enumerate(scenario.radio.links):
        yield from _known(f"radio.links[{k}].from", link.from_, count)
        yield from _known(f"radio.links[{k}].to", link.to, count)
        if link.from_ == link.to:
            yield f"radio.links[{k}]", f"{scenario.naming.who(link.to)} at both ends", "expected two different hosts"
        if (link.from_, link.to) in seen:
            pair = " to ".join(scenario.naming.who(host).removeprefix("host ") for host in (link.from_, link.to))
            yield f"radio.links[{k}]", f"{pair} a second time", "give each direction once"
        seen.add((link.from_, link.to))


def _node(scenario: Scenario) -> Iterator[Finding]:
    node, radio = scenario.node, scenario.radio
    for key, found, cure in config.faults(node.model_dump()):
        yield f"node.{key}", found, f"expected {cure}"
    for key, found, cure in config.mismatches(node.model_dump()):
        yield f"node.{key}", found, cure
    for rate in ("base_rate", "data_rate"):
        if getattr(node, rate) != getattr(radio, rate):
            yield (
                f"node.{rate}",
                f"{getattr(node, rate):g} with radio.{rate} = {getattr(radio, rate):g}",
                f"leave node.{rate} out to use the radio's",
            )


def _workload(scenario: Scenario) -> Iterator[Finding]:
    workload, duration = scenario.workload, scenario.run.duration
    if workload.subscriptions and not workload.kinds:
        found = f"{workload.subscriptions} and no kinds; explicit events and subscriptions switch the generator off"
        yield "workload.subscriptions", found, "give workload.kinds too, or leave it out"
    elif workload.subscriptions > workload.kinds:
        yield (
            "workload.subscriptions",
            f"{workload.subscriptions} of {workload.kinds} kinds",
            "expected at most workload.kinds",
        )
    if 0 < workload.publish_interval < 1e-3:
        yield "workload.publish_interval", f"{workload.publish_interval:g}", "expected 0.001 s or more, or 0 for none"
    yield from _amount(scenario)
    yield from _roaming(scenario)
    if workload.kinds and workload.start >= duration:
        yield "workload.start", f"{workload.start:g} in a run of {duration:g} s", "expected a time within the run"
    for name in ("subscribe", "publish"):
        for k, row in enumerate(getattr(workload, name)):
            key = f"workload.{name}[{k}]"
            yield from _named(scenario, f"{key}.hosts", row.hosts or ())
            if row.at >= duration:
                yield f"{key}.at", f"{row.at:g} in a run of {duration:g} s", "expected a time within the run"
            if row.until is not None and row.until <= row.at:
                yield f"{key}.until", f"{row.until:g}", f"expected a time after at = {row.at:g}"
            yield from amount.of_row(key, row)
    yield from _named(scenario, "workload.hosts", workload.hosts or ())
    if workload.kinds and workload.until is not None and workload.until <= workload.start:
        yield "workload.until", f"{workload.until:g}", f"expected a time after start = {workload.start:g}"
    if workload.log is not None:
        yield from amount.of_log(scenario)


def _named(scenario: Scenario, key: str, hosts: Sequence[int]) -> Iterator[Finding]:
    """Hosts of one row of the workload: they exist, each once, and something of ours runs there to do it."""
    count = len(scenario.names)
    for host in hosts:
        yield from _known(key, host, count)
        if host < count and (without := _nodeless(scenario, host)):
            found = f"{scenario.naming.who(host)}, with {without}, where the workload does not run"
            yield key, found, "leave it out; there, only the host's own programs subscribe and publish"
    if len(set(hosts)) < len(hosts):
        yield key, f"{scenario.naming.who(_twice(hosts))} twice", "give each host once"


def _nodeless(scenario: Scenario, host: int) -> str:
    """What keeps our node, and with it the workload's client, from a host; empty where nothing does."""
    if scenario.hosts.runs_node(host):
        return ""
    if scenario.hosts.interface_of(host) is not None:
        return f"hosts.{host}.interface"
    own = scenario.hosts.each.get(str(host))
    return f"hosts.{host}.node = false" if own is not None and own.node is False else "hosts.node = false"


def _roaming(scenario: Scenario) -> Iterator[Finding]:
    """Hosts that are clients only need others that are brokers, and a tree through which these hand them over."""
    roam, count = scenario.workload.roam, len(scenario.names)
    for host in roam:
        yield from _known("workload.roam", host, count)
        if host < count and (without := _nodeless(scenario, host)):
            yield "workload.roam", f"{scenario.naming.who(host)}, with {without}", "leave it out; its program is the client"
    if len(set(roam)) < len(roam):
        yield "workload.roam", f"{scenario.naming.who(_twice(roam))} twice", "give each host once"
    if roam and set(range(count)) <= set(roam):
        yield "workload.roam", f"all {count} hosts", "leave at least one out as a broker"
    if roam and scenario.node.tree == "none":
        yield "workload.roam", 'hosts that roam with node.tree = "none"', 'use node.tree = "maodv", because a handoff goes through the tree'


def _amount(scenario: Scenario) -> Iterator[Finding]:
    """More than one client of a node may hold, or than a plan of the whole run should."""
    workload, count = scenario.workload, len(scenario.names)
    for_all = sum(row.held for row in workload.subscribe if row.hosts is None)
    own: Counter[int] = Counter()
    for row in workload.subscribe:
        for host in row.hosts or ():
            own[host] += row.held
    most = workload.subscriptions + for_all + max(own.values(), default=0)
    if most > MOST_FILTERS:
        yield "workload.subscribe", f"up to {most} filters at one host", f"expected at most {MOST_FILTERS}, a node's limit"
    rows: tuple[Subscribe | Publish, ...] = (*workload.subscribe, *workload.publish)
    yield from amount.of_events(scenario)
    planned = count * workload.subscriptions + sum(count if row.hosts is None else len(row.hosts) for row in rows)
    if planned > MOST_PLANNED:
        yield "workload", f"{planned:,} subscriptions and events to plan", f"use fewer, or fewer hosts; at most {MOST_PLANNED:,} can be planned"


def _faults(scenario: Scenario) -> Iterator[Finding]:
    count, duration, naming = len(scenario.names), scenario.run.duration, scenario.naming
    for k, fault in enumerate(scenario.faults):
        if fault.at >= duration:
            yield f"faults[{k}].at", f"{fault.at:g} in a run of {duration:g} s", "expected a time within the run"
        if isinstance(fault, LinkFault):
            for host in fault.link:
                yield from _known(f"faults[{k}].link", host, count)
            if fault.link[0] == fault.link[1]:
                yield f"faults[{k}].link", f"{naming.who(fault.link[0])} at both ends", "expected two different hosts"
        else:
            yield from _known(f"faults[{k}].host", fault.host, count)
            if fault.action in ("freeze", "thaw") and scenario.run.world == "sim":
                yield f"faults[{k}].action", f'"{fault.action}" in world "sim"', 'use run.world = "netns", or "crash"'
            elif fault.action in ("freeze", "thaw") and scenario.hosts.interface_of(fault.host) is not None:
                found = f'"{fault.action}" of {naming.who(fault.host)}, a real device that runs its own programs'
                yield f"faults[{k}].action", found, 'use "stop" or "crash", which take it off the air'
    yield from _idle_faults(scenario)


# action -> (states in which it does something, what it is without them, the state after it)
_EFFECTS = {
    "stop": ({"up", "frozen"}, "is down already", "down"),
    "crash": ({"up", "frozen"}, "is down already", "down"),
    "start": ({"down"}, "is up already", "up"),
    "freeze": ({"up"}, "is not up and running", "frozen"),
    "thaw": ({"frozen"}, "is not frozen", "up"),
    "cut": ({"whole"}, "is cut already", "cut"),
    "restore": ({"cut"}, "is not cut", "whole"),
}


def _idle_faults(scenario: Scenario) -> Iterator[Finding]:
    """Faults of hosts and links that are already in the state that the fault would bring about."""
    states: dict[object, str] = {}
    who = scenario.naming.who
    for k, fault in sorted(enumerate(scenario.faults), key=lambda item: item[1].at):
        if isinstance(fault, LinkFault):
            struck: object = frozenset(fault.link)
            state = "whole"
            name = "the link " + " - ".join(who(host).removeprefix("host ") for host in fault.link)
        else:
            struck, name = fault.host, who(fault.host)
            state = "down" if fault.action == "start" else "up"  # absent until it is started first
        state = states.setdefault(struck, state)
        needed, otherwise, then = _EFFECTS[fault.action]
        if state not in needed:
            yield f"faults[{k}].action", f'"{fault.action}" at {fault.at:g} s, when {name} {otherwise}', "leave it out"
        states[struck] = then


def _mininet(scenario: Scenario) -> Iterator[Finding]:
    """What wmediumd, the medium of the world mininet, has no place for."""
    if scenario.run.world != "mininet":
        return
    radio, other = scenario.radio, 'run.world = "hwsim", which uses our medium'
    if radio.model != "unit_disk":
        yield "radio.model", f'{show(radio.model)} in world "mininet", whose wmediumd has its own model of losses', f'use "unit_disk", or {other}'
    for key in ("loss", "delay", "links"):
        if found := getattr(radio, key):
            yield f"radio.{key}", f'{"some" if key == "links" else f"{found:g}"} in world "mininet", whose wmediumd has none', f"use {other}"
    for k, fault in enumerate(scenario.faults):
        if isinstance(fault, LinkFault):
            yield f"faults[{k}].action", f'"{fault.action}" of a link in world "mininet"', f"use {other}"


def _twice(values: Sequence[T]) -> T:
    """The first of them that is there more than once."""
    times = Counter(values)
    return next(value for value in values if times[value] > 1)


def _known(key: str, host: int, count: int) -> Iterator[Finding]:
    if host >= count:
        yield key, f"host {host}", f"expected an id from 0 to {count - 1}"


_CHECKS = (  # each with the tables that it looks at
    (_run, {"run"}),
    (_hosts, {"hosts", "run", "netns"}),
    (_mobility, {"mobility", "hosts", "run"}),
    (_radio, {"radio", "hosts"}),
    (_node, {"node", "radio"}),
    (_workload, {"workload", "hosts", "run", "node"}),
    (_faults, {"faults", "hosts", "run"}),
    (_mininet, {"faults", "radio", "run"}),
)
