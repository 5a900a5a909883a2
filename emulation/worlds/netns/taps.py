"""The hosts' devices in the world netns: TAPs, whose other ends give and take Ethernet frames; and real devices' ports."""
from __future__ import annotations

from os import write
from pathlib import Path

from emulation.capture import Captures
from emulation.linux import port
from emulation.medium import Frame
from emulation.realtime.carrier import Power, RadioModel, device_drops
from emulation.realtime.fidelity import REACHED, TAKEN
from emulation.realtime.plan import Setting
from node import wire
from node.airtime import LLC_BYTES, MAC_BYTES

ETHERNET_BYTES = 14  # of a frame's own header, which is not on the air
OVERHEAD = MAC_BYTES + LLC_BYTES - ETHERNET_BYTES
KNOWN = {b"\x08\x00", b"\x08\x06", b"\x86\xdd"}  # IPv4, ARP, IPv6
_OUR_PORT, _UDP = wire.PORT.to_bytes(2), 17
_FRAGMENT, _LATER_FRAGMENT = 0x3FFF, 0x1FFF  # bits of the IPv4 header that any fragment has, and any but the first


class Taps:
    """emulation.realtime.carrier.Ends. Counts the datagrams of our nodes that come from them and go to them in the run."""

    overhead = OVERHEAD

    def __init__(self, setting: Setting, power: Power) -> None:
        self.refused = 0
        self._ends, self._stations = setting.ends, setting.stations
        self._scheduler = setting.scheduler  # its time stands at 0 until the run begins
        self._nodes = setting.plan.nodes
        self._unhandled = [0] * setting.plan.hosts  # frames of which the kernel knows no protocol, and counts as dropped

    def frame(self, host: int, data: bytes) -> Frame | None:
        stations = self._stations
        if len(data) > port.LONGEST:
            self.refused += 1
            return None
        if host in stations.ports:
            stations.heard(host, data[6:12])
        to = stations.owner(data)
        if to is None and self._scheduler.time > 0.0 and _is_ours(data, _LATER_FRAGMENT):
            self._nodes[host].words[TAKEN] += 1
        return Frame(host, to, data)

    def deliver(self, receiver: int, frame: Frame) -> None:
        data = frame.payload
        try:
            write(self._ends[receiver], data)
        except OSError:
            self.refused += 1
            return
        self._unhandled[receiver] += data[12:14] not in KNOWN
        if self._scheduler.time > 0.0 and _is_ours(data, _FRAGMENT):
            self._nodes[receiver].words[REACHED] += 1

    def done(self, frame: Frame) -> None:
        """No kernel asks what became of a frame."""

    def captures(self, folder: Path, most: int | None) -> Captures:
        return Captures(folder, len(self._ends), 0.0, lambda frame: frame.payload, most=most)

    def dropped(self, host: int, interface: str) -> int:
        return device_drops(interface) - self._unhandled[host]


def carrier(setting: Setting) -> RadioModel:
    """What carries the frames of the world netns."""
    return RadioModel(setting, Taps)


def _is_ours(frame: bytes, cut: int) -> bool:
    """Whether an Ethernet frame holds a datagram of our nodes; `cut`: what tells of a fragment that is none."""
    return (frame[36:38] == _OUR_PORT and frame[12:14] == b"\x08\x00" and frame[23] == _UDP
            and not int.from_bytes(frame[20:22]) & cut)
