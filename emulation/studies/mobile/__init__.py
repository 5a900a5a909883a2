"""The five reconciliation protocols on a tree that radios repair, beside flooding without a tree: docs/reproduction.md.

Beyond cugola-frey-murphy-picco-dynamic-topology, whose links are replaced on a schedule: hosts walk by the random-waypoint
model, `maodv` keeps the tree over simulated radios, every message is on the wire. Runs are scenarios, done by
`roamcast run --measure`.
"""
from __future__ import annotations

import math

from emulation.studies.evaluation import Evaluation, Given, Look
from emulation.studies.mobile.claims import CLAIMS
from emulation.studies.mobile.figures import FLOOD, PANELS
from emulation.studies.mobile.quantities import QUANTITIES

KINDS = 20  # of events
SIDE, HOSTS = 600.0, 30  # m: park-30's density, five neighbors a host
STANDARD: Given = {"hosts": 50, "speed": 2, "publications": 6, "wanted": 10, "protocol": "strawman"}


def plain(given: Given) -> Given:
    """The scenario of a run, by dotted keys. The movement and the workload are those of the seed, whatever the protocol."""
    given = STANDARD | given
    hosts, speed, protocol = given["hosts"], given["speed"], given["protocol"]
    side = round(SIDE * (hosts / HOSTS) ** 0.5, 1)
    node = {"node.tree": "none", "node.strategy": "flood"} if protocol == FLOOD else {"node.reconcile": protocol}
    return {"run.duration": 35.0, "run.warm_up": 8.0, "run.deadline": 4.0, "run.capture": False, "run.seed": given["run.seed"],
            "hosts.count": hosts, "mobility.area": [side, side], "mobility.speed": [0.5 * speed, 1.5 * speed],
            "mobility.pause": [0.0, 0.0], "workload.kinds": KINDS,
            "workload.subscriptions": round(given["wanted"] * KINDS / 100),
            "workload.publish_interval": 60.0 / given["publications"], **node}


def rival(given: Given) -> Given:
    """Strawman's run of the same seed."""
    return {key: value for key, value in given.items() if not key.startswith("node.")} | {"node.reconcile": "strawman"}


def expense(given: Given) -> float:
    """About how many s a run takes; the same for all protocols of a seed, so that they stay together."""
    hosts: int = given["hosts.count"]
    interval: float = given["workload.publish_interval"]
    return 0.6 * math.pow(hosts / 25, 1.4) * (0.7 + 3 / interval)


LOOKS = {
    "strawman": Look("#6b7280", "x", "Strawman"), "timed": Look("#d97706", "s", "Timed deferred unsubscription"),
    "notified": Look("#b91c1c", "D", "Notified deferred unsubscription"),
    "informed": Look("#1d4ed8", "o", "Informed link activation"), "path": Look("#047857", "^", "Reconfiguration path"),
    FLOOD: Look("#7c3aed", "v", "Flooding, no tree"), "bound": Look("#111827", ".", "Physical bound")}

MOBILE = Evaluation(
    name="mobile", title="Reconciliation on a tree that radios repair", place="the study", panels=PANELS,
    quantities=QUANTITIES, claims=CLAIMS, looks=LOOKS, expense=expense, rival=rival, plain=plain, readings={})
