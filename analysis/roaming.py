"""Clients that roam: when they were attached to whom, what each move cost, and how fast the client walked.

cugola-murphy-picco-mobile-environment, section 4, is the protocol (docs/roaming.md). A *device* is a host that is a
client only; it stands in the scenario's `workload.roam`, and everywhere else by the records that it leaves.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

import mobility
from analysis.facts import Roaming
from analysis.run import Run

# Messages of a move; ALIVE, SERVED, events and what they cost the routing (SUB, UNSUB) are not among them.
CONTROL = ("ATTACH", "ATTACHED", "MOVE_OUT", "MOVED_OUT", "WANT", "UNWANT", "MOVE_IN", "READY", "SETTLED", "STOP",
           "HANDED", "FETCH")
SPEEDS = (0.0, 0.5, 1.5, 3.0, 7.0, 15.0, math.inf)  # m/s: bounds of the classes in the report
ATTACHED = ["device", "broker", "link", "up", "down"]


def attachments(tables: dict[str, pd.DataFrame], lives: pd.DataFrame, end: float) -> pd.DataFrame:
    """`device`, `broker`, `link` ("@device-broker.turn"), `up`, `down`: when a device was attached to a broker."""
    return attached(_told(tables, "moved_in", "moved_out", ["turn", "broker"]), lives, end)


def attached(told: pd.DataFrame, lives: pd.DataFrame, end: float) -> pd.DataFrame:
    """`attachments` from `node`, `turn`, `t`, `broker` of `moved_in` (`rises`) and of `moved_out`."""
    rows = [(int(move.node), int(move.broker), f"@{int(move.node)}-{int(move.broker)}.{int(move.turn)}", move.t, down)
            for move, down in _spans(told, ["node"], lives, end)]
    return pd.DataFrame(rows, columns=ATTACHED).astype(
        {"device": "int64", "broker": "int64", "link": object, "up": float, "down": float})


def sessions(tables: dict[str, pd.DataFrame], lives: pd.DataFrame, end: float) -> pd.DataFrame:
    """`device`, `broker`, `up`, `down`: when a broker held the subscriptions of a device, attached or away."""
    return held(_told(tables, "session_opened", "session_closed", ["device"]), lives, end)


def held(told: pd.DataFrame, lives: pd.DataFrame, end: float) -> pd.DataFrame:
    """`sessions` from `node`, `device`, `t` of `session_opened` (`rises`) and of `session_closed`."""
    rows = [(int(one.device), int(one.node), one.t, down) for one, down in _spans(told, ["node", "device"], lives, end)]
    return pd.DataFrame(rows, columns=["device", "broker", "up", "down"]).astype(
        {"device": "int64", "broker": "int64", "up": float, "down": float})


def _told(tables: dict[str, pd.DataFrame], begins: str, ends: str, fields: list[str]) -> pd.DataFrame:
    columns = ["node", "t", *fields]
    return pd.concat([tables[begins][columns].assign(rises=True), tables[ends][columns].assign(rises=False)], ignore_index=True)


def _spans(told: pd.DataFrame, by: list[str], lives: pd.DataFrame, end: float) -> Iterator[tuple[Any, float]]:
    """Each row that rises, with the time (s) of the next of its group, or when its host's life or the run ended."""
    deaths = {node: own["down"].to_numpy(float) for node, own in lives.groupby("node")}
    for _, own in told.sort_values(["node", "t", "rises"], kind="stable").groupby(by):
        moves = list(own.itertuples(index=False))
        for place, move in enumerate(moves):
            if move.rises:
                later = [m.t for m in moves[place + 1:]][:1] + [t for t in deaths.get(move.node, ()) if t >= move.t] + [end]
                yield move, min(later)


def as_links(attached: pd.DataFrame) -> pd.DataFrame:
    """Attachments in the columns of tree links: an event's way ends, or begins, with one."""
    pair = attached[["device", "broker"]]
    return pd.DataFrame({"link": attached["link"], "i": pair.min(axis=1), "j": pair.max(axis=1), "up": attached["up"],
                         "down": attached["down"]})


def moves(run: Run, tables: dict[str, pd.DataFrame], attached: pd.DataFrame, came: pd.DataFrame) -> pd.DataFrame:
    """A row an attachment: `device`, `broker`, `at` (s), `moved` (there was another before), `away` (s since that),
    `speed` (m/s, nan where it is not known), `let_in` (s until READY), `waited` (a former broker did not answer in
    time), `first` (s until the first event), `fetched` (events from former brokers), `duplicates` (that came twice).

    `came` has for rows of `attached` (its index) what came meanwhile: `first` (s, when) and `duplicates`."""
    begun = tables["moved_in"][["node", "t", "turn", "away"]].rename(columns={"node": "device", "t": "at"})
    let = tables["let_in"][["node", "turn", "seconds", "waited"]].rename(columns={"node": "device", "seconds": "let_in"})
    found = attached.join(came).assign(turn=[int(link.rpartition(".")[2]) for link in attached["link"]]).rename(columns={"up": "at"})
    found["first"] -= found["at"]
    found = found.merge(begun, on=["device", "turn", "at"], how="left").merge(let, on=["device", "turn"], how="left")
    found = found.sort_values(["device", "at"], ignore_index=True)
    found["moved"] = found["device"].eq(found["device"].shift()) & found["broker"].ne(found["broker"].shift())
    found["waited"] = found["waited"].eq(True)
    taken, ways = tables["handoff"], _ways(run)
    rows = []
    for row in found.itertuples():
        of = taken[(taken["device"] == row.device) & (taken["node"] == row.broker) & taken["t"].between(row.at, row.down)]
        again = 0 if math.isnan(row.duplicates) else int(row.duplicates)
        rows.append((int(of["events"].sum()), int(of["duplicates"].sum()) + again, _speed(ways, row.device, row.at)))
    more = pd.DataFrame(rows, columns=["fetched", "duplicates", "speed"], index=found.index)
    return pd.concat([found.drop(columns="duplicates"), more], axis=1)[[
        "device", "broker", "at", "moved", "away", "speed", "let_in", "waited", "first", "fetched", "duplicates"]]


def facts(found: pd.DataFrame | None, sent: pd.DataFrame, counts: Mapping[str, int]) -> Roaming | None:
    """`found`: `moves`; None where no client roams. `sent`: overhead.by_type; `counts`: records by kind."""
    if found is None or found.empty:
        return None
    control = int(sent.loc[sent["type"].isin(CONTROL), "messages"].sum())
    return Roaming(found, control, counts.get("buffer_dropped", 0) + counts.get("publication_dropped", 0))


def by_speed(found: pd.DataFrame) -> list[dict[str, object]]:
    """For the report: moves by the client's speed, in the classes of SPEEDS; those of unknown speed last."""
    moved = found[found["moved"]]
    classes = pd.cut(moved["speed"], SPEEDS, right=False)
    rows = []
    for one in [*classes.cat.categories, None]:
        part = moved[classes == one] if one is not None else moved[moved["speed"].isna()]
        if part.empty:
            continue
        name = "not known" if one is None else (
            f"{one.left:g} and more" if math.isinf(one.right) else f"{one.left:g} to {one.right:g}")
        rows.append({"speed": name, "moves": len(part), "away": float(part["away"].median()),
                     "let_in": float(part["let_in"].median()), "first": float(part["first"].median()),
                     "first_p95": float(part["first"].quantile(0.95)), "fetched": float(part["fetched"].mean()),
                     "duplicates": float(part["duplicates"].mean()), "waited": int(part["waited"].sum())})
    return rows


def _ways(run: Run) -> mobility.Movement | None:
    try:
        return mobility.read(run.path / "trace.movements.gz", "bonnmotion")
    except (OSError, mobility.TraceError):
        return None


def _speed(ways: mobility.Movement | None, device: int, at: float) -> float:
    if ways is None or device >= len(ways):
        return math.nan
    return float(np.linalg.norm(ways.trajectories[device].velocity(at)))
