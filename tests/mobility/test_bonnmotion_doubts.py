"""What a BonnMotion file may mean otherwise than it is read: statuses, comments, blank lines, ids, places of nobody."""

from __future__ import annotations

import numpy as np
import pytest

import mobility


def _read(tmp_path, text, name="x.movements", **options):
    (tmp_path / name).write_text(text)
    return mobility.read(tmp_path / name, **options)


@pytest.mark.parametrize(("waypoints", "lives"), [
    ("50 9 9 1 60 8 8 0", [[50, np.inf]]),  # comes at 50 s
    ("50 9 9 2 60 8 8 0", [[-np.inf, 50]]),  # was there until then
    ("50 9 9 1 55 8 8 2 60 8 8 1", [[50, 55], [60, np.inf]]),
    ("0 9 9 2 50 9 9 2 60 8 8 1", [[60, np.inf]]),
    ("0 9 9 1 50 9 9 0", [[-np.inf, np.inf]]),
    ("0 9 9 2 50 9 9 0", []),
])
def test_the_first_status_of_a_node_tells_what_was_before_it(tmp_path, waypoints, lives):
    movement = _read(tmp_path, "\n".join(f"0 1 1 0 90 2 2 0 {waypoints}".split()) + "\n", "x.movements")
    assert movement.trajectories[1].lives.tolist() == lives
    assert not any("had not left" in note for note in movement.notes)


@pytest.mark.parametrize(("waypoints", "count", "when"), [
    ("0 9 9 0 50 9 9 1 60 8 8 0", 1, "host 1 at 50 s"), ("50 9 9 1 60 8 8 1 70 8 8 1", 2, "host 1 at 60 s"),
    ("0 9 9 2 50 9 9 1 60 8 8 1", 1, "host 1 at 60 s"),
])
def test_hosts_that_are_back_without_having_left_are_said(tmp_path, waypoints, count, when):
    movement = _read(tmp_path, "\n".join(f"0 1 1 0 90 2 2 0 {waypoints}".split()) + "\n", "x.movements")
    assert [note for note in movement.notes if f"had not left, {count} in all (the first: {when})" in note]


def test_statuses_that_stand_as_heights_are_said(tmp_path):
    text = "0 1 1 0 9 2 2 {}\n0 3 3 0 9 5 5 1\n"
    [note] = _read(tmp_path, text.format(2), "x.movements", dimensions=3).notes
    assert "all heights are 0, 1 or 2, like a status" in note
    for heights in (text.format(2.5), "0 1 1 0 9 2 2 0\n", "#3D\n" + text.format(2)):
        assert not _read(tmp_path, heights, "x.movements", dimensions=3).notes


@pytest.mark.parametrize("blank", ["\n", "  \n", "\t\r\n"])
def test_blank_lines_between_those_of_nodes_are_said(tmp_path, blank):
    rows = "0 1 1 9 2 2\n", "0 3 3 9 2 2\n"
    [note] = _read(tmp_path, rows[0] + blank + rows[1], "x.movements").notes
    assert "1 blank line between those of nodes (line 2) is ignored" in note
    assert not _read(tmp_path, blank + "".join(rows) + blank, "x.movements").notes
    (tmp_path / "x.params").write_text("nn=2\n")
    assert not _read(tmp_path, rows[0] + blank + rows[1], "x.movements").notes


@pytest.mark.parametrize("comment", ["# duration=600", "#nn = 3", "## J: 3D"])
def test_comments_that_say_what_params_should_are_told_not_to_be_read(tmp_path, comment):
    movement = _read(tmp_path, f"{comment}\n0 1 1 30 9 9\n", "x.movements")
    [note] = movement.notes
    assert "the comment in line 1 about " in note and movement.duration == 30


@pytest.mark.parametrize(("comments", "told"), [
    (("# node 1", "# node 2"), "the comment in line 1 names node 1, but the host after it is 0"),
    (("# Node 0", "#node: 2"), "the comment in line 3 names node 2, but the host after it is 1"),
    (("# id=7", "# id=3"), "line 1 names id 7"), (("## host #5", "# host #6"), "line 1 names host 5"),
    (("# node 0", "# node 1"), None), (("# 17 nodes", "# nodes: 2"), None), (("# node 1.5 kg", "# made by node"), None),
])
def test_comments_that_number_hosts_in_another_way_are_said(tmp_path, comments, told):
    movement = _read(tmp_path, f"{comments[0]}\n0 1 1 30 9 9\n{comments[1]}\n0 2 2 30 5 5\n", "x.movements")
    assert [told in note for note in movement.notes] == ([True] if told else [])


@pytest.mark.parametrize("first", [0, 1])
def test_ids_where_x_stands_are_told(tmp_path, first):
    rows = [f"0 {first + host} {5 * host} {20 + host} 3 3" for host in range(3)]
    assert any(f"count {first}, {first + 1}, {first + 2}, .., as ids do" in note for note in _read(tmp_path, "\n".join(rows) + "\n", "x.movements").notes)
    (tmp_path / "x.params").write_text("nn=3\n")
    assert not any("as ids do" in note for note in _read(tmp_path, "\n".join(rows) + "\n", "x.movements").notes)
    (tmp_path / "x.params").unlink()
    for others in (rows[:2], [*rows[:2], "0 7 7 9 1 1"]):
        assert not any("as ids do" in note for note in _read(tmp_path, "\n".join(others) + "\n", "x.movements").notes)


@pytest.mark.parametrize(("between", "second", "hosts", "told"), [
    ("\n", 13, 1, True), ("# node 1\n", 13, 1, True), ("", 13, 1, False), ("# by hand\n", 13, 1, False),
    ("\n", 0, 2, False), ("# node 1\n", 0, 2, False),
])
def test_what_may_part_nodes_of_disaster_area_and_does_not_is_said(tmp_path, between, second, hosts, told):
    text = "# node 0\n0\n1\n1\n0\n12\n6\n6\n0\n" + between + f"{second}\n2\n2\n0\n20\n3\n3\n0\n\n"
    movement = _read(tmp_path, text, "x.movements")
    assert len(movement) == hosts
    assert [note for note in movement.notes if "no new node begins there" in note or "speaks of" in note] == (
        ["found a blank line or a node's comment where no time decreases (line 10, 1 in all): no new node begins there"] if told else [])
    (tmp_path / "x.params").write_text(f"nn={hosts}\n")
    assert not any("no new node" in note for note in _read(tmp_path, text, "x.movements").notes)


def test_places_that_may_mean_absence_are_said(tmp_path):
    for text, told in (("0 5 5 10 -1 -1 20 5 5\n0 6 6 20 8 8\n", ["1 of 5 places is -1, -1 and no others are below 0"]),
                       ("0 -1 -1 10 -1 -1 20 5 5\n0 6 6 20 8 8\n", ["2 of 5 places"]),
                       ("0 5 5 10 -1 -1 20 5 -5\n0 6 6 20 8 8\n", []), ("0 5 5 10 -1 1 20 5 5\n0 6 6 20 8 8\n", [])):
        notes = _read(tmp_path, text, "x.movements").notes
        assert len(notes) == len(told) and all(map(str.startswith, notes, told))


@pytest.mark.parametrize("comment", ["#0 7 7 9 8 8", "# 0 7 7", "## 0.0 7.5 7 9 -8 8"])
def test_lines_of_nodes_that_are_comments_are_said(tmp_path, comment):
    rows = "0 1 1 9 2 2\n", "0 3 3 9 2 2\n"
    movement = _read(tmp_path, rows[0] + comment + "\n" + rows[1])
    [note] = movement.notes
    assert "1 comment of numbers only (line 2)" in note and len(movement) == 2
    assert not _read(tmp_path, "".join(rows) + comment + "\n").notes
    assert not _read(tmp_path, "# 2024 05 01\n# 2 600 600\n" + "".join(rows)).notes
    assert any("(line 1)" in note for note in _read(tmp_path, "# 0 7 7 9 8 8\n" + "".join(rows)).notes)
    assert not _read(tmp_path, rows[0] + "# 3 hosts\n# 7\n" + rows[1]).notes
