"""What `roamcast frames` prints and writes."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis import run as runs
from analysis import stored
from analysis.errors import AnalysisError
from analysis.frames import agree, capture, source, store
from analysis.frames.walk import BASE_RATE, DATA_RATE, Walk, notes, walk
from analysis.run import Run

MOST = 20  # rows of a table that are printed
NUMBER = re.compile("[0-9]+")  # a capture so named must not be taken for the node
TITLES = {
    "hearing": "Who heard whom (receiver: a capture or a node; said: beacons of the receiver that name the sender)",
    "airtime": "Airtime by message", "channels": "Retransmissions over channels", "hidden": "Hidden terminals: never heard each other, shared receivers",
    "events": "Events on the air", "malformed": "Malformed", "disagreements": "Frames against records",
}
ORDER = {"hearing": ("receiver", "sender"), "airtime": ("-airtime",), "channels": ("-again", "sender", "receiver"), "hidden": ("a", "b"),
         "events": ("first", "event"), "malformed": ("capture", "-rows"), "disagreements": ("node", "what")}
UNITS = {"signal_median": "dBm", "signal_weak": "dBm", "bytes": "B", "airtime": "s", "first": "s", "last": "s"}


def divided(paths: Sequence[Path]) -> tuple[list[Run], list[Path]]:
    """The run directories, and the captures. Raises AnalysisError for what is neither."""
    found: list[Run] = []
    captures: dict[str, Path] = {}
    for path in paths:
        if not path.exists() and capture.NAME.fullmatch(path.name):
            raise AnalysisError(f"{path}: no such file; give a capture, or a run directory")
        if not path.is_file():
            run = runs.read(path)
            if not stored.captures(run)[0]:
                raise AnalysisError(f"{path}: has no captures; run it with run.capture = true, or give a capture")
            found.append(run)
            continue
        why = _unread(path)
        if why is not None:
            raise AnalysisError(f"{path}: not a capture ({why}); give a file in the format pcap or pcapng")
        name = path.name.partition(".")[0]
        if name in captures:
            raise AnalysisError(f"{path} and {captures[name]} have one name, by which the tables tell captures apart; rename one")
        captures[name] = path
    return found, list(captures.values())


def _unread(path: Path) -> str | None:
    try:
        form = capture.parts(path)[0].form
    except OSError as error:
        raise AnalysisError(f"{path}: cannot be read: {error.strerror}") from None
    return None if form in ("pcap", "pcapng") else form


def check_out(out: Path | None) -> None:
    """Raises AnalysisError where the folder cannot be made."""
    if out is None:
        return
    if out.exists() or out.is_symlink():
        raise AnalysisError(f"{out}: exists already; choose another folder with --out, or remove it")
    if not out.absolute().parent.is_dir():
        raise AnalysisError(f"{out}: there is no folder {out.absolute().parent}; make it, or choose another with --out")


def texts(spark: SparkSession, run: Run | None, captures: Sequence[Path] | None, out: Path | None) -> Iterator[str]:
    """The tables of one run, or of captures, as text; written into `out` as well."""
    if run is not None:
        store.ingest(spark, run)
        frames = store.table_of(spark, run)
        rates, known = _rates(run.scenario)
        found, told = walk(frames, True, rates), f"{run.path}: {run.name}"
    else:
        frames = read(spark, captures or ())
        rates, known = (BASE_RATE, DATA_RATE), False
        found, told = walk(frames, False, rates), ", ".join(map(str, captures or ()))
    rows = frames.agg(F.count("*").alias("n"), F.sum(F.col("sender").isNotNull().cast("int")).alias("ours"),
                      F.sum(F.col("malformed").isNotNull().cast("int")).alias("bad"), F.sum(F.col("rate").isNull().cast("int")).alias("unrated")).collect()[0]
    yield f"{told}\n{rows['n']:,} frames, {rows['ours'] or 0:,} of Roamcast, {rows['bad'] or 0:,} malformed"
    if rows["unrated"]:
        yield (f"{'' if known else 'note: '}{rows['unrated']:,} frames have no rate: airtime as at {rates[0] / 1e6:g} Mbit/s to all and "
               f"{rates[1] / 1e6:g} Mbit/s to one host, {'by the scenario' if known else 'a guess'}")
    yield from (f"note: {note}" for note in (*notes(), *(stored.captures(run)[1] if run is not None else _numbered(captures or ()))))
    tables = _tables(spark, run, found, frames)
    for name, table in tables.items():
        if out is not None:
            where = str(out.resolve() / f"{name}.parquet")
            table.write.parquet(where)
            table = spark.read.schema(table.schema).parquet(where)
        order = [F.desc(column[1:]) if column.startswith("-") else F.asc(column) for column in ORDER[name]]
        yield _table(TITLES[name], table.orderBy(*order))
    spark.catalog.clearCache()
    if out is not None:
        yield f"All rows: {out}"


def _tables(spark: SparkSession, run: Run | None, found: Walk, frames: DataFrame) -> dict[str, DataFrame]:
    tables = found._asdict()
    return tables if run is None else {**tables, "disagreements": agree.disagreements(spark, run, frames)}


def _rates(scenario: Mapping[str, Any]) -> tuple[tuple[float, float], bool]:
    """Rates (bit/s) of broadcasts and unicasts, and whether the scenario states both. A field run has them with its nodes."""
    places = [place for place in (scenario.get("radio"), scenario.get("node")) if isinstance(place, dict)]
    found = [next((float(place[key]) for place in places if _is_rate(place.get(key))), None) for key in ("base_rate", "data_rate")]
    return (found[0] or BASE_RATE, found[1] or DATA_RATE), None not in found


def _is_rate(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _numbered(captures: Sequence[Path]) -> list[str]:
    return [f"{path}: given without its run, so it is taken for a sniffer's, which the tables call \"capture {name}\""
            for path in captures if NUMBER.fullmatch(name := path.name.partition(".")[0])]


def read(spark: SparkSession, captures: Sequence[Path]) -> DataFrame:
    """The frames of captures, `t` in s since 1970; decoded once, and kept where tasks can reach them."""
    source.register(spark)
    tables = [spark.read.format("pcap").load(str(path.resolve())) for path in captures]
    whole = tables[0]
    for table in tables[1:]:
        whole = whole.union(table)
    named = F.when(F.col("capture").rlike(f"^{NUMBER.pattern}$"), F.concat(F.lit("capture "), F.col("capture"))).otherwise(F.col("capture"))
    return whole.withColumn("capture", named).withColumn("t", F.col("time") / 1e9).persist(StorageLevel.DISK_ONLY)


def _table(title: str, table: DataFrame) -> str:
    rows = table.limit(MOST + 1).collect()
    if not rows:
        return f"\n{title}: none"
    names = [name for name in table.columns if any(row[name] is not None for row in rows)]
    lines = [[f"{name} ({UNITS[name]})" if name in UNITS else name.replace("_", " ") for name in names],
             *([_text(name, row[name]) for name in names] for row in rows[:MOST])]
    widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
    body = "\n".join("  " + "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines)
    return f"\n{title}\n{body}" + ("\n  ... more rows: --out DIR writes all" if len(rows) > MOST else "")


def _text(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(str, value[:8])) + (" ..." if len(value) > 8 else "")
    if isinstance(value, float):
        return f"{value:.1%}" if name in ("loss", "share") else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and name not in ("a", "b", "sender", "receiver", "node", "source") else str(value)
