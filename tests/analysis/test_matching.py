"""Matching as joins agrees with the node's own filters on random filters and events."""
from __future__ import annotations

import json
import random

from pyspark.sql import functions as F
from pyspark.sql import types as T

from analysis import records
from analysis.matching import matches
from node import filters
from node.filters import Constraint, Filter

NAMES = ["kind", "size", "a"]
VALUES = ["", "temp", "temperature", "tempo", "TEMP", "é", "\U0001f600z", 0, 1, -1, 2.5, 1.0, -0.0, 3, True, False,
          b"", b"\x0a\xb1", b"\xab", b"\x0a", b"\xb1\x0a", "0ab1", "ab"]
OPS = ["=", "!=", "<", "<=", ">", ">=", "prefix", "suffix", "contains", "exists", "in"]


def random_constraint(rng: random.Random) -> Constraint:
    while True:
        op = rng.choice(OPS)
        values = rng.sample(VALUES, {"exists": 0, "in": rng.randint(1, 4)}.get(op, 1))
        try:
            return Constraint(rng.choice(NAMES), op, values)
        except filters.FilterError:
            continue  # no such pair of operator and value


def read(spark, key: str, field: str, kind: str, rows: dict[str, list]):
    """Rows of `key` and one `field` of a record, read as records are: from JSON by the schema."""
    schema = T.StructType([records.schemas()[kind][field]])
    text = spark.createDataFrame([(k, json.dumps({field: v})) for k, v in rows.items()], f"{key} string, text string")
    return text.select(key, F.from_json("text", schema)[field].alias(field))


def test_joins_match_what_the_node_matches(spark):
    rng = random.Random(5)
    made = {f.hash.hex(): f for f in (Filter(random_constraint(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 3])))
                                      for _ in range(400))}
    events = {f"0.1.{k}": {name: rng.choice(VALUES) for name in rng.sample(NAMES, rng.randint(0, 3))}
              for k in range(200)}
    wanted = {(e, h) for e, attributes in events.items() for h, f in made.items() if f.matches(attributes)}
    known = read(spark, "hash", "constraints", "subscribed", {h: f.as_record() for h, f in made.items()})
    told = read(spark, "event", "attributes", "published",
                {e: filters.attributes_as_record(a) for e, a in events.items()})
    found = [(row.event, row.hash) for row in matches(told, known).collect()]
    assert len(found) == len(set(found))
    assert set(found) == wanted
    assert 0.05 < len(wanted) / (len(made) * len(events)) < 0.6  # the draw exercises both outcomes
