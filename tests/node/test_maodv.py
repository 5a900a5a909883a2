"""The tree: repair and its path, merges, beacons, and the faults that REDS had."""
from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node import wire
from node.ids import LinkId, Peer
from node.trees.join import REMEMBERED, ROUTE, WALK, roles
from node.trees.maodv import DEEPEST, PATH
from node.trees.position import Standing
from node.trees.search import meeting, reconfiguration_path
from tests.node.maodv_world import Walkers, World

LINE = [(0, 1), (1, 2), (2, 3), (3, 4)]


def quiet(pairs, count=None, seed=1, **options):
    """A world whose radio graph is these pairs, with its tree built."""
    pairs = list(pairs)
    world = World(count or 1 + max(max(pair) for pair in pairs), seed, **options)
    world.connect(pairs)
    world.settle(20)
    return world


def drops(world):
    return sum((Counter(core.drops) for core in world.nodes.values()), Counter())


def told(world, node, kind):
    return [notice[1:] for notice in world.nodes[node].notices if notice[0] == kind]


# ---- start ---------------------------------------------------------------------------------------


def test_a_node_alone_leads_itself():
    world = World(1, 1)
    world.run(3)
    status = world.nodes[0].tree.status()
    assert (status.leader, status.depth, status.parent, status.seeking) == (0, 0, None, False)


def test_thirty_hosts_are_one_tree_a_second_or_two_after_they_hear_each_other():
    for seed in range(3):
        world = World(30, seed, delay=(0.001, 0.01))
        Walkers(world, 400, 150, (0, 0), seed).moving = False
        assert len(world.parts()) == 1
        assert world.settle(6) <= 5
        assert world.nodes[0].tree.standing is Standing.LEADER, "of trees that meet the later leader gives in"


def test_a_merge_is_a_plain_gained():
    world = quiet(LINE)
    for node in world.nodes.values():
        assert {notice[0] for notice in node.notices} == {"gained"}


# ---- repair ----------------------------------------------------------------------------------------

# Figure 3 of the paper: C leads; B hangs below A; D is near A, and G, deeper, below F and E
C, A, B, D, E, F, G = range(7)
FIGURE_3 = [(C, A), (A, B), (A, D), (C, E), (E, F), (F, G)]


def moved(contacts):
    """Figure 3 when B has moved away from A and has these contacts instead."""
    world = quiet(FIGURE_3)
    lost = world.nodes[B].tree.links[A]
    world.connect([pair for pair in FIGURE_3 if pair != (A, B)] + contacts)
    world.run(world.now + 8)
    assert world.faults() == []
    return world, lost


def test_of_two_replies_the_one_nearest_to_the_far_old_end_is_taken():
    world, lost = moved([(B, D), (B, G)])
    assert world.nodes[B].tree.parent == D
    new = world.nodes[B].tree.links[D]
    path = (B, D, A)
    assert told(world, B, "replaced") == [(lost, new, path, "old_near"), (lost, new, path, "new_near")]
    assert told(world, D, "replaced") == [(lost, new, path, "new_far")]
    assert told(world, A, "replaced") == [(lost, new, path, "old_far")]
    assert not told(world, B, "abandoned")


def test_a_deeper_node_passes_the_request_up_its_tree_and_the_link_to_it_opens():
    world, lost = moved([(B, G)])
    assert world.nodes[B].tree.parent == G
    new = world.nodes[B].tree.links[G]
    path = (B, G, F, E, C, A)
    assert [notice[-1] for notice in told(world, B, "replaced")] == ["old_near", "new_near"]
    for node, role in ((G, "new_far"), (F, "on_path"), (E, "on_path"), (C, "on_path"), (A, "old_far")):
        assert told(world, node, "replaced") == [(lost, new, path, role)]
    # the depth rule let the shallower F answer for G at the first attempt
    ended = [fields for _, n, kind, fields in world.records if kind == "repair_ended" and n == B
             and fields["cause"] == "repair"]
    assert [(e["outcome"], e["attempts"]) for e in ended] == [("joined", 1)]


def test_the_new_link_may_be_below_the_orphan_and_pointers_turn():
    # 1 loses its parent 0; its child 3 has a way to 4
    world = quiet([(0, 1), (1, 2), (2, 3), (0, 4)])
    lost = world.nodes[1].tree.links[0]
    world.connect([(1, 2), (2, 3), (0, 4), (3, 4)])
    world.run(world.now + 8)
    assert world.faults() == []
    parents = {n: world.nodes[n].tree.parent for n in world.nodes}
    assert parents == {0: None, 4: 0, 3: 4, 2: 3, 1: 2}
    new, path = world.nodes[3].tree.links[4], (1, 2, 3, 4, 0)
    assert {n: told(world, n, "replaced") for n in world.nodes} == {
        1: [(lost, new, path, "old_near")], 2: [(lost, new, path, "on_path")],
        3: [(lost, new, path, "new_near")], 4: [(lost, new, path, "new_far")],
        0: [(lost, new, path, "old_far")]}


def test_at_the_ends_of_the_new_link_replaced_comes_before_gained():
    world, lost = moved([(B, D)])
    new = world.nodes[B].tree.links[D]
    for node in (B, D):
        notices = world.nodes[node].notices
        gained = notices.index(("gained", new))
        assert all(i < gained for i, notice in enumerate(notices) if notice[0] == "replaced")


def test_the_far_end_learns_of_the_loss_from_the_request_itself():
    world = quiet([(0, 1), (1, 2), (0, 2)])
    lost = world.nodes[1].tree.links[0]
    world.nodes[1].tree.link_failed(lost, "channel")
    world.run(world.now + 1)
    assert world.faults() == []
    assert lost not in world.nodes[0].open
    roles_told = [notice[-1] for n in world.nodes for notice in told(world, n, "replaced")]
    assert sorted(roles_told)[:2] == ["new_far", "new_near"] and "old_near" in roles_told


def test_an_orphan_with_nowhere_to_go_elects_itself_and_says_so():
    world = quiet(LINE)
    lost = world.nodes[2].tree.links[1]
    world.connect([(0, 1), (2, 3), (3, 4)])
    world.run(world.now + 7)
    assert world.faults() == []
    assert world.nodes[2].tree.standing is Standing.LEADER and world.nodes[4].tree.leader == 2
    assert told(world, 2, "abandoned") == [(lost,)]


def test_parts_that_meet_again_are_one_tree_again():
    world = quiet(LINE)
    world.connect([(0, 1), (2, 3), (3, 4)])
    world.run(world.now + 10)
    world.connect(LINE)
    assert world.settle(6) <= 5
    assert world.nodes[4].tree.leader == 0


def test_repair_at_walking_speed_takes_less_than_two_seconds():
    seconds = []
    for seed in range(4):
        world = World(25, seed, loss=0.02, delay=(0.001, 0.01))
        Walkers(world, 500, 150, (0.5, 2.0), seed)
        world.run(70)
        ended = [fields for _, _, kind, fields in world.records if kind == "repair_ended"]
        seconds += [f["seconds"] for f in ended if f["outcome"] == "joined" and f["cause"] == "repair"]
    assert len(seconds) > 20
    assert sorted(seconds)[len(seconds) // 2] < 0.4 and max(seconds) < 2.0


@given(st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_the_reconfiguration_path_is_the_path_in_the_old_tree_and_over_the_new_link(seed):
    chance = random.Random(seed)
    count = chance.randint(4, 25)
    parent = {n: chance.randrange(n) for n in range(1, count)}

    def root_path(n):
        return (n, *root_path(parent[n])) if n in parent else (n,)
    orphan = chance.randrange(1, count)
    below = [n for n in range(count) if orphan in root_path(n)]
    others = [n for n in range(count) if n not in below]
    near, far = chance.choice(below), chance.choice(others)
    up = root_path(near)
    route = (*reversed(up[:up.index(orphan) + 1]), far)
    told = meeting(root_path(far), root_path(orphan)[1:])
    path = reconfiguration_path(root_path(orphan), route, told)
    assert path == reconfiguration_path(root_path(orphan), route, root_path(far))
    assert path[0] == orphan and path[-1] == parent[orphan] and len(set(path)) == len(path)
    crossing = path.index(near)
    assert path[crossing + 1] == far
    for i, (a, b) in enumerate(zip(path, path[1:])):
        assert i == crossing or parent.get(a) == b or parent.get(b) == a


def test_without_a_common_ancestor_no_path_is_named():
    assert reconfiguration_path((5, 4, 3), (5, 9), (9, 8, 7)) is None
    assert meeting((9, 8, 7), (4, 3)) == (9, 8, 7)


def test_roles():
    rid = LinkId(1, 5, 77)
    assert roles(5, rid, (5, 6, 7, 8)) == ["old_near"]
    assert roles(6, rid, (5, 6, 7, 8)) == ["on_path"]
    assert roles(7, rid, (5, 6, 7, 8)) == ["new_near"]
    assert roles(8, rid, (5, 6, 7, 8)) == ["new_far"]
    assert roles(5, rid, (5, 1)) == ["old_near", "new_near"]
    assert roles(1, rid, (5, 1)) == ["new_far", "old_far"]
    assert roles(5, None, (5, 1)) == []


# ---- what REDS got wrong -------------------------------------------------------------------------------


def corrupt_ring(world, size):
    """Turn the pointers of the first hosts into a ring whose links are alive and which has no leader."""
    links = [LinkId.between(n, (n + 1) % size, 1000 + n) for n in range(size)]
    for n in range(size):
        core, tree = world.nodes[n], world.nodes[n].tree
        core.open = {links[n], links[n - 1]}
        tree.links = {link.far_end(n): link for link in core.open}
        tree.parent, tree.leader, tree.leader_epoch, tree.sequence = (n + 1) % size, 99, 1, 50
        tree.depth, tree.root_path, tree.standing = 3, (n, (n + 1) % size, 98, 99), Standing.MEMBER


@pytest.mark.parametrize("size", [3, 4, 7])
def test_an_orphaned_cycle_with_live_links_ends_and_elects(size):
    world = quiet([(n, (n + 1) % size) for n in range(size)])
    corrupt_ring(world, size)
    assert not any(core.tree.standing is Standing.LEADER for core in world.nodes.values())
    assert world.settle(15) <= 12
    silent = [f for _, _, kind, f in world.records if kind == "link_lost" and f["reason"] == "no_leader"]
    assert silent and len(silent) <= size


@pytest.mark.parametrize("ids", [(0, 1), (3, 2), (7, 8)])
def test_two_trees_alike_in_all_but_name_merge(ids):
    # two stars of the same size and depth, whatever the order of the names
    world = World(10, 4)
    one, other = [n for n in range(10) if n % 2 == 0], [n for n in range(10) if n % 2]
    stars = [(one[0], n) for n in one[1:]] + [(other[0], n) for n in other[1:]]
    world.connect(stars)
    world.settle(20)
    world.connect([*stars, ids])
    world.settle(6)


def test_three_trees_that_meet_at_once_do_not_wait_for_each_other():
    for seed in range(20):
        world = quiet([(0, 3), (1, 4), (2, 5)], seed=seed)
        world.connect([(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)])
        world.settle(8)


def test_only_the_parent_is_believed_and_only_what_is_new():
    world = quiet(LINE)
    core = world.nodes[2]
    tree = core.tree
    good = wire.Leader(0, 1, tree.sequence + 5, 1, False, (1, 0))
    before = tree.status(), tree.root_path

    def heard(link, message, reason):
        count = core.drops.get(reason, 0)
        tree.link_messages[wire.Leader](link, message)
        assert core.drops.get(reason, 0) == count + 1
        assert (tree.status(), tree.root_path) == before
    heard(tree.links[3], good._replace(path=(3, 0)), "not_parent")  # a leader's late beacon, the other way
    heard(LinkId.between(1, 2, 4711), good, "not_parent")  # of a dead incarnation
    heard(tree.links[1], good._replace(sequence=tree.sequence - 1), "stale_beacon")
    heard(tree.links[1], good._replace(epoch=0), "stale_beacon")  # of the leader's life before
    heard(tree.links[1], good._replace(path=(3, 0)), "bad_path")
    heard(tree.links[1], good._replace(path=(1, 2)), "bad_path")
    heard(tree.links[1], good._replace(path=()), "bad_path")
    heard(tree.links[1], good._replace(depth=2), "bad_path")
    heard(tree.links[1], good._replace(depth=DEEPEST, path=tuple(range(1, 1 + PATH))), "bad_path")
    tree.link_messages[wire.Leader](tree.links[1], good)
    assert tree.parent == 1 and tree.sequence == good.sequence


# ---- joins that race -------------------------------------------------------------------------------------


def test_two_roots_that_ask_each_other_at_once_both_hear_busy():
    world = World(2, 1, merge_wait=1e6, delay=(0.01, 0.01))
    world.connect([(0, 1)])
    world.run(4)
    outcomes = []
    for n in (0, 1):
        world.nodes[n].tree.join.start((n, 1 - n), None, None, 2, outcomes.append)
    world.run(world.now + 1)
    assert outcomes == ["busy", "busy"] and not world.links()


def test_three_roots_in_a_ring_that_ask_the_next_at_once_do_not_close_it():
    for seed in range(30):
        world = World(3, seed, merge_wait=1e6, delay=(0.001, 0.03))
        world.connect([(0, 1), (1, 2), (2, 0)])
        world.run(4)
        for n in range(3):
            def ask(tree=world.nodes[n].tree, route=(n, (n + 1) % 3)):
                if tree.parent is None:
                    tree.join.start(route, None, None, 2, lambda outcome: None)
            world.after(world.random.uniform(0, 0.08), ask)
        world.run(world.now + 2)
        assert len(world.links()) <= 2


def test_an_answer_that_comes_too_late_opens_nothing():
    world = World(2, 1, merge_wait=1e6, join_wait=0.05, delay=(0.06, 0.07))
    world.connect([(0, 1)])
    world.run(4)
    outcomes = []
    world.nodes[1].tree.join.start((1, 0), None, None, 2, outcomes.append)
    world.run(world.now + 2)
    assert outcomes == ["timeout"] and not world.links()
    assert drops(world)["late"] == 1
    assert world.nodes[1].tree.standing is Standing.LEADER


def granted(world):
    """Host 1 has joined 0, whose link is pending: the ACTIVATE is lost."""
    world.connect([(0, 1)])
    world.run(4)
    inner = world.datagram

    def lossy(core, to, messages):
        if not any(type(m) is wire.Relay and type(m.message) is wire.Activate for m in messages):
            inner(core, to, messages)
    world.datagram = lossy
    world.nodes[1].tree.join.start((1, 0), None, None, 2, lambda outcome: None)
    world.run(world.now + 0.1)
    return next(iter(world.nodes[1].open))


def test_the_first_message_of_a_pending_link_opens_it():
    world = World(2, 1, merge_wait=1e6, delay=(0.01, 0.01))
    link = granted(world)
    tree = world.nodes[0].tree
    assert link not in world.nodes[0].open
    assert tree.link_pending(link) and not tree.link_pending(link._replace(nonce=link.nonce ^ 1))
    tree.link_heard(link)
    assert world.exists(link) and not tree.link_pending(link)
    tree.link_heard(link)
    assert told(world, 0, "gained") == [(link,)]


def test_a_link_that_only_one_end_opened_is_lost_again():
    world = World(2, 1, merge_wait=1e6, delay=(0.01, 0.01))
    link = granted(world)
    world.run(world.now + 0.5)
    assert link not in world.nodes[1].open
    assert [(kind, f.get("reason")) for _, _, kind, f in world.records if f.get("link") == link] == [
        ("link_gained", None), ("link_lost", "unanswered")]


def probed(world, node, far):
    """The node hears nothing of the other for too long."""
    world.nodes[node].tree.suspected(world.nodes[far].me, 5)
    world.run(world.now + 0.45)


def test_a_probe_of_a_living_link_changes_nothing():
    world = quiet(LINE)
    before, dropped = world.links(), drops(world)
    for node, far in ((1, 0), (1, 2)):  # its parent, its child
        probed(world, node, far)
    probed(world, 0, 3)  # no tree neighbor: nobody to ask
    assert world.links() == before and drops(world) == dropped


def test_a_probe_that_is_not_answered_loses_the_link_at_once_whichever_end_it_is():
    for node, far in ((2, 1), (1, 2)):
        world = quiet(LINE)
        link = world.nodes[node].tree.links[far]
        world.connect([pair for pair in LINE if pair != (1, 2)])
        probed(world, node, far)
        lost = [(n, f["reason"]) for _, n, kind, f in world.records
                if kind == "link_lost" and f["link"] == link]
        assert lost == [(node, "unanswered")]


def test_a_probe_heals_a_link_that_is_open_at_one_end_only():
    world = quiet(LINE)
    link = world.nodes[2].tree.links[1]
    core = world.nodes[1]
    del core.tree.links[2]
    core.open.remove(link)
    probed(world, 2, 1)
    assert [f["reason"] for _, n, kind, f in world.records if kind == "link_lost" and n == 2] == ["left"]
    world.settle(3)


def test_a_probe_opens_a_link_whose_activation_was_lost():
    world = World(2, 1, merge_wait=1e6, delay=(0.01, 0.01))
    link = granted(world)
    world.nodes[1].tree.suspected(world.nodes[0].me, 5)
    world.run(world.now + 0.05)
    assert world.exists(link)


# ---- lives -----------------------------------------------------------------------------------------------


def test_a_leader_that_restarts_is_believed_although_its_count_began_anew():
    world = quiet([(0, 1), (1, 2), (2, 3), (3, 0)], leader_interval=1.0)
    world.run(world.now + 20)
    assert world.nodes[2].tree.sequence > 20
    world.crash(0)
    world.run(world.now + 0.5)
    world.boot(0)
    world.settle(12)
    assert world.nodes[2].tree.leader_epoch == 2 and world.nodes[2].tree.leader == 0


def test_an_old_end_that_restarted_hears_of_no_replacement():
    """0 lives anew when 1, its child before, has found its way to it over 2: the link was another life's."""
    world = quiet([(0, 1), (0, 2)])
    rid = world.nodes[1].tree.links[0]
    world.crash(0)
    world.boot(0)
    join = world.nodes[0].tree.join
    join._replaced(world.nodes[2].me, wire.Replaced(rid, (1, 2, 99), (1, 2, 0)))
    assert not world.nodes[0].notices and not world.nodes[0].drops


def test_a_leader_that_dies_is_followed_by_another():
    world = quiet([(a, b) for a in range(6) for b in range(a)])
    world.crash(0)
    world.settle(12)
    assert world.nodes[5].tree.leader == 1


# ---- bounds ----------------------------------------------------------------------------------------------


def test_a_tree_deeper_than_a_root_path_is_still_one_tree():
    order = list(range(100))
    random.Random(5).shuffle(order)
    world = World(100, 5, delay=(0.001, 0.01))
    world.connect(zip(order, order[1:]))
    world.settle(30)
    assert max(core.tree.depth for core in world.nodes.values()) > 45


def test_the_largest_messages_fit_a_datagram():
    far, epoch, me = 2**32 - 1, 2**32 - 1, Peer(2**32 - 1, 2**32 - 1)
    rid = (far, far, far)
    ids = (far,) * WALK
    largest = [
        wire.Rreq(rid, far, 255, 255, ids[:PATH], ids[:18], 17),
        wire.Rrep(far, ids[:18], 17, 255, ids[:PATH], True),
        wire.Join(far, rid, ids[:PATH], ids[:ROUTE], ()), wire.Join(far, rid, (), ids[:ROUTE], ids),
        wire.Grant(far, ids[:ROUTE], ids, far), wire.Refuse(far, ids[:ROUTE], ids, "busy"),
        wire.Activate(rid, ids[:PATH], ids[:ROUTE], far, far), wire.Replaced(rid, rid, ids[:PATH]),
        wire.Offer(far, 255, far, ids[:63]), wire.Leave(far), wire.Probe(far)]
    for message in largest:
        datagram = wire.encode(me, far, [wire.Relay(far, message)], secret=b"x")
        assert wire.decode(datagram, b"x").messages[0].message == message
    leader = wire.Leader(far, epoch, far, 255, True, ids[:PATH])
    assert len(wire.encode(me, far, [wire.Data(((far, far, far),) * 16, leader)], b"x")) <= wire.MAX_DATAGRAM


# ---- nonsense --------------------------------------------------------------------------------------------

some = st.integers(0, 6)
ids = st.lists(some, max_size=6).map(tuple)
link = st.tuples(some, some, st.integers(0, 3))
number = st.integers(0, 3)
nonsense = st.one_of(
    st.builds(wire.Rreq, st.none() | link, number, number, number, ids, ids, st.none() | some),
    st.builds(wire.Rrep, number, ids, number, number, ids, st.booleans()),
    st.builds(wire.Join, number, st.none() | link, ids, ids, ids),
    st.builds(wire.Grant, number, ids, ids, number),
    st.builds(wire.Refuse, number, ids, ids, st.sampled_from(["busy", "", "?" * 16])),
    st.builds(wire.Activate, st.none() | link, ids, ids, number, number),
    st.builds(wire.Replaced, link, link, ids),
    st.builds(wire.Offer, some, number, some, ids),
    st.builds(wire.Leave, number),
    st.builds(wire.Probe, number))


@given(st.lists(st.tuples(some, some, nonsense), max_size=25), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_nonsense_from_neighbors_crashes_nothing_and_passes(messages, seed):
    world = quiet([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 0), (1, 5)], seed=seed)
    for i, (to, sender, message) in enumerate(messages):
        handlers = world.nodes[to].handlers
        peer = world.nodes[sender].me
        if sender == to:
            continue
        handlers[wire.Relay](peer, wire.Relay(10**6 + i, message))
        if type(message) is wire.Rreq:
            handlers[wire.Rreq](peer, message)
        world.run(world.now + 0.01)
    world.settle(30)


def test_a_flood_of_joins_and_offers_is_bounded():
    world = quiet(LINE)
    tree, handlers = world.nodes[2].tree, world.nodes[2].handlers
    peer = world.nodes[1].me
    for i in range(3000):
        handlers[wire.Relay](peer, wire.Relay(10**6 + i, wire.Join(i, None, (), (1, 2), ())))
        handlers[wire.Relay](world.nodes[3].me, wire.Relay(10**6 + i, wire.Offer(i, 1, 9, (3,))))
        handlers[wire.Rreq](peer, wire.Rreq(None, i, 1, 9, (), (1,), None))
    assert len(tree.join._crossings) <= 32 and len(tree.merge._lately) <= 64 and len(tree.search._seen) <= 128
    assert len(world.nodes[2].relay._flights) <= 128


def test_of_many_joins_the_one_granted_just_now_is_remembered():
    world = quiet(LINE)
    handlers, tree = world.nodes[2].handlers, world.nodes[2].tree
    near, beyond = world.nodes[1].me, world.nodes[3].me
    for request in range(REMEMBERED):
        handlers[wire.Relay](near, wire.Relay(10**6 + request, wire.Join(request, None, (), (1, 2), ())))
    handlers[wire.Relay](beyond, wire.Relay(10**6, wire.Grant(0, (1, 2), (2, 3), 0)))
    assert tree.join._crossings[1, 0].nonce
    handlers[wire.Relay](near, wire.Relay(10**6 + REMEMBERED, wire.Join(REMEMBERED, None, (), (1, 2), ())))
    assert (1, 0) in tree.join._crossings and (1, 1) not in tree.join._crossings


@pytest.mark.parametrize("seed", range(4))
def test_when_a_leader_dies_its_children_need_one_attempt_before_one_of_them_leads(seed):
    """All are orphans at once. They gather below the lowest id, and do not wait for `request_attempts`."""
    square = [(0, n) for n in range(1, 5)] + [(1, 2), (2, 3), (3, 4), (4, 1)]
    world = quiet(square, seed=seed)
    leader = world.nodes[0].tree.leader
    lost = world.now
    world.connect([pair for pair in square if leader not in pair])
    world.run(lost + 8)
    left = [core.tree for node, core in world.nodes.items() if node != leader]
    assert len({tree.leader for tree in left}) == 1 and all(tree.settled for tree in left)
    elected = [f["attempts"] for when, node, kind, f in world.records
               if kind == "repair_ended" and when > lost and node != leader and f["outcome"] == "elected"]
    assert elected and max(elected) <= 2
