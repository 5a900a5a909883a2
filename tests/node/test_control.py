"""What a program at the control socket is told of an event that came late: the library, and `roamcast sub`."""
from __future__ import annotations

import json
import subprocess
import sys

import trio

from node import wire
from node.client import Client
from node.control import Control
from tests.node.field_hosts import environment
from tests.node.roaming_world import World

WANTED = 'kind = "a"'


def event(number: int) -> wire.Event:
    """Of host 1, as it comes to host 0."""
    return wire.Event(1, 1, number, 10.0, 1, {"kind": "a", "number": number}, b"")


def at_the_socket(path, ask) -> object:
    """What `ask(path)`, a program, returns in the time in which a broker has an event by the tree and one by a recovery."""
    world = World(2, devices=0)
    world.run(5.0)
    broker = world.sim.brokers[0]
    found = []

    async def both() -> None:
        control = Control(path, broker, lambda: None)
        with trio.fail_after(60):
            await served(control)
        control.close()

    async def served(control: Control) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(control.serve)
            nursery.start_soon(feed)
            found.append(await trio.to_thread.run_sync(ask, path))
            nursery.cancel_scope.cancel()

    async def feed() -> None:
        while not broker.routing.table.match({"kind": "a"})[1]:
            await trio.sleep(0.01)
        world.run(1.0)
        world.publish(1, kind="a", number=1)
        world.run(1.0)
        broker.deliver_recovered(event(2), broker.env.now())

    trio.run(both)
    return found[0]


def test_the_library_tells_what_was_recovered(tmp_path):
    def ask(path):
        with Client(path) as client:
            client.subscribe(WANTED)
            return [client.receive(20) for _ in range(2)]

    got = at_the_socket(tmp_path / "node.sock", ask)
    assert [(one.attributes["number"], one.recovered) for one in got] == [(1, False), (2, True)]


def test_sub_prints_what_was_recovered(tmp_path):
    def ask(path):
        with subprocess.Popen([sys.executable, "-P", "-m", "cli", "sub", "--control", path, WANTED], text=True,
                              env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
            lines = [program.stdout.readline() for _ in range(2)]
            program.terminate()
        return lines

    got = [json.loads(line) for line in at_the_socket(tmp_path / "node.sock", ask)]
    assert [(one["attributes"]["number"], one["recovered"]) for one in got] == [(1, False), (2, True)]

