"""The tree's repair in a whole run, from the world's own word that a radio link is gone. Virtual time: the
same on every machine."""
from __future__ import annotations

import statistics

from tests.system import repairs, runs


def test_at_walking_speed_the_tree_is_whole_again_within_two_seconds_of_the_radio_loss(tmp_path):
    directory = runs.run(runs.LIBRARY / "park-30.toml", tmp_path / "run", run__capture=False, run__seed=1)
    found = repairs.measure(directory, since=30.0)
    assert len(found.seconds) > 30 and found.unfinished <= 1
    assert statistics.median(found.seconds) < 1.5
    assert sum(s <= 2.0 for s in found.seconds) >= 0.9 * len(found.seconds)
    assert sorted(found.seconds)[int(0.95 * len(found.seconds))] <= 2.0
