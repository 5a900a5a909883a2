"""The model: after any history of subscriptions, unsubscriptions, publications and link exchanges (one after
another, overlapping in time and in space, the same neighbor back before a timer ran out), with any delays of
notices, messages and timers, once quiet every subscription table equals the table computed from scratch."""
from __future__ import annotations

import ast
import copy
import random

import pytest
from hypothesis import given, settings

from node.broker import RECONCILERS
from node.reconcile.strawman import Strawman
from tests.node import histories
from tests.node.test_mutations import MUTANTS


class Deferring(Strawman):
    """The routing's side of all protocols, without their sense: what a lost link had wanted is kept and half
    of the table is held back on each new link, until timers say otherwise."""

    def __init__(self, around):
        super().__init__(around)
        self.around = around

    def lost(self, link):
        self.around.routing.remove_link(link, keep=True)
        self.around.station.env.call_later(1.0, lambda: self.around.routing.let_go(link))

    def gained(self, link):
        keys = [key for key, _ in self.around.table]
        self.around.routing.add_link(link, keys[:len(keys) // 2])
        self.around.station.env.call_later(1.0, lambda: self.around.routing.release(link))


PROTOCOLS = {**RECONCILERS, "deferring": Deferring}


@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tables_equal_those_from_scratch(protocol, forwarding):
    check(protocol, forwarding, 100)


def check(protocol, forwarding, examples):
    @settings(max_examples=examples, deadline=None)
    @given(histories.histories)
    def whatever_happens(history):
        histories.run(history, PROTOCOLS[protocol], forwarding)

    whatever_happens()


@pytest.mark.slow
@pytest.mark.parametrize("forwarding", ["identity", "covering"])
@pytest.mark.parametrize("protocol", list(reversed(RECONCILERS)))
def test_ten_thousand_histories(protocol, forwarding):
    """Five thousand each of identity and covering, by seeds; the first that fails is made smaller."""
    def fails(history):
        try:
            histories.run(copy.deepcopy(history), RECONCILERS[protocol], forwarding, events=False)
        except Exception:  # of a mutant or a mistake: any
            return True
        return False

    for seed in range(5000):
        history = histories.drawn(random.Random(f"{protocol} {forwarding} {seed}"))
        if fails(history):
            histories.run(histories.smaller(history, fails), RECONCILERS[protocol], forwarding, events=False)


def test_a_counter_example_prints_as_a_history_that_replays():
    forgetful = MUTANTS["StrawmanThatForgetsLostLinks"]

    def fails(history):
        try:
            histories.run(copy.deepcopy(history), forgetful)
        except AssertionError as error:
            return error
        return None

    seeds = (histories.drawn(random.Random(seed)) for seed in range(100))
    history = histories.smaller(next(one for one in seeds if fails(one)), fails)
    error = fails(history)
    shape, _, text = error.__notes__[0].partition("history:\n")
    values = dict(line.split(" = ") for line in shape.splitlines())
    assert len(text.splitlines()) < 40, text
    again = histories.History(int(values["nodes"]), ast.literal_eval(values["edges"]), forgetful,
                              flush=ast.literal_eval(values["flush"]))
    again.replay(text)
    assert again.text() == text
    with pytest.raises(AssertionError) as found:
        again.check_tables()
    assert str(found.value).splitlines()[0] == str(error).splitlines()[0]
