"""The evaluation of cugola-frey-murphy-picco-dynamic-topology, section V: figures 12 to 29."""
from __future__ import annotations

import math

from emulation.studies.dynamic_topology.claims import CLAIMS
from emulation.studies.dynamic_topology.figures import PANELS
from emulation.studies.dynamic_topology.quantities import QUANTITIES
from emulation.studies.evaluation import Evaluation, Given, Look


def strawman(given: Given) -> Given:
    """The run that this one is compared with: strawman knows no timers and no FLUSH, and sends the same with memory and
    without, so one run serves a sweep over them."""
    rival = given | {"protocol": "strawman"}
    return {name: value for name, value in rival.items()
            if name not in ("unsubscription_timer", "subscription_timer", "memory", "entries", "flush")}


def plain(given: Given) -> Given:
    """Path remembers what its own figure says, and event forwarding has nothing to remember."""
    if given.get("protocol") == "strawman":
        return strawman(given)
    if given.get("memory") == "told" or given.get("protocol") == "path" or given.get("strategy") == "event":
        return {name: value for name, value in given.items() if name != "memory"}
    return given


def expense(given: Given) -> float:
    """About how many s a run takes, for batches of like size."""
    count: float = given.get("dispatchers", 100) / 100
    events: float = given.get("publish", 0) * count * (0.6 if given.get("strategy") == "event" else 0.08)
    density: float = max(given.get("subscribers", 0.2) / 0.2, 1) ** 0.7
    rate: float = given.get("rate", 3)
    return 0.05 + 0.05 * count ** 2 + events * math.sqrt(count) * density + rate * count * 0.003


LOOKS = {
    "strawman": Look("#6b7280", "x", "Strawman"), "timed": Look("#d97706", "s", "Timed deferred unsubscription"),
    "notified": Look("#b91c1c", "D", "Notified deferred unsubscription"),
    "informed": Look("#1d4ed8", "o", "Informed link activation"), "path": Look("#047857", "^", "Reconfiguration path"),
    "timed, told": Look("#fbbf24", "s", "Timed, told is remembered"),
    "notified, told": Look("#f87171", "D", "Notified, told is remembered"),
    "informed, told": Look("#60a5fa", "o", "Informed, told is remembered"),
    "timed, kept": Look("#92400e", "s", "Timed, entries kept"),
    "notified, kept": Look("#7f1d1d", "D", "Notified, entries kept"),
    "informed, kept": Look("#1e3a8a", "o", "Informed, entries kept"),
    "informed, timers": Look("#1d4ed8", "o", "Informed on timers, ρ = 30"),
    "informed, timers, kept": Look("#1e3a8a", "v", "... entries kept"),
    "informed, timers, ρ = 3": Look("#047857", "^", "Informed on timers, ρ = 3"),
    "informed, timers, kept, ρ = 3": Look("#0f766e", "D", "... entries kept"),
    "event": Look("#7c3aed", "v", "Event forwarding"), "events": Look("#111827"),
    "misrouted events": Look("#b91c1c"), "subscriptions": Look("#1d4ed8")}

DYNAMIC_TOPOLOGY = Evaluation(
    name="dynamic-topology", title="Content-based routing on a dynamic topology, section V, reproduced",
    place="section V", panels=PANELS, quantities=QUANTITIES, claims=CLAIMS, looks=LOOKS, expense=expense, rival=strawman,
    plain=plain, shared={"2": frozenset((21, 22, 24))}, readings={"replacement": "seeker", "memory": "none"})
