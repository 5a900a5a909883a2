"""How the processes of a run speak: JSON objects over a socket pair, with descriptors beside them."""
from __future__ import annotations

import json
import os
import select
import socket
from typing import Any, Protocol

LONGEST = 1 << 18  # bytes of one message
MOST_DESCRIPTORS = 3


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class Channel:
    """One end. What one process sends the other receives whole and in order."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self.descriptors: list[int] = []  # came with the last message

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (here, there):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
        return cls(here), cls(there)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: dict[str, Any], descriptors: tuple[int, ...] = (), wait: bool = True) -> bool:
        """Whether the other end is still there. Without `wait` a message is left out when the other end
        has too many to read."""
        try:
            socket.send_fds(self._socket, [json.dumps(message).encode()], descriptors,
                            0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except (BrokenPipeError, ConnectionError):
            return False
        return True

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next message; {} when none came in `timeout` s, None when the other end is closed."""
        if timeout is not None and not select_one(self, timeout):
            return {}
        while True:
            try:
                data, self.descriptors, _, _ = socket.recv_fds(self._socket, LONGEST, MOST_DESCRIPTORS)
            except ConnectionResetError:
                continue  # it closed without having read all; what it said before is still to come
            return json.loads(data) if data else None

    def close(self) -> None:
        self._socket.close()


def select_one(readable: int | HasFileno, timeout: float) -> bool:
    """Whether something is to be read within `timeout` s; any number of open files will do."""
    poll = select.poll()
    poll.register(readable, select.POLLIN)
    return bool(poll.poll(max(timeout, 0.0) * 1000.0))


def close_all_but(kept: set[int]) -> None:
    """Close every descriptor from 3 on that is not kept: what a forked process does not need."""
    at = 3
    for descriptor in sorted(kept):
        if descriptor >= at:
            os.closerange(at, descriptor)
            at = descriptor + 1
    os.closerange(at, os.sysconf("SC_OPEN_MAX"))
