"""How much of the machine a run will take, before it starts: a sum of measured costs.

The constants were fitted to runs of the library of scenarios: datagrams to runs in `sim`, processor
time to runs in this world (docs/worlds.md), on the machine whose `_loop` takes REFERENCE. What other
programs of hosts take is not known.
"""
from __future__ import annotations

import os
import time
from typing import NamedTuple

import numpy as np

from emulation.medium import propagation_of
from mobility import Movement
from topologies import Scenario, publications

LEADER_SHARE = 2.5  # datagrams of a host for each beacon of its leader, acknowledgements and repairs included
EVENT_SHARE = 0.3  # datagrams of a host for each event of the network, retransmissions included
UNICAST_HEARD = 1.05  # receivers of a datagram that is no beacon
NODE_SENT, NODE_RECEIVED = 330e-6, 220e-6  # s of processor time for each datagram, the kernel's included
MEDIUM_SENT, MEDIUM_RECEIVED = 70e-6, 40e-6  # s of the medium's
REFERENCE = 1.7e-3  # s
LOOPS = 5
ENOUGH = 0.75  # of the processors: past that lateness grows


class Forecast(NamedTuple):
    processors: float  # that the run keeps busy
    available: int
    medium: float  # of one processor, by the medium alone

    @property
    def too_much(self) -> bool:
        return self.processors > ENOUGH * self.available or self.medium > ENOUGH

    def __str__(self) -> str:
        text = f"expected load: about {self.processors:.1f} of {self.available} cores"
        if self.medium > ENOUGH:
            return f"{text}, {self.medium:.1f} of one core by the medium: more than it can handle in time"
        return f"{text}: more than this machine can handle in time" if self.too_much else text


def forecast(scenario: Scenario, movement: Movement, speed: float | None = None) -> Forecast:
    """The load of a run. `speed`: of this machine against the reference; measured by default."""
    hosts, node = len(movement), scenario.node
    beacons = 1.0 / node.hello_interval
    nodes = sum(scenario.hosts.runs_node(host) for host in range(hosts))
    sent = nodes * (beacons + LEADER_SHARE / node.leader_interval + EVENT_SHARE * events(scenario, hosts))
    received = nodes * beacons * degree(scenario, movement) + (sent - nodes * beacons) * UNICAST_HEARD
    slow = 1.0 / (_speed() if speed is None else speed)
    medium = slow * (sent * MEDIUM_SENT + received * MEDIUM_RECEIVED)
    return Forecast(medium + slow * (sent * NODE_SENT + received * NODE_RECEIVED),
                    len(os.sched_getaffinity(0)), medium)


def events(scenario: Scenario, hosts: int) -> float:
    """Events that the workload publishes a second, all hosts together, while it is at its busiest."""
    workload = scenario.workload
    rate = hosts / workload.publish_interval if workload.kinds and workload.publish_interval else 0.0
    explicit = (len(entry.hosts or range(hosts)) * entry.busiest() for entry in workload.publish)
    log = publications.of(scenario)
    return rate + sum(explicit) + (len(log) / max(log[-1].time - log[0].time, 1.0) if log else 0.0)


def degree(scenario: Scenario, movement: Movement) -> float:
    """The mean number of radio neighbors of a host over the run."""
    duration = scenario.run.duration
    reach = propagation_of(scenario.radio, movement, scenario.run.seed).reach
    contacts = movement.contacts(reach, 0.0, duration)
    spans = np.minimum(contacts["down"], duration) - contacts["up"]
    return float(2.0 * spans.sum() / duration / len(movement))


def _speed() -> float:
    return REFERENCE / min(_loop() for _ in range(LOOPS))


def _loop() -> float:
    """Processor seconds of a little work of the kind that nodes do."""
    began = time.process_time()
    table: dict[int, tuple[int, str]] = {}
    for k in range(12_000):
        table[k & 255] = (k, str(k))
        table.get(k * 7 & 255)
    return time.process_time() - began
