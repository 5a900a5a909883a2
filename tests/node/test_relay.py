"""One hop of multi-hop messages: repeated until acknowledged, handed on once, bounded."""
from __future__ import annotations

import random

import pytest

from node import wire
from node.ids import Peer
from node.relay import IN_FLIGHT, PEERS, WAITS, Relay
from tests.node.maodv_world import Timer

LEAVE = wire.Leave(7)


class Core:
    """A station whose timers are run by hand and whose datagrams are kept."""

    def __init__(self):
        self.env = self
        self.random = random.Random(1)
        self.timers = []
        self.sent = []
        self.drops = []
        self.neighbors = {1: Peer(1, 1), 2: Peer(2, 1)}

    def call_later(self, delay, action):
        timer = Timer(action)
        self.timers.append((delay, timer))
        return timer

    def ring(self):
        """Run the timers that are set now; the sum of their delays."""
        timers, self.timers = self.timers, []
        live = [(delay, timer) for delay, timer in timers if timer.action is not None]
        for _, timer in live:
            timer.action()
        return sum(delay for delay, _ in live)

    def unicast(self, to, *messages):
        self.sent += [(to, message) for message in messages]

    @property
    def two_way(self):
        return self.neighbors

    def dropped(self, reason):
        self.drops.append(reason)


@pytest.fixture
def core():
    return Core()


def make(core):
    got = []
    relay = Relay(core, core)
    relay.begin({wire.Leave: lambda sender, message: got.append((sender, message))})
    return relay, got


def test_a_message_is_repeated_until_it_is_acknowledged(core):
    relay, _ = make(core)
    relay.send(1, LEAVE)
    core.ring()
    assert [to for to, _ in core.sent] == [1, 1]
    assert core.sent[0] == core.sent[1]
    relay.hop_messages[wire.RelayAck](Peer(1, 1), wire.RelayAck(core.sent[0][1].number))
    assert core.ring() == 0 and len(core.sent) == 2


def test_a_lost_frame_costs_less_than_a_tenth_of_a_second(core):
    relay, _ = make(core)
    relay.send(1, LEAVE)
    assert core.ring() < 0.1


def test_failure_is_told_once_and_within_half_a_second(core):
    relay, _ = make(core)
    failures = []
    relay.send(1, LEAVE, lambda: failures.append(1))
    waited = sum(core.ring() for _ in range(len(WAITS) + 2))
    assert failures == [1] and waited < 0.5
    assert len(core.sent) == len(WAITS)


def test_no_frame_goes_to_a_stranger_but_for_the_last_word(core):
    relay, _ = make(core)
    failures = []
    relay.send(9, LEAVE, lambda: failures.append(1))
    assert not core.sent and not failures, "the failure must not come while the caller is at work"
    core.ring()
    assert failures == [1]
    relay.send(9, LEAVE, last_word=True)
    assert [to for to, _ in core.sent] == [9]


def test_the_acknowledgement_of_another_neighbor_does_not_count(core):
    relay, _ = make(core)
    relay.send(1, LEAVE)
    relay.hop_messages[wire.RelayAck](Peer(2, 1), wire.RelayAck(core.sent[0][1].number))
    core.ring()
    assert len(core.sent) == 2


def test_what_is_in_flight_is_bounded_and_the_rest_fails(core):
    relay, _ = make(core)
    failures = []
    for _ in range(IN_FLIGHT + 5):
        relay.send(1, LEAVE, lambda: failures.append(1))
    assert len(core.sent) == IN_FLIGHT
    for delay, timer in core.timers:
        if delay == 0.0:
            timer.action()
    assert failures == [1] * 5


def test_forget_fails_whatever_is_on_its_way_to_the_neighbor(core):
    relay, _ = make(core)
    failures = []
    relay.send(1, LEAVE, lambda: failures.append(1))
    relay.send(2, LEAVE, lambda: failures.append(2))
    relay.forget(1)
    assert failures == []
    core.ring()
    assert failures == [1]


def test_repetitions_are_acknowledged_and_handed_on_once(core):
    relay, got = make(core)
    heard = relay.hop_messages[wire.Relay]
    for number in (5, 5, 6, 4, 6, 4, 5):
        heard(Peer(1, 1), wire.Relay(number, LEAVE))
    assert len(got) == 3 and len(core.sent) == 7


def test_a_new_life_and_a_new_count_begin_anew(core):
    relay, got = make(core)
    heard = relay.hop_messages[wire.Relay]
    for peer, number in ((Peer(1, 1), 500), (Peer(1, 2), 500), (Peer(1, 2), 3), (Peer(1, 2), 4),
                         (Peer(2, 1), 2**32 - 1), (Peer(2, 1), 0)):
        heard(peer, wire.Relay(number, LEAVE))
    assert len(got) == 6


def test_strangers_and_misplaced_messages_are_dropped_and_counted(core):
    relay, got = make(core)
    heard = relay.hop_messages[wire.Relay]
    heard(Peer(9, 1), wire.Relay(1, LEAVE))
    heard(Peer(1, 1), wire.Relay(1, wire.Refuse(1, (1, 2), (), "met")))
    assert core.drops == ["not_neighbor", "misplaced"] and not got and not core.sent


def test_what_is_remembered_of_neighbors_is_bounded(core):
    relay, _ = make(core)
    core.neighbors = {n: Peer(n, 1) for n in range(PEERS + 50)}
    for n in core.neighbors:
        relay.hop_messages[wire.Relay](Peer(n, 1), wire.Relay(1, LEAVE))
    assert len(relay._seen) == PEERS
