"""Fills in defaults that depend on other values, before the schema checks a scenario.

Works on the tables as they were read, which may still contain anything; the schema finds what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import mobility
from topologies.inexact import Inexact
from topologies.naming import Naming, NoHost
from topologies.problems import HOST_LISTS, MOST_TOLD, key_text, line, one_line, show
from topologies.run import NAME

Tables = dict[str, Any]
MOST = 1e15  # of what is calculated with here; a whole number of TOML can be larger than any float


def defaults(
    path: Path, tables: Tables, read_trace: Callable[[Tables], mobility.Movement]
) -> tuple[list[str], set[str]]:
    """Complete `tables` in place. Returns problems that the schema will not see, and the tables that have them."""
    run = _table(tables, "run")
    run.setdefault("name", one_line(path.stem)[:64] or "scenario")
    duration: Any = run.get("duration")
    warm_up, deadline = run.get("warm_up", 0.0), run.get("deadline", 10.0)
    if "window" not in run:
        numbers = all(type(value) in (int, float) and abs(value) <= MOST for value in (duration, warm_up, deadline))
        run["window"] = [float(warm_up), float(duration - deadline)] if numbers else [0.0, 0.0]
    radio, node = _table(tables, "radio"), _table(tables, "node")
    for rate in ("base_rate", "data_rate"):
        if rate in radio:
            node.setdefault(rate, radio[rate])
    if radio.get("model") == "log_distance" and "sensitivity" in radio:
        radio.setdefault("data_sensitivity", radio["sensitivity"])
    workload = _table(tables, "workload")
    workload.setdefault("kinds", 0 if any(workload.get(key) for key in ("subscribe", "publish", "log")) else 20)
    workload.setdefault("subscriptions", 0 if workload["kinds"] == 0 else 2)
    if isinstance(workload.get("log"), str):
        with suppress(OSError, RuntimeError, ValueError):  # links in a circle, a zero byte: whoever reads it will say so
            workload["log"] = str((path.parent / workload["log"]).resolve())
    problems = _hosts(path, tables, read_trace)
    broken = {"mobility", "hosts"} if problems else set()  # the hosts may be those of the trace
    unknown, where = _ids(path, tables)
    rounded = list(_rounded(path, workload))
    return problems + unknown + rounded, broken | where | ({"workload"} if rounded else set())


def _table(tables: Tables, name: str) -> Tables:
    """The table of that name, made if there is none; a stand-in if it is something else."""
    table = tables.setdefault(name, {})
    return table if isinstance(table, dict) else {}


def _hosts(path: Path, tables: Tables, read_trace: Callable[[dict[str, Any]], mobility.Movement]) -> list[str]:
    """Count and names from the places or the trace, where the file does not give them."""
    hosts, motion = _table(tables, "hosts"), _table(tables, "mobility")
    own = [key for key, value in hosts.items() if isinstance(value, dict)]
    if own:  # [hosts.N]: the schema knows them as hosts.each
        hosts["each"] = {key: hosts.pop(key) for key in own}
    if isinstance(hosts.get("names"), list) and hosts.get("count") == len(hosts["names"]):
        del hosts["count"]
    given = "count" in hosts or "names" in hosts
    if isinstance(motion.get("positions"), list) and not given:
        hosts["count"] = len(motion["positions"])
    if not isinstance(motion.get("trace"), str):
        return []
    if not given:
        hosts["count"] = 1  # until the trace tells; a trace that cannot be read is problem enough
    named = motion["trace"]
    try:
        motion["trace"] = str((path.parent / motion["trace"]).resolve())
    except (OSError, RuntimeError, ValueError):  # symbolic links in a circle, a name too long, a zero byte
        return [line(path, "mobility.trace", show(motion["trace"]), "expected the name of a file")]
    if "format" not in motion:
        motion["format"] = mobility.format_of(motion["trace"])
        if motion["format"] is None:
            motion["format"] = "bonnmotion"
            if not Path(motion["trace"]).is_file():
                return [line(path, "mobility.trace", f"{show(named)}, which is not a file", "give the path of a trace, "
                             "relative to the scenario")]
            name = show(Path(motion["trace"]).name)
            if seems := mobility.looks_like(motion["trace"]):
                return [line(path, "mobility.trace", f"{name}, which looks like {seems[0]}", seems[1])]
            return [
                line(
                    path,
                    "mobility.trace",
                    f"{name}, whose name does not indicate its format",
                    f"add format = {' or '.join(map(show, mobility.FORMATS))}",
                )
            ]
    if not isinstance(motion["format"], str) or motion["format"] not in mobility.FORMATS:
        return []  # the schema will say so
    try:
        trace = read_trace(motion)
    except mobility.TraceError as error:
        gone = error.problem.startswith("no such file")
        return [f"{path}: mobility.trace: {error}{'; the path is relative to the scenario' if gone else ''}"]
    count = len(trace) if not given else hosts.get("count")
    if type(count) is int and 0 < count <= len(trace) and "names" not in hosts:
        names = trace.names[:count]
        hosts.pop("count", None)
        if names == [str(k) for k in range(count)] or not all(re.match(NAME, name) for name in names):
            hosts["count"] = count
        else:
            hosts["names"] = names
    return []


def _rounded(path: Path, workload: Tables) -> Iterator[str]:
    """Values of events that would be other numbers than are written, as no filter would find them."""
    rows = workload.get("publish")
    tables = [(("workload", "publish", k), row) for k, row in enumerate(rows if isinstance(rows, list) else ())]
    for place, row in [(("workload",), workload), *tables]:
        event = row.get("event") if isinstance(row, dict) else None
        for name, value in event.items() if isinstance(event, dict) else ():
            drawn = value.values() if isinstance(value, dict) else (value,)
            for found in (one for item in drawn for one in (item if isinstance(item, list) else (item,)) if isinstance(one, Inexact)):
                yield line(path, key_text((*place, "event", name)), f"{found.text[:40]}, with more digits than a number can hold",
                           f"use {float(found)!r}, its nearest value, or a text")


def _ids(path: Path, tables: Tables) -> tuple[list[str], set[str]]:
    """Replace the names of hosts by their ids wherever a host is named; problems, and in which tables."""
    hosts = _table(tables, "hosts")
    naming = naming_of(hosts)
    problems: list[str] = []
    broken: set[str] = set()

    def resolve(value: Any, place: tuple[Any, ...], by: Callable[[Any], int] = naming.host) -> Any:
        if not isinstance(value, str) and type(value) is not int:
            return value
        if len(problems) >= MOST_TOLD:  # enough was found to say, and each more takes a search among all names
            broken.add(place[0])
            return 0
        try:
            return by(value)
        except NoHost as error:
            broken.add(place[0])
            problems.append(line(path, key_text(place), error.found, error.cure))
            return 0

    for place, table, keys in _naming(tables):
        for key in keys:
            if key not in HOST_LISTS and key in table:
                table[key] = resolve(table[key], (*place, key))
            elif isinstance(table.get(key), list):  # or the schema tells what was found
                table[key] = [resolve(item, (*place, key, k)) for k, item in enumerate(table[key])]
    each: Tables = {}
    for key, table in (_table(hosts, "each") if "each" in hosts else {}).items():
        known = len(problems)
        host = str(resolve(key, ("hosts", key), naming.table))
        if len(problems) > known:  # of nobody: what stands in it is not told of host 0
            continue
        if host in each and "hosts" not in broken:
            broken.add("hosts")
            found = f"a second table for {naming.who(int(host))}"
            problems.append(line(path, f"hosts.{key}", found, "give one table per host"))
        each[host] = table
    if isinstance(hosts.get("each"), dict):
        hosts["each"] = each
    if hosts.get("numbers") == "names" or "numbers" not in hosts and naming.muddled:
        hosts["numbers"] = "ids"  # from here on
    return problems, broken


def naming_of(hosts: Tables) -> Naming:
    """How the table [hosts] names hosts, even if the table has errors."""
    names, count, numbers = hosts.get("names"), hosts.get("count"), hosts.get("numbers")
    sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return Naming(names if sound else None, count if type(count) is int else 0, numbers if isinstance(numbers, str) else None)


def _naming(tables: Tables) -> list[tuple[tuple[Any, ...], Tables, tuple[str, ...]]]:
    """Every table that names hosts, with its place and the keys that do."""
    workload, radio = _table(tables, "workload"), _table(tables, "radio")
    found: list[tuple[tuple[Any, ...], Tables, tuple[str, ...]]] = [(("workload",), workload, ("roam", "hosts"))]
    for place, rows, keys in (
        (("workload", "subscribe"), workload.get("subscribe"), ("hosts",)),
        (("workload", "publish"), workload.get("publish"), ("hosts",)),
        (("radio", "links"), radio.get("links"), ("from", "to")),
        (("faults",), tables.get("faults"), ("host", "link")),
    ):
        if isinstance(rows, list):
            found += [((*place, k), row, keys) for k, row in enumerate(rows) if isinstance(row, dict)]
    return found
