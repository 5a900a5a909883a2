"""The control socket: how programs on this host subscribe and publish through its node.

A Unix stream socket with the lines of `node.lines`. Every connection is one client of the broker.
Programs are not trusted to behave: connections, line lengths and what waits for a slow reader are
bounded, a bad line is answered with its fault, and a connection that ends takes its subscriptions
with it.
"""
from __future__ import annotations

import errno
import os
import socket
import stat
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from node import lines, wire
from node.broker import Broker
from node.clients import ClientError
from node.filters import FilterError
from node.ids import EventId

MAX_CONNECTIONS = 64
MAX_WAITING = 1 << 20  # bytes that wait for one slow reader; events past that are dropped and counted
MODE = 0o660  # of the socket: the node's user and group


class ControlError(Exception):
    """The control socket cannot be made; the text says why and what would do."""


class Control:
    """The listening end at `path`. `tick()` is called before each input of the broker.

    `serve` runs until it is cancelled, and `close` takes the socket away.
    """

    def __init__(self, path: Path, broker: Broker, tick: Callable[[], object]) -> None:
        self._path = path
        self._broker = broker
        self._tick = tick
        self._open = 0
        self._names = 0
        self._socket = _listen(path)
        self._inode = path.lstat().st_ino

    async def serve(self) -> None:
        listener = trio.socket.from_stdlib_socket(self._socket)
        async with trio.open_nursery() as nursery:
            while True:
                try:
                    connection, _ = await listener.accept()
                except OSError as error:
                    if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED, errno.ENOMEM):
                        raise
                    await trio.sleep(0.1)
                    continue
                if self._open >= MAX_CONNECTIONS:
                    connection.close()
                    self._tick()
                    self._broker.env.record("refused", what="control connections", limit=MAX_CONNECTIONS)
                    continue
                self._open += 1
                nursery.start_soon(self._serve_one, trio.SocketStream(connection))

    def close(self) -> None:
        self._socket.close()
        try:
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()
        except OSError:
            pass  # taken away by someone else

    async def _serve_one(self, stream: trio.SocketStream) -> None:
        self._names += 1
        try:
            await _Connection(f"local-{self._names}", stream, self._broker, self._tick).serve()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the program is gone
        finally:
            self._open -= 1
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)


class _Connection:
    """One local program: reads its requests, writes answers and events."""

    def __init__(self, name: str, stream: trio.SocketStream, broker: Broker, tick: Callable[[], object]) -> None:
        self._name = name
        self._stream = stream
        self._broker = broker
        self._tick = tick
        self._out: deque[bytes] = deque()
        self._waiting = 0  # bytes in _out
        self._lost = 0  # events since the program was last told
        self._more = trio.Event()  # something to write
        self._less = trio.Event()  # something was written

    async def serve(self) -> None:
        self._tick()
        try:
            self._broker.attach(self._name, self._deliver, partial(self._deliver, recovered=True))
        except ClientError as error:
            await self._stream.send_all(lines.encode({"ok": False, "error": str(error)}))
            return
        try:
            me = self._broker.me
            self._put(lines.encode({"roamcast": lines.PROTOCOL, "node": me.node, "epoch": me.epoch,
                                    "client": self._name}))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write)
                await self._read()
                nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the program is gone
        finally:
            self._tick()
            self._broker.detach(self._name)

    async def _read(self) -> None:
        buffer = bytearray()
        while True:
            while (end := buffer.find(b"\n")) >= 0:
                raw = bytes(buffer[:end])
                del buffer[:end + 1]
                self._put(lines.encode(self._answer(raw)))
                await self._drained()
            if len(buffer) > lines.LONGEST:
                fault = {"ok": False, "error": f"a line has at most {lines.LONGEST} bytes; the connection ends"}
                self._put(lines.encode(fault))
                with trio.move_on_after(1):
                    await self._written()
                return
            more = await self._stream.receive_some(65536)
            if not more:
                return
            buffer += more

    def _answer(self, raw: bytes) -> dict:
        try:
            return {"ok": True, **self._do(lines.decode(raw))}
        except (lines.BadLine, ClientError, FilterError) as error:
            return {"ok": False, "error": str(error)}

    def _do(self, request: dict) -> dict:
        """One request as one input of the broker; what the answer says besides ok."""
        what = request.get("do")
        if what in ("subscribe", "unsubscribe"):
            text = request.get("filter")
            if not isinstance(text, str):
                raise lines.BadLine(f'"{what}" takes "filter", a text')
            self._tick()
            if what == "subscribe":
                return {"filter": str(self._broker.subscribe(self._name, text))}
            self._broker.unsubscribe(self._name, text)
            return {}
        if what == "publish":
            attributes = lines.attributes_in(request.get("attributes"))
            payload = lines.binary_in("payload", request.get("payload", ""))
            self._tick()
            return {"event": str(self._broker.publish(self._name, attributes, payload))}
        raise lines.BadLine('"do" is one of subscribe, unsubscribe and publish')

    def _deliver(self, event: wire.Event, recovered: bool = False) -> None:
        """Called inside an input of the broker: puts the event in line, or counts it as lost."""
        name = EventId(event.source, event.epoch, event.sequence)
        raw = lines.encode({"event": str(name), "attributes": lines.attributes_out(event.attributes),
                            "payload": lines.binary_out(event.payload), "hops": event.hops,
                            "published": event.published, "recovered": recovered})
        if self._waiting + len(raw) > MAX_WAITING:
            if not self._lost:
                self._broker.env.record("refused", what=f"events waiting for client {self._name}",
                                        limit=MAX_WAITING)
            self._lost += 1
            return
        self._tell_lost()
        self._put(raw)

    def _tell_lost(self) -> None:
        if self._lost:
            self._put(lines.encode({"lost": self._lost}))
            self._lost = 0

    def _put(self, raw: bytes) -> None:
        self._out.append(raw)
        self._waiting += len(raw)
        self._more.set()

    async def _drained(self) -> None:
        """A program that asks without reading the answers is not read any further."""
        await trio.lowlevel.checkpoint()
        await self._written(MAX_WAITING)

    async def _written(self, but: int = 0) -> None:
        """Wait until at most `but` bytes are left to write."""
        while self._waiting > but:
            self._less = trio.Event()
            await self._less.wait()

    async def _write(self) -> None:
        while True:
            while self._out:
                raw = self._out.popleft()
                await self._stream.send_all(raw)
                self._waiting -= len(raw)
                self._less.set()
                if not self._out:
                    self._tell_lost()
            self._more = trio.Event()
            await self._more.wait()


def _listen(path: Path) -> socket.socket:
    """A socket that listens at `path`; a dead one there is replaced, a living one is not. Raises ControlError."""
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ControlError(f"{path}: exists and is no socket; choose another path for --control")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
            except OSError as error:
                raise ControlError(f"{path}: {error.strerror}; choose another path for --control") from None
            else:
                raise ControlError(f"{path}: a node answers here already; stop it or choose another path")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    mask = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mask = os.umask(0o777 & ~MODE)
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)  # a path of more than 107 bytes has no errno
        raise ControlError(f"{path}: {reason}; choose another path for --control") from None
    finally:
        if mask is not None:
            os.umask(mask)
    listener.listen(16)
    return listener
