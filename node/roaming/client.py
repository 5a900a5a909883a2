"""A client on a device of its own, for programs: the same calls as for a local client, over the device's radio.

    with RoamingClient("wlan0", id=70) as client:
        client.subscribe('kind = "temp" and value > 30')
        client.publish({"kind": "temp", "value": 31})
        for event in client:
            print(event.attributes)

cugola-murphy-picco-mobile-environment, section 4. It attaches to the broker that it hears best and moves on by itself
(docs/roaming.md). Nothing here waits for a broker: what is subscribed and published while none is in reach goes
out when one is. The device runs in a thread of its own over `node.shell.radio`; programs may call from any other.
"""
from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Self, TypeVar

import trio

from node import daemon, wire
from node.client import LOOK, WAITING, ClientError, Received
from node.clients import ClientError as Refused
from node.config import NodeConfig
from node.event import id_of
from node.filters import FilterError
from node.ids import NodeId
from node.roaming.device import Device
from node.roaming.proofs import KEY_BYTES
from node.settings import Settings
from node.shell import DaemonError
from node.shell.epoch import next_epoch
from node.shell.locks import Lock
from node.shell.radio import Radio

T = TypeVar("T")
NAME = "app"  # of the one client of this device, in its records


class RoamingClient:
    """A device and its only client. Its methods raise ClientError.

    `id` identifies it in the network; `lost` counts the events that it dropped because they were read too slowly.
    """

    def __init__(self, interface: str | None = None, *, address: str | None = None, id: NodeId | None = None,
                 port: int = wire.PORT, config: NodeConfig | None = None, state: str | Path | None = None,
                 records: str | Path | None = None) -> None:
        """`interface`: by name, or the one with this IPv4 `address`. `id`: unique in the network, nodes included; random
        by default. `config`: the network's, for its beacons and its secret. `state`: a file that keeps epoch and key,
        so that a restarted program is the same device. `records`: a file for its records (JSON Lines)."""
        if state is not None and id is None:
            raise ClientError("state belongs to one device: give its id, too")
        self.id: NodeId = SystemRandom().randrange(2**31, 2**32) if id is None else id
        self.lost = 0
        self._events: queue.Queue[Received | None] = queue.Queue(WAITING)
        self._settings = Settings(self.id, interface, address, port=port, config=config or NodeConfig(),
                                  records=None if records is None else Path(records))
        self._up = threading.Event()
        self._failure: BaseException | None = None
        self._locks: list[Lock] = []
        try:
            state = None if state is None else Path(state)
            self._locks = daemon.hold({"records": self._settings.records, "state": state})
            self._epoch, self._key = _identity(self.id, state)
            self._radio = Radio(self._settings)
        except (DaemonError, OSError) as error:
            self._release()
            raise ClientError(str(error)) from None
        self._thread = threading.Thread(target=self._run, name=f"device {self.id}", daemon=True)
        self._thread.start()
        self._up.wait()
        self._alive()

    # ---- what programs call -------------------------------------------------------------------------
    def subscribe(self, filter: str) -> str:
        """Receive events that match `filter`, each once, once the subscription has reached their publishers: it goes to
        the broker when the device is attached, and from there hop by hop. Returns the filter's normal form."""
        return str(self._do(lambda: self._device.subscribe(NAME, filter)))

    def unsubscribe(self, filter: str) -> None:
        self._do(lambda: self._device.unsubscribe(NAME, filter))

    def publish(self, attributes: Mapping[str, object], payload: bytes = b"") -> str:
        """Publish an event; returns its id. It goes out when a broker serves this device; its record is with the
        operating system when this returns."""
        def published() -> str:
            name = self._device.publish(NAME, attributes, payload)
            self._port.records.flush()
            return str(name)

        return self._do(published)

    def receive(self, timeout: float | None = None) -> Received | None:
        """The next event, or None if none arrives within `timeout` s (None: wait for ever)."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            try:
                event = self._events.get(timeout=min(max(left, 0.0), LOOK))
                break
            except queue.Empty:
                if left <= LOOK:
                    self._alive()
                    return None
        if event is None:
            self._events.put(None)  # for whoever asks again
            self._alive()
            raise ClientError("the client is closed")
        return event

    def __iter__(self) -> Iterator[Received]:
        """Events as they arrive, until the client is closed."""
        while True:
            try:
                event = self.receive()
            except ClientError:
                return
            if event is not None:
                yield event

    def detach(self) -> None:
        """Announce that the device leaves: its broker keeps what arrives until it attaches again."""
        self._do(self._device.move_out)

    def attach(self) -> None:
        """Attach again after `detach`, to the broker heard best. Without `detach` a client attaches by itself."""
        self._do(self._device.move_in)

    @property
    def broker(self) -> NodeId | None:
        """To whom it is attached now; None if to nobody."""
        return self._do(lambda: self._device.broker)

    @property
    def unsent(self) -> int:
        """Events published that no broker is known to have."""
        return self._do(lambda: self._device.unsent)

    def close(self) -> None:
        """Leave for good: the broker forgets the device and what waits for it."""
        try:
            self._do(self._ending.cancel)
        except ClientError:
            pass  # it is over already
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # ---- the device's thread ------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            trio.run(self._live)
        except BaseException as error:
            self._failure = error
        finally:
            self._radio.close()
            self._release()
            self._up.set()
            try:
                self._events.put_nowait(None)
            except queue.Full:
                self._events.get_nowait()
                self._events.put_nowait(None)

    async def _live(self) -> None:
        port = daemon.Port(self._settings, self._radio, self._epoch)
        self._port = port
        self._device = Device(self.id, self._epoch, self._settings.config, port, self._radio.learning(wire.decode),
                              self._key)
        self._token = trio.lowlevel.current_trio_token()
        port.tick()
        self._device.start()
        self._device.attach(NAME, self._deliver, partial(self._deliver, recovered=True))
        async with trio.open_nursery() as nursery:
            self._ending = nursery.cancel_scope
            nursery.start_soon(port.run_timers)
            nursery.start_soon(port.hear, self._device)
            nursery.start_soon(port.keep_records)
            nursery.start_soon(self._radio.follow, port.tick)
            self._up.set()
        port.tick()
        self._device.stop()
        port.records.close()

    def _release(self) -> None:
        for lock in self._locks:
            lock.release()

    def _deliver(self, event: wire.Event, recovered: bool = False) -> bool:
        try:
            self._events.put_nowait(Received(str(id_of(event)),
                                             dict(event.attributes), event.payload, event.hops, event.published,
                                             recovered))
        except queue.Full:
            self.lost += 1
            return False
        return True

    def _do(self, what: Callable[[], T]) -> T:
        """One input of the device, in its thread."""
        def input_() -> T:
            self._port.tick()
            return what()

        self._alive()
        try:
            return trio.from_thread.run_sync(input_, trio_token=self._token)
        except (Refused, FilterError) as error:
            raise ClientError(str(error)) from None
        except trio.RunFinishedError:
            self._alive()
            raise ClientError("the client is closed") from None

    def _alive(self) -> None:
        if self._failure is not None:
            raise ClientError(f"the device has failed: {self._failure}") from self._failure


def _identity(node: NodeId, state: Path | None) -> tuple[int, bytes]:
    """(epoch, key): new ones, or the next epoch and the key of the device whose state this is."""
    if state is None:
        return max(int(time.time()), 1), os.urandom(KEY_BYTES)
    epoch = next_epoch(state, node)
    path = state.with_name(state.name + ".key")
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.urandom(KEY_BYTES))
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise DaemonError(f"{path}: not the key of a device; remove it, and the device is another one from then on")
    return epoch, key
