"""From records of change to intervals: radio contacts, tree links, lives of hosts, subscriptions.

Every interval is closed, [up, down] in s. What is still open at the end of the run ends there. They are
small enough for every task to get a copy.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

_KEY = ["family", "a", "b", "name", "hash"]


class Intervals(NamedTuple):
    """Frames with `up` and `down`, and what they are of."""

    lives: pd.DataFrame  # `node`: its host was up
    radio_links: pd.DataFrame  # `tail`, `head`, two living hosts: head can receive what tail sends
    contacts: pd.DataFrame  # `i` < `j`: two-way radio between living hosts; a one-way link carries no channel
    tree_links: pd.DataFrame  # `link`, `i` < `j`: both ends, alive, held the tree link
    tree_ends: pd.DataFrame  # `link`, `near`, `far`: `near` held the tree link to `far`, or died with it and `far` held it
    wants: pd.DataFrame  # `node`, `client`, `hash`: what a client means to get, whether its host lives or not
    held: pd.DataFrame  # the same: what the node knew of it, in each life; may overlap


def intervals(tables: dict[str, pd.DataFrame], end: float, cut: pd.DataFrame | None = None) -> Intervals:
    """All intervals of a run that ended at `end` s. `cut`: lives that ended without a word, as lives.cut_short finds them."""
    changes = _changes(tables)
    if cut is not None and len(cut):
        changes.append(_rows(cut[["node", "t"]], "life", False, a="node"))
    told = _rows(tables["subscribed"], "told", a="node", name="client", hash="hash")
    told = told.assign(up=told["t"], down=told["t"])
    whole = pd.concat([_paired(pd.concat(changes), end), told[[*_KEY, "up", "down"]]], ignore_index=True)
    return put_together(whole.astype({"a": "int64", "b": "int64", "up": float, "down": float}))


def put_together(found: pd.DataFrame) -> Intervals:
    """From `family`, `a`, `b`, `name`, `hash`, `up`, `down`, a row a rise with the fall that follows it, and a row a
    subscription as it was told to the node (family told, `up` and `down` the moment)."""
    def family(which: str, **columns: str) -> pd.DataFrame:
        return found[found["family"] == which][[*columns, "up", "down"]].rename(columns=columns)

    lives = family("life", a="node").sort_values(["node", "up"], ignore_index=True)
    wants = family("want", a="node", name="client", hash="hash")
    radio = _within(_within(family("radio", a="tail", b="head"), "tail", lives), "head", lives)
    ends = family("tree", a="near", b="far", name="link")
    return Intervals(lives, radio, _contacts(radio), _tree_links(ends.rename(columns={"near": "i", "far": "j"}), lives),
                     _ends(ends, lives), wants,
                     _held(family("told", a="node", name="client", hash="hash"), wants, lives))


def _changes(tables: dict[str, pd.DataFrame]) -> list[pd.DataFrame]:
    """Every rise and fall: `family`, `a`, `b`, `name`, `hash` (together its key), `t`, `line`, `rises`."""
    stops = pd.concat([tables["host_down"].rename(columns={"host": "who"})[["who", "t"]],
                       tables["node_stopped"].rename(columns={"node": "who"})[["who", "t"]]])
    # taken back in the very instant that the node stops: the host's end, not the client's will
    taken = tables["unsubscribed"]
    ended = set(zip(stops["who"], stops["t"], strict=True))
    willed = taken[np.array([moment not in ended for moment in zip(taken["node"], taken["t"], strict=True)], dtype=bool)]
    radio, tree = {"a": "from", "b": "to"}, {"a": "node", "b": "neighbor", "name": "link"}
    want = {"a": "node", "name": "client", "hash": "hash"}
    return [
        # lives: from the world's word where there is one (it also knows of crashes), else from the node's
        _rows(tables["host_up"], "life", True, a="host"), _rows(tables["host_down"], "life", False, a="host"),
        _rows(tables["node_started"], "life", True, a="node"), _rows(tables["node_stopped"], "life", False, a="node"),
        _rows(tables["radio_up"], "radio", True, **radio), _rows(tables["radio_down"], "radio", False, **radio),
        _rows(tables["link_gained"], "tree", True, **tree), _rows(tables["link_lost"], "tree", False, **tree),
        _rows(tables["subscribed"], "want", True, **want), _rows(willed, "want", False, **want)]


def _rows(table: pd.DataFrame, family: str, rises: bool = True, **key: str) -> pd.DataFrame:
    columns: dict[str, object] = {"family": family, "a": -1, "b": -1, "name": "", "hash": ""}
    columns |= {column: table[field] for column, field in key.items()}
    # a life is told in two files: within an instant its end comes before the next one's start
    line = [(int(rises), 0)] * len(table) if family == "life" else table["line"]
    return pd.DataFrame({**columns, "t": table["t"], "line": line, "rises": rises}, index=table.index)


def _paired(changes: pd.DataFrame, end: float) -> pd.DataFrame:
    """Each rise with the fall that follows it; repeated rises or falls change nothing."""
    ordered = changes.sort_values([*_KEY, "t", "line"], ignore_index=True)
    turns = ordered[ordered["rises"] != ordered.groupby(_KEY)["rises"].shift(1, fill_value=False)]
    turns = turns.assign(up=turns["t"], down=np.minimum(turns.groupby(_KEY)["t"].shift(-1, fill_value=end), end))
    return turns[turns["rises"] & (turns["t"] <= end)][[*_KEY, "up", "down"]]


def _contacts(directed: pd.DataFrame) -> pd.DataFrame:
    there = directed[directed["tail"] < directed["head"]].rename(columns={"tail": "i", "head": "j"})
    back = directed[directed["tail"] > directed["head"]].rename(columns={"tail": "j", "head": "i"})
    return meet(there.merge(back, on=["i", "j"], suffixes=("", "2")), "up2", "down2")


def _tree_links(ends: pd.DataFrame, lives: pd.DataFrame) -> pd.DataFrame:
    low = ends[ends["i"] < ends["j"]]
    high = ends[ends["i"] > ends["j"]][["link", "up", "down"]]
    both = meet(low.merge(high, on="link", suffixes=("", "2")), "up2", "down2")
    return _lived(_lived(both[both["up"] < both["down"]], "i", lives), "j", lives)[["link", "i", "j", "up", "down"]]


def _ends(ends: pd.DataFrame, lives: pd.DataFrame) -> pd.DataFrame:
    """Each end's hold of a link. One that died with it has it for as long as the other does not know: a way still leads there."""
    lived = _lived(ends, "near", lives)[["link", "near", "far", "up", "down"]]
    other = lived[["link", "near", "down"]].rename(columns={"near": "far", "down": "known"})
    both = lived.merge(other, on=["link", "far"], how="left")
    died = both.merge(lives.rename(columns={"node": "near", "down": "died"})[["near", "died"]].assign(dead=True),
                      left_on=["near", "down"], right_on=["near", "died"], how="left")["dead"].notna().to_numpy()
    both["down"] = np.where(died, np.fmax(both["down"], both["known"]), both["down"])
    return both.drop(columns="known")


def _held(told: pd.DataFrame, wants: pd.DataFrame, lives: pd.DataFrame) -> pd.DataFrame:
    """A want, in each life of the host in which it was told to the node."""
    key = ["node", "client", "hash"]
    at = told[[*key, "up"]].drop_duplicates().rename(columns={"up": "at"})
    at = at.merge(wants, on=key)
    at = at[at["at"].between(at["up"], at["down"])].rename(columns={"down": "until"}).drop(columns="up")
    at = at.merge(lives, on="node")
    at = at[at["at"].between(at["up"], at["down"])]
    return at[key].assign(up=at["at"], down=np.minimum(at["down"], at["until"])).reset_index(drop=True)


def meet(links: pd.DataFrame, up: str, down: str) -> pd.DataFrame:
    """The parts of the intervals that lie in [`up`, `down`] too; these two columns go."""
    both = links.assign(up=np.maximum(links["up"], links[up]), down=np.minimum(links["down"], links[down]))
    return both[both["up"] <= both["down"]].drop(columns=[up, down])


def _lived(links: pd.DataFrame, host: str, lives: pd.DataFrame) -> pd.DataFrame:
    """The intervals as far as the life of `host` went in which they began: with it goes what it held."""
    lived = lives.rename(columns={"node": host, "up": "born", "down": "died"})
    both = links.merge(lived, on=host)
    return meet(both[both["up"].between(both["born"], both["died"])], "born", "died").reset_index(drop=True)


def _within(links: pd.DataFrame, host: str, lives: pd.DataFrame) -> pd.DataFrame:
    """The parts of the intervals in which `host` was up."""
    lived = lives.rename(columns={"node": host, "up": "born", "down": "died"})
    return meet(links.merge(lived, on=host), "born", "died").reset_index(drop=True)
