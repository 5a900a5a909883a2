"""How well the epidemic algorithms of costa-epidemic-reliability bring lost events back, and at what cost."""
from __future__ import annotations

import math

from emulation.studies.epidemic.claims import CLAIMS
from emulation.studies.epidemic.figures import PANELS
from emulation.studies.epidemic.quantities import QUANTITIES
from emulation.studies.evaluation import Evaluation, Given, Look

TUNED = ("gossip_interval", "gossip_adaptive", "cache_bytes", "cache_eviction", "gossip_forward", "gossip_subscribers")


def plain(given: Given) -> Given:
    """Without recovery there is nothing to tune, so one run serves a sweep over it."""
    if given.get("recovery") != "none":
        return given
    return {name: value for name, value in given.items() if name not in TUNED}


def expense(given: Given) -> float:
    if "run.seed" in given:
        return 5.0 if given["node.recovery"] == "none" else 9.0
    if given["recovery"] == "none":
        return 0.3
    interval: float = given["gossip_interval"]
    subscribers: float = given["subscribers"]
    rate: float = given["rate"]
    return 1.0 + 2.0 * math.pow(0.05 / interval, 0.7) * subscribers + 0.01 * rate


LOOKS = {
    "none": Look("#6b7280", "x", "No recovery"), "push": Look("#1d4ed8", "o", "Push"),
    "push, adaptive": Look("#60a5fa", "v", "Push, adaptive interval"),
    "subscriber_pull": Look("#d97706", "s", "Subscriber pull"), "publisher_pull": Look("#b91c1c", "D", "Publisher pull"),
    "combined": Look("#047857", "^", "Combined pull"), "bound": Look("#111827", "", "Physical bound")}

EPIDEMIC = Evaluation(
    name="epidemic", title="Epidemic algorithms for reliable content-based publish-subscribe, evaluated",
    place="the evaluation of recovery", panels=PANELS, quantities=QUANTITIES, claims=CLAIMS, looks=LOOKS, expense=expense,
    plain=plain)
