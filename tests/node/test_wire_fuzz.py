"""Hostile datagrams: decode raises Malformed, or gives messages that encode to the same bytes."""

from __future__ import annotations

import gc
import random
import struct
import time
import tracemalloc

import cbor2
from hypothesis import given
from hypothesis import strategies as st

from node import filters, schema, wire
from node.ids import Peer
from tests.node.message_strategies import hop_messages, inside_messages, peers

ME = Peer(17, 3)
HEADER = struct.pack("!2sBBIII", b"Rc", schema.header().version, 0, 17, 3, 1)
SAMPLES = [
    wire.encode(
        ME,
        1,
        [
            wire.Data(
                ((18, 99, 1),),
                wire.Event(
                    17,
                    3,
                    9,
                    12.5,
                    0,
                    {"kind": "temp", "on": True, "n": 1, "f": 1.5, "b": b"\x01"},
                    b"payload",
                ),
            )
        ],
    ),
    wire.encode(
        ME,
        2,
        [
            wire.Hello(1, 1000, ((18, 1), (19, 7)), 2, 17, 0, False, ((18, 99, 4, bytes(8)),)),
            wire.Ack(18, 99, 5, 2**64 - 1),
        ],
    ),
    wire.encode(ME, 3, [wire.Data((), wire.Sub((filters.parse('kind = "temp" and x in [1, true, 0x00]'),), None))]),
]


def survives(data: bytes, secret: bytes = b"") -> bool:
    """Whether decode took it; if so, the same bytes must come out again."""
    try:
        found = wire.decode(data, secret)
    except wire.Malformed as error:
        assert error.reason in wire.REASONS
        return False
    assert wire.encode(found.sender, found.counter, found.messages, secret) == data
    return True


def message_survives(data: bytes) -> bool:
    try:
        found = wire.decode_message(data)
    except wire.Malformed as error:
        assert error.reason in wire.REASONS
        return False
    assert wire.encode_message(found) == data
    return True


@given(st.binary(max_size=1300))
def test_random_bytes(data):
    survives(data)
    survives(data, b"secret")
    message_survives(data)


@given(st.binary(max_size=200))
def test_random_bodies(body):
    survives(HEADER + body)


# CBOR values of all kinds, mostly not ours: tags, simple values, odd keys, numbers of all sizes, deep nests.
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.just(cbor2.undefined),
    st.builds(cbor2.CBORSimpleValue, st.just(99)),
)
cbor_values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.text(max_size=3) | st.integers(0, 3), inner, max_size=3),
        st.builds(cbor2.CBORTag, st.integers(100000, 100010), inner),
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.one_of(
            cbor_values,
            st.lists(cbor_values, max_size=9).map(lambda rest: [5, *rest]),
            st.builds(
                lambda code, rest: [code, *rest], st.integers(0, 40), st.lists(cbor_values, max_size=9)
            ),
        ),
        max_size=3,
    )
)
def test_random_values_in_place_of_messages(items):
    survives(HEADER + cbor2.dumps(items))
    for item in items:
        message_survives(cbor2.dumps(item))


@given(peers(), st.lists(hop_messages(), min_size=1, max_size=2), st.randoms(use_true_random=False))
def test_mutated_datagrams(sender, messages, chance):
    try:
        valid = wire.encode(sender, 7, messages)
    except ValueError:
        return  # too large together
    assert survives(valid)
    for _ in range(20):
        data = bytearray(valid)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[place] ^= 1 << chance.randrange(8)
                case 1:
                    data[place] = chance.choice(
                        [0, 1, 0x1F, 0x5F, 0x7F, 0x80, 0x9F, 0xBF, 0xC2, 0xF6, 0xFB, 0xFF]
                    )
                case 2:
                    data.insert(place, chance.randrange(256))
                case 3:
                    start = chance.randrange(len(data))
                    data[place:place] = data[start : start + chance.randint(1, 8)]
        survives(bytes(data))


@given(inside_messages(), st.data())
def test_mutated_messages(message, data):
    encoded = bytearray(wire.encode_message(message))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    message_survives(bytes(encoded))


def test_cut_at_every_byte():
    for valid in SAMPLES:
        assert survives(valid)
        assert not any(survives(valid[:size]) for size in range(len(valid)))
        assert not any(survives(valid + bytes([byte])) for byte in range(256))


def test_every_byte_changed_to_every_value():
    """All datagrams that differ from a valid one in one byte; most are refused, none does harm."""
    taken = 0
    for valid in SAMPLES:
        for place in range(len(valid)):
            for byte in range(256):
                taken += survives(valid[:place] + bytes([byte]) + valid[place + 1 :])
    assert taken > 100  # numbers and letters may change, of course


def hostile() -> list[bytes]:
    """Datagrams of full length that are as costly as we could think of."""
    room = wire.MAX_DATAGRAM - len(HEADER)
    deepest = [20, [[["x", "in", *range(20)]] * 8] * 3]
    bodies = [
        b"\x81" * room,
        b"\xa1\x61a" * (room // 3),
        b"\xc6" * room,
        b"\xd8\x1c" * (room // 2),
        b"\x9f" * room,
        b"\x99" + struct.pack("!H", room - 3) + b"\xf6" * (room - 3),
        b"\x99" + struct.pack("!H", room - 3) + b"\x80" * (room - 3),
        b"\x9b" + struct.pack("!Q", 2**63 - 1) + b"\x00" * (room - 9),
        b"\x9a\x7f\xff\xff\xff" * (room // 5),
        b"\xba\x7f\xff\xff\xff\x61a" * (room // 7),
        b"\x81\x82\x05\xc2\x59"
        + struct.pack("!H", room - 7)
        + b"\xff" * (room - 7),  # an integer of 9,000 bits
        b"\x81\x82\x05\xc5\x82\x1b" + b"\x0f" * 8 + b"\x01",  # a number of 10**18 digits
        b"\x81\x82\x05\xd8\x23\x79" + struct.pack("!H", room - 9) + b"(" * (room - 9),
        cbor2.dumps([[2, [], deepest]]),
        cbor2.dumps([[5, 1]] * (room // 4)),
        cbor2.dumps([[1, 2, 3, [[1, 1, 1]] * 250]]),
        cbor2.dumps(
            [[2, [], [22, 1, 1, 1, 1.0, 0, {chr(97 + i % 26) * (1 + i // 26): 1 for i in range(200)}, b""]]]
        ),
    ]
    return [(HEADER + body)[: wire.MAX_DATAGRAM] for body in bodies]


ORDINARY = wire.encode(Peer(1, 7), 1, [wire.Data(((18, 1, 77),), wire.Event(1, 7, 1, 1.0, 3, {"kind": "a"}, bytes(99)))])


def cost(action) -> float:
    """The processor's time for an action over that for an ordinary datagram: how fast the machine is does not count."""
    ratios = []
    for _ in range(3):
        begins = time.process_time()
        action()
        between = time.process_time()
        for _ in range(100):
            assert survives(ORDINARY)
        ratios.append(100 * (between - begins) / (time.process_time() - between))
    return min(ratios)


def test_hostile_datagrams_cost_little_time_and_memory():
    datagrams = hostile()
    random.Random(1).shuffle(datagrams)

    def all_of_them() -> None:
        for data in datagrams:
            survives(data)

    all_of_them()
    gc.collect()
    tracemalloc.start()
    for _ in range(20):
        all_of_them()
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 100_000 and peak < 2_000_000
    assert cost(all_of_them) / len(datagrams) < 1000  # typical is 10; this fails for what is not in proportion


def test_hostile_messages_of_full_length_cost_little_time():
    values = [f"{i:02}" + "x" * 60 for i in range(16)]
    sub = [
        24,
        0,
        True,
        [filters.Filter([filters.Constraint("x", "in", values[: 1 + i % 16])]).to_wire() for i in range(64)],
    ]
    good = cbor2.dumps(sub)
    bad = (
        b"\x81" * 65536,
        b"\x99\xff\xf0" + b"\x80" * 65533,
        cbor2.dumps([20, [[]] * 65000]),
        cbor2.dumps([20, [[["x", "=", i]] for i in range(9000)]]),
        cbor2.dumps([22, 1, 1, 1, 1.0, 0, {}, bytes(65000)]),
    )

    def all_of_them() -> None:
        assert message_survives(good)
        for data in bad:
            assert not message_survives(data)

    assert cost(all_of_them) < 80_000  # typical is 6,500
