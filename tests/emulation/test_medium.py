"""What the air does to frames: who hears them, when, how often, and what the records say."""
from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation import airtime, chance
from emulation.neighborhood import contact_changes
from emulation.propagation import LINK_EXISTS
from mobility import random_waypoint
from node import airtime as standard
from tests.emulation.air import Air, line, standing


def test_a_broadcast_reaches_all_in_range_and_nobody_else():
    air = Air(line(4))
    air.at(1.0, 1, None, b"hello")
    assert [(receiver, sender, payload) for _, receiver, sender, payload in air.run().got] == [
        (0, 1, b"hello"), (2, 1, b"hello")]
    assert air.medium.counts["broadcasts"] == 1 and air.medium.counts["receptions"] == 2


def test_a_unicast_reaches_only_its_addressee():
    air = Air(line(4))
    air.at(1.0, 1, 2)
    assert [got[1] for got in air.run().got] == [2]


@pytest.mark.parametrize("size, to, rate", [(100, None, 6e6), (1200, None, 6e6), (100, 1, 24e6), (0, 1, 24e6)])
def test_airtime_is_that_of_the_standard(size, to, rate):
    """IEEE 802.11-2020, 17.4.3: TXTIME = preamble and signal 20 us + 4 us a symbol, bits rounded up."""
    air = Air(line(2))
    air.at(1.0, 0, to, b"x" * size)
    bits = 16 + 6 + 8 * (size + 28 + 8 + 20 + 8)
    expected = 20e-6 + 4e-6 * math.ceil(bits / (rate * 4e-6))
    [(time, *_)] = air.run().got
    assert time - 1.0 == pytest.approx(expected, abs=1e-9)


def test_a_sender_waits_until_the_channel_is_idle():
    air = Air(line(2))
    air.at(1.0, 0, None, b"a" * 1000)
    air.at(1.0005, 1, None, b"b" * 1000)  # in the middle of the other frame
    first, second = (got[0] for got in air.run().got)
    frame = airtime.frame_time(1000 + standard.OVERHEAD_BYTES, 6e6)
    wait = second - first - frame
    assert standard.DIFS - 1e-9 <= wait <= standard.DIFS + standard.CW_MIN * standard.SLOT + 1e-9
    assert air.medium.counts["collided"] == 0


def test_without_carrier_sense_every_host_has_the_channel_to_itself():
    air = Air(line(3), carrier_sense=False)
    air.at(1.0, 0, None)
    air.at(1.0, 2, None)
    assert len(air.run().got) == 2 and air.medium.counts["collided"] == 0


def test_hidden_terminals_collide_at_the_host_between_them():
    air = Air(line(3))
    air.at(1.0, 0, None, b"a" * 1000)
    air.at(1.0005, 2, None, b"b" * 1000)
    assert air.run().got == [] and air.medium.counts["collided"] == 2


def test_a_host_cannot_hear_while_it_sends():
    air = Air(line(2))
    air.at(1.0, 0, None)
    air.at(1.0 + standard.SLOT / 3, 1, None)  # too soon to sense the other
    assert air.run().got == [] and air.medium.counts["collided"] == 2


def test_retries_bring_a_unicast_through_a_collision():
    air = Air(line(3))
    air.at(1.0, 0, 1, b"a" * 1000)
    air.at(1.0001, 2, 1, b"b" * 1000)
    assert sorted(got[2] for got in air.run().got) == [0, 2]
    assert air.medium.counts["retries"] > 0 and air.medium.counts["gave_up"] == 0


def test_a_unicast_to_nobody_is_given_up_after_its_retries():
    air = Air(line(4), retries=5)
    air.at(1.0, 0, 3)
    assert air.run().got == []
    assert air.medium.counts["unicasts"] == 1 and air.medium.counts["retries"] == 5
    assert air.medium.counts["gave_up"] == 1


def test_a_lost_acknowledgement_does_not_deliver_twice():
    air = Air(line(2), links=[(1, 0, 1.0)], retries=4)
    for second in range(50):
        air.at(float(second), 0, 1)
    assert len(air.run(60.0).got) == 50
    assert air.medium.counts["retries"] == 200 and air.medium.counts["gave_up"] == 50


def test_links_are_lossy_in_one_direction():
    air = Air(line(2), links=[(0, 1, 1.0)])
    air.at(1.0, 0, None)
    air.at(2.0, 1, None)
    assert [got[1:3] for got in air.run().got] == [(0, 1)]
    assert air.links() == {(1, 0)}


@pytest.mark.parametrize("loss", [0.1, 0.5, 0.9])
def test_loss_is_as_asked_for(loss):
    air = Air(line(2), loss=loss)
    for frame in range(2000):
        air.at(frame / 100, 0, None)
    share = len(air.run(30.0).got) / 2000
    assert share == pytest.approx(1 - loss, abs=4 * math.sqrt(loss * (1 - loss) / 2000))


def test_the_transmit_queue_is_bounded_and_its_overflow_recorded():
    air = Air(line(2), queue=8)
    for _ in range(20):
        air.at(1.0, 0, None)
    air.run()
    air.medium.record_traffic()
    assert len(air.got) == 9  # one in the air, eight waiting
    kinds = {kind: fields for _, kind, fields in air.records}
    assert kinds["radio_traffic"]["overflowed"] == 11
    assert kinds["radio_overflow"] == {"host": 0, "frames": 11}


def test_delay_is_added_to_every_frame():
    fast, slow = Air(line(2)), Air(line(2), delay=0.25)
    for air in (fast, slow):
        air.at(1.0, 0, None)
    assert slow.run().got[0][0] - fast.run().got[0][0] == pytest.approx(0.25)


def test_a_cut_link_and_a_host_that_is_down_hear_nothing():
    air = Air(line(3))
    air.clock.call_at(0.5, lambda: air.medium.neighborhood.cut(1, 0))
    air.at(1.0, 1, None)
    air.clock.call_at(1.5, lambda: air.medium.neighborhood.restore(0, 1))
    air.clock.call_at(1.5, lambda: air.medium.host_down(2))
    air.at(2.0, 1, None)
    air.at(2.5, 2, None)
    assert [(round(time), receiver) for time, receiver, *_ in air.run().got] == [(1, 2), (2, 0)]
    assert air.links() == {(0, 1), (1, 0)}
    air.medium.host_up(2)
    assert air.links() == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_a_host_that_goes_down_in_mid_frame_is_not_heard():
    air = Air(line(2))
    air.at(1.0, 0, None, b"x" * 1000)
    air.at(1.0, 0, None, b"y" * 1000)
    air.clock.call_at(1.0005, lambda: air.medium.host_down(0))
    air.clock.call_at(1.5, lambda: air.medium.host_up(0))
    assert air.run().got == []
    air.at(11.0, 0, None, b"z")
    assert [got[3] for got in air.run(12.0).got] == [b"z"]


def test_a_host_that_leaves_sends_what_it_has_queued_and_no_more():
    air = Air(line(2))
    air.at(1.0, 0, None, b"first")
    air.at(1.0, 0, None, b"last")
    air.clock.call_at(1.00001, lambda: air.medium.host_leaves(0))
    air.at(1.00002, 0, None, b"too late")
    assert [got[3] for got in air.run().got] == [b"first", b"last"]
    assert air.links() == set()
    air.medium.host_up(0)
    assert air.links() == {(0, 1), (1, 0)}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 12), st.floats(30.0, 200.0))
def test_the_truth_of_the_unit_disk_is_the_contacts(seed, hosts, reach):
    """Checked against positions, apart from the instants at which a contact begins or ends."""
    movement = random_waypoint(hosts, (300.0, 300.0), (1.0, 9.0), (0.0, 5.0), 60.0, seed=seed)
    air = Air(movement, range=reach)
    for time in (0.0, 13.7, 31.1, 59.3):
        air.run(time + 1e-9)
        points = movement.positions(time)
        near = {(a, b) for a in range(hosts) for b in range(hosts)
                if a != b and math.dist(points[a], points[b]) <= reach}
        edge = {(a, b) for a in range(hosts) for b in range(hosts)
                if abs(math.dist(points[a], points[b]) - reach) < 1e-6}
        assert air.links() - edge == near - edge
        assert {(a, b) for a in range(hosts) for b in air.medium.neighborhood.of[a]} - edge == near - edge


def test_truth_records_stand_at_the_instants_of_the_contacts():
    movement = random_waypoint(10, (300.0, 300.0), (1.0, 9.0), (0.0, 5.0), 60.0, seed=3)
    air = Air(movement, range=80.0).run(60.0)
    told = {(time, kind, fields["from"], fields["to"]) for time, kind, fields in air.records}
    expected = set()
    for time, begins, a, b in contact_changes(movement.contacts(80.0)):
        if time < 60.0:
            kind = "radio_up" if begins else "radio_down"
            expected |= {(time, kind, a, b), (time, kind, b, a)}
    assert told == expected and len(told) > 50


def test_log_distance_falls_smoothly_with_distance():
    points = [(float(10 * i), 0.0) for i in range(1, 60)]
    air = Air(standing((0.0, 0.0), *points), model="log_distance", shadowing=0.0)
    model = air.medium._propagation
    chances = [model.probability(0, host, 0.0, True) for host in range(1, 60)]
    assert all(near >= far for near, far in itertools.pairwise(chances))
    assert chances[0] > 0.999 and chances[-1] < 0.01
    assert max(near - far for near, far in itertools.pairwise(chances)) < 0.25
    assert all(model.probability(0, h, 0.0, False) <= model.probability(0, h, 0.0, True) for h in range(1, 60))


def test_shadowing_is_log_normal_symmetric_and_drifts():
    air = Air(line(60, step=5.0), model="log_distance", shadowing=6.0)
    model = air.medium._propagation
    values = [model.shadowing(a, b, 100.0) for a in range(60) for b in range(a)]
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))
    assert abs(mean) < 0.6 and deviation == pytest.approx(6.0, rel=0.1)
    assert model.shadowing(3, 7, 100.0) == model.shadowing(7, 3, 100.0)
    steps = [model.shadowing(3, 7, t / 10) - model.shadowing(3, 7, (t + 1) / 10) for t in range(1000)]
    assert 0 < max(map(abs, steps)) < 1.5


def test_a_better_data_rate_than_base_rate_reaches_as_far_as_it_does():
    """-103 dBm at 800 m: too little for base-rate frames, plenty for data-rate ones."""
    air = Air(line(2, step=800.0), model="log_distance", shadowing=0.0, fading=1.0, sensitivity=-80.0,
              data_sensitivity=-110.0, retries=0)
    for k in range(20):
        air.at(0.1 * k, 0, 1)
        air.at(0.1 * k + 0.05, 0, None)
    arrived = [time for time, *_ in air.run().got]
    assert len(arrived) == 20 and all(time % 0.1 < 0.05 for time in arrived)


def test_log_distance_truth_is_its_reception_probability():
    movement = random_waypoint(15, (600.0, 600.0), (1.0, 5.0), (0.0, 5.0), 30.0, seed=2)
    air = Air(movement, model="log_distance").run(29.6)
    told = air.links()
    model = air.medium._propagation
    for a in range(15):
        for b in range(15):
            if a != b and abs(model.probability(a, b, 29.6, True) - LINK_EXISTS) > 0.05:
                assert ((a, b) in told) == (model.probability(a, b, 29.6, True) >= LINK_EXISTS)
    assert len(told) > 10


def test_the_channel_depends_on_the_moment_and_not_on_what_was_sent_before():
    def heard(extra: bool) -> set[tuple[float, int]]:
        air = Air(line(6, step=20.0), loss=0.5)
        for frame in range(200):
            air.at(1.0 + frame / 10, 0, None)
            if extra:
                air.at(1.05 + frame / 10, 3, None)
        return {(round(time, 3), receiver) for time, receiver, sender, _ in air.run(30.0).got if sender == 0}

    assert heard(extra=False) == heard(extra=True)


def test_keyed_draws_are_uniform_and_independent_of_neighboring_keys():
    draws = [chance.uniform(chance.key(1, "t", a), moment) for a in range(50) for moment in range(200)]
    for bucket in range(10):
        assert sum(bucket / 10 <= d < (bucket + 1) / 10 for d in draws) == pytest.approx(1000, abs=150)
    pairs = [(draws[i] - 0.5) * (draws[i + 200] - 0.5) for i in range(9800)]
    assert abs(sum(pairs) / len(pairs)) < 0.004
    assert chance.key(1, "a" * 20, 0) != chance.key(1, "a" * 21, 0) != chance.key(2, "a" * 21, 0)
