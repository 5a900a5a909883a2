"""One run studied: from its log files to everything that the report and the summary show."""
from __future__ import annotations

import math
import shutil
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis import (
    correctness,
    delivery,
    incidents,
    intervals,
    lives,
    losses,
    outages,
    overhead,
    records,
    recovery,
    roaming,
    tree,
    unrecorded,
)
from analysis.breakdown import Breakdown, breakdown
from analysis.errors import AnalysisError
from analysis.expected import expected, filters, published
from analysis.matching import OPERATORS, matches
from analysis.misrouted import misrouted
from analysis.run import Run, settle, some
from analysis.signals import broken_off, captured, signals, strength
from analysis.weights import weights


@dataclass
class Study:
    """What is known of a run after the analysis. Frames are small: by bin, by reason, by second."""

    run: Run
    ingest: records.Ingest
    parts: Breakdown
    violations: list[correctness.Violation]
    sent: pd.DataFrame  # overhead.by_type, and `cost`: overhead.normalized
    misrouted: dict[str, int]  # misrouted.misrouted
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


def study(spark: SparkSession, run: Run) -> Study:
    """Analyse one run: write its tables, all or none, and return what they say. Raises AnalysisError."""
    growing = run.path / ".tables.part"
    try:
        for there in (run.tables, growing):
            if there.is_symlink() or there.exists() and not there.is_dir():
                raise AnalysisError(f"{there}: it is no folder, and the analysis writes its tables there; remove it")
        shutil.rmtree(growing, ignore_errors=True)  # of an analysis that was killed
        growing.mkdir()
        found = _studied(spark, run, growing)
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
        spark.catalog.clearCache()
        shutil.rmtree(growing, ignore_errors=True)


def _studied(spark: SparkSession, run: Run, folder: Path) -> Study:
    """`folder`: where the tables are written."""
    found = records.ingest(spark, run.logs, folder)
    run = settle(run, found.last)
    tables, end = found.tables, max(run.ended, found.last)
    cut = lives.cut_short(spark, run, found)
    with ThreadPoolExecutor(4) as pool:  # small jobs spend their time in being planned: let them overlap
        fields = {name: pool.submit(ask, tables) for name, ask in {
            "sent": overhead.by_type, "drops": overhead.drops, "traffic": overhead.totals, "repairs": tree.repairs,
            "seeking_times": tree.seeking_times, "links": tree.link_changes, "deliveries": _deliveries,
            "standings": _standings, "recoveries": recovery.recoveries, "odd": _odd}.items()}
        fields["unrecorded"] = pool.submit(unrecorded.unrecorded, tables, found.counts)
        told = pool.submit(incidents.incidents, tables, found.counts, run.hosts)
        spans = intervals.intervals(tables, end, cut)
        for name in ("lives", "radio_links", "contacts", "tree_links"):
            _keep(getattr(spans, name), folder, name)
        hosts = 1 + max([*run.hosts, *found.nodes, -1, int(spans.radio_links[["tail", "head"]].to_numpy().max(initial=-1))])
        attached = roaming.attachments(tables, spans.lives, end) if run.roaming or found.counts.get("moved_in") else None
        sessions = None if attached is None else roaming.sessions(tables, spans.lives, end)
        living, contacts = _brokers(run, spans.lives, spans.contacts, attached)
        fields["shape"] = pool.submit(tree.over_time, living, contacts, spans.tree_links, run.ended, hosts)
        fields["outages"] = pool.submit(outages.outages, spans.tree_links, contacts, living, end)
        fields["misrouted"] = pool.submit(misrouted, tables, attached, sessions)
        fields["moves"] = pool.submit(lambda: None if attached is None else roaming.moves(run, tables, attached))
        held = _spread(spark, spans.held, "node long, client string, hash string")
        events = published(tables).cache()
        matching = matches(events, filters(tables)).cache()
        fields["violations"] = pool.submit(correctness.check, tables, events, matching, held,
                                           lost=_lossy(run))
        should = expected(run, events, matching, _spread(spark, spans.wants, "node long, client string, hash string"),
                          held, _spread(spark, spans.lives, "node long")).cache()
        outcomes = delivery.outcomes(spark, run, should, tables, spans.radio_links, spans.tree_links, hosts,
                                     attached).cache()
        outcomes.write.parquet(str(folder.resolve() / "outcomes.parquet"))
        fields["parts"] = pool.submit(breakdown, run, outcomes)
        whole = Study(run=run, ingest=found, lives=spans.lives, contacts=spans.contacts, tree_links=spans.tree_links,
                      notes=[], signals={}, roaming={}, **{name: field.result() for name, field in fields.items()})
    whole.sent["cost"] = overhead.normalized(whole.sent, whole.misrouted["misrouted"])
    _keep(whole.outages, folder, "outages")
    whole.signals, unread = _signals(spark, run, folder)
    whole.roaming = roaming.numbers(whole.moves, whole.sent, tables)
    if whole.moves is not None:
        _keep(whole.moves, folder, "moves")
    whole.notes = [*run.notes, *lives.notes(run, cut), *lives.unheard(run, found, spans.lives, cut), *unrecorded.notes(whole.unrecorded, run.hosts), *_notes(whole), *unread,
                   *told.result()]
    return whole


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


def _spread(spark: SparkSession, frame: pd.DataFrame, key: str) -> DataFrame:
    """A frame of intervals as a DataFrame to join with."""
    return spark.createDataFrame(frame, f"{key}, up double, down double").cache()


def _signals(spark: SparkSession, run: Run, folder: Path) -> tuple[dict[str, float], list[str]]:
    """Write the table of signals where captures have any; what the summary says of them, and notes on what was not read."""
    captures, notes = captured(run)
    found = signals(spark, run, captures)
    if found is not None:
        found = found.cache()
        notes += broken_off(found)
        found = found.where("sender is not null")
        found.write.parquet(str(folder.resolve() / "signals.parquet"))
    return strength(found), notes


def _deliveries(tables: dict[str, DataFrame]) -> dict[str, int]:
    own = F.split("event", r"\.")[0].cast("long") == F.col("node")
    pairs = (tables["delivered"].select("node", "client", "event", own.alias("own")).distinct()
             .agg(F.sum((~F.col("own")).cast("int")).alias("remote"), F.sum(F.col("own").cast("int")).alias("local")))
    row = pairs.crossJoin(tables["duplicate"].agg(F.count("*").alias("duplicates"))).collect()[0]
    return {"remote": row.remote or 0, "local": row.local or 0, "duplicates": row.duplicates}


def _standings(tables: dict[str, DataFrame]) -> pd.DataFrame:
    return (tables["tree_state"].select("t", "line", "node", "leader", "seeking").toPandas()
            .sort_values(["node", "t"], kind="stable", ignore_index=True).drop(columns="line"))


def _odd(tables: dict[str, DataFrame]) -> dict[str, object]:
    """What contradicts itself or is not known here: `twice`, events published more than once; `foreign`, those that were
    published at another host than their name says; `operators` of constraints that nothing satisfies here; `filters` told
    in two ways under one hash; `versions` of the nodes."""
    events = tables["published"].groupBy("event").agg(
        F.count("*").alias("n"), F.max(F.split("event", r"\.")[0].cast("long") != F.col("node")).alias("foreign"))
    filters = tables["subscribed"].groupBy("hash").agg(F.count_distinct("constraints").alias("ways"))
    operators = tables["subscribed"].select(F.explode("constraints.op").alias("op")).distinct()
    row = (events.agg(F.count_if(F.col("n") > 1).alias("twice"), F.count_if(F.col("foreign")).alias("foreign"))
           .crossJoin(filters.agg(F.count_if(F.col("ways") > 1).alias("filters")))
           .crossJoin(operators.agg(F.collect_set("op").alias("operators")))
           .crossJoin(tables["node_started"].agg(F.collect_set("version").alias("versions"))).collect()[0])
    return row.asDict() | {"operators": sorted(set(row.operators) - OPERATORS), "versions": sorted(row.versions)}


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
    if whole.run.radio_known and counted["impossible"]:
        notes.append(f"{int(counted['impossible'])} deliveries are beyond the physical bound: a frame passed where the "
                     "world recorded no radio link (docs/analysis.md, \"The physical bound\")")
    return notes


def _about_logs(run: Run, found: records.Ingest) -> list[str]:
    """What in the log files is not as a run writes it."""
    notes = []
    if found.malformed:
        lines = sum(found.malformed.values())
        torn = f", {min(found.torn, lines)} of them a torn last line" if found.torn else ""
        notes.append(f"{lines} lines of the logs are no records{torn} (in {some(sorted(found.malformed))})")
    if found.astray:
        told = [f"{file} of {'the world' if nodes == [-1] else f'nodes {some(nodes)}'}" for file, nodes in sorted(found.astray.items())]
        notes.append(f"{found.strayed} lines stand in the file of another node and were left out: in {some(told)}")
    if found.back:
        told = [f"{file} ({times} times)" for file, times in sorted(found.back.items())]
        notes.append(f"times step back by more than {records.STEP:g} s within {some(told)}: these may be two logs in one file, "
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
    empty = {"expected": 0, "delivered": 0, "reachable": 0, "repeats": 0, "impossible": 0, "recovered": 0,
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
