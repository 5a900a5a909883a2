"""A client of a node on this host, for local programs: plain blocking sockets, standard library only.

    with Client("/run/roamcast/3.sock") as client:
        client.subscribe('kind = "temp" and value > 30')
        client.publish({"kind": "temp", "value": 31})
        for event in client:
            print(event.attributes)

A client is for one thread. Its subscriptions end with it.
"""
from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from node import lines

WAITING = 4096  # events kept here while the program waits for an answer


def __getattr__(name: str):
    """RoamingClient, the same for a device without a node (node/roaming/client.py): loaded when it is asked for,
    because it brings the libraries of a node along."""
    if name == "RoamingClient":
        from node.roaming.client import RoamingClient
        return RoamingClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class ClientError(Exception):
    """The node is not reached, went away, or refused; the text says which and why."""


class Received(NamedTuple):
    """One event that matched: its id `source.epoch.sequence`, what it says, and how it came here."""

    id: str
    attributes: Mapping[str, object]
    payload: bytes
    hops: int
    published: float  # s since the run started, by the publisher's clock
    recovered: bool = False  # came late, maybe behind later ones of its publisher: by a recovery or from a former broker


class Client:
    """A connection to the control socket of a node. Raises ClientError wherever that fails.

    `node`, `epoch` and `name` tell whom one talks to and under which name the records know this client;
    `lost` counts the events that the node or this client had to drop because they were read too slowly.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        """`timeout`: s that the node may take to answer; events may take any time."""
        self.lost = 0
        self._path = path
        self._timeout = timeout
        self._events: deque[Received] = deque()
        self._buffer = bytearray()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(str(path))
            greeting = self._line(time.monotonic() + timeout)
            if greeting.get("roamcast") != lines.PROTOCOL:
                raise ClientError(f"{path}: not the control socket of a node of this version")
            self.node, self.epoch, self.name = greeting["node"], greeting["epoch"], greeting["client"]
        except OSError as error:
            self._socket.close()
            raise ClientError(f"{path}: no node answers here ({error.strerror or error}); "
                              "is `roamcast node --control` running with this path?") from None
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def subscribe(self, filter: str) -> str:
        """From now on the events that match are received, each once however many filters it matches; the
        filter in its canonical form."""
        return self._ask({"do": "subscribe", "filter": filter})["filter"]

    def unsubscribe(self, filter: str) -> None:
        self._ask({"do": "unsubscribe", "filter": filter})

    def publish(self, attributes: Mapping[str, object], payload: bytes = b"") -> str:
        """Hand an event to the node; its id."""
        request = {"do": "publish", "attributes": lines.attributes_out(attributes)}
        if payload:
            request["payload"] = lines.binary_out(payload)
        return self._ask(request)["event"]

    def receive(self, timeout: float | None = None) -> Received | None:
        """The next event; None when none came in `timeout` seconds (None: wait for ever; 0: what is there)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._events:
            try:
                self._take(self._line(deadline))
            except TimeoutError:
                return None
        return self._events.popleft()

    def __iter__(self) -> Iterator[Received]:
        """Events as they come, until the node goes away."""
        while True:
            try:
                event = self.receive()
            except ClientError:
                return
            if event is not None:
                yield event

    def _ask(self, request: Mapping[str, object]) -> dict:
        deadline = time.monotonic() + self._timeout
        try:
            raw = lines.encode(request)
        except TypeError as error:
            raise ClientError(f"an attribute is text, int, float, bool or bytes: {error}") from None
        if len(raw) > lines.LONGEST:
            raise ClientError(f"a request of {len(raw)} bytes: at most {lines.LONGEST}")
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(raw)
            while "ok" not in (answer := self._line(deadline)):
                self._take(answer)
                if time.monotonic() > deadline:  # events without end are no answer
                    raise TimeoutError
        except TimeoutError:
            raise ClientError(f"{self._path}: the node did not answer in {self._timeout:g} s") from None
        except OSError as error:
            raise ClientError(f"{self._path}: the node went away ({error.strerror or error})") from None
        if not answer["ok"]:
            raise ClientError(str(answer.get("error", "refused")))
        return answer

    def _take(self, line: dict) -> None:
        """Keep what came between the answers."""
        if "event" in line:
            if len(self._events) >= WAITING:
                self.lost += 1
                return
            self._events.append(Received(line["event"], lines.attributes_in(line["attributes"]),
                                         lines.binary_in("payload", line["payload"]), line["hops"],
                                         line["published"], line.get("recovered", False)))
        else:
            self.lost += int(line.get("lost", 0))

    def _line(self, deadline: float | None) -> dict:
        """The next line. Raises TimeoutError at `deadline` and ClientError when the node closed or babbles."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > lines.LONGEST:
                raise ClientError(f"{self._path}: what answers here is no node")
            self._socket.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.0))
            try:
                more = self._socket.recv(65536)
            except BlockingIOError:  # the deadline is over and nothing has come
                raise TimeoutError from None
            except ConnectionError:
                more = b""
            if not more:
                raise ClientError(f"{self._path}: the node went away")
            self._buffer += more
        raw = bytes(self._buffer[:end])
        del self._buffer[:end + 1]
        try:
            return lines.decode(raw)
        except lines.BadLine:
            raise ClientError(f"{self._path}: what answers here is no node") from None
