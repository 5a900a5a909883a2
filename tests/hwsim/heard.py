"""Who heard whom in a run of the world hwsim: what the nodes got, beside what medium and radio model say.

What a node got is in its journal: every datagram that came out of its UDP socket, after the 802.11 stack of the kernel. What
was sent is in the captures of the senders' radios, and what the medium decided of it in medium.jsonl.

In ad hoc mode mac80211 takes no data frame from a station that it does not know (ieee80211_802_1x_port_control), and knows
one by its first frame of any kind, which is therefore lost unless it is a beacon. Such frames are counted apart.
"""
from __future__ import annotations

import base64
import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import topologies
from emulation import addresses, capture
from emulation.medium import propagation_of
from emulation.propagation import Locator
from node import wire

FIRST, LAST = 1.0, 1.0  # s at both ends of a run that are left out
BIN = 25.0  # m
NEAR = 1e-5  # s within which two stamps are of one frame
UDP = 8 + 20 + 8 + 24  # bytes in front of a datagram: UDP, IPv4, LLC, 802.11


class Bin(NamedTuple):
    """Broadcasts and possible receivers in a span of distances, in which the medium saw no collision."""

    least: float  # m
    pairs: int
    heard: int  # that the receiver's node got
    expected: float  # sum of the model's probabilities
    variance: float


class Found(NamedTuple):
    bins: list[Bin]
    first: int  # receptions that the stack did not pass on because it did not know the sender yet
    lost: int  # other receptions that the medium decided and the node did not get
    invented: int  # that the node got and the medium did not decide
    decided: int


def compare(run: Path) -> Found:
    """From a run directory with journal and captures."""
    scenario = topologies.load(run / "scenario.toml")
    movement = scenario.movement()
    propagation = propagation_of(scenario.radio, movement, scenario.run.seed)
    locator = Locator(movement.trajectories)
    got, known = _got(run, len(movement)), _known(run)
    bins: dict[int, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0.0])
    first = lost = invented = total = 0
    for sender in range(len(movement)):
        for time, counter, fate in _broadcasts(run, sender, scenario.run.duration):
            delivered, collided = set(fate["delivered"]), set(fate["collided"])
            total += len(delivered)
            for receiver in range(len(movement)):
                heard = (sender, counter) in got[receiver]
                new = receiver in delivered and not heard and time <= known[sender, receiver] + NEAR
                first += new
                lost += receiver in delivered and not heard and not new
                invented += heard and receiver not in delivered
                if receiver != sender and receiver not in collided and not new:
                    distance = locator.distance(sender, receiver, time)
                    chance = propagation.probability(sender, receiver, time, True) if distance <= propagation.reach else 0.0
                    entry = bins[int(distance / BIN)]
                    for k, more in enumerate((1, heard, chance, chance * (1.0 - chance))):
                        entry[k] += more
    return Found([Bin(k * BIN, *bins[k]) for k in sorted(bins)], first, lost, invented, total)


def _known(run: Path) -> dict[tuple[int, int], float]:
    """When the first frame of any kind from a sender began that a receiver got, by (sender, receiver)."""
    found: dict[tuple[int, int], float] = {}
    for line in (run / "captures" / "medium.jsonl").read_text().splitlines():
        note = json.loads(line)
        for receiver in note["delivered"]:
            found.setdefault((note["from"], receiver), note["t"])
    return found


def _got(run: Path, hosts: int) -> list[set[tuple[int, int]]]:
    """For each host the (sender, counter) of all datagrams that its node got."""
    found: list[set[tuple[int, int]]] = []
    for host in range(hosts):
        heard = set()
        for line in (run / "journals" / f"{host}.journal").read_text().splitlines():
            entry = json.loads(line)
            if entry.get("in") == "datagram":
                header = wire.decode(base64.b64decode(entry["data"]), b"")
                heard.add((header.sender.node, header.counter))
        found.append(heard)
    return found


def _broadcasts(run: Path, sender: int, duration: float):
    """(time, counter, the medium's note) of a host's broadcasts of datagrams."""
    epoch = json.loads((run / "manifest.json").read_text())["epoch"]
    notes = {}
    for line in (run / "captures" / "medium.jsonl").read_text().splitlines():
        note = json.loads(line)
        if note["from"] == sender and note["to"] is None:
            notes[round(note["t"], 6)] = note
    for at, data in capture.read(run / "captures" / f"{sender}.pcap"):
        frame = data[int.from_bytes(data[2:4], "little"):]
        time = round(at / 1e9 - epoch, 6)
        ours = frame[:1] == b"\x08" and frame[10:16] == addresses.mac(sender) and frame[4] & 1
        if not ours or frame[24 + 6:24 + 8] != b"\x08\x00" or frame[UDP - 8:UDP - 4] != wire.PORT.to_bytes(2, "big") * 2:
            continue
        note = next((notes[near] for near in (time, round(time - 1e-6, 6), round(time + 1e-6, 6)) if near in notes), None)
        if note is not None and FIRST <= time <= duration - LAST:
            yield time, wire.decode(frame[UDP:], b"").counter, note
