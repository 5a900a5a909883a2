"""Real 802.11 in a guest: field nodes on radios of their own, and the world hwsim held against its radio model.

Minutes; run by name: `roamcast test --hwsim`.
"""
from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.hwsim import heard, install

SECONDS = 3600.0  # that a guest may take on a busy machine; its own clock does not notice
HERE = Path(__file__).parent
pytestmark = [pytest.mark.hwsim, pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make the guest")]


def test_ten_field_nodes_talk_over_ibss(tmp_path):
    share = tmp_path / "share"
    share.mkdir()
    shutil.copy(HERE / "field.py", share)
    code, said = install.do(share, f"{install.PYTHON} /host/field.py /host/field.json\n", SECONDS)
    assert code == 0, said
    found = json.loads((share / "field.json").read_text())
    print(json.dumps(found, indent=1))
    for name in ("all", "restarted", "interrupted"):
        assert found[name].get("due") == 500 and found[name]["delivered"] == 500, (name, found)
    assert found["exit"] == 0 and found["dead"] == []


def test_a_capture_in_monitor_mode_knows_signals_and_leaves_no_interface(tmp_path):
    share = tmp_path / "share"
    code, said = install.do(share, f"""
modprobe mac80211_hwsim radios=2
sleep 2
{install.ROAMCAST} radio up wlan0 --ibss manet --channel 1 --address 10.77.0.1/24
ip netns add other
iw phy phy1 set netns name other
ip netns exec other {install.ROAMCAST} radio up wlan1 --ibss manet --channel 1 --address 10.77.0.2/24
sleep 5
{install.ROAMCAST} capture wlan0 --monitor --seconds 5 --out air.pcap
{install.ROAMCAST} dissect air.pcap > /host/frames
iw dev > /host/left
""", SECONDS)
    assert code == 0, said
    frames = (share / "frames").read_text().splitlines()
    print("\n".join(frames[:2]))
    others = [frame for frame in frames if "Beacon 02:00:00:00:01:00" in frame]  # the radio's own have no signal
    assert others and all("manet" in frame and frame.endswith(" dBm") for frame in others)
    left = (share / "left").read_text()
    assert left.count("Interface") == 1 and "type monitor" not in left


def test_who_heard_whom_is_what_the_radio_model_says(tmp_path):
    run, said = install.run(HERE / "stations.toml", tmp_path / "share", SECONDS)
    manifest = json.loads((run / "manifest.json").read_text())
    fidelity = manifest["fidelity"]
    print(said, json.dumps(fidelity, indent=1))
    assert manifest["outcome"] == "complete" and manifest["world"] == "hwsim"
    assert fidelity["tap_drops"] == fidelity["tap_refused"] == fidelity["socket_drops"] == 0
    assert fidelity["valid"], fidelity["invalid_because"]
    found = heard.compare(run)
    print(f"{found.decided} receptions; {found.first} were a station's first frame, {found.lost} lost, {found.invented} invented")
    print("    m  pairs  heard   model")
    for span in found.bins:
        print(f"{span.least:5.0f} {span.pairs:6} {span.heard / span.pairs:6.3f} {span.expected / span.pairs:7.3f}")
    assert found.decided > 2000 and found.lost == found.invented == 0
    assert len([span for span in found.bins if 0.05 < span.expected / span.pairs < 0.95]) >= 3  # there is a slope to meet
    for span in found.bins:
        assert abs(span.heard - span.expected) <= 4.0 * span.variance**0.5 + 1.0, span
    workload = manifest["workload"]
    assert workload["published"] > 20 and workload["delivered"] > 50
