"""[radio]: how far frames reach and how long they take, for all worlds that model the radio."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from topologies.section import AsTuple, Host, NotNegative, Section, Share


class RadioLink(Section):
    """[[radio.links]]: one direction between two hosts that is worse than the others."""

    from_: Host = Field(alias="from", description="the sender, by id or name")
    to: Host = Field(description="the receiver, by id or name")
    loss: Share = Field(
        description="share of frames lost in this direction, instead of radio.loss; 1 cuts it"
    )


class _Radio(Section):
    base_rate: float = Field(6e6, ge=1e3, le=1e11, description="bit/s: rate of broadcasts")
    data_rate: float = Field(24e6, ge=1e3, le=1e11, description="bit/s: rate of unicasts")
    retries: int = Field(7, ge=0, le=100, description="retries of a unicast that is not acknowledged")
    queue: int = Field(64, ge=1, le=100_000, description="frames that may wait at a radio; more are dropped")
    loss: Share = Field(0.0, description="share of frames lost in addition to propagation")
    carrier_sense: bool = Field(
        True, description="one transmission at a time around a sender; overlaps collide"
    )
    delay: float = Field(
        0.0, ge=0, le=10, description="s: between a frame's end and its delivery to the node"
    )
    links: Annotated[tuple[RadioLink, ...], AsTuple] = Field((), description="directions with their own loss")


class UnitDiskRadio(_Radio):
    """Everything within range is received, nothing beyond."""

    model: Literal["unit_disk"] = Field("unit_disk", description="received within range, not beyond")
    range: float = Field(
        150.0, ge=1e-2, le=1e6, description="m: two hosts at most this far apart are in range"
    )


class LogDistanceRadio(_Radio):
    """Log-distance path loss with log-normal shadowing; reception falls smoothly with distance.

    The defaults are an 802.11a radio near the ground; docs/worlds.md has their sources. Both rates
    reach equally far unless the sensitivities say otherwise: a radio that adapts its rate does so too.
    """

    model: Literal["log_distance"] = Field(
        "log_distance", description="path loss grows with the log of distance"
    )
    tx_power: float = Field(16.0, ge=-100, le=100, description="dBm: power of the sender, antennas included")
    reference_loss: float = Field(46.7, ge=0, le=200, description="dB: path loss at reference_distance")
    reference_distance: float = Field(
        1.0, ge=1e-3, le=1e4, description="m: distance up to which the loss does not grow"
    )
    exponent: float = Field(2.5, ge=1, le=10, description="path loss exponent; 2 is free space")
    shadowing: float = Field(
        4.0, ge=0, le=30, description="dB: standard deviation over pairs and time; 0 is none"
    )
    coherence: float = Field(30.0, gt=0, le=1e6, description="s: shadowing is independent after this time")
    fading: NotNegative = Field(2.0, le=30, description="dB: width of the reception curve, frame by frame")
    sensitivity: float = Field(
        -88.0, ge=-200, le=50, description="dBm: power at which half of the base-rate frames are received"
    )
    data_sensitivity: float = Field(
        -88.0, ge=-200, le=50, description="dBm: the same for data-rate frames; by default `sensitivity`"
    )


def _kind(table: object) -> str | None:
    if isinstance(table, Section):
        return f"<{getattr(table, 'model')}>"
    return f"<{table.get('model', 'unit_disk')}>" if isinstance(table, dict) else None


Radio = Annotated[
    Annotated[UnitDiskRadio, Tag("<unit_disk>")] | Annotated[LogDistanceRadio, Tag("<log_distance>")],
    Discriminator(_kind),
]
