"""The few operations of Spark that an analysis asks for, in this process: what analyses a run within a task of Spark.

A sweep has a task for each run, which simulates it and analyses it in the same process; Spark has no jobs within tasks. The
jobs of the analysis are the same functions there (tests/studies/test_sweep.py holds that the numbers are equal).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from pyspark import SparkContext

T = TypeVar("T")
U = TypeVar("U")


class Shared(Generic[T]):
    """In place of pyspark.Broadcast."""

    def __init__(self, value: T) -> None:
        self.value = value

    def unpersist(self) -> None:
        """There is nothing to forget."""


class Parts(Generic[T]):
    """In place of pyspark.RDD: lists, computed at once."""

    def __init__(self, parts: Sequence[list[T]]) -> None:
        self._parts = parts

    def map(self, by: Callable[[T], U]) -> Parts[U]:
        return Parts([[by(one) for one in part] for part in self._parts])

    def flatMap(self, by: Callable[[T], Iterable[U]]) -> Parts[U]:
        return Parts([[found for one in part for found in by(one)] for part in self._parts])

    def mapPartitionsWithIndex(self, by: Callable[[int, Iterator[T]], Iterable[U]]) -> Parts[U]:
        return Parts([list(by(at, iter(part))) for at, part in enumerate(self._parts)])

    def partitionBy(self, count: int, place: Callable[[Any], int]) -> Parts[T]:
        """Of pairs, by their first."""
        found: list[list[T]] = [[] for _ in range(count)]
        for part in self._parts:
            for pair in part:
                found[place(pair[0]) % count].append(pair)  # type: ignore[index]  # as PySpark says it, too
        return Parts(found)

    def values(self) -> Parts[Any]:
        """Of pairs, the second."""
        return Parts([[pair[1] for pair in part] for part in self._parts])  # type: ignore[index]

    def collect(self) -> list[T]:
        return [one for part in self._parts for one in part]


class Local:
    """In place of pyspark.SparkContext."""

    defaultParallelism = 1

    def parallelize(self, items: Sequence[T], parts: int) -> Parts[T]:
        """Each item is a part: an analysis asks for no fewer."""
        return Parts([[item] for item in items])

    def broadcast(self, value: T) -> Shared[T]:
        return Shared(value)


Context = SparkContext | Local  # what an analysis runs on
