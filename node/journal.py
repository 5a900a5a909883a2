"""The input journal of a node, and its replay.

Everything that happens to a node comes in by few doors: datagrams, timers, client operations, start
and stop. `JournaledBroker` writes each down with its time before it is handled; `replay` runs
the same code again from that file alone, no radio and no neighbors, and yields the records it makes.
They equal the original ones exactly, so a fault met in a field is debugged on a desk.

The file is JSON Lines. A life begins with a header line
`{"journal": 1, "version", "node", "epoch", "config", "random"}`; then one line an input:
`{"t", "in", ...}` with `in` one of start, stop, flush (the world ended), datagram (data: base64), timer
(number: timers count from 0 in the order they were set), attach, detach, subscribe, unsubscribe, publish. Behind an
input stands an `untaken` (client, event) for each event that it brought to a client that had no room for it. A
node that returns appends its next life. The config holds the network's secret: a journal is as private as
that.
"""
from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TextIO

from node import __version__, wire
from node.broker import Broker
from node.clients import ClientError, Deliver
from node.config import NodeConfig
from node.environment import Environment, Timer
from node.event import id_of
from node.filters import Filter, FilterError
from node.ids import Epoch, EventId, NodeId
from node.lines import binary_in, binary_out

FORMAT = 1
# record kinds that no input of a broker makes: the shell of a field node adds them (schema/records.toml)
OF_THE_SHELL = {"clock", "interface", "datagram_sent", "datagram_heard", "continued", "records_lost", "slow_sync"}
# ... and so do `refused` of what begins with these
OF_THE_SOCKET = ("control connections", "events waiting for client")
LONGEST_LINE = 1 << 20  # bytes; the longest is that of an event with all its bounds used up


def of_the_shell(record: Mapping[str, object]) -> bool:
    """Whether a record is one that no replay makes."""
    return record.get("kind") in OF_THE_SHELL or (
        record.get("kind") == "refused" and str(record.get("what")).startswith(OF_THE_SOCKET))


class JournalError(Exception):
    """A journal that cannot be replayed; the text is one line with file and line number."""


class NoJournal(JournalError):
    """Something else altogether, such as a node's records."""


class _NumberedTimers:
    """An Environment that numbers the timers and tells when one fires; all else passes through."""

    def __init__(self, env: Environment, fired: Callable[[int], None]) -> None:
        self._env = env
        self._fired = fired
        self._timers = 0
        self.random = env.random
        self.now = env.now
        self.broadcast = env.broadcast
        self.unicast = env.unicast
        self.record = env.record

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        number = self._timers
        self._timers += 1

        def fire() -> None:
            self._fired(number)
            action()

        return self._env.call_later(delay, fire)


def open_journal(path: str | Path) -> TextIO:
    """Open a journal for appending, line by line to the disk. A last line that a dying node left cut short
    is taken off, so that the next life begins on a line of its own."""
    path = Path(path)
    if path.exists():
        with path.open("rb+") as file:
            start = max(file.seek(0, os.SEEK_END) - LONGEST_LINE, 0)
            file.seek(start)
            file.truncate(start + file.read().rfind(b"\n") + 1)
    return path.open("a", encoding="utf-8", buffering=1)


class Writable(Protocol):
    def write(self, text: str, /) -> object:
        """Append this to the journal."""


class JournaledBroker(Broker):
    """A broker that writes its inputs to `journal`, each before it is handled: an `open_journal`, or what else a
    world has to write to."""

    def __init__(self, journal: Writable, node: NodeId, epoch: Epoch, config: NodeConfig, env: Environment,
                 decode: Callable[[bytes, bytes], wire.Datagram] = wire.decode) -> None:
        self._journal = journal
        self._write({"journal": FORMAT, "version": __version__, "node": node, "epoch": epoch,
                     "config": asdict(config), "random": env.random.getstate()})
        super().__init__(node, epoch, config, _NumberedTimers(env, self._timer_fired), decode)

    def _write(self, line: Mapping[str, object]) -> None:
        self._journal.write(json.dumps(line, separators=(",", ":")) + "\n")

    def _input(self, kind: str, **values: object) -> None:
        self._write({"t": self.env.now(), "in": kind, **values})

    def _timer_fired(self, number: int) -> None:
        self._input("timer", number=number)

    def start(self) -> None:
        self._input("start")
        super().start()

    def stop(self) -> None:
        self._input("stop")
        super().stop()

    def flush_records(self) -> None:
        self._input("flush")
        super().flush_records()

    def datagram_received(self, datagram: bytes) -> None:
        self._input("datagram", data=binary_out(datagram))
        super().datagram_received(datagram)

    def attach(self, client: str, deliver: Deliver, recovered: Deliver | None = None) -> None:
        self._input("attach", client=client)
        super().attach(client, self._watched(client, deliver), self._watched(client, recovered or deliver))

    def _watched(self, client: str, deliver: Deliver) -> Deliver:
        """`deliver`, with what it does not take journaled: a replay has no client that could be slow."""

        def watched(event: wire.Event) -> object:
            taken = deliver(event)
            if taken is False:
                self._input("untaken", client=client, event=str(id_of(event)))
            return taken

        return watched

    def detach(self, client: str) -> None:
        self._input("detach", client=client)
        super().detach(client)

    def subscribe(self, client: str, wanted: Filter | str) -> Filter:
        self._input("subscribe", client=client, filter=str(wanted))
        return super().subscribe(client, wanted)

    def unsubscribe(self, client: str, wanted: Filter | str) -> None:
        self._input("unsubscribe", client=client, filter=str(wanted))
        super().unsubscribe(client, wanted)

    def publish(self, client: str, attributes: Mapping[str, object], payload: bytes = b"") -> EventId:
        self._input("publish", client=client, payload=binary_out(payload),
                    attributes={name: _to_json(value) for name, value in attributes.items()})
        return super().publish(client, attributes, payload)


def _to_json(value: object) -> object:
    return {"bytes": binary_out(value)} if isinstance(value, bytes) else value


def _from_json(value: Any) -> Any:
    return binary_in("an attribute", value["bytes"]) if isinstance(value, dict) else value


# ---- replay ------------------------------------------------------------------------------------
class _Replayed:
    """The Environment of a replayed life: time and timers come from the journal, the radio goes nowhere."""

    def __init__(self, node: NodeId, state: list[Any]) -> None:
        self.random = random.Random()
        self.random.setstate((state[0], tuple(state[1]), state[2]))
        self.time = 0.0
        self.records: list[dict[str, object]] = []
        self.timers: dict[int, Callable[[], None]] = {}
        self.untaken: set[tuple[str, str]] = set()  # (client, event) of the input at hand
        self._node = node
        self._set = 0

    def now(self) -> float:
        return self.time

    def broadcast(self, datagram: bytes) -> None:
        """Whoever heard it has a journal of its own."""

    def unicast(self, to: NodeId, datagram: bytes) -> None:
        """Likewise."""

    def call_later(self, delay: float, action: Callable[[], None]) -> Timer:
        number = self._set
        self._set += 1
        self.timers[number] = action
        return _ReplayedTimer(self.timers, number)

    def record(self, kind: str, **values: object) -> None:
        self.records.append({"t": round(self.time, 6), "node": self._node, "kind": kind, **values})


class _ReplayedTimer:
    def __init__(self, timers: dict[int, Callable[[], None]], number: int) -> None:
        self._timers = timers
        self._number = number

    def cancel(self) -> None:
        self._timers.pop(self._number, None)


KEYS = {"start": (), "stop": (), "flush": (), "datagram": ("data",), "timer": ("number",), "attach": ("client",),
        "detach": ("client",), "subscribe": ("client", "filter"), "unsubscribe": ("client", "filter"),
        "publish": ("client", "attributes", "payload"), "untaken": ("client", "event")}  # of an input, beside t and in
HEADER = ("journal", "version", "node", "epoch", "config", "random")
MOST_SAID = 10


class _Doubts:
    """What a journal holds that a replay does not heed, or lacks and has a default for: each is said once."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._said: set[str] = set()

    def look(self, where: str, line: Mapping[str, object]) -> None:
        known: Collection[str] = HEADER if "journal" in line else ("t", "in", *KEYS.get(str(line.get("in")), tuple(line)))
        kind = "the header" if "journal" in line else f"input {line.get('in')}"
        for key in line:
            if key not in known:
                self._once(where, f"{kind} has {key[:40]!r}, which this version does not know and passes over")
        config = line.get("config")
        if "journal" in line and isinstance(config, dict):
            left = [field.name for field in fields(NodeConfig) if field.name not in config]
            if left:
                self._once(where, f"the header's config has no {', '.join(left[:MOST_SAID])}: as this version has it by default")
            if line.get("version") != __version__:
                self._once(where, f"written by version {str(line.get('version'))[:40]}; this is {__version__}, and may do otherwise")

    def _once(self, where: str, what: str) -> None:
        if what not in self._said and len(self._said) <= MOST_SAID:
            self._said.add(what)
            self._say(f"{where}: {what}" if len(self._said) <= MOST_SAID else f"{where}: and there is more like this")


def replay(path: str | Path, say: Callable[[str], object] = lambda sentence: None) -> Iterator[dict[str, object]]:
    """The records of the node whose journal this is, each `{"t", "node", "kind", ...}` as in nodes/N.jsonl.

    A last line cut short is left out, as the node may have died while writing it. `say` hears of what is in the file and not
    heeded, and of defaults that were taken. Raises
    JournalError for a file that has no other, for any other damage, and when this version of the node does not do what the
    journaled one did (it set no timer of a number that fired). An exception of the node's own code comes
    out as it is: finding it is what a replay is for.
    """
    life: tuple[Broker, _Replayed] | None = None
    # the input before, and whose it was, until it is known what clients did not take of it
    before: tuple[Callable[[], object], _Replayed] | None = None
    doubts = _Doubts(say)
    for where, line in read_lines(path, "a line of a journal", say):
        doubts.look(where, line)
        if before is not None and line.get("in") != "untaken":
            yield from _done(*before)
            before = None
        try:
            if before is not None:
                before[1].untaken.add((line["client"], line["event"]))
                continue
            if "journal" in line:
                life = _begin(line)
                continue
            if life is None and "in" not in line:
                raise NoJournal("not a journal")
            if life is None:
                raise JournalError("an input before the first header line")
            broker, env = life
            env.time = _time(line["t"], env.time)
            before = _action(broker, env, line), env
        except JournalError as error:
            raise type(error)(f"{where}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise JournalError(f"{where}: damaged line ({type(error).__name__}: {error}); "
                               "restore the file from a copy") from None
    if life is None:
        raise NoJournal(f"{path}: there is no whole line in it")
    if before is not None:
        yield from _done(*before)


LATEST = 1e12  # s: of an input; a whole number of JSON may have more digits than a float has


def _time(t: object, before: float) -> float:
    """The time of an input, which is not before that of the input ahead of it. Raises JournalError."""
    if not isinstance(t, int | float) or isinstance(t, bool) or not before <= t < LATEST:
        raise JournalError(f"found t = {str(t)[:40]} after {before:g}; an input has a time, and none before the last one's: lines are "
                           "missing or out of order, so restore the file from a copy")
    return float(t)


def _done(action: Callable[[], object], env: _Replayed) -> list[dict[str, object]]:
    """The records that an input makes."""
    action()
    records, env.records = env.records, []
    env.untaken.clear()
    return records


LONGEST_LINE = 1 << 24  # bytes; a device file that never ends has no line ends either


def read_lines(path: str | Path, what: str,
               say: Callable[[str], object] = lambda sentence: None) -> Iterator[tuple[str, dict[str, Any]]]:
    """("file:line", object) of every line of a file of JSON Lines; a last one that was torn is left out, and said.

    Raises JournalError, which says that a line is not `what`.
    """
    with open(path, "rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
            if len(raw) == LONGEST_LINE:
                raise JournalError(f"{path}:{number}: a line of more than 16 MiB is not {what}; restore the file from a copy")
            if not raw.endswith(b"\n"):
                say(f"{path}:{number}: cut short, and left out")
                return
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):
                line = None
            if not isinstance(line, dict):
                raise JournalError(f"{path}:{number}: not {what}; restore the file from a copy")
            yield f"{path}:{number}", line


_TYPES = {str: (str,), bool: (bool,), int: (int,), float: (float, int)}  # of NodeConfig's defaults, as JSON has them


def _begin(header: dict[str, Any]) -> tuple[Broker, _Replayed]:
    if header["journal"] != FORMAT:
        raise JournalError(f"journal format {header['journal']}, this version reads {FORMAT}")
    unknown = sorted(set(header["config"]) - {field.name for field in fields(NodeConfig)})
    if unknown:
        raise JournalError(f"written by version {header['version']}, whose config has {unknown[0]!r}: "
                           "replay it with that version")
    odd = [field.name for field in fields(NodeConfig)
           if type(header["config"].get(field.name, field.default)) not in _TYPES[type(field.default)]]
    if odd:
        raise JournalError(f"{odd[0]} of the config is {header['config'][odd[0]]!r}: restore the file from a copy")
    node, epoch = header["node"], header["epoch"]
    if type(node) is not int or type(epoch) is not int or not (0 <= node < 2**32 and 1 <= epoch < 2**32):
        raise JournalError(f"node {node} in epoch {epoch}, which no node is: restore the file from a copy")
    env = _Replayed(node, header["random"])
    return Broker(node, epoch, NodeConfig(**header["config"]), env), env


def _action(broker: Broker, env: _Replayed, line: dict[str, Any]) -> Callable[[], object]:
    """What to do for one input line; nothing is done yet."""
    kind = line["in"]
    if kind == "timer":
        action = env.timers.pop(line["number"], None) if type(line["number"]) is int else None
        if action is None:
            raise JournalError(f"timer {line['number']} fired, which this version of the node has not set or has "
                               "cancelled: replay the journal with the version that wrote it")
        return action
    if kind == "datagram":
        return partial(broker.datagram_received, binary_in("data", line["data"]))
    if kind == "start":
        return broker.start
    if kind == "stop":
        return broker.stop
    if kind == "flush":
        return broker.flush_records
    return partial(_again, _client_operation(broker, env, line))


def _client_operation(broker: Broker, env: _Replayed, line: dict[str, Any]) -> Callable[[], object]:
    kind = line["in"]
    if kind == "attach":
        client = line["client"]
        return partial(broker.attach, client, lambda event: (client, str(id_of(event))) not in env.untaken)
    if kind == "detach":
        return partial(broker.detach, line["client"])
    if kind == "subscribe":
        return partial(broker.subscribe, line["client"], line["filter"])
    if kind == "unsubscribe":
        return partial(broker.unsubscribe, line["client"], line["filter"])
    if kind == "publish":
        attributes = {name: _from_json(value) for name, value in line["attributes"].items()}
        return partial(broker.publish, line["client"], attributes, binary_in("payload", line["payload"]))
    raise JournalError(f"unknown input {kind!r}")


def _again(operation: Callable[[], object]) -> None:
    """A client's request that was refused when it was journaled is refused again."""
    try:
        operation()
    except (ClientError, FilterError):
        pass
