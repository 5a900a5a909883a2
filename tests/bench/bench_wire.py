"""How long encoding and decoding take, with all checks: the target is 25 us for an event of 10 attributes.

Run by name: python tests/bench/bench_wire.py
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from node import filters, wire
from node.ids import Peer

ME = Peer(17, 1764288000)
ATTRIBUTES = {
    "kind": "temperature",
    "value": 21.5,
    "unit": "C",
    "room": 214,
    "battery": 0.83,
    "indoors": True,
    "station": "N-17",
    "serial": b"\x01\x02\x03\x04",
    "floor": 2,
    "quality": "good",
}


def samples() -> dict[str, wire.Message]:
    event = wire.Event(17, 1764288000, 4711, 123.456, 3, ATTRIBUTES, bytes(50))
    heard = tuple((node, 1764288000 + node) for node in range(10))
    told = filters.parse('kind = "temperature" and value > 30 and room in [1, 2, 3]')
    return {
        "DATA with EVENT, 10 attributes": wire.Data(((18, 123456789, 77),), event),
        "HELLO, 10 neighbors heard": wire.Hello(
            sequence=9,
            interval=1000,
            heard=heard,
            hearing=10,
            leader=3,
            depth=4,
            seeking=False,
            digests=((4, 99, 7, bytes(8)),),
        ),
        "DATA with SUB of one filter": wire.Data(((18, 123456789, 78),), wire.Sub((told,), None)),
        "ACK": wire.Ack(18, 123456789, 79, 0),
    }


def microseconds(action: Callable, *arguments: object, number: int = 4000) -> float:
    # CPU time: what else the machine does shall count as little as it can.
    runs = timeit.repeat(lambda: action(*arguments), timer=time.process_time, number=number, repeat=7)
    return min(runs) / number * 1e6


def main() -> None:
    print(
        f"{'us of CPU, best of 7':32} {'bytes':>6} {'encode':>8} {'decode':>8} {'both':>8} {'with a tag':>12}"
    )
    for name, message in samples().items():
        datagram, tagged = wire.encode(ME, 1, [message]), wire.encode(ME, 1, [message], b"secret")
        assert wire.decode(tagged, b"secret").messages == (message,)
        encode, decode = microseconds(wire.encode, ME, 1, [message]), microseconds(wire.decode, datagram)
        both = microseconds(wire.encode, ME, 1, [message], b"secret") + microseconds(
            wire.decode, tagged, b"secret"
        )
        print(f"{name:32} {len(datagram):6} {encode:8.1f} {decode:8.1f} {encode + decode:8.1f} {both:12.1f}")


if __name__ == "__main__":
    main()
