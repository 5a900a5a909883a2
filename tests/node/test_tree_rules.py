"""Rules of the tree one by one, each by the very message that it is about: histories reach some of them too seldom."""
from __future__ import annotations

import pytest

from node import wire
from node.ids import Peer
from node.trees.join import WALK
from tests.node.test_maodv import LINE, quiet

RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]


def relayed(core):
    """From now on what the node relays is noted, not sent."""
    sent = []
    core.relay.send = lambda to, message, failed=None, last_word=False: sent.append((to, message))
    return sent


def receives(core, sender, message):
    core.tree.relayed_messages[type(message)](Peer(sender, 1), message)


def beside():
    """A node of a ring, and its neighbor that is none of the tree's."""
    world = quiet(RING)
    return next((core, other) for core in world.nodes.values() for other in world.adjacent[core.me.node]
                if other not in core.tree.links)


def request(hops, **fields):
    return wire.Rreq(**{"rid": None, "request": 7, "attempt": 1, "depth": 0, "former": hops[:1], "hops": hops, "crossing": None, **fields})


def test_a_grant_of_a_join_that_timed_out_commits_nothing():
    """Premise of join.py: also where the next JOIN goes the same way."""
    world = quiet([(0, 1), (1, 2)])
    core, outcomes = world.nodes[0], []
    sent = relayed(core)
    core.tree.join.start((0, 1, 9), None, None, 3, outcomes.append)
    core.tree.join.cancel()
    core.tree.join.start((0, 1, 9), None, None, 3, outcomes.append)
    first, second = (message.request for _, message in sent)
    receives(core, 1, wire.Grant(first, (0, 1, 9), (9,), 77))
    assert not outcomes and core.tree.parent is None and core.drops["late"] == 1
    receives(core, 1, wire.Grant(second, (0, 1, 9), (9,), 77))
    assert outcomes == ["joined"] and core.tree.parent == 1


def test_activate_turns_a_pointer_only_over_the_very_link():
    core = quiet(LINE).nodes[1]
    link = core.tree.links[0]
    sent = relayed(core)
    receives(core, 0, wire.Activate(None, (), (0, 1, 2, 3), 77, link.nonce ^ 1))
    assert core.tree.parent == 0 and core.drops["not_parent"] == 1 and type(sent[0][1]) is wire.Leave
    receives(core, 0, wire.Activate(None, (), (0, 1, 2, 3), 77, link.nonce))
    assert core.tree.parent == 2


def test_a_join_is_granted_once():
    core = quiet(LINE).nodes[1]
    sent = relayed(core)
    receives(core, 9, wire.Join(5, None, (), (9, 1), ()))
    for _ in range(2):
        receives(core, 0, wire.Grant(5, (9, 1), (1, 0), 0))
    assert [type(message) for _, message in sent] == [wire.Join, wire.Grant] and core.drops["unasked"] == 1


def test_a_walk_has_an_end():
    core = quiet(LINE).nodes[1]
    sent = relayed(core)
    walk = (*range(100, 100 + WALK - 2), 2)
    receives(core, 2, wire.Join(5, None, (), (99, 100), walk))
    assert isinstance(sent[-1][1], wire.Refuse) and sent[-1][1].reason == "far"


@pytest.mark.parametrize(("attempt", "deeper", "answer"), [(1, 0, wire.Rrep), (1, 1, wire.Rreq), (2, 1, wire.Rrep)])
def test_the_depth_rule_holds_for_the_first_attempt(attempt, deeper, answer):
    """cugola-murphy-picco-mobile-environment, 5.1.1: who is deeper than the seeker passes the request up."""
    core, other = beside()
    sent = relayed(core)
    core.tree.search.request_heard(Peer(other, 1), request((other,), attempt=attempt, depth=core.tree.depth - deeper))
    assert [(type(message), to) for to, message in sent] == [(answer, other if answer is wire.Rrep else core.tree.parent)]


def test_whoever_is_below_the_seeker_does_not_reply():
    core, other = beside()
    sent = relayed(core)
    core.tree.search.request_heard(Peer(other, 1), request((core.tree.parent, other), depth=9))
    assert not sent


def test_a_request_alone_tells_the_far_end_of_the_loss():
    core = quiet(LINE).nodes[1]
    link = core.tree.links[2]
    relayed(core)
    core.tree.search.request_heard(Peer(2, 1), request((2,), rid=link._replace(nonce=link.nonce ^ 1)))
    assert link in core.open
    core.tree.search.request_heard(Peer(2, 1), request((2,), rid=link))
    assert link not in core.open


def test_an_orphan_asks_a_new_neighbor_at_once():
    core = quiet(LINE).nodes[2]
    core.tree.link_failed(core.tree.links[1], "channel")
    said = []
    core.broadcast = lambda *messages: said.extend(messages)
    core.tree.neighbor_up(Peer(9, 1))
    assert [type(message) for message in said] == [wire.Rreq]
