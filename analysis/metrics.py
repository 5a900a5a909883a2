"""Every metric, in one table: its name, its unit, what it says, which way is better, and how it is computed.

`roamcast analyse`, `compare` and `run --measure`, the report, the files of `--out` and the table of
docs/analysis.md (`python -m analysis.metrics` writes it) all read it. To add a metric, add a row here (docs/extending.md).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from analysis.facts import (
    Beside,
    Breaches,
    Cost,
    Delivered,
    Families,
    Lost,
    Recovery,
    Repairs,
    Roaming,
    Sent,
    Shape,
    Signals,
    Tree,
    Waits,
    percentile,
    share,
)
from analysis.losses import REASONS
from mobility import outside
from node.schema import messages

F = TypeVar("F")
Better = Literal["higher", "lower", ""]  # "": neither
# when the printed table has the line: `known`, if not nan; `some`, if above 0
Shown = Literal["always", "known", "some", "never"]
HIGHER: Better = "higher"
LOWER: Better = "lower"
NEITHER: Better = ""


class Form(NamedTuple):
    """How a number is written: times `factor`, with `unit` and so many `digits`; `of_mean`: of a mean."""

    factor: float
    unit: str
    digits: int
    of_mean: int


FORMS = {
    "count": Form(1, "", 0, 1), "number": Form(1, "", 2, 2), "share": Form(100, " %", 1, 1),
    "bytes": Form(1, " B", 0, 0), "rate": Form(1, " B/s", 0, 0), "power": Form(1, " dBm", 0, 1),
    "seconds": Form(1, " s", 2, 2),  # but summary.seconds chooses between s and ms
}


class Computed(NamedTuple):
    """How: from which group of facts."""

    facts: type
    by: Callable[[Any], float]


def of(facts: type[F], by: Callable[[F], float]) -> Computed:
    return Computed(facts, by)


@dataclass(frozen=True)
class Metric:
    key: str
    section: str
    label: str
    form: str  # a key of FORMS
    better: Better
    computed: Computed
    says: str  # a clause; the docs have it, and the printed table unless the label is `plain`
    shown: Shown = "always"
    compared: bool = False  # whether `roamcast compare` has it
    by_seed: bool = False  # whether the table of several runs has it for each
    plain: bool = False

    @property
    def name(self) -> str:
        """What to call it where its section does not stand beside it."""
        if self.section == "Latency" and self.form == "seconds":
            return f"{self.label} latency"
        return f"lost, {self.label}" if self.section == "Lost" else self.label.rstrip(".")


FAMILIES = (*dict.fromkeys(message.family for message in messages().values()), "other")


def _lost(reason: str, says: str) -> Metric:
    return Metric(f"lost_{reason}", "Lost", reason.replace("_", " "), "count", LOWER,
                  of(Lost, lambda f: f.reasons.get(reason, 0)), says, shown="some", compared=True, plain=True)


def _of_family(family: str, what: str, form: str, by: Callable[[Sent], float]) -> Metric:
    return Metric(f"{what}_{family}", "Overhead", f"{what}, {family}", form, LOWER,
                  of(Families, lambda f: by(f.sent[family])), f"per delivery, {what} of the family {family}",
                  shown="never", compared=True)


def _messages_per_delivery(sent: Sent) -> float:
    return share(sent.messages, sent.deliveries)


def _bytes_per_delivery(sent: Sent) -> float:
    return share(sent.bytes, sent.deliveries)


def _level(signals: Signals, place: int) -> float:
    return float(np.percentile(signals.levels, place))


METRICS: list[Metric] = [
    Metric("expected", "Delivery", "expected", "count", NEITHER, of(Delivered, lambda f: f.expected),
           "event-subscriber pairs, hosts up throughout", compared=True),
    Metric("delivered", "Delivery", "delivered in time", "count", HIGHER,
           of(Delivered, lambda f: f.delivered), "expected pairs whose client had the event by the deadline",
           plain=True),
    Metric("ratio", "Delivery", "delivery ratio", "share", HIGHER,
           of(Delivered, lambda f: share(f.delivered, f.expected)),
           "delivered in time, of the expected pairs", compared=True, by_seed=True, plain=True),
    Metric("bound", "Delivery", "physical bound", "share", NEITHER,
           of(Delivered, lambda f: share(f.reachable, f.expected)), "a path over space and time existed",
           compared=True, by_seed=True),
    Metric("ratio_to_bound", "Delivery", "ratio to the bound", "share", HIGHER,
           of(Delivered, lambda f: share(f.delivered, f.reachable)),
           "delivered in time, divided by the pairs that the bound allows", compared=True, by_seed=True,
           plain=True),
    Metric("beyond_bound", "Delivery", "beyond the bound", "count", LOWER, of(Delivered, lambda f: f.beyond),
           "deliveries that no recorded radio link explains", shown="some"),
    Metric("recovered_in_time", "Delivery", "recovered or replayed", "count", NEITHER, of(Delivered, lambda f: f.recovered),
           "of those delivered in time", shown="some"),
    Metric("local_ratio", "Delivery", "local, delivered", "share", HIGHER,
           of(Beside, lambda f: share(f.local_delivered, f.local_expected)),
           "clients at the publisher's own host, not counted above"),
    Metric("node_down", "Delivery", "not counted: host down", "count", NEITHER,
           of(Beside, lambda f: f.node_down), "pairs whose subscriber's host was down"),
    Metric("unrecorded", "Delivery", "not counted: no record", "count", NEITHER,
           of(Beside, lambda f: f.unrecorded), "publications known only by their numbers", shown="some"),

    Metric("latency_median", "Latency", "median", "seconds", LOWER,
           of(Delivered, lambda f: percentile(f.latency, 50)),
           "from publication to delivery, of what was delivered in time", compared=True, by_seed=True,
           plain=True),
    Metric("latency_p95", "Latency", "95th percentile", "seconds", LOWER,
           of(Delivered, lambda f: percentile(f.latency, 95)), "of the same", compared=True, plain=True),
    Metric("latency_p99", "Latency", "99th percentile", "seconds", LOWER,
           of(Delivered, lambda f: percentile(f.latency, 99)), "of the same", compared=True, plain=True),
    Metric("hops_mean", "Latency", "hops, mean", "number", LOWER,
           of(Delivered, lambda f: share(f.hops, f.delivered)), "tree links that a delivery in time took",
           compared=True, plain=True),

    *(_lost(reason, says) for reason, says in REASONS.items()),

    Metric("twice", "Correctness", "delivered twice", "count", LOWER, of(Breaches, lambda f: f.twice),
           "deliveries of an event that the client already had", plain=True),
    Metric("unpublished", "Correctness", "not published", "count", LOWER,
           of(Breaches, lambda f: f.unpublished), "deliveries of an event that was not published before",
           plain=True),
    Metric("unsubscribed", "Correctness", "not subscribed", "count", LOWER,
           of(Breaches, lambda f: f.unsubscribed),
           "deliveries to a client that had not subscribed to the event", plain=True),

    Metric("messages_per_delivery", "Overhead", "messages per delivery", "number", LOWER,
           of(Sent, _messages_per_delivery),
           "messages sent in the whole run, per delivery at another host than the publisher's", compared=True,
           plain=True),
    Metric("bytes_per_delivery", "Overhead", "bytes per delivery", "bytes", LOWER,
           of(Sent, _bytes_per_delivery),
           "bytes sent in the whole run, per delivery at another host than the publisher's", compared=True,
           plain=True),
    *(_of_family(family, "messages", "number", _messages_per_delivery) for family in FAMILIES),
    *(_of_family(family, "bytes", "bytes", _bytes_per_delivery) for family in FAMILIES),
    Metric("normalized_cost", "Overhead", "normalized cost", "number", LOWER,
           of(Cost, lambda f: f.normalized), "table II: subscriptions, reconciliation, misrouted events",
           shown="known"),
    Metric("cost_per_loss", "Overhead", "normalized cost per lost link", "number", LOWER,
           of(Cost, lambda f: share(f.normalized, f.lost_links)), "of the whole run, by tree links lost",
           shown="known"),
    Metric("misrouted_share", "Overhead", "events misrouted", "share", LOWER,
           of(Cost, lambda f: share(f.misrouted, f.event_messages)),
           "of event messages over tree links: they led to no delivery", shown="known"),
    Metric("bytes_per_host_second", "Overhead", "bytes sent per host", "rate", LOWER,
           of(Sent, lambda f: share(f.bytes, f.hosts * f.seconds)), "bytes sent, per host and second",
           plain=True),
    Metric("duplicates", "Overhead", "duplicates on arrival", "count", LOWER,
           of(Cost, lambda f: f.duplicates), "events that arrived again and were stopped"),
    Metric("airtime_share", "Overhead", "radio busy", "share", LOWER,
           of(Cost, lambda f: share(f.airtime, f.seconds)), "airtime of all transmissions, by duration",
           compared=True),

    Metric("signal_median", "Radio", "signal, median", "power", HIGHER, of(Signals, lambda f: _level(f, 50)),
           "of received frames, where captures have it", shown="known"),
    Metric("signal_weak", "Radio", "signal, weakest 5 %", "power", HIGHER,
           of(Signals, lambda f: _level(f, 5)), "the 5th percentile of the same", shown="known", plain=True),

    Metric("roam_attachments", "Roaming", "attachments", "count", NEITHER,
           of(Roaming, lambda f: len(f.attachments)), "of clients without a broker of their own",
           shown="known"),
    Metric("roam_moves", "Roaming", "moves", "count", NEITHER, of(Roaming, lambda f: len(f.moves)),
           "of them, from another broker", shown="known"),
    Metric("roam_away", "Roaming", "without a broker, median", "seconds", LOWER,
           of(Roaming, lambda f: float(f.attachments["away"].median())),
           "before each attachment but the first", shown="known"),
    Metric("roam_let_in", "Roaming", "let in, median", "seconds", LOWER,
           of(Roaming, lambda f: float(f.moves["let_in"].median())),
           "from a move until its former brokers have handed over", shown="known"),
    Metric("roam_waited", "Roaming", "waited in vain", "count", LOWER,
           of(Roaming, lambda f: int(f.attachments["waited"].sum())),
           "a former broker did not hand over within handoff_wait", shown="known"),
    Metric("roam_first", "Roaming", "first event, median", "seconds", LOWER,
           of(Roaming, lambda f: float(f.moves["first"].median())), "from the attachment, after a move",
           shown="known"),
    Metric("roam_first_p95", "Roaming", "first event, 95th perc.", "seconds", LOWER,
           of(Roaming, lambda f: float(f.moves["first"].quantile(0.95))), "the 95th percentile of the same",
           shown="known", plain=True),
    Metric("roam_fetched", "Roaming", "events fetched", "number", NEITHER,
           of(Roaming, lambda f: float(f.moves["fetched"].mean())), "from former brokers, per move",
           shown="known"),
    Metric("roam_duplicates", "Roaming", "duplicates suppressed", "number", LOWER,
           of(Roaming, lambda f: float(f.moves["duplicates"].mean())), "per move", shown="known"),
    Metric("roam_control", "Roaming", "control messages", "number", LOWER,
           of(Roaming, lambda f: share(f.control, len(f.attachments))),
           "per attachment, all brokers together", shown="known"),
    Metric("roam_dropped", "Roaming", "events given up", "count", LOWER, of(Roaming, lambda f: f.dropped),
           "by full or expired buffers of brokers and clients", shown="known"),

    Metric("recovered_events", "Recovery", "events recovered", "count", NEITHER,
           of(Recovery, lambda f: len(f.found)), "from the cache of another host, in the whole run",
           shown="known"),
    Metric("recovered_from_source", "Recovery", "from the publisher itself", "share", NEITHER,
           of(Recovery, lambda f: float((f.found["giver"] == f.found["source"]).mean())),
           "events recovered from the cache of their publisher", shown="known", plain=True),
    Metric("recovered_rounds", "Recovery", "gossip rounds, mean", "number", LOWER,
           of(Recovery, lambda f: float(f.found["rounds"].mean())), "until an event was recovered",
           shown="known", plain=True),
    Metric("recovered_median", "Recovery", "noticed to recovered, median", "seconds", LOWER,
           of(Recovery, lambda f: float(f.found["seconds"].median())),
           "from noticing that an event is missing until it came", shown="known", plain=True),
    Metric("recovered_p95", "Recovery", "95th percentile", "seconds", LOWER,
           of(Recovery, lambda f: float(f.found["seconds"].quantile(0.95))), "of the same", shown="known",
           plain=True),
    Metric("recovery_share", "Recovery", "share of all bytes", "share", LOWER,
           of(Recovery, lambda f: share(f.spent, f.bytes) if f.spent else 0.0),
           "gossip, requests, answers, counters; without the tags of events", shown="known"),

    Metric("repairs", "Tree", "repairs", "count", NEITHER, of(Repairs, lambda f: f.joined),
           "of lost links, ended by joining", shown="known", compared=True),
    Metric("seeking_median", "Tree", "seeking, median", "seconds", LOWER,
           of(Tree, lambda f: percentile(f.seeking, 50)), "from noticing the loss to joining", shown="known",
           compared=True),
    Metric("seeking_p95", "Tree", "seeking, 95th percentile", "seconds", LOWER,
           of(Tree, lambda f: percentile(f.seeking, 95)), "of the same", shown="known", compared=True,
           plain=True),
    Metric("outage_count", "Tree", "radio losses of tree links", "count", NEITHER,
           of(Waits, lambda f: f.counted), "whose ends the radio still connected some other way",
           shown="known", compared=True),
    Metric("outage_noticed", "Tree", "noticed, median", "seconds", LOWER, of(Waits, lambda f: f.noticed),
           "from the radio loss until an end closed the link", shown="known", compared=True),
    Metric("outage_median", "Tree", "one tree again, median", "seconds", LOWER, of(Waits, lambda f: f.median),
           "from the radio loss", shown="known", compared=True),
    Metric("outage_p95", "Tree", "one tree again, 95th perc.", "seconds", LOWER, of(Waits, lambda f: f.p95),
           "the 95th percentile of the same", shown="known", compared=True, plain=True),
    Metric("outage_worst", "Tree", "one tree again, worst", "seconds", LOWER, of(Waits, lambda f: f.worst),
           "including waits that were cut short", shown="known"),
    Metric("outage_prompt", "Tree", "one tree again within 2 s", "share", HIGHER,
           of(Waits, lambda f: f.prompt), "of the radio losses of tree links", shown="known", compared=True,
           plain=True),
    Metric("outage_cut_short", "Tree", "waits cut short", "count", NEITHER, of(Waits, lambda f: f.cut_short),
           "the radio parted the ends meanwhile, or the run ended", shown="some"),
    Metric("outage_apart", "Tree", "losses that parted the ends", "count", NEITHER,
           of(Waits, lambda f: f.apart), "no other radio path: not in the waits", shown="some"),
    Metric("outage_returned", "Tree", "losses that went by", "count", NEITHER,
           of(Waits, lambda f: f.returned), "the radio was back before an end closed the link", shown="some"),
    Metric("merges", "Tree", "merges", "count", NEITHER, of(Tree, lambda f: f.merges),
           "of two trees into one", shown="known", compared=True, plain=True),
    Metric("elections", "Tree", "elections", "count", NEITHER, of(Tree, lambda f: f.elections),
           "of a leader", shown="known", compared=True, plain=True),
    Metric("links_gained", "Tree", "links opened", "count", NEITHER, of(Tree, lambda f: f.gained),
           "tree links, each incarnation", shown="known", compared=True, plain=True),
    Metric("tree_share", "Tree", "connected pairs in one tree", "share", HIGHER,
           of(Shape, lambda f: share(f.tree_pairs.sum(), f.radio_pairs.sum())),
           "of host pairs connected by radio", shown="known", compared=True),
    Metric("whole_share", "Tree", "one tree per partition", "share", HIGHER,
           of(Shape, lambda f: share((f.tree_pairs == f.radio_pairs).sum(), len(f.radio_pairs))),
           "of the time", shown="known"),

    Metric("local_expected", "Totals", "local expected", "count", NEITHER,
           of(Beside, lambda f: f.local_expected), "event-subscriber pairs at the publisher's own host",
           shown="never"),
    Metric("deliveries", "Totals", "deliveries", "count", NEITHER, of(Sent, lambda f: f.deliveries),
           "at other hosts than the publisher's, in the whole run", shown="never"),
    Metric("messages", "Totals", "messages", "count", LOWER, of(Sent, lambda f: f.messages),
           "sent in the whole run", shown="never"),
    Metric("bytes", "Totals", "bytes", "count", LOWER, of(Sent, lambda f: f.bytes), "sent in the whole run",
           shown="never"),
]
OURS = tuple(METRICS)  # without those from outside the checkout


def _from_outside() -> list[Metric]:
    """The metrics of others (docs/extending.md). Raises OutsideError."""
    found: list[Metric] = []
    for part in outside.parts(outside.METRICS):
        for metric in part.value if isinstance(part.value, list | tuple) else [part.value]:
            if not isinstance(metric, Metric):
                raise outside.OutsideError(f"{part.source}: found {type(metric).__name__} among its metrics; expected Metric")
            if metric.form not in FORMS or metric.key in (known.key for known in (*OURS, *found)):
                raise outside.OutsideError(f"{part.source}: {metric.key}: found a form that is not known, or a key that is taken; use a form of {', '.join(FORMS)} and another key")
            found.append(replace(metric, says=f"{metric.says} (from {part.source}, sha256 {part.sha256[:12]})"))
    return found


METRICS += _from_outside()
BY_KEY = {metric.key: metric for metric in METRICS}
PAGE = Path(__file__).resolve().parent.parent / "docs" / "analysis.md"  # of a checkout
BEGIN, END = "<!-- metrics: written by `python -m analysis.metrics` -->\n", "<!-- end -->\n"
UNITS = {"count": "", "number": "", "share": "0 to 1", "seconds": "s", "bytes": "B", "rate": "B/s",
         "power": "dBm"}


def numbers(*facts: object, unknown: Collection[type] = ()) -> dict[str, float]:
    """The metrics of these facts, by key, in the order of METRICS; nan for those of `unknown` kinds of facts."""
    known = {type(group): group for group in facts}
    there = [(metric, metric.computed.facts) for metric in METRICS
             if metric.computed.facts in known or metric.computed.facts in unknown]
    return {metric.key: metric.computed.by(known[kind]) if kind in known else math.nan
            for metric, kind in there}


def page() -> str:
    """What docs/analysis.md has to say."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + "\n".join(["", *_rows(), "", END]) + rest.partition(END)[2]


def _rows() -> Iterator[str]:
    yield from ("| key | name | unit | better | meaning |", "|---|---|---|---|---|")
    families = {metric.key for metric in OURS if metric.computed.facts is Families}
    for metric in OURS:
        if metric.key not in families:
            name = f"{metric.section}: {metric.label}"
            yield f"| `{metric.key}` | {name} | {UNITS[metric.form]} | {metric.better} | {metric.says} |"


if __name__ == "__main__":
    if page() != PAGE.read_text(encoding="utf-8"):
        PAGE.write_text(page(), encoding="utf-8")
        print(PAGE)
