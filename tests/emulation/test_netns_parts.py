"""The parts of the namespace world that need no namespace: time, lateness, addresses, expectations."""
from __future__ import annotations

import ipaddress
import json
import math
import os
import struct
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topologies
from emulation import addresses
from emulation.linux import kernel, netlink
from emulation.medium import propagation_of
from emulation.realtime import fidelity, forecast, probe
from emulation.realtime.channel import Channel
from emulation.realtime.clock import RealTime
from emulation.realtime.live import LiveRun, NotLive
from emulation.realtime.supervisor import clocks_said
from tests.emulation.air import line, standing
from topologies.scenario import Fidelity, LogDistanceRadio, RadioLink, UnitDiskRadio


# ---- real time -----------------------------------------------------------------------------------
def test_actions_run_in_order_at_their_own_times_and_lateness_is_told():
    late, ran = [], []
    scheduler = RealTime(late.append)
    for at in (0.02, 0.01, 0.03, 0.01):
        scheduler.call_at(at, lambda at=at: ran.append((at, scheduler.now())))
    scheduler.call_at(0.02, lambda: scheduler.call_at(0.025, lambda: ran.append((0.025, scheduler.now()))))
    assert scheduler.now() == 0.0 and scheduler.due() == 0.01
    scheduler.began = time.monotonic() - 1.0  # all is due for a second
    scheduler.advance()
    assert ran == [(0.01, 0.01), (0.01, 0.01), (0.02, 0.02), (0.025, 0.025), (0.03, 0.03)]
    assert len(late) == 6 and all(0.96 < seconds < 30 for seconds in late)
    assert 1.0 <= scheduler.now() <= scheduler.elapsed() and scheduler.due() is None


def test_time_never_goes_back_and_nothing_is_early():
    scheduler = RealTime(lambda seconds: None)
    scheduler.began = time.monotonic()
    ran = []
    scheduler.call_at(1000.0, lambda: ran.append("early"))
    scheduler.advance()
    now = scheduler.now()
    scheduler.call_at(now - 5.0, lambda: ran.append(scheduler.now()))  # the past is now
    scheduler.advance()
    assert ran == [now]
    scheduler.began -= 10.0
    scheduler.advance(until=8.0)
    assert scheduler.now() == 8.0


# ---- lateness ------------------------------------------------------------------------------------
@given(st.lists(st.floats(2e-6, 100.0), min_size=1, max_size=200))
def test_percentiles_are_known_to_a_tenth(values):
    tallies = fidelity.tallies(2)
    for k, value in enumerate(values):
        tallies[k % 2].late(value)
    found, ordered = fidelity.lateness(tallies), sorted(values)
    assert found["samples"] == len(values)
    assert found["worst"] == pytest.approx(ordered[-1], abs=2e-6)
    for name, share in (("median", 0.5), ("p99", 0.99)):
        exact = ordered[max(math.ceil(share * len(values)) - 1, 0)]
        assert exact * 0.99 - 2e-6 <= found[name] <= exact * fidelity.GROWTH * 1.01 + 2e-6


def test_tallies_are_shared_by_forked_processes():
    tallies = fidelity.tallies(1)
    if (child := os.fork()) == 0:
        tallies[0].late(0.5, 7.25)
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    found = fidelity.lateness(tallies)
    assert found["worst"] == pytest.approx(0.5) and found["worst_from"] == pytest.approx(7.25)
    assert fidelity.lateness(fidelity.tallies(1)) == {"samples": 0, "median": None, "p99": None, "worst": None,
                                                      "worst_from": None}


def test_that_the_scenario_froze_a_host_does_not_make_it_late():
    tally, = fidelity.tallies(1)
    tally.words[fidelity.THAWED] = 30 * 10**9
    tally.late_at(30.5, 10.0)  # due at 20.5 s, while it was frozen
    assert tally.worst == pytest.approx(0.5) and tally.worst_from == pytest.approx(30.0)
    tally.late_at(50.0, 2.0)
    assert tally.worst == pytest.approx(2.0) and tally.worst_from == pytest.approx(48.0)


def test_one_process_that_stands_still_or_is_always_late_is_named_whatever_the_others_did():
    calm = {"median": 0.001, "p99": 0.002, "worst": 0.1, "samples": 9}
    measured = {"medium": calm, "positions": calm, "nodes": calm, "socket_drops": 0, "tap_drops": 0, "receptions": 1000,
                "records_lost": 0}
    tallies = fidelity.tallies(12)
    for tally in tallies:
        for _ in range(1000):
            tally.late(0.001)
    tallies[0].late(0.9)  # once
    few, = fidelity.tallies(1)
    few.late(0.9)
    parts = [fidelity.Part(f"host {k}'s node", tally, host=True) for k, tally in enumerate([*tallies, few])]
    assert fidelity.judge(measured, Fidelity(), [], parts) == []
    for _ in range(200):
        tallies[4].late(0.3)
    tallies[7].late(9.97, 12.0)
    assert fidelity.judge(measured, Fidelity(), [], parts) == [
        "the 99th percentile of how late host 4's node ran is 300 ms, more than run.fidelity.host = 250 ms",
        "host 7's node stood still for 9.97 s from 12.0 s on, more than run.fidelity.stall = 1 s"]
    assert fidelity.judge(measured, Fidelity(host=0.5, stall=10), [], parts) == []
    for tally in tallies:
        tally.late(20.0)
    assert fidelity.judge(measured, Fidelity(), [], parts)[-1] == "and 2 more hosts were as late"


def test_datagrams_that_a_host_takes_are_counted():
    words = fidelity.tallies(1)[0].words
    for k, count in ((fidelity.REACHED, 1000), (fidelity.HEARD, 950), (fidelity.CALLED, 300), (fidelity.TAKEN, 290)):
        words[k] = count
    assert fidelity.lost_inside("host 3", words, 1, 0) == []
    words[fidelity.HEARD], words[fidelity.TAKEN] = 500, 100
    assert fidelity.lost_inside("host 3", words, 1, 500)[0].startswith("200 of 300 datagrams that host 3's node sent")
    came, sent = fidelity.lost_inside("host 3", words, 1, 0)
    assert came.startswith("500 of 1000 datagrams that reached host 3's interface did not reach its node")


def test_a_clock_that_was_set_and_a_machine_that_slept_are_told():
    assert clocks_said((100.0, 3.0), (100.01, 3.0), devices=True) == []
    assert clocks_said((100.0, 3.0), (130.0, 33.0), devices=False) == [
        "the machine slept for 30.0 s during the run, which paused"]
    slept, stepped = clocks_said((100.0, 3.0), (127.5, 33.0), devices=True)
    assert slept.endswith("; the real devices did not") and "was set by -2.5 s" in stepped


def test_judgement_names_what_is_past_its_limit():
    calm = {"median": 0.001, "p99": 0.002, "worst": 0.1, "samples": 9}
    measured = {"medium": calm, "positions": {**calm, "p99": None}, "nodes": calm, "socket_drops": 0, "tap_drops": 0,
                "receptions": 1000, "records_lost": 0}
    assert fidelity.judge(measured, Fidelity(), []) == []
    for change, words in (({"medium": {**calm, "p99": 0.02}}, "how late the medium ran is 20 ms, more than run.fidelity"
                           ".medium = 10 ms"), ({"socket_drops": 5}, "5 frames were dropped"),
                          ({"records_lost": 1}, "1 records were lost")):
        because = fidelity.judge({**measured, **change}, Fidelity(), [])
        assert len(because) == 1 and words in because[0]
    assert fidelity.judge(measured, Fidelity(), ["host 3 was killed"]) == ["host 3 was killed"]


# ---- addresses -----------------------------------------------------------------------------------
@given(st.integers(0, addresses.MAX_HOSTS - 1))
def test_the_address_plan(host):
    assert addresses.ipv4(host) in ipaddress.ip_network("10.0.0.0/8")
    assert addresses.ipv4(host) not in (addresses.IPV4_BROADCAST, ipaddress.ip_address("10.0.0.0"))
    assert addresses.link_local(host).is_link_local and addresses.ipv6(host).is_private
    mac = addresses.mac(host)
    assert len(mac) == 6 and not mac[0] & 1 and mac[0] & 2  # one host's, and of local choice
    assert addresses.host_of(mac + bytes(8), host + 1) == host
    assert addresses.host_of(mac + bytes(8), host) == addresses.NOBODY
    assert addresses.host_of(b"\x33\x33" + bytes(12), 5) is None
    for own in (addresses.ipv4(host), addresses.ipv6(host), addresses.link_local(host)):
        assert addresses.owner(own.packed, host + 1) == host
        assert addresses.owner(own.packed, host) is None
    assert int(addresses.link_local(host)) & 0xFFFF == host & 0xFFFF


def test_messages_for_the_kernel_are_cut_between_messages():
    whole = netlink.permanent_neighbors(500)
    pieces = list(netlink._pieces(whole))
    assert len(pieces) > 1 and sum(map(len, pieces)) == len(whole)
    for piece in pieces:
        at, flags = 0, 0
        while at < len(piece):
            assert not flags & netlink.ACKNOWLEDGE
            length, _, flags = struct.unpack_from("=IHH", piece, at)
            at += length
        assert at == len(piece) and flags & netlink.ACKNOWLEDGE


# ---- what the probes must say --------------------------------------------------------------------
def test_expected_reception_of_a_row():
    radio = UnitDiskRadio(range=150.0, loss=0.1, links=(RadioLink.model_validate({"from": 0, "to": 1, "loss": 1.0}),))
    movement = line(4)
    found = probe.reception(movement, radio, propagation_of(radio, movement, 1), off={3})
    assert found == pytest.approx(np.array([[0, 0, 0, 0], [0.9, 0, 0.9, 0], [0, 0.9, 0, 0], [0, 0, 0, 0]]))


def test_a_pair_at_the_very_edge_is_asked_nothing():
    radio, movement = UnitDiskRadio(range=100.0), line(2)
    found = probe.reception(movement, radio, propagation_of(radio, movement, 1), off=set())
    assert np.isnan(found[0, 1])
    for heard in ([set(), set()], [{1}, {0}]):
        assert probe.disagreement(heard, found) is None and probe.complete(heard, found)


def test_expected_reception_falls_with_distance():
    radio = LogDistanceRadio(shadowing=0.0)
    movement = standing((0, 0), (20, 0), (160, 0), (5000, 0))
    first = probe.reception(movement, radio, propagation_of(radio, movement, 1), off=set())[0]
    assert first[1] > 0.99 > first[2] > 0 == first[3]


def test_disagreements_name_a_pair():
    expected = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]])
    assert probe.disagreement([{1}, {0}, set()], expected) is None
    assert probe.disagreement([{1}, {0, 2}, {1}], expected) is None
    assert "host 2 hears host 0, which is out of its range" in probe.disagreement([{1}, {0}, {0}], expected)
    assert "host 1 does not hear host 0, which is in its range (and 1 more pairs)" in probe.disagreement(
        [set(), set(), set()], expected)
    assert not probe.complete([set(), {0}, set()], expected)


# ---- the rest ------------------------------------------------------------------------------------
def test_what_was_said_before_an_end_is_heard():
    here, there = Channel.pair()
    here.send({"unread": 1})
    there.send({"last": 2})
    there.close()
    assert here.receive() == {"last": 2} and here.receive() is None and here.send({}) is False


def test_the_forecast_grows_with_hosts_and_events():
    def expected(path: str, **changes) -> forecast.Forecast:
        scenario = topologies.load(path, {key.replace("__", "."): value for key, value in changes.items()})
        return forecast.forecast(scenario, scenario.movement(), speed=1.0)

    park = os.path.join(os.path.dirname(topologies.__file__), "park-30.toml")
    usual, busy = expected(park), expected(park, workload__publish_interval=0.01)
    assert 0.05 < usual.processors < 0.5 and not usual.too_much and "about 0.2 of" in str(usual)
    assert busy.processors > 10 * usual.processors and busy.too_much and "more than" in str(busy)


def test_a_run_that_is_just_ending_is_over(tmp_path):
    """Its process is there still, and has closed its hosts' namespaces already."""
    live = {"pid": os.getpid(), "start": kernel.process_start(os.getpid()), "spaces": [10**6]}
    (tmp_path / "live.json").write_text(json.dumps(live))
    with pytest.raises(NotLive, match="the run is over"):
        LiveRun(tmp_path).enter(0)
