"""What the network paid: messages, bytes and the papers' normalized cost per type, datagrams, airtime.

Types and their families are those of `node/schema/messages.toml`. A message in a reliable channel is
counted by the node under its own type each time it is put on the air; DATA is what carries it.
"""
from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.weights import weights
from node.schema import messages
from node.schema import records as record_kinds


def families() -> dict[str, str]:
    """Message type -> its family."""
    return {name: message.family for name, message in messages().items()}


def by_type(sums: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """`type`, `family`, `messages`, `bytes`, `filters` sent in the whole run, most bytes first. `sums`: Ingest.sums."""
    found = _added(sums["sent"], "type", {"messages": "int64", "bytes": "int64", "filters": float})
    known = families()
    found["family"] = [known.get(name, "other") for name in found["type"]]
    return found.sort_values(["bytes", "type"], ascending=[False, True], ignore_index=True)


def _added(parts: pd.DataFrame, key: str, columns: dict[str, type | str]) -> pd.DataFrame:
    """What the tasks counted, put together by `key`."""
    if parts.empty:
        return pd.DataFrame(columns=[key, *columns]).astype({key: object, **columns})
    return parts.groupby(key, as_index=False)[list(columns)].sum(min_count=1).astype(columns)


def normalized(sent: pd.DataFrame, misrouted: int) -> pd.Series:
    """The normalized cost of each row of `by_type`: table II (weights.py), which counts of events the misrouted.

    nan for a type that the table does not weigh, and where records lack the number of filters.
    """
    events = [name for name in ("TAGGED_EVENT", "EVENT") if (sent["type"] == name).any()]  # of one run all are the one or the other

    def cost(kind: str, messages: int, filters: float) -> float:
        if kind in events:
            return float(misrouted) if kind == events[0] else 0.0
        each, pattern = weights().get(kind, (np.nan, 0))
        return each * messages + (pattern * filters if pattern else 0)

    return pd.Series([cost(*row) for row in sent[["type", "messages", "filters"]].itertuples(index=False)], index=sent.index,
                     dtype=float)


def cost(sent: pd.DataFrame, treeless: bool) -> float:
    """The normalized cost of a run, from `by_type` with its column `cost`; nan without a tree, or when nothing was sent
    that the table weighs."""
    weighed = sent[sent["type"].isin(weights())]
    return float(weighed["cost"].sum(skipna=False)) if len(weighed) and not treeless else np.nan


def totals(sums: dict[str, pd.DataFrame]) -> dict[str, float]:
    """Datagrams sent and received by nodes, datagrams dropped, and what the medium carried (airtime in s).

    NaN for the airtime where no medium told of it: in a field, and where it is not ours.
    """
    medium, nodes = sums["radio_traffic"], sums["datagrams"]
    told = {name: medium[name].sum().item() if len(medium) else 0 for name in record_kinds()["radio_traffic"].fields}
    told |= {name: int(nodes[name].sum()) if len(nodes) else 0 for name in ("datagrams_sent", "datagrams_received")}
    told["datagrams_dropped"] = int(sums["dropped"]["datagrams"].sum()) if len(sums["dropped"]) else 0
    return told | {"airtime": float(told["airtime"]) if len(medium) else np.nan}


def drops(sums: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Why nodes dropped datagrams: `reason`, `datagrams`."""
    return _added(sums["dropped"], "reason", {"datagrams": "int64"}).sort_values(
        ["datagrams", "reason"], ascending=[False, True], ignore_index=True)
