"""A world for devices and brokers: the simulator, with a script in place of the movement.

All hosts stand at one place; who hears whom is a matter of links cut and restored. So a test says at each moment
which brokers a device hears and which links the brokers have among themselves, and the rest is the real
thing: medium, channels, MAODV, routing. Every frame takes `delay` s, so that what passes each other on its way
really does.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np

import mobility
from emulation.clock import Clock
from emulation.devices import maker
from emulation.worlds.sim.simulation import Simulation
from node.broker import Broker
from node.config import NodeConfig
from node.ids import EventId
from node.roaming.session import Session
from topologies.radio import UnitDiskRadio

APP = "app"


class World:
    """Hosts 0 to `brokers` - 1 are brokers in a row, each in reach of the next; the others are devices."""

    def __init__(self, brokers: int, devices: int = 1, seed: int = 1, end: float = 600.0, delay: float = 0.02,
                 loss: float = 0.0, make: Callable | None = None, **config) -> None:
        self.brokers, self.devices = range(brokers), range(brokers, brokers + devices)
        hosts = brokers + devices
        places = [mobility.Trajectory(np.zeros(1), np.zeros((1, 2))) for _ in range(hosts)]
        self.clock = Clock()
        self.records: list[tuple[float, int, str, dict]] = []
        self.sim = Simulation(
            mobility.Movement([str(host) for host in range(hosts)], places, end),
            UnitDiskRadio(range=10.0, delay=delay, loss=loss, carrier_sense=False), NodeConfig(**config), seed, end,
            [self._recorder(host) for host in range(hosts)], self._recorder(-1), clock=self.clock,
            make_broker=make or maker(seed, frozenset(self.devices)))
        self.sim.started.append(self._started)
        self.wanted: dict[int, dict[str, None]] = defaultdict(dict)  # host -> filters its client wants
        self.held: dict[int, list[tuple[float, float, str]]] = defaultdict(list)  # (from, until, filter)
        self.published: dict[EventId, tuple[float, int, dict]] = {}  # when, host, attributes
        self.delivered: dict[int, list[tuple[float, EventId]]] = defaultdict(list)  # by host, in order
        self.taken: list[tuple[float, int, int, EventId]] = []  # when, broker, device, event that went into a session
        self.crashed_with: set[tuple[int, EventId]] = set()  # (device, event) in memory that was lost
        self.hearing: dict[int, set[int]] = {device: set() for device in self.devices}
        self.links = {(a, b) for a, b in combinations(self.brokers, 2) if b == a + 1}
        for a, b in combinations(range(hosts), 2):
            if (a, b) not in self.links:
                self.sim.medium.neighborhood.cut(a, b)
        for host in range(hosts):
            self.sim.start(host)

    def _recorder(self, host: int) -> Callable[..., None]:
        return lambda kind, **fields: self.records.append((self.clock.now(), host, kind, fields))

    def _started(self, host: int, node) -> None:
        node.attach(APP, lambda event: self.delivered[host].append(
            (self.clock.now(), EventId(event.source, event.epoch, event.sequence))))
        for wanted in self.wanted[host]:
            node.subscribe(APP, wanted)
        if isinstance(node, Broker):
            self._watch(host, node)

    def _watch(self, host: int, broker: Broker) -> None:
        """Note every event that a session takes into its care."""
        sessions, deliver = broker.sessions, Session.deliver
        world = self

        class Watched(dict):
            def __setitem__(self, hop: str, session: Session) -> None:
                def noting(event, born: float | None = None, late: bool = False) -> bool:
                    world.taken.append((world.clock.now(), host, session.device,
                                        EventId(event.source, event.epoch, event.sequence)))
                    return deliver(session, event, born, late)
                session.deliver = noting
                super().__setitem__(hop, session)

        sessions.hops = Watched()

    # ---- what a script does ---------------------------------------------------------------------------
    def run(self, seconds: float) -> None:
        self.clock.run(self.clock.time + seconds)

    def hear(self, device: int, brokers: Iterable[int]) -> None:
        """From now on the device is in reach of these brokers only."""
        now = set(brokers)
        for broker in self.hearing[device] - now:
            self.sim.medium.neighborhood.cut(broker, device)
        for broker in now - self.hearing[device]:
            self.sim.medium.neighborhood.restore(broker, device)
        self.hearing[device] = now

    def cut(self, link: tuple[int, int]) -> None:
        self.sim.medium.neighborhood.cut(*link)

    def restore(self, link: tuple[int, int]) -> None:
        self.sim.medium.neighborhood.restore(*link)

    def crash(self, host: int) -> None:
        broker = self.sim.brokers[host]
        if isinstance(broker, Broker):
            self.crashed_with |= {(device, event) for device, event in in_memory(broker)}
        self.sim.crash(host)

    def start(self, host: int) -> None:
        self.sim.start(host)

    def subscribe(self, host: int, wanted: str) -> None:
        if wanted not in self.wanted[host]:
            self.wanted[host][wanted] = None
            self.held[host].append((self.clock.now(), float("inf"), wanted))
            self.sim.brokers[host].subscribe(APP, wanted)

    def unsubscribe(self, host: int, wanted: str) -> None:
        if wanted in self.wanted[host]:
            del self.wanted[host][wanted]
            self.held[host] = [(since, min(until, self.clock.now()) if text == wanted else until, text)
                               for since, until, text in self.held[host]]
            self.sim.brokers[host].unsubscribe(APP, wanted)

    def publish(self, host: int, **attributes: object) -> EventId | None:
        node = self.sim.brokers[host]
        if node is None:
            return None
        event = node.publish(APP, attributes)
        self.published[event] = self.clock.now(), host, attributes
        return event

    def every(self, seconds: float, action: Callable[[], object], until: float) -> None:
        def again() -> None:
            if self.clock.time < until:
                action()
                self.clock.call_at(self.clock.time + seconds, again)
        self.clock.call_at(self.clock.time + seconds, again)

    # ---- what came of it -------------------------------------------------------------------------------
    def kinds(self, *kinds: str) -> list[tuple[float, int, str, dict]]:
        return [record for record in self.records if record[2] in kinds]

    def got(self, host: int) -> list[EventId]:
        return [event for _, event in self.delivered[host]]

    def drops(self) -> Counter:
        """Datagrams and messages that nodes turned away, by reason."""
        for node in self.sim.brokers:
            if node is not None:
                node.flush_records()
        return Counter({reason: sum(one["datagrams"] for record in self.kinds("traffic")
                                    for one in record[3]["dropped"] if one["reason"] == reason)
                        for reason in {one["reason"] for record in self.kinds("traffic")
                                       for one in record[3]["dropped"]}})


def in_memory(broker: Broker) -> Iterable[tuple[int, EventId]]:
    """(device, event) of all that a broker holds for devices."""
    for device, session in broker.sessions.of.items():
        yield from ((device, EventId(*held.event[:3])) for held in session.buffer.events())
    for device, stopped in broker.sessions.handoffs._stopped.items():
        yield from ((device, EventId(*event[:3])) for event in stopped.events)
    for device, handoff in broker.sessions.handoffs._open.items():
        for holder in handoff.holders.values():
            yield from ((device, EventId(*event[:3])) for event in holder.events)


# ---- a row of four brokers and one device, for tests of single cases
DEVICE = 4


def begun(hears=(0,), **config) -> World:
    """A row of four brokers, a device that wants kind a and hears some of them, and another host."""
    world = World(4, devices=2, end=600.0, **config)
    world.subscribe(DEVICE, 'kind = "a"')
    world.run(5.0)
    world.hear(DEVICE, hears)
    world.run(4.0)
    return world


def broker_of(world: World, device: int = DEVICE) -> int | None:
    return world.sim.brokers[device].broker


def published(world: World, count: int, seconds: float = 0.1, host: int = 3) -> list:
    events = []
    for _ in range(count):
        events.append(world.publish(host, kind="a"))
        world.run(seconds)
    return events


def one(world: World, kind: str, **fields) -> dict:
    """The latest record of this kind with these fields."""
    found = [record[3] for record in world.kinds(kind) if fields.items() <= record[3].items()]
    assert found, f"no {kind} with {fields}: {[record[3] for record in world.kinds(kind)]}"
    return found[-1]
