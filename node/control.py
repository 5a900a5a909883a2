"""The control socket: how programs on this host subscribe and publish through its node.

A Unix stream socket with the lines of `node.lines`. Every connection is one client of the broker.
Programs are not trusted: connections, line lengths and queues for slow readers are bounded, and a program that is
refused gets the reason. A bad line is answered with an error. When a connection ends, its subscriptions end too, a few
at a time so that the node keeps running meanwhile.
"""
from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import struct
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import trio

from node import lines, wire
from node.broker import Broker
from node.clients import ClientError
from node.event import id_of
from node.filters import FilterError, parse
from node.ids import LinkId
from node.roaming.device import Device
from node.shell.locks import Held, Lock
from node.shell.logs import Records

MAX_CONNECTIONS = 128
MAX_OF_ONE = 64  # connections of one process, so that one that leaks them shuts nobody out
MAX_WAITING = 1 << 20  # bytes that wait for one slow reader; events past that are dropped and counted
MAX_WAITING_IN_ALL = 1 << 24  # for all of them
BACKLOG = 1024  # programs that may knock at once; the kernel takes fewer where it is set so
SLICE = 16  # subscriptions that leave at a time
SETTLE_POLL = 0.02  # s between two looks at what tree neighbors have acknowledged
MODE = 0o660  # of the socket: the node's user and group


class ControlError(Exception):
    """The control socket cannot be created; the text says why and what to do."""


class Control:
    """The listening end at `path`. `tick()` is called before each input of the broker.

    `serve` runs until it is cancelled; `close` removes the socket.
    """

    def __init__(self, path: Path, broker: Broker | Device, tick: Callable[[], object], records: Records | None = None) -> None:
        """`records`: of the node. A program gets an answer or event only once that is written there."""
        self.broker, self.tick, self.records = broker, tick, records
        self.waiting = 0  # bytes, for all programs
        self.leaving = trio.Lock()  # whose subscriptions leave now
        self._path = path
        self._programs: Counter[int] = Counter()  # connections of each process, by its id
        self._names = 0
        self._lock = _own(path)
        try:
            self._socket = _listen(path)
        except BaseException:
            self._lock.release()
            raise
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
                program = _program(connection)
                if self._is_full(program, connection):
                    continue
                self._programs[program] += 1
                nursery.start_soon(self._serve_one, trio.SocketStream(connection), program)

    def close(self) -> None:
        self._socket.close()
        try:
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()
        except OSError:
            pass  # taken away by someone else
        self._lock.release()

    def _is_full(self, program: int, connection: trio.socket.SocketType) -> bool:
        """Whether there is no room for this program, which is then told so, in one line, and the records, too."""
        if self._programs.total() >= MAX_CONNECTIONS:
            what, limit = "control connections", MAX_CONNECTIONS
            why = f"this node allows {limit} connections, and all are in use; close one, or try again later"
        elif self._programs[program] >= MAX_OF_ONE:
            what, limit = "control connections of one process", MAX_OF_ONE
            why = f"this node allows {limit} connections per process; close those that you no longer need"
        else:
            return False
        with connection, contextlib.suppress(OSError):
            os.write(connection.fileno(), lines.encode({"ok": False, "error": why}))  # fits any fresh socket
        self.tick()
        self.broker.env.record("refused", what=what, limit=limit)
        return True

    async def _serve_one(self, stream: trio.SocketStream, program: int) -> None:
        self._names += 1
        try:
            await _Connection(f"local-{self._names}", stream, self).serve()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # the program is gone
        finally:
            self._programs[program] -= 1
            if not self._programs[program]:
                del self._programs[program]
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)


class _Connection:
    """One local program: reads its requests, writes answers and events."""

    def __init__(self, name: str, stream: trio.SocketStream, control: Control) -> None:
        self._name = name
        self._stream = stream
        self._control = control
        self._broker = control.broker
        self._tick = control.tick
        self._records = control.records
        self._out: deque[bytes | int] = deque()  # lines, and between them how many events were lost there
        self._waiting = 0  # bytes in _out
        self._lost = 0  # events, since the connection began
        self._slow = self._left = False
        self._filters: dict[str, None] = {}  # subscribed, in their canonical form
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
            self._control.waiting -= self._waiting
            self._left = True
            with trio.CancelScope(shield=True):
                await self._leave()

    async def _leave(self) -> None:
        """Take the subscriptions back, a few at a time, one program after the other."""
        async with self._control.leaving:
            for number, wanted in enumerate(self._filters, 1):
                self._tick()
                self._broker.unsubscribe(self._name, wanted)
                if number % SLICE == 0:
                    await trio.sleep(0)
        self._tick()
        self._broker.detach(self._name)

    async def _read(self) -> None:
        buffer = bytearray()
        while True:
            while (end := buffer.find(b"\n")) >= 0:
                raw = bytes(buffer[:end])
                del buffer[:end + 1]
                self._put(lines.encode(await self._answer(raw)))
                await self._drained()
            if len(buffer) > lines.LONGEST:
                fault = {"ok": False, "error": f"found a line of more than {lines.LONGEST} bytes; send shorter lines (the connection ends)"}
                self._put(lines.encode(fault))
                with trio.move_on_after(1):
                    await self._written()
                return
            more = await self._stream.receive_some(65536)
            if not more:
                return
            buffer += more

    async def _answer(self, raw: bytes) -> dict[str, Any]:
        try:
            request = lines.decode(raw)
            lines.check(request)
            done = self._do(request)
            if request["do"] == "publish":
                done |= await self._kept(done["event"], request.get("synced", False))
            elif request["do"] == "settle":
                done = await self._settled(float(request["within"]))
        except (lines.BadLine, ClientError, FilterError) as error:
            return {"ok": False, "error": str(error)}
        return {"ok": True, **done}

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request as one input of the broker; what the answer says besides ok."""
        what = request["do"]
        if what == "subscribe":
            self._tick()
            wanted = str(self._broker.subscribe(self._name, request["filter"]))
            self._filters[wanted] = None
            return {"filter": wanted}
        if what == "unsubscribe":
            wanted = str(parse(request["filter"]))
            self._tick()
            self._broker.unsubscribe(self._name, wanted)
            return {"held": self._filters.pop(wanted, "") is None}
        if what == "settle":
            return {}
        attributes = lines.attributes_in(request["attributes"])
        payload = lines.binary_in("payload", request.get("payload", ""))
        if request.get("synced") and (self._records is None or not self._records.kept):
            raise ClientError("this node keeps no records to sync; start it with --records, or publish "
                              "without synced")
        self._tick()
        return {"event": str(self._broker.publish(self._name, attributes, payload))}

    async def _kept(self, event: str, synced: bool) -> dict[str, Any]:
        """The publication's record is written when this returns, and with `synced` on the disk; what the answer says
        of it. Raises ClientError when it was to be on the disk and is not."""
        if self._records is None or not self._records.kept:
            return {}
        if not synced:
            return {} if self._records.flush() else {"recorded": False}
        if not await self._records.synced():
            raise ClientError(f"event {event} is published, but its record is not on disk; see the node's log")
        return {"synced": True}

    async def _settled(self, within: float) -> dict[str, Any]:
        """Wait until each tree neighbor has acknowledged all that it is told of filters."""
        broker = self._broker
        if isinstance(broker, Device):
            raise ClientError("this host is a roaming client, which cannot settle; subscribe without it")
        routing = broker.routing
        asked: dict[LinkId, int] = {}
        told = False
        with trio.move_on_after(within):
            while not told:
                for link in routing.links:
                    if link not in asked and not routing.holds_back(link):
                        asked[link] = broker.links.sent_position(link)
                told = all(link in asked and broker.links.acknowledged_position(link) >= asked[link]
                           for link in routing.links)
                if not told:
                    await trio.sleep(SETTLE_POLL)
        return {"settled": told, "neighbors": len(routing.links)}

    def _deliver(self, event: wire.Event, recovered: bool = False) -> bool:
        """Called inside an input of the broker: puts the event in line, or counts it as lost. Whether it is in line."""
        if self._left:
            return False
        name = id_of(event)
        raw = lines.encode({"event": str(name), "attributes": lines.attributes_out(event.attributes),
                            "payload": lines.binary_out(event.payload), "hops": event.hops,
                            "published": event.published, "recovered": recovered})
        if self._waiting + len(raw) > MAX_WAITING or self._control.waiting + len(raw) > MAX_WAITING_IN_ALL:
            self._lose()
            return False
        self._put(raw)
        return True

    def _lose(self) -> None:
        """Count an event that finds no room, in its place among the others."""
        self._lost += 1
        if self._out and isinstance(self._out[-1], int):
            self._out[-1] += 1
            return
        if not self._slow:
            self._slow = True
            self._broker.env.record("refused", what=f"events waiting for client {self._name}", limit=MAX_WAITING)
        self._out.append(1)
        self._more.set()

    def _put(self, raw: bytes) -> None:
        self._out.append(raw)
        self._waiting += len(raw)
        self._control.waiting += len(raw)
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
            if self._out and self._records is not None:
                self._records.flush()  # what a program has is on record
            while self._out:
                line = self._out.popleft()
                if isinstance(line, int):
                    await self._stream.send_all(lines.encode({"lost": line, "lost_in_all": self._lost}))
                    continue
                await self._stream.send_all(line)
                self._waiting -= len(line)
                self._control.waiting -= len(line)
                self._less.set()
            self._slow = False
            self._more = trio.Event()
            await self._more.wait()


def _program(connection: trio.socket.SocketType) -> int:
    """The id of the process at the other end; 0 where that is in another namespace."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(credentials)[0]
    return pid


_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid: unix(7)


def _own(path: Path) -> Lock:
    """Of two nodes that start at once over a dead socket one has it. Raises ControlError."""
    try:
        return Lock(path)
    except Held:
        raise ControlError(f"{path}: a node already listens here; stop it, or give another path") from None
    except OSError as error:
        raise ControlError(f"{path}: {error.strerror}; give another path for --control") from None


def _listen(path: Path) -> socket.socket:
    """A socket that listens at `path`; a dead one there is replaced, a living one is not. Raises ControlError."""
    if path.exists() or path.is_symlink():
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ControlError(f"{path}: exists and is not a socket; give another path for --control")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
            except OSError as error:
                raise ControlError(f"{path}: {error.strerror}; give another path for --control") from None
            else:
                raise ControlError(f"{path}: a node already listens here; stop it, or give another path")
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
        raise ControlError(f"{path}: {reason}; give another path for --control") from None
    finally:
        if mask is not None:
            os.umask(mask)
    listener.listen(BACKLOG)
    return listener
