"""Keys that are given and do nothing: a part that is not chosen, a world that has no place for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from topologies.scenario import Scenario


class Idle(NamedTuple):
    """Keys of a table that do nothing where `when` holds; `without` says for want of what."""

    table: str
    keys: tuple[str, ...]
    when: Callable[[Scenario], bool]
    without: str


_TREE = ("leader_interval", "leader_losses", "request_wait", "request_attempts", "request_hops", "join_wait", "merge_wait")
_CHANNEL = ("rto_initial", "rto_min", "rto_max", "channel_window", "channel_queue", "channel_give_up", "ack_delay", "retransmission",
            "multicast", "digest")
_GOSSIP = ("gossip_interval", "gossip_adaptive", "lost_patience", "cache_bytes", "cache_lifetime", "cache_eviction")
_ROAMING = ("client_buffer", "client_age", "handoff_wait", "roam_margin", "roam_dwell")
_LIMITS = ("medium", "positions", "nodes", "dropped", "records_lost")

IDLE = (
    Idle("node", (*_TREE, *_CHANNEL), lambda s: s.node.tree == "none", 'a tree (node.tree = "none")'),
    Idle("node", ("unsubscription_timer",),
         lambda s: s.node.strategy != "subscription" or s.node.reconcile == "strawman", "a reconciliation that waits for it"),
    Idle("node", ("subscription_timer", "activate_wait"), lambda s: s.node.reconcile not in ("informed", "path"),
         'node.reconcile = "informed" or "path"'),
    Idle("node", ("path_wait",), lambda s: s.node.reconcile != "path", 'node.reconcile = "path"'),
    Idle("node", ("flush",), lambda s: s.node.reconcile not in ("notified", "informed", "path"),
         'node.reconcile = "notified", "informed" or "path"'),
    Idle("node", _GOSSIP, lambda s: s.node.recovery == "none", "node.recovery"),
    Idle("node", ("gossip_forward",), lambda s: s.node.recovery in ("none", "publisher_pull"),
         'node.recovery = "push", "subscriber_pull" or "combined"'),
    Idle("node", ("gossip_subscribers",), lambda s: s.node.recovery != "combined", 'node.recovery = "combined"'),
    Idle("node", _ROAMING, lambda s: s.run.world == "sim" and not s.workload.roam, "hosts that roam (workload.roam)"),
    Idle("workload", ("publish_interval", "publish_jitter", "payload", "start"), lambda s: not s.workload.kinds,
         "the generator, which explicit events switch off unless workload.kinds is given"),
    Idle("workload", ("publish_jitter", "payload"), lambda s: bool(s.workload.kinds) and not s.workload.publish_interval,
         "events of the generator (workload.publish_interval = 0)"),
    Idle("radio", ("coherence",), lambda s: getattr(s.radio, "shadowing", 1) == 0, "shadowing (radio.shadowing = 0)"),
    Idle("radio", ("retries", "queue", "carrier_sense"), lambda s: s.run.world == "mininet", "a medium of ours: wmediumd has its own"),
    Idle("netns", ("neighbors", "self_check"), lambda s: s.run.world == "sim", "namespaces (run.world)"),
    Idle("run.fidelity", _LIMITS, lambda s: s.run.world == "sim", "real time: the simulator is never late"),
)


def notes(scenario: Scenario) -> Iterator[str]:
    """Keys with another value than the default that change nothing, those of one reason in one sentence."""
    for given, without in _given(scenario):
        yield f"{', '.join(given)}: nothing comes of {'it' if len(given) == 1 else 'them'} without {without}"


def keys(scenario: Scenario) -> Iterator[str]:
    """Those keys, such as node.flush."""
    for given, _ in _given(scenario):
        yield from given


def _given(scenario: Scenario) -> Iterator[tuple[list[str], str]]:
    for table, names, when, without in IDLE:
        if not when(scenario):
            continue
        section = scenario
        for name in table.split("."):
            section = getattr(section, name)
        fields = type(section).model_fields
        given = [f"{table}.{key}" for key in names if key in fields and getattr(section, key) != fields[key].default]
        if given:
            yield given, without
