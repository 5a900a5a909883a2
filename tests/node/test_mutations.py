"""Each protocol broken in one place, and what notices: the oracle, mostly; where a timer repairs the fault,
time.

A mutant is the protocol with one method replaced. The oracle has to fail within as many histories as the
ordinary run tries; a mutant that survives means that the oracle would not see that fault in the real thing.
"""
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from node.reconcile import EVERYTHING
from node.reconcile.informed import Informed
from node.reconcile.notified import Notified
from node.reconcile.path import ReconfigurationPath
from node.reconcile.strawman import Strawman
from node.reconcile.timed import Timed
from tests.node import histories

MUTANTS = {}


def mutant(test):
    """`test(around)` is a protocol in its place that is wrong in one way."""
    MUTANTS[test.__name__] = test
    return test


@mutant
class StrawmanThatForgetsLostLinks(Strawman):
    def lost(self, link):
        self._routing.remove_link(link, keep=True)


@mutant
class TimedThatPurgesALiveLink(Timed):
    """Figure 7 to the letter: the timer processes <n, p>, though n has come back and subscribed again."""

    def _process_pending(self, rid, cause):
        wanted = self._routing.kept(rid)
        super()._process_pending(rid, cause)
        for link in self._routing.links:
            if link[:2] == rid[:2]:
                self._routing.erase(link, [one.hash for one in wanted])
        self._routing.flush()


@mutant
class TimedThatLosesItsTimers(Timed):
    def _process_pending(self, rid, cause):
        self._pending.pop(rid)


@mutant
class TimedThatTellsANewLinkNothing(Timed):
    def gained(self, link):
        self._routing.add_link(link, [key for key, _ in self._routing.table])


@mutant
class NotifiedThatTakesFlushForUnsubscription(Notified):
    """FLUSH makes a node withdraw what its far end wants, in place of what the lost link wanted."""

    def _flush_received(self, link, message):
        super()._flush_received(link, message)
        self._routing.erase(link, list(self._routing.table.filters_of(link)))
        self._routing.flush()


@mutant
class InformedThatSkipsTheTaggedSubscriptions(Informed):
    def _subscription_timer_expires(self, link):
        del self._tagged[link]
        self._routing.holding.release(link)


@mutant
class InformedThatWaitsForActivateForEver(Informed):
    def _await(self, link, replacement, wait):
        super()._await(link, replacement, wait)
        self._waiting[link].timer.cancel()


@mutant
class InformedThatOpensTheLinkAtActivate(Informed):
    """Figure 9 to the letter: the neighbor is added on ACTIVATE, and what it told before is lost."""

    def _await(self, link, replacement, wait):
        add_link, self._routing.add_link = self._routing.add_link, lambda *_: None
        super()._await(link, replacement, wait)
        self._routing.add_link = add_link

    def _activate(self, link, only, cause):
        self._routing.add_link(link, EVERYTHING)
        super()._activate(link, only, cause)


def routing_without(method, instead):
    """ReconfigurationPath on a routing that does `instead` of one of its operations."""
    class Mutant(ReconfigurationPath):
        def __init__(self, around):
            super().__init__(around)
            original = getattr(self._routing, method)
            setattr(self._routing, method, lambda *some, **named: instead(self, original, *some, **named))
    return Mutant


def lose_the_ignore_table(protocol, assume, link, filters, rid):
    assume(link, filters, rid)
    protocol._routing.holding.assumed.pop(link, None)


MUTANTS |= {
    "PathThatLosesTheIgnoreTable": routing_without("assume", lose_the_ignore_table),
    "PathThatAssumesNothing": routing_without("assume", lambda *_: None),
    "PathWhoseReceiverWasNotAssumed": routing_without("was_assumed", lambda *_: None),
    "PathThatNeverCorrects": routing_without("prune", lambda *_: None),
    "PathThatNeverHearsItsAcknowledgement": routing_without("assured", lambda *_: None),
}


@mutant
class PathThatStopsBeforeStepEight(ReconfigurationPath):
    def _finish(self, course):
        super()._finish(course)
        self._routing.holding.hold(course.new, [key for key, _ in self._routing.table])


@mutant
class PathWhoseStrayRecIsDropped(ReconfigurationPath):
    """REC that finds no reservation any more is taken for nonsense."""

    def _rec_astray(self, link, message):
        self._station.dropped("unasked")


@mutant
class PathThatLeavesItsNewLinkWaiting(ReconfigurationPath):
    def _break(self, course, reason, teller):
        waiting = self._waiting.get(course.new)
        super()._break(course, reason, teller)
        if course.new in self._waiting and waiting is not None:
            self._waiting[course.new].timer.cancel()


# The only one that needs a race of three at once, an UNSUB, the REC that it crosses and one filter: some
# three histories in a thousand. test_reconcile_path.py has the one that shows it.
RARE = {"PathThatLosesTheIgnoreTable": (histories.races, 3000)}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in RARE else name
                                  for name in MUTANTS])
def test_the_oracle_notices(name):
    strategy, examples = RARE.get(name, (histories.histories, 400))

    # The same histories always: by chance a few hundred others might miss a mutant, which would say nothing.
    @settings(max_examples=examples, deadline=None, phases=[Phase.generate], database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))
    @given(strategy)
    def whatever_happens(history):
        histories.run(history, MUTANTS[name], events=False)

    with pytest.raises((AssertionError, ExceptionGroup)):
        whatever_happens()
