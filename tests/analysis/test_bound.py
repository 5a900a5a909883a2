"""The physical bound against a search that goes event by event through time."""
from __future__ import annotations

import heapq
import random

import numpy as np
import pandas as pd
import pytest

from analysis.bound import ContactGraph
from analysis.routes import Forest


def earliest(contacts, hosts, source, start, end):
    """Dijkstra over time, written for reading; contacts are (tail, head, up, down)."""
    arrival = [float("inf")] * hosts
    queue = [(start, source)]
    while queue:
        t, host = heapq.heappop(queue)
        if t >= arrival[host]:
            continue
        arrival[host] = t
        for tail, head, up, down in contacts:
            if tail == host and max(t, up) <= min(down, end):
                heapq.heappush(queue, (max(t, up), head))
    return arrival


@pytest.mark.parametrize("seed", range(8))
def test_random_contacts(seed):
    rng = random.Random(seed)
    hosts = rng.randint(2, 9)
    contacts = []
    for _ in range(rng.randint(0, 40)):
        i, j = rng.sample(range(hosts), 2)
        up = round(rng.uniform(0, 50), 1)
        contacts.append((i, j, up, up + rng.choice([0.0, 0.1, 2.0, 20.0])))
        if rng.random() < 0.6:  # the others are one-way links
            contacts.append((j, i, *contacts[-1][2:]))
    columns = np.array(contacts, dtype=float).reshape(-1, 4).T
    graph = ContactGraph(*columns, hosts)
    for _ in range(30):
        source, start = rng.randrange(hosts), round(rng.uniform(0, 50), 1)
        part = graph.between(start - rng.random(), start + 10 + rng.random())
        assert part.earliest(source, start, start + 10).tolist() == earliest(contacts, hosts, source, start, start + 10)


def test_a_carrier_bridges_two_hosts_that_never_meet():
    ways = [[0, 1, 0.0, 2.0], [1, 2, 5.0, 6.0]]
    graph = ContactGraph(*np.array([*ways, *([j, i, up, down] for i, j, up, down in ways)]).T, 3)
    assert graph.between(1.0, 11.0).earliest(0, 1.0, 11.0).tolist() == [1.0, 1.0, 5.0]
    assert graph.between(1.0, 4.9).earliest(0, 1.0, 4.9).tolist() == [1.0, 1.0, float("inf")]
    # back in time there is no way
    assert graph.between(3.0, 13.0).earliest(2, 3.0, 13.0).tolist() == [float("inf"), 5.0, 3.0]


def test_a_one_way_link_leads_one_way():
    graph = ContactGraph(*np.array([[0, 1, 0.0, 9.0]]).T, 2).between(1.0, 5.0)
    assert graph.earliest(0, 1.0, 5.0).tolist() == [1.0, 1.0]
    assert graph.earliest(1, 1.0, 5.0).tolist() == [float("inf"), 1.0]


def test_tree_paths_are_those_of_their_time():
    links = pd.DataFrame([("0-1.1", 0, 1, 0.0, 9.0), ("1-2.1", 1, 2, 0.0, 4.0), ("0-2.1", 0, 2, 5.0, 9.0)],
                         columns=["link", "i", "j", "up", "down"])
    ends = pd.concat([links.rename(columns={"i": near, "j": far}) for near, far in (("near", "far"), ("far", "near"))])
    forest = Forest(links, ends)
    assert forest.paths(0, 1.0)[2] == [(0, 1, "0-1.1"), (1, 2, "1-2.1")]
    assert 2 not in forest.paths(0, 4.5)
    assert forest.paths(0, 6.0)[2] == [(0, 2, "0-2.1")]
