"""Run directories for the tests: written record by record, or by a small model of a network.

The model has real movement and real contacts, a tree that is mended once a second, and events that
walk it with losses; it is no emulator, it only leaves records as a run does.
"""
from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

import tomli_w

import mobility
from analysis.lives import MEDIA
from node import schema


class Log:
    """Collects records and writes a run directory of them."""

    def __init__(self, hosts: int, duration: float, **run: object) -> None:
        self.hosts, self.lines = hosts, defaultdict(list)
        self.scenario = {
            "run": {"name": "made", "duration": duration, "warm_up": 0.0, "deadline": 10.0, "grace": 0.0, "seed": 1,
                    "world": "sim", **run},
            "hosts": {"count": hosts, "names": [f"h{i}" for i in range(hosts)]},
            "mobility": {"model": "random_waypoint", "area": [600.0, 600.0]}, "radio": {"range": 150.0},
            "node": {"tree": "maodv", "strategy": "subscription", "retransmission": True}}
        run_table = self.scenario["run"]
        run_table.setdefault("window", [run_table["warm_up"], duration - run_table["deadline"]])
        self.manifest: dict = {"outcome": "complete", "ended": duration, "reason": None, "epoch": 0.0}
        self.movement = None

    def add(self, node: int, t: float, kind: str, **fields: object) -> None:
        self.lines[node].append((t, {"t": t, "node": node, "kind": kind, **fields}))

    def up(self, *hosts: int, t: float = 0.0, epoch: int = 1) -> None:
        for host in hosts:
            self.add(-1, t, "host_up", host=host, epoch=epoch)
            self.add(host, t, "node_started", epoch=epoch, version="test")

    def contact(self, i: int, j: int, up: float, down: float | None = None) -> None:
        for a, b in ((i, j), (j, i)):
            self.add(-1, up, "radio_up", **{"from": a, "to": b})
            if down is not None:
                self.add(-1, down, "radio_down", **{"from": a, "to": b})

    def link(self, i: int, j: int, up: float, down: float | None = None, nonce: int = 1, reason: str = "silent") -> str:
        name = f"{min(i, j)}-{max(i, j)}.{nonce:08x}"
        for a, b in ((i, j), (j, i)):
            self.add(a, up, "link_gained", link=name, neighbor=b)
            if down is not None:
                self.add(a, down, "link_lost", link=name, neighbor=b, reason=reason)
        return name

    def subscribe(self, node: int, t: float, client: str, constraints: list, name: str) -> None:
        self.add(node, t, "subscribed", client=client, filter=name, hash=name, constraints=[
            {"name": attribute, "op": op, "values": [value(v) for v in values]} for attribute, op, values in constraints])

    def publish(self, node: int, t: float, event: str, attributes: dict, client: str = "app") -> None:
        self.add(node, t, "published", client=client, event=event, bytes=0,
                 attributes=[{"name": k, "value": value(v)} for k, v in attributes.items()])

    def deliver(self, node: int, t: float, event: str, hops: int, published: float, client: str = "app") -> None:
        self.add(node, t, "delivered", client=client, event=event, hops=hops, published=published, recovered=False)

    def write(self, path: Path) -> Path:
        (path / "nodes").mkdir(parents=True)
        (path / "scenario.toml").write_text(tomli_w.dumps(self.scenario))
        (path / "manifest.json").write_text(json.dumps(self.manifest))
        world, ended = self.lines[-1], self.manifest.get("ended")
        media = self.scenario["run"].get("world") in MEDIA
        if world and media and isinstance(ended, float) and not any(record["kind"] == "radio_traffic" for _, record in world):
            self.add(-1, ended, "radio_traffic", **dict.fromkeys(schema.records()["radio_traffic"].fields, 0))  # it lived on
        for node in [-1, *range(self.hosts)]:
            ordered = sorted(self.lines[node], key=lambda line: line[0])
            where = path / "world.jsonl" if node < 0 else path / "nodes" / f"{node}.jsonl"
            where.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for _, record in ordered))
        if self.movement is not None:
            mobility.write(self.movement, path / "trace.movements.gz", "bonnmotion")
        return path


def value(x: object) -> dict:
    if isinstance(x, bool):
        return {"b": x}
    if isinstance(x, int | float):
        return {"n": x}
    return {"x": x.hex()} if isinstance(x, bytes) else {"s": x}


def network(hosts: int, duration: float, seed: int, radius: float = 150.0, interval: float = 5.0, kinds: int = 20,
            loss: float = 0.02, side: float = 600.0, crash: bool = False, **run: object) -> Log:
    """A run of the model. `loss` is the chance that a hop swallows an event."""
    rng = random.Random(seed)
    log = Log(hosts, duration, seed=seed, **run)
    log.movement = mobility.random_waypoint(hosts, (side, side), (0.5, 2.0), (0.0, 30.0), duration, seed)
    log.scenario["mobility"]["area"] = [side, side]
    log.up(*range(hosts))
    contacts = [(int(c.i), int(c.j), float(c.up), float(c.down)) for c in log.movement.contacts(radius).view()]
    for i, j, up, down in contacts:
        log.contact(i, j, up, down if down < duration else None)
    wants = {h: rng.sample(range(kinds), 2) for h in range(hosts)}
    for host, chosen in wants.items():
        for kind in chosen:
            log.subscribe(host, 0.0, "app", [("kind", "=", [f"k{kind}"])], f"{kind:016x}")
    tree: dict[tuple[int, int], str] = {}
    due = sorted((rng.uniform(0, interval) + k * interval, h) for h in range(hosts)
                 for k in range(int(duration / interval)))
    counts: dict[int, int] = defaultdict(int)
    down_hosts: set[int] = set()
    for tick in range(int(duration)):
        if crash and tick == int(duration * 0.4):
            _crash(log, 1, tick, down_hosts)
        if crash and tick == int(duration * 0.6):
            _restart(log, 1, tick, down_hosts, wants)
        _mend(log, rng, tick, contacts, tree, hosts, down_hosts)
        _traffic(log, tick, hosts, down_hosts)
        while due and due[0][0] < tick + 1:
            t, source = due.pop(0)
            if t >= tick and source not in down_hosts:
                counts[source] += 1
                _event(log, rng, t, source, counts[source], tree, wants, kinds, loss)
    return log


def _crash(log: Log, host: int, tick: int, down_hosts: set[int]) -> None:
    down_hosts.add(host)
    log.add(-1, float(tick), "host_down", host=host, how="crash")


def _restart(log: Log, host: int, tick: int, down_hosts: set[int], wants: dict) -> None:
    down_hosts.discard(host)
    log.up(host, t=float(tick), epoch=2)
    for kind in wants[host]:
        log.subscribe(host, float(tick), "app", [("kind", "=", [f"k{kind}"])], f"{kind:016x}")


def _mend(log: Log, rng: random.Random, tick: int, contacts: list, tree: dict, hosts: int, down: set[int]) -> None:
    near = {(i, j) for i, j, up, till in contacts if up <= tick < till and i not in down and j not in down}
    t = float(tick)
    for pair in [p for p in tree if p not in near]:
        link = tree.pop(pair)
        for a, b in (pair, pair[::-1]):
            if a not in down:
                log.add(a, t, "link_lost", link=link, neighbor=b, reason="silent")
        log.add(pair[1], t, "repair_started", rid=link, cause="repair")
        log.add(pair[1], t + 0.4, "repair_ended", rid=link, cause="repair", outcome="joined", attempts=1,
                seconds=rng.expovariate(2.0))
    root = list(range(hosts))

    def find(x: int) -> int:
        while root[x] != x:
            x = root[x]
        return x

    for i, j in tree:
        root[find(i)] = find(j)
    for i, j in sorted(near):
        if find(i) != find(j) and rng.random() < 0.7:
            root[find(i)] = find(j)
            tree[i, j] = log.link(i, j, t, nonce=rng.getrandbits(32))
    if tick % 5 == 0:
        for host in range(hosts):
            log.add(host, t, "tree_state", leader=find(host), depth=1, parent=None, seeking=False)


def _traffic(log: Log, tick: int, hosts: int, down: set[int]) -> None:
    sent = [{"type": "HELLO", "messages": 1, "bytes": 120}, {"type": "DATA", "messages": 4, "bytes": 400},
            {"type": "ACK", "messages": 3, "bytes": 60}]
    for host in range(hosts):
        if host not in down:
            log.add(host, tick + 0.5, "traffic", sent=sent, received=sent, dropped=[{"reason": "version", "datagrams": 1}],
                    datagrams_sent=8, datagrams_received=30)
    log.add(-1, tick + 0.5, "radio_traffic", broadcasts=hosts, unicasts=3 * hosts, retries=1, receptions=20 * hosts,
            lost=1, gave_up=0, collided=0, overflowed=0, airtime=0.004)


def _event(log: Log, rng: random.Random, t: float, source: int, sequence: int, tree: dict, wants: dict, kinds: int,
           loss: float) -> None:
    beside = defaultdict(list)
    for (i, j), link in tree.items():
        beside[i].append((j, link))
        beside[j].append((i, link))
    event, kind = f"{source}.1.{sequence}", rng.randrange(kinds)
    log.publish(source, t, event, {"kind": f"k{kind}", "seq": sequence, "urgent": bool(sequence % 2)})
    queue = [(source, None, 0, t)]
    while queue:
        host, arrival, hops, at = queue.pop(0)
        if kind in wants[host]:
            log.deliver(host, at, event, hops, t)
        onward = [(far, link) for far, link in beside[host] if link != arrival]
        if onward:
            log.add(host, at, "forwarded", event=event, to=[link for _, link in onward], **{"from": arrival})
        for far, link in onward:
            arrives = at + rng.uniform(0.002, 0.03)
            if rng.random() >= loss:
                if int(arrives) == int(t):  # the model's hosts crash and its run ends between seconds
                    queue.append((far, link, hops + 1, arrives))
            elif rng.random() < 0.5:
                log.add(host, at, "event_dropped", event=event, link=link, reason="overflow")
