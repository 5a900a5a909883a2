"""How long the tree needs: from the loss of a parent link to the link that replaces it, and from the start to
one tree.

Thirty hosts at walking speed (random waypoints, 0.5-2 m/s) in 600 m x 600 m with a range of 150 m, on the
tests' small world: frames get lost at the given rate and take 1-10 ms a hop. Losses that cut the radio
graph in two cannot be repaired and are counted apart.

    python -m tests.bench.bench_repair [seeds]
"""
from __future__ import annotations

import statistics
import sys
from collections import Counter

from tests.node.maodv_world import Walkers, World

HOSTS, SIDE, RANGE, SPEED, SECONDS = 30, 600.0, 150.0, (0.5, 2.0), 120.0


def _fragment(world, node):
    """All hosts tied to a host by open links."""
    seen, todo = {node}, [node]
    while todo:
        at = todo.pop()
        for link in world.nodes[at].open:
            far = link.far_end(at)
            if far not in seen and world.exists(link):
                seen.add(far)
                todo.append(far)
    return seen


class Watch:
    """Follows every orphan until a link leads out of its fragment."""

    def __init__(self, world):
        self.world = world
        self.read = 0
        self.open = {}  # orphan -> (since, fragment)
        self.seconds = []  # of repairs
        self.outcomes = Counter()
        self.cut_off = 0

    def look(self):
        world = self.world
        while self.read < len(world.records):
            t, node, kind, fields = world.records[self.read]
            self.read += 1
            if kind == "repair_started" and fields["cause"] == "repair":
                self.open[node] = (t, _fragment(world, node))
            elif kind == "repair_ended":
                self.outcomes[fields["cause"], fields["outcome"]] += 1
            elif kind == "link_gained":
                link = fields["link"]
                for orphan, (since, fragment) in list(self.open.items()):
                    if world.exists(link) and (link.low in fragment) != (link.high in fragment):
                        self.seconds.append(t - since)
                        del self.open[orphan]
        for orphan, (_, fragment) in list(self.open.items()):
            if not any(n not in fragment for at in fragment for n in world.adjacent[at]):
                self.cut_off += 1
                del self.open[orphan]


def _quantile(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else float("nan")


def _report(what, values):
    print(f"{what}: {len(values)} times; median {statistics.median(values):.3f} s, "
          f"95% {_quantile(values, 0.95):.3f} s, 99% {_quantile(values, 0.99):.3f} s, "
          f"most {max(values):.3f} s, over 2 s {sum(v > 2 for v in values)}")


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for loss in (0.0, 0.05, 0.2):
        repairs, starts, outcomes, cut_off = [], [], Counter(), 0
        for seed in range(seeds):
            world = World(HOSTS, seed, loss=loss, delay=(0.001, 0.01))
            walkers = Walkers(world, SIDE, RANGE, SPEED, seed)
            walkers.moving = False
            started = None
            while started is None and world.now < 30:
                world.run(world.now + 0.05)
                if not world.faults():
                    started = world.now
            starts.append(started if started is not None else float("inf"))
            walkers.moving = True
            walkers.look()
            watch = Watch(world)
            watch.read = len(world.records)
            world.run(world.now + SECONDS, watch.look)
            repairs += watch.seconds
            outcomes += watch.outcomes
            cut_off += watch.cut_off
        print(f"frames lost: {loss:.0%}")
        _report("  loss of a link to the link that replaces it", repairs)
        print(f"  cut off by radio: {cut_off}; outcomes {dict(outcomes)}")
        _report("  start to one tree in each part", starts)


if __name__ == "__main__":
    main()
