"""Who knows a device's key: proofs that go with what brokers tell each other about it.

A key is chosen by the device and told to each broker that it attaches to. Through the tree goes no key, but a
BLAKE2s of the message's fields under it, so that neither a stranger's STOP nor a stranger's answer counts.
"""
from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2s
from hmac import compare_digest

import cbor2

from node import wire
from node.ids import NodeId

KEY_BYTES = 16


def of_stop(key: bytes, device: NodeId, epoch: int, turn: int, request: int, holders: Sequence[tuple[NodeId, int, int]], new: NodeId) -> bytes:
    return _proof(key, ["stop", device, epoch, turn, request, [list(one) for one in holders], new])


def of_fetch(key: bytes, device: NodeId, request: int, serial: int, new: NodeId, holder: NodeId) -> bytes:
    return _proof(key, ["fetch", device, request, serial, new, holder])


def of_handed(key: bytes, device: NodeId, request: int, serial: int, last: bool, events: Sequence[wire.Message], holder: NodeId,
              new: NodeId) -> bytes:
    return _proof(key, ["handed", device, request, serial, last, [wire.encode_message(event) for event in events],
                        holder, new])


def holds(proof: bytes, right: bytes) -> bool:
    return compare_digest(proof, right)


def _proof(key: bytes, said: list[object]) -> bytes:
    return blake2s(cbor2.dumps(said), digest_size=16, key=key).digest()
