"""Random histories of a tree of brokers, and the model that they are held against.

A history is a list of lines: what clients and links do, and which of the possible next things happens. It is
made from the integers that hypothesis draws, can be printed, and replayed from the print.
"""
from __future__ import annotations

from functools import reduce

from hypothesis import strategies as st

from node import wire
from node.filters import covers, parse
from node.ids import EventId, LinkId
from node.reconcile import Everything
from tests.node.tree_world import TreeWorld

FILTERS = [parse(text) for text in (
    'kind = "a"', 'kind = "b"', 'kind = "a" and x > 3', 'kind = "a" and x > 5', 'x > 3', 'x > 3 and x > 2',
    'x >= 4', 'x = 4', 'x in [4, 9]', '*', 'kind prefix "a"', 'kind in ["a", "b"] and x < 9')]
EVENTS = [{"kind": kind, "x": x} for kind in "abc" for x in (2, 4, 9)]
CLIENTS = ("one", "two")
UNFINISHED = ("pending", "new_end", "reservation")  # nouns of protocols that are empty once all is quiet


class History:
    """Runs one history and checks safety (jaeger-self-managing-thesis, definition 5) at every step."""

    def __init__(self, nodes, edges, reconciler, filters=len(FILTERS), **config):
        self.filters = filters  # the first so many are used: few of them meet each other more often
        self.world = TreeWorld(nodes, reconciler=reconciler, edges=edges, replay_window=60, **config)
        self.lines = []
        self.broken = []  # links that were cut and may be replaced
        self.published = {}
        self.had = set()
        self.settled = set()  # (node, client, hash): subscribed before the last quiet moment
        self.owed = {}  # event -> (node, client) -> hashes of the filters for which it is owed
        for core in self.world.cores:
            for client in CLIENTS:
                core.attach(client)

    # ---- from integers to lines
    def operation(self, what, a, b, c):
        world, nodes = self.world, len(self.world.cores)
        links, broken = list(world.script.links), self.broken
        if what == "subscribe":
            pool = c % 2 and self.contested() or list(range(self.filters))
            self.do("subscribe", a % nodes, CLIENTS[b % 2], pool[c // 2 % len(pool)])
        elif what == "unsubscribe":
            own = [(node, client, FILTERS.index(one)) for node in range(nodes) for client in CLIENTS
                   for one in self.own(node, client).values()]
            contested = self.contested() if c % 4 else []
            own = [one for one in own if one[2] in contested] or own
            if own:
                self.do("unsubscribe", *own[(a + b) % len(own)])
        elif what == "race":  # wait for a protocol's own message, then touch what it is about
            for _ in range(a):
                if not world.steps() or self.under_way():
                    break
                self.do("step", 0)
            self.operation(("subscribe", "unsubscribe")[b % 2], b, c, 1)
        elif what == "publish":
            self.do("publish", a % nodes, c % len(EVENTS))
        elif what in ("cut", "exchange", "back") and links:
            link = links[a % len(links)]
            self.do("cut", link)
            if what == "back":
                self.do("replace", link, *link[:2], *link[:2], "named")
            elif what == "exchange":
                self.repair(link, b, c)
        elif what == "repair" and broken:
            self.repair(broken[a % len(broken)], b, c)
        elif what == "abandon" and broken:
            link = broken[a % len(broken)]
            self.do("abandon", link, link[b % 2])
        elif what == "merge":
            near, far = a % nodes, b % nodes
            if far not in world.script.component(near):
                self.do("join", near, far)
        elif what == "lose" and world.relayed:
            self.do("lose", a % len(world.relayed))

    def under_way(self):
        return any(type(message) is wire.Rec for queue in self.world.queues.values() for message in queue) \
            or any(type(message) is wire.InformedActivate for _, message in self.world.relayed)

    def contested(self):
        """Filters that a protocol is just holding back, keeping or moving: where races happen."""
        moving = {one.hash for queue in self.world.queues.values() for message in queue
                  if type(message) is wire.Rec for one in message.add}
        waiting = set()
        for core in self.world.cores:
            routing = core.routing
            for keys in (*routing.holding.kept.values(), *routing.holding.back.values()):
                if not isinstance(keys, Everything):
                    waiting.update(keys)
        return [number for number, one in enumerate(FILTERS) if one.hash in (moving or waiting)]

    def repair(self, link, b, c):
        """Replace the lost link by one between any two of its sides."""
        near_end, far_end = link[:2] if b % 2 else link[1::-1]
        near, far = (self.world.script.component(end) for end in (near_end, far_end))
        if far_end in near:  # others have connected them: the seeker finds itself connected
            self.do("abandon", link, near_end)
        else:
            named = "unnamed" if c % 8 == 7 else "named"
            self.do("replace", link, near_end, far_end, near[(b // 2 - 1) % len(near)],
                    far[(c - 1) % len(far)], named)

    # ---- lines
    def do(self, word, *arguments):
        self.lines.append(" ".join([word, *map(str, arguments)]))
        getattr(self, f"_{word}")(*arguments)
        self.check_delivered()
        if not self.world.steps():
            self.check_owed()
            self.settled = {(core.me.node, client, key) for core in self.world.cores for client in CLIENTS
                            for key in self.own(core.me.node, client)}

    def _subscribe(self, node, client, number):
        self.lines[-1] += f"  # {FILTERS[number]}"
        self.world.cores[node].clients.subscribe(client, FILTERS[number])

    def _unsubscribe(self, node, client, number):
        self.lines[-1] += f"  # {FILTERS[number]}"
        self.world.cores[node].clients.unsubscribe(client, FILTERS[number])
        key = FILTERS[number].hash
        self.settled.discard((node, client, key))
        for clients in self.owed.values():
            clients.get((node, client), set()).discard(key)

    def _publish(self, node, number):
        self.lines[-1] += f"  # {EVENTS[number]}"
        core = self.world.cores[node]
        following = EventId(node, core.me.epoch, core.clients._sequence + 1)
        self.published[following] = EVENTS[number]
        owed = self.owed[following] = {}
        for reader, client, key in self.settled:
            if self.own(reader, client)[key].matches(EVENTS[number]):
                owed.setdefault((reader, client), set()).add(key)
        assert core.clients.publish(CLIENTS[0], EVENTS[number]) == following
        return following

    def _cut(self, link):
        self.world.cut(*link[:2])
        self.broken.append(link)

    def _replace(self, link, near_end, far_end, near, far, named):
        self.broken.remove(link)
        new = self.world.replace(link, (near_end, near), (far_end, far), named == "named")
        self.lines[-1] += f"  # by {new}"

    def _abandon(self, link, end):
        self.broken.remove(link)
        self.world.script.abandon(link, [end])

    def _join(self, a, b):
        self.lines[-1] += f"  # {self.world.join(a, b)}"

    def _lose(self, number):
        self.world.relayed.pop(number)

    def _step(self, choice):
        happened = self.world.step(choice)
        self.lines[-1] += f"  # {happened}"
        return happened

    def run(self, choices):
        for choice in choices:
            if self.world.steps():
                self.do("step", choice)

    def settle(self):
        while self.world.steps():
            self.do("step", 0)

    # ---- the printed form
    def text(self):
        return "\n".join(self.lines)

    def replay(self, text):
        for line in text.splitlines():
            word, *arguments = line.partition("  #")[0].split(" ")
            self.do(word, *map(_argument, arguments))

    # ---- the model
    def own(self, node, client):
        return self.world.cores[node].clients._filters[client]

    def local(self, node):
        return {key: wanted for client in CLIENTS for key, wanted in self.own(node, client).items()}

    def told(self, node, to, forwarding):
        """What `node` should have told its tree neighbor `to`, by hash."""
        beyond = [other for other in self.world.neighbors(node) if other != to]
        wanted = reduce(dict.__or__, [self.told(other, node, forwarding) for other in beyond],
                        self.local(node))
        return wanted if forwarding == "identity" else minimal_cover(wanted)

    def check_delivered(self):
        for core in self.world.cores:
            for client, event in core.delivered:
                name = EventId(event.source, event.epoch, event.sequence)
                assert (core.me.node, client, name) not in self.had, "twice"
                self.had.add((core.me.node, client, name))
                assert self.published[name] == event.attributes, "unpublished"
                assert any(wanted.matches(event.attributes)
                           for wanted in self.own(core.me.node, client).values()), "unsubscribed"
            core.delivered.clear()

    def check_owed(self):
        """Quiet: who wanted an event since before it was published, and is in one part with its publisher, has it. Here the
        clock is far within the replay window."""
        for name, clients in self.owed.items():
            part = self.world.script.component(name.source)
            for (node, client), keys in clients.items():
                assert not keys or node not in part or (node, client, name) in self.had, \
                    f"client {client} of {node} lacks {name} {self.published[name]}"

    def check_tables(self):
        """Once quiet: every table is the one from scratch, and no protocol holds anything back any more."""
        for core in self.world.cores:
            node, forwarding = core.me.node, core.config.forwarding
            links = self.world.script.neighbors[node]
            assert set(core.routing.links) == set(links.values()), f"links of {node}"
            for other, link in links.items():
                held = dict(core.routing.table.filters_of(link))
                wanted = self.told(other, node, forwarding)
                assert held == wanted, f"{node} holds {in_words(held)} of {other}, not {in_words(wanted)}"
                far = self.world.cores[other].routing.links[link]
                assert far.filters == held, f"{other} to {node}"
                assert far.digest == core.routing.table.digest(link), f"{other} to {node}"
            routing = core.routing
            assert not any(vars(routing.holding).values()), f"left over at {node}"
            for name in UNFINISHED:
                assert not getattr(core.reconciler, name, None), f"{name} left over at {node}"

    def check_events(self):
        """Every event reaches exactly whom it should."""
        for core in self.world.cores:
            reachable = self.world.script.component(core.me.node)
            for number, attributes in enumerate(EVENTS):
                before = set(self.had)
                name = self._publish_quietly(core.me.node, number)
                expected = {(node, client, name) for node in reachable for client in CLIENTS
                            if any(wanted.matches(attributes) for wanted in self.own(node, client).values())}
                assert self.had - before == expected, f"event {attributes} of {core.me.node}"

    def _publish_quietly(self, node, number):
        kept, self.lines = self.lines, [""]
        name = self._publish(node, number)
        while self.world.step():
            self.check_delivered()
        self.check_delivered()
        self.lines = kept
        return name


def _argument(word):
    if word.isdigit():
        return int(word)
    if "-" in word and "." in word:
        ends, _, nonce = word.partition(".")
        return LinkId(*map(int, ends.split("-")), int(nonce, 16))
    return word


def in_words(filters):
    return sorted(map(str, filters.values()))


def minimal_cover(wanted):
    """Without those that another covers; of several that cover each other only the lowest hash stays."""
    return {key: f for key, f in wanted.items()
            if not any(other != key and covers(g, f) and (other < key or not covers(f, g))
                       for other, g in wanted.items())}


small = st.sampled_from(range(41))  # of equal chance, unlike integers()
starts = st.lists(st.tuples(small, small, small), max_size=14)
steps = st.tuples(st.lists(small, max_size=8), st.sampled_from(range(13)))  # chosen ones, then some in order
WORDS = (["subscribe"] * 4 + ["unsubscribe"] * 4 + ["exchange"] * 5 + ["repair"] * 3 + ["lose"] * 2
         + ["race"] * 4 + ["publish"] * 5 + ["back", "cut", "abandon", "merge"])
operations = st.tuples(st.sampled_from(WORDS), small, small, small, steps)
shapes = st.lists(small, min_size=8, max_size=8)
flushes = st.sampled_from(["broadcast", "piggyback", "path"])
wide = st.tuples(st.sampled_from(range(2, 10)), shapes, flushes, st.sampled_from([2, 5, len(FILTERS)]),
                 starts, st.lists(operations, max_size=25))
# few filters, wanted on both sides of a link that is exchanged, and touched just then
races = st.tuples(st.sampled_from(range(4, 7)), shapes, flushes, st.just(2), st.lists(
    st.tuples(small, small, small), min_size=2, max_size=5), st.lists(st.one_of(
        st.tuples(st.just("exchange"), small, small, small, st.just(([], 0))),
        st.tuples(st.just("race"), small, small, small, st.just(([], 0))),
        st.tuples(st.sampled_from(["unsubscribe", "lose"]), small, small, small, steps)),
        min_size=2, max_size=8))
histories = wide | races


def drawn(chance):
    """A history as `histories` has them, drawn by a random.Random: much faster, and without favourites."""
    def several(most, least=0):
        return [chance.randrange(41) for _ in range(chance.randint(least, most))]

    def operation(words):
        return (chance.choice(words), *several(3, 3), (several(8), chance.randrange(13)))

    flush = chance.choice(["broadcast", "piggyback", "path"])
    if chance.random() < 0.5:
        words = ["exchange", "race", "exchange", "race", "unsubscribe", "lose", "publish", "publish"]
        return (chance.randrange(4, 7), several(8, 8), flush, 2,
                [several(3, 3) for _ in range(chance.randint(2, 5))],
                [operation(words) for _ in range(chance.randint(2, 8))])
    return (chance.randrange(2, 10), several(8, 8), flush, chance.choice([2, 5, len(FILTERS)]),
            [several(3, 3) for _ in range(chance.randrange(15))],
            [operation(WORDS) for _ in range(chance.randrange(26))])


def smaller(history, fails):
    """The history without whatever it can do without and still `fails(history)`."""
    *shape, start, operations = history
    for part in (operations, start):
        number = len(part)
        while number > 0:
            number -= 1
            one = part.pop(number)
            if not fails((*shape, start, operations)):
                part.insert(number, one)
    return (*shape, start, operations)


def run(history, reconciler, forwarding="identity", events=True, make=History, **config):
    """Run what was drawn to its quiet end and check it; returns the History. A failure carries its text."""
    nodes, parents, flush, filters, start, operations = history
    edges = [(node, node - 1 - parents[node - 1] % min(node, 3)) for node in range(1, nodes)]
    one = make(nodes, edges, reconciler, filters, forwarding=forwarding, flush=flush, **config)
    try:
        for subscription in start:
            one.operation("subscribe", *subscription)
        one.settle()
        for *operation, (choices, in_order) in operations:
            one.operation(*operation)
            one.run(choices)
            one.run([0] * in_order)
        one.settle()
        one.check_tables()
        if events:
            one.check_events()
    except Exception as error:
        error.add_note(f"nodes = {nodes}\nedges = {edges}\nforwarding = {forwarding!r}\nflush = {flush!r}\n"
                       f"history:\n{one.text()}")
        raise
    return one
