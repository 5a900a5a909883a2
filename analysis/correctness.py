"""Is what was delivered right? The safety properties of a correct publish/subscribe system.

jaeger-self-managing-thesis, definition 5: a client gets a notification at most once (a), only what
was published before (b), only what it is subscribed for (c). Checked on every delivery of the run,
not only on those that count.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from analysis.delivery import deliveries
from analysis.event import Event
from analysis.expected import Wishes

EXAMPLES = 5
Breach = tuple[float, int, str, str]  # a delivery that breaks a rule: t (s), node, client, event


class Violation(NamedTuple):
    """One of the three properties: how many deliveries break it, and some of them."""

    name: str
    says: str
    deliveries: int
    examples: list[str]


SAYS = {
    "twice": "nothing is delivered to a client twice",
    "unpublished": "nothing is delivered that was not published before",
    "unsubscribed": "nothing is delivered to a client that is not subscribed to it",
}


class Ends(NamedTuple):
    """What records may lack of the end of a life, as a power cut leaves them."""

    hosts: Collection[int] | None  # of whose records the last may be lost; None for all
    ended: Collection[str]  # lives that have their end on record, "source.epoch"
    numbers: dict[str, int]  # life -> the highest number that a publication on record has

    def cut_off(self, event: Event) -> bool:
        """Whether it comes after the last publication on record of a life that has no end on record: the numbers of a life
        grow by one, so the records that it lost are those past the last."""
        return (event.at is None and (self.hosts is None or event.namesake in self.hosts) and event.life not in self.ended
                and event.number > self.numbers.get(event.life, 0))


class Safety:
    """Goes through the events and counts the deliveries that break a rule; keeps the first of them."""

    def __init__(self, wishes: Wishes, ends: Ends) -> None:
        self._wishes, self._ends = wishes, ends
        self.found: dict[str, tuple[int, list[Breach]]] = {rule: (0, []) for rule in SAYS}

    def check(self, event: Event, filters: Collection[str]) -> None:
        """filters: hashes of those that the event matches."""
        cut_off = self._ends.cut_off(event)
        for (node, client), got in deliveries(event).items():
            times = [t for t, _, _ in got]
            if len(times) > 1:
                self._add("twice", [(max(times), node, client, event.name)], len(times) - 1)
            for t in times:
                if not cut_off and (event.at is None or event.at > t):
                    self._add("unpublished", [(t, node, client, event.name)])
                if event.at is not None and not self._wishes.held(node, client, filters, t):
                    self._add("unsubscribed", [(t, node, client, event.name)])

    def _add(self, rule: str, breaches: list[Breach], count: int = 1) -> None:
        self.found[rule] = _together(self.found[rule], (count, breaches))


def _together(one: tuple[int, list[Breach]], other: tuple[int, list[Breach]]) -> tuple[int, list[Breach]]:
    return one[0] + other[0], sorted({*one[1], *other[1]})[:EXAMPLES]


def violations(found: Iterable[dict[str, tuple[int, list[Breach]]]]) -> list[Violation]:
    """The three safety properties, in the order of the definition, from what each Safety has found."""
    whole: dict[str, tuple[int, list[Breach]]] = {rule: (0, []) for rule in SAYS}
    for part in found:
        whole = {rule: _together(whole[rule], part[rule]) for rule in SAYS}
    return [Violation(rule, says, whole[rule][0], [f"event {event} at client {client} of host {node}, t = {t:.3f} s"
                                                   for t, node, client, event in whole[rule][1]])
            for rule, says in SAYS.items()]
