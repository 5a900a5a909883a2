"""Tables that are read as BonnMotion and could be meant otherwise: a header, other columns, contacts, strange line ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mobility
from mobility import TraceError

HOSTS = "0 1 2 10 5 6\n0 3 4 10 7 8\n"


def _notes(tmp_path, text, name="x.movements", **options) -> tuple[str, ...]:
    (tmp_path / name).write_bytes(text.encode())
    return mobility.read(tmp_path / name, **options).notes


@pytest.mark.parametrize(("head", "told"), [
    ("0 600 600", "line 1 has only one place, 600, 600, beyond all others"),
    ("2 10 600", "line 1 has only one place, 10, 600, beyond all others"),
    ("0 0 0", "line 1 has only one place, 0, 0, and all others have more"),
    ("0 900 0 600 0 400", "line 1 could be a header, 0, 900, 0, 600, 0, 400"),
    ("0 10 1 7 2 8", "line 1 could be a header"),
])
def test_a_first_line_that_may_be_a_header_is_said(tmp_path, head, told):
    found = [note for note in _notes(tmp_path, f"{head}\n{HOSTS}") if note.startswith("line 1 ")]
    assert len(found) == 1 and found[0].startswith(told) and "delete the line if it is a header" in found[0]
    (tmp_path / "x.params").write_text("nn=3\n")
    assert not any("header" in note for note in _notes(tmp_path, f"{head}\n{HOSTS}"))


def test_a_header_over_places_alone_is_said(tmp_path):
    assert "beyond all others" in _notes(tmp_path, "0 600 500\n0 1 2\n0 3 4\n")[0]
    assert "line 2 has only one place" in _notes(tmp_path, "#3D\n0 600 500 90\n0 1 2 4 10 5 6 7\n")[0]


@pytest.mark.parametrize("text", [
    HOSTS, "0 5 5\n0 1 2\n0 9 4\n", "0 5 5\n0 9 9 10 8 8\n0 3 3\n", "0 600 600\n0 1 2\n", "0 3 4\n", "0 900 0 600 0 400\n",
    "0 900 0 600 0 400\n0 1 2 10 700 6\n",
])
def test_hosts_are_not_taken_for_a_header(tmp_path, text):
    assert not any("header" in note for note in _notes(tmp_path, text))


# Two walks, (x, y) at 0, 10, .. s; x of both rises, as it must for the file to be read with x as its times.
WALKS = [[(1, 9.5), (5, 7), (9, 8), (11, 2)], [(2, 5.5), (6, 7), (7, 4), (30, 9)]]
ONE = [[(2, 5), (5, 7), (9, 6), (20, 3)]]


@pytest.mark.parametrize("walks", [WALKS, [[(0, 1), *walk] for walk in WALKS], ONE, [walk[:2] for walk in WALKS]])
@pytest.mark.parametrize("place", [1, 2])
def test_columns_in_another_order_are_said(tmp_path, walks, place):
    rows = [[(10 * k, x, y) for k, (x, y) in enumerate(walk)] for walk in walks]
    order = {1: (1, 0, 2), 2: (1, 2, 0)}[place]
    text = "#2D\n" + "\n".join(" ".join(str(row[at]) for row in rows_ for at in order) for rows_ in rows) + "\n"
    found = [note for note in _notes(tmp_path, text) if "reorder the columns" in note]
    assert len(found) == 1 and f"the {['second', 'third'][place - 1]} numbers of all waypoints increase" in found[0]
    right = "#2D\n" + "\n".join(" ".join(map(str, itertools.chain(*row))) for row in rows) + "\n"
    assert not any("reorder" in note for note in _notes(tmp_path, right)), "the right order"


def test_the_order_of_numbers_one_a_line_is_looked_at_too(tmp_path):
    numbers = [(x, y, 10 * k, 0) for k, (x, y) in enumerate(ONE[0])]
    assert any("reorder the columns" in note for note in _notes(tmp_path, "\n".join(map(str, itertools.chain(*numbers))) + "\n"))


def test_the_order_of_columns_of_random_walks_is_not_doubted(tmp_path):
    draw = np.random.default_rng(3)
    for _ in range(100):
        lines = [" ".join(f"{10.5 * k * k} {x:.2f} {y:.2f}" for k, (x, y) in enumerate(draw.uniform(0, 500, (6, 2))))
                 for _ in range(draw.integers(2, 6))]
        assert not any("reorder" in note for note in _notes(tmp_path, "\n".join(lines) + "\n"))


@pytest.mark.parametrize("text", [
    "0 1 0 10 1 0\n0 2 0 20 1 0\n",
    "0 1 0 10 1 0\n0 2 0 20 1 0\n0 1 30 50 2 20\n",
    "0 1 0 10 1 0\n0 1 30 50 2 20\n0 2 60 70 1 0\n",
])
def test_contacts_of_host_0_from_0_s_on_are_contacts(tmp_path, text):
    with pytest.raises(TraceError, match="looks like contact intervals, `i j start end count gap`"):
        _notes(tmp_path, text)


def test_contacts_of_host_0_that_could_be_hosts_are_said(tmp_path):
    for text in ("0 1 0 10 1 0\n", "0 1 0 10 3 0\n0 2 5 20 7 1\n"):
        assert any("could be a contact of host 0" in note for note in _notes(tmp_path, text))
    assert not any("contact" in note for note in _notes(tmp_path, "0 1 20 10 1 0\n0 5.5 2 10 1 1\n"))


SEPARATORS = ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("sign", SEPARATORS)
@pytest.mark.parametrize(("name", "text"), [
    ("x.movements", "{}0 1 2 10 5 6\n0 3 4 10 7 8\n"), ("x.movements", "0 1 2 10 5 6{}20 3 4 30 7 8\n"),
    ("x.movements", "# two hosts{}0 1 2 10 5 6\n0 3 4 10 7 8\n"), ("x.movements", "0\n1{}\n2\n0\n"), ("x.movements", "0\n1\n2\n0\n{}\n"),
    ("x.tcl", "# hosts{}$node_(1) set X_ 4\n$node_(0) set X_ 4\n$node_(0) set Y_ 5\n"),
    ("x.tcl", "$node_(0){}set X_ 4\n$node_(0) set Y_ 5\n"), ("x.tcl", "$node_(0) set X_ 4{}$node_(0) set Y_ 5\n"),
])
def test_what_ends_a_line_for_some_programs_is_said_or_refused(tmp_path, name, text, sign):
    try:
        notes = _notes(tmp_path, text.format(sign))
    except TraceError as error:
        assert error.line, error
    else:
        assert sum("which some programs read as a line end" in note for note in notes) == 1


@pytest.mark.parametrize("sign", SEPARATORS)
@pytest.mark.parametrize(("name", "text"), [("x.params", "# made by hand{}nn=7\n"), ("x.ns_params", "# made by hand{}set val(nn) 7\n")])
def test_what_ends_a_line_for_some_programs_is_refused_in_parameters(tmp_path, name, text, sign):
    (tmp_path / name).write_bytes(text.format(sign).encode())
    trace = {"x.params": ("x.movements", HOSTS), "x.ns_params": ("x.tcl", "$node_(0) set X_ 4\n$node_(0) set Y_ 5\n")}[name]
    with pytest.raises(TraceError, match=f"{name}:1: found .*, which some programs read as a line end"):
        _notes(tmp_path, trace[1], trace[0])
