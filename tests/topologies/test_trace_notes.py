"""What a trace leaves open is told by `check`, and stands in the run's manifest and among its report's notes."""

from __future__ import annotations

import json

import pytest

import analysis.run
import topologies
from emulation import runner

FIRST = "$node_(0) set X_ 5\n$node_(0) set Y_ 6\n"


def _scenario(tmp_path, name, text, rest="", duration=30, hosts=""):
    (tmp_path / name).write_text(text)
    (tmp_path / "x.toml").write_text(
        f'[run]\nduration = {duration}\ndeadline = 5\n{hosts}\n[mobility]\ntrace = "{name}"\n{rest}\n')
    return topologies.load(tmp_path / "x.toml")


def _told(*given, **more) -> list[str]:
    return [note for note in topologies.notes(_scenario(*given, **more))
            if note.startswith(("mobility", "hosts"))]


UNIX = "1353301460 10 10 1353301520 70 10\n1353301460 0 0 1353301520 0 0\n"


def test_times_since_1970_are_said_with_what_shifts_them(tmp_path):
    [note] = _told(tmp_path, "x.movements", UNIX)
    assert "no host moves in this run" in note and "use mobility.start = 1353301460 to begin there" in note
    moved = _scenario(tmp_path, "x.movements", UNIX, "start = 1353301460")
    assert topologies.notes(moved) == []
    assert moved.movement().positions(6.0).tolist() == [[16.0, 10.0], [0.0, 0.0]]


@pytest.mark.parametrize(("name", "text", "rest", "told"), [
    ("x.movements", "10 1 1 60 9 9\n", "", "it begins at 10 s, and until then no host moves; use mobility.start = 10"),
    ("x.movements", "0 1 1 5 9 9 60 9 9\n", "", "no host moves after 5 s of it, so for 15 s of the 20 s of the run"),
    ("x.movements", "-5 1 1 60 9 9\n", "", "the first 5 s are before 0"),
    ("x.movements", "0 1 1 60 1 1\n", "", "no host moves in it"),
    ("x.movements", "0 1 1 5 9 9 60 9 9\n", "start = 6", "the last movement ends at 5 s"),
    ("x.movements", "#2D\n0 1 1 10 1 1 10 9 9 60 9 9\n", "", "1 jump, where a host has two places"),
    ("x.movements", "#2D\n0 1 1 0 9 9 60 3 3\n", "", "1 of 1 hosts has two places at 0 s, when the run begins (the first: host 0)"),
    ("x.movements", "#2D\n0 1 1 7 9 9 7 3 3 60 4 4\n", "start = 7", "has two places at 7 s"),
    ("x.movements", "0 1 1 60 9 9\n0 2 2 60 8 8\n0 1 1 60 9 9\n", "", "1 of 3 hosts moves exactly like another host (the first: host 2, like host 0)"),
    ("x.movements", "0 1 1 10 1 9000 60 2 2\n", "", "moves at 900 m/s"),
    ("x.movements", "#2D\n0 0 0 1 80 0 2 80 70 9 20 60 20 30 60\n", "", "hosts cover half of their distance at more than 70 m/s (252 km/h); expected times in s, not min"),
    ("x.movements", "#2D\n0 0.1 0.2 9 0.7 0.2 20 1 0.2\n", "", "at less than 0.0667 m/s (0.24 km/h); expected times in s, not ms, and places in m, not km"),
    ("x.movements", "0 0 0 60 3 18\n", "", "all hosts stay within 6 m; expected places in m, not km"),
    ("x.movements", "0 100 200 60000 160 200\n", "", "no host is faster than 0.001 m/s (host 0)"),
    ("x.movements", "0 0 0 60 90 0\n0 9 0 60 9 9\n0 5000 0 60 5000 9\n", "", "host 2 is out of range of everybody throughout the run"),
    ("x.movements", "0 7.09 50.7 60 7.1 50.71\n", "", "not degrees"),
    ("x.movements", "0\n1\n1\n0\n20\n1\n1\n2\n60\n9\n9\n0\n".replace("20", "10"), "", "1 of 1 hosts is absent at times"),
    ("x.tcl", FIRST + '$ns_ at 50 "$node_(0) setdest 9 9 1"\n', "", "no host moves in this run: the first moves at 50 s"),
    ("x.tcl", FIRST + '$ns_ at 40 "$node_(0) setdest 90 9 0"\n', "", 'zero_speed = "jump"'),
])
def test_what_nobody_may_have_meant_is_said(tmp_path, name, text, rest, told):
    assert any(told in note for note in _told(tmp_path, name, text, rest, duration=20))


def test_fewer_hosts_than_the_trace_has_are_said(tmp_path):
    notes = _told(tmp_path, "x.movements", "0 1 1 60 9 9\n" * 3, hosts="[hosts]\ncount = 2")
    assert "hosts: the first 2 of the 3 hosts of the trace take part; leave hosts.count and names out for all" in notes


def test_names_that_hosts_cannot_have_are_said(tmp_path):
    [note, *_] = _told(tmp_path, "x.tcl", '$node_(a/b) set X_ 0\n$node_(a/b) set Y_ 0\n'
                   '$ns_ at 0 "$node_(a/b) setdest 60 0 1"\n')
    assert '"a/b"' in note and "named 0 to 0" in note


@pytest.mark.parametrize(("name", "text", "rest", "found"), [
    ("x.movements", "0 1 1 60 9 9\n", 'zero_speed = "jump"', "mobility.zero_speed"),
    ("x.tcl", FIRST, "dimensions = 3", "mobility.dimensions"),
    ("x.movements", "0 1 1 60 9 9\n", "dimensions = 4", "mobility.dimensions"),
    ("x.movements", "0 1 2 3 10 4 5 6 20 21 8 9\n", "", "dimensions = 2 or 3"),
    ("x.dat", "1.00 CONN 11 13 up\n", "", 'found "x.dat", which looks like The ONE'),
])
def test_options_and_formats_that_do_not_fit_are_refused(tmp_path, name, text, rest, found):
    with pytest.raises(topologies.ScenarioError, match=found):
        _scenario(tmp_path, name, text, rest)


def test_dimensions_and_jumps_are_played(tmp_path):
    scenario = _scenario(tmp_path, "x.movements", "0 1 2 3 10 4 5 6 20 21 8 9\n", "dimensions = 3", duration=15)
    assert scenario.movement().positions(0.0).tolist() == [[1, 2, 3]]
    legs = '$ns_ at 5 "$node_(0) setdest 50 60 0"\n$ns_ at 20 "$node_(0) setdest 50 80 1"\n'
    scenario = _scenario(tmp_path, "x.tcl", FIRST + legs, 'zero_speed = "jump"', 10)
    assert scenario.movement().positions(7.0).tolist() == [[50, 60]]


@pytest.mark.parametrize(("name", "text", "cure"), [
    ("x.scen", FIRST + '$ns_ at 1 "$node_(0) setdest 5 16 1"\n', "x.ns_params"),
    ("x.movements", "0 1 1 20 9 9\n", "x.params"),
    ("x.txt", "0 1 1 20 9 9\n", "x.params"),
])
def test_a_trace_that_is_too_short_names_the_file_that_declares_more(tmp_path, name, text, cure):
    rest = 'format = "bonnmotion"' if name.endswith("txt") else ""
    with pytest.raises(topologies.ScenarioError, match=f"in {cure} next to it declares more"):
        _scenario(tmp_path, name, text, rest)
    (tmp_path / cure).write_text("set val(duration) 30\nduration=30\n")
    _scenario(tmp_path, name, text, rest)


def test_notes_are_in_the_manifest_and_the_report(tmp_path):
    legs = '$ns_ at 1 "$node_(0) setdest 50 60 0"\n$ns_ at 20 "$node_(0) setdest 5 6 0"\n'
    scenario = _scenario(tmp_path, "x.tcl", FIRST + legs, duration=10)
    told = topologies.notes(scenario)
    path = runner.run(scenario, tmp_path / "run")
    assert told and json.loads((path / "manifest.json").read_text())["notes"] == told
    assert set(told) <= set(analysis.run.read(path).notes)


def test_who_is_never_heard_is_found_among_many_or_said_not_to_be_looked_for(tmp_path):
    """However many hosts there are: 400 for 900 s, of whom the last is far away."""
    lines = "".join(f"0 {10 * k} 0 1000 {10 * k} 50\n" for k in range(399)) + "0 90000 0 1000 90000 9\n"
    trace = [note for note in _told(tmp_path, "x.movements", lines, duration=900) if "range of" in note]
    assert trace == ["mobility.trace: host 399 is out of range of everybody throughout the run (radio.range = 150 m)"]
    fast = "".join(f"0 0 {k} 1000 39000 {k}\n" for k in range(400))
    [note] = _told(tmp_path, "x.movements", fast, "[radio]\nrange = 0.01", duration=900)
    assert "400 hosts, so it would take too long to find out who is ever in range of whom" in note
    link = "[radio]\nrange = 0.01\n" + "".join(f"[[radio.links]]\nfrom = {k}\nto = 399\nloss = 0.5\n" for k in range(399))
    assert any(note.startswith("radio.links: 400 hosts, so it would take too long") for note in topologies.notes(
        _scenario(tmp_path, "x.movements", fast, link, duration=900)))


def test_what_a_run_could_not_keep_is_refused_before_it_begins(tmp_path):
    """The copy of a movement in a run directory says heights or absence, not both."""
    high = FIRST + "$node_(0) set Z_ 3\n" + '$ns_ at 1 "$node_(0) setdest 50 50 1"\n'
    switches = '$ns_ at {} "$g(0) start"\n'
    with pytest.raises(topologies.ScenarioError, match="mobility.trace: found absent hosts in 3D"):
        _scenario(tmp_path, "x.tcl", high + switches.format(9))
    for text, rest in ((high + switches.format(0), ""), (high.replace("Z_ 3", "Z_ 0") + switches.format(9), ""),
                       (high + switches.format(9), "start = 10")):
        assert len(_scenario(tmp_path, "x.tcl", text, rest).names) == 1


def test_no_note_of_a_trace_is_left_out_for_others(tmp_path):
    """Most of them are of one trace alone, and say what nobody can mend: so none may hide another."""
    text = "# node 1\n0\n48.1\n11.5\n0\n50\n48.2\n11.6\n2\n60\n48.2\n11.6\n0\n0\n48.3\n11.5\n1\n40\n48.2\n11.4\n1\n"
    found = runner.notes(_scenario(tmp_path, "x.movements", text.removesuffix("\n"), "start = 20"))
    for told in ("has no line end", "names node 1", "DisasterArea's dialect", "had not left", "1 of 2 hosts ends before",
                 "no host is faster than", "not degrees"):
        assert sum(told in note for note in found) == 1, told
    assert not any("more of this kind" in note for note in found)


@pytest.mark.parametrize(("start", "at", "told"), [(10, 12, True), (10, 9, False), (0, 12, False)])
def test_times_that_could_be_those_of_the_trace_are_said(tmp_path, start, at, told):
    rest = f'start = {start}\n[[faults]]\nat = {at}\nhost = 0\naction = "crash"\n'
    found = _told(tmp_path, "x.movements", "0 1 1 60 119 9\n0 2 2 60 118 8\n", rest)
    assert found == ([f"mobility.start: all times of the scenario are relative to it: at = {at} is {start + at} s of the trace"] if told else [])
