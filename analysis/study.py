"""One run studied: from its log files to everything that the report and the summary show."""
from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pyspark import SparkContext

from analysis import (
    correctness,
    events,
    incidents,
    intervals,
    lives,
    losses,
    outages,
    overhead,
    portion,
    recovery,
    roaming,
    tree,
    unrecorded,
)
from analysis.bound import ContactGraph
from analysis.breakdown import Breakdown, breakdown
from analysis.constraints import OPERATORS, Filters, fits
from analysis.correctness import Ends
from analysis.devices import Attached
from analysis.errors import AnalysisError
from analysis.expected import Wishes
from analysis.ingest import Ingest, ingest
from analysis.judge import Known
from analysis.routes import Forest
from analysis.run import Run, settle, some
from analysis.signals import broken_off, captured, signals, strength
from analysis.weights import weights


@dataclass
class Study:
    """What is known of a run after the analysis. Frames are small: by bin, by reason, by second."""

    run: Run
    ingest: Ingest
    parts: Breakdown
    violations: list[correctness.Violation]
    sent: pd.DataFrame  # overhead.by_type, and `cost`: overhead.normalized
    misrouted: dict[str, int]  # messages of events over tree links: sent, misrouted
    drops: pd.DataFrame  # overhead.drops
    traffic: dict[str, float]  # overhead.totals
    repairs: pd.DataFrame  # tree.repairs
    seeking_times: object  # tree.seeking_times
    outages: pd.DataFrame  # outages.outages
    links: dict[str, object]  # tree.link_changes
    shape: pd.DataFrame  # tree.over_time
    deliveries: dict[str, int]  # in the whole run: remote, local, duplicates
    lives: pd.DataFrame
    contacts: pd.DataFrame
    tree_links: pd.DataFrame
    standings: pd.DataFrame  # tree_state: t, node, leader, seeking
    moves: pd.DataFrame | None  # roaming.moves; None where no client roams
    roaming: dict[str, float]  # roaming.numbers
    recoveries: pd.DataFrame  # recovery.recoveries
    signals: dict[str, float]  # signals.strength
    unrecorded: pd.DataFrame  # unrecorded.unrecorded
    odd: dict[str, object]  # _odd
    notes: list[str]

    @property
    def numbers(self) -> dict[str, float]:
        """The headline numbers by key (summary.METRICS); nan where there is nothing to divide."""
        return {**_delivery_numbers(self), **_overhead_numbers(self), **_tree_numbers(self), **self.signals, **self.roaming,
                **recovery.numbers(self.recoveries, self.sent, int(_class(self.parts, "counted")["recovered"]))}


def study(context: SparkContext, run: Run) -> Study:
    """Analyse one run: write its tables, all or none, and return what they say. Raises AnalysisError."""
    growing = run.path / ".tables.part"
    try:
        for there in (run.tables, growing):
            if there.is_symlink() or there.exists() and not there.is_dir():
                raise AnalysisError(f"{there}: it is no folder, and the analysis writes its tables there; remove it")
        shutil.rmtree(growing, ignore_errors=True)  # of an analysis that was killed
        growing.mkdir()
        found = _studied(context, run, growing)
        if run.tables.exists():
            shutil.rmtree(run.tables)  # of an earlier analysis; nothing else writes there
        growing.rename(run.tables)
        return found
    except AnalysisError:
        raise
    except Exception as error:  # Java's and Arrow's words for it differ
        if "No space left on device" in str(error):
            raise AnalysisError(f"{run.path}: the disk is full; make room and analyse the run again") from None
        if isinstance(error, OSError):
            raise AnalysisError(f"{run.tables}: cannot be written: {error.strerror}; the analysis writes its "
                                "tables there") from None
        raise
    finally:
        shutil.rmtree(growing, ignore_errors=True)


def _studied(context: SparkContext, run: Run, folder: Path) -> Study:
    """`folder`: where the tables are written."""
    found = ingest(context, run.logs, folder, lives.pause(run))
    run = settle(run, found.last)
    tables, end = found.tables, max(run.ended, found.last)
    cut = lives.cut_short(run, found)
    spans = intervals.intervals(tables, end, cut)
    for name in ("lives", "radio_links", "contacts", "tree_links"):
        _keep(getattr(spans, name), folder, name)
    hosts = 1 + max([*run.hosts, *found.nodes, -1, int(spans.radio_links[["tail", "head"]].to_numpy().max(initial=-1))])
    attached = roaming.attachments(tables, spans.lives, end) if run.roaming or found.counts.get("moved_in") else None
    living, contacts = _brokers(run, spans.lives, spans.contacts, attached)
    with ThreadPoolExecutor(1) as pool:  # tasks are at work meanwhile
        judging = pool.submit(events.judge, context, _known(run, found, spans, hosts, attached, end), found.counts, folder)
        shape = tree.over_time(living, contacts, spans.tree_links, run.ended, hosts)
        waits = outages.outages(spans.tree_links, contacts, living, end)
        judged = judging.result()
    sums, named, came = events.added(judged)
    sent = overhead.by_type(found.sums)
    sent["cost"] = overhead.normalized(sent, sums["misrouted"])
    moves = None if attached is None else roaming.moves(run, tables, attached, pd.DataFrame(
        {"first": [first for first, _ in came.values()], "duplicates": [again for _, again in came.values()]}, index=list(came)))
    strengths, unread = _signals(context, run, folder)
    whole = Study(
        run=run, ingest=found, parts=breakdown([one.parts for one in judged], run.window),
        violations=correctness.violations(one.breaches for one in judged), sent=sent,
        misrouted={"sent": sums["sent"], "misrouted": sums["misrouted"]}, drops=overhead.drops(found.sums),
        traffic=overhead.totals(found.sums), repairs=tree.repairs(tables), seeking_times=tree.seeking_times(tables),
        outages=waits, links=tree.link_changes(tables), shape=shape,
        deliveries={"remote": sums["remote"], "local": sums["local"], "duplicates": found.counts.get("duplicate", 0)},
        lives=spans.lives, contacts=spans.contacts, tree_links=spans.tree_links, standings=_standings(tables), moves=moves,
        roaming=roaming.numbers(moves, sent, found.counts), recoveries=recovery.recoveries(tables), signals=strengths,
        unrecorded=unrecorded.unrecorded(named), odd=_odd(tables, sums), notes=[])
    _keep(whole.outages, folder, "outages")
    if moves is not None:
        _keep(moves, folder, "moves")
    whole.notes = [*run.notes, *lives.notes(run, cut), *lives.unheard(run, found, spans.lives, cut),
                   *unrecorded.notes(whole.unrecorded, run.hosts), *_notes(whole), *unread,
                   *incidents.incidents(found.sums, run.hosts)]
    return whole


def _known(run: Run, found: Ingest, spans: intervals.Intervals, hosts: int, attached: pd.DataFrame | None, end: float) -> Known:
    """What every task that judges events has a copy of."""
    tables, links = found.tables, spans.tree_links
    sessions = None if attached is None else roaming.sessions(tables, spans.lives, end)
    if attached is not None:  # an event's way begins or ends with one
        links = pd.concat([links, roaming.as_links(attached)], ignore_index=True)
    filters = tables["subscribed"].drop_duplicates("hash")
    stopped = tables["node_stopped"]
    numbers = found.sums["numbers"]
    ends = Ends(_lossy(run), {f"{node}.{epoch}" for node, epoch in zip(stopped["node"], stopped["epoch"], strict=True)},
                {} if numbers.empty else numbers.groupby("life")["number"].max().to_dict())
    return Known(run.rules, Wishes(spans.wants, spans.held, spans.lives),
                 Filters(dict(zip(filters["hash"], filters["constraints"], strict=True))),
                 ContactGraph(*(spans.radio_links[name].to_numpy() for name in ("tail", "head", "up", "down")), hosts),
                 Forest(links), tables["link_lost"].groupby("link")["t"].min().to_dict(), ends,
                 None if attached is None else Attached(attached, run.roaming), None if sessions is None else Attached(sessions))


def _keep(frame: pd.DataFrame, folder: Path, name: str) -> None:
    """Write a table. Handed over as a file, since no letter of a path means anything then."""
    with (folder / f"{name}.parquet").open("wb") as file:
        frame.to_parquet(file, index=False)


def _lossy(run: Run) -> Collection[int] | None:
    """Hosts of whose records the last may be lost; None for all."""
    return run.silent if run.in_order and run.world != "field" else None


def _brokers(run: Run, lives: pd.DataFrame, contacts: pd.DataFrame,
             attached: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`lives` and `contacts` of the hosts that may be in a tree: without those that are clients only."""
    if attached is None:
        return lives, contacts
    devices = {*run.roaming, *attached["device"]}
    return (lives[~lives["node"].isin(devices)],
            contacts[~contacts["i"].isin(devices) & ~contacts["j"].isin(devices)])


def _signals(context: SparkContext, run: Run, folder: Path) -> tuple[dict[str, float], list[str]]:
    """Write the table of signals where captures have any; what the summary says of them, and notes on what was not read."""
    captures, notes = captured(run)
    if not captures:
        return strength(None), notes
    found = signals(context, run, captures, folder)
    return strength(found), [*notes, *broken_off(found, run.ended)]


def _standings(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return tables["tree_state"].sort_values(["node", "t", "line"], ignore_index=True).drop(columns="line")


def _odd(tables: dict[str, pd.DataFrame], sums: Counter[str]) -> dict[str, object]:
    """What contradicts itself or is not known here: `twice`, events published more than once; `foreign`, those that were
    published at another host than their name says; `doubled`, those that have an attribute twice; `links`, changes of tree
    links whose name is another pair's than the one they are told of; `operators` of constraints that nothing satisfies here; `filters` told
    in two ways under one hash; `misfits`, constraints whose values are not as their operator takes them; `versions` of the nodes."""
    told = tables["subscribed"]
    ways = pd.Series(map(repr, told["constraints"]), told["hash"], dtype=object).groupby(level=0).nunique()
    operators = {one["op"] for constraints in told["constraints"] for one in constraints}
    changes = pd.concat([tables["link_gained"], tables["link_lost"]])
    others = sum(not link.startswith(f"{min(ends)}-{max(ends)}.")
                 for link, *ends in zip(changes["link"], changes["node"], changes["neighbor"], strict=True))
    misfits = sum(not fits(one) for constraints in told["constraints"] for one in constraints if one["op"] in OPERATORS)
    return {"twice": sums["twice"], "foreign": sums["foreign"], "doubled": sums["doubled"], "links": others, "misfits": misfits, "operators": sorted(operators - OPERATORS),
            "filters": int((ways > 1).sum()), "versions": sorted(set(tables["node_started"]["version"]))}


def _notes(whole: Study) -> list[str]:
    notes, found = _about_logs(whole.run, whole.ingest), whole.ingest
    if found.unknown:
        notes.append("records of unknown kinds were left out: "
                     + ", ".join(f"{kind} ({n})" for kind, n in sorted(found.unknown.items())))
    if not sum(found.counts.values()):
        notes.append("the run left no records")
    notes += _contradictions(whole)
    counted = _class(whole.parts, "counted")
    if not counted["expected"]:
        notes.append("nothing was expected: no event in the measurement window matched a lasting subscription")
    early = int(counted["early"] + _class(whole.parts, "local")["early"])
    if early:
        notes.append(f"{early} deliveries are on record before their publication: clocks or records are wrong, and latencies with them")
    if whole.run.radio_known and counted["impossible"]:
        notes.append(f"{int(counted['impossible'])} deliveries are beyond the physical bound: a frame passed where the "
                     "world recorded no radio link (docs/analysis.md, \"The physical bound\")")
    return notes


def _about_logs(run: Run, found: Ingest) -> list[str]:
    """What in the log files is not as a run writes it."""
    notes = []
    if found.malformed:
        lines = sum(found.malformed.values())
        torn = f", {min(found.torn, lines)} of them a torn last line" if found.torn else ""
        notes.append(f"{lines} lines of the logs are no records{torn} (in {some(sorted(found.malformed))})")
    if found.odd:
        told = [f"{what} ({n})" for what, n in sorted(found.odd.items())]
        notes.append(f"records whose fields are not those that are known here count by those that are, as of another version: {some(told)}")
    if found.astray:
        told = [f"{file} of {'the world' if nodes == [-1] else f'nodes {some(nodes)}'}" for file, nodes in sorted(found.astray.items())]
        notes.append(f"{found.strayed} lines stand in the file of another node and were left out: in {some(told)}")
    if found.back:
        told = [f"{file} ({times} times)" for file, times in sorted(found.back.items())]
        notes.append(f"times step back by more than {portion.STEP:g} s within {some(told)}: these may be two logs in one file, "
                     "and what they tell twice counts twice")
    if run.in_order and found.last > run.ended + 1:
        notes.append(f"records reach until {found.last:g} s, beyond the run's end at {run.ended:g} s")
    quiet = found.untold.get("traffic", [])
    if quiet and found.counts:
        notes.append(f"{len(quiet)} hosts that left records told nothing of their traffic ({some(quiet)}): what they sent is in no "
                     "number of the overhead")
    return notes


def _contradictions(whole: Study) -> list[str]:
    notes, odd = [], whole.odd
    lifeless = sorted(set(whole.ingest.nodes) - set(map(int, whole.lives["node"])))
    if lifeless:
        notes.append(f"{len(lifeless)} hosts left records and none of a start ({some(lifeless)}): they count as down throughout")
    notes += _apart(whole)
    if odd["twice"]:
        notes.append(f"{odd['twice']:,} events were published more than once under one name, as by two hosts with one id or by "
                     "records given twice; the first counts")
    if odd["foreign"]:
        notes.append(f"{odd['foreign']:,} events were published at another host than their names say; where they were published counts")
    if odd["doubled"]:
        notes.append(f"{odd['doubled']:,} events have an attribute more than once: each of its values counts")
    if odd["links"]:
        notes.append(f"{odd['links']:,} changes of tree links name a link of other hosts than the two that they are told of: the link is "
                     "taken to be between those two")
    if odd["misfits"]:
        notes.append(f"{odd['misfits']:,} constraints of filters have values of a type that their operator does not take, or too few or too "
                     "many: no such value satisfies them, and of too many the first counts")
    if odd["operators"]:
        notes.append(f"filters have operators that are not known here ({some(odd['operators'])}): nothing satisfies these")
    if odd["filters"]:
        notes.append(f"{odd['filters']:,} filters were told in different ways under one hash; one of these counts")
    if len(odd["versions"]) > 1:
        notes.append(f"the nodes were of different versions: {some(odd['versions'])}")
    return notes


def _apart(whole: Study) -> list[str]:
    """Hosts of a field that their wall clocks alone put wholly beside the time of the others."""
    notes, lived = [], whole.lives
    for host in whole.run.unplaced:
        own, others = lived[lived["node"] == host], lived[~lived["node"].isin(whole.run.unplaced)]
        if len(own) and len(others) and (own["down"].max() < others["up"].min() or own["up"].min() > others["down"].max()):
            notes.append(f"host {host} heard nobody, and by its wall clock it ran {'before' if own['down'].max() < others['up'].min() else 'after'} "
                         "the others: if that clock was wrong, what it should have had and given is missing here. Its time and "
                         "the others' make up the duration; collect the records again, which leaves such a host out")
    return notes


def _class(parts: Breakdown, name: str) -> dict:
    rows = parts.classes[parts.classes["class"] == name]
    empty = {"expected": 0, "delivered": 0, "reachable": 0, "repeats": 0, "impossible": 0, "recovered": 0, "early": 0,
             "mean_hops": math.nan, "mean_latency": math.nan, "percentiles": None}
    return rows.iloc[0].to_dict() if len(rows) else empty


def share(part: float, whole: float) -> float:
    """part / whole, nan when there is no whole."""
    return part / whole if whole else math.nan


def _delivery_numbers(whole: Study) -> dict[str, float]:
    counted, local = _class(whole.parts, "counted"), _class(whole.parts, "local")
    known = whole.run.radio_known
    delays = counted["percentiles"]
    reasons = whole.parts.reasons.groupby("reason")["expected"].sum()
    middle = {f"latency_{name}": float(delays[place]) if delays is not None else math.nan
              for name, place in (("median", 50), ("p95", 95), ("p99", 99))}
    return {
        "expected": int(counted["expected"]), "delivered": int(counted["delivered"]),
        "ratio": share(counted["delivered"], counted["expected"]),
        "bound": share(counted["reachable"], counted["expected"]) if known else math.nan,
        "ratio_to_bound": share(counted["delivered"], counted["reachable"]) if known else math.nan,
        "beyond_bound": int(counted["impossible"]) if known else 0,
        "local_expected": int(local["expected"]), "local_ratio": share(local["delivered"], local["expected"]),
        "node_down": int(_class(whole.parts, "node_down")["expected"]),
        "unrecorded": int(whole.unrecorded["missing"].sum()), **middle,
        "hops_mean": float(counted["mean_hops"]),
        **{f"lost_{reason}": int(reasons.get(reason, 0)) for reason in losses.REASONS},
        **{v.name: v.count for v in whole.violations},
    }


def _overhead_numbers(whole: Study) -> dict[str, float]:
    remote, hosts = whole.deliveries["remote"], len(whole.run.hosts) - len(whole.run.silent)
    told = whole.ingest.counts.get("traffic", 0) > 0
    weighed = whole.sent[whole.sent["type"].isin(weights())]
    cost = float(weighed["cost"].sum(skipna=False)) if len(weighed) and not whole.run.treeless else math.nan
    messages, sent = (int(whole.sent[column].sum()) if told else math.nan for column in ("messages", "bytes"))
    return {
        "deliveries": remote, "messages": messages, "bytes": sent,
        "messages_per_delivery": share(messages, remote), "bytes_per_delivery": share(sent, remote),
        "normalized_cost": cost, "cost_per_loss": share(cost, sum(whole.links["lost"].values())),
        "misrouted_share": share(whole.misrouted["misrouted"], whole.misrouted["sent"]),
        "bytes_per_host_second": share(sent, hosts * whole.run.ended),
        "duplicates": whole.deliveries["duplicates"],
        "airtime_share": share(whole.traffic["airtime"], whole.run.ended),
    }


def _tree_numbers(whole: Study) -> dict[str, float]:
    def ended(cause: str, outcome: str) -> int:
        r = whole.repairs
        return int(r[(r["cause"] == cause) & (r["outcome"] == outcome)]["count"].sum())

    times, shape = whole.seeking_times, whole.shape
    known = whole.run.radio_known
    numbers = {
        "repairs": ended("repair", "joined"), "merges": ended("merge", "joined"),
        "seeking_median": float(times[50]) if len(times) else math.nan,
        "seeking_p95": float(times[95]) if len(times) else math.nan,
        **({f"outage_{name}": value for name, value in outages.waits(whole.outages)._asdict().items()} if known else
           {f"outage_{name}": math.nan for name in outages.Waits._fields}),
        "elections": int(whole.links["elections"]), "links_gained": int(whole.links["gained"]),
        "tree_share": share(shape["tree_pairs"].sum(), shape["radio_pairs"].sum()) if known else math.nan,
        "whole_share": share((shape["tree_pairs"] == shape["radio_pairs"]).sum(), len(shape)) if known else math.nan,
    }
    return dict.fromkeys(numbers, math.nan) if whole.run.treeless else numbers
