"""Figures 12 to 29 as data: what is swept, which curves there are, and which quantity they show.

cugola-frey-murphy-picco-dynamic-topology, section V. Parameters are those of `roamcast reproduce overlay`, whose defaults
are Table I without events; here stands what a figure changes. Where the paper gives a range and no points, the
points are ours, and so is what is marked so.
"""
from __future__ import annotations

from typing import Any

from emulation.studies.evaluation import Panel, Series, Sweep

PROTOCOLS = ("strawman", "timed", "notified", "informed", "path")


def curves(*protocols: str, **overrides: object) -> tuple[Series, ...]:
    return tuple(Series(name, {"protocol": name, **overrides}) for name in protocols or PROTOCOLS)


def read(reading: str, *protocols: str, **overrides: object) -> tuple[Series, ...]:
    """Curves of these protocols under a reading that is not the evaluation's, named after it."""
    return tuple(Series(f"{name}, {reading}", {"protocol": name, **READINGS[reading], **overrides}) for name in protocols)


READINGS = {"literal": {"memory": "none"}, "told": {"memory": "told"}, "kept": {"memory": "none", "entries": "kept"},
            "timers": {"flush": "none"}, "timers, kept": {"flush": "none", "memory": "none", "entries": "kept"}}
HELD = ("timed", "notified", "informed")  # what depends on the memory of what was told
BESIDE = read("told", *HELD) + read("kept", *HELD)
RULES = ("uniform", "shared", "seeker")
TREES = ("balanced", "recursive", "labelled", "kruskal")
SCALE = ("dispatchers", (50, 100, 150, 200, 300, 400, 500))
PATTERNS = ("available", (25, 50, 75, 96, 125, 150, 200, 250, 300))
DENSITY = ("subscribers", (0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
RATES_COARSE = ("rate", (3, 30, 75, 150, 300, 400))
RATES = ("rate", (1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400))
T_U = ("unsubscription_timer", (0.0, 0.025, 0.05, 0.075, 0.09, 0.095, 0.105, 0.11, 0.125, 0.15, 0.175, 0.2, 0.225,
                                0.24, 0.26, 0.275, 0.3, 0.35, 0.4))
T_U_COARSE = ("unsubscription_timer", (0.0, 0.05, 0.09, 0.11, 0.15, 0.2, 0.3, 0.4))
T_U_TIMERS = ("unsubscription_timer", (0.05, 0.09, 0.11, 0.15, 0.2, 0.24, 0.26, 0.3, 0.4))
T_S = ("subscription_timer", (0.0, 0.01, 0.02, 0.03, 0.04, 0.045, 0.055, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4))
PUBLISH = ("publish", (0.1, 0.2, 0.4, 0.8, 1.0, 1.6, 3.2, 6.4, 12.8, 25.6, 50.0))  # the paper's last is 51.2
HALF_CORE = {"core": 0.5, "subscribers": 0.5, "publish": 50.0}
BURST = {"subscribers": 0.8, "publish": 1.0}
COST, GAIN = "normalized cost of a reconfiguration", "less than Strawman (%)"
INVOLVED, FEWER = "dispatchers involved (%)", "fewer than with Strawman (%)"
N, PI, SIGMA, RHO = "dispatchers N", "available patterns Π", "density of subscribers σ_s", "reconfigurations a second ρ"
TU, TS, EPSILON = "unsubscription timer T_u (s)", "subscription timer T_s (s)", "publications a second ε"


def pair(figure: int, about: str, sweep: Sweep, xlabel: str, series: tuple[Series, ...] = curves(), quantity: str = "cost",
         gain: str = "improvement", labels: tuple[str, str] = (COST, GAIN), **rest: Any) -> tuple[Panel, Panel]:
    """What it costs, and how much less that is than with strawman."""
    rivals = tuple(one for one in series if one.name != "strawman")
    return (Panel(figure, "a", about, quantity, labels[0], sweep, xlabel, series, **rest),
            Panel(figure, "b", f"{about}: improvement", gain, labels[1], sweep, xlabel, rivals, **rest))


def stressed(figure: int, about: str, sweep: Sweep, xlabel: str, *protocols: str, **rest: Any) -> tuple[Panel, Panel]:
    return pair(figure, about, sweep, xlabel, curves(*protocols), **rest)


def split(*protocols: str) -> tuple[Series, ...]:
    """Figure 13's bars: each message type, counted and weighed."""
    types = {"notified": ("SUB", "UNSUB", "FLUSH"), "informed": ("SUB", "UNSUB", "FLUSH", "INFORMED_ACTIVATE"),
             "path": ("SUB", "UNSUB", "FLUSH", "REC", "REC_ACK", "RESERVE", "RESERVED")}
    return tuple(Series(f"{name} {kind} {how}", {"protocol": name}, f"{how}:{kind}")
                 for name in protocols for kind in types[name] for how in ("messages", "normalized"))


def against_traffic(rate: float) -> tuple[Series, ...]:
    return (Series("events", {"protocol": "strawman", "rate": rate}, "good"),
            *(Series(name, {"protocol": name, "rate": rate}, "overhead") for name in ("strawman", "informed")))


def readings(name: str, sweep: Sweep, base: dict[str, object]) -> Panel:
    """Strawman's cost, and how much less all readings cost and involve than it; not drawn."""
    rivals = read("literal", *HELD) + BESIDE + curves("path")
    return Panel(13, f" {name}", f"Readings of the figures, {name}", "improvement", "", sweep, "",
                 (Series("strawman cost", {"protocol": "strawman"}, "cost"), Series("strawman involved", {"protocol": "strawman"}, "involved"),
                  *rivals, *(Series(f"{one.name} involved", one.overrides, "fewer involved") for one in rivals)),
                 base, drawn=False)


STRAWMAN_ONCE = ("strawman", "timed", "notified", "informed")
ALL_TRAFFIC = (Series("event", {"strategy": "event"}), *curves())

PANELS: tuple[Panel, ...] = (
    Panel(12, "", "Delivery over time, half of all dispatchers a stable core", "delivery", "delivered (%)",
          ("rate", (3, 30)), "time (s)", curves(), HALF_CORE, dots=(3.0, 7.0)),
    Panel(12, " settled", "Deliveries that were due and made once all has settled", "settled due", "", ("rate", (3, 30)), "",
          tuple(Series(f"{name} {what}", {"protocol": name}, f"settled {what}") for name in PROTOCOLS for what in ("due", "made")),
          HALF_CORE, drawn=False),
    Panel(13, "a", "Messages and normalized cost, by which link replaces a broken one", "messages", "per reconfiguration",
          ("replacement", RULES), "", split("notified", "informed", "path"), bars=True),
    Panel(13, "b", "Messages and normalized cost, by whose numbers are low", "messages", "per reconfiguration",
          ("numbering", ("root", "chance", "leaves")), "", split("path"), bars=True),
    readings("Table I", ("replacement", RULES), {}),
    readings("random trees", ("replacement", RULES), {"tree": "recursive"}),
    readings("all subscribed", ("replacement", RULES), {"subscribers": 1.0}),
    *pair(14, "Cost and system scale", SCALE, N, base={"available": 200}),
    Panel(14, "c", "Cost and system scale: improvement, other readings", "improvement", GAIN, SCALE, N, BESIDE, {"available": 200}),
    *pair(15, "Cost and system scale, random trees (recursive)", SCALE, N, base={"available": 200, "tree": "recursive"}),
    Panel(15, " trees", "How the tree is grown, N = 100", "improvement", GAIN, ("tree", TREES), "",
          (*curves(*HELD, "path"), *BESIDE, Series("strawman cost", {"protocol": "strawman"}, "cost")), {"available": 200}, drawn=False),
    *pair(16, "Cost and number of patterns", PATTERNS, PI),
    *pair(17, "Cost and density of subscribers", DENSITY, SIGMA),
    Panel(17, "c", "Cost and density of subscribers: improvement, other readings", "improvement", GAIN, DENSITY, SIGMA, BESIDE),
    *stressed(18, "Cost and rate of reconfigurations", RATES, RHO, *STRAWMAN_ONCE, log=True),
    *(Panel(18, letter, f"Cost and rate, a new link joins {what}", "cost", COST, RATES_COARSE, RHO,
            (*curves(*STRAWMAN_ONCE), *BESIDE), {"replacement": rule}, log=True)
      for letter, rule, what in (("c", "end_any", "an old end and any part"), ("d", "any_two", "any two parts"))),
    Panel(18, " own parts", "Other readings where the new link joins the lost one's own parts", "cost", COST, RATES_COARSE, RHO,
          (*curves("strawman"), *BESIDE), drawn=False),
    *stressed(19, "Cost and unsubscription timer at ρ = 30", T_U, TU, *STRAWMAN_ONCE, base={"rate": 30}, dots=(0.1, 0.25)),
    Panel(19, "c", "Cost and unsubscription timer, informed on its timers without FLUSH", "cost", COST, T_U_TIMERS, TU,
          (*read("timers", "informed", rate=30), *read("timers, kept", "informed", rate=30),
           *(one._replace(name=f"{one.name}, ρ = 3") for one in read("timers", "informed", rate=3) + read("timers, kept", "informed", rate=3))),
          dots=(0.1, 0.25)),
    *pair(20, "Cost and subscription timer", T_S, TS, dots=(0.05,)),
    Panel(20, "c", "Cost and subscription timer, informed on its timers without FLUSH", "cost", COST, T_S, TS,
          tuple(one._replace(name=f"{one.name}, ρ = 3") for one in read("timers", "informed") + read("timers, kept", "informed")),
          dots=(0.05,)),
    *pair(21, "Cost and publications", PUBLISH, EPSILON, log=True),
    Panel(22, "", "Misrouted events", "misrouted", "misrouted events of a reconfiguration", PUBLISH, EPSILON, curves(),
          log=True, ylog=True),
    Panel(23, "", "Misrouted events and the rest of the overhead, timed deferred unsubscription", "cost",
          "normalized cost of a reconfiguration", PUBLISH, EPSILON,
          (Series("misrouted events", {"protocol": "timed"}, "misrouted"),
           Series("subscriptions", {"protocol": "timed"}, "control")), log=True),
    Panel(24, "a", "Good event traffic and overhead, ρ = 3", "good", "messages a second", PUBLISH, EPSILON,
          against_traffic(3), log=True, ylog=True),
    Panel(24, "b", "Good event traffic and overhead, ρ = 30", "good", "messages a second", PUBLISH, EPSILON,
          against_traffic(30), log=True, ylog=True),
    Panel(24, " totals", "Good event traffic and overhead of whole runs, ρ = 3", "good in all", "", ("publish", (1.0,)), "",
          tuple(one._replace(quantity=f"{one.quantity} in all") for one in against_traffic(3))
          + tuple(one._replace(quantity="overhead in all") for how in ("told", "kept") for one in read(how, "informed", rate=3)),
          drawn=False),
    *pair(25, "Cost and unsubscription timer at ε = 50", T_U_COARSE, TU, base={"publish": 50.0}, dots=(0.1,)),
    Panel(26, "a", "Traffic with a burst of reconfigurations from 5 to 5.5 s", "traffic over time", "messages a second",
          ("rate", (30,)), "time (s)", (Series("event", {"strategy": "event"}), *curves("informed")),
          BURST | {"first": 5.0, "last": 5.5}, dots=(5.0, 5.5)),
    Panel(26, "b", "Traffic and rate of reconfigurations", "traffic", "messages a second",
          ("rate", (1, 3, 5, 10, 20, 30, 50)), RHO, ALL_TRAFFIC, BURST),
    *pair(27, "Dispatchers involved and system scale", SCALE, N, base={"available": 200}, quantity="involved",
          gain="fewer involved", labels=(INVOLVED, FEWER)),
    *pair(28, "Dispatchers involved and number of patterns", PATTERNS, PI, quantity="involved", gain="fewer involved",
          labels=(INVOLVED, FEWER)),
    *pair(29, "Dispatchers involved and density of subscribers", DENSITY, SIGMA, quantity="involved",
          gain="fewer involved", labels=(INVOLVED, FEWER)),
    # equation (2) is no figure; it is measured in runs of figures 21, 22 and 24
    Panel(2, "", "Density of receivers", "density", "", ("publish", (1.0,)), "", curves("strawman"), drawn=False),
)
