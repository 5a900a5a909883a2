"""What all processes of a run know before they part."""
from __future__ import annotations

import select
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from emulation.realtime.channel import Channel
from emulation.realtime.fidelity import Tally, tallies
from emulation.world import joining_late


def nothing(plan: Plan) -> None:
    """Before the hosts."""


class Fabric(NamedTuple):
    """How a host gets its namespace and its wlan0, and what carries its frames."""

    check: Callable[[], None]  # whether this machine can; raises kernel.Unsupported
    make: Callable[[Plan, int], int]  # moves this process into a host's namespace; the descriptor of its wlan0's other end
    air: type  # emulation.realtime.medium.Air, or one of its kind
    begin: Callable[[Plan], None] = nothing  # what there must be before any host is made
    inside: bool = False  # a real device's interface is moved into a namespace of its host
    switches: bool = False  # a radio that the scenario switches off is an interface that is down, as its host sees it
    compares: bool = False  # the medium counts the datagrams that pass between nodes and their interfaces
    edge: float = 0.0  # share of the range, about it, within which two hosts may hear each other or not


@dataclass(slots=True)
class Plan:
    fabric: Fabric
    scenario: object  # topologies.Scenario
    movement: object  # mobility.Movement
    path: Path  # the run directory, absolute
    cwd: Path  # where the person is, for the commands of hosts
    neighbors: bytes = b""  # netlink messages: the addresses of all hosts, where they are permanent
    stations: list[int] = field(default_factory=list)  # by host: namespaces that there are before the hosts' processes
    network: Channel | None = None  # to the program that made them
    nodes: list[Tally] = field(init=False)  # by host
    medium: Tally = field(init=False)
    positions: Tally = field(init=False)
    supervisor: Tally = field(init=False)
    poll: select.epoll = field(init=False)  # the medium's; made early, for its number must be below 1024

    def __post_init__(self) -> None:
        self.poll = select.epoll()
        *self.nodes, self.medium, self.positions, self.supervisor = tallies(self.hosts + 3)

    @property
    def hosts(self) -> int:
        return len(self.movement)

    @property
    def ports(self) -> dict[int, str]:
        """The hosts that are real devices, and the interface behind which each is."""
        hosts = self.scenario.hosts
        return {host: name for host in range(self.hosts) if (name := hosts.interface_of(host)) is not None}

    def late(self) -> set[int]:
        """Hosts whose first fault is `start`: they are not there before it."""
        return joining_late(self.scenario.faults)
