"""The data of the map and the time line: movement, links and leaders, packed for the page; journeys.py has losses and events.

Everything is intervals or waypoints in rounded integers (centiseconds, decimeters); the page draws
any moment from them, so nothing is sampled. What would make the page too heavy is left out and said.
"""
from __future__ import annotations

import numpy as np
import pandas as pd

import mobility
from analysis import figures
from analysis.journeys import journeys, left_out
from analysis.study import Study

MAX_LINKS = 300_000  # intervals of one sort that the page holds
MAX_WAYPOINTS = 1_000_000


def playback(whole: Study) -> tuple[dict[str, object], list[str], str]:
    """The data for templates/*.js, notes about what is left out, and why there is no map ("" where there is one).

    Times in 0.01 s, places in 0.1 m."""
    run = whole.run
    notes: list[str] = []
    ways, spans, no_map = _ways(whole)
    radio = whole.contacts
    if len(radio) > MAX_LINKS:
        notes.append(f"the map shows no radio links: the run had {len(radio):,}, the page holds {MAX_LINKS:,}")
        radio = radio.head(0)
    tree, leaders = whole.tree_links, _changes(whole.standings)
    if len(tree) > MAX_LINKS:
        notes.append(f"the map shows no tree links: the run had {len(tree):,}, the page holds {MAX_LINKS:,}")
        tree = tree.head(0)
    if len(leaders) > MAX_LINKS:
        notes.append(f"the map shows no leaders: they changed {len(leaders):,} times, the page holds {MAX_LINKS:,}")
        leaders = leaders.head(0)
    shown = [*([] if run.treeless else ["fragments"]), *(["partitions"] if run.radio_known else [])]
    events = journeys(whole)
    notes += left_out(events)
    return {
        "end": int(round(run.ended * 100)),
        "names": [run.hosts.get(i, str(i)) for i in range(max(len(ways), 1 + max(run.hosts, default=-1)))],
        "ways": ways, "present": spans, "box": _box(whole, ways),
        "lives": _rows(whole.lives, ["node"]),
        "radio": _rows(radio, ["i", "j"]), "tree": _rows(tree, ["i", "j"]),
        "leaders": _leaders(leaders),
        "shape": {name: whole.shape[name].astype(int).tolist() for name in shown},
        "ceiling": figures.ceiling(whole.shape[shown].max(axis=1).to_numpy(float)) if shown else None,
        "range": run.scenario.get("radio", {}).get("range"),
        "window": [int(round(t * 100)) for t in run.window], "treeless": run.treeless, **events,
    }, notes, no_map


def _ways(whole: Study) -> tuple[list[list[int]], list[list[int] | None], str]:
    """Per host a flat list t, x, y, t, x, y, ...; its spans of presence, or null for always; and why there is nothing."""
    path = whole.run.path / "trace.movements.gz"
    if not path.exists():
        return [], [], "No record says where the hosts were, so there is no map." if whole.run.world == "field" else \
            f"The run directory has no {path.name}, so there is no map: nothing says where the hosts were."
    try:
        movement = mobility.read(path, "bonnmotion")
    except (OSError, mobility.TraceError) as error:
        return [], [], f"There is no map, because the movement cannot be read: {error}"
    if sum(len(t.times) for t in movement.trajectories) > MAX_WAYPOINTS:
        return [], [], f"There is no map: the trace has more than {MAX_WAYPOINTS:,} waypoints."
    ways, spans = [], []
    for way in movement.trajectories:
        flat = np.column_stack([way.times * 100, way.points[:, :2] * 10])
        ways.append(np.rint(flat).astype(int).ravel().tolist())
        spans.append(None if way.always_present else np.clip(np.rint(way.lives * 100), 0, 1e9).astype(int).tolist())
    return ways, spans, ""


def _box(whole: Study, ways: list[list[int]]) -> list[int]:
    """What the map shows: left, bottom, right, top in 0.1 m."""
    if whole.run.area:
        return [0, 0, int(whole.run.area[0] * 10), int(whole.run.area[1] * 10)]
    if not ways:
        return [0, 0, 1000, 1000]
    x, y = np.concatenate([way[1::3] for way in ways]), np.concatenate([way[2::3] for way in ways])
    return [int(x.min()), int(y.min()), int(max(x.max(), x.min() + 10)), int(max(y.max(), y.min() + 10))]


def _rows(frame: pd.DataFrame, keys: list[str]) -> list[int]:
    """A flat list of keys, up, down (0.01 s), in the order of up."""
    ordered = frame.sort_values("up")
    times = np.rint(ordered[["up", "down"]].to_numpy(float) * 100)
    return np.column_stack([ordered[keys].to_numpy(), times]).astype(int).ravel().tolist()


def _changes(standings: pd.DataFrame) -> pd.DataFrame:
    """The rows at which a node's leader changed, or whether it seeks one, in the order of time."""
    before = standings.groupby("node")[["leader", "seeking"]].shift()
    changed = (before["leader"] != standings["leader"]) | (before["seeking"] != standings["seeking"])
    return standings[changed].sort_values("t", kind="stable")


def _leaders(rows: pd.DataFrame) -> list[int]:
    """A flat list of node, t (0.01 s), leader, seeking (0 or 1)."""
    return np.column_stack([rows["node"], np.rint(rows["t"].astype(float) * 100), rows["leader"],
                            rows["seeking"].astype(int)]).astype(int).ravel().tolist()
