"""What all processes of a run know before they part."""
from __future__ import annotations

import select
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from emulation.netns.fidelity import Tally, tallies
from emulation.runner import joining_late


class Device(NamedTuple):
    """How a host gets its wlan0, and what carries its frames."""

    check: Callable[[], None]  # whether this machine can; raises kernel.Unsupported
    make: Callable[[Plan, int], int]  # for a host, in this process's namespace; the descriptor of the other end
    air: type  # emulation.netns.medium.Air, or one of its kind


@dataclass(slots=True)
class Plan:
    device: Device
    scenario: object  # topologies.Scenario
    movement: object  # mobility.Movement
    path: Path  # the run directory, absolute
    cwd: Path  # where the person is, for the commands of hosts
    neighbors: bytes = b""  # netlink messages: the addresses of all hosts, where they are permanent
    nodes: list[Tally] = field(init=False)  # by host
    medium: Tally = field(init=False)
    positions: Tally = field(init=False)
    poll: select.epoll = field(init=False)  # the medium's; made early, for its number must be below 1024

    def __post_init__(self) -> None:
        self.poll = select.epoll()
        *self.nodes, self.medium, self.positions = tallies(self.hosts + 2)

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
