"""How long a tree needs from the moment when the radio of one of its links is gone, out of a run's records.

The clock starts with the world's own `radio_down`, not when a node notices, and stops when both ends of the
link are in one tree again: joined by links that both of their ends hold open and whose radio is there.
"""
from __future__ import annotations

import heapq
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from emulation import records
from node.filters import parse

KINDS = ("radio_up", "radio_down", "link_gained", "link_lost")


class Repairs(NamedTuple):
    """What became of the tree links whose radio vanished."""

    seconds: list[float]  # from the loss to one tree again, where it came to that
    cut_off: int  # the radio left no way between the ends for a while: nothing can be repaired then
    returned: int  # the radio came back before the tree had given the link up
    unfinished: int  # when the run ended


class _World:
    """The radio and the tree links at one moment."""

    def __init__(self) -> None:
        self.radio: dict[int, set[int]] = defaultdict(set)  # from -> who hears it
        self.open: dict[str, set[int]] = defaultdict(set)  # link -> ends that hold it open

    def take(self, record: dict) -> None:
        kind = record["kind"]
        if kind == "radio_up":
            self.radio[record["from"]].add(record["to"])
        elif kind == "radio_down":
            self.radio[record["from"]].discard(record["to"])
        elif kind == "link_gained":
            self.open[record["link"]].add(record["node"])
        else:
            self.open[record["link"]].discard(record["node"])

    def hear(self, a: int, b: int) -> bool:
        return b in self.radio[a] and a in self.radio[b]

    def in_range(self) -> dict[int, set[int]]:
        return {a: {b for b in heard if self.hear(a, b)} for a, heard in list(self.radio.items())}

    def tree(self) -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for link, held in self.open.items():
            if len(held) == 2:
                a, b = ends(link)
                if self.hear(a, b):
                    found[a].add(b)
                    found[b].add(a)
        return found


def ends(link: str) -> tuple[int, int]:
    """Of "low-high.nonce"."""
    low, high = link.split(".")[0].split("-")
    return int(low), int(high)


def joined(graph: dict[int, set[int]], a: int, b: int) -> bool:
    seen, todo = {a}, [a]
    while todo:
        at = todo.pop()
        if at == b:
            return True
        for other in graph.get(at, ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return False


def read(directory: Path, *kinds: str) -> list[dict]:
    """The records of these kinds of a run, in order of time."""
    files = sorted((directory / "nodes").iterdir(), key=lambda file: int(file.stem))
    streams = ((r for r in records.read(file) if r["kind"] in kinds)
               for file in [directory / "world.jsonl", *files])
    return list(heapq.merge(*streams, key=lambda record: record["t"]))


def measure(directory: Path, since: float = 0.0) -> Repairs:
    """Every tree link, held open by both ends, whose radio vanished after `since`."""
    world = _World()
    waiting: dict[str, float] = {}  # link -> when its radio vanished
    seconds: list[float] = []
    cut_off = returned = 0
    for record in read(directory, *KINDS):
        world.take(record)
        if record["kind"] == "radio_down" and record["t"] >= since:
            gone = {record["from"], record["to"]}
            for link, held in world.open.items():
                if held == gone and link not in waiting:
                    waiting[link] = record["t"]
        if not waiting:
            continue
        tree, radio = world.tree(), world.in_range()
        for link, lost in list(waiting.items()):
            a, b = ends(link)
            if not joined(radio, a, b):
                cut_off += 1
            elif world.hear(a, b) and len(world.open[link]) == 2:
                returned += 1
            elif joined(tree, a, b):
                seconds.append(record["t"] - lost)
            else:
                continue
            del waiting[link]
    return Repairs(seconds, cut_off, returned, len(waiting))


def delivered(directory: Path, since: float, until: float, deadline: float, grace: float) -> tuple[int, int]:
    """(had in time, should have had) of the events published in this time, over their subscribers.

    As the analysis counts, for a workload in which nobody unsubscribes.
    """
    wanted: dict[str, list[tuple[int, float]]] = defaultdict(list)
    published: list[dict] = []
    had: dict[str, dict[int, float]] = defaultdict(dict)
    for record in read(directory, "subscribed", "published", "delivered"):
        if record["kind"] == "subscribed":
            wanted[record["filter"]].append((record["node"], record["t"]))
        elif record["kind"] == "published":
            published.append(record)
        else:
            had[record["event"]].setdefault(record["node"], record["t"])
    filters = {text: parse(text) for text in wanted}
    due = got = 0
    for event in published:
        t = event["t"]
        if not since <= t < until:
            continue
        attributes = {attribute["name"]: next(v for v in attribute["value"].values() if v is not None)
                      for attribute in event["attributes"]}
        subscribers = {node for text, f in filters.items() if f.matches(attributes)
                       for node, at in wanted[text] if at <= t - grace}
        due += len(subscribers)
        got += sum(had[event["event"]].get(node, float("inf")) <= t + deadline for node in subscribers)
    return got, due
