"""What is stated of the epidemic algorithms, and how each statement is checked.

costa-epidemic-reliability, section 5, and cugola-murphy-picco-mobile-environment, section 5.3, which reports the outcome
of the companion's evaluation in words: "neither of the pull solutions alone guarantees a satisfactory performance",
their combination "performs similarly to push albeit with lower overhead in the case of infrequent reconfiguration". What is
meant by the words is ours: `alike` is within 5 points of delivery, `less` is more than 5 points less, and
*closed* is the share of the gap between delivery without recovery and 100 % (over radio: the physical bound).
"""
from __future__ import annotations

from collections.abc import Callable

from emulation.studies.epidemic.figures import (
    ALGORITHMS,
    BASE,
    BUFFER,
    GOSSIP,
    PATTERNS,
    PULLS,
    RATE,
    SUBSCRIBERS,
)
from emulation.studies.evaluation import Claim
from emulation.studies.points import Swept, Tables
from emulation.studies.verdicts import at, curve, holds, near, told, worst

ALIKE = 5.0  # points


def closed(tables: Tables, panel: str, name: str, x: Swept) -> float:
    """Share (%) of the gap to what could be had that an algorithm closes."""
    before, after = (at(tables, panel, series, x).mean for series in ("none", name))
    bound = at(tables, panel, "bound", x).mean if panel.startswith(("radio", "once")) else 100.0
    return 100 * (after - before) / (bound - before) if bound > before else 0.0


def told_all(tables: Tables, panel: str, x: Swept, names: tuple[str, ...] = ALGORITHMS) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {told(at(tables, panel, name, x))}" for name in names)


def lossy(tables: Tables) -> tuple[str, str]:
    texts, verdicts = [], []
    for x, point in curve(tables, "loss-delivery", "none"):
        said = at(tables, "loss-said", "none", x).mean
        texts.append(f"at {x:g} {told(point)} (computed {said:.1f})")
        verdicts.append(near(said, point, percent=True))
    return "delivered " + ", ".join(texts), worst(*verdicts)


def improves(tables: Tables) -> tuple[str, str]:
    loss = BASE["loss"]
    shares = {name: closed(tables, "loss-delivery", name, loss) for name in ALGORITHMS[1:]}
    return (f"delivered at {loss}: {told_all(tables, 'loss-delivery', loss)}; of what is missing without recovery they bring back "
            + ", ".join(f"{name.replace('_', ' ')} {share:.0f} %" for name, share in shares.items()),
            holds(max(shares.values()) > 50))


def limited(tables: Tables) -> tuple[str, str]:
    loss = BASE["loss"]
    found = {name: at(tables, "loss-bits", name, loss).mean for name in ALGORITHMS[1:]}
    return (f"bits beside the events at {loss}, % of theirs: {told_all(tables, 'loss-bits', loss, ALGORITHMS[1:])}; in kbit per "
            f"gossip round and dispatcher: {told_all(tables, 'loss-round', loss, ALGORITHMS[1:])}",
            holds(min(found.values()) < 100))


def neither_alone(tables: Tables) -> tuple[str, str]:
    """Each of the pulls is behind push, behind their combination, by more than `ALIKE`, where much is lost."""
    loss = BASE["loss"]
    push, both = (at(tables, "loss-delivery", name, loss).mean for name in ("push", "combined"))
    alone = [at(tables, "loss-delivery", name, loss).mean for name in PULLS]
    return (f"delivered at {loss}: {told_all(tables, 'loss-delivery', loss, (*PULLS, 'combined', 'push'))}",
            holds(max(alone) < min(push, both) - ALIKE))


def best_of_pulls(tables: Tables) -> tuple[str, str]:
    gains = [(at(tables, "loss-delivery", "combined", x).mean
              - max(at(tables, "loss-delivery", name, x).mean for name in PULLS), x)
             for x, _ in curve(tables, "loss-delivery", "combined")]
    return "combined is ahead of the better pull by " + ", ".join(f"{gain:.1f} points at {x:g}" for gain, x in gains), holds(
        all(gain > 0 for gain, _ in gains))


def like_push(panel: str, upto: float) -> Callable[[Tables], tuple[str, str]]:
    def check(tables: Tables) -> tuple[str, str]:
        off = [(at(tables, panel, "combined", x).mean - at(tables, panel, "push", x).mean, x)
               for x, _ in curve(tables, panel, "push") if x <= upto]
        return ("combined less push: " + ", ".join(f"{gap:+.1f} points at {x:g}" for gap, x in off),
                holds(all(abs(gap) <= ALIKE for gap, _ in off)))
    return check


RAREST, OFTENEST = RATE[1][0], RATE[1][-1]


def cheaper_when_rare(tables: Tables) -> tuple[str, str]:
    found = {x: [at(tables, "interval-bits", name, x).mean for name in ("combined", "push")] for x in RATE[1]}
    return ("combined to push, by reconfigurations a second: "
            + ", ".join(f"{both:.0f} to {push:.0f} % at {x:g}" for x, (both, push) in found.items()),
            holds(found[RAREST][0] < found[RAREST][1]))


def reactive(tables: Tables) -> tuple[str, str]:
    ends = {name: [at(tables, "interval-bits", name, x).mean for x in (RAREST, OFTENEST)] for name in ("push", "combined")}
    rises = {name: last - first for name, (first, last) in ends.items()}
    return ("overhead from the rarest to the most frequent: "
            + ", ".join(f"{name} {first:.0f} to {last:.0f} %" for name, (first, last) in ends.items()),
            holds(rises["combined"] > max(rises["push"], 0)))


def adaptive(tables: Tables) -> tuple[str, str]:
    spent = [at(tables, "interval-bits", name, RAREST) for name in ("push", "push, adaptive")]
    brought = {x: [closed(tables, "interval-delivery", name, x) for name in ("push", "push, adaptive")] for x in (RAREST, RATE[1][-2])}
    return (f"at {RAREST:g} reconfigurations a second {told(spent[0])} % fixed, {told(spent[1])} % adaptive; of the missing they bring "
            "back " + ", ".join(f"{fixed:.0f} and {fitted:.0f} % at {x:g}" for x, (fixed, fitted) in brought.items()),
            holds(spent[1].mean < 0.5 * spent[0].mean))


def suffers(panel: str, name: str, other: str, mild: float, hard: float) -> Callable[[Tables], tuple[str, str]]:
    """From a mild to a hard setting the first closes more than `ALIKE` points less, and loses more than the other."""
    def check(tables: Tables) -> tuple[str, str]:
        shares = {one: [closed(tables, panel, one, x) for x in (mild, hard)] for one in (name, other)}
        falls = {one: first - last for one, (first, last) in shares.items()}
        return (f"share of the missing that comes back, at {mild:g} and {hard:g}: " + ", ".join(
            f"{one.replace('_', ' ')} {first:.0f} and {last:.0f} %" for one, (first, last) in shares.items()),
            holds(falls[name] > ALIKE and falls[name] > falls[other]))
    return check


def trades(tables: Tables) -> tuple[str, str]:
    """More buffer delivers more, and so does more gossip, which costs."""
    small, large = (at(tables, "buffer-delivery", "push", x).mean for x in (BUFFER[1][0], BUFFER[1][-1]))
    often, seldom = (at(tables, "gossip-delivery", "push", x).mean for x in (GOSSIP[1][0], GOSSIP[1][-1]))
    dear, cheap = (at(tables, "gossip-bits", "push", x).mean for x in (GOSSIP[1][0], GOSSIP[1][-1]))
    return (f"push: from the smallest buffer to the largest {small:.1f} to {large:.1f} %; from the longest interval to the shortest "
            f"{seldom:.1f} to {often:.1f} % for {cheap:.0f} to {dear:.0f} % overhead",
            holds(large > small + ALIKE and often > seldom + ALIKE and dear > cheap))


def gap(figure: str) -> Callable[[Tables], tuple[str, str]]:
    """The share of the gap to the physical bound that each algorithm closes, and its bytes."""
    def check(tables: Tables) -> tuple[str, str]:
        panel, texts, best = f"{figure}-delivery", [], []
        for x, none in curve(tables, panel, "none"):
            bound, sent = at(tables, panel, "bound", x), at(tables, f"{figure}-bytes", "none", x).mean
            parts = []
            for name in ALGORITHMS[1:]:
                more = at(tables, f"{figure}-bytes", name, x).mean - sent
                share = closed(tables, panel, name, x)
                parts.append(f"{name.replace('_', ' ')} {share:.0f} % for {more:+.0f} B")
                best.append(share)
            texts.append(f"at {x:g} ({told(none)} of {bound.mean:.1f}, {sent:.0f} B per host and s): {', '.join(parts)}")
        return "; ".join(texts), holds(max(best) > 10)
    return check


CLAIMS: tuple[Claim, ...] = (
    ("loss", "without recovery, links of error rate e deliver (1 - e) ^ distance", lossy),
    ("loss", "epidemic algorithms improve event delivery significantly (half of what is missing comes back)", improves),
    ("loss", "... and introduce only limited overhead (less than the events themselves, for one of them)", limited),
    ("loss", "neither of the pull solutions alone is satisfactory (5 points behind push and behind both together)", neither_alone),
    ("loss", "subscriber and publisher pull are complementary: together they recover more than either", best_of_pulls),
    ("loss", "the combination performs similarly to push (within 5 points, up to an error rate of 0.2)",
     like_push("loss-delivery", 0.2)),
    ("interval", "the combination performs similarly to push when links break", like_push("interval-delivery", 40.0)),
    ("interval", "... with lower overhead when reconfigurations are rare", cheaper_when_rare),
    ("interval", "pull is reactive: its overhead grows with the losses, that of push hardly", reactive),
    ("interval", "an adaptive gossip interval saves push what it wastes while all is calm (half of it)", adaptive),
    ("buffer", "buffer size and gossip interval trade delivery for overhead", trades),
    ("patterns", "push suffers from many patterns (more than publisher pull)",
     suffers("patterns-delivery", "push", "publisher_pull", PATTERNS[1][0], PATTERNS[1][-1])),
    ("subscribers", "pull suffers from few subscribers (subscriber pull more than push)",
     suffers("subscribers-delivery", "subscriber_pull", "push", SUBSCRIBERS[1][-1], SUBSCRIBERS[1][0])),
    ("radio", "on the MAODV tree, where links retransmit, gossip still closes a part of the gap to the bound", gap("radio")),
    ("once", "... and where they do not", gap("once")),
)
