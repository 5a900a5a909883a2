"""Messages and datagrams there and back, and what is refused on either side."""

from __future__ import annotations

import copy
import pickle
import re
import struct

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import filters as filter_language
from node import schema, wire
from node.ids import LinkId, Peer
from tests.node.filter_strategies import filters
from tests.node.message_strategies import hop_messages, inside_messages, peers

ME = Peer(17, 3)
EVENT = wire.Event(
    17, 3, 9, 12.5, 0, {"kind": "temp", "on": True, "n": 1, "f": 1.0, "b": b"\x01"}, b"payload"
)
DATA = wire.Data(((18, 99, 1),), EVENT)
HELLO = wire.Hello(1, 1000, ((18, 1),), 1, 17, 0, False, ((18, 99, 4, bytes(8)),))


VERSION = schema.header().version


def datagram(*items: object, flags: int = 0, epoch: int = 3, magic: bytes = b"Rc", version: int = VERSION) -> bytes:
    return struct.pack("!2sBBIII", magic, version, flags, 17, epoch, 1) + cbor2.dumps(list(items))


def reason(data: bytes, secret: bytes = b"") -> str:
    with pytest.raises(wire.Malformed) as found:
        wire.decode(data, secret)
    assert found.value.reason in wire.REASONS
    return found.value.reason


@given(
    peers(),
    st.integers(0, 2**32 - 1),
    st.lists(hop_messages(), min_size=1, max_size=3),
    st.sampled_from([b"", b"k"]),
)
def test_there_and_back(sender, counter, messages, secret):
    try:
        data = wire.encode(sender, counter, messages, secret)
    except ValueError as error:
        assert "a datagram has at most" in str(error)
        return
    assert wire.decode(data, secret) == (sender, counter, tuple(messages))
    assert len(data) == wire.overhead(secret) + sum(map(wire.encoded_size, messages)) <= wire.MAX_DATAGRAM
    assert wire.encode(sender, counter, wire.decode(data, secret).messages, secret) == data


@given(inside_messages())
def test_messages_for_fragments_there_and_back(message):
    encoded = wire.encode_message(message)
    found = wire.decode_message(encoded)
    assert found == message and type(found) is type(message) and wire.encode_message(found) == encoded


def test_every_message_has_its_class_and_its_names():
    for table in schema.messages().values():
        cls = getattr(wire, table.class_name)
        assert (cls.code, cls.name, cls.family, cls.scope) == (
            table.code,
            table.name,
            table.family,
            table.scope,
        )
        assert cls._fields == tuple(field.name for field in table.fields) and issubclass(cls, wire.Message)
        assert cls.__doc__ == table.doc


def test_messages_are_values():
    assert wire.Ack(1, 2, 3, 4) == wire.Ack(1, 2, 3, 4) and hash(wire.Ack(1, 2, 3, 4)) == hash(
        wire.Ack(1, 2, 3, 4)
    )
    assert wire.Sub((), None) != wire.Unsub(()) and not wire.Sub((), None) == wire.Unsub(()) and wire.Sub((), None) != ((),)
    assert pickle.loads(pickle.dumps(HELLO)) == HELLO == copy.deepcopy(HELLO)
    assert EVENT._replace(hops=1).hops == 1 and EVENT.hops == 0
    assert repr(wire.Reset(5)) == "Reset(nonce=5)"
    assert isinstance(HELLO, wire.Message)


def test_what_was_decoded_cannot_be_changed():
    """The simulator decodes a datagram once for all who hear it."""
    event = wire.decode(wire.encode(ME, 1, [DATA])).messages[0].message
    with pytest.raises((TypeError, AttributeError)):
        event.attributes["kind"] = "x"
    hello = wire.decode(wire.encode(ME, 1, [HELLO])).messages[0]
    assert hash(hello) == hash(HELLO) and type(hello.heard) is tuple and type(hello.heard[0]) is tuple


def test_types_keep_apart():
    found = wire.decode(wire.encode(ME, 1, [DATA])).messages[0].message
    assert {name: type(value) for name, value in found.attributes.items()} == {
        "kind": str,
        "on": bool,
        "n": int,
        "f": float,
        "b": bytes,
    }
    assert list(found.attributes) == list(EVENT.attributes)
    assert (
        type(found.published) is float
        and type(wire.decode(wire.encode(ME, 1, [HELLO])).messages[0].seeking) is bool
    )


@given(filters())
def test_filters_travel(f):
    message = wire.Sub((f,), None)
    assert wire.decode_message(wire.encode_message(message)).filters[0] == f


# ---- the header ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "short"),
        (b"Rc", "short"),
        (datagram()[:15], "short"),
        (datagram()[:16], "cbor"),
        (datagram(), "short"),
        (datagram([5, 1], magic=b"RC"), "magic"),
        (datagram([5, 1], version=VERSION + 1), "version"),
        (datagram([5, 1], version=VERSION - 1), "version"),
        (datagram([5, 1], flags=2), "flags"),
        (datagram([5, 1], flags=255), "flags"),
        (datagram([5, 1], epoch=0), "epoch"),
        (datagram([5, 1], flags=1), "authenticated"),
        (datagram([5, 1]) + bytes(1200), "oversize"),
    ],
)
def test_headers_refused(data, expected):
    assert reason(data) == expected


def test_authentication():
    signed = wire.encode(ME, 1, [HELLO], b"secret")
    assert wire.decode(signed, b"secret").messages == (HELLO,)
    assert wire.decode(wire.encode(ME, 1, [HELLO], b"s" * 100), b"s" * 100).messages == (HELLO,)
    assert reason(signed, b"other") == "forged"
    assert reason(signed) == "authenticated"
    assert reason(wire.encode(ME, 1, [HELLO]), b"secret") == "unauthenticated"
    assert reason(signed[:24], b"secret") == "short"
    for place in range(len(signed)):
        changed = bytearray(signed)
        changed[place] ^= 0x10
        assert reason(bytes(changed), b"secret") in ("forged", "magic", "version", "flags", "epoch")
    cut = [reason(signed[:size], b"secret") for size in range(len(signed))]
    assert set(cut) == {"short", "forged"}


# ---- the body --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([1], "message"),
        ([[]], "message"),
        ([["x"]], "message"),
        ([[True, 1]], "message"),
        ([[5.0, 1]], "message"),
        ([[-1]], "message"),
        ([[250, 1]], "message"),
        ([[2**70]], "cbor"),
        ([{"a": 1}], "message"),
        ([None], "message"),
        ([[20, []]], "scope"),
        ([[22]], "scope"),
        ([[2, [], [1]]], "scope"),
        ([[2, [], [2, [], [20, []]]]], "scope"),
        ([[5]], "field"),
        ([[5, 1, 2]], "field"),
        ([[5, -1]], "field"),
        ([[5, 2**32]], "field"),
        ([[5, 2**80]], "cbor"),
        ([[5, True]], "field"),
        ([[5, 1.0]], "field"),
        ([[5, "1"]], "field"),
        ([[5, None]], "field"),
        ([[5, [1]]], "field"),
        ([[5, {}]], "field"),
        ([[5, 1], [5, "x"]], "field"),
        ([[2, [], 7]], "message"),
        ([[2, [[1, 2, 3]] * 17, [20, []]]], "field"),
        ([[2, [[1, 2]], [20, []]]], "field"),
        ([[2, [[1, 2, True]], [20, []]]], "field"),
        ([[2, [1], [20, []]]], "field"),
        ([[2, {}, [20, []]]], "field"),
        ([[2, "", [20, []]]], "field"),
        ([[3, [], 1, b""]], "field"),
        ([[3, [], True, ""]], "field"),
        ([[3, [], True, bytes(1101)]], "field"),
        ([[2, [], [20, {}]]], "field"),
        ([[2, [], [20, [[["x", "=", 1.0]]]]]], "field"),
        ([[2, [], [21, [bytes(9)]]]], "field"),
    ],
)
def test_bodies_refused(items, expected):
    assert reason(datagram(*items)) == expected


def event_item(**changes: object) -> list:
    values = {
        "source": 17,
        "epoch": 3,
        "sequence": 9,
        "published": 12.5,
        "hops": 0,
        "attributes": {},
        "payload": b"",
    }
    return [22, *(values | changes).values()]


@pytest.mark.parametrize(
    "changes",
    [
        {"epoch": 0},
        {"source": -1},
        {"sequence": 2**32},
        {"hops": 256},
        {"hops": False},
        {"published": 12},
        {"published": float("nan")},
        {"published": float("inf")},
        {"published": True},
        {"published": "1"},
        {"payload": "text"},
        {"payload": []},
        {"attributes": []},
        {"attributes": None},
        {"attributes": {"": 1}},
        {"attributes": {"x" * 65: 1}},
        {"attributes": {"é" * 33: 1}},
        {"attributes": {"x": None}},
        {"attributes": {"x": []}},
        {"attributes": {"x": {}}},
        {"attributes": {"x": float("nan")}},
        {"attributes": {"x": float("-inf")}},
        {"attributes": {"x": 2**53 + 1}},
        {"attributes": {"x": -(2**60)}},
        {"attributes": {"x": 2**63}},
        {"attributes": {"x": "é" * 513}},
        {"attributes": {"x": b"x" * 1025}},
        {"attributes": {f"x{i}": 1 for i in range(33)}},
        {"attributes": {"x": cbor2.undefined}},
        {"attributes": {"x": cbor2.CBORSimpleValue(99)}},
    ],
)
def test_events_refused(changes):
    with pytest.raises(wire.Malformed) as found:
        wire.decode_message(cbor2.dumps(event_item(**changes)))
    assert found.value.reason == "field"


def test_an_event_at_its_bounds():
    changes = {
        "attributes": {"é" * 32: "é" * 512, "i": 2**53, "j": -(2**53), "b": bytes(1024)}
        | {f"x{i}": True for i in range(28)},
        "payload": bytes(32768),
    }
    assert wire.decode_message(cbor2.dumps(event_item(**changes))).attributes["i"] == 2**53


RESET = struct.pack("!2sBBIII", b"Rc", VERSION, 0, 17, 3, 1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("81820500" + "00", "noncanonical"),  # a leftover
        ("8182051800", "noncanonical"),  # 0 in two bytes
        ("818205c24105", "cbor"),  # tag 2: a big integer
        ("818205c249010000000000000000", "cbor"),
        ("818205c074323031332d30332d32315432303a30343a30305a", "cbor"),  # tag 0: a date
        ("818205d8236128", "cbor"),  # tag 35: a regular expression
        ("818205d9d9f700", "cbor"),  # tag 55799
        ("8182d81c0500", "cbor"),
        ("81d81c81d81d00", "cbor"),  # shared references, cyclic
        ("9f820500ff", "cbor"),
        ("819f0500ff", "cbor"),  # indefinite lengths
        ("8182057f6161ff", "cbor"),
        ("8182055f4161ff", "cbor"),
        ("a0", "message"),
        ("00", "message"),
        ("f6", "message"),
        ("60", "message"),
        ("80", "short"),
        ("ff", "cbor"),
        ("1c", "cbor"),
        ("fc", "cbor"),
        ("f800", "cbor"),
        ("818205f90000", "noncanonical"),
        ("818205fa00000000", "noncanonical"),
        ("818205f97e00", "field"),
        ("818205a2616100616101", "cbor"),  # a key twice
        ("818205a10000", "cbor"),  # a key that is no text
        ("81820561ff", "cbor"),
        ("81820563eda080", "cbor"),  # no UTF-8, half a surrogate pair
        ("81" * 8 + "00", "message"),
        ("81" * 9 + "00", "cbor"),
        ("81" * 1100 + "00", "cbor"),  # deeper than allowed
        ("c6" * 1100 + "00", "cbor"),
        ("a16161" * 300 + "00", "cbor"),
        ("9bffffffffffffffff", "cbor"),
        ("9a7fffffff", "cbor"),
        ("9affffffff", "cbor"),
        ("bbffffffffffffffff", "cbor"),
        ("baffffffff00", "cbor"),
        ("5bffffffffffffffff", "cbor"),
        ("5a7fffffff", "cbor"),
        ("7b7fffffffffffffff", "cbor"),
        ("9a00ffffff" * 8, "cbor"),
        ("ba00ffffff61619a00ffffff" * 4, "cbor"),
    ],
)
def test_cbor_refused(body, expected):
    assert reason(RESET + bytes.fromhex(body)) == expected


def test_the_canonical_one_is_taken():
    assert wire.decode(RESET + bytes.fromhex("81820500")).messages == (wire.Reset(0),)


# ---- sending ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], "at least one message"),
        ([EVENT], "EVENT does not travel by itself"),
        ([wire.Data((), HELLO)], "HELLO does not travel inside others"),
        ([wire.Reset(2**32)], r"RESET.nonce is no integer from 0 to 4294967295"),
        ([wire.Reset(True)], "RESET.nonce"),
        ([wire.Reset(-1)], "RESET.nonce"),
        ([wire.Reset(None)], "RESET.nonce"),
        ([HELLO._replace(heard=((1, 1),) * 65)], "HELLO.heard is no array of at most 64 items"),
        ([HELLO._replace(heard=((1, 0),))], "HELLO.heard holds no integer from 1"),
        ([HELLO._replace(heard=((1, 1, 1),))], "HELLO.heard is no array of 2 items"),
        ([HELLO._replace(heard=5)], "HELLO.heard"),
        ([HELLO._replace(seeking=1)], "HELLO.seeking is neither true nor false"),
        ([wire.Data((), EVENT._replace(published=float("nan")))], "EVENT.published is no finite double"),
        ([wire.Data((), EVENT._replace(published="soon"))], "EVENT.published"),
        (
            [wire.Data((), EVENT._replace(attributes={"x": None}))],
            "EVENT.attributes is not to be believed: attribute \"x\": found a value of type NoneType",
        ),
        ([wire.Data((), EVENT._replace(attributes={"\ud800": 1}))], "EVENT.attributes.*surrogate"),
        ([wire.Data((), EVENT._replace(attributes=3))], "EVENT.attributes"),
        ([wire.Data((), wire.Sub(("x = 1",), None))], "SUB.filters is no Filter"),
        ([wire.Data((), wire.Unsub((bytes(9),)))], "UNSUB.filters"),
        ([wire.Data((), 7)], "7 is no message"),
        ([(5, 1)], "is no message"),
        ([wire.Data((), EVENT._replace(payload=bytes(1200)))], "bytes of DATA; a datagram has at most 1200"),
    ],
)
def test_what_cannot_be_sent(messages, error):
    with pytest.raises(ValueError, match=error):
        wire.encode(ME, 1, messages)


def test_lists_named_tuples_and_whole_seconds_can_be_sent():
    link = LinkId(3, 17, 99)
    assert wire.decode(wire.encode(ME, 1, [wire.Data([link], EVENT)])).messages == (
        wire.Data(((3, 17, 99),), EVENT),
    )
    event = wire.decode(wire.encode(ME, 1, [wire.Data((), EVENT._replace(published=3))])).messages[0].message
    assert event.published == 3.0 and type(event.published) is float


def test_a_message_too_large_for_fragments():
    huge = EVENT._replace(payload=bytes(32768), attributes={f"{i:064}": "x" * 1024 for i in range(32)})
    with pytest.raises(ValueError, match=r"bytes of EVENT; a message has at most 65536"):
        wire.encode_message(huge)
    with pytest.raises(wire.Malformed) as found:
        wire.decode_message(bytes(65537))
    assert found.value.reason == "oversize"
    with pytest.raises(wire.Malformed) as found:
        wire.decode_message(cbor2.dumps([5, 1]))
    assert found.value.reason == "scope"


def test_the_largest_filter_fits_a_message():
    texts = [chr(97 + i) * 1005 for i in range(4)]
    f = filter_language.Filter(filter_language.Constraint("x", "contains", (text,)) for text in texts)
    assert 4000 < len(f.key) <= 4096
    assert wire.decode_message(wire.encode_message(wire.Snapshot(0, True, (f,)))).filters == (f,)


def test_reasons_are_slugs():
    assert all(re.fullmatch("[a-z]+", one) for one in wire.REASONS) and len(set(wire.REASONS)) == len(
        wire.REASONS
    )
    assert str(wire.Malformed("field", "RESET.nonce is wrong")) == "field: RESET.nonce is wrong"
