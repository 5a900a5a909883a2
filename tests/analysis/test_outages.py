"""From the loss of a link's radio to one tree again: cases by hand, random cases by brute force, and the estimator."""
from __future__ import annotations

import math
import random

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from analysis.outages import outages, survival, waits

END = 100.0


def frame(rows: list[tuple], *columns: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns)


def study(tree: list[tuple], radio: list[tuple], lives: list[tuple] = ()) -> pd.DataFrame:
    """tree: (link, i, j, up, down); radio: (i, j, up, down); lives: (node, up, down), else up throughout."""
    return outages(frame(tree, "link", "i", "j", "up", "down"), frame(radio, "i", "j", "up", "down"),
                   frame(list(lives) or [(host, 0.0, END) for host in range(9)], "node", "up", "down"), END)


def only(found: pd.DataFrame) -> tuple:
    assert len(found) == 1
    row = found.iloc[0]
    return row["outcome"], row["seconds"], row["lost"], row["noticed"]


TRIANGLE = [(0, 1, 0.0, 20.0), (0, 2, 0.0, END), (1, 2, 0.0, END)]


def test_a_repair_counts_from_the_radios_loss_not_from_when_it_was_noticed():
    tree = [("a", 0, 1, 1.0, 23.0), ("b", 0, 2, 1.0, END), ("c", 1, 2, 23.5, END)]
    assert only(study(tree, TRIANGLE)) == ("joined", 3.5, 20.0, 23.0)


def test_a_link_whose_radio_is_dead_joins_nothing():
    tree = [("a", 0, 1, 1.0, 23.0), ("b", 0, 2, 1.0, 30.0), ("c", 1, 2, 23.5, END)]
    radio = [(0, 1, 0.0, 20.0), (0, 2, 0.0, 22.0), (1, 2, 0.0, END), (0, 3, 0.0, END), (2, 3, 0.0, END)]
    found = study(tree, radio)
    assert found["outcome"].tolist() == ["ended", "ended"]  # 2 is held by 0 but cannot be heard
    assert found["seconds"].tolist() == [80.0, 78.0]


def test_what_the_radio_parts_is_set_apart():
    tree = [("a", 0, 1, 1.0, 23.0)]
    assert only(study(tree, [(0, 1, 0.0, 20.0)]))[:2] == ("apart", 0.0)
    radio = [(0, 1, 0.0, 20.0), (0, 2, 0.0, 24.0), (1, 2, 0.0, END), (1, 2, 0.0, END)]
    assert only(study(tree, radio))[:2] == ("parted", 4.0)
    radio += [(0, 3, 22.0, END), (2, 3, 22.0, END)]  # another way in time
    assert only(study(tree, radio))[:2] == ("ended", 80.0)


def test_the_radio_may_come_back_first():
    radio = [(0, 1, 0.0, 20.0), (0, 1, 21.5, 40.0), *TRIANGLE[1:]]
    found = study([("a", 0, 1, 1.0, 43.0), ("b", 0, 2, 42.0, END), ("c", 1, 2, 42.5, END)], radio)
    assert found["outcome"].tolist() == ["returned", "joined"]
    assert found["seconds"].tolist() == [1.5, 2.5]


def test_other_ends_of_links_are_no_outages():
    assert study([("a", 0, 1, 1.0, 15.0)], TRIANGLE).empty  # closed while its radio worked
    assert study([("a", 0, 1, 1.0, 20.0)], TRIANGLE, [(0, 0.0, END), (1, 0.0, 20.0), (2, 0.0, END)]).empty
    assert study([("a", 0, 2, 1.0, END)], TRIANGLE).empty  # both last to the end


@pytest.mark.parametrize("seed", range(6))
def test_random_cases_against_looking_at_every_instant(seed):
    rng = random.Random(seed)
    hosts = rng.randint(5, 8)

    def spans(count: int, longest: float) -> list[tuple]:
        found = {}
        for _ in range(count):
            i, j = sorted(rng.sample(range(hosts), 2))
            up = rng.uniform(0.0, 90.0)
            if all(down < up or up + longest < start for start, down in found.get((i, j), [])):
                found.setdefault((i, j), []).append((up, min(up + rng.uniform(1.0, longest), END)))
        return [(i, j, up, down) for (i, j), held in found.items() for up, down in held]

    radio = spans(200, 25.0)
    tree = [(f"l{k}", i, j, up, min(END, down + rng.uniform(0.0, 9.0)))
            for k, (i, j, up, down) in enumerate(rng.sample(radio, len(radio) // 2))]

    def together(edges: list[tuple], t: float, i: int, j: int) -> bool:
        """From `t` until the next change."""
        pairs = np.array([(a, b) for a, b, up, down in edges if up <= t < down] or [(0, 0)])
        graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(hosts, hosts))
        labels = connected_components(graph, directed=False)[1]
        return labels[i] == labels[j]

    carried = [(i, j, max(up, a), min(down, b)) for _, i, j, up, down in tree for x, y, a, b in radio if (x, y) == (i, j)]
    changes = sorted({t for _, _, up, down in [*radio, *carried] for t in (up, down)})
    found = study(tree, radio)
    assert len(found) > 8
    for row in found[found["outcome"] != "returned"].itertuples():
        outcome, at = "ended", END
        for t in [t for t in changes if row.lost <= t < END]:
            if together(carried, t, row.i, row.j):
                outcome, at = "joined", t
                break
            if not together(radio, t, row.i, row.j):
                outcome, at = "parted" if t > row.lost else "apart", t
                break
        assert (row.outcome, row.seconds) == (outcome, at - row.lost)
    for row in found[found["outcome"] == "returned"].itertuples():
        assert any((i, j) == (row.i, row.j) and abs(row.lost + row.seconds - up) < 1e-9 for i, j, up, _ in radio)


def test_the_estimate_makes_use_of_waits_that_were_cut_short():
    # by hand: 5 at risk at 1 s, 4 at 2 s, 2 at 4 s
    left = survival(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([True, True, False, True, False]))
    assert left == pytest.approx([4 / 5, 3 / 5, 3 / 5, 3 / 10, 3 / 10])
    # of one length: two ended, one was cut short
    assert survival(np.array([1.0, 1.0, 1.0]), np.array([True, False, True])) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    seconds, joined = np.sort(rng.integers(1, 30, 60)).astype(float), rng.random(60) < 0.7
    wanted = stats.ecdf(stats.CensoredData.right_censored(seconds, ~joined)).sf.evaluate(seconds)
    assert survival(seconds, joined) == pytest.approx(wanted)


def test_numbers():
    made = frame([("a", 0, 1, 10.0, 10.5, 1.0, "joined"), ("b", 0, 1, 20.0, 21.5, 2.0, "joined"),
                  ("c", 0, 1, 30.0, 30.5, 3.0, "parted"), ("d", 0, 1, 40.0, 41.0, 4.0, "joined"),
                  ("e", 0, 1, 50.0, math.nan, 5.0, "ended"), ("f", 0, 1, 60.0, 61.0, 0.0, "apart"),
                  ("g", 0, 1, 70.0, math.nan, 0.5, "returned")],
                 "link", "i", "j", "lost", "noticed", "seconds", "outcome")
    found = waits(made)
    assert (found.counted, found.cut_short, found.apart, found.returned) == (5, 2, 1, 1)
    assert found.median == 4.0 and math.isnan(found.p95) and found.worst == 5.0
    assert found.prompt == pytest.approx(2 / 5) and found.noticed == 0.75
    nothing = waits(made[:0])
    assert nothing.counted == 0 and math.isnan(nothing.median) and math.isnan(nothing.prompt) and math.isnan(nothing.worst)
