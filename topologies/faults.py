"""[[faults]]: churn. Hosts that stop, crash and return; links that are cut and restored."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from topologies.section import AsTuple, Host, NotNegative, Section


class HostFault(Section):
    at: NotNegative = Field(description="s: time of the fault")
    host: Host = Field(description="by id or name")
    action: Literal["stop", "crash", "start", "freeze", "thaw"] = Field(
        description="end in order, end at once, begin again; halt and continue (not in sim)"
    )


class LinkFault(Section):
    at: NotNegative = Field(description="s: time of the fault")
    link: Annotated[tuple[Host, Host], AsTuple] = Field(description="the two hosts, by id or name")
    action: Literal["cut", "restore"] = Field(
        description="block all frames in both directions, or restore the link"
    )


def _kind(table: object) -> str | None:
    if isinstance(table, Section):
        return "<link>" if isinstance(table, LinkFault) else "<host>"
    if not isinstance(table, dict):
        return None
    return "<link>" if "link" in table and "host" not in table else "<host>"


Fault = Annotated[
    Annotated[HostFault, Tag("<host>")] | Annotated[LinkFault, Tag("<link>")], Discriminator(_kind)
]
Faults = Annotated[tuple[Fault, ...], AsTuple]
