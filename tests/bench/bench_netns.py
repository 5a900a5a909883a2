"""The namespace world on this machine: how soon hosts are up, how late they run, and where that ends.

Hosts walk as dense as in park-30 (about six neighbors each), 20 events a second in all unless said otherwise
(`200:5`: 200 hosts, 5 events a second; `200:5:1`: and a HELLO a second, a leader's beacon every four). Beside each line
the load of the machine by others is printed: figures taken on a busy machine say nothing.

Run by name: python tests/bench/bench_netns.py [seconds of each run] [hosts[:events[:hello]] ...]
"""
from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import topologies
from emulation import runner
from emulation.realtime.forecast import forecast

RUNS = ("30", "100", "200:5", "200", "300:5", "500:1")
EVENTS = 20.0  # a second, all hosts together
SIDE, OF = 600.0, 30  # m of park-30's area, hosts in it

SCENARIO = """
[run]
name = "bench"
duration = {seconds}
deadline = 1
world = "netns"
[hosts]
count = {hosts}
[mobility]
model = "random_waypoint"
area = [{side}, {side}]
[netns]
neighbors = "{neighbors}"
[workload]
publish_interval = {interval}
[node]
hello_interval = {hello}
leader_interval = {leader}
"""
HELLO = 0.5  # s, the default


def run(hosts: int, events: float, hello: float, seconds: float, folder: Path) -> dict:
    """One run's fidelity, with the load that was expected of it and that of others before it."""
    path = folder / f"{hosts}.toml"
    path.write_text(SCENARIO.format(
        seconds=seconds, hosts=hosts, side=SIDE * math.sqrt(hosts / OF), interval=hosts / events, hello=hello, leader=4 * hello,
        neighbors="frames" if hosts <= 100 else "permanent"))
    scenario = topologies.load(path)
    others = os.getloadavg()[0]
    expected = forecast(scenario, scenario.movement())
    manifest = json.loads((runner.run(scenario, folder / str(hosts)) / "manifest.json").read_text())
    return {**manifest["fidelity"], "expected": expected.processors, "others": others,
            "workload": manifest["workload"]}


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    print(f"{'hosts':>5} {'events':>6} {'made s':>7} {'up s':>6} {'cores':>6} {'medium':>7} {'expected':>8} {'medium p99':>11} "
          f"{'worst ms':>9} {'nodes p50':>10} {'p99 ms':>8} {'heard/s':>8} {'valid':>6} {'others':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for k, word in enumerate(sys.argv[2:] or RUNS):
            size, rate, hello, *_ = [*word.split(":"), "", ""]
            hosts, events = int(size), float(rate or EVENTS)
            place = Path(folder, str(k))
            place.mkdir()
            found = run(hosts, events, float(hello or HELLO), seconds, place)
            medium, nodes = found["medium"], found["nodes"]
            cores = found["medium_processors"] + found["host_processors"]
            print(f"{hosts:5} {events:6g} {found['hosts_made_seconds']:7.2f} {found['up_seconds']:6.2f} {cores:6.2f} "
                  f"{found['medium_processors']:7.2f} {found['expected']:8.2f} {1e3 * medium['p99']:11.2f} "
                  f"{1e3 * medium['worst']:9.2f} {1e3 * nodes['median']:10.2f} {1e3 * nodes['p99']:8.1f} "
                  f"{found['receptions'] / seconds:8.0f} {found['valid']!s:>6} {found['others']:7.1f}", flush=True)


if __name__ == "__main__":
    main()
