"""What the paper states of its figures 12 to 29, and how each statement is checked.

cugola-frey-murphy-picco-dynamic-topology, section V and the abstract.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from emulation.studies.dynamic_topology.figures import PROTOCOLS
from emulation.studies.evaluation import Claim
from emulation.studies.points import Point, Swept, Tables
from emulation.studies.verdicts import (
    Unmeasured,
    at,
    average,
    curve,
    holds,
    near,
    number,
    points,
    rising,
    told,
    worst,
)

DEFERRED, CONFINED = ("timed", "notified"), ("informed", "path")
TOLD, KEPT = "what was told is remembered, as our nodes do", "entries of a lost link stay in the table until they are processed"
RIVALS = DEFERRED + CONFINED


def equation(tables: Tables) -> tuple[str, str]:
    formula = 0.2 * (1 - ((96 - 7) / 96) ** 9)
    found = at(tables, "2", "strawman", 1.0)
    return (f"the formula gives {formula:.4f}; the events of the runs with Table I reached {told(found, 4)} of the "
            "dispatchers before the first reconfiguration", worst(holds(round(formula, 4) == 0.0988), near(0.0988, found)))


def settles(names: Sequence[str]) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        found = {f"{name} {rate}": (_whole(tables, f"{name} due", rate), _whole(tables, f"{name} made", rate))
                 for name in names for rate in (3, 30)}
        late = [f"{name.replace(' ', ' at ρ = ')}: {made:,} of {due:,}" for name, (due, made) in found.items() if made != due]
        return (f"of the events published from the last replacement on, all {sum(due for due, _ in found.values()):,} "
                f"deliveries were made" + (f" but for {'; '.join(late)}" if late else ""), holds(not late))
    return check


def _whole(tables: Tables, series: str, rate: int) -> int:
    point = at(tables, "12 settled", series, rate)
    return round(point.mean * point.runs)


def steady(tables: Tables) -> tuple[str, str]:
    low, high = ([point.mean for name in PROTOCOLS for x, point in tables.curve("12", f"{name} {rate}") if 3 <= number(x) < 7]
                 for rate in (3, 30))
    if not low or not high:
        raise Unmeasured("no runs in figure 12")
    slow, fast = sum(low) / len(low), sum(high) / len(high)
    return f"{slow:.1f} % at ρ = 3, {fast:.1f} % at ρ = 30, from 3 to 7 s", holds(slow > 90 and fast < slow - 5)


def rec(panel: str, x: str, kind: str = "REC") -> Callable[[Tables], tuple[str, str]]:
    """Counted by `kind`. Each REC of the head path and over the new link carries patterns and is acknowledged; those of the
    tail carry none, so REC_ACK counts those that weigh something."""
    def check(tables: Tables) -> tuple[str, str]:
        messages, cost = at(tables, panel, f"path {kind} messages", x), at(tables, panel, "path REC normalized", x)
        return (f"{told(messages, 2)} REC, {told(cost)} normalized: {cost.mean / messages.mean:.1f} patterns each",
                worst(near(3.44, messages), near(90.9, cost)))
    return check


def ordered(panel: str, x: Swept, names: Sequence[str], digits: int = 1) -> Callable[[Tables], tuple[str, str]]:
    """The first of the names has least."""
    def check(tables: Tables) -> tuple[str, str]:
        found = [at(tables, panel, name, x) for name in names]
        text = ", ".join(f"{name} {told(point, digits)}" for name, point in zip(names, found))
        return text, rising(found)
    return check


Curves = Sequence[tuple[str, str]]  # (panel, series)


def over(panels: dict[str, Sequence[str]]) -> list[tuple[str, str]]:
    return [(panel, name) for panel, names in panels.items() for name in names]


def best_of_scale(curves: Curves) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        best, name = max((point.mean, name) for panel, name in curves for _, point in curve(tables, panel, name))
        return f"the largest improvement of all is {best:.1f} %, of {name}", points(best, 75)
    return check


def gap_of_deferred(confined: Curves, deferred: Curves) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        ahead, behind = (sum(average(tables, panel, [name]) for panel, name in curves) / len(curves) for curves in (confined, deferred))
        return (f"over all N, {' and '.join(name for _, name in confined)} {ahead:.1f} %, the deferred {behind:.1f} %: a gap of "
                f"{ahead - behind:.1f} points", points(ahead - behind, 20))
    return check


def alike(tables: Tables) -> tuple[str, str]:
    off = [abs(average(tables, "14b", [a]) - average(tables, "14b", [b])) for a, b in (DEFERRED, CONFINED)]
    return (f"timed and notified are {off[0]:.1f} points apart, informed and path {off[1]:.1f}",
            worst(points(off[0], 0), points(off[1], 0)))


def random_trees(names: Sequence[str], stated: float) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        before, after = average(tables, "14b", names), average(tables, "15b", names)
        return f"{before:.1f} % on balanced, {after:.1f} % on random trees: {after - before:+.1f} points", points(
            after - before, stated)
    return check


def grown(tree: str, names: Sequence[str], stated: float) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        before, after = (sum(at(tables, "15 trees", name, kind).mean for name in names) / len(names) for kind in ("balanced", tree))
        return f"N = 100: {before:.1f} % on balanced, {after:.1f} % on {tree} trees: {after - before:+.1f} points", points(
            after - before, stated)
    return check


def costlier(tables: Tables) -> tuple[str, str]:
    ratios = {name: average(tables, "15a", [name]) / average(tables, "14a", [name]) for name in PROTOCOLS}
    return ", ".join(f"{name} {ratio:.2f} times" for name, ratio in ratios.items()), holds(min(ratios.values()) > 1)


def grows_with_patterns(tables: Tables) -> tuple[str, str]:
    ends = {name: [curve(tables, "16b", name)[i][1].mean for i in (0, -1)] for name in RIVALS}
    return (", ".join(f"{name} from {first:.0f} to {last:.0f} %" for name, (first, last) in ends.items()),
            holds(all(last > first for first, last in ends.values())))


def everyone(name: str, stated: float, panel: str = "17b") -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        found = at(tables, panel, name, 1.0)
        return f"{name} {told(found)} %", near(stated, found, percent=True)
    return check


def overtakes(tables: Tables) -> tuple[str, str]:
    pairs = [(x, at(tables, "18a", "timed", x).mean, at(tables, "18a", "notified", x).mean)
             for x, _ in curve(tables, "18a", "timed")]
    x, timed, notified = max(pairs, key=lambda pair: pair[2] / pair[1])
    return (f"at ρ = {pairs[0][0]} timed {pairs[0][1]:.0f}, notified {pairs[0][2]:.0f}; the difference is largest at "
            f"ρ = {x}: timed {timed:.0f}, notified {notified:.0f}", holds(notified > 1.02 * timed))


def always_beat(panel: str, names: Sequence[str]) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        gains = {x: min((tables.at(panel, name, x).mean, name) for name in names) for x, _ in curve(tables, panel, names[0])}
        least, where = min((gain, x) for x, gain in gains.items())
        ahead = [x for x in gains if all(gains[y][0] > 0 for y in gains if y <= x)]
        return (f"the least improvement is {least[0]:.1f} %, of {least[1]} at {where}; all beat it up to "
                f"{max(ahead, default=0)}", holds(least[0] > 0))
    return check


def never_above(panel: str, names: Sequence[str]) -> Callable[[Tables], tuple[str, str]]:
    """As always_beat, from costs."""
    def check(tables: Tables) -> tuple[str, str]:
        gains = {x: min((100 - 100 * at(tables, panel, name, x).mean / point.mean, name) for name in names)
                 for x, point in curve(tables, panel, "strawman")}
        least, where = min((gain, x) for x, gain in gains.items())
        last = max(gains)
        ends = ", ".join(f"{name} {at(tables, panel, name, last).mean:.0f}" for name in ("strawman", *names))
        return (f"the least improvement is {least[0]:.1f} %, of {least[1]} at {where}; at {last}: {ends}", holds(least[0] > 0))
    return check


def rises_and_falls(tables: Tables) -> tuple[str, str]:
    texts, true = [], True
    for name in ("strawman", *DEFERRED, "informed"):
        points = curve(tables, "18a", name)
        top = max(points, key=lambda pair: pair[1].mean)
        true &= top[0] not in (points[0][0], points[-1][0])
        texts.append(f"{name} {points[0][1].mean:.0f}, {top[1].mean:.0f} at {top[0]}, {points[-1][1].mean:.0f}")
    return "first, highest, last: " + "; ".join(texts), holds(true)


def steps_up(names: Sequence[str], below: float, above: float) -> Callable[[Tables], tuple[str, str]]:
    return step("19c", names, below, above, up=True)


def step(panel: str, names: Sequence[str], below: float, above: float, up: bool) -> Callable[[Tables], tuple[str, str]]:
    """A step of at least a tenth between two values of x."""
    def check(tables: Tables) -> tuple[str, str]:
        texts, true = [], True
        for name in names:
            before, after = at(tables, panel, name, below).mean, at(tables, panel, name, above).mean
            true &= after > 1.1 * before if up else after < before / 1.1
            texts.append(f"{name} {before:.0f} to {after:.0f}")
        return f"from x = {below:g} to {above:g}: " + ", ".join(texts), holds(true)
    return check


def like_deferred(tables: Tables) -> tuple[str, str]:
    informed, timed, best = (at(tables, "20a", name, x).mean for name, x in (("informed", 0.0), ("timed", 0.0), ("informed", 0.4)))
    return (f"informed {informed:.0f} at T_s = 0 and {best:.0f} at 0.4, timed {timed:.0f}",
            holds(informed > 0.8 * timed and best < informed / 1.1))


def negligible(tables: Tables) -> tuple[str, str]:
    shares = {name: 100 * at(tables, "22", name, 1.0).mean / at(tables, "21a", name, 1.0).mean for name in PROTOCOLS}
    return ("share of the overhead: " + ", ".join(f"{name} {share:.1f} %" for name, share in shares.items()),
            holds(max(shares.values()) < 5))


def ratio(name: str, stated: float, panel: str = "24a", what: str = "messages a second") -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        events, overhead = at(tables, panel, "events", 1.0), at(tables, panel, name, 1.0)
        found = events.mean / overhead.mean
        return (f"{overhead.mean:.0f} to {events.mean:.0f} {what}: 1:{found:.1f}",
                near(stated, Point(found, math.nan, math.nan, 0)))
    return check


def in_all(name: str, stated: float) -> Callable[[Tables], tuple[str, str]]:
    return ratio(name, stated, "24 totals", "messages in the run")


def burst_levels(tables: Tables) -> dict[tuple[str, bool], float]:
    found = {}
    for name in ("event", "informed"):
        points = curve(tables, "26a", name)
        for inside in (False, True):
            values = [point.mean for x, point in points if (5 <= x < 5.6) == inside]
            found[name, inside] = sum(values) / len(values)
    return found


def twice(tables: Tables) -> tuple[str, str]:
    found = burst_levels(tables)
    event, informed = found["event", False], found["informed", False]
    return (f"event forwarding {event:.0f}, informed {informed:.0f} messages a second: {event / informed:.2f} times",
            near(2.0, Point(event / informed, math.nan, math.nan, 0)))


def less_inside(tables: Tables) -> tuple[str, str]:
    found = burst_levels(tables)
    event, informed = found["event", True], found["informed", True]
    return f"event forwarding {event:.0f}, informed {informed:.0f} messages a second from 5 to 5.6 s", holds(event < informed)


def always_preferable(tables: Tables) -> tuple[str, str]:
    rates = [x for x, _ in curve(tables, "26b", "event")]
    most = [x for x in rates if at(tables, "26b", "informed", x).mean < at(tables, "26b", "event", x).mean]
    return f"informed sends less than event forwarding at ρ = {', '.join(map(str, most)) or 'none'} of {rates}", holds(
        all(x in most for x in rates if x <= 5))


def half_involved(tables: Tables) -> tuple[str, str]:
    gains = {name: average(tables, "27b", [name]) for name in RIVALS}
    return (", ".join(f"{name} {gain:.1f} % fewer" for name, gain in gains.items()), holds(min(gains.values()) > 50))


def ninety(tables: Tables) -> tuple[str, str]:
    gain = average(tables, "27b", CONFINED)
    return f"informed and path {gain:.1f} % fewer, over all N", points(gain, 90)


def flat(panel: str) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        spans = {}
        for name in ("strawman", *CONFINED):
            values = [point.mean for _, point in curve(tables, panel, name)]
            spans[name] = max(values) - min(values)
        return ("from lowest to highest: " + ", ".join(f"{name} {span:.1f} points" for name, span in spans.items()),
                holds(all(spans[name] < spans["strawman"] / 3 for name in CONFINED)))
    return check


def up_to(names: Sequence[str], stated: float, panels: Sequence[str] = ("14b", "15b", "16b", "17b")) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        best = max((point.mean, name, panel, x) for panel in panels for name in names
                   for x, point in curve(tables, panel, name))
        return f"at most {best[0]:.1f} %, of {best[1]} in figure {best[2]} at {best[3]}", points(best[0], stated)
    return check


def grows_with_timer(tables: Tables) -> tuple[str, str]:
    grown = {}
    for name in (*DEFERRED, "informed"):
        grown[name] = at(tables, "25a", name, 0.4).mean - at(tables, "25a", name, 0.11).mean
    return ("from T_u = 0.11 to 0.4: " + ", ".join(f"{name} {more:+.0f}" for name, more in grown.items()),
            holds(grown["timed"] > max(grown["notified"], grown["informed"]) and grown["timed"] > 0))


CLAIMS: tuple[Claim, ...] = (
    ("equation", "equation (2): with Table I the density of receivers is 0.0988", equation),
    ("12", "delivery returns to exactly 100 % after the topology settles at t = 7 s (timed)", settles(("timed",))),
    ("12", "the other protocols show no significant difference", settles(("strawman", "notified", "informed", "path"))),
    ("12", "delivery is only marginally affected at the low rate, negatively at the high one", steady),
    ("13", "REC: 3.44 messages absolute, 90.9 normalized (read: those that carry patterns; any link that reconnects may replace)",
     rec("13a", "uniform", "REC_ACK")),
    ("13", "... (read: any that shares an old end)", rec("13a", "shared", "REC_ACK")),
    ("13", "... (read: an old end, by chance, seeks a new neighbor)", rec("13a", "seeker", "REC_ACK")),
    ("13", "... (and leaves have the low numbers, so that mostly they begin)", rec("13b", "leaves", "REC_ACK")),
    ("13", "... (read: all REC, also the empty ones of the tail; any link that reconnects)", rec("13a", "uniform")),
    ("13", "... (all REC; an old end seeks)", rec("13a", "seeker")),
    ("14", "up to 75 % less overhead than strawman", best_of_scale(over({"14b": RIVALS}))),
    ("14", f"... (read: of informed the {KEPT})", best_of_scale([("14c", "informed, kept")])),
    ("14", f"... (ours: {TOLD})", best_of_scale(over({"14b": ("path",), "14c": ("timed, told", "notified, told", "informed, told")}))),
    ("14", "the deferred ones are about 20 points behind", gap_of_deferred(over({"14b": CONFINED}), over({"14b": DEFERRED}))),
    ("14", f"... (read: of informed the {KEPT})", gap_of_deferred([("14c", "informed, kept")], over({"14b": DEFERRED}))),
    ("14", f"... (ours: {TOLD})",
     gap_of_deferred([("14c", "informed, told"), ("14b", "path")], over({"14c": ("timed, told", "notified, told")}))),
    ("14", "the two deferred are virtually indistinguishable, and so are informed and path", alike),
    ("15", "with random trees the overhead is higher for all protocols", costlier),
    ("15", "with random trees informed and path gain about 10 points", random_trees(CONFINED, 10)),
    ("15", "with random trees the deferred lose about as many", random_trees(DEFERRED, -10)),
    *((figure, f"... ({which}{read}, trees: {tree})", grown(tree, names, stated))
      for tree in ("labelled", "kruskal")
      for figure, which, read, names, stated in (
          ("15", "informed and path, +10", "", CONFINED, 10), ("15", "informed, +10", "; entries kept", ("informed, kept",), 10),
          ("15", "the deferred, -10", "", DEFERRED, -10))),
    ("16", "the improvement of all protocols grows with the number of patterns", grows_with_patterns),
    ("17", "with every dispatcher subscribed, timed still saves 20 %", everyone("timed", 20)),
    ("17", "... notified 20 %", everyone("notified", 20)),
    ("17", "... informed 40 %", everyone("informed", 40)),
    ("17", f"... informed 40 % (read: {KEPT})", everyone("informed, kept", 40, "17c")),
    *(("17", f"... {name} {stated} % (ours: {TOLD})", everyone(f"{name}, told", stated, "17c"))
      for name, stated in (("timed", 20), ("notified", 20), ("informed", 40))),
    ("18", "the cost rises with the rate, and falls again beyond a point", rises_and_falls),
    ("18", "notified becomes worse than timed as the rate rises", overtakes),
    ("18", "all beat strawman at all rates", always_beat("18b", (*DEFERRED, "informed"))),
    *(("18", f"... (read: a new link joins {rule}{more})", never_above(panel, names))
      for panel, rule in (("18c", "an old end and any part"), ("18d", "any two parts"))
      for more, names in (("", (*DEFERRED, "informed")), (f"; {KEPT}", ("timed, kept", "notified, kept", "informed, kept")),
                          (f"; ours: {TOLD}", ("timed, told", "notified, told", "informed, told")))),
    ("18", f"... (ours: {TOLD})", never_above("18 own parts", ("timed, told", "notified, told", "informed, told"))),
    ("19", "a marked step down at T_u = t_rep", step("19a", (*DEFERRED, "informed"), 0.09, 0.11, up=False)),
    ("19", "a second one, up, for informed at T_u = T_s + t_rep", step("19a", ("informed",), 0.24, 0.26, up=True)),
    ("19", "... (read: informed on its timers, without FLUSH)", steps_up(("informed, timers", "informed, timers, ρ = 3"), 0.24, 0.26)),
    ("19", f"... (the same, and {KEPT})", steps_up(("informed, timers, kept", "informed, timers, kept, ρ = 3"), 0.24, 0.26)),
    ("20", "too small a T_s makes informed like the deferred ones", like_deferred),
    ("20", "what is too small is less than T_u - t_rep", step("20a", ("informed",), 0.04, 0.06, up=False)),
    ("20", "... (read: informed on its timers, without FLUSH; entries taken at once or kept)",
     step("20c", ("informed, timers, ρ = 3", "informed, timers, kept, ρ = 3"), 0.04, 0.06, up=False)),
    ("21", "at 50 pub/s: path, informed, notified, timed, from best to worst",
     ordered("21a", 50.0, ("path", "informed", "notified", "timed"))),
    ("22", "misrouted events are negligible at 1 pub/s", negligible),
    ("22", "misrouted events at 50 pub/s: strawman, path, informed, notified, timed, from least to most",
     ordered("22", 50.0, ("strawman", "path", "informed", "notified", "timed"))),
    ("24", "overhead to good traffic at 1 pub/s: 1:2 for strawman (read: totals of the whole run)", in_all("strawman", 2)),
    ("24", "... 1:10 for informed", in_all("informed", 10)),
    ("24", f"... 1:10 for informed (read: {KEPT})", in_all("informed, kept", 10)),
    ("24", f"... 1:10 for informed (ours: {TOLD})", in_all("informed, told", 10)),
    ("24", "... 1:2 for strawman (read: rates while links are replaced, from 3 to 7 s)", ratio("strawman", 2)),
    ("24", "... 1:10 for informed (likewise)", ratio("informed", 10)),
    ("25", "at 50 pub/s a step down at T_u = t_rep too", step("25a", DEFERRED, 0.09, 0.11, up=False)),
    ("25", "then the cost grows with T_u, for timed more than for notified and informed", grows_with_timer),
    ("26", "event forwarding has about twice the traffic outside the burst", twice),
    ("26", "... and less inside it", less_inside),
    ("26", "at reasonable rates subscription forwarding is always preferable", always_preferable),
    ("27", "less than half of strawman's dispatchers are involved", half_involved),
    ("27", "informed and path involve 90 % fewer", ninety),
    ("28", "informed and path are largely independent of the number of patterns", flat("28a")),
    ("29", "informed and path are largely independent of the density of subscribers", flat("29a")),
    ("abstract", "up to 50 % less for the deferred", up_to(DEFERRED, 50)),
    ("abstract", f"... (ours: {TOLD})", up_to(("timed, told", "notified, told"), 50, ("14c", "17c"))),
    ("abstract", "up to 80 % less for the others", up_to(CONFINED, 80)),
)
