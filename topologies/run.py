"""[run] and [hosts]: how long, from which seed, in which world; how many hosts and their names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from topologies.netns import Fidelity
from topologies.section import AsTuple, NotNegative, Section

MOST_HOSTS = 100_000
NAME = r"^[A-Za-z0-9_.-]{1,32}$"
INTERFACE = r"^[^\s/]{1,15}$"  # what the kernel takes for a name
TITLE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"  # what fits in one line


class Run(Section):
    name: str = Field(
        min_length=1, max_length=64, pattern=TITLE, description="name of the run; by default the file's"
    )
    duration: float = Field(gt=0, le=1e7, description="s: how long the run lasts")
    warm_up: NotNegative = Field(0.0, description="s: the beginning, which is not measured")
    deadline: float = Field(
        10.0, gt=0, description="s: an event counts as delivered if it arrives within this time"
    )
    grace: NotNegative = Field(
        5.0,
        description="s: an event is expected only if the subscriber had subscribed this long before publication",
    )
    window: Annotated[tuple[float, float], AsTuple] = Field(
        description="s: events published in this span are measured; by default [warm_up, duration - deadline]"
    )
    seed: int = Field(1, ge=0, lt=2**63, description="seed of all random streams")
    world: Literal["sim", "netns", "hwsim", "mininet"] = Field("sim", description="where the nodes run")
    journal: bool = Field(False, description="keep every node's inputs, for `roamcast replay`")
    capture: bool = Field(True, description="write a pcap of what every radio saw")
    capture_most: Annotated[int, Field(ge=1024)] | None = Field(None, description="bytes: where each radio's pcap ends; by default it has no end")
    fidelity: Fidelity = Field(default_factory=Fidelity, description="the table [run.fidelity]")

    @property
    def last_measured(self) -> float:
        """s: later events are not measured, or the run ends before their deadline."""
        return min(self.window[1], self.duration - self.deadline)


Command = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], AsTuple, Field(min_length=1)]


class HostPrograms(Section):
    """[hosts.N], [hosts.name]: what one host runs, in place of what [hosts] says."""

    command: Command | None = Field(
        None, description="a program and its arguments; by default that of [hosts]"
    )
    node: bool | None = Field(None, description="run our node; by default as in [hosts]")
    interface: Annotated[str, Field(pattern=INTERFACE)] | None = Field(
        None, description="an interface of this machine; the real device behind it is this host"
    )


class Hosts(Section):
    count: int | None = Field(None, ge=1, le=MOST_HOSTS, description="number of hosts; or give names")
    names: Annotated[tuple[Annotated[str, Field(pattern=NAME)], ...], AsTuple] | None = Field(
        None, min_length=1, max_length=MOST_HOSTS, description="names of the hosts, in the order of their ids"
    )
    numbers: Literal["ids", "names"] | None = Field(
        None, description="what a bare number means where a host is named; needed if names are numbers"
    )
    command: Command | None = Field(
        None, description="a program and its arguments that every host runs; in all worlds except sim"
    )
    node: bool = Field(True, description="run our node, next to the command if there is one")
    each: dict[str, HostPrograms] = Field(default_factory=dict, description="the tables [hosts.N], by id")

    def command_of(self, host: int) -> tuple[str, ...] | None:
        """The program that a host runs besides or instead of our node, or None."""
        own = self.each.get(str(host))
        if own is not None and own.interface is not None:
            return None
        return self.command if own is None or own.command is None else own.command

    def commands(self, count: int) -> dict[tuple[str, ...], list[int]]:
        """The programs, with their arguments, of hosts 0 .. count - 1, and which hosts run each."""
        found: dict[tuple[str, ...], list[int]] = {}
        for host in range(count):
            if command := self.command_of(host):
                found.setdefault(command, []).append(host)
        return found

    def runs_node(self, host: int) -> bool:
        own = self.each.get(str(host))
        if own is not None and own.interface is not None:
            return False
        return self.node if own is None or own.node is None else own.node

    def interface_of(self, host: int) -> str | None:
        """The interface of this machine behind which a real device is this host; None for a host that runs here."""
        own = self.each.get(str(host))
        return None if own is None else own.interface
