"""The one port between a node and its world.

A node has no sockets, no clock, no sleep and no global random: all it does to the outside goes
through an `Environment`, and all that happens to it comes in by the methods of `broker.Broker`.
The worlds implement the port: a heap of timed actions in `sim`, trio and UDP in `daemon`.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from node.ids import NodeId


class Timer(Protocol):
    def cancel(self) -> None:
        """Forget the action; harmless when it has run or was cancelled."""


class Runtime(Protocol):
    """Time, chance and records: what every part has of the world."""

    @property
    def random(self) -> random.Random:
        """Seeded by the world from (seed, "node", node id, epoch)."""

    def now(self) -> float:
        """Seconds since the run started; constant while one input is handled."""

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        """Run `action` once, `delay` seconds from now (0 <= delay)."""

    def record(self, kind: str, **fields: object) -> None:
        """Append one record (kinds and fields: schema/records.toml); adds t and node."""


class Environment(Runtime, Protocol):
    """And the radio, which `station.Station` alone uses."""

    def broadcast(self, datagram: bytes) -> None:
        """Hand one datagram to the radio for all in range: one hop, unreliable."""

    def unicast(self, to: NodeId, datagram: bytes) -> None:
        """Hand one datagram to the radio for one host in range; its fate is not told."""
