"""Digests: identifiers of events in a gossip message, grouped by what they have in common, and bounded.

costa-epidemic-reliability, figures 2 and 3 (digest). An identifier is a tuple that ends with a number; those that agree
in all the rest share an entry. A digest fits a datagram together with the longest route, whoever made it; one
that names more is not of a node that plays by the rules, and is refused before it is looked through.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

GROUPS = 40  # of one digest
BYTES = 760  # of one digest at most
GROUP = 16  # bytes of a group's head at most
NUMBER = 5  # bytes of a number at most
MOST = BYTES // NUMBER  # identifiers in one digest

Item = tuple[Any, ...]  # ends with a number
Digest = tuple[Item, ...]  # each the head of some items and the tuple of their numbers


def grouped(items: Iterable[Item]) -> Digest:
    """The identifiers that fit, the first ones first."""
    groups: dict[Item, list[int]] = {}
    room = BYTES
    for *head, number in items:
        key = tuple(head)
        if key not in groups and len(groups) == GROUPS:
            continue
        room -= NUMBER + (0 if key in groups else GROUP)
        if room < 0:
            break
        groups.setdefault(key, []).append(number)
    return tuple((*key, tuple(numbers)) for key, numbers in groups.items())


def items(digest: Digest) -> Iterator[Item]:
    for *head, numbers in digest:
        for number in numbers:
            yield (*head, number)


def too_large(digest: Digest) -> bool:
    return len(digest) > GROUPS or sum(len(entry[-1]) for entry in digest) > MOST


def chosen(found: Sequence[Item], chance: Random) -> Sequence[Item]:
    """Of more than a digest holds: the newest for one half of it, any of the others for the rest. `found`: oldest first."""
    if len(found) <= MOST:
        return found[::-1]
    newest, others = found[-(MOST // 2):], found[:-(MOST // 2)]
    return [*newest[::-1], *chance.sample(others, min(MOST - len(newest), len(others)))]
