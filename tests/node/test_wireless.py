"""The command plan of `roamcast radio` as data, from what `iw` really says: of the kernel's virtual radios (iw 5.19,
mac80211_hwsim, in a Debian guest), and of a Raspberry Pi 4 as its owners published it.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys

import pytest

from node import wireless
from node.wireless import Interface, Network, Step, WirelessError
from tests.node.field_hosts import environment

# `iw dev` while wpa_supplicant runs on wlan3, in the guest
HWSIM = """phy#3
\tUnnamed/non-netdev interface
\t\twdev 0x300000002
\t\taddr 42:00:00:00:03:00
\t\ttype P2P-device
\t\ttxpower 30.00 dBm
\tInterface wlan3
\t\tifindex 5
\t\twdev 0x300000001
\t\taddr 02:00:00:00:03:00
\t\ttype managed
\t\ttxpower 30.00 dBm
phy#0
\tInterface wlan0
\t\tifindex 2
\t\twdev 0x1
\t\taddr 02:00:00:00:00:00
\t\tssid manet
\t\ttype IBSS
\t\tchannel 1 (2412 MHz), width: 20 MHz (no HT), center1: 2412 MHz
\t\ttxpower 30.00 dBm
"""
PHY = """Wiphy phy0
\tSupported interface modes:
\t\t * IBSS
\t\t * managed
\t\t * AP/VLAN
\t\t * mesh point
\t\t * P2P-device
\tBand 1:
\t\tBitrates (non-HT):
\t\t\t* 1.0 Mbps
\t\tFrequencies:
\t\t\t* 2412 MHz [1] (30.0 dBm)
\t\t\t* 2462 MHz [11] (30.0 dBm)
\t\t\t* 2467 MHz [12] (disabled)
\t\t\t* 2484 MHz [14] (disabled)
\tBand 2:
\t\tFrequencies:
\t\t\t* 5180 MHz [36] (23.0 dBm)
\t\t\t* 5260 MHz [52] (24.0 dBm) (radar detection)
\t\t\t* 5845 MHz [169] (27.0 dBm) (no IR)
"""
PI = """Wiphy phy0
        Supported interface modes:
                 * IBSS
                 * managed
                 * AP
                 * P2P-client
                 * P2P-GO
                 * P2P-device
        Band 1:
                Frequencies:
                        * 2412 MHz [1] (20.0 dBm)
                        * 2467 MHz [12] (disabled)
        Band 2:
                Frequencies:
                        * 5520 MHz [104] (20.0 dBm) (no IR, radar detection)
                        * 5745 MHz [149] (disabled)
"""
OLD = "\tBand 1:\n\t\tFrequencies:\n\t\t\t* 2472 MHz [13] (20.0 dBm) (passive scanning, no IBSS)\n"
NEW = "\tBand 1:\n\t\tFrequencies:\n\t\t\t* 2412.0 MHz [1] (20.0 dBm)\n"
REG = "global\ncountry US: DFS-FCC\n\t(2400 - 2472 @ 40), (N/A, 30), (N/A)\n\nphy#0 (self-managed)\ncountry DE: DFS-ETSI\n"
WLAN0 = Interface("wlan0", 0, "02:00:00:00:00:00", "managed", "", 0)
MANET = Network("ibss", "manet", 1)


def test_interfaces_with_and_without_a_name():
    assert wireless.interfaces(HWSIM) == [
        Interface("", 3, "42:00:00:00:03:00", "P2P-device", "", 0),
        Interface("wlan3", 3, "02:00:00:00:03:00", "managed", "", 0),
        Interface("wlan0", 0, "02:00:00:00:00:00", "IBSS", "manet", 2412)]
    assert wireless.interfaces("") == []
    assert wireless.interfaces("phy#0\n\tInterface w\n\t\tssid two words \n")[0].ssid == "two words "


def test_modes_and_channels_of_old_and_new_iw():
    radio = wireless.phy(PHY)
    assert radio.modes == {"IBSS", "managed", "AP/VLAN", "mesh point", "P2P-device"}
    assert [c.number for c in radio.channels if not c.forbidden] == [1, 11, 36]
    assert [c.number for c in wireless.phy(PI).channels if not c.forbidden] == [1]
    assert wireless.phy(OLD).channels[0].forbidden and wireless.phy(NEW).channels == ((1, 2412, ""),)
    assert wireless.country(REG) == "US" and wireless.country("nothing") == "00"


@pytest.mark.parametrize(("network", "text", "says"), [
    (Network("ibss", "manet", 14), PHY, "channel 14 is forbidden in the regulatory domain US: it is disabled; allowed here "
                                        "are 1, 11, 36"),
    (Network("ibss", "manet", 52), PHY, "radar has precedence there"),
    (Network("ibss", "manet", 169), PHY, "unless an access point is heard first"),
    (Network("ibss", "manet", 7), PHY, "this radio has no channel 7; it may use 1, 11, 36"),
    (Network("mesh", "web", 1), PI, "no mesh point mode.*a USB one"),
    (Network("ibss", "manet", 1), "Wiphy phy0\n", "no IBSS mode"),
])
def test_what_a_radio_or_its_country_forbids_is_one_sentence(network, text, says):
    with pytest.raises(WirelessError, match=says):
        wireless.frequency(network, wireless.phy(text), "US")


def test_the_channel_is_a_frequency():
    assert wireless.frequency(MANET, wireless.phy(PI), "DE") == 2412
    assert wireless.frequency(Network("mesh", "web", 36), wireless.phy(PHY), "US") == 5180


@pytest.mark.parametrize(("network", "says"), [
    (Network("ibss", "", 1), "1 to 32"), (Network("ibss", "ä" * 17, 1), "34 bytes"),
    (Network("mesh", "web", 1, bssid="02:ca:fe:00:00:01"), "no BSSID"),
    (Network("ibss", "manet", 1, bssid="01:ca:fe:00:00:01"), "02:ca:fe:00:00:01"),
    (Network("ibss", "manet", 1, bssid="nonsense"), "02:ca:fe:00:00:01"),
    (Network("ibss", "manet", 1, ("10.77.0.1",)), "10.77.0.1/24"),
    (Network("ibss", "manet", 1, ("10.77.0.1/33",)), "10.77.0.1/33"),
    (Network("ibss", "manet", 1, country="de"), "two capital letters"),
])
def test_a_network_that_cannot_be(network, says):
    with pytest.raises(WirelessError, match=says):
        wireless.check(network)


def test_no_such_interface_and_one_that_is_no_radio():
    found = wireless.interfaces(HWSIM)
    with pytest.raises(WirelessError, match="there is no interface wlan9; the radios here are wlan3, wlan0"):
        wireless.choose(found, "wlan9", ["lo", "eth0"])
    with pytest.raises(WirelessError, match="eth0 is no radio; the radios here are wlan3, wlan0"):
        wireless.choose(found, "eth0", ["lo", "eth0"])
    with pytest.raises(WirelessError, match="this host has no radio"):
        wireless.choose([], "wlan0", ["lo"])
    assert wireless.choose(found, "wlan3", []).phy == 3


@pytest.mark.parametrize(("name", "nmcli", "supplicants", "sockets", "says"), [
    ("wlan0", "wlan0:connected\nlo:unmanaged\n", [], [], "nmcli device set wlan0 managed no"),
    ("wlan0", "wlan0:disconnected\n", [], [], "NetworkManager manages wlan0"),
    ("wlan0", "wlan0:unmanaged\n", [], [], None),
    ("wlan0", "", [["-B", "-c/etc/wpa.conf", "-iwlan0"]], [], "wpa_supplicant holds wlan0; end it"),
    ("wlan0", "", [["-u", "-s", "-O", "/run/wpa_supplicant"]], [], None),
    ("wlan0", "", [["-u", "-s"]], ["wlan0"], "wpa_supplicant holds wlan0"),
    ("wlan0", "", [["-u", "-s"]], ["p2p-dev-wlan0"], "a P2P device on the radio of wlan0"),
    ("wlan3", "", [["-u", "-s"]], [], "a P2P device on the radio of wlan3"),
    ("wlan3", "", [["-i", "wlan1"]], [], "a P2P device"),
    ("wlan0", "", [["-i", "wlan1"]], ["wlan1"], None),
])
def test_whoever_holds_the_interface_is_named_with_the_way_to_end_that(name, nmcli, supplicants, sockets, says):
    found = wireless.interfaces(HWSIM)
    holder = wireless.manager(wireless.choose(found, name, []), found, nmcli, supplicants, sockets)
    assert holder is None if says is None else says in holder


def test_the_plan_for_ad_hoc_mode():
    commands = [" ".join(step.command) for step in wireless.up(WLAN0, MANET, 2412)]
    assert commands == [
        "ip link set dev wlan0 down", "ip address flush dev wlan0", "iw dev wlan0 set type ibss",
        "ip link set dev wlan0 addrgenmode eui64", "ip link set dev wlan0 up", "iw dev wlan0 set power_save off",
        "iw dev wlan0 ibss join manet 2412 fixed-freq", "ip address replace 169.254.196.116/16 brd + dev wlan0"]
    fixed = Network("ibss", "manet", 1, ("10.77.0.1/24", "fd77::1/64"), "02:ca:fe:00:00:01", "DE")
    commands = [" ".join(step.command) for step in wireless.up(WLAN0, fixed, 2412)]
    assert commands[-3:] == ["iw dev wlan0 ibss join manet 2412 fixed-freq 02:ca:fe:00:00:01",
                             "ip address replace 10.77.0.1/24 brd + dev wlan0", "ip address replace fd77::1/64 dev wlan0"]
    assert [step.command for step in wireless.country_steps(fixed)] == [("iw", "reg", "set", "DE")]
    assert wireless.country_steps(MANET) == []


def test_the_plan_for_a_mesh_forwards_nothing_itself():
    commands = [" ".join(step.command) for step in wireless.up(WLAN0, Network("mesh", "web", 6), 2437)]
    assert "iw dev wlan0 set type mp" in commands and "iw dev wlan0 mesh join web freq 2437 mesh_fwding=0" in commands


@pytest.mark.parametrize(("type_", "leaves"), [("IBSS", "ibss"), ("mesh point", "mesh"), ("managed", None)])
def test_the_plan_for_down(type_, leaves):
    commands = [" ".join(step.command) for step in wireless.down(WLAN0._replace(type=type_))]
    assert commands[-3:] == ["ip link set dev wlan0 down", "ip address flush dev wlan0", "iw dev wlan0 set type managed"]
    assert commands[:-3] == ([f"iw dev wlan0 {leaves} leave"] if leaves else [])


def test_a_link_local_address_is_the_same_each_time_and_in_its_range():
    addresses = {wireless.link_local(f"b8:27:eb:00:{k >> 8:02x}:{k & 255:02x}") for k in range(3000)}
    assert len(addresses) > 2900  # 3,000 of 65,024 places: some 68 fall together
    assert all(1 <= int(a.split(".")[2]) <= 254 and a.startswith("169.254.") and a.endswith("/16") for a in addresses)
    assert wireless.link_local("B8:27:EB:00:00:01") == wireless.link_local("b8:27:eb:00:00:01")


def test_joined_is_what_iw_says_of_the_link():
    assert wireless.joined("ibss", "Joined IBSS 52:d7:30:53:f0:8c (on wlan1)\n\tSSID: manet\n\tfreq: 2412\n", "")
    assert not wireless.joined("ibss", "Not connected.\n", HWSIM)
    assert wireless.joined("mesh", "Not connected.\n", "\ttype mesh point\n\tchannel 6 (2437 MHz), width: 20 MHz\n")
    assert not wireless.joined("mesh", "Not connected.\n", "\ttype mesh point\n\twiphy 0\n")


@pytest.mark.parametrize(("said", "cure"), [
    ("RTNETLINK answers: Operation not possible due to RF-kill", "rfkill unblock wifi"),
    ("command failed: Device or resource busy (-16)", "pgrep -a wpa_supplicant"),
    ("command failed: Operation not supported (-95)", "a USB one"), ("", "it says nothing"),
])
def test_a_command_that_fails_says_what_would_do(said, cure):
    step = Step(("iw", "dev", "wlan0", "set", "type", "ibss"), "")
    assert wireless.explain(step, said).startswith("`iw dev wlan0 set type ibss` failed")
    assert cure in wireless.explain(step, said)


# ---- the command, with an `iw` that says what a radio here cannot ----------------------------------------
@pytest.fixture
def radio_command(tmp_path):
    """Runs `roamcast radio` where `iw` and `ip` are these scripts; what they were asked is in `asked`."""
    (tmp_path / "phy").write_text(PHY)
    (tmp_path / "dev").write_text(HWSIM)
    iw = f"""#!/bin/sh
echo iw "$@" >> {tmp_path}/asked
case "$*" in
  dev) cat {tmp_path}/dev;; "phy phy0 info") cat {tmp_path}/phy;; "reg get") echo "country US: DFS-FCC";;
  "dev wlan0 link") echo "Not connected.";; "dev wlan0 set power_save off") echo "not supported (-95)" >&2; exit 161;;
esac
"""
    for name, text in (("iw", iw), ("ip", f'#!/bin/sh\necho ip "$@" >> {tmp_path}/asked\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def run(*arguments: str, path: str = f"{tmp_path}:/usr/bin:/bin") -> subprocess.CompletedProcess:
        (tmp_path / "asked").write_text("")
        done = subprocess.run([sys.executable, "-P", "-m", "cli", "radio", *arguments], capture_output=True, text=True,
                              env={**environment(), "PATH": path})
        done.asked = (tmp_path / "asked").read_text().splitlines()
        return done
    return run


def test_a_dry_run_says_all_and_does_nothing(radio_command):
    done = radio_command("up", "wlan0", "--ibss", "manet", "--channel", "1", "--country", "DE", "--dry-run")
    assert done.returncode == 0 and "iw reg set DE" in done.stdout and "ibss join manet 2412 fixed-freq" in done.stdout
    assert not [line for line in done.asked if "set" in line or "join" in line or line.startswith("ip")]


@pytest.mark.skipif(os.geteuid() != 0, reason="setting up a radio needs root")
def test_a_radio_that_never_joins_is_waited_for_only_so_long(radio_command):
    done = radio_command("up", "wlan0", "--ibss", "manet", "--channel", "1", "--wait", "0.5")
    assert done.returncode == 2 and "wlan0 has not joined manet on channel 1 in 0.5 s" in done.stderr
    assert "iw dev wlan0 set power_save off: not supported (-95); done without" in done.stdout
    assert [line for line in done.asked if "join" in line] == ["iw dev wlan0 ibss join manet 2412 fixed-freq"]


def test_what_is_not_said_or_not_installed(radio_command, tmp_path):
    for arguments, says in ((("up",), "which interface?"), (("up", "wlan0"), "which network?"),
                            (("up", "wlan0", "--ibss", "manet"), "which channel?"),
                            (("up", "wlan0", "--ibss", "manet", "--channel", "14", "--dry-run"), "channel 14 is forbidden"),
                            (("up", "wlan0", "--mesh", "web", "--channel", "1", "--bssid", "02:00:00:00:00:01"), "no BSSID")):
        done = radio_command(*arguments)
        assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = radio_command("up", "wlan0", "--ibss", "manet", "--channel", "1", path=str(tmp_path / "empty"))
    assert done.returncode == 2 and "iw is not installed here; `apt install iw` brings it" in done.stderr


def test_root_is_asked_for(monkeypatch, radio_command, tmp_path):
    from cli import radio
    from cli.errors import UserError

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    parser = argparse.ArgumentParser()
    radio.add_arguments(parser)
    with pytest.raises(UserError, match="needs root: sudo roamcast radio up"):
        radio.run(parser.parse_args(["up", "wlan0", "--ibss", "manet", "--channel", "1"]))


def test_a_file_without_a_radio_leaves_the_interface(tmp_path):
    (tmp_path / "node.toml").write_text('id = 1\ninterface = "eth0"\n')
    done = subprocess.run([sys.executable, "-P", "-m", "cli", "radio", "up", "--config", str(tmp_path / "node.toml")],
                          env=environment(), capture_output=True, text=True)
    assert done.returncode == 0 and "the interface stays as it is" in done.stdout
