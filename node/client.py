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
WAITING = 4096  # events kept here while the program waits for an answer


def __getattr__(name: str) -> Any:
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

    `node`, `epoch` and `name` tell whom one talks to and under which name the records know this client.

    `lost` counts the events that the node or this client had to drop because they were read too slowly, as far as what
    was read tells: the node says how many are missing in their place among the events, or behind the last.
    `unrecorded` counts what was published while the node could write no record of it, on a full disk.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0, on_lost: Callable[[int], object] | None = None) -> None:
        """`timeout`: s that the node may take to answer, or to have time for one more program; events may take any
        time. `on_lost(events)` is called with how many events are lost, as soon as that is read."""
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

    def _connect(self, deadline: float) -> None:
        """Where many programs knock at once, the node comes to each in turn."""
        while True:
            try:
                return self._socket.connect(str(self._path))
            except BlockingIOError:  # its queue of those who knock is full
                if time.monotonic() > deadline:
                    raise ClientError(f"{self._path}: the node is too busy to answer within {self._timeout:g} s; try "
                                      "again later") from None
                time.sleep(RETRY)

    def subscribe(self, filter: str) -> str:
        """Events that match are received, each once however many filters it matches; the filter in its canonical form.

        From when this returns that holds for events published at this node. Others follow as the subscription spreads
        through the tree, hop by hop, some milliseconds each over a good radio: an event that is published elsewhere
        before it is there does not come. No node knows when a subscription has got everywhere; `settle` tells when it
        has come to the first hop.
        """
        return str(self._ask({"do": "subscribe", "filter": filter})["filter"])

    def unsubscribe(self, filter: str) -> bool:
        """Whether this client had subscribed to it."""
        return bool(self._ask({"do": "unsubscribe", "filter": filter})["held"])

    def settle(self, within: float = 5.0) -> bool:
        """Wait until each tree neighbor of the node has acknowledged all that it is told of subscriptions, those of
        this client among them; False when that takes longer than `within` s (60 at most).

        True says that events published at the tree neighbors from now on come here, as long as the tree stays as it
        is, and at once that nobody has to be told, where the node has no tree neighbor. Of hosts further away it says
        nothing: each hop takes about as long again. Where subscriptions are not told at all (strategy flood or event)
        there is nothing to wait for.
        """
        return bool(self._ask({"do": "settle", "within": within}, within)["settled"])

    def publish(self, attributes: Mapping[str, object], payload: bytes = b"", synced: bool = False) -> str:
        """Hand an event to the node; its id.

        When this returns the event is accepted and its record is with the operating system: a node that is killed
        loses none, a power cut may take the last second's. With `synced` the record is on the disk; that takes as long
        as the disk does, and many that wait at once share it. Neither says that anybody received it. Where this raises
        because the node went away, the event may have been published or not.
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

    def _ask(self, request: Mapping[str, object], longer: float = 0.0) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout + longer
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
