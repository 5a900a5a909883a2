"""The shell around a node on a real host: it runs the node's timers and hands it what the radio hears.

It implements the port of `node.environment` over trio and gives the broker its inputs one at a time. What
surrounds it, the radio, the files and the boot epoch, is in `node.shell`.
"""
from __future__ import annotations

import heapq
import random
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import trio

from node import wire
from node.broker import Broker
from node.control import Control, ControlError
from node.ids import Epoch
from node.journal import JournaledBroker
from node.roaming.device import Device
from node.settings import MEGABYTE, Settings
from node.shell import DaemonError, say
from node.shell.epoch import default_state, next_epoch
from node.shell.locks import Held, Lock
from node.shell.logs import FieldRecords, Journal, Records
from node.shell.radio import Radio
from node.station import DATAGRAMS

FLUSH = 0.5  # s between two writes of the records
CLOCK = 60.0  # s between two records of the wall clock
STEP = 0.05  # s by which it may go astray before that


def run(settings: Settings) -> None:
    """Run a node until SIGTERM or SIGINT, then end its life in order. Raises DaemonError."""
    try:
        trio.run(_main, settings)
    except ControlError as error:
        raise DaemonError(str(error)) from None


async def _main(settings: Settings) -> None:
    state = settings.state or default_state(settings.node)
    locks = hold({"records": settings.records, "journal": settings.journal, "state": state})
    radio = control = port = None
    try:
        radio = Radio(settings)
        epoch = next_epoch(state, settings.node)
        budget = None if settings.disk is None else settings.disk * MEGABYTE // (2 if settings.journal else 1)
        journal = None if settings.journal is None else Journal(settings.journal, budget)
        port = Port(settings, radio, epoch, FieldRecords(settings.records, settings.node, budget, journal))
        radio.record = port.record
        broker = make_broker(settings, port, journal)
        if settings.control is not None:
            control = Control(settings.control, broker, port.tick, port.records)
        radio.warn()
        await serve(port, broker, control, port.watch_clock, lambda: radio.follow(port.tick), started=lambda: say(
            f"node {settings.node}, epoch {port.epoch}, on {radio.describe()}"))
    finally:
        if control is not None:
            control.close()
        if radio is not None:
            radio.close()
        if port is not None:
            port.records.close()
        for lock in locks:
            lock.release()


def hold(files: Mapping[str, Path | None]) -> list[Lock]:
    """Locks on a node's files, by the options that name them: two nodes on one of them would ruin both lives. Raises
    DaemonError when another node has one."""
    locks: list[Lock] = []
    try:
        for option, path in files.items():
            if path is not None and (path.is_file() or not path.exists()):  # no terminal, no pipe
                locks.append(Lock(path))
    except (Held, OSError) as error:
        for lock in locks:
            lock.release()
        if isinstance(error, Held):
            raise DaemonError(f"{path}: another node that runs has this file; stop it or choose another path for "
                              f"--{option}") from None
        raise DaemonError(f"{path}: cannot be kept ({error.strerror}); choose another path for --{option}") from None
    return locks


async def serve(port: Port, broker: Broker | Device, control: Control | None, *others: Callable[[], Awaitable[None]],
                started: Callable[[], object] = lambda: None) -> None:
    """A node's life from its start to SIGTERM or SIGINT, which end it in order. `others` run beside it;
    `started` is called when the signals are heeded."""
    port.tick()
    broker.start()
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with trio.open_nursery() as world:
            world.start_soon(port.run_timers)
            world.start_soon(port.hear, broker)
            world.start_soon(port.keep_records)
            async with trio.open_nursery() as programs:
                for program in (*others, *([control.serve] if control is not None else [])):
                    programs.start_soon(program)
                started()
                await anext(signals)
                programs.cancel_scope.cancel()  # programs leave before the node does
            port.tick()
            broker.stop()
            world.cancel_scope.cancel()


def make_broker(settings: Settings, port: Port, journal: Journal | None = None) -> Broker:
    """The node's broker on its port, with a journal where there is one."""
    decode = port.radio.learning(wire.decode)
    if journal is None:
        return Broker(settings.node, port.epoch, settings.config, port, decode)
    return JournaledBroker(journal, settings.node, port.epoch, settings.config, port, decode)


class _Timer:
    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Port:
    """node.environment.Environment over trio's clock, one heap of timers, the radio and the records."""

    def __init__(self, settings: Settings, radio: Radio, epoch: Epoch, records: Records | None = None) -> None:
        self.epoch = epoch
        self.radio = radio
        self.random = random.Random(f"{settings.node}/{epoch}/{random.SystemRandom().getrandbits(64)}")
        self.records = records or Records(settings.records, settings.node)
        self.broadcast = radio.broadcast
        self.unicast = radio.unicast
        wall = time.time()
        self._offset = wall - (wall if settings.began is None else settings.began) - trio.current_time()
        self._now = 0.0
        self._heap: list[tuple[float, int, _Timer]] = []
        self._set = 0  # timers ever set: equal times fire in this order
        self._waiting: trio.CancelScope | None = None  # ends when the next timer is due
        self.late: Callable[[float], object] = lambda seconds: None  # told how late each timer is, for a world

    def tick(self) -> float:
        """Before each input: now() moves on, and then stays while the input is handled."""
        self._now = trio.current_time() + self._offset
        return self._now

    def now(self) -> float:
        return self._now

    def record(self, kind: str, **fields: Any) -> None:
        self.records.append(self._now, kind, fields)
        if kind == "identity_conflict":  # nothing works as it should before somebody mends that
            other, epochs = fields["other"], " and ".join(map(str, fields["epochs"]))
            say(f"two living nodes have the id {other} (boot epochs {epochs}); give one of them another id")
        elif kind == "refused" and fields["what"] == DATAGRAMS:
            say("this life has sent all the datagrams it may and is silent now; start the node again")

    def call_later(self, delay: float, action: Callable[[], None]) -> _Timer:
        timer = _Timer(action)
        self._set += 1
        heapq.heappush(self._heap, (self._now + delay, self._set, timer))
        if self._waiting is not None and self._heap[0][2] is timer:
            self._waiting.deadline = self._now + delay - self._offset
        if len(self._heap) > 1024 and self._set % 1024 == 0:  # cancelled ones do not pile up
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
        return timer

    async def hear(self, broker: Broker | Device) -> None:
        """Hand the broker, or the device, what the radio hears."""
        while True:
            await self.radio.wait()
            if not self.radio.read(self, broker):
                await trio.sleep(0.01)

    async def run_timers(self) -> None:
        """Run timers when they are due. One that is set earlier only moves the deadline and wakes up nobody."""
        while True:
            due = self._heap[0][0] - self._offset if self._heap else float("inf")
            if due > trio.current_time():
                with trio.CancelScope(deadline=due) as self._waiting:
                    await trio.sleep_forever()
                self._waiting = None
            else:
                await trio.lowlevel.checkpoint()
            self._run_due()

    def _run_due(self) -> None:
        """What was due when it begins: timers that keep setting others let datagrams have their turn."""
        limit = trio.current_time() + self._offset
        while self._heap and self._heap[0][0] <= limit:
            asked, _, timer = heapq.heappop(self._heap)
            action, timer.action = timer.action, None
            if action is not None:
                self.late(self.tick() - asked)
                action()

    async def keep_records(self) -> None:
        await self.records.keep_often(FLUSH)

    async def watch_clock(self) -> None:
        """Record what the wall clock says at this time of ours, now and then and when it was set."""
        told = last = float("-inf")
        while True:
            now = self.tick()
            wall = time.time()
            if now - last >= CLOCK or abs(wall - now - told) > STEP:
                told, last = wall - now, now
                self.record("clock", wall=round(wall, 6))
            await trio.sleep(1.0)
