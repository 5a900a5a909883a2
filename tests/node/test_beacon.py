"""Beacons that leave out what was said before: whatever of them gets lost, nobody believes what is not so."""
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from node import wire
from node.beacon import TOLD, TURN, WHOLE, Known, Said, check
from node.ids import Peer
from node.neighbor import BEACONS, Neighbor
from node.neighbors import FORGET, MISSED
from tests.node.lossy_air import Air, Host

LIVES = st.tuples(st.integers(0, 5), st.integers(1, 2))
STATES = st.builds(
    lambda heard, more, standing, digests: wire.Hello(0, 500, tuple(heard), len(heard) + more, *standing, tuple(digests)),
    st.lists(LIVES, max_size=4, unique_by=lambda life: life[0]), st.sampled_from((0, 0, 0, 3)),
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()),
    st.lists(st.tuples(st.integers(0, 3), st.just(7), st.integers(0, 2), st.just(bytes(8))), max_size=2))


def hosts(air: Air, *nodes: int, **config) -> list[Host]:
    made = [Host(air, n, **{"hello_interval": 1.0, **config}) for n in nodes]
    for host in made:
        host.neighbors.start()
    return made


def beacons(host: Host) -> list[wire.Message]:
    return [messages[0] for _, to, messages in host.sent if to is None]


def received(known: Known, beacon: wire.Message) -> None:
    known.whole(beacon) if type(beacon) is wire.Hello else known.learn(beacon)


# ---- what is said and what is understood ---------------------------------------------------------

@given(st.lists(st.tuples(STATES, st.integers(1, 4), st.booleans()), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_whoever_thinks_to_know_is_right_whatever_was_lost_and_knows_all_after_one_question(states, chance):
    said, known, number = Said(), Known(), 0
    for state, times, lossy in states:
        for _ in range(times):
            number += 1
            beacon = said.form(state._replace(sequence=number))
            if lossy and chance.random() < 0.5:
                continue
            received(known, beacon)
            assert known.hello is None or known.hello[1:] == state[1:]
    said.asked = True
    received(known, said.form(state._replace(sequence=number + 1)))
    assert known.hello is not None and known.hello[1:] == state[1:]


def test_each_form_says_what_it_has_to():
    said, number = Said(), 0

    def form(**changes) -> wire.Message:
        nonlocal state, number
        number += 1
        state = state._replace(sequence=number, **changes)
        return said.form(state)

    state = wire.Hello(0, 500, ((2, 1), (3, 1)), 2, 1, 0, False, ((2, 7, 4, bytes(8)),))
    assert form() == state
    assert form() == wire.Beat(2, check(state))
    assert form(depth=1) == wire.News(3, None, (1, 1, False), None, check(state))
    assert form(digests=()) == wire.News(4, None, None, (), check(state))
    for _ in range(TOLD):  # who left the list hears no question, and may miss one beacon or two
        assert form(heard=((2, 1),), hearing=1) == wire.News(number % TURN, ((2, 1),), None, None, check(state))
    assert type(form()) is wire.Beat
    assert form(heard=((2, 1), (4, 1)), hearing=2) == state  # who is new knows nothing
    assert form(heard=((2, 5), (4, 1))) == state  # nor does a new life
    assert form(hearing=3) == form(hearing=3)._replace(sequence=number - 1)  # a list that rotates
    assert form(hearing=2) == state
    assert [type(form()) for _ in range(WHOLE)].count(wire.Hello) == 1
    said.asked = True
    assert form() == state and type(form()) is wire.Beat


@given(st.integers(1, 10**6), st.lists(st.integers(1, TURN), min_size=1, max_size=20))
def test_short_numbers_are_those_of_the_beacons(first, gaps):
    entry = Neighbor(Peer(2, 1), 1, 0.0, 1.0)
    entry.beacon(entry.counted(first % TURN, 0.0), 1.0, 3)  # the first that is heard may be a short one
    entry.align(first + TURN * 5 + 1)
    assert entry.exact and entry.sequence % TURN == first % TURN
    entry.beacon(first + TURN * 5 + 1, 1.0, 3)
    sequence, now = entry.sequence, 0.0
    for gap in gaps:
        sequence += gap
        now += gap * 0.7
        entry.newest = True
        assert entry.counted(sequence % TURN, now) in (sequence, sequence + TURN)
        entry.beacon(sequence, 1.0, 3)
        entry.beacon_at = now
        entry.newest = False
        assert entry.counted(sequence % TURN, now) is None
        assert entry.counted((sequence - 3) % TURN, now) is None


# ---- neighbors -------------------------------------------------------------------------------------

@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.0, 0.4), st.sampled_from(((0.001, 0.002), (0.001, 0.8))), st.booleans())
def test_lossy_beacons_in_any_order_lead_to_the_right_neighbors(seed, loss, delay, restarts):
    """Lists and digests change while beacons get lost; once the air is good again, all know all."""
    air = Air(seed, loss=lambda f, to: loss if air.time < 60 else 0.0, delay=delay)
    crowd = hosts(air, 1, 2, 3, secret="of all")
    for at in range(5, 60, 5):
        air.run(float(at))
        crowd[at % 3].told = [(node, 7, at, bytes(8)) for node in range(1, at % 4)]
        if restarts and at == 30:
            crowd[2].running = False
            (crowd[2],) = hosts(air, 3, epoch=5, secret="of all")
    air.run(110.0)
    for host in crowd:
        assert host.two_way() == {other.me.node: other.me for other in crowd if other is not host}
        for other in crowd:
            if other is not host:
                known = host.neighbors._table[other.me.node].known.hello
                assert known is not None and known.digests == tuple(other.told)
        assert host.recorded("identity_conflict") == []


def test_who_missed_the_whole_asks_in_its_next_beacon():
    air = Air(loss=lambda f, to: 1.0 if (f, to) == (2, 1) and 20.0 < air.time < 22.5 else 0.0)
    a, b = hosts(air, 1, 2)
    air.run(21.0)
    b.told = [(1, 7, 1, bytes(8))]
    air.run(26.0)
    assert [m for m in a.sent if m[2][1:]] != [] and all(m[2][1:] in ((), (wire.Missed((2,)),)) for m in a.sent)
    assert a.neighbors._table[2].known.hello.digests == tuple(b.told)
    assert [c[1] for c in a.changes] == ["up"]


def test_a_link_that_went_deaf_is_found_in_two_beacons_though_one_of_them_is_lost():
    """2 hears 1 no more and says so; 1 misses the first time."""
    found = []
    for lost in (False, True):
        shorter: list[float] = []

        def loss(sender: int, _to: int) -> float:
            if sender == 1:
                return float(air.time > 50)
            last = beacons(b)[-1]
            if type(last) is wire.News and last.heard == ():
                shorter.append(air.time)
            return float(lost and len(shorter) == 1)

        air = Air(7, loss=loss)
        a, b = hosts(air, 1, 2)
        air.run(80.0)
        (when,) = [t for t, what, _, why in a.changes if why == "one_way"]
        assert len(shorter) == TOLD
        found.append(sum(t < when for t in shorter))
    assert found == [2, 3]


def test_one_that_is_never_understood_lists_us_no_more_in_the_end():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    b.neighbors.stop()
    for n in range(b.neighbors._sequence + 1, b.neighbors._sequence + 2 + BEACONS):
        air.run(air.time + 1.0)
        assert a.two_way() == {2: b.me}
        b.broadcast(wire.Beat(n % TURN, 1))
    air.run(air.time + 0.5)
    assert [why for *_, why in a.changes] == ["", "one_way"]


# ---- hostile air --------------------------------------------------------------------------------------

def test_short_beacons_of_strangers_make_nobody_a_neighbor_and_no_datagram():
    air = Air()
    (a,) = hosts(air, 1)
    for node in range(2, 200):
        for n in range(1, 6):
            assert a.neighbors.heard(Peer(node, 1), n)
            a.neighbors._short(Peer(node, 1), wire.Beat(n, 0))
    assert a.sent == [] and a.two_way() == {}
    assert len(a.neighbors._missed) == MISSED
    air.run(10.0)  # Air.carry asserts the bound of a datagram
    assert 9 <= len(a.sent) <= 11
    air.run(FORGET + 20.0)
    assert a.neighbors._table == {}


def test_questions_without_end_cost_no_more_than_beacons_that_say_all():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    sent = len(a.sent)
    for n in range(500):
        air.call_at(10.0 + n * 0.02, lambda: b.broadcast(wire.Missed((1,))))
    air.run(20.0)
    assert 9 <= len(a.sent) - sent <= 11
    assert {type(m) for m in beacons(a)[sent + 1:]} == {wire.Hello}
