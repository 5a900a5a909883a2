"""The hosts' devices in the world hwsim: radios of mac80211_hwsim, whose frames come and go at its netlink ports.

A radio hands over every frame that it sends, beacons included, and is told when the medium has done with it: how many
tries it took, at which rate, and whether it was acknowledged. What the 802.11 stack would have chosen itself, rates and
retries, is thus the radio model's. Captures are what each radio saw: 802.11 frames behind a radiotap header with the rate
and, where the frame was received, the signal.
"""
from __future__ import annotations

from collections.abc import Sequence
from os import write
from pathlib import Path

from emulation import radiotap
from emulation.capture import RADIOTAP, Captures
from emulation.linux import genetlink, port
from emulation.medium import Frame
from emulation.realtime.carrier import Power, RadioModel, device_drops
from emulation.realtime.plan import Setting
from emulation.records import AppendOnly
from emulation.worlds.hwsim import frames, radio


class RadioFrame(Frame):
    """A frame between radios: 802.11 header and body."""

    __slots__ = ("content", "rate", "sent", "signals")

    def __init__(self, sender: int, destination: int | None, data: bytes, rate: int,
                 sent: frames.Sent | None = None) -> None:
        """`sent`: as hwsim told of it, for the report; None for a frame of a real device."""
        super().__init__(sender, destination, data)
        self.sent = sent
        self.rate = rate  # hwsim's index
        self.content = b""  # of its arrivals, made once
        self.signals: dict[int, int] = {}  # dBm at those that received it

    def signal(self, receiver: int, power: Power) -> int:
        """dBm, as the receiver measures it when the frame arrives."""
        found = self.signals.get(receiver)
        if found is None:
            found = self.signals[receiver] = round(power(self.sender, receiver))
        return found


class RadioCaptures:
    """emulation.realtime.carrier.FrameCaptures, of frames whose headers differ from receiver to receiver by the signal."""

    def __init__(self, folder: Path, hosts: int, power: Power, most: int | None) -> None:
        self._files = Captures(folder, hosts, 0.0, lambda frame: frame.payload, RADIOTAP, most)
        self._power = power

    def begin(self, epoch: float) -> None:
        self._files.begin(epoch)

    def files(self) -> Sequence[AppendOnly]:
        return self._files.files()

    def sent(self, frame: Frame, time: float) -> None:
        assert isinstance(frame, RadioFrame)
        self._files.note(frame.sender, time, radiotap.header(frames.RATES[frame.rate], frames.FREQUENCY) + frame.payload)

    def received(self, frame: Frame, hosts: list[int], time: float) -> None:
        assert isinstance(frame, RadioFrame)
        rate = frames.RATES[frame.rate]
        for host in hosts:
            header = radiotap.header(rate, frames.FREQUENCY, frame.signal(host, self._power))
            self._files.note(host, time, header + frame.payload)


class Radios:
    """emulation.realtime.carrier.Ends."""

    overhead = frames.CHECK_BYTES

    def __init__(self, setting: Setting, power: Power) -> None:
        self.refused = 0
        self._ends, self._stations, self._power = setting.ends, setting.stations, power
        self._radios = [b"" if space < 0 else radio.station(space) for space in setting.spaces]
        scenario = setting.plan.scenario.radio
        self._rates = {True: frames.rate_index(scenario.base_rate), False: frames.rate_index(scenario.data_rate)}
        with genetlink.open_socket() as control:
            self._family = genetlink.family(control, radio.HWSIM)

    def frame(self, host: int, data: bytes) -> RadioFrame | None:
        if host in self._stations.ports:
            return self._from_device(host, data)
        found = frames.read(data)
        if isinstance(found, frames.Sent):
            return self._queued(host, found.data, found)
        if found is not None and found.sequence == frames.ARRIVAL:
            self.refused += 1  # its radio is off
        return None

    def deliver(self, receiver: int, frame: Frame) -> None:
        assert isinstance(frame, RadioFrame)
        if receiver in self._stations.ports:
            if (ethernet := frames.to_ethernet(frame.payload)) is not None:
                self._write(receiver, ethernet)
            return
        if not frame.content:
            frame.content = frames.content(frame.payload, frame.rate)
        signal = frame.signal(receiver, self._power)
        self._write(receiver, frames.arrival(self._family, self._radios[receiver], signal, frame.content))

    def done(self, frame: Frame) -> None:
        """Tell the sender what became of its frame."""
        assert isinstance(frame, RadioFrame)
        sender, to = frame.sender, frame.destination
        if frame.sent is None:
            return
        signal = round(self._power(to, sender)) if frame.acknowledged and to is not None else 0
        self._write(sender, frames.report(self._family, self._radios[sender], frame.sent, frame.rate, frame.tries,
                                          frame.acknowledged, signal))

    def captures(self, folder: Path, most: int | None) -> RadioCaptures:
        return RadioCaptures(folder, len(self._ends), self._power, most)

    def dropped(self, host: int, interface: str) -> int:
        return device_drops(interface) + radio.dropped(interface)

    def _from_device(self, host: int, ethernet: bytes) -> RadioFrame | None:
        if len(ethernet) > port.LONGEST:
            self.refused += 1
            return None
        self._stations.heard(host, ethernet[6:12])
        data = frames.from_ethernet(ethernet)
        return None if data is None else self._queued(host, data)

    def _queued(self, host: int, data: bytes, sent: frames.Sent | None = None) -> RadioFrame:
        to = self._stations.owner(data[4:10])
        return RadioFrame(host, to, data, self._rates[to is None], sent)

    def _write(self, host: int, message: bytes) -> None:
        try:
            write(self._ends[host], message)
        except OSError:
            self.refused += 1


def carrier(setting: Setting) -> RadioModel:
    """What carries the frames of the world hwsim."""
    return RadioModel(setting, Radios)
