"""Keys that are given but have no effect: of a part that is not chosen, or that the world does not use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from node.schema import config

if TYPE_CHECKING:
    from topologies.scenario import Scenario


class Idle(NamedTuple):
    """Keys of a table that have no effect if `when` holds; `without` names what is missing."""

    table: str
    keys: tuple[str, ...]
    when: Callable[[Scenario], bool]
    without: str


_ROAMING = ("client_buffer", "client_age", "handoff_wait", "roam_margin", "roam_dwell")
_LIMITS = ("medium", "positions", "nodes", "dropped", "records_lost")

IDLE = (
    Idle("node", _ROAMING, lambda s: s.run.world == "sim" and not s.workload.roam, "hosts that roam (workload.roam)"),
    Idle("workload", ("publish_interval", "publish_jitter", "payload", "start", "until", "hosts", "event"), lambda s: not s.workload.kinds,
         "the generator, which explicit events switch off unless workload.kinds is given"),
    Idle("workload", ("publish_jitter", "payload", "event"), lambda s: bool(s.workload.kinds) and not s.workload.publish_interval,
         "events of the generator (workload.publish_interval = 0)"),
    Idle("radio", ("coherence",), lambda s: getattr(s.radio, "shadowing", 1) == 0, "shadowing (radio.shadowing = 0)"),
    Idle("radio", ("retries", "queue", "carrier_sense"), lambda s: s.run.world == "mininet", "our own medium: wmediumd has its own settings"),
    Idle("netns", ("neighbors", "self_check"), lambda s: s.run.world == "sim", "namespaces (run.world)"),
    Idle("run.fidelity", _LIMITS, lambda s: s.run.world == "sim", "real time: the simulator is never late"),
)


def notes(scenario: Scenario) -> Iterator[str]:
    """Keys that differ from their default but change nothing; one sentence per reason."""
    for given, without in _given(scenario):
        yield f"{', '.join(given)}: {'has' if len(given) == 1 else 'have'} no effect without {without}"


def keys(scenario: Scenario) -> Iterator[str]:
    """Those keys, such as node.flush."""
    for given, _ in _given(scenario):
        yield from given


def _given(scenario: Scenario) -> Iterator[tuple[list[str], str]]:
    for table, names, without in _idle(scenario):
        section: Any = scenario
        for name in table.split("."):
            section = getattr(section, name)
        fields = type(section).model_fields
        given = [f"{table}.{key}" for key in names if key in fields and getattr(section, key) != fields[key].default]
        if given:
            yield given, without


def _idle(scenario: Scenario) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(table, keys, what they would need)."""
    for names, without in config.idle(scenario.node.model_dump()):
        yield "node", names, without
    for row in IDLE:
        if row.when(scenario):
            yield row.table, row.keys, row.without
