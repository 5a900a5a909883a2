"""One run studied: from its log files to everything that the report and the summary show."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis import (
    correctness,
    events,
    evidence,
    incidents,
    intervals,
    lives,
    metrics,
    outages,
    overhead,
    portion,
    recovery,
    roaming,
    signals,
    stored,
    tree,
    unrecorded,
)
from analysis.bound import ContactGraph
from analysis.breakdown import Breakdown, breakdown
from analysis.constraints import OPERATORS, Filters, fits
from analysis.correctness import Ends
from analysis.devices import Attached
from analysis.expected import Wishes
from analysis.facts import (
    Beside,
    Breaches,
    Cost,
    Delivered,
    Lost,
    Recovery,
    Repairs,
    Roaming,
    Sent,
    Shape,
    Signals,
    Tree,
    Waits,
)
from analysis.fragments import Forest, Standings
from analysis.ingest import Ingest
from analysis.judge import Known
from analysis.local import Context
from analysis.run import Run, settle, some

# kinds of facts that a run may lack; their metrics are nan then
MAY_LACK = (Signals, Roaming, Recovery, Repairs, Tree, Waits, Shape)


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
    seeking_times: np.ndarray  # tree.seeking_times
    outages: pd.DataFrame  # outages.outages
    links: tree.LinkChanges
    shape: pd.DataFrame  # tree.over_time
    deliveries: dict[str, int]  # in the whole run: remote, local, duplicates
    lives: pd.DataFrame
    contacts: pd.DataFrame
    tree_links: pd.DataFrame
    tree_ends: pd.DataFrame  # tree links as each end held them (intervals.Intervals)
    standings: pd.DataFrame  # tree_state: t, node, leader, seeking
    moves: pd.DataFrame | None  # roaming.moves; None where no client roams
    recoveries: pd.DataFrame  # recovery.recoveries
    heard: signals.Heard | None  # by radios; None where no capture tells
    unrecorded: pd.DataFrame  # unrecorded.unrecorded
    odd: dict[str, Any]  # _odd
    notes: list[str]

    @property
    def numbers(self) -> dict[str, float]:
        """The headline numbers by key (metrics.METRICS); nan where there is nothing to divide."""
        return metrics.numbers(*_facts(self), unknown=MAY_LACK)


def study(context: Context, run: Run) -> Study:
    """Analyse one run: write its tables, all or none, and return what they say. Raises AnalysisError."""
    with stored.growing(run) as folder:
        return _studied(context, run, folder)


def _studied(context: Context, run: Run, folder: Path) -> Study:
    """`folder`: where the tables are written."""
    frames = stored.notes(run)
    found = stored.records(context, run, folder)
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
        judging = pool.submit(events.judge, context, _known(run, found, spans, cut, hosts, attached, end), found.counts, folder)
        shape = tree.over_time(living, contacts, spans.tree_links, run.ended, hosts)
        waits = outages.outages(spans.tree_links, contacts, living, end)
        judged = judging.result()
    sums, named, came = events.added(judged)
    sent = overhead.by_type(found.sums)
    sent["cost"] = overhead.normalized(sent, sums["misrouted"])
    moves = None if attached is None else roaming.moves(run, tables, attached, pd.DataFrame(
        {"first": [first for first, _ in came.values()], "duplicates": [again for _, again in came.values()]}, index=list(came)))
    heard, unread = _signals(context, run, folder)
    whole = Study(
        run=run, ingest=found, parts=breakdown([one.parts for one in judged], run.window),
        violations=correctness.violations(one.breaches for one in judged), sent=sent,
        misrouted={"sent": sums["sent"], "misrouted": sums["misrouted"]}, drops=overhead.drops(found.sums),
        traffic=overhead.totals(found.sums), repairs=tree.repairs(tables), seeking_times=tree.seeking_times(tables),
        outages=waits, links=tree.link_changes(tables), shape=shape,
        deliveries={"remote": sums["remote"], "local": sums["local"], "duplicates": found.counts.get("duplicate", 0)},
        lives=spans.lives, contacts=spans.contacts, tree_links=spans.tree_links, tree_ends=spans.tree_ends, standings=_standings(tables), moves=moves,
        recoveries=recovery.recoveries(tables), heard=heard,
        unrecorded=unrecorded.unrecorded(named), odd=_odd(tables, sums), notes=[])
    _keep(whole.outages, folder, "outages")
    if moves is not None:
        _keep(moves, folder, "moves")
    whole.notes = [*run.notes, *lives.notes(run, cut), *lives.unheard(run, found, spans.lives, cut),
                   *unrecorded.notes(whole.unrecorded, run.hosts), *_notes(whole), *unread, *frames,
                   *incidents.incidents(found.sums, run.hosts)]
    return whole


def _known(run: Run, found: Ingest, spans: intervals.Intervals, cut: pd.DataFrame, hosts: int, attached: pd.DataFrame | None,
           end: float) -> Known:
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
                 ContactGraph.of(spans.radio_links, hosts),
                 Forest(links, spans.tree_ends), Standings(_standings(tables)), evidence.evidence(run, found, spans, cut), ends,
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


def _signals(context: Context, run: Run, folder: Path) -> tuple[signals.Heard | None, list[str]]:
    """Write the table of signals where captures have any; what they told, and notes on what was not read."""
    captures, notes = signals.captured(run)
    if not captures:
        return None, notes
    found = signals.signals(context, run, captures, folder)
    return found, [*notes, *signals.broken_off(found, run.ended)]


def _standings(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return tables["tree_state"].sort_values(["node", "t", "line"], ignore_index=True).drop(columns="line")


def _odd(tables: dict[str, pd.DataFrame], sums: Counter[str]) -> dict[str, Any]:
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
        notes.append(f"{early} deliveries are recorded before their publication: clocks or records are wrong, and so are latencies")
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
        notes.append(f"{lines} lines of the logs are not records{torn} (in {some(sorted(found.malformed))})")
    if found.odd:
        told = [f"{what} ({n})" for what, n in sorted(found.odd.items())]
        notes.append(f"records with unknown or missing fields, as from another version, count by their known fields: {some(told)}")
    if found.astray:
        told = [f"{file} of {'the world' if nodes == [-1] else f'nodes {some(nodes)}'}" for file, nodes in sorted(found.astray.items())]
        notes.append(f"{found.strayed} lines are in the file of another node and were left out: {some(told)}")
    if found.back:
        told = [f"{file} ({times} times)" for file, times in sorted(found.back.items())]
        notes.append(f"times step back by more than {portion.STEP:g} s within {some(told)}: these may be two logs in one file, "
                     "and what both record counts twice")
    if run.in_order and found.last > run.ended + 1:
        notes.append(f"records go on until {found.last:g} s, past the run's end at {run.ended:g} s")
    quiet = found.untold.get("traffic", [])
    if quiet and found.counts:
        notes.append(f"{len(quiet)} hosts that left records did not report their traffic ({some(quiet)}): the overhead leaves out "
                     "what they sent")
    return notes


def _contradictions(whole: Study) -> list[str]:
    notes, odd = [], whole.odd
    lifeless = sorted(set(whole.ingest.nodes) - set(map(int, whole.lives["node"])))
    if lifeless:
        notes.append(f"{len(lifeless)} hosts left records but none of a start ({some(lifeless)}): they count as down throughout")
    if headless := sorted(set(whole.ingest.untold.get("node_started", ())) - set(lifeless)):
        notes.append(f"records of {len(headless)} hosts begin behind the start of their life ({some(headless)}): what they did before is unknown, "
                     "and counts as lost or as never sent")
    notes += _apart(whole)
    if odd["twice"]:
        notes.append(f"{odd['twice']:,} events were published more than once under one name, as by two hosts with one id or in "
                     "duplicate records; the first counts")
    if odd["foreign"]:
        notes.append(f"{odd['foreign']:,} events were published at another host than their names say; that host counts")
    if odd["doubled"]:
        notes.append(f"{odd['doubled']:,} events have an attribute more than once: each of its values counts")
    if odd["links"]:
        notes.append(f"{odd['links']:,} changes of tree links name a link between other hosts than the two that they are about: the link "
                     "counts as between those two")
    if odd["misfits"]:
        notes.append(f"{odd['misfits']:,} filter constraints have values of the wrong type for their operator, too few or too "
                     "many: a value of the wrong type satisfies nothing, and of too many the first counts")
    if odd["operators"]:
        notes.append(f"filters have unknown operators ({some(odd['operators'])}): nothing satisfies these")
    if odd["filters"]:
        notes.append(f"{odd['filters']:,} filters were recorded in different ways under one hash; one of these counts")
    if len(odd["versions"]) > 1:
        notes.append(f"the nodes ran different versions: {some(odd['versions'])}")
    return notes


def _apart(whole: Study) -> list[str]:
    """Hosts of a field that their wall clocks alone put wholly beside the time of the others."""
    notes, lived = [], whole.lives
    for host in whole.run.unplaced:
        own, others = lived[lived["node"] == host], lived[~lived["node"].isin(whole.run.unplaced)]
        if len(own) and len(others) and (own["down"].max() < others["up"].min() or own["up"].min() > others["down"].max()):
            notes.append(f"host {host} heard no other host, and by its wall clock it ran {'before' if own['down'].max() < others['up'].min() else 'after'} "
                         "the others: if that clock was wrong, its share of events and deliveries is missing here. The duration "
                         "spans its time and that of the others; collect the records again, which leaves out such a host")
    return notes


def _class(parts: Breakdown, name: str) -> dict[str, Any]:
    rows = parts.classes[parts.classes["class"] == name]
    empty: dict[str, Any] = {"expected": 0, "delivered": 0, "reachable": 0, "repeats": 0, "impossible": 0, "recovered": 0, "early": 0,
             "hops_sum": math.nan, "percentiles": None}
    return rows.iloc[0].to_dict() if len(rows) else empty


def _facts(whole: Study) -> list[object]:
    """The groups that metrics are computed from; what this run cannot give is left out."""
    run, known, counted = whole.run, whole.run.radio_known, _class(whole.parts, "counted")
    local, reasons = _class(whole.parts, "local"), whole.parts.reasons.groupby("reason")["expected"].sum()
    told = whole.ingest.counts.get("traffic", 0) > 0
    messages, octets = (int(whole.sent[column].sum()) if told else math.nan for column in ("messages", "bytes"))
    groups: list[object] = [
        delivered(counted, known),
        Beside(int(local["expected"]), int(local["delivered"]), int(_class(whole.parts, "node_down")["expected"]),
               int(whole.unrecorded["missing"].sum())),
        Lost({str(reason): int(pairs) for reason, pairs in reasons.items()}),
        Breaches(**{violation.name: violation.deliveries for violation in whole.violations}),
        Sent(whole.deliveries["remote"], messages, octets, len(run.hosts) - len(run.silent), run.ended),
        Cost(overhead.cost(whole.sent, run.treeless), sum(whole.links.lost.values()), whole.misrouted["sent"],
             whole.misrouted["misrouted"], whole.deliveries["duplicates"], whole.traffic["airtime"], run.ended),
        signals.facts(whole.heard), roaming.facts(whole.moves, whole.sent, whole.ingest.counts),
        recovery.facts(whole.recoveries, whole.sent)]
    if not run.treeless:
        groups += [Repairs(_ended(whole.repairs, "repair")),
                   Tree(_ended(whole.repairs, "merge"), whole.links.elections, whole.links.gained, whole.seeking_times)]
    if not run.treeless and known:
        groups += [outages.waits(whole.outages),
                   Shape(whole.shape["radio_pairs"].to_numpy(), whole.shape["tree_pairs"].to_numpy())]
    return [group for group in groups if group is not None]


def delivered(counts: Mapping[str, Any], radio_known: bool) -> Delivered:
    """From a row of one of the frames of Breakdown."""
    return Delivered(int(counts["expected"]), int(counts["delivered"]), counts["reachable"] if radio_known else math.nan,
                     int(counts["impossible"]) if radio_known else 0, counts["percentiles"], counts.get("hops_sum", math.nan),
                     int(counts.get("recovered", 0)))


def _ended(repairs: pd.DataFrame, cause: str) -> int:
    """How many by joining."""
    return int(repairs[(repairs["cause"] == cause) & (repairs["outcome"] == "joined")]["count"].sum())
