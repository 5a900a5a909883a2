"""Where lives ended of which no record says so: a plug was pulled, a disk was full, a process was killed.

Such a life is taken to have ended with its last record. It is over at the latest when the host starts again; and
where a run did not come to an end of its own, or nobody knows its end, as in a field, also without that. A world
that tells of its hosts (`host_up`, `host_down`) knows better, as long as it lived itself.
"""
from __future__ import annotations

import math

import pandas as pd

from analysis.ingest import Ingest
from analysis.run import Run, some

HOLE = 3.0  # of these intervals between two such reports: some are missing, or the host stood still
WORLD_QUIET = 3.0  # s that a world may be without a record if it tells of its radio each second ...
MEDIA = ("sim", "netns")  # ... as these do
QUIET = 2.0  # intervals of its reports on traffic that a living node may be without a record, with some to spare
CUT = ["node", "epoch", "t", "back"]


def cut_short(run: Run, found: Ingest) -> pd.DataFrame:
    """`node`, `epoch`, `t` (s: the last record of a life without an end), `back` (when the host's next life began, or nan)."""
    told = found.counts.get("host_up", 0) > 0
    kept = run.in_order and run.world != "field"  # then what lives at the end lives until the run's
    if told and kept or not found.counts.get("node_started"):
        return pd.DataFrame(columns=CUT).astype({"node": "int64", "epoch": "int64", "t": float, "back": float})
    tables = found.tables
    marks = pd.concat([tables["node_started"].assign(starts=True), tables["node_stopped"].assign(starts=False)])
    marks = marks[["node", "t", "line", "epoch", "starts"]].sort_values(["node", "line"], ignore_index=True)
    marks = marks.merge(_downs(tables) if told else pd.DataFrame({"node": marks["node"].unique(), "downed": -1.0}), how="left")
    after = marks.groupby("node")[["starts", "t", "line"]].shift(-1)
    last = after["starts"].isna()
    over = marks["downed"] >= marks["t"]  # the world told of its end
    cut = marks["starts"] & ~over & (last & (not kept) | (after["starts"].eq(True) & (not told)))
    spans = marks[cut].assign(back=after["t"][cut], until=after["line"][cut])
    if spans.empty:
        return spans.assign(t=0.0)[CUT]
    ends = _last_records(spans, found.segments)
    spans = spans.assign(t=[min(ends[node, line], back) if back == back else ends[node, line]
                            for node, line, back in zip(spans["node"], spans["line"], spans["back"], strict=True)])
    return spans[CUT].reset_index(drop=True)


def _downs(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """`node`, `downed`: when the world took the host down last, s."""
    return (tables["host_down"].groupby("host", as_index=False)["t"].max()
            .rename(columns={"host": "node", "t": "downed"}))


def _last_records(spans: pd.DataFrame, segments: pd.DataFrame) -> dict[tuple[int, tuple[int, int]], float]:
    """(node, first line) of each span -> the time of its last record. Spans go by lines: times of two lives may overlap."""
    of = {node: list(zip(own["line"], own["last"], strict=True)) for node, own in segments.groupby("node")}
    return {(span.node, span.line): max(last for line, last in of[span.node] if span.line <= line
                                        and not (isinstance(span.until, tuple) and line >= span.until))
            for span in spans.itertuples()}


def notes(run: Run, cut: pd.DataFrame) -> list[str]:
    """What a reader must know of lives that were taken to end with their last record. `run` has its end."""
    early = cut[(cut["t"] < run.ended - _quiet(run)) | cut["back"].notna()]
    if early.empty:
        return []
    told = [f"host {row.node}'s records end at {row.t:.1f} s of {run.ended:.1f} s"
            + (f", and it is back at {row.back:.1f} s" if row.back == row.back else "")
            for row in early.sort_values(["t", "node"]).itertuples()]
    return [f"lives without a recorded end ({len(early)}), as after a power cut or in a file that was cut off, are taken to end with "
            f"their last record: {some(told)}; until a host is back, nothing is expected at its clients"]


def unheard(run: Run, found: Ingest, lives: pd.DataFrame, cut: pd.DataFrame) -> list[str]:
    """Notes on hosts that lived on, as the world or the run's end in order tells, and whose records break off before: of a
    file that was cut. `lives`: `node`, `up`, `down`. `run` has its end."""
    world = found.lasts.get(-1)
    reports = run.world in MEDIA or found.counts.get("radio_traffic", 0) > 0
    lost = world is not None and reports and world < run.ended - WORLD_QUIET
    missing = [f"the world's records end at {world:.1f} s of {run.ended:.1f} s: what the radio and the hosts did later is unknown, and "
               "what was up counts as up to the end"] if lost else []
    if run.treeless:
        return missing  # without beacons a host may have nothing to report
    ended = lives.groupby("node")["down"].max().to_dict()
    told = [f"host {host}'s records end at {last:.1f} s of {ended[host]:.1f} s" for host, last in broken_off(run, found, lives, cut).items()]
    notes = missing + [f"records of hosts that lived on break off ({len(told)}): {some(told)}; what they received and sent later is "
            "unknown, and counts as lost or as never sent"] * bool(told)
    reporting = _reporting(run, found)
    holes = [f"host {host} ({times} times, {longest:.1f} s at most)" for host, (times, longest) in sorted(found.holes.items())
             if host in reporting]
    if holes:
        notes.append(f"hosts stopped reporting their traffic for a while: {some(holes)}; they stood still, "
                     "or some of their records are missing, and what they did then is unknown")
    return notes


def broken_off(run: Run, found: Ingest, lives: pd.DataFrame, cut: pd.DataFrame) -> dict[int, float]:
    """Host that lived on -> when its records end (s), where it would have reported its traffic later."""
    ended = lives.groupby("node")["down"].max().to_dict()
    return {host: found.lasts[host] for host in sorted(_reporting(run, found) - set(cut["node"]))
            if found.lasts[host] < min(ended.get(host, 0.0), run.ended) - _quiet(run)}


def _reporting(run: Run, found: Ingest) -> set[int]:
    """Hosts that report their traffic."""
    return set(found.nodes) - set(found.untold.get("traffic", ())) - set(run.roaming)


def pause(run: Run) -> float:
    """s between two reports of a host on its traffic beyond which some are missing."""
    return math.inf if run.world == "field" else HOLE * _interval(run) + 1.0  # of a field `roamcast collect` has looked


def _quiet(run: Run) -> float:
    """s that a living node may be without a record at the end."""
    return QUIET * _interval(run)


def _interval(run: Run) -> float:
    """s between two reports of a host: it has something to report when it has sent a beacon."""
    node = run.scenario.get("node", {})
    given = [node.get(key) for key in ("traffic_interval", "hello_interval")]
    return max([float(value) for value in given if isinstance(value, int | float) and 0 < value <= 3600], default=1.0)
