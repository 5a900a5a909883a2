"""The headline numbers of one run or of several seeds, and the table that is printed.

Over several runs of one scenario every number is a mean with its 95% confidence interval (Student's t).
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from analysis.losses import REASONS
from topologies.problems import one_line

CONFIDENCE = 0.95


class Metric(NamedTuple):
    section: str
    label: str
    key: str
    form: str  # a key of _FORMS
    note: str = ""


METRICS = [
    Metric("Delivery", "expected", "expected", "count", "event-subscriber pairs, hosts up throughout"),
    Metric("Delivery", "delivered in time", "delivered", "count"),
    Metric("Delivery", "delivery ratio", "ratio", "share"),
    Metric("Delivery", "physical bound", "bound", "share", "a path over space and time existed"),
    Metric("Delivery", "ratio to the bound", "ratio_to_bound", "share"),
    Metric("Delivery", "beyond the bound", "beyond_bound", "count", "deliveries over no radio link that was recorded"),
    Metric("Delivery", "local, delivered", "local_ratio", "share", "clients at the publisher's own host, not in the above"),
    Metric("Delivery", "not counted: host down", "node_down", "count", "pairs whose subscriber's host was down"),
    Metric("Delivery", "not counted: no record", "unrecorded", "count", "publications known by their numbers alone"),
    Metric("Latency", "median", "latency_median", "seconds"),
    Metric("Latency", "95th percentile", "latency_p95", "seconds"),
    Metric("Latency", "99th percentile", "latency_p99", "seconds"),
    Metric("Latency", "hops, mean", "hops_mean", "number"),
    *(Metric("Lost", reason.replace("_", " "), f"lost_{reason}", "count") for reason in REASONS),
    Metric("Correctness", "delivered twice", "twice", "count"),
    Metric("Correctness", "not published", "unpublished", "count"),
    Metric("Correctness", "not subscribed", "unsubscribed", "count"),
    Metric("Overhead", "messages per delivery", "messages_per_delivery", "number"),
    Metric("Overhead", "bytes per delivery", "bytes_per_delivery", "bytes"),
    Metric("Overhead", "normalized cost", "normalized_cost", "number", "table II: subscriptions, reconciliation, misrouted events"),
    Metric("Overhead", "normalized cost per lost link", "cost_per_loss", "number", "of the whole run, by tree links lost"),
    Metric("Overhead", "events misrouted", "misrouted_share", "share", "of event messages over tree links: led to no delivery"),
    Metric("Overhead", "bytes sent per host", "bytes_per_host_second", "rate"),
    Metric("Overhead", "duplicates on arrival", "duplicates", "count", "events that came again and were stopped"),
    Metric("Overhead", "radio busy", "airtime_share", "share", "airtime of all transmissions by duration"),
    Metric("Radio", "signal, median", "signal_median", "power", "of the frames that radios received, where captures tell it"),
    Metric("Radio", "signal, weakest 5 %", "signal_weak", "power"),
    Metric("Roaming", "attachments", "roam_attachments", "count", "of clients without a broker of their own"),
    Metric("Roaming", "moves", "roam_moves", "count", "of them, from another broker"),
    Metric("Roaming", "without a broker, median", "roam_away", "seconds", "before an attachment that was not the first"),
    Metric("Roaming", "let in, median", "roam_let_in", "seconds", "after a move: its former brokers have handed over"),
    Metric("Roaming", "waited in vain", "roam_waited", "count", "a former broker did not hand over in handoff_wait"),
    Metric("Roaming", "first event, median", "roam_first", "seconds", "from the attachment on, after a move"),
    Metric("Roaming", "first event, 95th perc.", "roam_first_p95", "seconds"),
    Metric("Roaming", "events fetched", "roam_fetched", "number", "of former brokers, a move"),
    Metric("Roaming", "duplicates suppressed", "roam_duplicates", "number", "a move"),
    Metric("Roaming", "control messages", "roam_control", "number", "an attachment, all brokers together"),
    Metric("Roaming", "events given up", "roam_dropped", "count", "by full or old buffers for clients, or their own"),
    Metric("Recovery", "events recovered", "recovered_events", "count", "by hosts, from the cache of another; in the whole run"),
    Metric("Recovery", "deliveries in time by it", "recovered_in_time", "count", "of those delivered in time above"),
    Metric("Recovery", "from the publisher itself", "recovered_from_source", "share"),
    Metric("Recovery", "gossip rounds, mean", "recovered_rounds", "number"),
    Metric("Recovery", "noticed to recovered, median", "recovered_median", "seconds"),
    Metric("Recovery", "95th percentile", "recovered_p95", "seconds"),
    Metric("Recovery", "share of all bytes", "recovery_share", "share", "gossip, requests, answers, counters; without the tags of events"),
    Metric("Tree", "repairs", "repairs", "count", "of lost links, ended by joining"),
    Metric("Tree", "seeking, median", "seeking_median", "seconds", "from noticing the loss to joined"),
    Metric("Tree", "seeking, 95th percentile", "seeking_p95", "seconds"),
    Metric("Tree", "radio losses of tree links", "outage_count", "count", "whose ends the radio still connected some other way"),
    Metric("Tree", "noticed, median", "outage_noticed", "seconds", "from the radio loss until an end closed the link"),
    Metric("Tree", "one tree again, median", "outage_median", "seconds", "from the radio loss on"),
    Metric("Tree", "one tree again, 95th perc.", "outage_p95", "seconds"),
    Metric("Tree", "one tree again, worst", "outage_worst", "seconds", "waits that were cut short included"),
    Metric("Tree", "one tree again within 2 s", "outage_prompt", "share"),
    Metric("Tree", "waits cut short", "outage_cut_short", "count", "the radio parted the ends meanwhile, or the run ended"),
    Metric("Tree", "losses that parted the ends", "outage_apart", "count", "no other radio path: not in the waits"),
    Metric("Tree", "losses that went by", "outage_returned", "count", "the radio was back before an end closed the link"),
    Metric("Tree", "merges", "merges", "count"),
    Metric("Tree", "elections", "elections", "count"),
    Metric("Tree", "links opened", "links_gained", "count"),
    Metric("Tree", "connected pairs in one tree", "tree_share", "share", "of host pairs connected by radio"),
    Metric("Tree", "one tree per partition", "whole_share", "share", "of the time"),
]


BY_SEED = ("ratio", "bound", "ratio_to_bound", "latency_median")
_SELDOM = {"beyond_bound", "unrecorded", "outage_cut_short", "outage_apart", "outage_returned"}  # shown when there are any, as losses are
_TREE_ONLY = {"normalized_cost", "cost_per_loss", "misrouted_share"}  # as all of the section Tree, not shown without one


class Estimate(NamedTuple):
    """A mean over runs; `half` is half the width of its 95% confidence interval (0 for one run)."""

    mean: float
    half: float
    runs: int

    def interval(self, form: str) -> tuple[float, float]:
        """The confidence interval; that of a share ends where shares end."""
        low, high = self.mean - self.half, self.mean + self.half
        return (max(0.0, low), min(1.0, high)) if form == "share" else (low, high)


class Summary(Mapping):
    """Headline numbers by key (METRICS); a number that a run cannot give is nan."""

    def __init__(self, title: str, numbers: Sequence[Mapping[str, float]], notes: Sequence[str] = (),
                 reports: Sequence[object] = (), seeds: Sequence[int] | None = None, invalid: Sequence[str] = ()) -> None:
        self.title, self.notes, self.reports = title, list(notes), list(reports)
        self.invalid = list(invalid)  # why the numbers are about the machine, not about the network
        self.numbers = [dict(n) for n in numbers]
        self.seeds = list(range(1, len(self.numbers) + 1)) if seeds is None else list(seeds)  # one for each of `numbers`

    def __getitem__(self, key: str) -> float:
        return self.estimate(key).mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.numbers[0] if self.numbers else ())

    def __len__(self) -> int:
        return len(self.numbers[0]) if self.numbers else 0

    def estimate(self, key: str) -> Estimate:
        """The mean of `key` over the runs that have it. Raises KeyError for a key that none has."""
        values = [n[key] for n in self.numbers if not math.isnan(n[key])]
        if not values:
            return Estimate(math.nan, 0.0, 0)
        mean = math.fsum(values) / len(values)
        if len(values) < 2:
            return Estimate(mean, 0.0, len(values))
        from scipy.stats import t
        variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
        return Estimate(mean, float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * math.sqrt(variance / len(values)),
                        len(values))

    @property
    def correct(self) -> bool:
        """No delivery of any run broke a safety property."""
        return all(n[key] == 0 for n in self.numbers for key in ("twice", "unpublished", "unsubscribed"))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(section, label, value, note) of everything worth a line."""
        out = []
        for metric in METRICS:
            if metric.key not in self:
                continue
            estimate = self.estimate(metric.key)
            if (metric.section in ("Tree", "Roaming", "Recovery") or metric.key in _TREE_ONLY) and math.isnan(estimate.mean):
                continue
            if metric.section == "Radio" and math.isnan(estimate.mean):
                continue
            if (metric.section == "Lost" or metric.key in _SELDOM) and not estimate.mean > 0:
                continue
            out.append((metric.section, metric.label, show(estimate, metric.form), metric.note))
        return out

    def _by_seed(self) -> list[str]:
        """What each of several runs said, a line a seed."""
        if len(self.numbers) < 2:
            return []
        shown = [m for m in METRICS if m.key in BY_SEED and m.key in self]
        width = max(len(str(seed)) for seed in self.seeds)
        return [f"{head:<12} {seed:>{width}}: " + ", ".join(
            f"{_said(m)} {show(Estimate(numbers[m.key], 0.0, 1), m.form)}" for m in shown)
            for head, seed, numbers in zip(["By seed", *[""] * len(self.seeds)], self.seeds, self.numbers, strict=False)]

    def table(self) -> str:
        """The table that is printed, as plain text."""
        rows = self.rows()
        label = max((len(r[1]) for r in rows), default=0)
        value = max((len(r[2]) for r in rows), default=0)
        lines, section = [self.title], None
        for part, name, shown, note in rows:
            head = part if part != section else ""
            section = part
            lines.append(f"{head:<12} {name:<{label}}  {shown:>{value}}  {note}".rstrip())
        verdict = "holds" if self.correct else "VIOLATED, see the report"
        lines.append(f"{'Verdict':<12} safety (nothing twice, unpublished, unsubscribed) {verdict}")
        lines += [f"{head:<12} NOT VALID, the numbers are about the machine: {reason}"
                  for head, reason in zip(["Validity", *[""] * len(self.invalid)], self.invalid, strict=False)]
        lines += self._by_seed()
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(map(one_line, lines))  # names and notes come from files


def _said(metric: Metric) -> str:
    """The metric's name where its section does not stand beside it."""
    return f"{metric.label} {metric.section.lower()}" if metric.section == "Latency" else metric.label


def _count(x: float) -> str:
    return f"{x:,.0f}" if x == int(x) else f"{x:,.1f}"


def seconds(x: float) -> str:
    """A time with three significant digits, in ms or s."""
    factor, unit = _scale(x)
    return f"{x * factor:,.{_digits(x * factor)}f} {unit}"


def _scale(x: float) -> tuple[float, str]:
    return (1000, "ms") if abs(x) < 0.9995 else (1, "s")  # what rounds to 1000 ms is 1 s


def _digits(x: float) -> int:
    """Decimals that leave three significant digits; of less than 0.001 only those down to there."""
    rounded = float(f"{x:.2e}")
    return 0 if rounded == 0 else min(3, max(0, 2 - math.floor(math.log10(abs(rounded)))))


_FORMS = {
    "count": _count,
    "share": lambda x: f"{100 * x:.1f} %",
    "seconds": seconds,
    "number": lambda x: f"{x:,.2f}",
    "bytes": lambda x: f"{x:,.0f} B",
    "rate": lambda x: f"{x:,.0f} B/s",
    "power": lambda x: f"{x:,.0f} dBm",
}
_SCALED = {"share": (100, " %", 1), "number": (1, "", 2), "bytes": (1, " B", 0),
           "rate": (1, " B/s", 0), "power": (1, " dBm", 1), "count": (1, "", 1)}


def show(estimate: Estimate, form: str) -> str:
    """A number with its unit, and the confidence interval when there are several runs."""
    if math.isnan(estimate.mean):
        return "-"
    if estimate.runs < 2:
        return _FORMS[form](estimate.mean)
    if form == "seconds":
        factor, name = _scale(estimate.mean)
        unit, digits = f" {name}", _digits(estimate.mean * factor)
    else:
        factor, unit, digits = _SCALED[form]
    ends = estimate.interval(form)
    if form == "share" and (ends[0] == 0 or ends[1] == 1) and estimate.half:
        low, high = (f"{end * factor:.{digits}f}" for end in ends)
        return f"{estimate.mean * factor:.{digits}f} [{low}, {high}]{unit}"
    return f"{estimate.mean * factor:,.{digits}f} ± {estimate.half * factor:,.{digits}f}{unit}"
