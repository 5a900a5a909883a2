"""A small world for the tree alone: real Maodv on a minimal core, deterministic, with loss and delays.

Radio: whoever is adjacent hears, datagrams get lost at random and take a random while, so they overtake
each other. Neighbors: beacons with the list of those heard, as node/neighbors.py does it but shorter.
Channels: FIFO, reliable, give up after 3 s, RESET for a link that is not open at the far end, as
node/links.py does it.

At every `gained` the world checks that the links which both ends hold open have no cycle.
"""
from __future__ import annotations

import heapq
import itertools
import math
import random

from node import wire
from node.config import NodeConfig
from node.ids import Peer
from node.relay import Relay
from node.trees import Surroundings
from node.trees.maodv import Maodv
from node.trees.position import SEEKING

STEP = 0.2  # s between two looks at where the hosts are


class Cycle(AssertionError):
    """A link opened that closes a cycle."""


class Timer:
    def __init__(self, action):
        self.action = action

    def cancel(self):
        self.action = None


class Core:
    """All the surroundings of Maodv, and the environment in one."""

    def __init__(self, world, node, epoch, config):
        self.world = world
        self.me = Peer(node, epoch)
        self.config = config
        self.env = self
        self.random = random.Random(f"{world.seed}/{node}/{epoch}")
        self.alive = True
        self.open = set()
        self.heard = {}  # node -> [peer, beacons, last heard]
        self.neighbors = {}
        self.drops = {}
        self.notices = []
        self.relay = Relay(self, self)
        self.tree = Maodv(Surroundings(self, self, self.relay, self, self))
        self.relay.begin(self.tree.relayed_messages)
        self.handlers = {**self.relay.hop_messages, **self.tree.hop_messages}

    def tree_changed(self):
        pass

    # environment
    def now(self):
        return self.world.now

    def call_later(self, delay, action):
        assert delay >= 0
        return self.world.after(delay, lambda: self.alive and action())

    def record(self, kind, **fields):
        self.world.records.append((self.world.now, self.me.node, kind, fields))

    # services
    @property
    def two_way(self):
        return self.neighbors

    def dropped(self, reason):
        self.drops[reason] = self.drops.get(reason, 0) + 1

    def broadcast(self, *messages):
        for node in sorted(self.world.adjacent[self.me.node]):
            self.world.datagram(self, node, messages)

    def unicast(self, to, *messages):
        if to in self.world.adjacent[self.me.node]:
            self.world.datagram(self, to, messages)

    def send(self, links, message):
        for link in links:
            assert link in self.open, "sent over a link that is not open"
            self.world.channel(self, link, message)

    # notices
    def gained(self, link):
        assert link not in self.open
        self.open.add(link)
        self.notices.append(("gained", link))
        self.record("link_gained", link=link)
        self.world.check(link)

    def lost(self, link, reason):
        self.open.remove(link)
        self.notices.append(("lost", link))
        self.record("link_lost", link=link, reason=reason, parent=self.tree.standing in SEEKING)

    def replaced(self, rid, lost, new, path, role):
        assert role in ("old_near", "old_far", "new_near", "new_far", "on_path")
        assert lost not in self.open, "replaced before lost"
        assert role not in ("old_near", "old_far") or any(
            notice[:2] == ("lost", lost) for notice in self.notices), "replaced without lost"
        self.notices.append(("replaced", rid, new, path, role))
        self.record("link_replaced", rid=rid, new=new, path=path, role=role)

    def abandoned(self, rid):
        self.notices.append(("abandoned", rid))

    # inputs
    def start(self):
        self.tree.start()
        self.call_later(self.random.random() * self.config.hello_interval, self.hello)

    def hello(self):
        self.call_later(self.config.hello_interval * self.random.uniform(0.9, 1.1), self.hello)
        for node, entry in list(self.heard.items()):
            if self.now() - entry[2] > 3.2 * self.config.hello_interval:
                self.forget(node, "silent")
        status = self.tree.status()
        self.broadcast(wire.Hello(
            sequence=1, interval=1000, heard=tuple(entry[0] for entry in self.heard.values()),
            hearing=len(self.heard), leader=status.leader, depth=status.depth, seeking=status.seeking,
            digests=()))

    def forget(self, node, reason):
        entry = self.heard.pop(node)
        if self.neighbors.pop(node, None) is not None:
            self.relay.forget(node)
            self.tree.neighbor_down(entry[0], reason)

    def received(self, sender, messages):
        entry = self.heard.get(sender.node)
        if entry is not None and entry[0] != sender:
            if sender.epoch < entry[0].epoch:
                return
            self.forget(sender.node, "restarted")
        entry = self.heard.setdefault(sender.node, [sender, 0, 0.0])
        entry[2] = self.now()
        for message in messages:
            if type(message) is wire.Hello:
                entry[1] += 1
                if sender.node not in self.neighbors and entry[1] >= 2 and \
                        any(tuple(life) == self.me for life in message.heard):
                    self.neighbors[sender.node] = sender
                    self.tree.neighbor_up(sender)
                if sender.node in self.neighbors:
                    self.tree.hello_received(sender, message)
            else:
                self.handlers[type(message)](sender, message)


class World:
    def __init__(self, count, seed, loss=0.0, delay=(0.001, 0.02), encode=False, **config):
        self.seed = seed
        self.random = random.Random(f"world {seed}")
        self.now = 0.0
        self.loss = loss
        self.delay = delay
        self.encode = encode  # put every datagram into bytes and back
        self.config = NodeConfig(**config)
        self.records = []
        self.adjacent = {n: set() for n in range(count)}
        self.cut = set()  # pairs whose radio is off
        self.nodes = {}
        self.epochs = dict.fromkeys(range(count), 0)
        self._heap = []
        self._order = itertools.count()
        self._free_at = {}  # (node, link) -> when the channel has delivered what went before
        for n in range(count):
            self.boot(n)

    # ---- time
    def after(self, delay, action):
        timer = Timer(action)
        heapq.heappush(self._heap, (self.now + delay, next(self._order), timer))
        return timer

    def run(self, until, each=None):
        while self._heap and self._heap[0][0] <= until:
            self.now, _, timer = heapq.heappop(self._heap)
            if timer.action is not None:
                timer.action()
                if each is not None:
                    each()
        self.now = until

    # ---- hosts
    def boot(self, n):
        self.epochs[n] += 1
        self.nodes[n] = Core(self, n, self.epochs[n], self.config)
        self.nodes[n].start()

    def crash(self, n):
        self.nodes[n].alive = False
        del self.nodes[n]

    def connect(self, pairs):
        for n in self.adjacent:
            self.adjacent[n] = set()
        for a, b in pairs:
            if (a, b) not in self.cut and (b, a) not in self.cut:
                self.adjacent[a].add(b)
                self.adjacent[b].add(a)

    # ---- radio and channels
    def datagram(self, core, to, messages):
        if self.random.random() < self.loss:
            return
        if self.encode:
            messages = wire.decode(wire.encode(core.me, 1, messages)).messages
        sender = core.me

        def arrive():
            node = self.nodes.get(to)
            if node is not None:
                node.received(sender, messages)
        self.after(self.random.uniform(*self.delay), arrive)

    def channel(self, core, link, message):
        key = (core.me, link)
        lost = 0.0
        while self.random.random() < self.loss:
            lost += 0.1  # a retransmission
        at = max(self.now + self.random.uniform(*self.delay) + lost, self._free_at.get(key, 0.0) + 1e-6)
        self._free_at[key] = at
        self.after(at - self.now, lambda: self._arrive(core, link, message, self.now))

    def _arrive(self, core, link, message, since):
        me, far = core.me.node, link.far_end(core.me.node)
        node = self.nodes.get(far)
        if not core.alive or link not in core.open:
            return
        if node is None or far not in self.adjacent[me]:
            if self.now - since > core.config.channel_give_up:
                core.tree.link_failed(link, "channel")
            else:
                self._free_at[core.me, link] = self.now + 0.1
                self.after(0.1, lambda: self._arrive(core, link, message, since))
            return
        if link not in node.open and node.tree.link_pending(link):
            node.tree.link_heard(link)
        if link in node.open:
            node.tree.link_messages[type(message)](link, message)
        else:
            core.tree.link_failed(link, "reset")

    # ---- truth
    def links(self):
        """The links that both ends hold open."""
        return {link for core in self.nodes.values() for link in core.open if self.exists(link)}

    def exists(self, link):
        return all(end in self.nodes and link in self.nodes[end].open for end in (link.low, link.high))

    def check(self, new):
        if not self.exists(new):
            return
        seen, todo = {new.low}, [new.low]
        while todo:
            at = todo.pop()
            for link in self.nodes[at].open:
                far = link.far_end(at)
                if link != new and far not in seen and self.exists(link):
                    if far == new.high:
                        raise Cycle(f"t={self.now:.3f}: {new} closes a cycle")
                    seen.add(far)
                    todo.append(far)

    def parts(self):
        """The connected parts of the radio graph, of hosts that live."""
        left, found = set(self.nodes), []
        while left:
            part, todo = set(), [min(left)]
            while todo:
                at = todo.pop()
                if at not in part:
                    part.add(at)
                    todo += [n for n in self.adjacent[at] if n in self.nodes]
            left -= part
            found.append(part)
        return found

    def faults(self):
        """What is wrong, if all is quiet: in each part one tree, whose nodes know where they stand."""
        wrong = []
        for part in self.parts():
            trees = [self.nodes[n].tree for n in sorted(part)]
            roots = [t.me for t in trees if t.parent is None]
            if len(roots) != 1:
                wrong.append(f"{sorted(part)}: leaders {roots}")
                continue
            root = roots[0]
            if sum(link.low in part for link in self.links()) != len(part) - 1:
                wrong.append(f"{sorted(part)}: does not span")
            for t in trees:
                if not t.settled:
                    wrong.append(f"{t.me}: seeks")
                if any(not self.exists(link) for link in t.links.values()):
                    wrong.append(f"{t.me}: a link that its far end does not hold")
                if set(t.links.values()) != self.nodes[t.me].open:
                    wrong.append(f"{t.me}: links {t.links} told {self.nodes[t.me].open}")
                path, at = [t.me], t
                while at.parent in self.nodes and len(path) <= len(part):
                    at = self.nodes[at.parent].tree
                    path.append(at.me)
                if path[-1] != root or t.leader != root or t.depth != len(path) - 1 \
                        or t.root_path != tuple(path[:64]):
                    wrong.append(f"{t.me}: leader {t.leader} depth {t.depth} path {t.root_path}, not {path}")
        return wrong

    def settle(self, within):
        """Run until nothing is wrong and stays so for a second; the seconds that it took, or the faults."""
        start, good = self.now, None
        while self.now < start + within:
            self.run(self.now + 0.1)
            if self.faults():
                good = None
            elif good is None:
                good = self.now
            elif self.now - good > 1.0:
                return good - start
        raise AssertionError(f"seed {self.seed}: after {within} s still: {self.faults()}")


class Walkers:
    """Hosts that walk to random points of a square and are adjacent within `reach`."""

    def __init__(self, world, side, reach, speed, seed):
        self.world, self.side, self.reach, self.speed = world, side, reach, speed
        self.random = random.Random(f"walkers {seed}")
        self.hosts = [[self.point(), self.point(), self.random.uniform(*speed)] for _ in world.adjacent]
        self.moving = True
        self.look()

    def point(self):
        return self.random.uniform(0, self.side), self.random.uniform(0, self.side)

    def look(self):
        if self.moving:
            for host in self.hosts:
                (x, y), (u, v), speed = host
                left, step = math.hypot(u - x, v - y), speed * STEP
                if left <= step:
                    host[:] = (u, v), self.point(), self.random.uniform(*self.speed)
                else:
                    host[0] = (x + (u - x) * step / left, y + (v - y) * step / left)
            self.world.after(STEP, self.look)
        at = [host[0] for host in self.hosts]
        self.world.connect((a, b) for a, b in itertools.combinations(range(len(at)), 2)
                           if math.dist(at[a], at[b]) <= self.reach)
