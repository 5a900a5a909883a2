"""What a field node takes: memory and processor time with ten neighbors and one event a second.

Eleven daemons in namespaces behind one bridge, all in range of each other, with records and journal within a disk budget, on a
disk; all subscribe to the one event that one of them publishes each second. Memory is what is resident; processor time is
the system's account of each daemon, so that others' load does not count.

A Raspberry Pi 4 is slower by a factor that docs/lab/field.md names; the measure of this machine that it is taken from is
printed, too: the five-body problem, 5 million steps in this Python, by the processor's time.

Run by name, as root: python tests/bench/bench_field.py [seconds] [nodes]
"""
from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from node.client import Client  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
STEPS = 100_000  # of 5 million


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Node:
    """A daemon in a namespace of its own."""

    def __init__(self, tag: str, number: int, folder: Path) -> None:
        self.space, self.control, self.records = f"{tag}-{number}", folder / f"{number}.sock", folder / f"{number}.jsonl"
        ip("netns", "add", self.space)
        ip("-n", f"{tag}-air", "link", "add", f"port{number}", "type", "veth", "peer", "name", "radio", "netns", self.space)
        ip("-n", f"{tag}-air", "link", "set", f"port{number}", "master", "air", "up")
        ip("-n", self.space, "address", "add", f"10.77.0.{number + 1}/24", "brd", "+", "dev", "radio")
        ip("-n", self.space, "link", "set", "radio", "up")
        (folder / f"{number}.toml").write_text(
            f'id = {number}\ninterface = "radio"\ncontrol = "{self.control}"\nrecords = "{self.records}"\n'
            f'journal = "{folder}/{number}.journal"\nstate = "{folder}/{number}.state"\ndisk = 100\n')
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.space, sys.executable, "-P", "-m", "cli", "node", "--config", folder / f"{number}.toml"],
            env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)

    def processor(self) -> float:
        """s that it has used: `ip netns exec` became the daemon."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident(self) -> float:
        """MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024 / 1e6

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()
        ip("netns", "delete", self.space)


def measure(seconds: float, count: int, folder: Path) -> None:
    tag = f"bench-{os.getpid()}"
    nodes: list[Node] = []
    ip("netns", "add", f"{tag}-air")
    try:
        ip("-n", f"{tag}-air", "link", "add", "air", "type", "bridge")
        ip("-n", f"{tag}-air", "link", "set", "air", "up")
        nodes.extend(Node(tag, number, folder) for number in range(count))
        while not all(node.control.exists() for node in nodes):
            time.sleep(0.1)
        clients = [Client(node.control) for node in nodes]
        for client in clients:
            client.subscribe('kind = "temp"')
        time.sleep(20)  # one tree, everything known
        report(nodes, clients, seconds, folder)
    finally:
        for node in nodes:
            node.end()
        ip("netns", "delete", f"{tag}-air")


def report(nodes: list[Node], clients: list[Client], seconds: float, folder: Path) -> None:
    used, records, journals = [node.processor() for node in nodes], size(folder, "jsonl"), size(folder, "journal")
    began, got = time.monotonic(), 0
    for k in range(int(seconds)):
        clients[0].publish({"kind": "temp", "value": k, "where": "bench"})
        time.sleep(max(began + k + 1 - time.monotonic(), 0.0))
    took = time.monotonic() - began
    shares = [100 * (node.processor() - before) / took for node, before in zip(nodes, used, strict=True)]
    for client in clients:
        while client.receive(0.2) is not None:
            got += 1
    written = [(size(folder, name) - before) / took / len(nodes) for name, before in (("jsonl", records), ("journal", journals))]
    resident = [node.resident() for node in nodes]
    print(f"{len(nodes)} nodes, {len(nodes) - 1} neighbors each, {took:.0f} s, one event a second, {got} of "
          f"{int(seconds) * len(nodes)} deliveries; load by all {os.getloadavg()[0]:.1f}")
    print(f"resident: {min(resident):.1f} to {max(resident):.1f} MB")
    print(f"processor: {statistics.mean(shares):.2f} % of one core a node ({min(shares):.2f} to {max(shares):.2f})")
    for name, rate in zip(("records", "journal"), written, strict=True):
        print(f"{name}: {rate:,.0f} B/s a node, {rate * 86400 / 1e6:.0f} MB a day")


def size(folder: Path, name: str) -> int:
    """Bytes of all files that end so, and of their pieces."""
    return sum(path.stat().st_size for path in folder.glob(f"*.{name}*"))


def five_bodies() -> float:
    """s of the processor for 5 million steps of the sun and four planets in pure Python."""
    bodies = [([float(k), 0.1 * k, 0.01 * k], [0.01 * k, 1.0 / (k + 1), 0.0], 39.5 if k == 0 else 0.01 / k) for k in range(5)]
    pairs = [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1:]]
    began, dt = time.process_time(), 0.0001
    for _ in range(STEPS):
        for ([x1, y1, z1], v1, m1), ([x2, y2, z2], v2, m2) in pairs:
            dx, dy, dz = x1 - x2, y1 - y2, z1 - z2
            pull = dt * ((dx * dx + dy * dy + dz * dz + 1e-6) ** -1.5)
            a, b = m2 * pull, m1 * pull
            v1[0] -= dx * a
            v1[1] -= dy * a
            v1[2] -= dz * a
            v2[0] += dx * b
            v2[1] += dy * b
            v2[2] += dz * b
        for place, (vx, vy, vz), _ in bodies:
            place[0] += dt * vx
            place[1] += dt * vy
            place[2] += dt * vz
    return (time.process_time() - began) * 5e6 / STEPS


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    with tempfile.TemporaryDirectory() as folder:
        measure(seconds, int(sys.argv[2]) if len(sys.argv) > 2 else 11, Path(folder))
    print(f"the five-body problem, 5 million steps: {five_bodies():.1f} s")


if __name__ == "__main__":
    main()
