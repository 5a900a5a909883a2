"""Captures of our datagrams opened with scapy and with tshark: every message by its name, with its fields."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest
from scapy.all import ARP, IP, UDP, Ether, Raw, rdpcap, wrpcap, wrpcapng

from emulation import dissect
from emulation.capture import ETHERNET, file_header
from node import filters, schema, wire
from node.ids import Peer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "worlds.md"
VERSION = schema.header().version
ME = Peer(17, 3)
EVENT = wire.Event(
    17, 3, 9, 12.5, 2, {"kind": 'te"mp', "on": True, "n": -1, "f": 1.5, "b": b"\x01", "é": 2**53}, b"payload"
)
HELLO = wire.Hello(
    sequence=7,
    interval=1000,
    heard=((18, 1), (19, 2)),
    hearing=2,
    leader=17,
    depth=0,
    seeking=False,
    digests=((18, 99, 4, bytes(8)),),
)
SUB = wire.Sub((filters.parse('kind = "temp" and x in [1, true, 0x00] and z exists'), filters.parse("*")), None)
ACK = wire.Ack(18, 99, 5, 2**64 - 1)
MESSAGES = [HELLO, wire.Data(((18, 99, 1),), EVENT), ACK, wire.Data((), SUB)]


def frame(payload: bytes, port: int = wire.PORT):
    return (
        Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff")
        / IP(src="10.0.0.1", dst="10.255.255.255")
        / UDP(sport=port, dport=port)
        / Raw(payload)
    )


def sample(kind: schema.Type) -> object:
    """A value of a type, so that every message can be made."""
    match kind.kind:
        case "list" | "tuple":
            return tuple(map(sample, kind.items))
        case "optional":
            return None
        case "filter":
            return SUB.filters[0]
        case "message":
            return EVENT
        case "attributes":
            return EVENT.attributes
        case "text" | "bytes":
            return "ab"[: kind.bound] if kind.kind == "text" else b"\x01\x02"[: kind.bound]
        case "bool":
            return True
        case "f64":
            return 0.25
    return 7


def every_message() -> list[bytes]:
    """A datagram for each message of the schema."""
    found = []
    for table in schema.messages().values():
        message = getattr(wire, table.class_name)(*(sample(field.type) for field in table.fields))
        found.append(wire.encode(ME, 1, [message if table.scope == "hop" else wire.Data((), message)]))
    return found


@pytest.fixture
def capture(tmp_path):
    """(pcap file, Lua file) of these datagrams."""

    def write(*datagrams: bytes):
        wrpcap(str(tmp_path / "air.pcap"), [frame(one) for one in datagrams])
        (tmp_path / "roamcast.lua").write_text(dissect.wireshark_lua(), encoding="utf-8")
        return tmp_path / "air.pcap", tmp_path / "roamcast.lua"

    return write


def tshark(files, *arguments: str) -> str:
    pcap, lua = files
    run = subprocess.run(
        ["tshark", "-X", f"lua_script:{lua}", "-r", str(pcap), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert "Lua" not in run.stderr and "lua" not in run.stderr, run.stderr
    return run.stdout


# ---- scapy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [b"", b"secret"])
def test_scapy_reads_a_capture(capture, secret):
    datagram = wire.encode(ME, 12, MESSAGES, secret)
    [packet] = rdpcap(str(capture(datagram)[0]))
    layer = packet[dissect.Roamcast]
    assert (layer.sender, layer.epoch, layer.counter, int(layer.flags)) == (17, 3, 12, bool(secret))
    assert [message.name for message in layer.messages] == ["HELLO", "DATA", "ACK", "DATA"]
    hello, data, ack, _ = layer.messages
    assert (hello.sequence, hello.heard, hello.seeking) == (7, [[18, 1], [19, 2]], False)
    assert (data.message.name, data.message.attributes["n"], data.message.payload_) == (
        "EVENT",
        -1,
        b"payload",
    )
    assert ack.beyond == 2**64 - 1
    assert layer.tag == datagram[-16:] if secret else layer.tag is None
    assert packet.summary() == "Ether / IP / UDP / Roamcast 17.3 #12 HELLO, DATA(EVENT), ACK, DATA(SUB)"
    shown = packet.show(dump=True)
    assert "interval  = 1000 ms" in shown and "###[ EVENT ]###" in shown and "published = 12.5 s" in shown
    assert '[kind = "temp" and x in [1, 0x00, true] and z exists, *]' in shown
    assert 'kind = "te\\"mp", on = true, n = -1, f = 1.5, b = 0x01' in shown


def test_a_capture_is_told_a_line_a_frame(capture):
    datagram = wire.encode(ME, 12, MESSAGES)
    ours = capture(datagram)[0]
    frames = [frame(datagram), frame(b"of another program"), Ether(src="02:00:00:00:00:01") / ARP(pdst="10.0.0.2")]
    for k, one in enumerate(frames):
        one.time = 1_767_225_600 + 3600 + k / 8  # an hour into a run in `sim`
    wrpcap(str(ours), frames)
    told = list(dissect.lines(ours))
    assert told[0] == "01:00:00.000000 10.0.0.1 > 10.255.255.255 Roamcast 17.3 #12 HELLO, DATA(EVENT), ACK, DATA(SUB)"
    assert told[1].startswith("01:00:00.125000 Ether / IP / UDP ") and told[2].startswith("01:00:00.250000 Ether / ARP ")
    ours.write_text("a text")
    with pytest.raises(ValueError, match=r"air\.pcap: not a capture; give a pcap file"):
        list(dissect.lines(ours))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("write", [wrpcap, wrpcapng])
def test_a_capture_that_ends_within_a_frame_shows_the_others_and_says_so(tmp_path, write, packed):
    path, kept = tmp_path / "air.pcap", gzip.compress if packed else bytes
    write(str(path), [frame(wire.encode(ME, number, MESSAGES)) for number in range(3)])
    whole = kept(path.read_bytes())
    path.write_bytes(whole)
    assert [f"#{number} " in told for number, told in enumerate(dissect.lines(path))] == [True] * 3
    path.write_bytes(whole[:-40])
    told = []
    with pytest.raises(ValueError, match="ends within a frame"):
        told.extend(dissect.lines(path))
    path.write_bytes(kept(b"a text"))
    with pytest.raises(ValueError, match="not a capture"):
        list(dissect.lines(path))


def test_a_capture_without_a_frame_is_told(tmp_path):
    (tmp_path / "air.pcap").write_bytes(file_header(ETHERNET))
    with pytest.raises(ValueError, match="a capture without frames"):
        list(dissect.lines(tmp_path / "air.pcap"))


def test_the_page_shows_how_scapy_reads_a_capture(tmp_path, monkeypatch, capsys):
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "captures").mkdir()
    frames = [frame(wire.encode(Peer(sender, 1), 1, MESSAGES)) for sender in (1, 2)]
    wrpcap(str(tmp_path / "captures" / "3.pcap"), frames)
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    shown = capsys.readouterr().out
    assert "sender    = 2" in shown and "sender    = 1" not in shown
    assert shown.endswith("['HELLO', 'DATA', 'ACK', 'DATA']\n")


def test_scapy_reads_every_message_of_the_schema():
    for table, datagram in zip(schema.messages().values(), every_message(), strict=True):
        [message] = dissect.Roamcast(datagram).messages
        message = message if table.scope == "hop" else message.message
        assert message.name == table.name and type(message) is dissect.ROAMCAST[table.code]
        shown = message.show(dump=True)
        assert all(field.name in shown for field in table.fields)


def test_scapy_makes_datagrams_too():
    made = dissect.Roamcast(
        sender=17,
        epoch=3,
        counter=1,
        messages=[
            dissect.ROAMCAST[wire.Reset.code](nonce=7),
            dissect.ROAMCAST[wire.Data.code](
                addressees=[[18, 99, 1]], message=dissect.ROAMCAST[wire.Unsub.code](filters=[bytes(8)])
            ),
        ],
    )
    assert wire.decode(bytes(made)) == (
        ME,
        1,
        (wire.Reset(7), wire.Data(((18, 99, 1),), wire.Unsub((bytes(8),)))),
    )


def test_scapy_makes_the_same_bytes_of_what_it_read():
    for datagram in [
        *every_message(),
        wire.encode(ME, 12, MESSAGES, b"secret"),
        wire.encode(ME, 1, [wire.Reset(1)] * 300),
    ]:
        layer = dissect.Roamcast(datagram)
        for packet in (layer, *layer.messages):
            packet.raw_packet_cache = None
        assert bytes(layer) == datagram


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"Rc",
        b"something else",
        b"Rc" + bytes([VERSION + 1]) + bytes(20),
        b"Rc" + bytes([VERSION]) + bytes(20),
        wire.encode(ME, 1, MESSAGES)[:60],
    ],
)
def test_scapy_leaves_what_it_cannot_read(payload):
    packet = Ether(bytes(frame(payload)))
    assert bytes(packet[UDP].payload) == payload
    packet.show(dump=True)


# ---- Wireshark -------------------------------------------------------------------------------------


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("secret", [b"", b"secret"])
def test_tshark_shows_messages_and_fields(capture, secret):
    files = capture(wire.encode(ME, 12, MESSAGES, secret))
    assert " Roamcast " in tshark(files)
    assert "17.3 #12 HELLO, DATA(EVENT), ACK, DATA(SUB)" in tshark(files)
    shown = [line.strip() for line in tshark(files, "-O", "roamcast").splitlines()]
    for line in (
        "sender: 17",
        "interval [ms]: 1000",
        "heard: [(18, 1), (19, 2)]",
        "seeking: False",
        "published [s]: 12.5",
        'kind = "te\\"mp"',
        "n = -1",
        "f = 1.5",
        "b = 0x01",
        "é = 9007199254740992",
        "payload: 7061796c6f6164",
        "beyond: 0xffffffffffffffff",
        "*",
        'kind = "temp" and x in [1, 0x00, true] and z exists',
    ):
        assert line in shown
    assert any(line.startswith("tag: ") for line in shown) == bool(secret)


@pytest.mark.needs("tshark")
def test_tshark_filters_by_fields(capture):
    files = capture(
        wire.encode(ME, 1, [HELLO]), wire.encode(ME, 2, [wire.Data((), EVENT)]), wire.encode(ME, 3, [ACK])
    )
    for expression, counters in (
        (
            'roamcast.type == "EVENT" && roamcast.event.published > 12 '
            '&& roamcast.event.attributes contains "\\"mp" '
            "&& roamcast.event.payload == 70:61:79:6c:6f:61:64",
            "2",
        ),
        ("roamcast.hello.leader == 17 && roamcast.hello.seeking == 0", "1"),
        ("roamcast.ack.beyond == 0xffffffffffffffff || roamcast.counter == 1", "1\n3"),
        ("roamcast.sender == 18", ""),
    ):
        assert (
            tshark(files, "-Y", expression, "-T", "fields", "-e", "roamcast.counter").strip() == counters
        ), expression


@pytest.mark.needs("tshark")
def test_tshark_reads_every_message_of_the_schema(capture):
    datagrams = every_message()
    packets = json.loads(tshark(capture(*datagrams), "-T", "json"))
    assert len(packets) == len(datagrams)
    for table, packet in zip(schema.messages().values(), packets, strict=True):
        text = json.dumps(packet["_source"]["layers"])
        assert f'"roamcast.type": "{table.name}"' in text and "malformed" not in text.lower()
        for field in table.fields:
            if field.type.kind not in ("message", "optional"):
                assert f'"roamcast.{table.name.lower()}.{field.name}"' in text


@pytest.mark.needs("tshark")
def test_tshark_marks_the_malformed_and_leaves_the_foreign(capture):
    valid = wire.encode(ME, 1, MESSAGES)
    head = valid[:16]
    broken = [valid[:size] for size in range(16, len(valid), 7)]
    broken += [
        head + bytes.fromhex(body)
        for body in (
            "9f820500ff",
            "81820500" + "00",
            "8182182a00",
            "820500",
            "81820561ff",
            "818105",
            "8183050000",
            "c0",
            "81f6",
            "81" * 200,
            "9bffffffffffffffff",
            "9a7fffffff",
            "81825bffffffffffffffff",
            "8182057f",
            "8183028060",
            "8183028082148101",
            "81830280821481818261780102",
        )
    ]
    foreign = [b"something else", b"Rc", b"Rc" + bytes([VERSION + 1]) + bytes(20)]
    lines = tshark(capture(*broken, *foreign)).splitlines()
    assert len(lines) == len(broken) + len(foreign)
    assert [line for line in lines[: len(broken)] if "[malformed: " not in line] == []
    assert not any("Roamcast" in line for line in lines[len(broken) :])


EVIL = "a\x1b[31m\x9b2J\u202e\u2066\u200b\u2028\n\x00\x7f\u061c\ufeff\U000e0041\u00e9\u65e5"
SHOWN = r"a\u001b[31m\u009b2J\u202e\u2066\u200b\u2028\u000a\u0000\u007f\u061c\ufeff\U000e0041" + "\u00e9\u65e5"


def evil_datagram() -> bytes:
    """Texts as a hostile neighbor may send them, in names, values and filters."""
    event = wire.Event(17, 3, 9, 12.5, 2, {EVIL: EVIL, "b": 1}, b"")
    wanted = wire.Sub((filters.Filter([filters.Constraint(EVIL, "=", [EVIL])]),), None)
    return wire.encode(ME, 1, [wire.Data((), event), wire.Data((), wanted)])


def test_scapy_shows_no_text_that_a_terminal_would_obey(capture):
    shown = rdpcap(str(capture(evil_datagram())[0]))[0][dissect.Roamcast].show(dump=True)
    assert all(c.isprintable() or c == "\n" for c in shown) and r"\u001b[31m\u009b2J\u202e" in shown


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("how", [(), ("-V",), ("-T", "fields", "-e", "roamcast.event.attributes", "-e", "roamcast.sub.filters")])
def test_tshark_shows_no_text_that_a_terminal_would_obey(capture, how):
    shown = tshark(capture(evil_datagram()), *how)
    assert all(c.isprintable() or c in "\n\t" for c in shown) and (SHOWN in shown or not how)
