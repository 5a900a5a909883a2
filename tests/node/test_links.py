"""Real channels over bad air: each message once and in order, or the link fails."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node import wire
from node.airtime import RECEPTION, broadcast_cost, broadcast_is_cheaper, unicast_cost
from node.channel import SPAN
from node.ids import LinkId
from node.links import RESETS
from tests.node.lossy_air import Air, Host, event, linked

SLOW = {"deadline": None}


def pair(air: Air, **config) -> tuple[Host, Host, LinkId]:
    # without `heard`, so that the channels themselves meet the duplicates
    a, b = (Host(air, n, guarded=False, **config) for n in (1, 2))
    (link,) = linked(a, b)
    return a, b, link


def numbers(host: Host, link: LinkId) -> list[int]:
    return [m.sequence for m in host.received.get(link, [])]


def datagrams_with(host: Host, kind: type) -> list:
    return [(t, to, m) for t, to, messages in host.sent for m in messages if type(m) is kind]


# ---- the promise ------------------------------------------------------------------------------

COUNT = 120  # events of each end


@settings(max_examples=60, **SLOW)
@given(seed=st.integers(0, 10**6), loss=st.floats(0, 0.6), duplication=st.floats(0, 0.5),
       slowest=st.sampled_from([0.002, 0.02, 0.2]), burst=st.integers(1, 40),
       large=st.integers(0, 9000))
def test_everything_once_in_order_or_the_link_fails(seed, loss, duplication, slowest, burst, large):
    a, b, link = exchange(seed, loss, duplication, slowest, burst, large)
    for sender, receiver in ((a, b), (b, a)):
        got = numbers(receiver, link)
        assert got == list(range(len(got)))
        if not a.failed and not b.failed:
            assert len(got) == COUNT
            assert all(len(m.payload) == large for m in receiver.received[link][3::17])
        else:  # whatever did not come is on record
            dropped = {r["event"] for r in sender.recorded("event_dropped")}
            missing = {f"{sender.me.node}.1.{n}" for n in range(len(got), COUNT)}
            assert missing <= dropped or link in open_links(sender)
    assert loss > 0 or not (a.failed or b.failed)


def test_links_seldom_fail_at_ten_percent_loss():
    failed = [seed for seed in range(20) for host in exchange(seed, 0.1, 0.0, 0.02, 10, 2000)[:2] if host.failed]
    assert len(set(failed)) <= 1


def exchange(seed: int, loss: float, duplication: float, slowest: float, burst: int,
             large: int) -> tuple[Host, Host, LinkId]:
    """Two hosts that have sent each other COUNT events, `burst` of them every 0.1 s."""
    air = Air(seed, loss, (0.001, slowest), duplication)
    a, b, link = pair(air)
    for n in range(COUNT):
        payload = b"x" * large if n % 17 == 3 else b"y" * (n % 50)
        air.call_at(n // burst * 0.1, lambda n=n, p=payload: (a.links.send([link], event(n, p)),
                                                              b.links.send([link], event(n, p, source=2))))
    air.run(120.0, stop=lambda: air.time > COUNT // burst * 0.1 and not busy(a, link) and not busy(b, link))
    return a, b, link


def busy(host: Host, link: LinkId) -> bool:
    state = host.links._links.get(link)
    return state is not None and bool(state.flights or state.queue)


def open_links(host: Host) -> set[LinkId]:
    return set(host.links._links)


@settings(max_examples=40, **SLOW)
@given(seed=st.integers(0, 10**6), size=st.integers(0, 32768), loss=st.sampled_from([0.0, 0.2]))
def test_large_messages_round_trip(seed, size, loss):
    air = Air(seed, loss, (0.001, 0.01))
    a, b, link = pair(air)
    payload = air.random.randbytes(size)
    sent = [event(0), event(1, payload), event(2)]
    for message in sent:
        a.links.send([link], message)
    air.run(30.0)
    assert a.failed == [] and b.received[link] == sent
    assert b.links.received_position(link) == a.links.sent_position(link)


def test_a_message_beyond_the_bound_is_refused_at_once():
    air = Air()
    a, _, link = pair(air)
    with pytest.raises(ValueError, match="at most"):
        a.links.send([link], event(0, b"x" * 70000))


@settings(max_examples=60, **SLOW)
@given(seed=st.integers(0, 10**6), loss=st.floats(0, 0.5), slowest=st.sampled_from([0.01, 0.3, 1.5]),
       first=st.floats(0.0, 1.5), second=st.floats(0.0, 1.5))
def test_nothing_leaks_into_the_next_incarnation(seed, loss, slowest, first, second):
    """The ends change over at different moments, with datagrams of the old link in the air."""
    air = Air(seed, loss, (0.001, slowest), 0.2)
    a, b, old = pair(air)
    new = LinkId.between(1, 2, 8)
    late = {1: None, 2: None}

    def change(host: Host) -> None:
        host.links.close(old)
        host.links.open(new)
        late[host.me.node] = len(host.received.get(old, []))

    for n in range(60):
        air.call_at(n * 0.04, lambda n=n: a.links.send([old, new] if n % 2 else [old], event(n, b"o")))
    for host, when in ((a, first), (b, second)):
        host.pending.add(new)
        air.call_at(when, lambda host=host: change(host))
    for n in range(100, 140):
        air.call_at(2.5 + n * 0.001, lambda n=n: a.links.send([new], event(n, b"n")))
    air.run(60.0)
    came = numbers(b, new)
    after_change = [n for n in range(1, 60, 2) if n * 0.04 > first]
    assert came == (after_change + list(range(100, 140)))[:len(came)]
    assert len(b.received.get(old, [])) == late[2]
    assert all(failure[1] == old or failure[2] == "channel" for failure in a.failed + b.failed)


# ---- the dead, the pending, the forged --------------------------------------------------------

def test_unknown_link_is_reset_and_pending_link_is_not():
    air = Air()
    a, b = Host(air, 1), Host(air, 2)
    dead, pending = LinkId.between(1, 2, 5), LinkId.between(1, 2, 6)
    b.pending.add(pending)
    for link in (dead, pending):
        a.links.open(link)
        a.links.send([link], event(0))
    air.run(1.0)
    assert [(link, reason) for _, link, reason in a.failed] == [(dead, "reset")]
    assert numbers(b, pending) == [0] and dead not in b.received
    assert [r["event"] for r in a.recorded("event_dropped")] == ["1.1.0"]
    assert b.drops["dead_link"] == 1


def test_what_comes_for_a_link_that_has_failed_and_is_not_closed_yet_is_counted():
    air = Air()
    a, b, link = pair(air)
    b.link_failed = lambda failed, reason: None
    b.links._fail(b.links._links[link], "overflow")
    a.links.send([link], event(0))
    air.run(0.02)
    assert b.drops["dead_link"] >= 1 and link not in b.received


def test_a_third_party_changes_nothing():
    air = Air(loss=lambda f, to: 1.0 if f == 1 and to == 2 and air.time > 1.0 else 0.0)
    a, b, link = pair(air, channel_give_up=100.0)
    c = Host(air, 3, guarded=False)
    a.links.send([link], event(0))
    air.run(1.5)
    a.links.send([link], event(1))  # stays in flight
    air.run(1.6)
    c.unicast(1, wire.Reset(7))
    c.unicast(1, wire.Ack(1, 7, 2, 0))
    c.unicast(2, wire.Data(((2, 7, 1),), event(66)))
    c.unicast(2, wire.Fragment(((2, 7, 1),), True, b"x"))
    air.run(2.0)
    assert a.failed == [] and b.failed == []
    assert busy(a, link) and numbers(b, link) == [0]


def test_resets_are_rate_limited_and_remembered_in_bounds():
    air = Air()
    a, b = Host(air, 1), Host(air, 2)
    for n in range(5000):
        air.call_at(n * 0.001, lambda n=n: a.unicast(2, wire.Data(((2, 9, n),), event(n))))
    air.run(6.0)
    assert 20 <= len(datagrams_with(b, wire.Reset)) <= 26
    for n in range(5000):
        a.unicast(2, wire.Data(((2, 100 + n, 0),), event(n)))
    air.run(7.0)
    assert len(datagrams_with(b, wire.Reset)) <= 26 + RESETS
    assert len(b.links._resets) <= RESETS


def test_a_hostile_peer_cannot_grow_memory_or_crash():
    air = Air()
    a, b, link = pair(air)
    draw = air.random
    for _ in range(3000):
        sequence = draw.choice([draw.randrange(1, 200), draw.randrange(2**32)])
        b.unicast(1, wire.Data(((1, 7, sequence),), event(0, b"x" * 900)),
                  wire.Ack(1, 7, draw.randrange(2**32), draw.randrange(2**64)))
        b.unicast(1, wire.Fragment(((1, 7, draw.randrange(2**32)),), False, b"z" * 1000))
    air.run(1.0)
    state = a.links._links[link]
    assert len(state.held) < SPAN and a.received == {} and not a.failed
    for n in range(100):
        b.unicast(1, wire.Fragment(((1, 7, n),), False, b"z" * 1000))
    air.run(2.0)
    assert [(failed, reason) for _, failed, reason in a.failed] == [(link, "malformed")]
    assert a.received == {} and open_links(a) == set()


@pytest.mark.parametrize("messages", [
    [wire.Fragment(((1, 7, 0),), True, b"\xff no message")],
    [wire.Fragment(((1, 7, 0),), False, b"z"), wire.Data(((1, 7, 1),), event(1))],
    [wire.Fragment(((1, 7, 0),), True, b"")],
])
def test_what_cannot_be_put_together_fails_the_link(messages):
    air = Air()
    a, b, link = pair(air)
    b.unicast(1, *messages)
    air.run(1.0)
    assert [reason for _, _, reason in a.failed] == ["malformed"] and a.received == {}


def test_close_in_the_midst_of_delivery_stops_it():
    air = Air()
    a, b, link = pair(air)
    b.on_message = lambda link, message: b.links.close(link) if message.sequence == 2 else None
    for n in range(6):
        a.links.send([link], event(n))
    air.run(1.0)
    assert numbers(b, link) == [0, 1, 2]


# ---- time -------------------------------------------------------------------------------------

def test_timeout_adapts_to_the_air_and_stops_repeating():
    air = Air(delay=(0.002, 0.003))
    a, _, link = pair(air, rto_min=0.05, rto_max=2.0, ack_delay=0.02)
    for n in range(400):
        air.call_at(n * 0.1, lambda n=n: a.links.send([link], event(n)))
    state = a.links._links[link]
    air.run(15.0)
    quick = state.round_trip.timeout
    assert quick == pytest.approx(a.config.rto_min, abs=0.01)
    air.delay = (0.2, 0.25)  # beyond the timeout: repeated at first, until a round trip can be measured
    air.run(25.0)
    sent_before = len(datagrams_with(a, wire.Data))
    air.run(35.0)
    slow = state.round_trip.timeout
    assert 0.4 < slow < 1.0
    assert len(datagrams_with(a, wire.Data)) - sent_before <= 102  # of 100 messages
    air.delay = (0.002, 0.003)
    air.run(60.0)
    assert state.round_trip.timeout < 0.1 and a.failed == []


def test_a_single_loss_is_repaired_by_what_follows_not_by_the_timeout():
    air = Air(loss=lambda f, to: 1.0 if f == 1 and 0.49 < air.time < 0.51 else 0.0)
    a, b, link = pair(air, rto_min=0.4)
    times = []
    b.on_message = lambda link, message: times.append(air.time)
    for n in range(100):
        air.call_at(n * 0.02, lambda n=n: a.links.send([link], event(n)))
    air.run(5.0)
    assert numbers(b, link) == list(range(100))
    assert len(datagrams_with(a, wire.Data)) == 101
    assert times[25] - 0.5 < 0.04  # sent at 0.5; the next shows the loss at 0.52


def test_gives_up_channel_give_up_after_the_last_progress_and_says_so_once():
    air = Air(loss=lambda f, to: 1.0 if air.time >= 2.0 else 0.0)
    a, b, link = pair(air)
    for n in range(100):
        air.call_at(n * 0.1, lambda n=n: a.links.send([link], event(n)))
    air.run(30.0)
    ((when, failed, reason),) = a.failed
    assert failed == link and reason == "channel" and 0.9 + 2.0 <= when <= 1.7 + 2.0
    dropped = {r["event"]: r["reason"] for r in a.recorded("event_dropped")}
    assert set(dropped) == {f"1.1.{n}" for n in range(20, 100)} and set(dropped.values()) == {"link_lost"}
    assert len(numbers(b, link)) == 20
    assert open_links(a) == set()


def test_an_idle_link_sends_nothing():
    air = Air()
    a, b, link = pair(air)
    a.links.send([link], event(0))
    air.run(1.0)
    sent = len(a.sent) + len(b.sent)
    air.run(1000.0)
    assert len(a.sent) + len(b.sent) == sent == 2


# ---- queue ------------------------------------------------------------------------------------

def test_a_full_queue_drops_events_on_record_and_nothing_else():
    air = Air(loss=lambda f, to: 1.0 if air.time < 1.0 else 0.0)
    a, b, link = pair(air, channel_queue=5000)
    for n in range(200):
        a.links.send([link], event(n, b"x" * 60))
    air.run(10.0)
    dropped = [r["event"] for r in a.recorded("event_dropped") if r["reason"] == "overflow"]
    assert len(dropped) == len(a.recorded("queue_overflow")) > 50
    got = numbers(b, link)
    assert sorted([f"1.1.{n}" for n in got] + dropped) == sorted(f"1.1.{n}" for n in range(200))
    assert a.failed == []
    a.links.send([link], event(500))
    air.run(11.0)
    assert numbers(b, link)[-1] == 500


def test_a_subscription_that_finds_no_room_fails_the_link():
    air = Air(loss=1.0)
    a, _, link = pair(air, channel_queue=1000)
    for _ in range(100):
        a.links.send([link], wire.Unsub((bytes(8),) * 200))
    assert a.failed == []  # not while the caller is in the midst of its own work
    air.run(0.1)
    assert [reason for _, _, reason in a.failed] == ["overflow"]
    assert a.recorded("queue_overflow")[0]["message"] == "UNSUB"


def test_what_is_queued_in_one_instant_shares_datagrams_and_acknowledgements_ride():
    air = Air()
    a, b, link = pair(air)
    b.on_message = lambda link, message: b.links.send([link], event(message.sequence, source=2))
    for n in range(12):
        a.links.send([link], event(n))
    air.run(2.0)
    assert len(a.sent) == 2  # the messages, and one ACK for the answers
    assert len(b.sent) == 1 and type(b.sent[0][2][-1]) is wire.Ack
    assert numbers(a, link) == list(range(12))


# ---- one broadcast for several ---------------------------------------------------------------

def test_one_broadcast_for_several_and_repetitions_only_to_whom_they_concern():
    air = Air(5, loss=lambda f, to: 0.3 if (f, to) == (1, 3) else 0.0)
    a, *others = hosts = [Host(air, n) for n in (1, 2, 3, 4, 5)]
    links = linked(*hosts)
    bystander = Host(air, 9)
    for n in range(100):
        air.call_at(n * 0.1, lambda n=n: a.links.send(links, event(n)))
    air.run(20.0)
    for link, other in zip(links, others):
        assert numbers(other, link) == list(range(100))
    shared = [m for _, to, m in datagrams_with(a, wire.Data) if to is None]
    alone = [to for _, to, m in datagrams_with(a, wire.Data) if to is not None]
    assert len(shared) == 100 and len(shared[0].addressees) == 4
    assert set(alone) == {3} and 10 < len(alone) < 60
    assert bystander.sent == [] and bystander.received == {}


def test_a_broadcast_carries_acknowledgements_that_others_do_not_take_for_theirs():
    air = Air(delay=(0.001, 0.001), loss=lambda f, to: 1.0 if (f, to) == (4, 1) and air.time < 0.02 else 0.0)
    a, *others = hosts = [Host(air, n) for n in (1, 2, 3, 4)]
    links = linked(*hosts)  # one nonce for all, the worst case
    for link, other in zip(links, others):
        other.links.send([link], event(0, source=other.me.node))  # that of 4 is lost
    air.run(0.005)
    a.links.send(links, event(0))
    air.run(0.006)
    (_, to, messages) = a.sent[-1]
    assert to is None and [(m.to, m.expected) for m in messages if type(m) is wire.Ack] == [(2, 1), (3, 1)]
    air.run(3.0)
    for link, other in zip(links, others):
        assert numbers(other, link) == [0] and numbers(a, link) == [0]


def test_without_multicast_each_gets_its_own():
    air = Air()
    a, *others = hosts = [Host(air, n, multicast=False) for n in (1, 2, 3, 4, 5)]
    links = linked(*hosts)
    a.links.send(links, event(0))
    air.run(1.0)
    assert sorted(to for _, to, m in datagrams_with(a, wire.Data)) == [2, 3, 4, 5]


def test_large_messages_to_many_neighbors_stay_below_the_datagram_bound():
    air = Air(loss=0.1)
    a, *others = hosts = [Host(air, n) for n in range(2**32 - 20, 2**32)]  # ids and nonce of full length
    links = linked(*hosts, nonce=2**32 - 1)
    for n in range(5):
        a.links.send(links, event(n, b"x" * (1500 * n)))
    air.run(20.0)
    for link, other in zip(links, others):
        assert numbers(other, link) == list(range(5))
    assert any(to is None and type(m) is wire.Fragment for _, to, m in datagrams_with(a, wire.Fragment))


def test_the_rule_counts_air_bystanders_and_losses():
    base, data = 6e6, 24e6
    # by hand, 200 bytes: 101.5 + 20 + 88 us of data, 16 + 20 + 18.7 us of acknowledgement;
    # and 101.5 + 20 + 352 us
    assert unicast_cost(200, base, data) == pytest.approx(264.2e-6, abs=1e-6)
    assert broadcast_cost(200, base) == pytest.approx(473.5e-6, abs=1e-6)
    assert RECEPTION == pytest.approx(100e-6)

    def cheaper(size, addressees, bystanders, missing=0.0, base=base, data=data):
        return broadcast_is_cheaper(size, [missing] * addressees, bystanders, base, data)

    assert not cheaper(200, 1, 0)
    assert cheaper(200, 2, 0) and not cheaper(200, 2, 1)
    assert cheaper(200, 3, 3) and not cheaper(200, 3, 4)
    assert not cheaper(1100, 2, 0) and cheaper(1100, 4, 0)  # the base rate weighs on the large ones
    assert cheaper(1100, 2, 0, data=6e6)  # at equal rates one transmission is always less than two
    assert cheaper(200, 3, 0, missing=0.3) and not cheaper(200, 3, 0, missing=0.45)


@given(st.integers(1, 1165), st.integers(1, 16), st.integers(0, 50), st.floats(0, 1))
def test_more_bystanders_or_losses_never_make_a_broadcast_cheaper(size, addressees, bystanders, missing):
    if broadcast_is_cheaper(size, [missing] * addressees, bystanders, 6e6, 24e6):
        assert broadcast_is_cheaper(size, [missing / 2] * addressees, bystanders // 2, 6e6, 24e6)
        assert broadcast_is_cheaper(size, [missing] * addressees + [missing], bystanders, 6e6, 24e6)
