"""The quick way and the long way between messages and bytes say the same, whatever comes."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import MappingProxyType
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import schema, wire
from node.ids import LinkId, Peer
from tests.node.message_strategies import hop_messages, inside_messages, peers

ME = Peer(17, 3)
TABLES = ("_HOP_READERS", "_HOP_WRITERS", "_INSIDE_WRITERS")
EVENT = wire.Event(17, 3, 9, 12.5, 0, {"kind": "temp", "on": True, "n": -300, "f": 1.0, "b": b"\x01"}, b"payload")


def outcome(action: Callable, *arguments: object) -> object:
    """What comes out: the value, or why there is none."""
    try:
        return action(*arguments)
    except (wire.Malformed, ValueError) as error:
        return type(error).__name__, str(error)


def both_ways(action: Callable, *arguments: object) -> object:
    quick = outcome(action, *arguments)
    with ExitStack() as stack:
        for table in TABLES:
            stack.enter_context(mock.patch.object(wire, table, {}))
        slow = outcome(action, *arguments)
    assert quick == slow and repr(quick) == repr(slow)  # True is not 1, and no list a tuple
    return quick


@given(peers(), st.lists(hop_messages(), min_size=1, max_size=3), st.data())
def test_datagrams(sender, messages, data):
    encoded = both_ways(wire.encode, sender, 1, messages)
    if type(encoded) is bytes:
        both_ways(wire.decode, encoded)
        for _ in range(10):
            changed = bytearray(encoded)
            place = data.draw(st.integers(16, len(encoded) - 1))
            changed[place:place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
            both_ways(wire.decode, bytes(changed))


@given(inside_messages())
def test_messages_for_fragments(message):
    both_ways(wire.encode_message, message)


def test_every_byte_changed_to_every_value():
    valid = [wire.encode(ME, 1, [wire.Data(((18, 99, 1),), EVENT), wire.Ack(18, 99, 5, 2**64 - 1)]),
             wire.encode(ME, 2, [wire.Hello(1, 1000, ((18, 1), (19, 2**20)), 2, 17, 0, False,
                                            ((18, 99, 4, bytes(8)),))])]
    for datagram in valid:
        for place in range(16, len(datagram)):
            for byte in range(256):
                both_ways(wire.decode, datagram[:place] + bytes([byte]) + datagram[place + 1:])
            both_ways(wire.decode, datagram[:place])


@pytest.mark.parametrize("event", [
    EVENT._replace(published=3), EVENT._replace(epoch=0), EVENT._replace(hops=True), EVENT._replace(source=-1),
    EVENT._replace(sequence=2**32), EVENT._replace(published=float("nan")), EVENT._replace(payload=bytearray(3)),
    EVENT._replace(attributes=[("a", 1)]), EVENT._replace(attributes=MappingProxyType({"a": 1})),
    EVENT._replace(attributes={"a": None}), EVENT._replace(attributes={"\ud800": 1}),
    EVENT._replace(attributes={f"x{i}": 1 for i in range(33)}), EVENT._replace(payload="text"), 7, None])
def test_odd_values_outward(event):
    both_ways(wire.encode, ME, 1, [wire.Data([LinkId(3, 17, 99)], event)])
    if isinstance(event, wire.Message):
        both_ways(wire.encode_message, event)


@pytest.mark.parametrize("length", [0, 1, 23, 24, 255, 256, 1000])
def test_lengths_at_the_edges_of_their_forms(length):
    both_ways(wire.encode_message, EVENT._replace(attributes={"t": "x" * length, "b": bytes(length)}))
    both_ways(wire.encode_message, wire.Unsub((bytes(8),) * min(length, 256)))
    datagram = both_ways(wire.encode, ME, 1, [wire.Fragment((), True, bytes(length))])
    assert both_ways(wire.decode, datagram).messages[0].piece == bytes(length)


@pytest.mark.parametrize("number", [0, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53])
def test_numbers_at_the_edges_of_their_forms(number):
    both_ways(wire.encode, ME, 1, [wire.Ack(number, 1, 2, number)])
    message = wire.Data((), EVENT._replace(attributes={"n": number, "m": -number}))
    assert both_ways(wire.decode, wire.encode(ME, 1, [message])).messages == (message,)


def test_messages_within_messages():
    message = EVENT
    for _ in range(7):
        datagram = both_ways(wire.encode, ME, 1, [wire.Data((), message)])
        both_ways(wire.decode, datagram)
        message = wire.Routed((1, 2), message)
    assert both_ways(wire.decode, datagram)[0] == "Malformed"  # nested too deep


def test_the_usual_messages_go_the_quick_way():
    """Else the tests above would compare the long way with itself."""
    for table in schema.messages().values():
        cls = getattr(wire, table.class_name)
        filters = any(field.type.contains("filter") for field in table.fields)
        assert (cls in wire._HOP_WRITERS) == (table.scope == "hop" and not filters and bool(table.fields))
    with mock.patch.object(wire, "_pack", side_effect=AssertionError), mock.patch.object(wire, "_loads"):
        datagram = wire.encode(ME, 1, [wire.Data(((18, 99, 1),), EVENT), wire.Ack(18, 99, 5, 0)])
        assert wire.decode(datagram).messages[0].message == EVENT
