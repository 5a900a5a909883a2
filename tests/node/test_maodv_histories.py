"""Random histories of the tree: never a cycle, and once the radio is quiet, one right tree in each part.

The world checks for a cycle at every instant at which a link comes to exist (maodv_world.py). Each history
is a function of its seed. That these histories can fail was tried by taking away one rule of join.py at a
time (that a pending root refuses; that only a root grants; that ACTIVATE must come over the link that is
the pointer): each time links closed cycles.
"""
from __future__ import annotations

import random

import pytest

from node.trees.position import Standing
from tests.node.maodv_world import Walkers, World

DELAYS = [(0.001, 0.01), (0.001, 0.2), (0.01, 0.5)]  # s; the last is far beyond the relay's patience
LOSSES = [0.0, 0.05, 0.2, 0.4]


def calm(world):
    """Bring the radio to rest and see that the tree follows."""
    world.loss, world.delay = 0.0, (0.001, 0.01)
    world.run(world.now + 1)
    world.settle(40)


def walk(seed):
    """Hosts move, lose frames, crash and come back, the leader more often than others; radios go dead."""
    chance = random.Random(seed)
    world = World(chance.randint(3, 14), seed, loss=chance.choice(LOSSES), delay=chance.choice(DELAYS),
                  encode=seed % 8 == 0)
    walkers = Walkers(world, chance.uniform(150, 400), 110, (1, chance.choice([2, 10, 30])), seed)
    for _ in range(8):
        world.run(world.now + 5 * chance.random())
        if chance.random() < 0.5 and world.nodes:
            leaders = [n for n, core in world.nodes.items() if core.tree.standing is Standing.LEADER]
            host = chance.choice(sorted(leaders if leaders and chance.random() < 0.5 else world.nodes))
            world.crash(host)
            world.after(chance.uniform(0.01, 6), lambda host=host: world.boot(host))
        if chance.random() < 0.3:
            host = chance.choice(sorted(world.adjacent))
            world.cut = {(host, other) for other in world.adjacent if chance.random() < 0.5}
    world.run(world.now + 7)  # whoever crashed is back
    walkers.moving, world.cut = False, set()
    calm(world)


def fail(seed):
    """Nobody moves, but links fail in quick succession, often at one end only: repairs overlap."""
    chance = random.Random(seed)
    count, density = chance.randint(3, 12), chance.choice([0.25, 0.4, 0.7])
    world = World(count, seed, loss=chance.choice([0.0, 0.1, 0.3]), delay=chance.choice(DELAYS),
                  join_wait=chance.choice([0.1, 0.5, 2.0]), request_attempts=chance.choice([1, 3]))
    world.connect([(a, b) for a in range(count) for b in range(a) if chance.random() < density])
    world.run(6)
    for _ in range(40):
        world.run(world.now + chance.expovariate(1 / 0.15))
        for _ in range(chance.choice([1, 1, 2, 4])):
            core = world.nodes[chance.randrange(count)]
            if core.open:
                link = chance.choice(sorted(core.open))
                core.tree.link_failed(link, "channel")
                far = world.nodes[link.far_end(core.me.node)]
                if chance.random() < 0.5 and link in far.open:
                    far.tree.link_failed(link, "channel")
    calm(world)


def meet(seed):
    """Leaders join whatever borders on their tree, in no order at all, while links fail."""
    chance = random.Random(seed)
    count, density = chance.randint(3, 10), chance.choice([0.4, 0.7, 1.0])
    world = World(count, seed, loss=chance.choice([0.0, 0.1, 0.3]), delay=chance.choice(DELAYS),
                  merge_wait=1e6, join_wait=chance.choice([0.1, 0.5, 2.0]),
                  request_attempts=chance.choice([1, 3]))
    world.connect([(a, b) for a in range(count) for b in range(a) if chance.random() < density])
    world.run(4)
    for _ in range(200):
        world.run(world.now + chance.expovariate(1 / 0.03))
        core = world.nodes[chance.randrange(count)]
        if chance.random() < 0.3 and core.open:
            core.tree.link_failed(chance.choice(sorted(core.open)), "channel")
        path = core.tree.root_path
        root = world.nodes[path[-1]].tree
        far = chance.choice([*sorted(world.adjacent[core.me.node]), path[-1]])
        if root.standing is Standing.LEADER and not root.join.pending and far not in path:
            root.join.start((*reversed(path), far), None, None, len(path) + 3, lambda outcome: None)
    world.run(world.now + 3)


HISTORIES = {"walk": walk, "fail": fail, "meet": meet}


@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("kind", HISTORIES)
def test_never_a_cycle_and_one_tree_when_quiet(kind, block):
    for seed in range(block * 12, block * 12 + 12):
        HISTORIES[kind](seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
@pytest.mark.parametrize("kind", HISTORIES)
def test_thousands_of_histories(kind, block):
    for seed in range(10_000 + block * 40, 10_000 + block * 40 + 40):
        HISTORIES[kind](seed)
