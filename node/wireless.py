"""Radios of 802.11 in ad hoc and mesh mode: what `iw` says, and which commands set an interface up or down.

Everything here is data: texts in, commands and sentences out; `roamcast radio` runs them. Event messages go one
radio hop, so a mesh does not forward (mesh_fwding=0): the node is what routes.
"""
from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

MODES = {"ibss": "IBSS", "mesh": "mesh point"}  # what is asked for, as `iw phy` names it
TYPES = {"ibss": "ibss", "mesh": "mp"}  # and as `iw dev ... set type` does
NAME_BYTES = 32  # of an SSID or a mesh id


class WirelessError(Exception):
    """The radio cannot be set up so; the text says why and what would do, in one sentence."""


class Interface(NamedTuple):
    """One interface of `iw dev`."""

    name: str
    phy: int
    address: str  # MAC
    type: str  # managed, IBSS, mesh point, P2P-device, ...
    ssid: str
    frequency: int  # MHz; 0 when on no channel


class Channel(NamedTuple):
    """One channel of a phy, and why it may not be used; empty when it may."""

    number: int
    frequency: int  # MHz
    forbidden: str


class Phy(NamedTuple):
    """What a radio can do, from `iw phy`."""

    modes: frozenset[str]
    channels: tuple[Channel, ...]


class Step(NamedTuple):
    """One command. `optional`: not every driver can do it, and it does no harm to go without."""

    command: tuple[str, ...]
    why: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """The network that an interface is to join."""

    mode: str  # ibss or mesh
    name: str  # its SSID or mesh id
    channel: int
    addresses: tuple[str, ...] = ()  # with prefix lengths; without an IPv4 one it gets a link-local one
    bssid: str | None = None  # of the IBSS cell
    country: str | None = None  # regulatory domain to set first


# ---- what iw says ------------------------------------------------------------------------------------
def interfaces(text: str) -> list[Interface]:
    """The interfaces of `iw dev`, also those without a name (a P2P device), whose name is then empty."""
    found, phy = [], 0
    for line in text.splitlines():
        words = line.split()
        if match := re.match(r"phy#(\d+)", line):
            phy = int(match[1])
        elif words[:1] == ["Interface"] or words[:1] == ["Unnamed/non-netdev"]:
            found.append(Interface(words[1] if words[0] == "Interface" else "", phy, "", "", "", 0))
        elif found and words[:1] == ["addr"]:
            found[-1] = found[-1]._replace(address=words[1])
        elif found and words[:1] == ["type"]:
            found[-1] = found[-1]._replace(type=" ".join(words[1:]))
        elif found and words[:1] == ["ssid"]:
            found[-1] = found[-1]._replace(ssid=line.split("ssid ", 1)[1])
        elif found and (match := re.match(r"\s*channel \d+ \((\d+)", line)):
            found[-1] = found[-1]._replace(frequency=int(match[1]))
    return found


def phy(text: str) -> Phy:
    """Modes and channels of `iw phy NAME info`, of iw 4 to 6."""
    modes, channels, listing = set(), [], False
    for line in text.splitlines():
        if line.strip().endswith(":"):
            listing = line.strip() == "Supported interface modes:"
        elif listing and (match := re.match(r"\s+\* (.+)", line)):
            modes.add(match[1].strip())
        elif match := re.match(r"\s+\* (\d+)(?:\.\d+)? MHz \[(\d+)\](.*)", line):
            channels.append(Channel(int(match[2]), int(match[1]), _forbidden(match[3])))
    return Phy(frozenset(modes), tuple(channels))


def _forbidden(flags: str) -> str:
    if "disabled" in flags:
        return "it is disabled"
    if "radar" in flags:
        return "radar has precedence there"
    if any(flag in flags for flag in ("no IR", "no IBSS", "passive")):
        return "nothing may be sent there unless an access point is heard first"
    return ""


def country(text: str) -> str:
    """The regulatory domain of `iw reg get`: two letters, 00 for the world's common part."""
    match = re.search(r"^country (\w\w):", text, re.MULTILINE)
    return match[1] if match else "00"


def joined(mode: str, link: str, info: str) -> bool:
    """Whether an interface is in its network, from `iw dev NAME link` and `iw dev NAME info`."""
    if mode == "ibss":
        return link.startswith("Joined IBSS")
    return bool(re.search(r"^\s*channel \d+", info, re.MULTILINE))


# ---- what cannot be ----------------------------------------------------------------------------------
def choose(found: Sequence[Interface], name: str, others: Sequence[str]) -> Interface:
    """The interface of this name. `others`: all interfaces of this host. Raises WirelessError."""
    for interface in found:
        if interface.name == name:
            return interface
    radios = ", ".join(i.name for i in found if i.name)
    there = f"the radios here are {radios}" if radios else "this host has no radio that the kernel drives"
    if name in others:
        raise WirelessError(f"{name} is no radio; {there}")
    raise WirelessError(f"there is no interface {name}; {there}")


def check(network: Network) -> None:
    """The network by itself. Raises WirelessError."""
    if not 1 <= len(network.name.encode()) <= NAME_BYTES:
        raise WirelessError(f"the network's name {network.name!r} has {len(network.name.encode())} bytes; "
                            f"a name takes 1 to {NAME_BYTES}")
    if network.country is not None and not re.fullmatch("[A-Z]{2}", network.country):
        raise WirelessError(f"country {network.country!r}: two capital letters are wanted, such as DE or US")
    if network.bssid is not None:
        if network.mode != "ibss":
            raise WirelessError("a mesh has no BSSID; leave it away")
        whole = re.fullmatch("(?i)([0-9a-f]{2})(:[0-9a-f]{2}){5}", network.bssid)
        if whole is None or int(whole[1], 16) & 3 != 2:
            raise WirelessError(f"BSSID {network.bssid}: of an ad hoc cell it looks like 02:ca:fe:00:00:01, "
                                "its first byte locally administered and of no group")
    for address in network.addresses:
        try:
            if "/" not in address:
                raise ValueError("its prefix length is missing")
            ipaddress.ip_interface(address)
        except ValueError as error:
            raise WirelessError(f"address {address}: {error}; write it as 10.77.0.1/24 or fd77::1/64") from None


def frequency(network: Network, radio: Phy, domain: str) -> int:
    """MHz of the network's channel. Raises WirelessError when the radio or the regulatory domain forbids it, or
    the radio lacks the mode."""
    if MODES[network.mode] not in radio.modes:
        can = ", ".join(sorted(radio.modes)) or "not said"
        raise WirelessError(f"this radio's driver knows no {MODES[network.mode]} mode (it knows: {can}); "
                            "use another radio, for example a USB one")
    found = [c for c in radio.channels if c.number == network.channel]
    usable = ", ".join(str(c.number) for c in radio.channels if not c.forbidden) or "none"
    if not found:
        raise WirelessError(f"this radio has no channel {network.channel}; it may use {usable}")
    for channel in found:  # 2.4 and 6 GHz share numbers; the lower comes first
        if not channel.forbidden:
            return channel.frequency
    raise WirelessError(f"channel {network.channel} is forbidden in the regulatory domain {domain}: "
                        f"{found[0].forbidden}; allowed here are {usable}, or set your country with --country")


def manager(interface: Interface, found: Sequence[Interface], nmcli: str, supplicants: Sequence[Sequence[str]],
            sockets: Sequence[str]) -> str | None:
    """Who else manages the interface, and what would take it away from them; None for nobody.

    `nmcli`: of `nmcli -t -f DEVICE,STATE device`. `supplicants`: command lines of running wpa_supplicants.
    `sockets`: names in /run/wpa_supplicant.
    """
    name = interface.name
    states = dict(line.rsplit(":", 1) for line in nmcli.splitlines() if ":" in line)
    if states.get(name, "unmanaged") not in ("unmanaged", "unavailable"):
        return f"NetworkManager manages {name}; take it away from it: nmcli device set {name} managed no"
    for words in supplicants:
        given = [then if word == "-i" else word[2:] for word, then in pairwise([*words, ""]) if word[:2] == "-i"]
        if name in given:
            return (f"wpa_supplicant holds {name}; end it: systemctl disable --now wpa_supplicant@{name} "
                    "wpa_supplicant (or kill it, where something else started it)")
    p2p = any(i.phy == interface.phy and i.type == "P2P-device" for i in found)
    if supplicants and (name in sockets or f"p2p-dev-{name}" in sockets or p2p):
        what = f"a P2P device on the radio of {name}" if p2p or name not in sockets else name
        return (f"wpa_supplicant holds {what}, and the radio stays busy; end it: "
                "systemctl disable --now wpa_supplicant")
    return None


# ---- what is to do -----------------------------------------------------------------------------------
def link_local(mac: str) -> str:
    """The IPv4 link-local address (RFC 3927: 169.254.1.0 to 169.254.254.255) that a MAC address chooses: always
    the same, and for ten radios two alike once in 1,445 times."""
    chosen = int.from_bytes(hashlib.blake2s(mac.lower().encode()).digest()[:4], "big") % (254 * 256)
    return str(ipaddress.IPv4Address("169.254.1.0") + chosen) + "/16"


def up(interface: Interface, network: Network, megahertz: int) -> list[Step]:
    """The commands that bring the interface into the network, in order."""
    dev, type_ = interface.name, TYPES[network.mode]
    addresses = list(network.addresses)
    if not any(":" not in address for address in addresses):
        addresses.append(link_local(interface.address))
    steps = [Step(("ip", "link", "set", "dev", dev, "down"), "leave what it is in"),
             Step(("ip", "address", "flush", "dev", dev), "and the addresses of that"),
             Step(("iw", "dev", dev, "set", "type", type_), f"{MODES[network.mode]} mode"),
             Step(("ip", "link", "set", "dev", dev, "addrgenmode", "eui64"), "an IPv6 link-local address by "
                                                                             "itself", True),
             Step(("ip", "link", "set", "dev", dev, "up"), "switch it on"),
             Step(("iw", "dev", dev, "set", "power_save", "off"), "no sleep, which costs 100 ms a frame", True)]
    if network.mode == "ibss":
        cell = (network.bssid,) if network.bssid else ()
        steps.append(Step(("iw", "dev", dev, "ibss", "join", network.name, str(megahertz), "fixed-freq", *cell),
                          "join the cell, or begin it"))
    else:
        steps.append(Step(("iw", "dev", dev, "mesh", "join", network.name, "freq", str(megahertz), "mesh_fwding=0"),
                          "join the mesh; the node routes, not the mesh"))
    for address in addresses:
        broadcast = () if ":" in address else ("brd", "+")
        steps.append(Step(("ip", "address", "replace", address, *broadcast, "dev", dev), "its address"))
    return steps


def country_steps(network: Network) -> list[Step]:
    """The command that sets the regulatory domain, which decides what comes after."""
    return [Step(("iw", "reg", "set", network.country), "the rules of the country")] if network.country else []


def down(interface: Interface) -> list[Step]:
    """The commands that take the interface out of its network and leave it as systems expect it: managed, off."""
    dev = interface.name
    leave = {"IBSS": "ibss", "mesh point": "mesh"}.get(interface.type)
    steps = [Step(("iw", "dev", dev, leave, "leave"), "leave the network", True)] if leave else []
    return [*steps, Step(("ip", "link", "set", "dev", dev, "down"), "switch it off"),
            Step(("ip", "address", "flush", "dev", dev), "take its addresses"),
            Step(("iw", "dev", dev, "set", "type", "managed"), "managed mode, for access points")]


def explain(step: Step, said: str) -> str:
    """One sentence for a command that failed with these words."""
    command, said = " ".join(step.command), " ".join(said.split()) or "it says nothing"
    cure = "fix that and start again"
    if "RF-kill" in said or "-132" in said:
        cure = "the radio is blocked: `rfkill unblock wifi`; Raspberry Pi OS blocks it until a country is set"
    elif "(-16)" in said or "busy" in said.lower():
        cure = "something else holds the radio, wpa_supplicant perhaps: `pgrep -a wpa_supplicant`, and end it"
    elif "(-95)" in said or "not supported" in said.lower():
        cure = "its driver cannot do that; use another radio, for example a USB one"
    return f"`{command}` failed ({said}); {cure}"
