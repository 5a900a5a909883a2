"""What all processes of a run know before they part, and what a world in real time supplies to them: its fabric."""
from __future__ import annotations

import select
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from emulation.neighborhood import Neighborhood
from emulation.realtime.channel import Channel
from emulation.realtime.clock import RealTime
from emulation.realtime.fidelity import Tally, tallies
from emulation.realtime.stations import Stations
from emulation.records import AppendOnly
from emulation.world import joining_late
from mobility import Movement
from topologies import Scenario


class Air(Protocol):
    """What becomes of radios, as emulation.medium.Medium has it: who is in range of whom, and whose radio is on."""

    neighborhood: Neighborhood
    receptions: int

    def host_up(self, host: int) -> None: ...
    def host_leaves(self, host: int) -> None: ...
    def host_down(self, host: int) -> None: ...
    def record_traffic(self) -> None: ...


class Carrier(Protocol):
    """What stands between all hosts of a run, in the medium's process. It registers what is to be read with `plan.poll`."""

    @property
    def air(self) -> Air: ...

    @property
    def refused(self) -> int:
        """Frames that a host's device did not take, or that were too long."""

    def probing(self, scheduler: RealTime) -> None:
        """From now on frames are the self-check's, and this scheduler drives what carries them."""

    def begin(self, epoch: float) -> None:
        """The run's frames come next; `epoch` is the wall clock (s since 1970) at its begin. Asks the run's scheduler for
        what it has to do by time."""

    def discard(self) -> None:
        """What came before the run is none of it."""

    def read(self, descriptor: int) -> None:
        """There is something at a descriptor: take a batch of it."""

    def switch_interface(self, host: int, on: bool) -> None:
        """An interface was put on or off inside its host."""

    def end(self) -> None:
        """The run is over."""

    def files(self) -> Iterable[AppendOnly]:
        """What is to be written out now and then."""

    def dropped(self, host: int, interface: str) -> int:
        """Frames that a host's device has dropped so far, in both directions; this process is in the host's namespace.
        Raises OSError."""

    def told(self) -> dict[str, int]:
        """What the manifest's fidelity is to have besides."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a carrier is made from."""

    plan: Plan
    ends: list[int]  # by host: the descriptor of its wlan0's other end
    spaces: list[int]  # by host: its network namespace; -1 for a real device's
    stations: Stations
    scheduler: RealTime  # of the run
    record: Callable[..., None]  # record(kind, **fields) of the world


def nothing(plan: Plan) -> None:
    """Before the hosts."""


@dataclass(frozen=True, slots=True)
class Fabric:
    """What a world's hosts and the air between them are made of."""

    check: Callable[[], None]  # whether this machine can; raises kernel.Unsupported
    make: Callable[[Plan, int], int]  # moves this process into a host's namespace; the descriptor of its wlan0's other end
    carrier: Callable[[Setting], Carrier]
    begin: Callable[[Plan], None] = nothing  # what there must be before any host is made
    inside: bool = False  # a real device's interface is moved into a namespace of its host
    switches: bool = False  # a radio that the scenario switches off is an interface that is down, as its host sees it
    compares: bool = False  # the medium counts the datagrams that pass between nodes and their interfaces
    edge: float = 0.0  # share of the range, about it, within which two hosts may hear each other or not


@dataclass(slots=True)
class Plan:
    fabric: Fabric
    scenario: Scenario
    movement: Movement
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
