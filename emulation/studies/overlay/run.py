"""One run of the overlay, from its parameters to what was counted in it.

cugola-frey-murphy-picco-dynamic-topology, section V. The overhead is what is sent from the first
reconfiguration on; with all dispatchers in the stable core that is what reconfigurations cause.
"""
from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from emulation.studies.overlay import scripted
from emulation.studies.overlay.dispatcher import Dispatcher, reading
from emulation.studies.overlay.events import CLIENT, Text, draw, pattern, useful
from emulation.studies.overlay.graph import Graph
from emulation.studies.overlay.network import Network
from emulation.studies.overlay.parameters import RECOVERY, Parameters
from emulation.studies.overlay.script import Reconfiguration, Script, Subscription, stream, write
from node import wire
from node.config import NodeConfig
from node.ids import LinkId

_NONE: frozenset[bytes] = frozenset()
Counts = Mapping[str, Sequence[float]]  # message type -> how many messages, and of what they hold
BIN = 0.1  # s, of what is told over time
WAIT = 0.5  # s that a dispatcher waits for the word of another, which may be lost when reconfigurations overlap


def run(parameters: Parameters) -> dict[str, Any]:
    """What happened, as JSON can carry it; its keys are in docs/reproduction.md. Raises network.Storm."""
    began = time.process_time()
    collecting = gc.isenabled()
    gc.disable()  # of a million messages none is part of a cycle, but each is looked at
    try:
        return Run(parameters, write(parameters)).result(began)
    finally:
        if collecting:
            gc.enable()
            gc.collect()


class Run:
    def __init__(self, parameters: Parameters, script: Script) -> None:
        self.parameters, self.script = parameters, script
        self.network = Network(parameters.bandwidth, parameters.pattern_bits, parameters.event_bits,
                               parameters.control_bits, parameters.number_bits, parameters.loss,
                               stream(parameters, "losses of recovery"))
        self.records: dict[str, int] = {}
        self.dispatchers: list[Dispatcher] = []
        self.texts: list[Text] = []
        self._rids: dict[Reconfiguration, LinkId] = {}  # of those under way
        self._core = sum(1 << node for node in script.core)
        self._wanted: dict[bytes, int] = {}  # filter -> bits of the core's subscribers
        config = NodeConfig(reconcile=parameters.protocol, strategy=parameters.strategy,
                            flush="broadcast" if parameters.flush == "none" else parameters.flush, digest=False, activate_wait=WAIT, path_wait=WAIT,
                            unsubscription_timer=parameters.unsubscription_timer,
                            subscription_timer=parameters.subscription_timer, replay_window=0,
                            retransmission=not parameters.loss, **{key: getattr(parameters, key) for key in RECOVERY})
        how = reading(parameters)
        for node in range(parameters.dispatchers):
            chance = stream(parameters, "node", node)
            self.dispatchers.append(
                Dispatcher(node, config, self.network, self.records, self.dispatchers, chance, how))
        for dispatcher in self.dispatchers:
            if dispatcher.recovery is not None:
                dispatcher.recovery.start()
        self.tree = scripted.Script(parameters.dispatchers, self._notice)
        for a, b in script.edges:
            self.tree.join(a, b)
        self._schedule()

    # ---- what the script asks for ------------------------------------------------------------------
    def _schedule(self) -> None:
        call_at = self.network.call_at
        for number, change in enumerate(self.script.reconfigurations):
            self.network.involved[number] = {*change.lost, *change.path[change.turn:change.turn + 2]}
            call_at(change.at, partial(self._break, change), number)
            call_at(change.replaced, partial(self._replace, change), number)
        for wish in self.script.subscriptions:
            call_at(wish.at, partial(self._subscribe, wish), -1)
        if self.parameters.publish:
            for node in range(self.parameters.dispatchers):
                self._publisher(node)

    def _notice(self, node: int, notice: str, arguments: tuple[Any, ...]) -> None:
        """The tree's word to a dispatcher. Links open and close here, for both of their ends at once: a message
        takes longer than nothing, and what was under way on a link that breaks is lost."""
        link = arguments[0]
        if notice == "gained" and link not in self.dispatchers[node].ends:
            for sender, receiver in (link[:2], link[1::-1]):
                self.dispatchers[sender].ends[link] = self.network.connect(
                    link, sender, receiver, self.dispatchers[receiver].handlers)
        elif notice == "lost":
            for end in link[:2]:
                gone = self.dispatchers[end].ends.pop(link, None)
                if gone is not None:
                    gone.open = False
            arguments = (link,)  # why is no matter to a reconciler
        getattr(self.dispatchers[node].reconciler, notice)(*arguments)

    def _break(self, change: Reconfiguration) -> None:
        low, high = change.lost
        self._rids[change] = self.tree.neighbors[low][high]
        self.tree.cut(self._rids[change])

    def _replace(self, change: Reconfiguration) -> None:
        path, turn = change.path, change.turn
        rid, named = self._rids.pop(change), change.reconnects
        old = path[::len(path) - 1] if named else change.lost
        self.tree.replace(rid, (old[0], path[turn]), (old[1], path[turn + 1]), named)

    def _subscribe(self, change: Subscription) -> None:
        dispatcher, wanted = self.dispatchers[change.node], pattern(change.pattern)
        bit = 1 << change.node & self._core
        if change.wanted:
            dispatcher.since[wanted.hash] = change.at
            dispatcher.routing.subscribe(CLIENT, wanted)
            self._wanted[wanted.hash] = self._wanted.get(wanted.hash, 0) | bit
        else:
            del dispatcher.since[wanted.hash]
            dispatcher.routing.unsubscribe(CLIENT, wanted.hash)

    def _publisher(self, node: int) -> None:
        parameters, chance = self.parameters, stream(self.parameters, "events", node)
        salts = stream(parameters, "losses", node)
        network, routing = self.network, self.dispatchers[node].routing
        sequence = count(1)

        def publish() -> None:
            text = draw(network.time, node, parameters.letters, parameters.available, chance, salts.getrandbits(64))
            self.texts.append(text)
            for key in text.patterns:
                text.wanted |= self._wanted.get(key, 0)
            text.wanted &= ~(1 << node)
            text.trail = []
            routing.publish(wire.Event(node, 1, next(sequence), network.time, 0, text, b""))
            again = network.time + chance.expovariate(parameters.publish)
            if again < parameters.duration:
                network.call_at(again, publish, -1)

        network.call_at(chance.expovariate(parameters.publish), publish, -1)

    # ---- what was counted -----------------------------------------------------------------------------
    def result(self, began: float) -> dict[str, Any]:
        network, parameters = self.network, self.parameters
        bins = round(parameters.duration / BIN)
        start = round(parameters.first / BIN)
        before = recovery = {}
        messages, events = [], []
        for number in range(bins):
            if number == start:
                before, recovery = ({name: list(counts) for name, counts in sent.items()}
                                    for sent in (network.sent, network.recovery))
            told = network.messages, network.events
            network.run(parameters.duration if number + 1 == bins else (number + 1) * BIN)
            messages.append(network.messages - told[0])
            events.append(network.events - told[1])
        whole = network.messages
        network.run(parameters.duration + BIN)  # events that are under way arrive
        return {
            "parameters": parameters.as_dict(),
            "reconfigurations": len(self.script.reconfigurations),
            "sent": since(before, network.sent, "patterns"), "recovery": since(recovery, network.recovery, "bits"),
            "late": quantiles(network.late), "bin": BIN, "messages": messages, "events": events, **self._delivery(bins),
            "distances": self._distances(), "involved": [len(found) for found in network.involved.values()],
            "path": [len(change.path) for change in self.script.reconfigurations],
            "records": dict(sorted(self.records.items())), "wrong": self.wrong(),
            "link_messages": whole, "actions": network.order,
            "cpu": round(time.process_time() - began, 3),
        }

    def _delivery(self, bins: int) -> dict[str, list[int]]:
        """By time of publication: events; dispatchers that got them; deliveries to the core that were due, made and
        made by recovery, publishers themselves excepted; messages of the events that were misrouted."""
        published, receivers, due, made, recovered, misrouted = ([0] * bins for _ in range(6))
        for text in self.texts:
            number = min(int(text.at / BIN + 1e-9), bins - 1)
            published[number] += 1
            receivers[number] += text.got.bit_count()
            due[number] += text.wanted.bit_count()
            made[number] += (text.wanted & text.got).bit_count()
            recovered[number] += (text.wanted & text.recovered).bit_count()
            misrouted[number] += len(text.trail) - useful(text, self.network.ends)
        return {"published": published, "receivers": receivers, "due": due, "made": made, "recovered": recovered,
                "misrouted": misrouted}

    def _distances(self) -> list[int]:
        """How many deliveries were due at 0, 1, 2, ... links from the publisher, of the events published from `first`
        to `last`, while the tree is one: what links lose of them can be computed."""
        parameters = self.parameters
        found: list[int] = []
        if self.script.reconfigurations or not parameters.loss:
            return found
        graph = Graph(parameters.dispatchers, parameters.degree, self.script.edges)
        far: dict[int, list[int]] = {}
        for text in self.texts:
            if not parameters.first <= text.at < parameters.last:
                continue
            if text.source not in far:
                far[text.source] = graph.distances(text.source)
            for node, distance in enumerate(far[text.source]):
                if text.wanted >> node & 1:
                    found += [0] * (distance + 1 - len(found))
                    found[distance] += 1
        return found

    def wrong(self) -> int:
        """Table entries of links, at the end, that differ from those computed from scratch. While something is
        under way (a timer, a message) they may."""
        if self.parameters.strategy != "subscription":
            return 0
        count = 0
        tables = [dispatcher.table for dispatcher in self.dispatchers]
        all_of = [{key for key, _ in table} for table in tables]
        sole = [table.sole() for table in tables]
        for link in self.tree.links:
            for here, there in (link[:2], link[1::-1]):
                due = all_of[there] - sole[there].get(link, _NONE)
                count += len(due ^ tables[here].filters_of(link).keys())
        return count


def since(before: Counts, now: Counts, second: str) -> dict[str, dict[str, float]]:
    """By message type what was counted since then: messages, and what the second count is of."""
    found = {}
    for name, (messages, amount) in sorted(now.items()):
        earlier = before.get(name, (0, 0))
        if messages > earlier[0]:
            found[name] = {"messages": messages - earlier[0], second: amount - earlier[1]}
    return found


def quantiles(values: list[float]) -> list[float]:
    """Median, 95th percentile and largest; nothing of nothing."""
    ordered = sorted(values)
    return [round(ordered[round(share * (len(ordered) - 1))], 4) for share in (0.5, 0.95, 1.0)] if ordered else []
