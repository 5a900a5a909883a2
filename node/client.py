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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from node import lines

RETRY = 0.02  # s
LOOK = 1.0  # s that a wait lasts at most before it begins anew: what a signal calls is called in between
WAITING = 4096  # events kept here while the program waits for an answer


class ClientError(Exception):
    """The node cannot be reached, went away, or refuses; the text says which and why."""


class Received(NamedTuple):
    """A matching event: its id `source.epoch.sequence`, its attributes and payload, and how it arrived."""

    id: str
    attributes: Mapping[str, object]
    payload: bytes
    hops: int
    published: float  # s since the run started, by the publisher's clock
    recovered: bool = False  # came late, maybe behind later ones of its publisher: by a recovery or from a former broker


class Client:
    """A connection to a node's control socket. Every method raises ClientError if it fails.

    `node` and `epoch` identify the node, `name` is this client's name in its records.

    `lost` counts events that the node or this client dropped because they were read too slowly. It is as current as the
    events read so far, because the node reports missing events in their place in the stream or at its end.
    `unrecorded` counts events that were published while the node could not write their records (a full disk).
    """

    def __init__(self, path: str | Path, timeout: float = 10.0, on_lost: Callable[[int], object] | None = None) -> None:
        """`timeout`: time (s) that the node may take to accept the connection and to answer; events may take longer.
        `on_lost(events)` is called with the number of lost events as soon as it is read."""
        self.lost = self.unrecorded = 0
        self._on_lost = on_lost
        self._path = path
        self._timeout = timeout
        self._events: deque[Received] = deque()
        self._buffer = bytearray()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._connect(time.monotonic() + timeout)
            greeting = self._line(time.monotonic() + timeout)
            if greeting.get("ok") is False:
                raise ClientError(f"{path}: {greeting.get('error', 'refused')}")
            if greeting.get("roamcast") != lines.PROTOCOL:
                raise ClientError(f"{path}: not the control socket of a node of this version; use one version for node and client")
            self.node, self.epoch, self.name = greeting["node"], greeting["epoch"], greeting["client"]
        except OSError as error:
            self._socket.close()
            raise ClientError(f"{path}: no node listens here ({error.strerror or error}); "
                              "start `roamcast node --control` with this path") from None
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def _connect(self, deadline: float) -> None:
        """Where many programs knock at once, the node comes to each in turn."""
        while True:
            try:
                return self._socket.connect(str(self._path))
            except BlockingIOError:  # its queue of those who knock is full
                if time.monotonic() > deadline:
                    raise ClientError(f"{self._path}: the node is too busy to accept within {self._timeout:g} s; try "
                                      "again later") from None
                time.sleep(RETRY)

    def subscribe(self, filter: str) -> str:
        """Receive events that match `filter`, each once even if several filters match. Returns its normal form.

        When this returns, it applies to events published at this node. The subscription spreads through the tree hop by
        hop, a few milliseconds each over a good radio; events published elsewhere before it gets there do not arrive.
        No node knows when a subscription has reached all others; `settle` waits for the first hop.
        """
        return str(self._ask({"do": "subscribe", "filter": filter})["filter"])

    def unsubscribe(self, filter: str) -> bool:
        """Stop receiving events for `filter`. Returns False if this client had not subscribed to it."""
        return bool(self._ask({"do": "unsubscribe", "filter": filter})["held"])

    def settle(self, within: float = 5.0) -> bool:
        """Wait until each tree neighbor of the node has acknowledged all subscriptions, this client's included.

        Returns False if that takes longer than `within` s (60 at most). True means that events published at the tree
        neighbors from now on arrive, as long as the tree stays as it is. It says nothing about hosts further away; each
        hop takes about as long again. It returns True at once if the node has no tree neighbor, or if the strategy does
        not spread subscriptions (`flood`, `event`).
        """
        return bool(self._ask({"do": "settle", "within": within}, within)["settled"])

    def publish(self, attributes: Mapping[str, object], payload: bytes = b"", synced: bool = False) -> str:
        """Publish an event through the node; returns its id.

        When this returns, the event is accepted and its record is with the operating system: killing the node loses
        no event, a power cut may lose the last second. With `synced`, it returns when the record is on disk;
        concurrent publications share one sync. Neither means that anybody received the event. If this raises because
        the node went away, the event may or may not have been published.
        """
        request: dict[str, object] = {"do": "publish", "attributes": lines.attributes_out(attributes)}
        if payload:
            request["payload"] = lines.binary_out(payload)
        if synced:
            request["synced"] = True
        answer = self._ask(request)
        self.unrecorded += not answer.get("recorded", True)
        return str(answer["event"])

    def receive(self, timeout: float | None = None) -> Received | None:
        """The next event, or None if none arrives within `timeout` s (None: wait for ever; 0: do not wait)."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._events:
            try:
                self._take(self._line(deadline))
            except TimeoutError:
                return None
        return self._events.popleft()

    def __iter__(self) -> Iterator[Received]:
        """Events as they arrive, until the node went away."""
        while True:
            try:
                event = self.receive()
            except ClientError:
                return
            if event is not None:
                yield event

    def _ask(self, request: Mapping[str, object], longer: float = 0.0) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout + longer
        try:
            raw = lines.encode(request)
        except TypeError as error:
            raise ClientError(f"found an attribute of another type ({error}); give text, int, float, bool or bytes") from None
        if len(raw) > lines.LONGEST:
            raise ClientError(f"found a request of {len(raw)} bytes; expected at most {lines.LONGEST}")
        try:
            self._socket.settimeout(self._timeout)
            self._socket.sendall(raw)
            while "ok" not in (answer := self._line(deadline)):
                self._take(answer)
                if time.monotonic() > deadline:  # events without end are no answer
                    raise TimeoutError
        except TimeoutError:
            raise ClientError(f"{self._path}: the node did not answer within {self._timeout:g} s; try again later") from None
        except OSError as error:
            raise ClientError(f"{self._path}: the node went away ({error.strerror or error})") from None
        if not answer["ok"]:
            raise ClientError(str(answer.get("error", "refused")))
        return answer

    def _take(self, line: dict[str, Any]) -> None:
        """Keep what came between the answers."""
        if "event" in line:
            if len(self._events) >= WAITING:
                self._skipped(1)
                return
            self._events.append(Received(line["event"], lines.attributes_in(line["attributes"]),
                                         lines.binary_in("payload", line["payload"]), line["hops"],
                                         line["published"], line.get("recovered", False)))
        else:
            self._skipped(int(line.get("lost", 0)))

    def _skipped(self, events: int) -> None:
        self.lost += events
        if events and self._on_lost is not None:
            self._on_lost(events)

    def _line(self, deadline: float | None) -> dict[str, Any]:
        """The next line. Raises TimeoutError at `deadline` and ClientError when the node closed or babbles."""
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > lines.LONGEST:
                raise ClientError(f"{self._path}: found a program that is not a node; give a node's control socket")
            left = LOOK if deadline is None else deadline - time.monotonic()
            self._socket.settimeout(min(max(left, 0.0), LOOK))
            try:
                more = self._socket.recv(65536)
            except (BlockingIOError, TimeoutError):  # nothing has come
                if left <= LOOK and deadline is not None:
                    raise TimeoutError from None
                continue
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
            raise ClientError(f"{self._path}: found a program that is not a node; give a node's control socket") from None
