"""What should have been delivered: every event against every client that should have had it.

Liveness of a correct publish/subscribe system (jaeger-self-managing-thesis, definition 5) asks for
delivery to whoever is subscribed; in a finite run that becomes: an event published at p in the
measurement window is expected at a client that was subscribed to any matching filter throughout
[p - grace, p + deadline], while its host was up throughout.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

Span = tuple[float, float]
Client = tuple[int, str]  # the subscriber: host and name


class Pair(NamedTuple):
    """An event's client that should have had it."""

    node: int
    client: str
    node_down: bool  # its host was not up throughout: a pair that is shown but does not count


class Wishes:
    """What clients mean to get, what their nodes knew of it, and when hosts were up."""

    def __init__(self, wants: pd.DataFrame, held: pd.DataFrame, lives: pd.DataFrame) -> None:
        """The frames of intervals.Intervals."""
        self._wants, self._held = _by_hash(wants), _by_hash(held)
        self._lives: dict[int, list[Span]] = {}
        for node, up, down in lives[["node", "up", "down"]].itertuples(index=False):
            self._lives.setdefault(node, []).append((up, down))

    def lived(self, node: int, start: float, end: float) -> bool:
        """Whether the host was up throughout, which is to say in one life."""
        return any(up <= start and down >= end for up, down in self._lives.get(node, ()))

    def expected(self, filters: Iterable[str], start: float, end: float) -> list[Pair]:
        """Clients that asked for one of the filters from `start` to `end` (s) without a gap."""
        told = _covering(self._held, filters, start, end)
        pairs = []
        for node, client in sorted(_covering(self._wants, filters, start, end) | told):
            up = self.lived(node, start, end)
            if not up or (node, client) in told:
                pairs.append(Pair(node, client, not up))
        return pairs

    def held(self, node: int, client: str, filters: Iterable[str], at: float) -> bool:
        """Whether the node knew at that moment that the client wants what one of the filters matches."""
        return any(up <= at <= down for hash_ in filters for up, down in self._held.get(hash_, {}).get((node, client), ()))


def _by_hash(spans: pd.DataFrame) -> dict[str, dict[Client, list[Span]]]:
    found: dict[str, dict[Client, list[Span]]] = {}
    for node, client, hash_, up, down in spans[["node", "client", "hash", "up", "down"]].itertuples(index=False):
        found.setdefault(hash_, {}).setdefault((node, client), []).append((up, down))
    return found


def _covering(spans: dict[str, dict[Client, list[Span]]], filters: Iterable[str], start: float, end: float) -> set[Client]:
    """Clients some of whose intervals follow on one another from `start` to `end`."""
    asked: dict[Client, list[Span]] = {}
    for hash_ in filters:
        for client, own in spans.get(hash_, {}).items():
            for up, down in own:
                if up <= end and down >= start:
                    asked.setdefault(client, []).append((up, down))
    return {client for client, own in asked.items() if _covers(own, start, end)}


def _covers(spans: list[Span], start: float, end: float) -> bool:
    """Whether intervals, in order, each begin before those ahead of it have ended, and last until `end`."""
    reached = start
    for up, down in sorted(spans):
        if up > reached:
            return False
        reached = max(reached, down)
    return reached >= end
