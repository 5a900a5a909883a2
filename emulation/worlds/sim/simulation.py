"""The world `sim`: virtual time, one process, deterministic.

A heap of timed actions drives the medium and one broker per host, each behind the Environment
port. Same scenario, same seed: the same records and captures, byte for byte; nothing here asks
for the clock, for the order of a set or for the hash of a text. Actions of one instant run in
the order in which they were asked for.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from emulation import chance
from emulation.clock import Clock, Timer
from emulation.medium import Capture, Frame, Medium
from mobility import Movement
from node import wire
from node.broker import Broker
from node.config import NodeConfig
from topologies.radio import LogDistanceRadio, UnitDiskRadio


class Port:
    """node.environment.Environment for one life of one host."""

    def __init__(self, simulation: Simulation, host: int, epoch: int) -> None:
        self.random = chance.stream(simulation.seed, "node", host, epoch)
        self.host = host
        self.alive = True
        self.now = simulation.clock.now
        self._timer = simulation.clock.timer
        self.record = simulation.recorders[host]
        self._transmit = simulation.medium.transmit

    def broadcast(self, datagram: bytes) -> None:
        self._transmit(self.host, None, datagram)

    def unicast(self, to: int, datagram: bytes) -> None:
        self._transmit(self.host, to, datagram)

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        return self._timer(self, delay, action)


class Simulation:
    """The hosts of one run in virtual time. Brokers of hosts that are up: `brokers[host]`, else None."""

    def __init__(self, movement: Movement, radio: UnitDiskRadio | LogDistanceRadio, config: NodeConfig, seed: int, end: float,
                 recorders: list[Callable[..., None]], world_record: Callable[..., None],
                 capture: Capture | None = None, clock: Clock | None = None,
                 make_broker: Callable[..., Any] = Broker, off: Iterable[int] = ()) -> None:
        """`recorders[host](kind, **fields)` takes a node's records, `world_record` the world's;
        `make_broker(host, epoch, config, environment, decode)` begins a life; hosts of
        `off` have their radios off until they start."""
        self.clock = clock or Clock()
        self.seed = seed
        self.config = config
        self.recorders = recorders
        self._record = world_record
        self._make_broker = make_broker
        self._decoded: tuple[bytes, bytes, wire.Datagram] | None = None
        self.brokers: list[Broker | None] = [None] * len(movement.names)
        self._ports: list[Port | None] = [None] * len(movement.names)
        self._epochs = [0] * len(movement.names)
        self.started: list[Callable[[int, Broker], None]] = []  # told of every start of a node
        self.medium = Medium(self.clock, movement, radio, seed, self._deliver, world_record, end=end,
                             capture=capture, off=off)

    def start(self, host: int) -> None:
        """Begin a life of a host's node, with a boot epoch one above the last; no-op when it lives."""
        if self.brokers[host] is not None:
            return
        self._epochs[host] += 1
        port = self._ports[host] = Port(self, host, self._epochs[host])
        self._record("host_up", host=host, epoch=self._epochs[host])
        self.medium.host_up(host)
        broker = self.brokers[host] = self._make_broker(host, self._epochs[host], self.config, port, self._decode)
        broker.start()
        for tell in self.started:
            tell(host, broker)

    def stop(self, host: int) -> None:
        """End the life of a host's node in order: its last words go out, then its radio is silent."""
        broker = self.brokers[host]
        if broker is not None:
            broker.stop()
            self._end(host, "stop", self.medium.host_leaves)

    def crash(self, host: int) -> None:
        """The host is gone from one instant to the next, without a word."""
        if self.brokers[host] is not None:
            self._end(host, "crash", self.medium.host_down)

    def flush_records(self) -> None:
        """The run ends here: nodes and medium record what they counted since they did last."""
        for broker in self.brokers:
            if broker is not None:
                broker.flush_records()
        self.medium.record_traffic()

    def _end(self, host: int, how: str, switch_off: Callable[[int], None]) -> None:
        self.brokers[host] = None
        port, self._ports[host] = self._ports[host], None
        if port is not None:
            port.alive = False
        self._record("host_down", host=host, how=how)
        switch_off(host)

    def _decode(self, datagram: bytes, secret: bytes) -> wire.Datagram:
        """wire.decode, once however many hear a datagram: they do so one after the other."""
        last = self._decoded
        if last is not None and last[0] is datagram and last[1] == secret:
            return last[2]
        found = wire.decode(datagram, secret)
        self._decoded = datagram, secret, found
        return found

    def _deliver(self, receiver: int, frame: Frame) -> None:
        broker = self.brokers[receiver]
        if broker is not None:
            broker.datagram_received(frame.payload)
