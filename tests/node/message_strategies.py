"""Hypothesis strategies for messages, from the schema: whatever messages.toml has gets tested."""

from __future__ import annotations

from hypothesis import strategies as st

from node import schema, wire
from node.ids import Peer
from tests.node.filter_strategies import filters

FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.one_of(
    st.text(max_size=8), st.integers(-(2**53), 2**53), FINITE, st.booleans(), st.binary(max_size=8)
)


def utf8(bound: int) -> st.SearchStrategy[str]:
    return st.text(max_size=bound // 4)


def field(kind: schema.Type) -> st.SearchStrategy:
    if kind.kind in schema.UNSIGNED:
        low, high = (1 if kind.kind == "epoch" else 0), 2 ** schema.UNSIGNED[kind.kind] - 1
        return st.one_of(st.integers(low, high), st.sampled_from([low, high]))
    if kind.kind == "list":
        return st.lists(field(kind.items[0]), max_size=min(kind.bound, 4)).map(tuple)
    if kind.kind == "tuple":
        return st.tuples(*map(field, kind.items))
    if kind.kind == "optional":
        return st.none() | field(kind.items[0])
    return {
        "f64": FINITE,
        "bool": st.booleans(),
        "text": utf8(min(kind.bound, 40)),
        "bytes": st.binary(max_size=min(kind.bound, 20)),
        "filter": filters(2),
        "message": st.deferred(inside_messages),
        "attributes": st.dictionaries(st.text(min_size=1, max_size=8), VALUES, max_size=3),
    }[kind.kind]


def message(table: schema.MessageSchema) -> st.SearchStrategy[wire.Message]:
    return st.builds(getattr(wire, table.class_name), *(field(one.type) for one in table.fields))


def inside_messages() -> st.SearchStrategy[wire.Message]:
    return st.one_of(
        *(
            message(table)
            for table in schema.messages().values()
            if table.inside and not any(one.type.contains("message") for one in table.fields)
        )
    )


def hop_messages() -> st.SearchStrategy[wire.Message]:
    return st.one_of(*(message(table) for table in schema.messages().values() if table.scope == "hop"))


def peers() -> st.SearchStrategy[Peer]:
    return st.builds(Peer, st.integers(0, 2**32 - 1), st.integers(1, 2**32 - 1))
