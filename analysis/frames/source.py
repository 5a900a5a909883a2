"""The Spark data source `pcap`: captures as a DataFrame with the columns of analysis/frames/table.py.

    from analysis.frames import source
    from analysis.session import session
    spark = session()
    source.register(spark)
    frames = spark.read.format("pcap").load("captures")  # a file, or all captures in a folder

What is wrong with a file is in the column `malformed` of its rows; only a path where nothing is raises an error.
"""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analysis.frames import table
from analysis.frames.capture import Part, files, parts


class Captured(NamedTuple):
    """A part of a capture and what the table calls the capture."""

    part: Part
    capture: str


def cut(paths: list[Path]) -> list[Captured]:
    """What tasks can read side by side. Raises OSError."""
    return [Captured(part, path.name.partition(".")[0]) for path in paths for part in parts(path.resolve())]


class _Partition(InputPartition):
    def __init__(self, captured: Captured) -> None:
        super().__init__(captured)
        self.captured = captured


class Reader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self._path = path

    def partitions(self) -> list[InputPartition]:
        return [_Partition(captured) for captured in cut(files(Path(self._path)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, _Partition):
            yield from table.batches(partition.captured.part, partition.captured.capture)


class Pcap(DataSource):
    @classmethod
    def name(cls) -> str:
        return "pcap"

    def schema(self) -> StructType:
        return from_arrow_schema(table.SCHEMA)

    def reader(self, schema: StructType) -> Reader:
        path = self.options.get("path")
        if not path:
            raise ValueError("pcap: no path; give load() a capture, or a folder of captures")
        return Reader(path)


def register(spark: SparkSession) -> None:
    """From here on the session knows the format `pcap`."""
    kind: Any = Pcap
    spark.dataSource.register(kind)
