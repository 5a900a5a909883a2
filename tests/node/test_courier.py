"""Messages along a list of ids: on to the next of the list, and nowhere if the list cannot be."""
from __future__ import annotations

from types import SimpleNamespace

import pytest

from node import wire
from node.courier import Courier
from node.ids import Peer

ME = 2
MESSAGE = wire.Reset(7)


@pytest.fixture
def core():
    """What a courier calls, written down."""
    made = SimpleNamespace(me=Peer(ME, 1), env=SimpleNamespace(now=lambda: 0.0), relayed=[], drops=[], arrived=[])
    made.send = lambda node, message, failed: made.relayed.append((node, message, failed))
    made.dropped = made.drops.append
    made.routed_message = lambda route, message: made.arrived.append((route, message))
    made.courier = Courier(made, made, made)
    return made


def comes(core, sender: int, route: tuple[int, ...]) -> None:
    core.courier.relayed_messages[wire.Routed](Peer(sender, 1), wire.Routed(route, MESSAGE))


def test_it_goes_on_to_the_next_and_arrives_at_the_last(core):
    comes(core, 1, (5, 1, ME, 9, 8))
    comes(core, 1, (5, 1, ME))
    assert [(node, message.route) for node, message, _ in core.relayed] == [(9, (5, 1, ME, 9, 8))]
    assert core.arrived == [((5, 1, ME), MESSAGE)] and not core.drops
    core.relayed[0][2]()
    assert core.drops == ["not_relayed"]


@pytest.mark.parametrize("route", [
    (1, ME, 1, ME), (1, ME, 9, ME), (1, ME, 9, 9), (1, 1, ME), (ME, 1, ME), (3, ME), (ME,), (1,), (), (1, 3), (ME, 1)])
def test_a_route_with_a_loop_or_without_us_or_its_sender_goes_nowhere(core, route):
    comes(core, 1, route)
    assert core.drops == ["bad_route"] and not core.relayed and not core.arrived
