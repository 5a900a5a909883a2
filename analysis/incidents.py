"""What a run's records tell beside delivery and a reader of the numbers must know: a line each, with counts.

Shared identities, limits that were reached, full queues, tables that had to be healed, links that were given
up. Records are few or none of each; only kinds that were met are asked for.
"""
from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SHOWN = 5  # names in a line


def incidents(tables: dict[str, DataFrame], counts: dict[str, int], hosts: dict[int, str]) -> list[str]:
    """A note for each kind that was met. `counts`: records by kind; `hosts`: their names."""
    told = [tell(tables[kind], hosts) for kind, tell in _TELL.items() if counts.get(kind)]
    return [note for note in told if note is not None]


def _identities(table: DataFrame, hosts: dict[int, str]) -> str:
    found = table.groupBy("other").agg(F.count("*").alias("n"), F.collect_set("node").alias("by"),
                                       F.array_distinct(F.flatten(F.collect_list("epochs"))).alias("epochs")).toPandas()
    told = [f"{_name(row.other, hosts)} (id {row.other}, boot epochs {_some(sorted(row.epochs))}; "
            f"met by {_names(row.by, hosts)}, {_times(row.n)})" for row in found.sort_values("other").itertuples()]
    return f"two living nodes used one identity: {_some(told)}"


def _refused(table: DataFrame, hosts: dict[int, str]) -> str:
    # an event's, a link's or a client's own name says nothing here and would make every line another
    what = F.regexp_replace("what", r"\S*\d\S*", "…")
    found = (table.groupBy(what.alias("what"), "limit").agg(F.count("*").alias("n"), F.collect_set("node").alias("by"))
             .toPandas().sort_values(["n", "what"], ascending=[False, True]))
    told = [f"{row.what} (limit {row.limit}; {_times(row.n)} at {_names(row.by, hosts)})" for row in found.itertuples()]
    return f"limits of nodes turned something away: {_some(told)}"


def _queues(table: DataFrame, hosts: dict[int, str]) -> str:
    found = table.groupBy("message").agg(F.count("*").alias("n"), F.collect_set("node").alias("by")).toPandas()
    by = {host for some in found["by"] for host in some}
    told = [f"{row.message} ({row.n})" for row in found.sort_values("n", ascending=False).itertuples()]
    return f"full queues of channels refused {int(found['n'].sum())} messages at {_names(by, hosts)}: {_some(told)}"


def _radios(table: DataFrame, hosts: dict[int, str]) -> str:
    found = table.groupBy("host").agg(F.sum("frames").alias("n")).toPandas()
    return f"full transmit queues of radios turned away {int(found['n'].sum())} frames of {_names(found['host'], hosts)}"


def _healed(table: DataFrame, hosts: dict[int, str]) -> str:
    row = _sums(table, added="added", removed="removed")
    return (f"digests found a subscription table wrong and healed it {_times(row['n'])} at {_names(row['by'], hosts)} "
            f"({row['added']} filters added, {row['removed']} removed)")


def _abandoned(table: DataFrame, hosts: dict[int, str]) -> str:
    row = _sums(table)
    return f"the tree gave up replacing a lost link {_times(row['n'])} at {_names(row['by'], hosts)}"


def _interfaces(table: DataFrame, hosts: dict[int, str]) -> str | None:
    found = (table.where("state != 'up'").groupBy("state").agg(F.count("*").alias("n"), F.collect_set("node").alias("by"))
             .toPandas().sort_values("state"))
    told = [f"{row.state} {_times(row.n)} at {_names(row.by, hosts)}" for row in found.itertuples()]
    return f"interfaces were not as they should: {_some(told)}" if told else None


def _unwritten(table: DataFrame, hosts: dict[int, str]) -> str:
    row = _sums(table, records="records")
    return f"{row['records']:,} records could not be written at {_names(row['by'], hosts)}: what they would tell is missing"


def _slow_disks(table: DataFrame, hosts: dict[int, str]) -> str:
    row = table.agg(F.collect_set("node").alias("by"), F.max("seconds").alias("worst")).toPandas().iloc[0]
    return f"the disk took up to {row['worst']:.1f} s to sync at {_names(row['by'], hosts)}: a power cut may have cost as much"


def _sums(table: DataFrame, **columns: str) -> pd.Series:
    return table.agg(F.count("*").alias("n"), F.collect_set("node").alias("by"),
                     *[F.sum(column).alias(name) for name, column in columns.items()]).toPandas().iloc[0]


_TELL = {"identity_conflict": _identities, "refused": _refused, "queue_overflow": _queues, "radio_overflow": _radios,
         "table_healed": _healed, "link_abandoned": _abandoned, "interface": _interfaces,
         "records_lost": _unwritten, "slow_sync": _slow_disks}


def _name(host: int, hosts: dict[int, str]) -> str:
    return hosts.get(host, str(host))


def _names(ids, hosts: dict[int, str]) -> str:
    return "host" + ("s " if len(set(ids)) > 1 else " ") + _some([_name(int(i), hosts) for i in sorted(set(ids))])


def _some(told: Sequence) -> str:
    return ", ".join(map(str, told[:SHOWN])) + (f" and {len(told) - SHOWN} more" if len(told) > SHOWN else "")


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"
