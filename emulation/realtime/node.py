"""A node of ours in its namespace: the daemon of real hosts, driven by the scenario's workload.

It differs from `roamcast node` in what a run needs: the epoch and the random stream are the run's, the
clock counts from the run's begin, every record is written at once (a crash loses none), and how late its
timers are is counted.
"""
from __future__ import annotations

import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import trio

from emulation import addresses, chance, devices
from emulation.clock import Clock
from emulation.linux import kernel
from emulation.realtime.channel import Channel
from emulation.realtime.fidelity import (
    CALLED,
    DELIVERED,
    HEARD,
    PUBLISHED,
    RECORDS_LOST,
    REFUSED,
    SEEN,
    SETTING_UP,
    UNSENT,
    Tally,
)
from emulation.realtime.plan import Plan
from emulation.workload import Workload
from node import daemon, wire
from node.broker import Broker
from node.config import NodeConfig
from node.control import Control
from node.roaming.device import Device
from node.settings import Settings
from node.shell.logs import Journal, Records
from node.shell.radio import Radio
from topologies import publications

ENDS = signal.SIGUSR1  # tells a node that the run is over
COUNT = 0.5  # s between two looks at what was lost
CLOCKS_AGREE = 0.005  # s: further apart, somebody has set the wall clock between two readings, or we were kept waiting


class _Records(Records):
    """Each record is in the file when `append` returns."""

    def append(self, t: float, kind: str, fields: dict[str, object]) -> None:
        super().append(t, kind, fields)
        self.flush()


def run(plan: Plan, host: int, epoch: int, began: float | None, channel: Channel) -> None:
    """One life of a host's node, to SIGTERM. `began` (of the monotonic clock) comes over the channel when
    the run has not begun yet, after the node has said that it is prepared. Raises daemon.DaemonError."""
    kernel.hasten()
    trio.run(_live, plan, host, epoch, began, channel)


async def _live(plan: Plan, host: int, epoch: int, began: float | None, channel: Channel) -> None:
    control_at = Path("control", f"{host}.sock")
    settings = Settings(
        node=host, interface=addresses.INTERFACE, control=control_at,
        journal=Path("journals", f"{host}.journal") if plan.scenario.run.journal else None,
        config=NodeConfig(**plan.scenario.node.model_dump()))
    tally = plan.nodes[host]
    radio = Radio(settings)
    control = None
    try:
        first = began is None
        begins = await _told(channel) if began is None else began
        port = _port(settings, radio, epoch, plan, begins)
        journal = None if settings.journal is None else Journal(settings.journal)
        broker = _node(plan, settings, port, journal)
        control = Control(control_at, broker, port.tick, port.records)
        client = _Client(plan, host, port, broker, journal)
        if first:
            await trio.sleep(max(begins - time.monotonic(), 0.0))
            tally.late(time.monotonic() - begins)
        tally.words[SETTING_UP] += time.process_time_ns()
        await daemon.serve(port, broker, control, client.drive, client.count, client.end,
                           lambda: radio.follow(port.tick), started=client.start)
    finally:
        if control is not None:
            control.close()
        radio.close()
    port.records.close()


def _node(plan: Plan, settings: Settings, port: daemon.Port, journal: Journal | None) -> Broker | Device:
    """The host's broker, or its device if the host roams."""
    if settings.node in plan.scenario.workload.roam:
        return Device(settings.node, port.epoch, settings.config, port, port.radio.learning(wire.decode),
                      devices.key(plan.scenario.run.seed, settings.node))
    return daemon.make_broker(settings, port, journal)


async def _told(channel: Channel) -> float:
    """Say that all is prepared, and hear when the run begins."""
    channel.send({"prepared": True})
    await trio.lowlevel.wait_readable(channel.fileno())
    answer = channel.receive()
    if answer is None:
        raise SystemExit(1)  # the run ended before it began
    return float(answer["began"])


def _port(settings: Settings, radio: Radio, epoch: int, plan: Plan, began: float) -> daemon.Port:
    """A port whose time counts from `began` of the monotonic clock, whoever sets the wall clock meanwhile."""
    tally = plan.nodes[settings.node]
    wrong = 1.0
    while abs(wrong) > CLOCKS_AGREE:
        wall = time.time() - (time.monotonic() - began)
        port = daemon.Port(replace(settings, began=wall), radio, epoch)
        wrong = port.tick() - (time.monotonic() - began)
    port.random = chance.stream(plan.scenario.run.seed, "node", settings.node, epoch)
    port.records = _Records(Path("nodes", f"{settings.node}.jsonl"), settings.node)
    port.late = lambda seconds: tally.late_at(port.now(), seconds)
    return port


class _Counts:
    """emulation.workload.Counts where the supervisor sees them, over all lives of the host."""

    def __init__(self, tally: Tally) -> None:
        self._words = tally.words

    @property
    def published(self) -> int:
        return self._words[PUBLISHED]

    @published.setter
    def published(self, count: int) -> None:
        self._words[PUBLISHED] = count

    @property
    def delivered(self) -> int:
        return self._words[DELIVERED]

    @delivered.setter
    def delivered(self, count: int) -> None:
        self._words[DELIVERED] = count


class _Client:
    """The host's client: the same plan as in `sim`, from the same random streams, at the clock's times."""

    def __init__(self, plan: Plan, host: int, port: daemon.Port, broker: Broker | Device,
                 journal: Journal | None) -> None:
        self._host, self._port, self._broker, self._journal = host, port, broker, journal
        self._tally = plan.nodes[host]
        self._before = {k: self._tally.words[k] for k in (RECORDS_LOST, UNSENT, REFUSED, CALLED, HEARD)}  # in former lives
        self._clock = Clock()
        self._up = False
        scenario = plan.scenario
        self._workload = Workload(self._clock, scenario.workload, plan.hosts, scenario.run.seed, scenario.run.duration,
                                  self._of, only=[host], counts=_Counts(self._tally), log=publications.of(scenario))
        self._clock.run(max(port.tick(), 0.0))  # what was to happen while the host was down

    def _of(self, host: int) -> Broker | Device | None:
        return self._broker if self._up else None

    def start(self) -> None:
        self._up = True
        self._workload.started(self._host, self._broker)

    async def drive(self) -> None:
        """Do each thing of the plan when it is due."""
        while (due := self._clock.due()) is not None:
            await trio.sleep(max(due - self._port.tick(), 0.0))
            now = self._port.tick()
            self._tally.late_at(now, now - due)
            self._clock.run(math.nextafter(due, math.inf))

    async def end(self) -> None:
        """The run ends: the last counts are recorded, and nothing more is said."""
        with trio.open_signal_receiver(ENDS) as signals:
            await anext(signals)
            self._port.tick()
            self._broker.flush_records()
            self._count()
            os._exit(0)  # every record is in its file already

    async def count(self) -> None:
        """What was lost, where the supervisor sees it, and that this process runs; a look that was missed is not made up
        for."""
        due = self._port.tick()
        while True:
            now = self._port.tick()
            self._tally.late_at(now, now - due)
            self._count()
            due = max(due + COUNT, now)
            await trio.sleep(due - now)

    def _count(self) -> None:
        words, port = self._tally.words, self._port
        ended = self._journal is not None and self._journal.ended  # with a line that could not be written
        for k, count in ((RECORDS_LOST, port.records.lost + ended), (UNSENT, port.radio.unsent),
                         (REFUSED, port.radio.refused), (CALLED, port.radio.called), (HEARD, port.radio.heard)):
            words[k] = self._before[k] + count
        words[SEEN] = int(port.now() * 1e9)
