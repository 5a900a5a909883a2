"""The papers' figures, literally, as simulators of their own: what each dispatcher sends, message by message.

cugola-frey-murphy-picco-dynamic-topology, figures 2, 7, 8 and 9 (figures 8 and 9 by the prose of sections IV-A.2 and
IV-B), identity. The *told* form: a dispatcher remembers which patterns it told over each link, and SUB and UNSUB are
what that has to change by. Independent of node/reconcile: it knows hops and patterns, and counts.
"""
from __future__ import annotations

from collections import Counter, deque

from tests.node.timed_world import LINK


class Dispatcher:
    """Figure 2. `net` carries what it sends; the names of operations are the figure's."""

    def __init__(self, me, net):
        self.me, self.net = me, net
        self.local = Counter()  # pattern -> clients of this dispatcher that want it
        self.sub_tab = {}  # neighbor link -> patterns
        self.told = {}  # link -> patterns
        self.held = {}  # link -> patterns held back: the taggedSubs of figure 9
        self.pending = {}  # rId -> patterns

    def wanted(self, link):
        beyond = {p for other, patterns in self.sub_tab.items() if other != link for p in patterns}
        return beyond | set(+self.local)

    def kept(self):
        return {p for patterns in self.pending.values() for p in patterns}

    def update(self):
        """Tell each link the difference, SUB before UNSUB; what is pending is withdrawn nowhere."""
        changes = []
        for link, told in self.told.items():
            wanted = self.wanted(link)
            if link in self.held:
                self.held[link] &= wanted  # whoever wants it anew wants it told
            held = self.held.get(link, ())
            more = {p for p in wanted - told if p not in held or self.local[p] > 0}
            less = told - wanted - self.kept()
            told |= more
            told -= less
            changes.append((link, more, less))
        for link, more, _ in changes:
            self.net.send(self.me, link, "SUB", more)
        for link, _, less in changes:
            self.net.send(self.me, link, "UNSUB", less)

    def subscription_received(self, link, patterns):
        if link in self.sub_tab:
            self.sub_tab[link] |= patterns
            self.update()

    def unsubscription_received(self, link, patterns):
        if link in self.sub_tab:
            self.sub_tab[link] -= patterns
            self.update()

    def add_link_to(self, link, held=frozenset()):
        self.sub_tab[link], self.told[link], self.held[link] = set(), set(), set(held)
        self.update()

    def remove_link_to(self, link):
        del self.told[link], self.sub_tab[link]
        self.held.pop(link, None)
        self.update()

    def substitute_link_to(self, rid, new, path, role):
        pass

    def abandoned(self, rid):
        pass


class Timed(Dispatcher):
    """Figure 7."""

    def remove_link_to(self, link):
        patterns = self.sub_tab[link]
        if len(self.told) > 1 and patterns:  # self is a non-leaf dispatcher
            self.pending[link] = patterns
            self.net.later(self.me, "unsub", link, self.net.t_u)  # [1]
        super().remove_link_to(link)

    def unsub_timer_expires(self, rid):
        if self.pending.pop(rid, None) is not None:
            self.update()  # [3]


class Notified(Timed):
    """Figure 8: FLUSH is broadcast."""

    def __init__(self, me, net):
        super().__init__(me, net)
        self.replacement, self.flushed = {}, set()

    def substitute_link_to(self, rid, new, path, role):
        if role.startswith("new"):
            self.replacement[new] = rid

    def remove_link_to(self, link):
        super().remove_link_to(link)
        self.replacement.pop(link, None)
        if link in self.flushed:
            self.old_end_notified(link)

    def add_link_to(self, link, held=frozenset()):
        super().add_link_to(link, held)  # [2]
        if link in self.replacement:
            self.net.send(self.me, link, "FLUSH", self.replacement.pop(link))  # [3]

    def flush_received(self, link, rid):
        if rid not in self.flushed:
            self.flushed.add(rid)
            for other in self.told:
                if other != link:
                    self.net.send(self.me, other, "FLUSH", rid)  # [4]
            self.old_end_notified(rid)  # [5]

    def old_end_notified(self, rid):
        self.unsub_timer_expires(rid)

    def abandoned(self, rid):
        self.unsub_timer_expires(rid)


class Informed(Notified):
    """Figure 9. A link that waits is open, but told nothing of others before ACTIVATE has come. Not the figure's: local patterns,
    which are in no P, are told as soon as it is open, or as soon as they are subscribed to."""

    def __init__(self, me, net):
        super().__init__(me, net)
        self.waiting, self.said, self.overtaken = {}, {}, {}

    def only(self, rid):
        return {p for p in self.pending.get(rid, ()) if p not in self.wanted(rid)}

    def old_end_notified(self, rid):
        if self.only(rid):
            self.overtaken[rid] = self.only(rid)
        super().old_end_notified(rid)

    def substitute_link_to(self, rid, new, path, role):
        super().substitute_link_to(rid, (new, path), path, role)
        if role.startswith("old") and path is not None:
            crossing = next(i for i in range(len(path)) if {path[i], path[i + 1]} == set(new[:2]))
            to = path[crossing] if self.me == path[0] else path[crossing + 1]
            if to != self.me:
                self.net.activate(self.me, to, rid, self.overtaken.pop(rid, None) or self.only(rid))  # [2]

    def remove_link_to(self, link):
        self.waiting.pop(link, None)
        for key in [key for key in self.replacement if key[0] == link]:
            del self.replacement[key]
        super().remove_link_to(link)

    def add_link_to(self, link, held=frozenset()):
        found = next((key for key in self.replacement if key[0] == link), None)
        if found is None:
            super().add_link_to(link)
            return
        rid, path = self.replacement.pop(found), found[1]
        self.waiting[link] = rid
        self.sub_tab[link], self.told[link], self.held[link] = set(), set(), _All()
        self.update()
        if path is None or self.me in rid[:2]:
            self.activate(link, self.only(rid) if path is not None else set())
        elif rid in self.said:
            self.activate(link, self.said.pop(rid))
        else:
            self.net.later(self.me, "wait", link, self.net.t_wait)

    def activate_received(self, rid, patterns):
        for link, waits in self.waiting.items():
            if waits == rid:
                self.activate(link, patterns)
                return
        self.said[rid] = patterns

    def activate(self, link, patterns):
        rid = self.waiting.pop(link)
        self.held[link] = {p for p in patterns if p in self.wanted(link) and not self.local[p] > 0}
        if self.held[link]:
            self.net.later(self.me, "sub", link, self.net.t_s)  # [3]
        self.update()  # [4]
        self.net.send(self.me, link, "FLUSH", rid)  # [5]

    def wait_ends(self, link):
        if link in self.waiting:
            self.activate(link, set())

    def sub_timer_expires(self, link):
        if link in self.told:
            self.held[link] = set()
            self.update()  # [7]


class _All(set):
    """Every pattern."""

    def __iand__(self, other):
        return self

    def __contains__(self, pattern):
        return True


FIGURES = {"strawman": Dispatcher, "timed": Timed, "notified": Notified, "informed": Informed}


class Net:
    """Carries messages as tests.node.timed_world does: each takes as long, links are FIFO, and what is on a link dies with it."""

    def __init__(self, nodes, make, t_u, t_s, t_wait, hop):
        self.t_u, self.t_s, self.t_wait, self.hop = t_u, t_s, t_wait, hop
        self.time, self.agenda, self.alive = 0.0, deque(), set()
        self.counts = Counter()
        self.log = []  # (sender, far end, type, patterns), in order
        self.dispatchers = [make(node, self) for node in range(nodes)]

    def at(self, time, action):
        place = len(self.agenda)
        while place and self.agenda[place - 1][0] > time:
            place -= 1
        self.agenda.insert(place, (time, action))

    def send(self, sender, link, what, content):
        if what != "FLUSH" and not content:
            return
        self.counts[what] += len(content) if what != "FLUSH" else 1
        far = link[0] if link[1] == sender else link[1]
        self.log.append((sender, far, what, frozenset(content) if what != "FLUSH" else None))
        content = set(content) if what != "FLUSH" else content
        receive = {"SUB": "subscription_received", "UNSUB": "unsubscription_received", "FLUSH": "flush_received"}[what]
        self.at(self.time + self.hop(link, sender), lambda: link in self.alive and getattr(self.dispatchers[far], receive)(link, content))

    def activate(self, sender, to, rid, patterns):
        self.counts["ACTIVATE"] += 1
        self.at(self.time + LINK, lambda: self.dispatchers[to].activate_received(rid, patterns))

    def later(self, node, what, key, seconds):
        action = {"unsub": "unsub_timer_expires", "sub": "sub_timer_expires", "wait": "wait_ends"}[what]
        self.at(self.time + seconds, lambda: getattr(self.dispatchers[node], action)(key))

    def run(self, until):
        while self.agenda and self.agenda[0][0] <= until:
            self.time, action = self.agenda.popleft()
            action()
        self.time = until

    # ---- what the tree says
    def opened(self, link):
        self.alive.add(link)

    def closed(self, link):
        self.alive.discard(link)
