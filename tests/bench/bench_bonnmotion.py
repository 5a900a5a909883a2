"""Reading a BonnMotion file of a million waypoints (target: 3 s), and finding contacts.

Times are CPU seconds of this process. Run by name: python tests/bench/bench_bonnmotion.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mobility  # noqa: E402
from mobility.contacts import find_contacts  # noqa: E402

WAYPOINTS = 1_000_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for hosts in (100, 10_000):
            movement = million(hosts)
            for name in ("x.movements", "x.movements.gz"):
                path = Path(folder) / name
                _, seconds = _timed(lambda: mobility.write(movement, path))
                print(f"write {hosts:6} hosts, {WAYPOINTS:,} waypoints, {name:15} {seconds:6.2f} s")
                seconds = read(path)
                print(f"read  {hosts:6} hosts, {WAYPOINTS:,} waypoints, {name:15} {seconds:6.2f} s")
    for hosts in (30, 100, 300, 1000, 3000):
        side = 600.0 * (hosts / 30) ** 0.5  # park-30's density
        movement = mobility.random_waypoint(hosts, (side, side), (0.5, 2.0), (0.0, 30.0), 300.0, seed=1)
        pieces = movement.pieces
        contacts, seconds = _timed(lambda: find_contacts(pieces, 150.0, 0.0, 300.0))
        print(
            f"contacts of {hosts:5} hosts in 300 s: {len(contacts):7} in {seconds:6.3f} s, "
            f"{seconds / len(contacts) * 1e6:5.1f} us each"
        )
        movement.positions(0.0)
        _, seconds = _timed(lambda: [movement.positions(t) for t in np.linspace(0.0, 300.0, 3000)])
        print(f"positions of {hosts:4} hosts: {seconds / 3000 * 1e6:6.1f} us a call")


def read(path: Path) -> float:
    """CPU seconds to read a file of WAYPOINTS."""
    back, seconds = _timed(lambda: mobility.read(path))
    assert sum(len(t.times) for t in back.trajectories) == WAYPOINTS
    return seconds


def million(hosts: int) -> mobility.Movement:
    draw = np.random.default_rng(1)
    each = WAYPOINTS // hosts
    parts = [
        mobility.Trajectory(np.cumsum(draw.random(each)), draw.random((each, 2)) * 1000) for _ in range(hosts)
    ]
    return mobility.Movement([str(k) for k in range(hosts)], parts, max(part.times[-1] for part in parts))


def _timed(action):
    began = time.process_time()
    result = action()
    return result, time.process_time() - began


if __name__ == "__main__":
    main()
