"""The evaluation of cugola-frey-murphy-picco-dynamic-topology, section V: figures 12 to 29."""
from __future__ import annotations

from analysis.reproduction.dynamic_topology.claims import CLAIMS
from analysis.reproduction.dynamic_topology.figures import PANELS
from analysis.reproduction.dynamic_topology.quantities import QUANTITIES
from analysis.reproduction.evaluation import Evaluation, Look


def strawman(given: dict) -> dict:
    """The run that this one is compared with: strawman knows no timers, so one run serves a sweep over them."""
    rival = given | {"protocol": "strawman"}
    return {name: value for name, value in rival.items()
            if name not in ("unsubscription_timer", "subscription_timer")}


def plain(given: dict) -> dict:
    return strawman(given) if given.get("protocol") == "strawman" else given


def expense(given: dict) -> float:
    """About how many s a run takes, for batches of like size."""
    count = given.get("dispatchers", 100) / 100
    events = given.get("publish", 0) * count * (0.6 if given.get("strategy") == "event" else 0.08)
    density = max(given.get("subscribers", 0.2) / 0.2, 1) ** 0.7
    return 0.05 + 0.05 * count ** 2 + events * count ** 0.5 * density + given.get("rate", 3) * count * 0.003


LOOKS = {
    "strawman": Look("#6b7280", "x", "Strawman"), "timed": Look("#d97706", "s", "Timed deferred unsubscription"),
    "notified": Look("#b91c1c", "D", "Notified deferred unsubscription"),
    "informed": Look("#1d4ed8", "o", "Informed link activation"), "path": Look("#047857", "^", "Reconfiguration path"),
    "event": Look("#7c3aed", "v", "Event forwarding"), "events": Look("#111827"),
    "misrouted events": Look("#b91c1c"), "subscriptions": Look("#1d4ed8")}

DYNAMIC_TOPOLOGY = Evaluation(
    name="dynamic-topology", title="Content-based routing on a dynamic topology, section V, reproduced",
    place="section V", panels=PANELS, quantities=QUANTITIES, claims=CLAIMS, looks=LOOKS, expense=expense, rival=strawman,
    plain=plain, shared={"2": frozenset((21, 22, 24))})
