"""The table of a study: one row a run, its settings, its seed and every metric; written whole, read back for comparing and drawing.

    runs.parquet   with each column's unit and meaning in the field's metadata
    runs.csv       the same rows; what a run cannot give is empty
    columns.csv    column, unit, which way is better, meaning

The same rows give the same bytes: no time, no machine and no order of work is in them.
"""
from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.errors import AnalysisError
from analysis.metrics import METRICS, UNITS
from mobility.wholefile import write_whole

NAME = "runs.parquet"
SETTING, SEED, FAILED, NOTES = "setting", "seed", "failed", "notes"


class Column(NamedTuple):
    name: str
    unit: str
    better: str
    says: str


class Row(NamedTuple):
    """A run. `values`: by key, of those that some setting gives; `numbers`: metrics by key, nan where there is nothing to
    divide; `failed`: why there are none, "" where there are; `notes`: what its analysis notes, a line each."""

    setting: str
    values: Mapping[str, Any]
    seed: int
    numbers: Mapping[str, float]
    failed: str = ""
    notes: str = ""


class Table(NamedTuple):
    keys: list[Column]  # of the scenario, those that settings give
    rows: list[Row]

    @property
    def settings(self) -> list[str]:
        return list(dict.fromkeys(row.setting for row in self.rows))

    def values(self, setting: str, metric: str) -> dict[int, float]:
        """The metric by seed, of the runs that have it."""
        return {row.seed: value for row in self.rows
                if row.setting == setting and not math.isnan(value := row.numbers.get(metric, math.nan))}


def write(folder: Path, table: Table) -> None:
    """Write the three files. Raises OSError."""
    columns = [Column(SETTING, "", "", "label of the setting"), *table.keys, Column(SEED, "", "", "seed of all random streams"),
               *(Column(metric.key, UNITS[metric.form], metric.better, f"{metric.section}: {metric.label}: {metric.says}")
                 for metric in METRICS), Column(FAILED, "", "", "why the run failed; empty where it did not"),
               Column(NOTES, "", "", "what the analysis of the run notes, a line each")]
    cells: dict[str, list[Any]] = {SETTING: [row.setting for row in table.rows]}
    for key in table.keys:
        cells[key.name] = _alike([row.values.get(key.name) for row in table.rows])
    cells[SEED] = [row.seed for row in table.rows]
    for metric in METRICS:
        numbers = (row.numbers.get(metric.key, math.nan) for row in table.rows)
        cells[metric.key] = [None if math.isnan(value) else float(value) for value in numbers]
    cells[FAILED] = [row.failed for row in table.rows]
    cells[NOTES] = [row.notes for row in table.rows]
    kinds = {SEED: pa.int64(), FAILED: pa.string(), NOTES: pa.string(), SETTING: pa.string(), **{metric.key: pa.float64() for metric in METRICS}}
    arrays = [pa.array(cells[column.name], kinds.get(column.name)) for column in columns]
    fields = [pa.field(column.name, array.type, metadata={"unit": column.unit, "better": column.better, "says": column.says,
                                                          "is": "key" if column in table.keys else ""})
              for column, array in zip(columns, arrays, strict=True)]
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), stream)
    write_whole(folder / NAME, stream.getvalue())
    write_whole(folder / "runs.csv", _csv([column.name for column in columns], zip(*(cells[column.name] for column in columns), strict=True)))
    write_whole(folder / "columns.csv", _csv(["column", "unit", "better", "meaning"], columns))


def _csv(head: Sequence[str], rows: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_shown(cell) for cell in row] for row in rows)
    return out.getvalue()


def _shown(cell: object) -> object:
    return repr(cell).removesuffix(".0") if isinstance(cell, float) else "" if cell is None else \
        json.dumps(cell) if isinstance(cell, bool) else cell


def _alike(values: list[Any]) -> list[Any]:
    """Values of one kind, as a column has them: whole numbers, numbers, truths or texts; of what is mixed, or a list, its JSON."""
    there = [value for value in values if value is not None]
    for kind in (bool, int, str):
        if all(type(value) is kind for value in there) and all(kind is not int or abs(value) < 2**63 for value in there):
            return values
    if all(type(value) in (int, float) for value in there):
        return [None if value is None else float(value) for value in values]
    return [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]


def read(folder: Path) -> Table:
    """The table that a sweep wrote in `folder`. Raises AnalysisError."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            found = pq.read_table(file)
        keys = [Column(field.name, *((field.metadata or {}).get(name, b"").decode() for name in (b"unit", b"better", b"says")))
                for field in found.schema if (field.metadata or {}).get(b"is") == b"key"]
        columns = found.to_pydict()
        rows = [Row(columns[SETTING][at], {key.name: columns[key.name][at] for key in keys}, columns[SEED][at],
                    {metric.key: math.nan if (value := columns[metric.key][at]) is None else value for metric in METRICS
                     if metric.key in columns}, columns[FAILED][at], columns[NOTES][at]) for at in range(found.num_rows)]
    except FileNotFoundError:
        raise AnalysisError(f"{folder}: has no {NAME}; give the folder of a study, as `roamcast sweep` writes it") from None
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise AnalysisError(f"{path}: cannot be read ({' '.join(str(error).split())[:200]}); let `roamcast sweep` write it again") from None
    return Table(keys, rows)
