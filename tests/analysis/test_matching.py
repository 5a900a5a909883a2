"""Matching of records agrees with the node's own filters on random filters and events."""
from __future__ import annotations

import json
import random

from analysis.constraints import Filters, matches
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


def as_json(value):
    return json.loads(json.dumps(value))


def test_records_match_what_the_node_matches():
    rng = random.Random(5)
    made = {f.hash.hex(): f for f in (Filter(random_constraint(rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 3])))
                                      for _ in range(400))}
    events = [{name: rng.choice(VALUES) for name in rng.sample(NAMES, rng.randint(0, 3))} for _ in range(200)]
    told = {hash_: as_json(f.as_record()) for hash_, f in made.items()}
    many, matched = Filters(told), 0
    for event in events:
        wanted = {hash_ for hash_, f in made.items() if f.matches(event)}
        attributes = as_json(filters.attributes_as_record(event))
        found = many.matching(attributes)
        assert len(found) == len(set(found)) and set(found) == wanted
        assert {hash_ for hash_, constraints in told.items() if matches(attributes, constraints)} == wanted
        matched += len(wanted)
    assert 0.05 < matched / (len(made) * len(events)) < 0.6  # the draw exercises both outcomes


def test_what_no_node_writes_matches_nothing():
    """Records of other versions, or damaged: an operator that is not known, no value, a value without a type."""
    constraint = {"name": "a", "op": "near", "values": [{"n": 1.0}]}
    attributes = [{"name": "a", "value": {"n": 1.0}}, {"name": "b", "value": {}}, {"name": "c", "value": {"x": "0"}}]
    bad = {"op": constraint, "values": {**constraint, "op": "=", "values": []}, "type": {"name": "b", "op": "!=", "values": [{"n": 1.0}]},
           "hex": {"name": "c", "op": "prefix", "values": [{"x": ""}]}}
    assert Filters({name: [one] for name, one in bad.items()}).matching(attributes) == []
    assert not any(matches(attributes, [one]) for one in bad.values())
