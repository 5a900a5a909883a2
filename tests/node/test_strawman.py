"""The strawman: what its two operations send, and how it meets the tree's notices."""
from __future__ import annotations

from node import wire
from node.filters import parse
from node.reconcile.strawman import Strawman
from tests.node.tree_world import TreeWorld

A, B = parse('kind = "a"'), parse('kind = "b"')


def sent(core):
    return sorted((far, name, sorted(str(f) if name == "Sub" else f.hex() for f in message.filters))
                  for far, name, message in core.take_sent())


def path():
    """0 - 1 - 2 with a subscriber to A at both ends and to B at the right one."""
    world = TreeWorld(4, edges=[(0, 1), (1, 2)])
    for core in world.cores:
        core.attach("c")
    world.cores[0].clients.subscribe("c", A)
    world.cores[2].clients.subscribe("c", A)
    world.cores[2].clients.subscribe("c", B)
    world.settle()
    for core in world.cores:
        core.sent.clear()
    return world


def test_a_new_link_is_told_the_whole_table():
    world = path()
    world.join(1, 3)
    world.step()
    assert sent(world.cores[1]) == [(3, "Sub", [str(A), str(B)])]


def test_the_entries_of_a_lost_link_are_unsubscribed_at_once_as_if_it_had_asked():
    world = path()
    world.cut(1, 2)
    world.step()
    core = world.cores[1]
    # A is now wanted by 0 alone and B by nobody: 0 is told both, itself wants A
    assert sent(core) == [(0, "Unsub", sorted([A.hash.hex(), B.hash.hex()]))]
    assert [str(f) for _, f in core.routing.table] == [str(A)]


def test_a_link_that_comes_back_is_another_link():
    world = path()
    old = world.cut(1, 2)
    new = world.join(1, 2)
    world.settle()
    for core in world.cores[1:3]:
        assert old not in core.routing.links and new in core.routing.links
        assert not core.routing.table.filters_of(old)
    assert set(world.cores[1].routing.table.filters_of(new).values()) == {A, B}
    before = dict(world.cores[1].routing.table.filters_of(new))
    world.cores[1].receive(old, wire.Unsub((A.hash, B.hash)))  # a late message of the dead incarnation
    world.cores[1].reconciler.lost(old)  # a second notice of its loss
    assert world.cores[1].routing.table.filters_of(new) == before


def test_local_clients_are_untouched_by_any_link():
    world = path()
    world.cut(1, 2)
    world.settle()
    assert set(world.cores[2].routing.table.filters_of("c").values()) == {A, B}


def test_it_needs_links_only_and_ignores_which_link_replaces_which():
    world = path()
    old = world.links[frozenset((1, 2))]
    reconciler = world.cores[1].reconciler
    assert isinstance(reconciler, Strawman) and not reconciler.link_messages
    reconciler.replaced(old, old, old._replace(nonce=77), (1, 2), "end")
    reconciler.abandoned(old)
    assert world.cores[1].take_sent() == []
