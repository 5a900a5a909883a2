"""The captures of a run in its tables: `tables/frames.parquet`, divided by capture, which `roamcast ingest` writes once.

Tasks read parts of captures and write parts of the table; only counts come back. Whether captures changed since is told by
analysis/stored.py's rule: by their sizes and times of change.
"""
from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pyarrow.parquet as pq
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from analysis import stored
from analysis.errors import AnalysisError
from analysis.frames import agree, source, table
from analysis.run import Run


class Frames(NamedTuple):
    """What was read of the captures of a run."""

    rows: int
    malformed: dict[str, int]  # what is wrong, in a word -> rows
    files: int
    notes: list[str]  # about files that were left out
    fresh: bool  # they were read now, and not before


def check(runs: Sequence[Run], version: str) -> list[str]:
    """What must be said before runs are ingested by this `version` of Roamcast. Raises AnalysisError for two of one id, and one that has no manifest."""
    ids: dict[tuple[object, ...], Run] = {}
    notes = []
    for run in runs:
        if not run.manifest:
            raise AnalysisError(f"{run.path}: has no manifest.json that can be read, so nobody knows what its files belong to; wait for "
                                "the run's end, or run it again")
        name = (run.name, run.world, run.seed, str(run.manifest.get("started")))
        if name in ids:
            raise AnalysisError(f"{run.path} and {ids[name].path} are one run ({run.name}, {run.world}, seed {run.seed}, started "
                                f"{name[3]}); give it once")
        ids[name] = run
        theirs = run.manifest.get("roamcast")
        if theirs is not None and theirs != version:
            notes.append(f"{run.path}: was recorded by version {str(theirs)[:40]} of Roamcast, and this is {version}: what only one of the "
                         "two knows is missing or named in notes")
    return notes


class Ingested(NamedTuple):
    """What was done to a run's tables."""

    records: bool  # they were read now, and not before
    frames: Frames
    notes: list[str]  # where frames and records disagree


def all_current(run: Run) -> bool:
    """Whether records and frames are as their files are now."""
    return stored.has_records(run) and stored.has_frames(run) and _compared(run)


def ingest(spark: SparkSession, run: Run) -> Ingested:
    """Bring the tables of a run up to date with its records and captures. Raises AnalysisError."""
    if read := not stored.has_records(run):
        with stored.growing(run) as folder:
            stored.records(spark.sparkContext, run, folder)
    found = frames(spark.sparkContext, run)
    if not _compared(run):  # who was interrupted does not read frames again
        told = agree.notes(agree.disagreements(spark, run, table_of(spark, run)))
        stored.write_state(run.tables, {**stored.state(run), "disagreements": told})
    return Ingested(read, found, stored.notes(run))


def _compared(run: Run) -> bool:
    found = stored.state(run)
    return not found.get("rows") or "disagreements" in found


def told(run: Run, found: Ingested) -> str:
    """What was ingested, in a few lines."""
    what = found.frames
    captures = f"{what.rows:,} frames of {what.files} captures" if what.files else "no captures"
    lines = [f"{run.path}: {'records' if found.records else 'records as before'}, {captures}{'' if what.fresh else ' as before'}"]
    return "\n".join([*lines, *(f"note: {note}" for note in (*what.notes, *found.notes))])


def frames(context: SparkContext, run: Run) -> Frames:
    """The captures of a run as its table of frames, unless they are already. Raises AnalysisError."""
    files, notes = stored.captures(run)
    before = stored.state(run)
    if stored.has_frames(run):
        return Frames(int(before["rows"]), dict(before["malformed"]), len(files), notes, False)
    signs, new = stored.signs(files), run.tables / ".frames.part"
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        found = _written(context, files, new)
        shutil.rmtree(run.tables / stored.FRAMES, ignore_errors=True)
        new.rename(run.tables / stored.FRAMES)
        rows, malformed = sum(count for count, _ in found), sum((bad for _, bad in found), Counter[str]())
        before.pop("disagreements", None)  # it was of other frames
        stored.write_state(run.tables, {**before, "captures": signs, "rows": rows, "malformed": dict(malformed)})
    except OSError as error:
        raise AnalysisError(f"{run.tables}: cannot be written: {error.strerror}; frames are stored there") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Frames(rows, dict(malformed), len(files), notes, True)


def _written(context: SparkContext, files: Sequence[Path], folder: Path) -> list[tuple[int, Counter[str]]]:
    """One job: each task writes its part of the table. Returns for each its rows, and those that are malformed by a word."""
    tasks = list(enumerate(source.cut(list(files))))
    place = str(folder.resolve())

    def write(task: tuple[int, source.Captured]) -> tuple[int, Counter[str]]:
        number, captured = task
        inside = Path(place, f"capture={quote(captured.capture, safe='')}")
        inside.mkdir(exist_ok=True)
        rows, bad = 0, Counter[str]()
        schema = table.SCHEMA.remove(table.SCHEMA.get_field_index("capture"))
        with (inside / f"part-{number}.parquet").open("wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in table.batches(*captured):
                rows += len(batch)
                bad.update(why.partition(":")[0] for why in batch["malformed"].to_pylist() if why)
                writer.write_batch(batch.select(schema.names))
        return rows, bad

    return context.parallelize(tasks, len(tasks)).map(write).collect() if tasks else []


def table_of(spark: SparkSession, run: Run) -> DataFrame:
    """The table of frames of a run, with `t`, s since the run began."""
    found = spark.read.schema(from_arrow_schema(table.SCHEMA)).option("basePath", str(run.tables.resolve() / stored.FRAMES)).parquet(
        str(run.tables.resolve() / stored.FRAMES))
    return found.withColumn("t", (F.col("time") - round(1e9 * (run.began or 0.0))) / 1e9)

