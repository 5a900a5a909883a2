"""Reads our datagrams in captures: a scapy layer and a Wireshark dissector, both made from node/schema/.

Importing this module binds the layer `Roamcast` to the UDP port of header.toml, so that scapy's own `rdpcap`
and `sniff` show datagrams message by message; `ROAMCAST[code]` is the packet class of a message. What is no
datagram of ours stays Raw. The layer believes more than node/wire.py does (it checks no bounds): it is for
looking.

`wireshark_lua()` is the text of a dissector for Wireshark and tshark (`roamcast dissect --out roamcast.lua`):

    tshark -X lua_script:roamcast.lua -r captures/0.pcap -Y 'roamcast.type == "EVENT"'
"""
from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, cast

import cbor2
from scapy.base_classes import BasePacket
from scapy.config import conf
from scapy.error import Scapy_Exception
from scapy.fields import (
    ByteField,
    ConditionalField,
    Field,
    FlagsField,
    IntField,
    LongField,
    PacketField,
    PacketListField,
    ShortField,
    StrFixedLenField,
    XStrFixedLenField,
)
from scapy.layers.dot11 import RadioTap
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, bind_layers
from scapy.utils import PcapReader

from node import schema
from node.filters import Filter, FilterError
from node.filters.language import value_text
from topologies.problems import one_line

GZIP = b"\x1f\x8b"  # how a file begins that gzip packed
_HEADER = schema.header()
_DEFAULTS = {"bool": False, "f64": 0.0, "text": "", "bytes": b"", "attributes": {}, "epoch": 1,
             "optional": None, "list": (), "tuple": (), "filter": (), "message": None}


def _take(data: bytes) -> tuple[Any, bytes]:
    """The CBOR item at the start of `data`, and what follows it."""
    stream = BytesIO(data)
    value = cbor2.CBORDecoder(stream, max_depth=_HEADER.max_depth, allow_indefinite=False).decode()
    return value, data[stream.tell():]


def shown(kind: schema.Type, value: Any) -> str:
    """A field's value for people, on one line: filters and event attributes as the filter language writes them.

    It came from the air: nothing in it is left for a terminal to obey.
    """
    return one_line(_shown(kind, value))


def _shown(kind: schema.Type, value: Any) -> str:
    try:
        if kind.kind == "filter":
            return str(Filter.from_wire(value))
        if kind.kind == "attributes":
            return ", ".join(f"{name} = {value_text(one)}" for name, one in value.items())
        if kind.kind == "optional":
            return "none" if value is None else _shown(kind.items[0], value)
        if kind.kind == "list":
            return "[" + ", ".join(_shown(kind.items[0], one) for one in value) + "]"
        if kind.kind == "tuple":
            pairs = zip(kind.items, value, strict=True)
            return "(" + ", ".join(_shown(item, one) for item, one in pairs) + ")"
    except (FilterError, AttributeError, KeyError, TypeError, ValueError):
        pass  # not of its type: shown as it is
    return value.hex() if isinstance(value, bytes) else str(value)


def _free_name(name: str) -> str:
    """A name that is no attribute of every scapy packet: an event's `payload` is `payload_` there."""
    return f"{name}_" if hasattr(Packet, name) or name == "code" else name


class _Value(Field[Any, Any]):
    """A field of a message: one CBOR item."""

    __slots__ = ["_schema"]
    islist = 1  # scapy would take a list for alternatives, and make a packet for each

    def __init__(self, field: schema.Field) -> None:
        super().__init__(_free_name(field.name), _DEFAULTS.get(field.type.kind, 0))
        self._schema = field

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, Any]:
        value, rest = _take(s)
        return rest, value

    def addfield(self, pkt: Packet, s: bytes, val: Any) -> bytes:
        return s + cbor2.dumps(val)

    def i2repr(self, pkt: Packet | None, x: Any) -> str:
        return f"{shown(self._schema.type, x)} {self._schema.unit}".rstrip()


class _Head(Field[int, int]):
    """The first bytes of a message: the head of its array and its code, which is the value."""

    __slots__ = ["_code", "_head"]

    def __init__(self, code: int, head: bytes) -> None:
        super().__init__("code", code)
        self._code, self._head = code, head

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, int]:
        return s[len(self._head):], self._code

    def addfield(self, pkt: Packet, s: bytes, val: int | None) -> bytes:
        return s + self._head


class _Count(Field[int | None, int | None]):
    """The head of the array of messages: how many there are; None counts them."""

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, int]:
        size = {24: 1, 25: 2}.get(s[0] & 31, 0)
        if s[0] >> 5 != 4 or s[0] & 31 > 25 or len(s) <= size:
            raise ValueError("the body is no array")
        return s[1 + size:], int.from_bytes(s[1:1 + size], "big") if size else s[0] & 31

    def addfield(self, pkt: Packet, s: bytes, val: int | None) -> bytes:
        return s + _array_head(len(pkt.messages) if val is None else val)


def _array_head(size: int) -> bytes:
    if size < 24:
        return bytes([0x80 | size])
    return bytes([0x98, size]) if size < 256 else b"\x99" + size.to_bytes(2, "big")


class Message(Packet):
    """What the packet classes of all messages have in common."""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s  # the next message follows; nothing is inside but by a field


def _message_class(table: schema.MessageSchema) -> type[Message]:
    head = _array_head(len(table.fields) + 1) + cbor2.dumps(table.code)
    fields = [PacketField(_free_name(field.name), None, _message) if field.type.kind == "message"
              else _Value(field) for field in table.fields]
    found = type(f"Roamcast{table.class_name}", (Message,), {
        "name": table.name, "__doc__": table.doc, "__module__": __name__,
        "fields_desc": [_Head(table.code, head), *fields]})
    _BY_HEAD[head] = found
    return found


def _class_of(data: bytes) -> type[Packet]:
    """The class of the message that begins here: by the head of its array and its code, of 2 or 3 bytes."""
    return _BY_HEAD.get(data[:2]) or _BY_HEAD.get(data[:3]) or conf.raw_layer


def _message(data: bytes, **keys: Any) -> Packet:
    return _class_of(data)(data, **keys)


_BY_HEAD: dict[bytes, type[Message]] = {}
ROAMCAST: dict[int, type[Message]] = {
    table.code: _message_class(table) for table in schema.messages().values()}


def _header_field(name: str, form: str) -> Field[Any, Any]:
    if name == "magic":
        return StrFixedLenField(name, _HEADER.magic, len(_HEADER.magic))
    if name == "flags":
        return FlagsField(name, 0, 8, ["authenticated"])
    plain = {"B": ByteField, "H": ShortField, "I": IntField, "Q": LongField}[form]
    return plain(name, {"version": _HEADER.version, "epoch": 1}.get(name, 0))


def _next_message(pkt: Packet, done: list[BasePacket], last: Packet | None, rest: bytes) -> type[Packet] | None:
    count = len(done) + (last is not None)
    return _class_of(rest) if count < pkt.count else None


class Roamcast(Packet):
    """A datagram: the header, the messages, and the tag of an authenticated one."""

    name = "Roamcast"
    fields_desc = [
        *(_header_field(name, form) for name, form, _ in _HEADER.fields),
        _Count("count", None),
        PacketListField("messages", [], next_cls_cb=_next_message, max_count=_HEADER.max_datagram),
        ConditionalField(XStrFixedLenField("tag", bytes(_HEADER.tag_bytes), _HEADER.tag_bytes),
                         lambda pkt: bool(pkt.flags & 1)),
    ]

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_: Any, **__: Any) -> type[Packet]:
        """Other programs use our port too, and other versions other layouts."""
        ours = _HEADER.magic + bytes([_HEADER.version])
        return cls if _pkt is None or _pkt.startswith(ours) else conf.raw_layer

    def mysummary(self) -> str:
        names = ", ".join(map(_with_inner, self.messages))
        return f"Roamcast {self.sender}.{self.epoch} #{self.counter} {names}"


def _with_inner(message: Packet) -> str:
    """The name of a message, and of the one that it carries: DATA(EVENT)."""
    inner = getattr(message, "message", None)
    name = str(message.name)
    return f"{name}({_with_inner(inner)})" if isinstance(inner, Message) else name


bind_layers(UDP, Roamcast, dport=_HEADER.port)
bind_layers(UDP, Roamcast, sport=_HEADER.port)


def lines(path: Path) -> Iterator[str]:
    """A capture's frames, a line each: the time of day (UTC; in `sim`, which begins at midnight, that of the run),
    from whom to whom, the messages, and the signal where the capture has it. Raises OSError, and ValueError for what is
    no capture, or, behind the last frame, for one that ends within a frame or has none."""
    last = ""
    try:
        with path.open("rb") as plain, _Whole(plain) as file, PcapReader(cast(str, file)) as frames:  # a file will do, too
            for frame in frames:
                when = datetime.fromtimestamp(float(frame.time), UTC).time()
                what = frame.summary()
                if Roamcast in frame and IP in frame:
                    what = f"{frame[IP].src} > {frame[IP].dst} {frame[Roamcast].mysummary()}"
                if RadioTap in frame and frame.dBm_AntSignal is not None:
                    what += f" {frame.dBm_AntSignal} dBm"
                last = one_line(f"{when.isoformat('microseconds')} {what}")
                yield last
    except (Scapy_Exception, EOFError, gzip.BadGzipFile, zlib.error):
        if not last:
            raise ValueError(f"{path}: not a capture; give a pcap file, such as captures/0.pcap of a run") from None
        file.cut = True
    if file.cut:
        raise ValueError(f"{path}: ends within a frame; the last one shown may be incomplete, and what came after is missing")
    if not last:
        raise ValueError(f"{path}: a capture without frames")


class _Whole:
    """A file for scapy, unpacked where gzip packed it. scapy takes the end of a file in the middle of a frame for the end:
    `cut` tells that."""

    def __init__(self, file: BufferedReader) -> None:
        self.cut = False
        self.name = file.name
        self._file = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == GZIP else file

    def read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            self.cut = True
            raise EOFError from None
        self.cut |= 0 < len(data) < size
        return data

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> _Whole:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


# ---- Wireshark -----------------------------------------------------------------------------------------


def wireshark_lua() -> str:
    """A Wireshark dissector in Lua: the tables of the schema, then dissect.lua, which reads by them."""
    offset, header = 0, []
    for name, form, doc in _HEADER.fields:
        size = int(form[:-1]) if form.endswith("s") else {"B": 1, "H": 2, "I": 4, "Q": 8}[form]
        header.append(f"  {{name = {_lua(name)}, offset = {offset}, size = {size}, "
                      f"text = {_lua(form.endswith('s'))}, doc = {_lua(doc)}}},\n")
        offset += size
    messages = []
    for table in schema.messages().values():
        fields = "".join(
            f"    {{name = {_lua(field.name)}, unit = {_lua(field.unit)}, doc = {_lua(field.doc)},\n"
            f"     type = {_lua_type(field.type)}}},\n" for field in table.fields)
        messages.append(f"  [{table.code}] = {{name = {_lua(table.name)}, doc = {_lua(table.doc)},\n"
                        f"   fields = {{\n{fields}  }}}},\n")
    body = Path(__file__).with_name("dissect.lua").read_text(encoding="utf-8")
    magic = _lua(_HEADER.magic.decode())
    return (f"-- Made from node/schema/ by Roamcast's emulation/dissect.py; version {_HEADER.version}.\n"
            f"local MAGIC, VERSION, PORT = {magic}, {_HEADER.version}, {_HEADER.port}\n"
            f"local TAG_BYTES, MAX_DEPTH, HEADER_BYTES = {_HEADER.tag_bytes}, {_HEADER.max_depth}, {offset}\n"
            f"local HEADER = {{\n{''.join(header)}}}\nlocal MESSAGES = {{\n{''.join(messages)}}}\n\n{body}")


def _lua(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _lua_type(kind: schema.Type) -> str:
    items = ", ".join(map(_lua_type, kind.items))
    return f"{{kind = {_lua(kind.kind)}, {items}}}" if items else f"{{kind = {_lua(kind.kind)}}}"
