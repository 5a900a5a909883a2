"""Captures for the tests, byte by byte: pcap and pcapng of both byte orders, frames of each link type with a datagram inside."""
from __future__ import annotations

import struct

import cbor2

from node import schema

HEADER = schema.header()
SECOND = 1_700_000_000
BEACON = {"u8": 1, "u16": 2, "u32": 3, "node": 4, "epoch": 1, "bool": False, "list": [], "optional": None, "f64": 0.5}


def message(name: str, **fields: object) -> list:
    """A message as CBOR has it; fields that are not given get some value of their type."""
    table = schema.messages()[name]
    assert fields.keys() <= {field.name for field in table.fields}
    return [table.code, *(fields.get(field.name, BEACON.get(field.type.kind)) for field in table.fields)]


def datagram(sender: int, counter: int, *messages: list, epoch: int = 1) -> bytes:
    values = {"magic": HEADER.magic, "version": HEADER.version, "flags": 0, "sender": sender, "epoch": epoch, "counter": counter}
    return HEADER.layout.pack(*(values[name] for name, _, _ in HEADER.fields)) + cbor2.dumps(list(messages))


def hello(sender: int, counter: int, heard: tuple[int, ...] = (), sequence: int | None = None) -> bytes:
    return datagram(sender, counter, message("HELLO", sequence=counter if sequence is None else sequence, heard=[[h, 1] for h in heard]))


def udp(sender: int, payload: bytes, to: int | None = None) -> bytes:
    source = bytes([10, 0, 0, sender + 1])
    target = bytes([10, 255, 255, 255]) if to is None else bytes([10, 0, 0, to + 1])
    inner = struct.pack("!HHHH", HEADER.port, HEADER.port, 8 + len(payload), 0) + payload
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(inner), 0, 0, 64, 17, 0) + source + target + inner


def mac(host: int | None) -> bytes:
    return b"\xff" * 6 if host is None else b"\2\0\0\0\0" + bytes([host])


def ethernet(sender: int, payload: bytes, to: int | None = None) -> bytes:
    return mac(to) + mac(sender) + b"\x08\0" + udp(sender, payload, to)


def ieee802_11(sender: int, payload: bytes, to: int | None = None, retry: bool = False) -> bytes:
    return (bytes([8, 8 if retry else 0, 0, 0]) + mac(to) + mac(sender) + b"\2romcx" + b"\0\0" + bytes.fromhex("aaaa030000000800")
            + udp(sender, payload, to))


def radiotap(sender: int, payload: bytes, to: int | None = None, signal: int = -60, rate: int = 12, retry: bool = False) -> bytes:
    return (struct.pack("<BBHIBxHHb", 0, 0, 15, 1 << 2 | 1 << 3 | 1 << 5, rate, 5180, 0x140, signal)
            + ieee802_11(sender, payload, to, retry))


FRAMES = {1: ethernet, 127: radiotap, 105: ieee802_11}


def pcap(frames: list[bytes], link: int = 1, order: str = "<", nano: bool = True, start: float = 0.0, step: float = 1.0) -> bytes:
    units = 10**9 if nano else 10**6
    whole = struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for k, frame in enumerate(frames):
        seconds, part = divmod(round((SECOND + start + k * step) * units), units)
        whole += struct.pack(order + "IIII", seconds, part, len(frame), len(frame)) + frame
    return whole


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def pcapng(frames: list[bytes], link: int = 1, order: str = "<", nano: bool = True, kind: int = 6) -> bytes:
    """A section with a second interface that has the frames, and a block of statistics behind them."""
    units = 10**9 if nano else 10**6
    options = struct.pack(order + "HHB3xHH", 9, 1, 9, 0, 0) if nano else b""
    whole = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    described = block(1, struct.pack(order + "HHI", link, 0, 0) + options, order)
    whole += described * (1 if kind == 3 else 2)
    for k, frame in enumerate(frames):
        high, low = divmod((SECOND + k) * units, 2**32)
        head = {6: lambda size: struct.pack(order + "IIIII", 1, high, low, size, size),
                2: lambda size: struct.pack(order + "HHIIII", 1, 0, high, low, size, size),
                3: lambda size: struct.pack(order + "I", size)}[kind](len(frame))
        whole += block(kind, head + frame, order)
    return whole + block(5, struct.pack(order + "III", 0, 0, 0), order)
