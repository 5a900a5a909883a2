"""Publications that are known to have been made and are in no record: their numbers are missing.

A life numbers its events from one, without a gap. What is missing below the highest number that any record names was
published, and its record lost: with the last records before a power cut, on a full disk, with a file. No pair of such an
event can be expected, since what it said is not known, so the delivery ratio leaves them out; how many there are is
told. What was published after the highest number and came to nobody leaves no sign at all.
"""
from __future__ import annotations

import pandas as pd

from analysis.run import some


def unrecorded(lives: dict[tuple[int, int], tuple[int, int, int]]) -> pd.DataFrame:
    """A row a life that lacks any: `source`, `epoch`, `missing`, and `delivered`, how many of them came to some client.

    lives: (source, epoch) -> the highest number that a record names, how many were published, how many others delivered."""
    rows = [(*life, highest - published, delivered) for life, (highest, published, delivered) in sorted(lives.items())
            if highest > published]
    return pd.DataFrame(rows, columns=["source", "epoch", "missing", "delivered"])


def notes(found: pd.DataFrame, hosts: dict[int, str]) -> list[str]:
    """What a reader of the delivery ratio must know of them."""
    if found.empty:
        return []
    by_host = found.groupby("source")["missing"].sum()
    told = [f"{n:,} of host {hosts.get(int(host), host)}" for host, n in by_host.sort_values(ascending=False).items()]
    return [f"{int(found['missing'].sum()):,} publications are not on record ({some(told)}; their numbers are missing below the "
            f"highest known): the delivery ratio leaves them out, though {int(found['delivered'].sum()):,} of them "
            "reached clients; later ones that reached nobody are unknown"]
