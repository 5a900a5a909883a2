"""[run] and [hosts]: how long, from which seed, in which world; how many hosts and their names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from topologies.section import AsTuple, NotNegative, Section

MOST_HOSTS = 100_000
NAME = r"^[A-Za-z0-9_.-]{1,32}$"


class Run(Section):
    name: str = Field(
        min_length=1, max_length=64, description="the run's name; the file's own name by default"
    )
    duration: float = Field(gt=0, le=1e7, description="s: how long the run lasts")
    warm_up: NotNegative = Field(0.0, description="s: the beginning that is not measured")
    deadline: float = Field(10.0, gt=0, description="s: an event counts as delivered if it arrives this soon")
    grace: NotNegative = Field(
        5.0, description="s: a subscriber owes an event only if it subscribed this long before"
    )
    window: Annotated[tuple[float, float], AsTuple] = Field(
        description="s: events published in this span are measured; [warm_up, duration - deadline] by default"
    )
    seed: int = Field(1, ge=0, lt=2**63, description="of all random streams")
    world: Literal["sim"] = Field("sim", description="where the nodes run")
    journal: bool = Field(False, description="keep every node's inputs, for `roamcast replay`")
    capture: bool = Field(True, description="write what every radio saw as pcap")


class Hosts(Section):
    count: int | None = Field(None, ge=1, le=MOST_HOSTS, description="how many; or else give names")
    names: Annotated[tuple[Annotated[str, Field(pattern=NAME)], ...], AsTuple] | None = Field(
        None, min_length=1, max_length=MOST_HOSTS, description="of the hosts, in the order of their ids"
    )
