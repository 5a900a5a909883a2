"""Connectivity before the run: who hears whom, asked of the hosts themselves.

Every host broadcasts a UDP datagram through its kernel, its TAP and the medium, with the hosts at
their places of time 0, one host after the other; all listen. What was heard must be what the
trace and the radio model say, computed here apart from the medium: pairs in range must hear each
other, pairs out of range must not. Lossy links are asked several times, and longer where the machine is busy.
"""
from __future__ import annotations

import socket
import time
from collections.abc import Sequence

import numpy as np

import mobility
from emulation import addresses
from emulation.propagation import LogDistance, UnitDisk
from emulation.realtime.channel import select_one
from topologies.radio import LogDistanceRadio, UnitDiskRadio

PORT = 4711  # UDP; nothing else runs yet
MAGIC = b"roamcast probe "
SLOT = 0.001  # s between two hosts' turns
SETTLES = 0.25, 0.25, 0.25, 0.25, 0.5, 1.0, 2.0, 4.0  # s for the last ones to be heard, a round each
CERTAIN = 0.9  # of a frame: a link as good as that is heard in one of so many rounds
EDGE = 1e-6  # m about the range, where rounding decides
FAR = 1e9  # m: where hosts are put that the trace has not brought yet


class Socket:
    """A host's end of the probing."""

    def __init__(self, host: int) -> None:
        self._host = host
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self._socket.bind(("", PORT))

    def close(self) -> None:
        self._socket.close()

    def round(self, begins: float, ends: float) -> list[int]:
        """Send in turn, listen to all; whom this host heard. Both times are the monotonic clock's."""
        turn = begins + self._host * SLOT
        heard: set[int] = set()
        sent = False
        while (now := time.monotonic()) < ends:
            if not sent and now >= turn:
                sent = True
                self._socket.sendto(MAGIC + str(self._host).encode(), (str(addresses.IPV4_BROADCAST), PORT))
            if select_one(self._socket, (ends if sent else turn) - now):
                heard.add(self._sender(*self._socket.recvfrom(64)))
        return sorted(heard - {self._host, addresses.NOBODY})

    @staticmethod
    def _sender(datagram: bytes, source: tuple[str, int]) -> int:
        """The host that says so and has the address of it."""
        name = datagram.removeprefix(MAGIC)
        host = int(name) if name.isdigit() else addresses.NOBODY
        return host if host >= 0 and source[0] == str(addresses.ipv4(host)) else addresses.NOBODY


def standing(movement: mobility.Movement) -> mobility.Movement:
    """The hosts at their places of time 0, for as long as the probing takes."""
    still_at = places(movement)
    still = [mobility.Trajectory(np.zeros(1), place[None]) for place in still_at]
    return mobility.Movement(list(movement.names), still, movement.duration)


def places(movement: mobility.Movement, t: float = 0.0) -> np.ndarray:
    """(hosts, d) in m at `t`; those that are absent are far from everybody."""
    found = np.array(movement.positions(t), dtype=float)
    absent = np.isnan(found).any(axis=1)
    found[absent] = 0.0
    found[absent, 0] = FAR * (1.0 + np.flatnonzero(absent))
    return found


def reception(movement: mobility.Movement, radio: UnitDiskRadio | LogDistanceRadio, propagation: UnitDisk | LogDistance,
              off: set[int], edge: float = 0.0) -> np.ndarray:
    """The probability that one broadcast of a host (row) is received by another (column) at time 0; NaN within
    the share `edge` of the range about it, at the least at the very edge of a unit disk."""
    at = places(movement)
    distance: np.ndarray = np.linalg.norm(at[:, None] - at[None], axis=2)
    found: np.ndarray = (distance <= propagation.reach).astype(float)
    if isinstance(propagation, LogDistance):
        for sender, receiver in np.argwhere(found > 0.0).tolist():
            if sender != receiver:
                found[sender, receiver] = propagation.probability(sender, receiver, 0.0, True)
    else:
        found[np.abs(distance - propagation.reach) <= max(EDGE, edge * propagation.reach)] = np.nan
    loss = np.full(found.shape, radio.loss)
    for link in radio.links:
        loss[link.from_, link.to] = link.loss
    found *= 1.0 - loss
    np.fill_diagonal(found, 0.0)
    for host in off:
        found[host] = found[:, host] = 0.0
    return found


def disagreement(heard: Sequence[set[int]], expected: np.ndarray) -> str | None:
    """The first pair of which the probes say otherwise than trace and radio, in a sentence; and how many."""
    asked = heard_matrix(heard)
    walls = np.argwhere(asked & (expected == 0.0)).tolist()
    deaf = np.argwhere(~asked & (expected >= CERTAIN)).tolist()
    if not walls and not deaf:
        return None
    (sender, receiver), rest = (walls or deaf)[0], len(walls) + len(deaf) - 1
    what = (f"host {receiver} hears host {sender}, which is out of its range" if walls else
            f"host {receiver} does not hear host {sender}, which is in its range")
    more = f" (and {rest} more pairs)" if rest else ""
    return f"the self-check disagrees with trace and radio at time 0: {what}{more}"


def heard_matrix(heard: Sequence[set[int]]) -> np.ndarray:
    """Booleans by sender (row) and receiver (column) from whom each receiver heard."""
    asked = np.zeros((len(heard), len(heard)), dtype=bool)
    for receiver, senders in enumerate(heard):
        asked[[sender for sender in senders if sender < len(heard)], receiver] = True
    return asked


def complete(heard: Sequence[set[int]], expected: np.ndarray) -> bool:
    """Whether every certain pair has been heard, so that no further round is needed."""
    return bool((heard_matrix(heard) | ~(expected >= CERTAIN)).all())
