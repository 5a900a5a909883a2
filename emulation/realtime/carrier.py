"""The radio model of the simulator in real time, between the devices of all hosts: what carries frames in netns and hwsim.

How a frame is read from a device, and written to one, is the world's (`Ends`). Frames are captured per host, and
captures/medium.jsonl says of every try of a frame what became of it (decisions.py).
"""
from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Sequence
from os import read
from pathlib import Path
from typing import Protocol

from emulation.medium import Capture, Frame, Medium
from emulation.realtime import probe
from emulation.realtime.clock import RealTime
from emulation.realtime.decisions import Decisions
from emulation.realtime.fidelity import Tally
from emulation.realtime.plan import Setting
from emulation.records import AppendOnly

LONGEST = 4096  # bytes; longer than any frame of an interface with 1500, with what comes around it
BATCH = 16  # frames read from one host before the others have their turn
BEAT = 0.005  # s between two looks at the clock: a frame that waits to be read does not tell since when

Power = Callable[[int, int], float]  # (sender, receiver) -> dBm with which it is heard now


class FrameCaptures(Capture, Protocol):
    """What every radio saw, in files."""

    def begin(self, epoch: float) -> None:
        """The wall clock (s since 1970) at time 0, which is known when the files are there."""

    def files(self) -> Sequence[AppendOnly]: ...


class Ends(Protocol):
    """The other ends of the hosts' devices."""

    overhead: int  # bytes on the air with each frame that are not in it
    refused: int  # frames that a device did not take, or that were too long

    def frame(self, host: int, data: bytes) -> Frame | None:
        """The frame that a host's device sends, as it was read; None for what does not go on the air."""

    def deliver(self, receiver: int, frame: Frame) -> None:
        """A frame has arrived at a host."""

    def done(self, frame: Frame) -> None:
        """The medium has no more to do with a frame of `frame`, told once of each."""

    def captures(self, folder: Path, most: int | None) -> FrameCaptures: ...

    def dropped(self, host: int, interface: str) -> int:
        """As emulation.realtime.plan.Carrier has it."""


class RadioModel:
    """emulation.realtime.plan.Carrier: one medium for the probing, one for the run."""

    def __init__(self, setting: Setting, make_ends: Callable[[Setting, Power], Ends]) -> None:
        plan, self._setting = setting.plan, setting
        self._scheduler = setting.scheduler
        self._poll = plan.poll
        self._hosts = {descriptor: host for host, descriptor in enumerate(setting.ends)}
        self._ends = make_ends(setting, self.power)
        self._captures: FrameCaptures | None = None
        self._decisions: Decisions | None = None
        if plan.scenario.run.capture:
            self._captures = self._ends.captures(plan.path / "captures", plan.scenario.run.capture_most)
            self._decisions = Decisions(plan.path / "captures" / "medium.jsonl")
        scheduler, tally = self._scheduler, plan.medium
        scheduler.late = lambda seconds: tally.late(seconds, scheduler.time)
        ends = self._ends
        self.air = Medium(scheduler, plan.movement, plan.scenario.radio, plan.scenario.run.seed, ends.deliver,
                          self._measured(setting.record, plan.positions), end=plan.scenario.run.duration, off=plan.late(),
                          overhead=ends.overhead, capture=self._captures, done=ends.done,
                          tried=None if self._decisions is None else self._decisions.tried)
        self._carrying = self.air  # the one that has the frames now
        for descriptor in setting.ends:
            plan.poll.register(descriptor, select.EPOLLIN)

    @property
    def refused(self) -> int:
        return self._ends.refused

    def power(self, sender: int, receiver: int) -> float:
        """dBm with which a receiver hears a sender now."""
        return self._carrying.power(sender, receiver)

    def probing(self, scheduler: RealTime) -> None:
        plan, ends = self._setting.plan, self._ends
        self._carrying = Medium(scheduler, probe.standing(plan.movement), plan.scenario.radio, plan.scenario.run.seed,
                                ends.deliver, lambda kind, **fields: None, off=plan.late(), overhead=ends.overhead,
                                done=ends.done)

    def begin(self, epoch: float) -> None:
        self._carrying = self.air
        if self._captures is not None:
            self._captures.begin(epoch)
        self._scheduler.call_at(BEAT, self._beat)

    def discard(self) -> None:
        for descriptor, host in self._hosts.items():
            try:
                while True:
                    if (frame := self._ends.frame(host, read(descriptor, LONGEST))) is not None:
                        self._ends.done(frame)
            except OSError:
                continue

    def read(self, descriptor: int) -> None:
        host, frame_of, queue = self._hosts[descriptor], self._ends.frame, self._carrying.queue
        try:
            for _ in range(BATCH):
                frame = frame_of(host, read(descriptor, LONGEST))
                if frame is not None and (frame.destination == host or not queue(frame)):
                    self._ends.done(frame)
        except BlockingIOError:
            pass
        except OSError:
            if host in self._setting.stations.ports:
                self._setting.stations.went_down(host, self._scheduler.elapsed())
            else:  # the interface has been removed, which its host's kernel tells the supervisor
                self._poll.unregister(descriptor)

    def switch_interface(self, host: int, on: bool) -> None:
        (self.air.host_up if on else self.air.host_down)(host)

    def end(self) -> None:
        """The hosts have their devices until their programs have ended."""

    def files(self) -> Iterable[AppendOnly]:
        if self._captures is not None and self._decisions is not None:
            return [self._decisions.file, *self._captures.files()]
        return []

    def dropped(self, host: int, interface: str) -> int:
        return self._ends.dropped(host, interface)

    def told(self) -> dict[str, int]:
        return {}

    def _beat(self) -> None:
        """Its own lateness is what it is for: those that are missed are all made up for."""
        self._scheduler.call_at(self._scheduler.now() + BEAT, self._beat)

    def _measured(self, record: Callable[..., None], tally: Tally) -> Callable[..., None]:
        """Records of who is in range are made when the movement changes it: how late was that?"""
        scheduler = self._scheduler

        def recording(kind: str, **fields: object) -> None:
            if kind.startswith("radio_") and scheduler.time > 0.0 and "from" in fields:
                tally.late(scheduler.elapsed() - scheduler.time, scheduler.time)
            record(kind, **fields)

        return recording


def device_drops(interface: str) -> int:
    """Frames that the device of this name in this namespace dropped in both directions. Raises OSError."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == interface:
            numbers = counts.split()
            return int(numbers[3]) + int(numbers[11])
    return 0
