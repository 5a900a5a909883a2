"""The configuration of a node: one value that never changes, with the keys of schema/config.toml.

The keys with their types are in schema/keys.py, which is written from there; what of them cannot be is judged in
schema/config.py, for a scenario as well.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from node.schema import config
from node.schema.config import Finding
from node.schema.keys import Keys

LONG = 30.0  # s, beyond which hardly anybody waits on purpose


@dataclass(frozen=True, slots=True)
class NodeConfig(Keys):
    """Everything about a node that a scenario or a field node's file may choose."""

    def faults(self) -> Iterator[Finding]:
        """(key, what was found, what it takes) of each value that cannot be."""
        return config.faults(asdict(self))

    def mismatches(self) -> Iterator[Finding]:
        """(key, what was found, what would do) of each choice that does not go with the others."""
        return config.mismatches(asdict(self))

    def doubts(self) -> Iterator[tuple[str, str]]:
        """(key, what comes of it) of each timer with which next to nothing happens: in order, and hardly meant."""
        first = self.hello_interval * self.hello_up
        if first > LONG:
            yield "hello_interval", f"{self.hello_up} beacons at {self.hello_interval:g} s make a neighbor, so there is none for {first:g} s"
        if self.tree == "none":
            return
        for key, then in (("leader_interval", "a tree is told so seldom of its leader"), ("request_wait", "a seeker waits so long before it joins"),
                          ("merge_wait", "two trees that meet wait so long to become one")):
            if (seconds := getattr(self, key)) > LONG:
                yield key, f"{seconds:g} s: {then}"


def parts(key: str) -> dict[str, Any]:
    """By the name of each choice of a key the class that does it; not of those that no class does."""
    found = {}
    for name, choice in config.keys()[key].choices.items():
        if choice.part:
            module, _, cls = choice.part.partition(":")
            found[name] = getattr(import_module(f"{__package__}.{module.removeprefix('node.')}"), cls)
    return found
