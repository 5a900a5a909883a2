"""What is worth saying about a scenario that is in order: a person may have meant something else."""

from __future__ import annotations

from collections.abc import Iterator

from topologies import replay
from topologies.radio import LogDistanceRadio
from topologies.scenario import Scenario

MOST_APART = 0.1  # share of the base rate's range by which the data rate's may be shorter without a word

FAR_REFERENCE = 10.0  # m


def notes(scenario: Scenario) -> list[str]:
    """Sentences "key: what is so; what would change it"; none of them keeps the scenario from being run."""
    return [*replay.remarks(scenario), *_reach(scenario.radio), *_workload(scenario.workload)]


def half_range(radio: LogDistanceRadio, sensitivity: float) -> float:
    """m within which more than half of the frames are received, over all shadowing and fading."""
    margin = radio.tx_power - radio.reference_loss - sensitivity
    return radio.reference_distance * 10.0 ** (max(margin, 0.0) / (10.0 * radio.exponent))


def _reach(radio: object) -> Iterator[str]:
    if not isinstance(radio, LogDistanceRadio):
        return
    if radio.reference_distance > FAR_REFERENCE:
        yield (f"radio.reference_distance: {radio.reference_distance:g} m: all hosts nearer than that are heard as strongly "
               "as at that distance; give reference_loss at 1 m, unless that is what you mean")
    if radio.tx_power - radio.reference_loss < radio.sensitivity:
        yield (f"radio.tx_power: {radio.tx_power:g} dBm less reference_loss = {radio.reference_loss:g} dB is below "
               f"sensitivity = {radio.sensitivity:g} dBm: most broadcasts are lost at any distance")
        return
    base, data = half_range(radio, radio.sensitivity), half_range(radio, radio.data_sensitivity)
    yield (f"radio: half of the broadcasts ({radio.base_rate / 1e6:g} Mbit/s) are received at {base:.0f} m, half of "
           f"the unicasts ({radio.data_rate / 1e6:g} Mbit/s) at {data:.0f} m")
    if data < base * (1.0 - MOST_APART):
        yield (f"radio.data_sensitivity: {radio.data_sensitivity:g} dBm with sensitivity = {radio.sensitivity:g}: "
               f"beacons make neighbors between {data:.0f} and {base:.0f} m whom few unicasts reach (a gray zone, "
               "docs/emulation.md); leave it out, unless that is what you study")


def _workload(workload) -> Iterator[str]:
    generated = workload.kinds > 0
    subscribed = bool(workload.subscribe) or generated and workload.subscriptions > 0
    published = bool(workload.publish) or generated and workload.publish_interval > 0
    if published and not subscribed:
        yield ("workload: events are published and nobody subscribes, so nothing is delivered; add "
               "[[workload.subscribe]], or kinds for the generator")
    elif subscribed and not published:
        yield ("workload: hosts subscribe and nothing is published, so nothing is delivered; add "
               "[[workload.publish]], or kinds and publish_interval for the generator")
