"""The tree at a moment: ways over links that one end still holds, and why no way led through it."""
from __future__ import annotations

import math

import pandas as pd
import pytest

from analysis.fragments import Forest, Hop, Pieces, Standings

END = 100.0


def forest(*ends: tuple[str, int, int, float, float]) -> Forest:
    """From (link, near, far, up, down) of each end."""
    held = pd.DataFrame(ends, columns=["link", "near", "far", "up", "down"])
    there = held[held["near"] < held["far"]].rename(columns={"near": "i", "far": "j"})
    back = held[held["near"] > held["far"]][["link", "up", "down"]]
    both = there.merge(back, on="link", suffixes=("", "2"))
    both = both.assign(up=both[["up", "up2"]].max(axis=1), down=both[["down", "down2"]].min(axis=1))
    return Forest(both[["link", "i", "j", "up", "down"]], held)


def ends(link: str, i: int, j: int, up: float = 0.0, down: float = END, later: float = 0.0) -> list[tuple[str, int, int, float, float]]:
    """A link that `i` closes at `down`, and `j` so much later."""
    return [(link, i, j, up, down), (link, j, i, up, down + later)]


def standings(*told: tuple[float, int, bool]) -> Standings:
    return Standings(pd.DataFrame(told, columns=["t", "node", "seeking"]))


def test_a_way_goes_over_a_link_that_its_near_end_still_holds():
    tree = forest(*ends("a", 0, 1), *ends("b", 2, 1, down=10.0, later=1.0), *ends("c", 2, 3))
    assert tree.paths(0, 10.5)[3] == [Hop(0, 1, "a"), Hop(1, 2, "b"), Hop(2, 3, "c")]
    assert 1 not in tree.paths(3, 10.5)  # 2 has closed it
    assert 2 not in tree.paths(0, 11.0)


def test_links_that_both_ends_hold_come_first():
    tree = forest(*ends("old", 0, 1, down=20.0, later=-10.0), *ends("a", 0, 2), *ends("b", 2, 1))
    assert tree.paths(0, 15.0)[1] == [Hop(0, 2, "a"), Hop(2, 1, "b")]


@pytest.mark.parametrize("at, reason", [(9.0, "unmerged"), (10.5, "seeking"), (12.0, "unmerged"), (20.0, "seeking"), (22.0, "unmerged")])
def test_a_tree_in_pieces_is_told_from_two_whole_ones(at, reason):
    tree = forest(*ends("a", 0, 1), *ends("b", 1, 4, down=10.0, later=1.0), *ends("c", 2, 3))
    told = standings((0.0, 1, False), (20.0, 1, True), (21.0, 1, False), (0.0, 9, True))  # 9 is in neither fragment
    assert Pieces(tree, told, {}).why(0, 3, at)[0] == reason


def test_where_records_are_missing_nobody_knows():
    tree = forest(*ends("a", 0, 1), ("b", 1, 4, 0.0, END), *ends("c", 2, 3))
    told = standings((0.0, 0, True))
    assert Pieces(tree, told, {4: -math.inf}).why(0, 3, 5.0)[0] == "unknown"
    assert Pieces(tree, told, {4: 50.0}).why(0, 3, 5.0)[0] == "seeking"
    assert Pieces(tree, told, {9: -math.inf}).why(0, 3, 5.0)[0] == "seeking"
