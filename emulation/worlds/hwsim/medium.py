"""The medium between the radios of mac80211_hwsim: that of emulation/realtime, at hwsim's netlink ports.

A radio hands over every frame that it sends, beacons included, and is told when the medium has done with it: how many
tries it took, at which rate, and whether it was acknowledged. What the 802.11 stack would have chosen itself, rates and
retries, is thus the radio model's. Captures are what each radio saw: 802.11 frames behind a radiotap header with the rate
and, where the frame was received, the signal.
"""
from __future__ import annotations

from os import write

from emulation import radiotap
from emulation.capture import RADIOTAP
from emulation.linux import genetlink
from emulation.medium import Frame, Medium, _Radio
from emulation.realtime import medium as netns
from emulation.realtime.channel import Channel
from emulation.realtime.plan import Plan
from emulation.worlds.hwsim import frames, radio


class RadioFrame(Frame):
    """A frame between radios; `signals`: dBm at those that received it."""

    __slots__ = ("content", "rate", "sent", "signals")

    def __init__(self, sender: int, destination: int | None, data: bytes, rate: int,
                 sent: frames.Sent | None = None) -> None:
        """`sent`: as hwsim told of it, for the report; None for a frame of a real device."""
        super().__init__(sender, destination, data)
        self.sent = sent
        self.rate = rate  # hwsim's index
        self.content = b""  # of its arrivals, made once
        self.signals: dict[int, int] = {}


class _Reporting:
    """Of a medium: senders are told what became of their frames, and receivers how strong they were."""

    air: Air
    arriving: RadioFrame  # the frame that is being delivered

    def host_down(self, host: int) -> None:
        sender = self._radios[host]
        left = [frame for frame in (sender.frame, *sender.waiting) if frame is not None]
        super().host_down(host)
        for frame in left:
            self.air.report(frame)

    def signal(self, sender: int, receiver: int) -> int:
        """dBm, as the receiver measures it now."""
        return round(self._propagation.power(sender, receiver, self._now()))

    def _next(self, sender: _Radio) -> None:
        frame = sender.frame
        super()._next(sender)
        self.air.report(frame)

    def _arrived(self, frame: RadioFrame, hosts: list[int]) -> None:
        frame.signals = {host: self.signal(frame.sender, host) for host in hosts}
        self.arriving = frame
        super()._arrived(frame, hosts)


class RadioMedium(_Reporting, Medium):
    """A medium between radios of hwsim."""


class _Decided(_Reporting, netns.Decided):
    """The same, with a note of what became of each try."""


class _Captures(netns.FrameCaptures):
    """Frames behind radiotap headers, which differ from receiver to receiver by the signal."""

    link_type = RADIOTAP

    def sent(self, frame: RadioFrame, time: float) -> None:
        self.note(frame.sender, time, radiotap.header(frames.RATES[frame.rate], frames.FREQUENCY) + frame.payload)

    def received(self, frame: RadioFrame, hosts: list[int], time: float) -> None:
        rate = frames.RATES[frame.rate]
        for host in hosts:
            header = radiotap.header(rate, frames.FREQUENCY, frame.signals[host])
            self.note(host, time, header + frame.payload)


class Air(netns.Air):
    """The medium's process of the world hwsim."""

    plain, decided, captures = RadioMedium, _Decided, _Captures
    overhead = frames.CHECK_BYTES

    def __init__(self, plan: Plan, taps: list[int], spaces: list[int], channel: Channel) -> None:
        self._stations = [b"" if space < 0 else radio.station(space) for space in spaces]
        scenario = plan.scenario.radio
        self._rates = {True: frames.rate_index(scenario.base_rate), False: frames.rate_index(scenario.data_rate)}
        with genetlink.open_socket() as control:
            self._family = genetlink.family(control, radio.HWSIM)
        super().__init__(plan, taps, spaces, channel)

    def report(self, frame: RadioFrame) -> None:
        """Tell the sender what became of its frame."""
        sender, to = frame.sender, frame.destination
        if frame.sent is None:
            return
        signal = self._carrying.signal(to, sender) if frame.acknowledged else 0
        self._write(sender, frames.report(self._family, self._stations[sender], frame.sent, frame.rate, frame.tries,
                                          frame.acknowledged, signal))

    def _make(self, kind: type[Medium], *arguments, **options) -> Medium:
        medium = super()._make(kind, *arguments, **options)
        medium.air = self
        return medium

    def _take(self, host: int, message: bytes) -> None:
        frame = self._frame(host, message)
        if frame is not None and (frame.destination == host or not self._carrying.queue(frame)):
            self.report(frame)

    def _refuse(self, host: int, message: bytes) -> None:
        if (frame := self._frame(host, message)) is not None:
            self.report(frame)

    def _frame(self, host: int, message: bytes) -> RadioFrame | None:
        if host in self.devices.ports:
            data = frames.from_ethernet(message) if self._heard_device(host, message) else None
            return None if data is None else self._queued(host, data)
        found = frames.read(message)
        if isinstance(found, frames.Sent):
            return self._queued(host, found.data, found)
        if found is not None and found.sequence == frames.ARRIVAL:
            self.refused += 1  # its radio is off
        return None

    def _queued(self, host: int, data: bytes, sent: frames.Sent | None = None) -> RadioFrame:
        to = self._addressee(data[4:10])
        return RadioFrame(host, to, data, self._rates[to is None], sent)

    def _deliver(self, receiver: int, sender: int, data: bytes) -> None:
        if receiver in self.devices.ports:
            if (ethernet := frames.to_ethernet(data)) is not None:
                self._write(receiver, ethernet)
            return
        frame = self._carrying.arriving
        if not frame.content:
            frame.content = frames.content(data, frame.rate)
        self._write(receiver, frames.arrival(self._family, self._stations[receiver], frame.signals[receiver], frame.content))

    def _write(self, host: int, message: bytes) -> None:
        try:
            write(self._taps[host], message)
        except OSError:
            self.refused += 1

    def _dropped(self, interface: str) -> int:
        return super()._dropped(interface) + radio.dropped(interface)
