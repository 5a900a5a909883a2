"""What the traffic records count of messages that carry filters."""
from __future__ import annotations

from types import SimpleNamespace

from node import filters, schema, wire
from node.config import NodeConfig
from node.ids import LinkId
from node.traffic import Traffic


def test_filters_are_counted_where_messages_carry_any():
    found = []

    def record(kind: str, **fields: object) -> None:
        found.append({"t": 0.0, "node": 1, "kind": kind, **fields})

    traffic = Traffic(NodeConfig(), SimpleNamespace(record=record))
    some = tuple(filters.parse(text) for text in ("a = 1", "b = 2", "c = 3"))
    rec = wire.Rec(LinkId(1, 2, 7), some[:2], (some[2].hash,))
    traffic.sent((wire.Data(((2, 7, 0),), wire.Sub(some, None)), wire.Data(((2, 7, 1),), wire.Sub(some[:1], None)), wire.Data(((2, 7, 2),), rec)), 900)
    traffic.sent((wire.Data(((2, 7, 3),), wire.Unsub((some[0].hash,))),
                  wire.Data(((2, 7, 4),), wire.RecAck(LinkId(1, 2, 7)))), 200)
    traffic.report()
    rows = {row["type"]: row for row in found[0]["sent"]}
    assert {name: (row["messages"], row.get("filters")) for name, row in rows.items()} == {
        "SUB": (2, 4), "REC": (1, 3), "UNSUB": (1, 1), "REC_ACK": (1, None)}
    assert sum(row["bytes"] for row in rows.values()) == 1100
    assert schema.faults(found[0]) == []


def test_no_message_with_filters_is_missed():
    """Each that may hold a filter, by the schema, says how many it holds."""
    from node.traffic import _FILTERS
    holding = {message.name for message in schema.messages().values()
               if any(field.type.contains("filter") for field in message.fields)}
    assert holding <= {kind.name for kind in _FILTERS}
