"""The medium alone against the yardstick, ns-3 3.37: random waypoint at park-30's density, a beacon
of 100 bytes a host a second, 20 broadcasts of 200 bytes a second in all.

Run by name: python tests/bench/bench_medium.py [seconds of virtual time]
"""
from __future__ import annotations

import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mobility
from emulation import chance
from emulation.clock import Clock
from emulation.medium import Medium
from topologies.scenario import UnitDiskRadio

NS3 = {30: 116.0, 100: 32.0, 300: 7.3}  # times real time, 802.11a ad hoc, on one core of a 2-core machine
PARK = 600.0, 30  # meters of a side, hosts


def run(hosts: int, seconds: float) -> dict[str, float]:
    """CPU seconds of the medium (set-up apart), and what it carried."""
    side = PARK[0] * math.sqrt(hosts / PARK[1])
    begun = time.process_time()
    movement = mobility.random_waypoint(hosts, (side, side), (0.5, 2.0), (0.0, 0.0), seconds, seed=1)
    clock = Clock()
    medium = Medium(clock, movement, UnitDiskRadio(range=150.0), 1, lambda receiver, frame: None,
                    lambda kind, **fields: None)
    beacon, message = b"b" * 100, b"m" * 200
    random = chance.stream(1, "bench")

    def every(interval: float, sender: int | None, payload: bytes) -> None:
        def send() -> None:
            medium.transmit(random.randrange(hosts) if sender is None else sender, None, payload)
            clock.call_at(clock.now() + interval, send)
        clock.call_at(random.uniform(0.0, interval), send)

    for host in range(hosts):
        every(1.0, host, beacon)
    for _ in range(20):
        every(1.0, None, message)
    ready = time.process_time()
    clock.run(seconds)
    return {"setup": ready - begun, "seconds": time.process_time() - ready, **medium.counts}


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    print(f"{'hosts':>6} {'x real time':>12} {'ns-3':>6} {'receptions/s':>13} {'us/reception':>13} {'set-up s':>9} "
          f"{'collided':>9}")
    for hosts in (30, 100, 300, 1000, 3000):
        length = seconds if hosts <= 300 else seconds / 10
        result = run(hosts, length)
        factor = length / result["seconds"]
        print(f"{hosts:6} {factor:12.1f} {NS3.get(hosts, float('nan')):6.1f} "
              f"{result['receptions'] / result['seconds']:13.0f} {1e6 * result['seconds'] / result['receptions']:13.2f} "
              f"{result['setup']:9.2f} {result['collided']:9}")


if __name__ == "__main__":
    main()
