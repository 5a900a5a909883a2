"""Which filters match which events, as joins: the constraints of all filters against all attributes.

The counting algorithm of content-based matching, turned into DataFrame operations: a filter matches
when as many of its constraints are satisfied as it has. Semantics are the node's filter language: a
missing attribute or one of another type satisfies nothing, not even `!=`; integers and reals are one
type; a boolean is no number. Bytes are hex in records and are compared as bytes.
"""
from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_TYPES = ("n", "s", "b", "x")
OPERATORS = {"exists", "=", "!=", "in", "<", "<=", ">", ">=", "prefix", "suffix", "contains"}


def matches(events: DataFrame, filters: DataFrame) -> DataFrame:
    """All pairs (`event`, `hash`) where the filter matches.

    events: `event`, `attributes` (list of attribute); filters: `hash`, `constraints`, one row a hash.
    """
    attributes = events.select("event", F.explode("attributes").alias("a")).select(
        "event", F.col("a.name").alias("name"), F.col("a.value").alias("value"))
    constraints = filters.select("hash", F.posexplode("constraints").alias("place", "c")).select(
        "hash", "place", F.col("c.name").alias("name"), F.col("c.op").alias("op"), F.col("c.values").alias("values"))
    needed = filters.select("hash", F.size("constraints").alias("needed"))
    # the same attribute comes with many events: judge each distinct value once
    values = attributes.select("name", "value").distinct()
    satisfied = (values.join(F.broadcast(constraints), "name").where(_satisfied())
                 .select("name", "value", "hash", "place"))
    counted = (attributes.join(F.broadcast(satisfied), ["name", "value"])
               .groupBy("event", "hash").agg(F.count_distinct("place").alias("have"))
               .join(F.broadcast(needed), "hash").where(F.col("have") == F.col("needed"))
               .select("event", "hash"))
    everything = events.select("event").crossJoin(F.broadcast(needed.where("needed = 0").select("hash")))
    return counted.unionByName(everything)


def _satisfied() -> Column:
    """Whether attribute `value` satisfies (`op`, `values`), both columns of the joined row."""
    first = F.col("values")[0]
    op = F.col("op")
    equal = F.lit(False)
    ordered = {sign: F.lit(False) for sign in ("<", "<=", ">", ">=")}
    same = F.lit(False)
    for kind in _TYPES:
        ours, theirs = F.col(f"value.{kind}"), first[kind]
        typed = ours.isNotNull() & theirs.isNotNull()
        same = same | typed
        equal = equal | F.coalesce(ours == theirs, F.lit(False))
        ordered["<"] |= F.coalesce(ours < theirs, F.lit(False))
        ordered["<="] |= F.coalesce(ours <= theirs, F.lit(False))
        ordered[">"] |= F.coalesce(ours > theirs, F.lit(False))
        ordered[">="] |= F.coalesce(ours >= theirs, F.lit(False))
    verdict = (F.when(op == "exists", F.lit(True))
               .when(op == "=", equal)
               .when(op == "!=", same & ~equal)
               .when(op == "in", F.exists("values", _equals)))
    for sign, holds in ordered.items():
        verdict = verdict.when(op == sign, holds)
    for name, test in (("prefix", F.startswith), ("suffix", F.endswith), ("contains", F.contains)):
        text = test(F.col("value.s"), first["s"])
        # hex digits pair up to bytes only from an even place: compare the bytes themselves
        raw = test(F.unhex("value.x"), F.unhex(first["x"]))
        verdict = verdict.when(op == name, F.coalesce(text, F.lit(False)) | F.coalesce(raw, F.lit(False)))
    return F.coalesce(verdict.otherwise(F.lit(False)), F.lit(False))


def _equals(one: Column) -> Column:
    found = F.lit(False)
    for kind in _TYPES:
        found = found | F.coalesce(F.col(f"value.{kind}") == one[kind], F.lit(False))
    return found
