"""Defaults that depend on other values, put in before the schema looks at a scenario.

Works on the tables as they were read, which may still hold anything: what does not fit is left
for the schema to find.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mobility
from topologies.problems import key_text, line, nearest, one_line, show
from topologies.run import NAME

Tables = dict[str, Any]


def defaults(
    path: Path, tables: Tables, read_trace: Callable[[Tables], mobility.Movement]
) -> tuple[list[str], set[str]]:
    """Complete `tables` in place; returns problems that the schema will not see, and the tables that they spoil."""
    run = _table(tables, "run")
    run.setdefault("name", one_line(path.stem)[:64] or "scenario")
    duration, warm_up, deadline = run.get("duration"), run.get("warm_up", 0.0), run.get("deadline", 10.0)
    if "window" not in run:
        numbers = all(
            type(value) in (int, float) and math.isfinite(value) for value in (duration, warm_up, deadline)
        )
        run["window"] = [float(warm_up), float(duration - deadline)] if numbers else [0.0, 0.0]
    radio, node = _table(tables, "radio"), _table(tables, "node")
    for rate in ("base_rate", "data_rate"):
        if rate in radio:
            node.setdefault(rate, radio[rate])
    if radio.get("model") == "log_distance" and "sensitivity" in radio:
        radio.setdefault("data_sensitivity", radio["sensitivity"])
    workload = _table(tables, "workload")
    workload.setdefault("kinds", 0 if workload.get("subscribe") or workload.get("publish") else 20)
    workload.setdefault("subscriptions", 0 if workload["kinds"] == 0 else 2)
    problems = _hosts(path, tables, read_trace)
    broken = {"mobility", "hosts"} if problems else set()  # the hosts may be those of the trace
    unknown, where = _ids(path, tables)
    return problems + unknown, broken | where


def _table(tables: Tables, name: str) -> Tables:
    """The table of that name, made if there is none; a stand-in if it is something else."""
    table = tables.setdefault(name, {})
    return table if isinstance(table, dict) else {}


def _hosts(path: Path, tables: Tables, read_trace: Callable) -> list[str]:
    """Count and names from the places or the trace, where the file does not give them."""
    hosts, motion = _table(tables, "hosts"), _table(tables, "mobility")
    own = [key for key, value in hosts.items() if isinstance(value, dict) and key != "each"]
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
    try:
        motion["trace"] = str((path.parent / motion["trace"]).resolve())
    except (OSError, RuntimeError, ValueError):  # symbolic links in a circle, a name too long, a zero byte
        return [line(path, "mobility.trace", show(motion["trace"]), "the name of a file")]
    if "format" not in motion:
        motion["format"] = mobility.format_of(motion["trace"])
        if motion["format"] is None:
            motion["format"] = "bonnmotion"
            name = show(Path(motion["trace"]).name)
            if seems := mobility.looks_like(motion["trace"]):
                return [line(path, "mobility.trace", f"{name}, which looks like {seems[0]}", seems[1])]
            return [
                line(
                    path,
                    "mobility.trace",
                    f"{name} whose format its name does not tell",
                    'add format = "bonnmotion" or "ns2"',
                )
            ]
    if not isinstance(motion["format"], str) or motion["format"] not in mobility.FORMATS:
        return []  # the schema will say so
    try:
        trace = read_trace(motion)
    except mobility.TraceError as error:
        return [f"{path}: mobility.trace: {error}"]
    count = len(trace) if not given else hosts.get("count")
    if type(count) is int and 0 < count <= len(trace) and "names" not in hosts:
        names = trace.names[:count]
        hosts.pop("count", None)
        if names == [str(k) for k in range(count)] or not all(re.match(NAME, name) for name in names):
            hosts["count"] = count
        else:
            hosts["names"] = names
    return []


def _ids(path: Path, tables: Tables) -> tuple[list[str], set[str]]:
    """Replace the names of hosts by their ids wherever a host is named; problems, and in which tables."""
    names = _table(tables, "hosts").get("names")
    known = (
        {name: k for k, name in enumerate(names) if isinstance(name, str)} if isinstance(names, list) else {}
    )
    problems: list[str] = []
    broken: set[str] = set()

    def resolve(value: Any, place: tuple) -> Any:
        if isinstance(value, list):
            return [resolve(item, (*place, k)) for k, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        if value not in known:
            cure = nearest(value, known) if known else "the hosts have no names, give an id"
            problems.append(line(path, key_text(place), f"{show(value)}, which is no host", cure))
            broken.add(place[0])
            return 0
        return known[value]

    for place, table in _naming(tables):
        for key in ("host", "hosts", "link", "from", "to", "roam"):
            if key in table:
                table[key] = resolve(table[key], (*place, key))
    each = _table(_table(tables, "hosts"), "each") if "each" in _table(tables, "hosts") else {}
    for key in list(each):
        if not key.isdecimal():
            each[str(resolve(key, ("hosts", key)))] = each.pop(key)
    return problems, broken


def _naming(tables: Tables) -> list[tuple[tuple, Tables]]:
    """Every table that names hosts, with its place."""
    workload, radio = _table(tables, "workload"), _table(tables, "radio")
    found: list[tuple[tuple, Tables]] = [(("workload",), workload)]
    for place, rows in (
        (("workload", "subscribe"), workload.get("subscribe")),
        (("workload", "publish"), workload.get("publish")),
        (("radio", "links"), radio.get("links")),
        (("faults",), tables.get("faults")),
    ):
        if isinstance(rows, list):
            found += [((*place, k), row) for k, row in enumerate(rows) if isinstance(row, dict)]
    return found
