"""[netns] and [run.fidelity]: how the world of namespaces is set up, and what a real-time run must keep to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topologies.section import NotNegative, Positive, Section, Share


class Netns(Section):
    neighbors: Literal["frames", "permanent"] = Field(
        "frames",
        description="ARP and neighbor discovery as frames on the air, or all addresses known from the start",
    )
    self_check: bool = Field(True, description="before the run, compare who hears whom with trace and radio")


class Fidelity(Section):
    """A run in real time that exceeds one of these limits is invalid."""

    medium: Positive = Field(0.01, description="s: 99th percentile of how late the medium is")
    positions: Positive = Field(0.1, description="s: the same for changes of who is in range")
    nodes: Positive = Field(0.05, description="s: the same for the nodes' timers and the workload")
    host: Positive = Field(0.25, description="s: the same for each host by itself")
    stall: Positive = Field(
        1.0, description="s: longest time that the medium, a node or the supervisor stood still"
    )
    dropped: Share = Field(
        0.001, description="share of frames that kernels dropped because they were not read in time"
    )
    records_lost: NotNegative = Field(0, description="records that could not be written")
