"""Whose Ethernet address is whose: the plan's, those that hosts give themselves, and real devices behind ports."""
from __future__ import annotations

from emulation.addresses import NOBODY, mac
from emulation.realtime.stations import Stations

OTHER, THIRD = bytes.fromhex("0a0000000001"), bytes.fromhex("0a0000000002")


def frame(to: bytes) -> bytes:
    return to + bytes(20)


def test_the_plan_holds_until_a_host_gives_itself_another_address():
    stations = Stations(3, {})
    assert [stations.owner(frame(mac(host))) for host in range(4)] == [0, 1, 2, NOBODY]
    assert stations.owner(frame(b"\xff" * 6)) is None and stations.owner(frame(OTHER)) == NOBODY
    stations.give(1, OTHER)
    assert stations.owner(frame(OTHER)) == 1 and stations.own(1) == OTHER and stations.own(2) == mac(2)
    assert stations.owner(frame(mac(1))) == NOBODY and stations.owner(frame(mac(2))) == 2
    stations.give(2, OTHER)  # which is host 1's
    assert stations.owner(frame(OTHER)) == 1
    stations.give(1, mac(1))
    assert stations.owner(frame(mac(1))) == 1 and stations.owner(frame(OTHER)) == NOBODY


def test_a_port_has_the_device_that_was_heard_last():
    stations = Stations(3, {2: "eth7"})
    assert stations.owner(frame(OTHER)) == NOBODY
    stations.heard(2, OTHER)
    assert stations.owner(frame(OTHER)) == 2
    stations.heard(2, b"\xff" * 6)  # no address of one device
    stations.heard(2, THIRD)
    assert stations.owner(frame(THIRD)) == 2 and stations.owner(frame(OTHER)) == NOBODY
    stations.went_down(2, 3.25)
    stations.went_down(2, 9.0)
    assert stations.told() == {"2": {"interface": "eth7", "device": THIRD.hex(":"), "down_at": 3.25}}
    assert stations.disturbances() == ["host 2's interface eth7 went down at 3.2 s"]


def test_names_and_what_was_ever_disturbed():
    stations = Stations(2, {})
    stations.unplug(1)
    stations.plug(1)
    stations.rename(0, "eth0")
    assert (stations.unplugged, stations.disturbed) == (set(), {1})
    assert [stations.name(host) for host in range(2)] == ["eth0", "wlan0"]
