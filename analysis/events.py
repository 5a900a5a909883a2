"""All that names an event, brought together event by event and judged: one Spark job, the second of an analysis."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.event import TOLD, events, named
from analysis.judge import Found, Judge, Known
from analysis.local import Context

TOGETHER = 200_000  # records that name events, for a task that judges; it holds them in memory
ROWS = 50_000  # of a table that are read at once

Told = tuple[str, pa.Table]  # a kind and some of its records, as event.named has them


def judge(context: Context, known: Known, counts: dict[str, int], folder: Path) -> list[Found]:
    """Judge all events of the tables in `folder` and write `outcomes.parquet` there; what each task found.

    `counts`: records by kind. Every task has the whole of its events and a copy of `known`.
    """
    kinds = [kind for kind in TOLD if counts.get(kind)]
    files = [(kind, str(path)) for kind in kinds for path in sorted((folder.resolve() / f"{kind}.parquet").iterdir())]
    out = folder.resolve() / "outcomes.parquet"
    out.mkdir()
    shared = context.broadcast(known)
    tasks = -(-sum(counts[kind] for kind in kinds) // TOGETHER)

    def judged(part: int, told: Iterable[Told]) -> list[Found]:
        verdict = Judge(shared.value).judge(events(told))
        pq.write_table(verdict.outcomes, out / f"part-{part}.parquet")
        return [verdict.found]

    if tasks <= 1:  # nothing to bring together
        told = context.parallelize([files], 1).flatMap(lambda few: (one for file in few for one in _read(*file)))
    else:
        told = (context.parallelize(files, min(len(files), 4 * context.defaultParallelism))
                .flatMap(lambda file: _scattered(*file, tasks)).partitionBy(tasks, int).values())
    found = told.mapPartitionsWithIndex(judged).collect()
    shared.unpersist()
    return found


def _read(kind: str, path: str) -> Iterator[Told]:
    with open(path, "rb") as file:
        for batch in pq.ParquetFile(file).iter_batches(ROWS):
            yield kind, named(pa.Table.from_batches([batch]), kind)


def _scattered(kind: str, path: str, tasks: int) -> Iterator[tuple[int, Told]]:
    """The records of a file by the task that judges their events."""
    for _, table in _read(kind, path):
        parts = table["event"].combine_chunks().dictionary_encode()
        to = np.array([_task(name, tasks) for name in parts.dictionary.to_pylist()], dtype=np.int64)[parts.indices.to_numpy()]
        for task in np.unique(to):
            yield int(task), (kind, table.filter(pa.array(to == task)))


def _task(event: str, tasks: int) -> int:
    """Which task judges an event; every process finds the same."""
    source, epoch, number = map(int, event.split("."))
    return (31 * source + epoch + number) % tasks


def added(found: Sequence[Found]) -> tuple[Counter[str], dict[tuple[int, int], tuple[int, int, int]], dict[int, tuple[float, int]]]:
    """`sums`, `lives` and `came` of all tasks together."""
    sums: Counter[str] = Counter()
    lives: dict[tuple[int, int], tuple[int, int, int]] = {}
    came: dict[int, tuple[float, int]] = {}
    for one in found:
        sums.update(one.sums)
        for life, (highest, published, delivered) in one.lives.items():
            known = lives.get(life, (0, 0, 0))
            lives[life] = (max(known[0], highest), known[1] + published, known[2] + delivered)
        for row, (first, again) in one.came.items():
            before = came.get(row, (np.inf, 0))
            came[row] = (min(before[0], first), before[1] + again)
    return sums, lives, came
