"""STOP goes along the tree from the new broker to the former one, at the same cost in a network of any size; through all of
it where that way is not known, or is none any more (node/roaming/handoff.py)."""
from __future__ import annotations

import pytest

from node import wire
from node.routes import between
from tests.node.roaming_world import World, one, published


def moved(count: int, links=None, start=0, goal=2, meanwhile=lambda world, device: None):
    """A device moves from one broker to another of a tree. World, device, and how many STOPs went over a link."""
    world = World(count, delay=0.002)
    device = count
    for link in world.links - set(links or world.links):
        world.cut(link)
    for link in set(links or ()) - world.links:
        world.restore(link)
    world.run(12.0)
    world.subscribe(device, 'kind = "a"')
    world.hear(device, [start])
    world.run(4.0)
    assert world.sim.brokers[device].broker == start
    world.hear(device, [])
    world.run(4.0)
    kept = published(world, 5, host=1)
    stops = []
    for host in world.brokers:
        def send(links, message, send=world.sim.brokers[host].links.send):
            stops.extend([message] * len(links) if type(message) is wire.Stop else [])
            send(links, message)
        world.sim.brokers[host].links.send = send
    meanwhile(world, device)
    world.hear(device, [goal])
    world.run(5.0)
    assert world.got(device) == kept and one(world, "handed_over", to=goal)["events"] == len(kept)
    return world, stops


TERNARY = [((n - 1) // 3, n) for n in range(1, 40)]


@pytest.mark.parametrize(("count", "links", "start", "goal", "way"), [
    (4, None, 0, 2, 2), (14, None, 0, 2, 2), (14, None, 12, 9, 3), (40, TERNARY, 37, 39, 2), (40, TERNARY, 13, 39, 6)])
def test_stop_costs_the_way_between_the_two_brokers(count, links, start, goal, way):
    world, stops = moved(count, links, start, goal)
    assert len(stops) == way and one(world, "handoff", holder=start)["asked"] == 1


def test_without_a_path_it_goes_to_all():
    def forget(world, device):
        for holding in world.sim.brokers[device]._holders:
            holding.path = ()
    _, stops = moved(14, meanwhile=forget)
    assert len(stops) == 13


def rewired(world, device):
    """Host 5 hangs by 0 now, not by 4, and the device does not know."""
    world.cut((4, 5))
    world.run(4.0)
    world.restore((0, 5))
    world.run(6.0)


def test_a_way_that_has_changed_is_told_at_once_and_it_goes_to_all():
    world, stops = moved(6, start=5, goal=3, meanwhile=rewired)
    assert [bool(stop.way) for stop in stops] == [True] + [False] * 5
    done = one(world, "handoff", holder=5)
    assert done["asked"] == 2 and done["seconds"] < world.sim.brokers[3].config.handoff_wait / 2


def test_the_device_hears_where_its_broker_is_while_it_is_attached():
    world = World(6, delay=0.002)
    world.run(12.0)
    world.hear(6, [5])
    world.run(4.0)
    before = world.sim.brokers[6]._holders[-1].path
    rewired(world, 6)
    assert before == (5, 4, 3, 2, 1, 0) and world.sim.brokers[6]._holders[-1].path == (5, 0)


def test_the_path_in_a_tree():
    assert between((3, 2, 1, 0), (5, 4, 2, 1, 0)) == (3, 2, 4, 5)
    assert between((2, 1, 0), (5, 4, 2)) == (2, 4, 5) and between((5, 4, 2), (2, 1, 0)) == (5, 4, 2)
    assert between((1, 0), (9, 8)) == between((1, 0), ()) == ()
