"""One end of a channel, driven by hand: the timeout, what an ACK shows, and the bounds."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import wire
from node.channel import FEWEST_TRIES, MOST_TRIES, PIECE, SPAN, Channel, Parcel, RoundTrip
from node.config import NodeConfig
from node.ids import LinkId
from tests.node.lossy_air import event

CONFIG = NodeConfig()


def channel(queued: int = 0, **config) -> Channel:
    made = Channel(LinkId(1, 2, 7), 2, NodeConfig(**config))
    for n in range(queued):
        made.queue.append(Parcel(event(n), b"", True, 50, f"1.1.{n}"))
        made.queued_bytes += 50
    return made


def send(made: Channel, now: float) -> list:
    flights = made.take()
    for flight in flights:
        made.transmitted(flight, now, broadcast=False)
    return flights


def resend(made: Channel, now: float) -> list[int]:
    flights = made.take_lost()
    for flight in flights:
        made.transmitted(flight, now, broadcast=False)
    return [f.sequence for f in flights]


def data(sequence: int) -> wire.Data:
    return wire.Data(((1, 7, sequence),), event(sequence))


def test_timeout_follows_rfc_6298():
    trip = RoundTrip(NodeConfig(rto_initial=0.3, rto_min=0.001, rto_max=10.0))
    assert trip.timeout == 0.3
    trip.sample(0.1)  # (2.2): SRTT = R, RTTVAR = R/2
    assert trip.timeout == pytest.approx(0.1 + 4 * 0.05)
    trip.sample(0.2)  # (2.3): RTTVAR = 3/4 * 0.05 + 1/4 * 0.1, SRTT = 7/8 * 0.1 + 1/8 * 0.2
    assert trip.timeout == pytest.approx(0.1125 + 4 * 0.0625)
    trip.back_off()
    assert trip.timeout == pytest.approx(2 * (0.1125 + 4 * 0.0625))


@given(st.lists(st.floats(1e-4, 5.0) | st.none(), max_size=60))
def test_timeout_stays_in_its_bounds(events):
    trip = RoundTrip(CONFIG)
    for measured in events:
        trip.back_off() if measured is None else trip.sample(measured)
        assert CONFIG.rto_min <= trip.timeout <= CONFIG.rto_max


def test_karn_no_sample_of_a_message_sent_twice_and_the_backoff_stays():
    one = channel(1)
    send(one, 0.0)
    deadline = one.deadline()
    assert deadline == pytest.approx(CONFIG.rto_initial)
    assert one.timed_out(deadline, 1100) and resend(one, deadline) == [0]
    backed_off = one.round_trip.timeout
    assert one.acknowledged(1, 0, deadline + 0.001)
    assert one.round_trip.smoothed is None and one.round_trip.timeout == backed_off > CONFIG.rto_initial
    assert one.deadline() is None


def test_something_sent_later_and_acknowledged_shows_a_loss_once():
    one = channel(5)
    send(one, 0.0)
    assert one.acknowledged(1, 0b110, 0.01)  # 0, and of those beyond: 3, 4; not 1, 2
    assert resend(one, 0.01) == [1, 2]
    assert not one.acknowledged(1, 0b110, 0.02)
    assert one.lost == []
    assert one.acknowledged(5, 0, 0.03)
    assert one.flights == {} and one.queued_bytes == 0


def test_an_ack_of_a_repetition_does_not_condemn_what_went_out_before_it():
    one = channel(3)
    send(one, 0.0)
    one.timed_out(one.deadline(), 60)  # only the oldest fits
    assert resend(one, 0.3) == [0]
    one.acknowledged(1, 0, 0.31)  # the first transmission of 0 may be the one that came
    assert one.lost == []


def test_the_window_is_a_span_of_sequence_numbers():
    one = channel(200, channel_window=500)
    assert len(send(one, 0.0)) == SPAN
    one.acknowledged(0, 0b11111, 0.01)  # 1..5 have come, 0 has not: no number beyond SPAN may go out
    assert send(one, 0.01) == []
    one.acknowledged(6, 0, 0.02)
    assert [f.sequence for f in send(one, 0.02)] == list(range(64, 70))


def test_gives_up_only_without_progress():
    one = channel(2, channel_give_up=3.0)
    send(one, 10.0)
    for step in range(1, 12):
        now = 10.0 + step / 5
        assert one.timed_out(now, 1100)
        resend(one, now)
    one.acknowledged(1, 0, 12.95)
    for step in range(MOST_TRIES):  # tries enough, but too soon
        assert one.timed_out(13.0 + step / 5, 1100)
        resend(one, 13.0 + step / 5)
    assert one.timed_out(15.9, 1100)
    assert not one.timed_out(15.95, 1100)


def test_a_link_that_answers_at_once_is_given_up_after_fewer_tries():
    def tries_until_given_up(one, now):
        [flight] = send(one, now)
        due = one.deadline()
        while one.timed_out(due, 1100):
            resend(one, due)
            due = one.deadline()
        return flight.tries
    fresh, steady = channel(1, channel_give_up=0.5), channel(101, channel_give_up=0.5, channel_window=1)
    for n in range(100):
        send(steady, float(n))
        steady.acknowledged(n + 1, 0, n + 0.01)
    assert tries_until_given_up(steady, 100.0) == FEWEST_TRIES
    assert FEWEST_TRIES < tries_until_given_up(fresh, 0.0) <= MOST_TRIES


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
def test_no_ack_from_the_air_takes_what_was_not_sent(expected, beyond):
    one = channel(10)
    send(one, 0.0)
    one.acknowledged(expected, beyond, 0.01)
    assert set(one.flights) <= set(range(10))
    if expected > 10:
        assert len(one.flights) == 10  # nonsense is not half believed
    assert one.queued_bytes == 50 * len(one.flights)


@given(st.lists(st.integers(0, 200), max_size=300))
def test_receiver_gives_each_once_in_order_and_holds_no_more_than_a_window(sequences):
    one = channel()
    came, expected = [], 0
    seen = set()
    for sequence in sequences:
        if sequence < expected + SPAN:
            seen.add(sequence)
        came += [content.addressees[0][2] for content in one.arrived(sequence, data(sequence))]
        while expected in seen:
            expected += 1
        assert came == list(range(expected)) and one.expected == expected
        assert len(one.held) < SPAN
        ack = one.acknowledgement()
        assert ack.expected == expected
        beyond = {expected + 1 + i for i in range(64) if ack.beyond >> i & 1}
        assert beyond == {s for s in seen if s > expected}
        assert 0 <= ack.beyond < 2**64


def test_pieces_are_bounded():
    one = channel()
    piece = wire.Fragment(((1, 7, 0),), False, b"x" * PIECE)
    with pytest.raises(ValueError, match="65536"):
        for _ in range(1000):
            assert one.assemble(piece) is None


def test_undelivered_events_each_once():
    one = channel(3)
    big = [Parcel(None, b"x" * PIECE, last, PIECE, "1.1.99") for last in (False, False, True)]
    one.queue.extend(big)
    one._window = 4
    send(one, 0.0)
    one.acknowledged(1, 0, 0.01)
    assert one.undelivered_events() == ["1.1.1", "1.1.2", "1.1.99"]
