"""Captures as tables: every format and byte order, what is cut, damaged or lies, large files in parts, and Spark's source."""
from __future__ import annotations

import gzip
import os
import random
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from analysis.frames import capture, datagrams, layers, source, table
from node import schema, wire
from tests.analysis import captures as made

BEATS = [made.hello(host, count, heard=(1 - host,)) for count in range(1, 6) for host in (0, 1)]


def frames(link: int = 1) -> list[bytes]:
    return [made.FRAMES[link](k % 2, beat) for k, beat in enumerate(BEATS)]


def rows(path: Path, split: int = capture.SPLIT) -> list[dict]:
    return [row for part in capture.parts(path, split) for batch in table.batches(part, "x") for row in batch.to_pylist()]


def written(folder: Path, data: bytes, name: str = "x.pcap") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def assert_accounted(data: bytes, found: list[dict]) -> None:
    """Every byte is in one row, but for the head of pcap and blocks of pcapng that hold no packet."""
    pcap = int.from_bytes(data[:4], "little") in capture.MAGICS or int.from_bytes(data[:4], "big") in capture.MAGICS
    at = capture.HEAD if pcap and len(data) >= capture.HEAD else 0
    for row in found:
        while at < row["offset"]:  # a block that says how long it is
            sizes = [int.from_bytes(data[at + 4:at + 8], order) for order in ("little", "big")]
            size = next(size for size in sizes if 12 <= size <= row["offset"] - at)
            assert int.from_bytes(data[at + size - 4:at + size], "little") in sizes or \
                int.from_bytes(data[at + size - 4:at + size], "big") in sizes
            at += size
        assert row["offset"] == at, (row["offset"], at)
        at += row["size"]
    if pcap:
        assert at == len(data)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
@pytest.mark.parametrize("link", [1, 127, 105])
@pytest.mark.parametrize("form", [made.pcap, made.pcapng])
def test_every_format_is_read(tmp_path, form, link, nano, order, packed):
    data = form(frames(link), link, order, nano)
    found = rows(written(tmp_path, gzip.compress(data) if packed else data))
    assert [row["malformed"] for row in found] == [None] * len(BEATS)
    assert [row["time"] for row in found] == [(made.SECOND + k) * 10**9 for k in range(len(BEATS))]
    assert [(row["sender"], row["counter"], row["epoch"]) for row in found] == [(k % 2, k // 2 + 1, 1) for k in range(len(BEATS))]
    assert {row["link"] for row in found} == {layers.LINKS[link]} and {row["kind"] for row in found} == {"data"}
    assert {row["signal"] for row in found} == ({-60} if link == 127 else {None})
    assert {row["rate"] for row in found} == ({6e6} if link == 127 else {None})
    assert found[0]["messages"][0]["type"] == "HELLO" and found[0]["source"] == "10.0.0.1"
    assert_accounted(data, found)


@pytest.mark.parametrize("kind", [2, 3])
def test_older_and_simple_blocks_of_pcapng_are_read(tmp_path, kind):
    found = rows(written(tmp_path, made.pcapng(frames(), kind=kind)))
    assert [row["counter"] for row in found] == [k // 2 + 1 for k in range(len(BEATS))]
    assert [row["time"] is None for row in found] == [kind == 3] * len(BEATS)


@pytest.mark.parametrize("form", [made.pcap, made.pcapng])
def test_a_cut_capture_says_where_and_keeps_what_came_before(tmp_path, form):
    data = form(frames())
    size = len(data) - len(form(frames()[:-1]))
    end = len(data) - (24 if form is made.pcapng else 0)  # without the statistics
    for cut in range(1, size):
        found = rows(written(tmp_path, data[:end - cut]))
        assert [row["counter"] for row in found[:-1]] == [k // 2 + 1 for k in range(len(BEATS) - 1)], cut
        assert found[-1]["malformed"].startswith("cut: "), cut
        assert_accounted(data[:end - cut], found)
    packed = gzip.compress(data, mtime=0)[:-12]
    assert rows(written(tmp_path, packed))[-1]["malformed"].startswith("gzip: ")


@pytest.mark.parametrize("kept", [1, 20, 60, 300, 70_000, 250_000, 300_000, 2**32 - 1])
@pytest.mark.parametrize("victim", [0, 3, 9])
def test_a_record_that_lies_about_its_length_costs_itself_alone(tmp_path, victim, kept):
    bodies = frames()
    starts = [24 + sum(16 + len(body) for body in bodies[:k]) for k in range(len(bodies))]
    data = bytearray(made.pcap(bodies))
    struct.pack_into("<I", data, starts[victim] + 8, kept)
    found = rows(written(tmp_path, bytes(data)))
    good = [(row["sender"], row["counter"]) for row in found if row["malformed"] is None]
    assert good == [(k % 2, k // 2 + 1) for k in range(len(bodies)) if k != victim]
    assert any(row["malformed"] for row in found)
    assert_accounted(bytes(data), found)


@pytest.mark.parametrize(("data", "why"), [(b"", "empty"), (b"no capture, whatever it may be", "neither"), (b"\x1f\x8b", "damaged"),
                                           (made.pcap([])[:23], "neither"), (bytes(1000), "neither")])
def test_what_is_no_capture_is_a_row_that_says_so(tmp_path, data, why):
    found = rows(written(tmp_path, data))
    assert len(found) == 1 and why in found[0]["malformed"]


def test_a_tail_of_zeros_and_other_link_types_are_said(tmp_path):
    found = rows(written(tmp_path, made.pcap(frames()) + bytes(100_000)))
    assert len(found) < len(BEATS) + 5 and sum(row["size"] for row in found if row["malformed"]) == 100_000
    found = rows(written(tmp_path, made.pcap(frames(), link=113)))
    assert {row["malformed"].partition(":")[0] for row in found} == {"link"} and len(found) == len(BEATS)


def test_a_packet_of_an_interface_that_nobody_described_and_blocks_of_unknown_types_are_said(tmp_path):
    data = made.pcapng(frames())
    head = len(made.block(0x0A0D0D0A, bytes(16)))
    only = data[:head] + data[head + int.from_bytes(data[head + 4:head + 8], "little"):]  # one description less
    assert ["does not describe" in row["malformed"] for row in rows(written(tmp_path, only))] == [True] * len(BEATS)
    found = rows(written(tmp_path, data + made.block(0x4242, b"what")))
    assert found[-1]["malformed"] == "block: of the unknown type 0x4242"


@pytest.mark.parametrize("form", [made.pcap, made.pcapng])
def test_parts_of_a_large_file_have_the_rows_of_the_whole(tmp_path, form):
    rng = random.Random(5)
    many = [made.ethernet(k % 7, made.hello(k % 7, k, heard=tuple(range(rng.randrange(20))))) for k in range(6000)]
    path = written(tmp_path, form(many))
    assert len(capture.parts(path, 100_000)) >= (3 if form is made.pcap else 6)
    assert rows(path, 100_000) == rows(path)


def test_a_capture_inside_of_packets_is_not_taken_for_the_capture(tmp_path):
    inner = made.pcap([bytes(50)] * 400, start=5.0)[24:]
    many = [made.ethernet(0, b"file" + inner) for _ in range(60)]
    path = written(tmp_path, made.pcap(many, step=0.001))
    assert len(capture.parts(path, 200_000)) > 2
    assert rows(path, 200_000) == rows(path) and len(rows(path)) == 60


def test_parts_that_do_not_meet_say_so(tmp_path):
    whole, = capture.parts(written(tmp_path, made.pcap(frames())))
    found = [row for batch in table.batches(whole._replace(end=whole.start + 100), "x") for row in batch.to_pylist()]
    assert "leads into the middle" in found[-1]["malformed"] and sum(row["size"] for row in found) == 100


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([made.pcap, made.pcapng]), st.sampled_from(["<", ">"]), st.sampled_from([1, 127, 105]),
       st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 7)), max_size=12), st.integers(0, 2000), st.booleans())
@example(made.pcap, "<", 1, [(33, 0), (34, 2)], 0, False)
def test_no_damage_is_an_exception_and_every_byte_is_in_a_row(tmp_path, form, order, link, flips, cut, packed):
    data = bytearray(form(frames(link), link, order))
    for at, bit in flips:
        data[at % len(data)] ^= 1 << bit
    data = data[:max(0, len(data) - cut)] if cut < len(data) else data
    found = rows(written(tmp_path, bytes(data)))
    assert_accounted(bytes(data), found)
    if packed:
        squeezed = bytearray(gzip.compress(bytes(data), mtime=0))
        for at, bit in flips[:2]:
            squeezed[2 + at % (len(squeezed) - 2)] ^= 1 << bit
        rows(written(tmp_path, bytes(squeezed)))
    if not flips:
        assert len(found) - len(BEATS) <= 1 and all(row["malformed"] is None for row in found[:-1])


@given(st.binary(max_size=300))
def test_no_payload_is_too_strange(data):
    for payload in (data, schema.header().magic + data, BEATS[0][:19] + data):
        try:
            datagrams.read(payload)
        except datagrams.Malformed as error:
            assert ":" in str(error)
    for link in layers.LINKS:
        layers.read(link, len(data), data)


@given(st.data())
def test_datagrams_are_read_as_the_node_reads_them(data):
    """What the node takes is read here with the same messages; what it refuses is seldom taken."""
    payload = bytearray(data.draw(st.sampled_from(BEATS)))
    for _ in range(data.draw(st.integers(0, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        wanted = wire.decode(bytes(payload))
    except wire.Malformed:
        return
    found = datagrams.read(bytes(payload))
    assert found is not None and (found.sender, found.counter) == (wanted.sender.node, wanted.counter)
    assert [one.type for one in found.messages] == [type(one).name for one in wanted.messages]
    assert sum(one.bytes for one in found.messages) == len(payload)


def test_envelopes_addressees_and_events(tmp_path):
    event = made.message("EVENT", source=3, epoch=2, sequence=9, published=1.5, hops=1, attributes={"a": 1}, payload=b"x")
    data = made.message("DATA", addressees=[[4, 77, 5], [6, 78, 8]], message=event)
    one, = datagrams.read(made.datagram(3, 1, data)).messages
    assert (one.type, one.envelope, one.event) == ("EVENT", "DATA", "3.2.9")
    assert one.to == [{"node": 4, "nonce": 77, "sequence": 5}, {"node": 6, "nonce": 78, "sequence": 8}]
    assert '"payload":"78"' in one.fields


def test_spark_reads_a_folder_of_captures(spark, tmp_path):
    from analysis.session import session
    written(tmp_path, made.pcap(frames()), "0.pcap")
    written(tmp_path, gzip.compress(made.pcapng(frames(127), 127)), "sniffer.pcapng.gz")
    (tmp_path / "medium.jsonl").write_text("{}\n")
    found = session()
    source.register(found)
    counted = found.read.format("pcap").load(str(tmp_path)).groupBy("capture", "link", "sender").count().collect()
    assert sorted(map(tuple, counted)) == [("0", "ethernet", 0, 5), ("0", "ethernet", 1, 5),
                                           ("sniffer", "radiotap", 0, 5), ("sniffer", "radiotap", 1, 5)]
    with pytest.raises(Exception, match="no such file or folder"):
        found.read.format("pcap").load(str(tmp_path / "nothing")).count()


def test_what_is_no_plain_file_is_a_row(tmp_path):
    os.mkfifo(tmp_path / "x.pcap")
    assert rows(tmp_path / "x.pcap")[0]["malformed"] == "file: not a plain file"
