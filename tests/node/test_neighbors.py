"""Who counts as a neighbor: both ways only, without flapping, restarted at once, one identity once."""
from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node import wire
from node.ids import Peer
from node.neighbor import PATIENCE_MOST, Neighbor, patience, suspicion
from node.neighbors import FORGET, PEERS, Neighbors
from tests.node.lossy_air import Air, Host, event, linked


def hosts(air: Air, *nodes: int, **config) -> list[Host]:
    made = [Host(air, n, **{"hello_interval": 1.0, **config}) for n in nodes]
    for host in made:
        host.neighbors.start()
    return made


def changes(host: Host) -> list[tuple[str, int, str]]:
    return [(what, peer.node, why) for _, what, peer, why in host.changes]


def table(host: Host) -> dict:
    return host.neighbors._table


def hello(sequence: int = 1, heard: tuple = (), interval: int = 1000) -> wire.Hello:
    return wire.Hello(sequence, interval, heard, len(heard), 0, 0, False, ())


# ---- up and down ------------------------------------------------------------------------------

def test_both_ways_up_within_a_few_beacons():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(5.0)
    assert a.two_way() == {2: b.me} and b.two_way() == {1: a.me}
    assert changes(a) == [("up", 2, "")] and a.recorded("neighbor_up")[0]["t"] < 4.5
    assert {peer for peer, _ in a.hellos} == {b.me}


def test_a_link_that_vanishes_is_noticed_in_about_three_intervals():
    delays = []
    for seed in range(40):
        air = Air(seed, loss=lambda f, to: 1.0 if air.time > 100 + seed * 0.1 else 0.0)
        a, b = hosts(air, 1, 2)
        air.run(120.0)
        assert changes(a) == [("up", 2, ""), ("down", 2, "silent")]
        delays += [h.changes[-1][0] - 100 - seed * 0.1 for h in (a, b)]
    mean = sum(delays) / len(delays)
    assert 2.4 < mean < 3.1, f"noticed after {mean:.2f} intervals on average"
    assert max(delays) < 3.4


def test_thirty_percent_loss_does_not_flap():
    """Six links for an hour, each way losing 30 % for itself; three misses in a row would make 800 flaps."""
    for seed in range(6):
        air = Air(seed, loss=0.3)
        pair = hosts(air, 1, 2)
        air.run(3600.0)
        assert [changes(h) for h in pair] == [[("up", 2, "")], [("up", 1, "")]]
        assert all(h.changes[0][0] < 15.0 for h in pair)


@pytest.mark.parametrize("loss", [0.02, 0.1, 0.3])
def test_flap_rate(loss):
    """A hundred hours of beacons every second: how often a run of losses outlasts the patience of one end, or
    a question whether the other is there gets lost at every try, both ways."""
    draw, missed, silent, unanswered = random.Random(1), 0, 0, 0
    entry = Neighbor(Peer(2, 1), 1, 0.0, 1.0)
    for sequence in range(360_000):
        if draw.random() >= loss:
            missed = 0
            entry.beacon(sequence, 1.0, 3)
            continue
        missed += 1
        if missed == int(entry.suspicion) and all(
                draw.random() < loss or draw.random() < loss for _ in range(entry.tries)):
            unanswered += 1
        elif missed + 1 > entry.patience:
            silent += 1
            missed = 0
            entry.forget_beacons()
    assert silent <= 15 and unanswered <= 15, f"{silent} and {unanswered} flaps in 100 hours"


def test_silence_is_suspected_once_after_a_beacon_and_a_quarter():
    vanished = 100.0
    air = Air(loss=lambda f, to: 1.0 if air.time > vanished else 0.0)
    a, b = hosts(air, 1, 2)
    air.run(110.0)
    for host, other in ((a, b), (b, a)):
        ((when, peer),) = host.suspicions
        assert peer == other.me
        assert vanished + 0.2 < when < vanished + 1.25
        assert changes(host)[-1][0] == "down" and host.changes[-1][0] > when + 1.5


def test_each_silence_is_suspected_anew():
    air = Air(loss=lambda f, to: 1.0 if int(air.time) % 20 in (10, 11) else 0.0)
    a, b = hosts(air, 1, 2)
    air.run(100.0)
    assert [int(when) // 20 for when, _ in a.suspicions] == [0, 1, 2, 3, 4]
    assert [c for c in changes(a) if c[0] == "down"] == []


def test_a_young_link_that_lost_nothing_is_suspected_as_soon_as_an_old_one():
    entry = Neighbor(Peer(2, 1), 1, 0.0, 1.0)
    for sequence in range(6):
        entry.beacon(sequence, 1.0, 3)
    assert entry.suspicion == 1.25 and entry.patience > 4


def test_a_lossy_link_that_vanishes_is_noticed_within_the_bound():
    air = Air(3, loss=lambda f, to: 1.0 if air.time > 500 else 0.3)
    a, b = hosts(air, 1, 2)
    air.run(520.0)
    assert changes(a)[-1] == ("down", 2, "silent")
    assert 500 < a.changes[-1][0] <= 500 + PATIENCE_MOST + 1


def test_any_datagram_keeps_a_neighbor():
    """Beacons of 2 get lost altogether, its data does not."""
    air = Air()
    a, b = hosts(air, 1, 2)
    (link,) = linked(a, b)
    air.run(30.0)
    b.neighbors._timer.cancel()
    for n in range(60):
        air.call_at(30.0 + n, lambda n=n: b.links.send([link], event(n)))
    air.run(90.0)
    assert a.two_way() == {2: b.me}
    air.run(100.0)
    assert changes(a)[-1] == ("down", 2, "silent") and a.changes[-1][0] < 94.0


def test_a_channel_that_gave_up_ends_the_neighbor_until_it_is_heard_again():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    a.neighbors.channel_failed(2)
    a.neighbors.channel_failed(2)
    a.neighbors.channel_failed(77)
    assert a.two_way() == {}
    air.run(20.0)
    assert changes(a) == [("up", 2, ""), ("down", 2, "channel"), ("up", 2, "")]
    assert a.changes[-1][0] > 12.0


# ---- one way ----------------------------------------------------------------------------------

def test_a_one_way_link_never_counts():
    air = Air(loss=lambda f, to: 1.0 if (f, to) == (2, 1) else 0.0)
    a, b = hosts(air, 1, 2)
    air.run(300.0)
    assert a.changes == [] and b.changes == [] and a.hellos == b.hellos == []


def test_a_link_that_becomes_one_way_goes_down_at_both_ends():
    air = Air(loss=lambda f, to: 1.0 if (f, to) == (2, 1) and air.time > 100 else 0.0)
    a, b = hosts(air, 1, 2)
    air.run(200.0)
    assert changes(a) == [("up", 2, ""), ("down", 2, "silent")]
    assert changes(b) == [("up", 1, ""), ("down", 1, "one_way")]
    assert b.changes[-1][0] < 107.0


def test_more_neighbors_than_a_beacon_names_still_count():
    air = Air()
    crowd = hosts(air, *range(68))
    air.run(15.0)
    assert all(len(h.two_way()) == 67 for h in crowd)
    for host in crowd:
        assert [c for c in changes(host) if c[0] == "down"] == []
    listed = [m for _, _, messages in crowd[0].sent for m in messages]
    assert {(len(m.heard), m.hearing) for m in listed[-5:]} == {(64, 67)}


# ---- lives ------------------------------------------------------------------------------------

def test_a_restart_replaces_the_old_session_at_once():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(20.0)
    b.running = False
    (again,) = hosts(air, 2, epoch=5)
    air.run(21.5)
    assert changes(a)[-1] == ("down", 2, "restarted")
    assert a.changes[-1][2] == Peer(2, 1)
    air.run(30.0)
    assert a.two_way() == {2: Peer(2, 5)} and again.two_way() == {1: a.me}
    assert [(what, peer.epoch, why) for _, what, peer, why in a.changes] == [
        ("up", 1, ""), ("down", 1, "restarted"), ("up", 5, "")]
    assert a.recorded("identity_conflict") == []


def test_a_restart_is_known_by_any_datagram_before_it_is_handled():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    assert a.neighbors.heard(Peer(2, 2), 1)
    assert changes(a)[-1] == ("down", 2, "restarted") and a.two_way() == {}
    assert not a.neighbors.heard(Peer(2, 1), 10**6)
    assert a.neighbors.heard(Peer(2, 2), 2)


def test_two_living_nodes_of_one_id_are_named_and_nothing_flaps():
    air = Air()
    a, one = hosts(air, 1, 2)
    air.run(10.0)
    (other,) = hosts(air, 2, epoch=3)
    air.hosts["one"] = one  # both live
    air.run(400.0)
    conflicts = a.recorded("identity_conflict")
    assert {(c["other"], tuple(c["epochs"])) for c in conflicts} == {(2, (1, 3))}
    assert 1 <= len(conflicts) <= 8
    assert [c for c in changes(a) if c[0] == "down"] == [("down", 2, "restarted")]
    assert a.two_way() == {2: Peer(2, 3)}
    # and the two of them know it themselves: from hearing each other, or from whom others hear
    for twin in (one, other):
        assert twin.recorded("identity_conflict")[0]["epochs"] == [1, 3]
    assert len(table(a)) == 1


def test_a_twin_of_the_same_epoch_is_named_too():
    air = Air()
    a, one = hosts(air, 1, 2)
    air.run(200.0)
    hosts(air, 2)
    air.hosts["one"] = one
    air.run(260.0)
    assert a.recorded("identity_conflict")[0]["epochs"] == [1, 1]
    assert a.two_way() == {2: Peer(2, 1)}
    downs = [c for c in changes(a) if c[0] == "down"]
    assert downs == []


def test_a_stranger_with_our_own_id_out_of_earshot_is_known_from_the_lists_of_others():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(5.0)
    a.neighbors.heard(Peer(3, 1), 1)
    a.neighbors._hello(Peer(3, 1), hello(1, ((1, 9),)))
    (conflict,) = a.recorded("identity_conflict")
    assert conflict["other"] == 1 and conflict["epochs"] == [1, 9]
    a.neighbors.heard(Peer(3, 1), 2)
    a.neighbors._hello(Peer(3, 1), hello(2, ((1, 9),)))
    assert len(a.recorded("identity_conflict")) == 1


def test_of_many_conflicts_the_one_recorded_longest_ago_is_forgotten():
    """One that was just recorded again is not, or it would be recorded once more at the next datagram."""
    air = Air()
    (a,) = hosts(air, 1)
    for node in range(2, PEERS + 2):
        a.neighbors._conflict(node, 1, 2)
    air.run(70.0)
    a.neighbors._conflict(2, 1, 2)
    a.neighbors._conflict(10_000, 1, 2)  # makes 3 be forgotten
    a.neighbors._conflict(2, 1, 2)
    assert [r["other"] for r in a.recorded("identity_conflict")][PEERS:] == [2, 10_000]


def test_our_own_echo_is_dropped_in_silence():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    assert not a.neighbors.heard(a.me, a.counter)
    assert a.recorded("identity_conflict") == []
    assert not a.neighbors.heard(a.me, a.counter + 1)
    assert a.recorded("identity_conflict")[0]["other"] == 1


# ---- hostile air ------------------------------------------------------------------------------

@given(st.lists(st.integers(0, 300), max_size=200))
def test_replay_window_is_that_of_a_set(counters):
    entry = Neighbor(Peer(1, 1), 100, 0.0, 1.0)
    seen, highest = {100}, 100
    for counter in counters:
        fresh = counter not in seen and counter > highest - 64
        assert entry.accepts(counter) == fresh
        seen.add(counter)
        highest = max(highest, counter)
        assert entry.seen < 2**64


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_strangers_without_end_do_not_displace_neighbors_nor_grow_memory(seed):
    air = Air(seed)
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    for n in range(2000):
        sender = Peer(air.random.randrange(3, 2**32), air.random.randrange(1, 2**32))
        if a.neighbors.heard(sender, air.random.randrange(2**32)):
            a.neighbors._hello(sender, hello(air.random.randrange(2**32), interval=0xFFFF))
    assert len(table(a)) == PEERS and a.two_way() == {2: b.me}
    assert [r["what"] for r in a.recorded("refused")] == ["neighbors"]
    air.run(20.0)
    assert [c for c in changes(a) if c[0] == "down"] == []
    assert a.neighbors.heard(Peer(1000, 1), 1) or air.run(60.0) or a.neighbors.heard(Peer(1000, 1), 1)
    for node in range(2000):  # conflicts without end
        a.neighbors._conflict(node, 1, 2)
    assert len(a.neighbors._conflicts) <= PEERS


def test_a_forger_cannot_stretch_patience():
    air = Air()
    (a,) = hosts(air, 1)
    sender = Peer(2, 1)
    for n in range(1, 5):
        air.run(n * 1.0)
        a.neighbors.heard(sender, n)
        a.neighbors._hello(sender, hello(n, ((1, 1),), interval=0xFFFF))
    assert changes(a) == [("up", 2, "")]
    air.run(4.0 + 4 * (PATIENCE_MOST + 1))
    assert changes(a)[-1] == ("down", 2, "silent")


def test_the_silent_are_forgotten_in_the_end():
    air = Air(loss=lambda f, to: 1.0 if air.time > 10 else 0.0)
    a, b = hosts(air, 1, 2)
    air.run(FORGET)
    assert set(table(a)) == {2}  # a late replay is still known as one
    air.run(FORGET + 20.0)
    assert table(a) == {}


def test_stop_ends_beacons_and_upcalls():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    a.neighbors.stop()
    sent, seen = len(a.sent), len(a.changes)
    b.running = False
    air.run(30.0)
    assert len(a.sent) == sent and len(a.changes) == seen


# ---- beacons ----------------------------------------------------------------------------------

def test_beacons_are_jittered_and_say_what_the_core_tells():
    air = Air()
    a, b = hosts(air, 1, 2, hello_interval=0.5)
    a.told = [(2, 7, 100 + n, bytes(8)) for n in range(40)]
    air.run(100.0)
    times = [t for t, to, messages in a.sent if to is None]
    gaps = [late - early for early, late in zip(times, times[1:])]
    assert 0.45 <= min(gaps) < 0.46 and 0.54 < max(gaps) <= 0.55
    last = [m for _, m in b.hellos][-1]
    assert last.digests == tuple(a.told[:16]) and last.interval == 500
    assert last.heard == ((2, 1),)
    assert type(a.sent[-1][2][0]) is wire.Beat


def test_the_longest_beacon_fits():
    air = Air()
    high = 2**32 - 1
    (a,) = hosts(air, high)
    a.told = [(high - n, high, high, bytes(8)) for n in range(16)]
    for n in range(1, 120):
        sender = Peer(high - n, high)
        a.neighbors.heard(sender, 1)
        a.neighbors._hello(sender, hello(high))
    air.run(0.99)  # Air.carry asserts the bound
    a.neighbors._beacon()
    beacon = a.sent[-1][2][0]
    assert beacon.hearing == 119 and 55 < len(beacon.heard) <= 64


def test_patience_grows_with_loss_in_bounds():
    assert [patience(p, 3) for p in (0.0, 0.02, 0.1, 0.3, 0.5, 1.0)] == [3, 3, 5, 9, 10, 10]
    assert patience(0.9, 12) == 12
    for p in range(101):
        n = patience(p / 100, 3)
        assert n == PATIENCE_MOST or (p / 100) ** n <= 2e-5
    assert [suspicion(p) for p in (0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0)] == [
        (1, 2), (1, 2), (1, 4), (2, 4), (7, 4), (10, 5), (10, 5)]
    assert all(suspicion(p / 100)[0] <= patience(p / 100, 3) for p in range(101))


def test_late_beacons_are_no_conflict():
    air = Air(5, delay=(0.001, 3.0))
    a, b = hosts(air, 1, 2)
    air.run(300.0)
    assert a.two_way() == {2: b.me}
    assert a.recorded("identity_conflict") == [] == b.recorded("identity_conflict")
    assert isinstance(a.neighbors, Neighbors)


def test_a_forged_sequence_number_does_not_silence_a_node_for_good():
    air = Air()
    a, b = hosts(air, 1, 2)
    air.run(10.0)
    b.broadcast(hello(2**32 - 1, ((1, 1),)))
    air.run(30.0)
    assert a.two_way() == {2: b.me} and table(a)[2].sequence == b.neighbors._sequence
    assert [c["epochs"] for c in a.recorded("identity_conflict")] == [[1, 1]]
