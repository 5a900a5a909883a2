"""The papers' simulator: link messages a second, and what a run costs as it grows.

Run by name: python tests/bench/bench_overlay.py [--profile]. Target: 150,000 link messages a second on one core.
Times are of the processor.
"""
from __future__ import annotations

import cProfile
import pstats
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from emulation.studies import overlay  # noqa: E402
from emulation.studies.epidemic.figures import ALGORITHMS, BASE  # noqa: E402

RUNS = [
    ("Table I, no events", {}),
    ("Table I, 1 pub/s", {"publish": 1.0}),
    ("Table I, 50 pub/s", {"publish": 50.0}),
    ("half subscribed, 50 pub/s", {"publish": 50.0, "core": 0.5, "subscribers": 0.5}),
    ("N = 200, 200 patterns", {"dispatchers": 200, "available": 200}),
    ("N = 500, 200 patterns", {"dispatchers": 500, "available": 200}),
    ("N = 500, 1 pub/s", {"dispatchers": 500, "available": 200, "publish": 1.0}),
    ("400 reconfigurations/s", {"rate": 400.0}),
    ("event forwarding, 1 pub/s", {"strategy": "event", "publish": 1.0}),
    *((f"links lose 10 %, {name}", BASE | {"recovery": name}) for name in ALGORITHMS),
]


def main() -> None:
    print(f"{'':<32}{'protocol':<10}{'messages':>12}{'s':>9}{'messages/s':>12}")
    for name, values in RUNS:
        for protocol in ("strawman",) if {"strategy", "recovery"} & set(values) else ("strawman", "informed"):
            result = overlay.run(overlay.Parameters.of(values | {"protocol": protocol}))
            print(f"{name:<32}{protocol:<10}{result['link_messages']:>12,}{result['cpu']:>9.2f}"
                  f"{result['link_messages'] / result['cpu']:>12,.0f}", flush=True)


if __name__ == "__main__":
    if "--profile" in sys.argv:
        with cProfile.Profile() as profile:
            for values in ({"protocol": "informed", "publish": 50.0}, *(BASE | {"recovery": name} for name in ("push", "combined"))):
                overlay.run(overlay.Parameters.of(values))
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
    else:
        main()
