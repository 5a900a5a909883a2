"""What a run's records tell beside delivery and a reader of the numbers must know: a line each, with counts.

Shared identities, limits that were reached, full queues, tables that had to be healed, links that were given
up. What is told of each kind the tasks have counted.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

SHOWN = 5  # names in a line


def incidents(counted: dict[str, pd.DataFrame], hosts: dict[int, str]) -> list[str]:
    """A note for each kind that was met. `counted`: how often, by node and what portion.COUNTED says; `hosts`: their names."""
    told = [tell(counted[kind], hosts) for kind, tell in _TELL.items() if len(counted[kind])]
    return [note for note in told if note is not None]


def _identities(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    told = [f"{_name(other, hosts)} (id {other}, boot epochs {_some(sorted({epoch for met in rows['epochs'] for epoch in met}))}; "
            f"met by {_names(rows['node'], hosts)}, {_times(rows['n'].sum())})" for other, rows in table.groupby("other")]
    return f"two running nodes used one identity: {_some(told)}"


def _refused(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    found = sorted(table.groupby(["what", "limit"]), key=lambda group: (-group[1]["n"].sum(), *group[0]))
    told = [f"{what} (limit {limit}; {_times(rows['n'].sum())} at {_names(rows['node'], hosts)})" for (what, limit), rows in found]
    return f"nodes refused something at a limit: {_some(told)}"


def _queues(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    found = table.groupby("message")["n"].sum().sort_values(ascending=False, kind="stable")
    told = [f"{message} ({n})" for message, n in found.items()]
    return f"full channel queues refused {table['n'].sum()} messages at {_names(table['node'], hosts)}: {_some(told)}"


def _radios(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    return f"full transmit queues of radios dropped {table['frames'].sum()} frames of {_names(table['host'], hosts)}"


def _healed(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    return (f"digests found a wrong subscription table and repaired it {_times(table['n'].sum())} at {_names(table['node'], hosts)} "
            f"({table['added'].sum()} filters added, {table['removed'].sum()} removed)")


def _abandoned(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    return f"the tree gave up replacing a lost link {_times(table['n'].sum())} at {_names(table['node'], hosts)}"


def _interfaces(table: pd.DataFrame, hosts: dict[int, str]) -> str | None:
    told = [f"{state} {_times(rows['n'].sum())} at {_names(rows['node'], hosts)}"
            for state, rows in table[table["state"] != "up"].groupby("state")]
    return f"interfaces changed: {_some(told)}" if told else None


def _unwritten(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    return f"{table['records'].sum():,} records could not be written at {_names(table['node'], hosts)}, and are missing"


def _slow_disks(table: pd.DataFrame, hosts: dict[int, str]) -> str:
    return (f"the disk took up to {table['seconds'].max():.1f} s to sync at {_names(table['node'], hosts)}: "
            "a power cut may have lost as much")


_TELL = {"identity_conflict": _identities, "refused": _refused, "queue_overflow": _queues, "radio_overflow": _radios,
         "table_healed": _healed, "link_abandoned": _abandoned, "interface": _interfaces,
         "records_lost": _unwritten, "slow_sync": _slow_disks}


def _name(host: int, hosts: dict[int, str]) -> str:
    return hosts.get(host, str(host))


def _names(ids: Iterable[int], hosts: dict[int, str]) -> str:
    return "host" + ("s " if len(set(ids)) > 1 else " ") + _some([_name(int(i), hosts) for i in sorted(set(ids))])


def _some(told: Sequence[object]) -> str:
    return ", ".join(map(str, told[:SHOWN])) + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else "")


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"
