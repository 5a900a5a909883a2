"""The small nouns that many parts share: routes, bounded memories, buckets, windows, named states."""
from __future__ import annotations

import importlib
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import node
from node import wire
from node.bucket import Bucket
from node.event import id_of, plain
from node.ids import EventId
from node.memory import Memory, Once
from node.routes import has_come, place
from node.state import State, changed
from node.trees import merge
from node.window import slid
from tests.node.maodv_world import Walkers, World

ME = 5


# ---- routes -------------------------------------------------------------------------------------
@pytest.mark.parametrize("route, sender, at", [
    ((1, ME), 1, 1), ((1, 2, ME, 3), 2, 2), ((1, 2, ME, 3), 1, 0), ((1, 2, ME, 3), 3, 0), ((ME, 1), 1, 0), ((1, 2), 2, 0),
    ((), 1, 0), ((1, 2, ME, 2), 2, 0), ((1, ME, ME), 1, 0), ((1, 1, ME), 1, 0), ((1, ME, 2, ME), 2, 0)])
def test_the_place_in_a_route_to_follow(route, sender, at):
    assert place(route, ME, sender) == at


@pytest.mark.parametrize("route, sender, can", [
    ((1,), 1, True), ((1, 2), 2, True), ((1, 2), 1, False), ((), 1, False), ((ME,), ME, False), ((ME, 2), 2, False),
    ((2, 1, 2), 2, False), ((1, 1, 2), 2, False)])
def test_the_route_by_which_a_message_has_come(route, sender, can):
    assert has_come(route, ME, sender) is can


# ---- memories --------------------------------------------------------------------------------------
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 5))
def test_a_memory_holds_the_latest(keys, most):
    memory, model = Memory(most), []
    for number, key in enumerate(keys):
        forgotten = memory.remember(key, number)
        model = [one for one in model if one[0] != key] + [(key, number)]
        gone = model.pop(0) if len(model) > most else None
        assert forgotten == gone and list(memory.items()) == model


def test_what_has_come_once_is_known_until_it_is_forgotten():
    once = Once(2)
    assert [once.first_time(key) for key in "abab"] == [True, True, False, False]
    assert once.first_time("c") and not once.first_time("b") and once.first_time("a")


# ---- buckets ---------------------------------------------------------------------------------------
def test_a_bucket_gives_so_much_at_once_and_so_much_a_second():
    bucket = Bucket(4, 2.0, 10.0)
    assert [bucket.take(3, 10.0), bucket.take(2, 10.0), bucket.take(1, 10.0)] == [True, False, True]
    assert not bucket.take(2, 10.5) and bucket.take(2, 11.0)
    assert bucket.take(4, 1000.0) and not bucket.take(1, 1000.0), "it holds no more than it did at first"


# ---- windows ---------------------------------------------------------------------------------------
@given(st.lists(st.integers(0, 40), max_size=80), st.integers(2, 9))
def test_a_window_tells_what_has_come(numbers, width):
    mask, window, come = (1 << width) - 1, (0, 0), set()
    for number in numbers:
        if number <= window[0] - width:
            continue
        moved = slid(*window, number, mask)
        assert (moved is None) is (number in come)
        window = moved or window
        come = {one for one in come | {number} if one > window[0] - width}
        assert window[1] == sum(1 << window[0] - one for one in come)


def test_a_number_far_ahead_costs_no_memory():
    assert slid(1, 1, 2**32 - 1, 255) == (2**32 - 1, 1)


# ---- events -----------------------------------------------------------------------------------------
def test_both_kinds_of_event_have_one_id_and_one_plain_form():
    event = wire.Event(9, 1, 7, 0.0, 2, {"kind": "a"}, b"x")
    tagged = wire.TaggedEvent(*event, ((b"12345678", 3),), (9,))
    assert id_of(event) == id_of(tagged) == EventId(9, 1, 7)
    assert plain(event) is event and plain(tagged) == event


# ---- states -----------------------------------------------------------------------------------------
def tables() -> dict[str, dict[State, set[State]]]:
    """All tables of changes in the node, by the name of their module."""
    found = {}
    for module in pkgutil.walk_packages(node.__path__, "node."):
        table = getattr(importlib.import_module(module.name), "CHANGES", None)
        if isinstance(table, dict) and all(isinstance(state, State) for state in table):
            found[module.name] = table
    return found


def test_every_state_stands_in_its_table_and_can_be_reached():
    assert {"node.channel", "node.roaming.device", "node.roaming.question", "node.roaming.session", "node.trees.merge", "node.trees.position", "node.trees.search"} <= set(tables())
    for name, table in tables().items():
        states = list(type(next(iter(table))))
        assert list(table) == states, name
        reached = [states[0]]
        for state in reached:
            reached += [after for after in table[state] if after not in reached]
        assert set(reached) == set(states), name


def test_a_change_that_the_table_lacks_is_a_fault():
    for table in tables().values():
        for before, may in table.items():
            for after in table:
                if after in may or after is before:
                    assert changed(table, before, after) is after
                else:
                    with pytest.raises(AssertionError, match=f"{before} may not become {after}"):
                        changed(table, before, after)


def test_trees_that_break_and_meet_make_every_change_in_their_tables(monkeypatch):
    """So no table allows what never happens, but for a merge that ends because its leader leads no more: only a corrupt state
    brings that (test_maodv.py has one)."""
    parts = ("position", "search", "merge")
    made = {part: set() for part in parts}
    for part, module in (("position", "maodv"), ("search", "search"), ("merge", "merge")):
        def noting(table, before, after, part=part):
            if before is not after:
                made[part].add((before, after))
            return changed(table, before, after)

        monkeypatch.setattr(f"node.trees.{module}.changed", noting)
    for seed in range(6):
        world = World(14, seed, loss=0.15)
        Walkers(world, 100.0, 32.0, (4.0, 12.0), seed)
        world.run(60.0)
    for part in parts:
        table = tables()[f"node.trees.{part}"]
        due = {(before, after) for before, may in table.items() for after in may}
        assert made[part] == due - {(merge.Phase.GATHERING, merge.Phase.IDLE), (merge.Phase.PAUSING, merge.Phase.IDLE)}
