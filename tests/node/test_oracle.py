"""The model: after any history of subscriptions, unsubscriptions, publications and link exchanges (one after
another, overlapping in time and in space, the same neighbor back before a timer ran out), with any delays of
notices, messages and timers, once quiet every subscription table equals the table computed from scratch."""
from __future__ import annotations

import histories
import pytest
from hypothesis import given, settings

from node.broker import RECONCILERS
from node.reconcile.strawman import Strawman


class Deferring(Strawman):
    """The routing's side of all protocols, without their sense: what a lost link had wanted is kept and half of
    the table is held back on each new link, until timers say otherwise."""

    def lost(self, link):
        self._core.remove_link(link, keep=True)
        self._core.env.call_later(1.0, lambda: self._core.routing.let_go(link))

    def gained(self, link):
        keys = [key for key, _ in self._core.routing.table]
        self._core.add_link(link, keys[:len(keys) // 2])
        self._core.env.call_later(1.0, lambda: self._core.routing.release(link))


PROTOCOLS = {**RECONCILERS, "deferring": Deferring}


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tables_equal_those_from_scratch(protocol, forwarding):
    check(protocol, forwarding, 150)


@pytest.mark.slow
@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", RECONCILERS)
def test_ten_thousand_histories(protocol, forwarding):
    check(protocol, forwarding, 5000, events=False)


def check(protocol, forwarding, examples, events=True):
    @settings(max_examples=examples, deadline=None)
    @given(histories.histories)
    def whatever_happens(history):
        histories.run(history, PROTOCOLS[protocol], forwarding, events)

    whatever_happens()
