"""What an ns-2 or BonnMotion file leaves open is read right, said in a note, or refused with its line."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import mobility
from mobility import TraceError

FIRST = "$node_(0) set X_ 5\n$node_(0) set Y_ 6\n"


def _read(tmp_path, text, name="x.tcl", **options):
    path = tmp_path / name
    path.write_text(text)
    return mobility.read(path, **options)


def _refused(tmp_path, text, name="x.tcl", **options) -> str:
    with pytest.raises(TraceError) as caught:
        _read(tmp_path, text, name, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{tmp_path}/", "")


# ---- ns-2: any blanks ------------------------------------------------------------------------------------
@pytest.mark.parametrize("blank", [" ", "\t", "   ", " \t ", "\x0b", "\xa0"])
def test_any_blanks_between_words(tmp_path, blank):
    lines = ["$node_(0) set X_ 83.4", "$node_(0) set Y_ 3", '$ns_ at 2.0 "$node_(0) setdest 83.4 13 2"']
    movement = _read(tmp_path, "\n".join(line.replace(" ", blank) for line in lines))
    assert movement.positions(0.0).tolist() == [[83.4, 3.0]]
    assert movement.positions(4.5).tolist() == [[83.4, 8.0]]


@pytest.mark.parametrize("text", [
    "$node_(0) set X_ 1; $node_(0) set Y_ 2",
    "$node_(0) set X_ 1 ;# east\n  $node_(0) set Y_ 2  # north",
    "$node_(0) set X_ \\\n1\n$node_(0) set Y_ 2\n",
    "# a comment goes on \\\n$node_(0) set X_ 9\n$node_(0) set X_ 1;$node_(0) set Y_ 2;",
])
def test_several_commands_or_several_lines(tmp_path, text):
    assert _read(tmp_path, text).positions(0.0).tolist() == [[1.0, 2.0]]


def test_a_comment_that_goes_on_is_said(tmp_path):
    [note] = _read(tmp_path, FIRST + "# from C:\\traces\\\n$node_(0) set X_ 9\n$node_(0) set Y_ 6\n").notes
    assert note == "1 line is not movement and ignored: a comment that continues after a backslash, as in Tcl (line 3)"
    assert not _read(tmp_path, FIRST + "# two\n# comments\n\n# and a third\n$node_(0) set Y_ \\\n6\n").notes


@pytest.mark.parametrize("line", [
    '$ns_ at 1 "$node_(0) setdest 1 1 1{}x"', '$ns_ at 1 "$node_(0) setdest 1 1 1"{}x', '$ns_ at 1 "$g(1) start"{}x',
])
def test_a_line_of_blanks_is_refused_in_time_that_grows_with_its_length(tmp_path, line):
    assert ":1: " in _refused(tmp_path, line.format(" " * 100_000))  # tries of every split of the blanks would take hours


def test_several_commands_at_one_time(tmp_path):
    movement = _read(tmp_path, '$ns_ at 1 "$node_(0) setdest 3 0 1; $node_(1) setdest 0 4 1"')
    assert movement.positions(9.0).tolist() == [[3.0, 0.0], [0.0, 4.0]]


# ---- ns-2: Tcl -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("line", [
    "for {set i 1} {$i < 10} {incr i} { $node_($i) set X_ 400.0 }",
    "for {set i 1} {$i < 10} {incr i} {\n  $node_($i) set X_ 400.0\n}",
    "foreach i {1 2 3} { $node_($i) set X_ 400.0 }",
    "while {$i < 3} {",
    "if {1} { $node_(1) set X_ 4 }",
    "proc place {} {",
    "}",
    "eval $node_(1) set X_ 4",
    "source others.tcl",
    "incr i",
    "$node_(1) set X_ [expr $i*40]",
    "$node_(1) set X_ $x",
    "$node_($i) set X_ 40",
    "set n $node_(1)",
    "[lindex $nodes 1] set X_ 4",
    "$sink set X_ 5",
    "$::node_(0) set X_ 5",
    "${node_(0)} set X_ 5",
    "$node_(0) set X_ 5 $node_(0) set Y_ 6",
    "$node_(0) set x_ 5",
    "$node_(0) SET X_ 5",
    "$node_(0) move 4 5",
    "$node_(0) random-motion 1",
    '$ns_ at 1 "$node_($i) setdest 4 5 6"',
    '$ns_ at 1 "$::node_(0) setdest 4 5 6"',
    '$ns_ at $t "$node_(0) setdest 4 5 6"',
    '$ns_ at 1 "$node_(0) setdest [expr 2*2] 5 6"',
    '$ns_ at 1 "$node_(0) setdest 4 5 $speed"',
    '$ns_ at 1 "for {set i 0} {$i < 3} {incr i} {$node_(0) setdest 4 5 6}"',
    '$ns_ at 1 "move_all"',
    '$ns_ at 1 "$node_(0) setdest 4 5 6',
    "$ns_ at 1 {\n$node_(0) setdest 4 5 6\n}",
    '$ns_ after 1 "$node_(0) setdest 4 5 6"',
    "some words",
])
def test_tcl_that_may_move_nodes_is_refused_with_its_line(tmp_path, line):
    assert _refused(tmp_path, f"# by a script\n{FIRST}{line}\n").startswith("x.tcl:4: ")


@pytest.mark.parametrize("line", [
    "set god_ [God instance]",
    "$god_ set-dist 0 1 1",
    '$ns_ at 3 "$god_ set-dist 0 1 1"',
    "set node_(0) [$ns_ node]",
    "$node_(0) random-motion 0",
    "$ns_ initial_node_pos $node_(0) 20",
    "  # $ns_ at 3 \"$node_(0) setdest 1 1 1\"",
    "\t",
])
def test_what_is_usual_beside_movement_takes_no_note(tmp_path, line):
    movement = _read(tmp_path, FIRST + line + "\n")
    assert (movement.positions(9.0).tolist(), movement.notes) == ([[5.0, 6.0]], ())


@pytest.mark.parametrize("line", [
    "set val(x) 500", "set opt(stop) 100", 'puts "hello"', '$ns_ at 3 "$cbr_(0) start"',
    '$ns_ at 9 "$node_(0) reset";', "set udp0 [new Agent/UDP]", "$ns_ attach-agent $node_(0) $udp0",
    "Phy/WirelessPhy set RXThresh_ 3e-10", "$udp0 set fid_ 2", "$ns_ run",
])
def test_what_is_no_movement_is_passed_over_by_name(tmp_path, line):
    movement = _read(tmp_path, FIRST + line + "\n")
    [note] = movement.notes
    assert "not movement and ignored" in note and "line 3" in note
    assert movement.positions(9.0).tolist() == [[5.0, 6.0]]


# ---- ns-2: which host ------------------------------------------------------------------------------------
@pytest.mark.parametrize("other", ["$bs_(0)", "$node_(00)", "$n0", "$node_0"])
def test_two_names_for_one_host_are_refused(tmp_path, other):
    told = _refused(tmp_path, f"{FIRST}{other} set X_ 900\n")
    assert told.startswith("x.tcl:3: ") and other in told and "$node_(0) (line 1)" in told


def test_two_arrays_of_hosts_are_said(tmp_path):
    movement = _read(tmp_path, f"{FIRST}$bs_(7) set X_ 900\n$bs_(7) set Y_ 0\n")
    assert movement.names == ["0", "7"]
    assert movement.notes == ("hosts are written as $node_ (1) and $bs_ (1): all are used as hosts, by their ids",)


def test_hosts_without_a_place_are_said(tmp_path):
    movement = _read(tmp_path, FIRST + '$ns_ at 1 "$node_(1) setdest 4 5 6"\n$node_(2) set X_ 4\n')
    assert movement.notes == ("2 hosts (1, 2) without X_ or Y_: 0 is used, as in ns-2",)


def test_a_second_place_is_said(tmp_path):
    [note] = _read(tmp_path, FIRST + "$node_(0) set X_ 7\n").notes
    assert "placed a second time" in note


# ---- ns-2: CORE, SUMO, DisasterArea ----------------------------------------------------------------------
CORE = "# nodes: 1, max time: {}, max x: 600.00, max y: 600.00\n" + FIRST + '$ns_ at 1 "$node_(0) setdest 5 16 1"\n'


def test_the_time_in_cores_header_is_the_end(tmp_path):
    assert _read(tmp_path, CORE.format("27.000000")).duration == 27.0
    assert _read(tmp_path, CORE.format("2.7e1")).duration == 27.0
    assert 'found "long"; expected a number' in _refused(tmp_path, CORE.format("long"))
    shorter = _read(tmp_path, CORE.format("4"))
    assert (shorter.duration, len(shorter.notes)) == (11.0, 1)
    assert "says 4 s" in shorter.notes[0]
    [note] = _read(tmp_path, CORE.format("27").replace("nodes: 1", "nodes: 3")).notes
    assert "3 nodes, but the file has 1" in note


def test_speed_zero_stops_or_jumps(tmp_path):
    text = FIRST + '$ns_ at 1 "$node_(0) setdest 50 60 0"\n$ns_ at 2 "$node_(0) setdest 50 61 0"\n'
    stopped = _read(tmp_path, text)
    assert stopped.positions(3.0).tolist() == [[5.0, 6.0]]
    [note] = stopped.notes
    assert note.startswith("2 of 2 setdest have speed 0") and 'zero_speed = "jump"' in note
    jumping = _read(tmp_path, text, zero_speed="jump")
    assert [jumping.positions(t).tolist()[0] for t in (0.5, 1.5, 2.5)] == [[5, 6], [50, 60], [50, 61]]
    assert (jumping.notes, jumping.duration) == ((), 2.0)


def test_speed_zero_on_the_spot_is_a_pause_without_a_note(tmp_path):
    assert _read(tmp_path, FIRST + '$ns_ at 1 "$node_(0) setdest 5.0000001 6 0"\n').notes == ()


def test_a_jump_cuts_a_leg_short_and_a_leg_begins_where_it_ended(tmp_path):
    movement = _read(tmp_path, FIRST + '$ns_ at 0 "$node_(0) setdest 5 106 1"\n$ns_ at 4 "$node_(0) setdest 50 6 0"\n'
                     '$ns_ at 6 "$node_(0) setdest 50 10 2"\n', zero_speed="jump")
    assert [movement.positions(t).tolist()[0] for t in (3, 5, 7, 9)] == [[5, 9], [50, 6], [50, 8], [50, 10]]


CARS = """$node_(0) set X_ 0
$node_(0) set Y_ 0
$ns_ at 0 "$node_(0) setdest 0 0 1"
$ns_ at 1 "$node_(0) setdest 20 0 2"
$node_(1) set X_ 20
$node_(1) set Y_ 0
$ns_ at 30 "$node_(1) setdest 20 0 1"
$ns_ at 31 "$node_(1) setdest 0 0 1"
"""
ACTIVITY = '$ns_ at 0.0 "$g(0) start"; # SUMO-ID: a\n$ns_ at 12.0 "$g(0) stop"; # SUMO-ID: a\n' \
           '$ns_ at 30.0 "$g(1) start"; # SUMO-ID: b\n$ns_ at 50 "$g(1) stop"; # SUMO-ID: b\n'


def test_cars_that_come_and_leave_are_there_when_the_activity_file_says(tmp_path):
    (tmp_path / "x.ns2activity.tcl").write_text(ACTIVITY)
    movement = _read(tmp_path, CARS, "x.ns2mobility.tcl")
    assert [movement.present(t).tolist() for t in (0, 11.9, 12, 29.9, 30, 49, 50)] == [
        [True, False], [True, False], [False, False], [False, False], [False, True], [False, True], [False, False]]
    assert len(movement.contacts(1e3, 0.0, 60.0)) == 0
    assert "x.ns2activity.tcl" in movement.notes[0]
    whole = _read(tmp_path, CARS + ACTIVITY, "x.tcl")  # both in one file
    assert [t.lives.tolist() for t in whole.trajectories] == [t.lives.tolist() for t in movement.trajectories]


@pytest.mark.parametrize("name", ["x.ns2mobility.tcl", "cars.tcl"])
def test_cars_without_an_activity_file_are_said(tmp_path, name):
    movement = _read(tmp_path, CARS, name)
    assert movement.present(20.0).all()
    assert len(movement.notes) == 1 and "activity" in movement.notes[0] and "1 host (1)" in movement.notes[0]


@pytest.mark.parametrize(("text", "problem"), [
    (ACTIVITY + '$ns_ at 60 "$g(2) start"\n', ":5: found host 2, which x.ns2mobility.tcl does not move"),
    (ACTIVITY.replace("stop", "start", 1), ":2: host 0 starts twice in a row"),
    (ACTIVITY.split("\n", 1)[1], ":1: host 0 stops twice in a row"),
    ("\n".join(ACTIVITY.split("\n")[:2]), ": found no start of host 1"),
    (ACTIVITY + "$node_(0) set X_ 4\n", ":5: found a line that is not of an activity file"),
])
def test_activity_of_another_run_is_refused(tmp_path, text, problem):
    (tmp_path / "x.ns2activity.tcl").write_text(text)
    assert f"x.ns2activity.tcl{problem}" in _refused(tmp_path, CARS, "x.ns2mobility.tcl")


@pytest.mark.parametrize(("name", "beside"), [
    ("Mobility.tcl", "Activity.tcl"), ("CARS.MOBILITY.TCL", "CARS.ACTIVITY.TCL"), ("x.ns2Mobility.tcl.gz", "x.ns2Activity.tcl"),
    ("Mobility.tcl", "activity.tcl"), ("mobility.tcl", "Activity.tcl.gz"),
])
def test_the_activity_file_is_found_however_its_name_is_written(tmp_path, name, beside):
    mobility.textfile.write_text(tmp_path / beside, ACTIVITY)
    mobility.textfile.write_text(tmp_path / name, CARS)
    movement = mobility.read(tmp_path / name)
    assert movement.present(20.0).tolist() == [False, False] and beside in movement.notes[0]


def test_two_activity_files_beside_one_movement_are_refused(tmp_path):
    for name in ("x.ns2activity.tcl", "x.ns2activity.tcl.gz"):
        mobility.textfile.write_text(tmp_path / name, ACTIVITY)
    assert "x.ns2activity.tcl and x.ns2activity.tcl.gz next to it" in _refused(tmp_path, CARS, "x.ns2mobility.tcl")


def test_activity_that_is_not_of_the_movement_is_said(tmp_path):
    beside = tmp_path / "x.ns2activity.tcl"
    beside.write_text(ACTIVITY.replace("30.0", "35.0"))
    notes = _read(tmp_path, CARS, "x.ns2mobility.tcl").notes
    assert any("2 setdest move a host while it is absent (the first: host 1 at 30 s)" in note for note in notes)
    beside.write_text(ACTIVITY)
    assert len(_read(tmp_path, CARS, "x.ns2mobility.tcl").notes) == 1
    notes = _read(tmp_path, CARS + ACTIVITY, "x.ns2mobility.tcl").notes
    assert len(notes) == 2 and notes[1] == "x.ns2activity.tcl next to it is ignored, because the file itself has such lines"


def test_status_of_disaster_area_in_ns2_is_said(tmp_path):
    [note] = _read(tmp_path, FIRST + '$ns_ at 1 "$node_(0) setdest 5 9 1 2.0"\n').notes
    assert "all hosts stay" in note


@pytest.mark.parametrize(("params", "problem"), [
    ("set val(nn) 4\n", "found 1 nodes, but 4 in line 1 of x.ns_params"),
    ("set val(nn) 1\nset val(duration) -5\n", ":2: found a duration of -5"),
    ("set val(duration) 5\nset opt(stop) 50\n", ":2: found a second duration, 50 after 5"),
    ("set val(x) 5\nset val(x) 50\n", ":2: found a second x, 50 after 5"),
    ("set val(nn) 1\nset val(nn) 2\n", ":2: found a second number of nodes, 2 after 1"),
    ("set val(duration) [expr 10*3]\n", ":1: "), ("set val(duration) $t\n", ":1: "), ("set val(nn) [expr 1+1]\n", ":1: "),
    ("set val(duration) 1 000\n", ":1: "), ("set val(duration) 30,5\n", ":1: "), ("set val(duration) 30s\n", ":1: "),
    ("set val(duration)\n", ":1: "), ('set val(duration) "30 s"\n', ":1: "), ("set val(nn) nan\n", ":1: "),
])
def test_ns_params_that_do_not_fit(tmp_path, params, problem):
    (tmp_path / "x.ns_params").write_text(params)
    assert problem in _refused(tmp_path, FIRST, "x.ns_movements")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("params", [
    'set val(duration) "30"', "set val(duration) {30}", "set val(duration) 30;", "set val(duration) 30 ;# s", "set opt(stop)\t30.0",
    "# length\n\nset duration 30 # s", "set val(nn) 1; set val(duration) 3e1",
])
def test_ns_params_as_tcl_writes_numbers(tmp_path, params, packed):
    (tmp_path / f"x.ns_params{'.gz' if packed else ''}").write_bytes(gzip.compress(params.encode()) if packed else params.encode())
    movement = _read(tmp_path, FIRST, "x.ns_movements")
    assert movement.duration == 30 and movement.notes == ()


@pytest.mark.parametrize(("params", "told"), [
    ("set sim_time 30\n", "1 line of x.ns_params next to it is ignored (line 1)"),
    ("set val(duration) 30\nduration=60\nnn=3\n", "2 lines of x.ns_params next to it are ignored (line 2)"),
    ("set stop 30\n", "ignored (line 1)"), ("words\n", "ignored (line 1)"), ("SET VAL(DURATION) 30\n", "ignored (line 1)"),
    ("# nothing\n", "x.ns_params next to it is ignored, because it has no line"), ("", "x.ns_params next to it is ignored, because it has no line"),
    ("set val(x) 4\nset val(duration) 9\n", "hosts reach x = 5 m, but x.ns_params next to it says 4"),
    ("set val(y) 4\nset val(x) 40\nset val(duration) 9\n", "hosts reach y = 6 m, but x.ns_params next to it says 4"),
])
def test_ns_params_of_which_something_is_not_read(tmp_path, params, told):
    (tmp_path / "x.ns_params").write_text(params)
    [note] = _read(tmp_path, FIRST, "x.ns_movements").notes
    assert told in note


@pytest.mark.parametrize(("name", "beside"), [
    ("x.tcl", ("x.tcl.ns_params", "x.ns_params")), ("x.ns_movements", ("x.ns_params", "x.ns_params.gz")),
    ("x.movements", ("x.params", "x.params.gz")), ("x.txt", ("x.txt.params", "x.params")),
])
def test_two_files_of_parameters_beside_one_trace_are_refused(tmp_path, name, beside):
    for file in beside:
        (tmp_path / file).write_text("set val(duration) 30\nduration=30\n")
    text, options = (FIRST, {}) if "ns" in beside[0] else ("0 1 1 9 2 2\n", {"format": "bonnmotion"})
    assert f"{beside[0]} and {beside[1]} next to it" in _refused(tmp_path, text, name, **options)


@pytest.mark.parametrize(("text", "told"), [
    ("# nodes: 1, max time: 60.0, max x: 4, max y: 90\n" + FIRST, "hosts reach x = 5 m, but the header says max x: 4"),
    ("# nodes: 1, pause: 2.00, max speed: 5.00, max x: 50.00, max y: 5.00\n" + FIRST, "hosts reach y = 6 m, but the header says max y: 5"),
    (FIRST + '$ns_ at 1 "$node_(0) setdest 9 6 5"\n$ns_ at 1.0 "$node_(0) setdest 5 9 5"\n', "1 host (0) with two setdest at one instant: the later line"),
])
def test_what_an_ns_2_file_says_in_vain_is_told(tmp_path, text, told):
    [note] = _read(tmp_path, text).notes
    assert told in note


def test_bonnmotions_own_params_beside_an_ns_2_file_are_told_not_to_be_read(tmp_path):
    (tmp_path / "x.params").write_text("nn=3\nduration=90\n")
    [note] = _read(tmp_path, FIRST, "x.ns_movements").notes
    assert "x.params next to it is ignored, because it is for a BonnMotion file; use x.ns_params for this one" in note
    (tmp_path / "x.ns_params").write_text("set val(duration) 90\n")
    assert _read(tmp_path, FIRST, "x.ns_movements").notes == ()


@pytest.mark.parametrize("unit", ["degrees", "km"])
def test_legs_that_are_over_at_once_are_told(tmp_path, unit):
    step = 0.001 if unit == "degrees" else 0.09
    legs = "".join(f'$ns_ at {60 * k} "$node_(0) setdest {5 + step * (k + 1)} 6 1.5"\n' for k in range(5))
    [note] = [note for note in _read(tmp_path, FIRST + legs).notes if "every leg takes at most" in note]
    assert "not km or degrees" in note
    meters = "".join(f'$ns_ at {60 * k} "$node_(0) setdest {5 + 90 * (k + 1)} 6 1.5"\n' for k in range(5))
    assert _read(tmp_path, FIRST + meters).notes == ()


# ---- BonnMotion ------------------------------------------------------------------------------------------
EITHER = "0 1 2 3 10 4 5 6 20 21 8 9\n"


def test_what_may_be_2d_or_3d_is_asked(tmp_path):
    told = _refused(tmp_path, EITHER, "x.movements")
    assert "2D" in told and "3D" in told and "dimensions = 2 or 3" in told
    assert _read(tmp_path, EITHER, "x.movements", dimensions=2).positions(0.0).tolist() == [[1, 2]]
    assert _read(tmp_path, EITHER, "x.movements", dimensions=3).positions(0.0).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("head", ["#3D", "# 3D", "#3d", " #  3 d", "# 3D: t x y z", "#2D", "# 2d"])
def test_the_head_tells(tmp_path, head):
    movement = _read(tmp_path, f"{head}\n{EITHER}", "x.movements")
    assert movement.dimensions == int(head.strip(" #")[0])


@pytest.mark.parametrize("line", ["J=3D", "J = 3d", "j=3D ", "J=2D", "J = 2d", " J=2 D"])
def test_the_params_tell(tmp_path, line):
    (tmp_path / "x.params").write_text(f"model=Static\n{line}\n")
    assert _read(tmp_path, EITHER, "x.movements").dimensions == int(line.split("=")[1].strip()[0])


@pytest.mark.parametrize(("text", "params", "options", "problem"), [
    ("#3D\n" + EITHER, "J=2D", {}, "found #3D and J=2D in x.params"),
    ("#3D\n" + EITHER, "", {"dimensions": 2}, "found #3D and dimensions = 2"),
    (EITHER, "J=3", {}, "x.params: found J=3; expected 2D or 3D"),
    ("0 1 2\n", "nn=5", {}, "1 nodes, but nn=5 in x.params"),
    ("0 1 2\n", "nn = 0x1", {}, "x.params: found nn=0x1; expected the number of nodes"),
    ("0 1 2\n", "duration=10\nduration=20", {}, "x.params:2: found duration a second time"),
    ("0 1 2\n", "duration=-1", {}, "x.params: found duration=-1"),
    ("0 1_0 2\n", "", {}, ':1: found "1_0"; expected numbers'),
    ("0 \u0663 2\n", "", {}, ":1: "),
    ("0\n1\n2\n0\n", "J=3D", {}, "expected 2D, `t x y status`"),
])
def test_contradictions_and_strange_numbers_are_refused(tmp_path, text, params, options, problem):
    if params:
        (tmp_path / "x.params").write_text(params + "\n")
    assert problem in _refused(tmp_path, text, "x.movements", **options)


def test_a_second_place_at_one_time_may_be_another_node_of_disaster_area(tmp_path):
    still_then_moving = "0\n1\n2\n0\n0\n3\n3\n0\n10\n4\n4\n0\n"  # of two nodes, or of one that jumps
    assert ":5: found a second place at 0 s" in _refused(tmp_path, still_then_moving, "x.movements")
    assert len(_read(tmp_path, still_then_moving.replace("3\n3\n", "1\n2\n"), "x.movements")) == 1
    (tmp_path / "x.params").write_text("nn=2\n")
    assert "1 nodes, but nn=2" in _refused(tmp_path, still_then_moving, "x.movements")
    (tmp_path / "x.params").write_text("nn=1\n")
    assert len(_read(tmp_path, still_then_moving, "x.movements")) == 1


@pytest.mark.parametrize("beside", ["x.txt.params", "x.params"])
def test_params_beside_a_file_of_another_name(tmp_path, beside):
    (tmp_path / beside).write_text("duration=77\n")
    assert _read(tmp_path, "0 1 2\n", "x.txt", format="bonnmotion").duration == 77.0


@pytest.mark.parametrize(("params", "told"), [
    ("x=200.0\ny=200\n", ["hosts reach x = 3000 m, but x.params next to it says x=200; check that both are from one run"]),
    ("x=3000\ny=2\nduration=20\n", ["hosts reach y = 3 m, but x.params next to it says y=2; check that both are from one run"]),
    ("duration: 12\nnn: 5\n", ["x.params next to it is ignored, because it has no line nn=, duration= or J="]),
    ("x=3000\ny=3\nnn=1\n", []), ("duration=19\n", []),
    ("duration=12\n", ["the last waypoint is at 20 s, but x.params next to it says duration=12; check that both are from one run"]),
    ("x=wide\n", ["x=wide in x.params next to it is not a length in m, so places are not compared with it"]),
])
def test_params_that_may_be_of_another_run_are_said(tmp_path, params, told):
    (tmp_path / "x.params").write_text(params)
    assert list(_read(tmp_path, "0 1 2 20 3000 3\n", "x.movements").notes) == told


def test_params_are_found_behind_the_whole_name_too(tmp_path):
    (tmp_path / "x.movements.params").write_text("nn=5\n")
    assert "1 nodes, but nn=5 in x.movements.params" in _refused(tmp_path, "0 1 2 20 3 3\n", "x.movements")


@pytest.mark.parametrize(("name", "beside"), [
    ("X.MOVEMENTS", "X.PARAMS"), ("X.movements", "x.params"), ("x.movements", "x.Params"), ("x.Movements", "x.params"), ("X.TXT", "X.PARAMS"),
])
def test_capitals_in_names_of_params_are_no_matter(tmp_path, name, beside):
    (tmp_path / beside).write_text("nn=5\n")
    assert f"1 nodes, but nn=5 in {beside}" in _refused(tmp_path, "0 1 2 20 3 3\n", name, format="bonnmotion")


def test_capitals_tell_apart_what_is_there_in_both(tmp_path):
    for name, duration in (("x.params", 30), ("X.params", 40)):
        (tmp_path / name).write_text(f"duration={duration}\n")
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("capitals do not count in names on this file system")
    assert [_read(tmp_path, "0 1 2\n", name).duration for name in ("x.movements", "X.movements")] == [30.0, 40.0]
    (tmp_path / "X.params").unlink()
    assert [_read(tmp_path, "0 1 2\n", name).duration for name in ("x.movements", "X.movements")] == [30.0, 0.0]


@pytest.mark.parametrize(("name", "text", "beside", "area"), [
    ("x.movements", "0 -500 1 20 3 3\n", "x.params", "x=100\nnn=1\n"),
    ("x.tcl", FIRST.replace("5", "-500"), "x.ns_params", "set val(x) 100\nset val(nn) 1\n"),
    ("x.tcl", "# nodes: 1, max x: 100.0, max y: 100.0\n" + FIRST.replace("5", "-500"), None, ""),
])
def test_places_below_0_lie_outside_of_the_area_too(tmp_path, name, text, beside, area):
    if beside:
        (tmp_path / beside).write_text(area)
    [note] = _read(tmp_path, text, name).notes
    assert "hosts reach x = -500 m" in note
    assert not _read(tmp_path, text.replace("-500", "-10"), name).notes  # groups and maps may go a little beyond it


def test_hosts_that_come_late_or_end_early_are_said(tmp_path):
    notes = _read(tmp_path, "0 1 1 90 5 5\n20 1 1 90 5 5\n0 1 1 30 5 5\n0 4 4\n", "x.movements").notes
    assert len(notes) == 2
    assert "1 of 4 hosts begins later than the first (host 1 at 20 s)" in notes[0]
    assert "1 of 4 hosts ends before the last (host 2 at 30 s)" in notes[1]


def test_notes_stay_with_a_part(tmp_path):
    movement = _read(tmp_path, FIRST + "set val(x) 500\n")
    assert movement.first(1).window(0.0, 5.0).notes == movement.notes != ()
    assert np.isfinite(movement.first(1).window(0.0, 5.0).positions(1.0)).all()


# ---- ns-2: what it says and does not have, and four numbers ------------------------------------------------------
@pytest.mark.parametrize(("line", "told"), [
    ("set node_(4) [$ns_ node]", "1 host (4) made (line 3) but neither placed nor moved"),
    ("set n5 [ $ns node ]", "1 host (5) made (line 3)"),
    ("set sink [$ns node]", "1 host ($sink) made (line 3)"),
    ("set W(0) [$ns_ node]", "1 host ($W(0)) made (line 3)"),
    ("create-god 5", "`create-god 5` (line 3) says 5 nodes, but the file has 1"),
    ("set val(nn) 2", "`set val(nn) 2` (line 3) says 2 nodes, but the file has 1"),
    ("# nodes: 50", "the header says 50 nodes, but the file has 1"),
    ("# nodes: 50, pause: 0.00, max speed: 20.00", "the header says 50 nodes, but the file has 1"),
])
def test_nodes_that_the_file_speaks_of_and_does_not_place_are_said(tmp_path, line, told):
    movement = _read(tmp_path, FIRST + line + "\n")
    assert len(movement) == 1
    assert [told in note for note in movement.notes] == [True]


@pytest.mark.parametrize("line", ["create-god 1", "set opt(nn) 1", "# nodes: 1, pause: 2.00, max speed: 20.00"])
def test_a_number_of_nodes_that_is_right_takes_no_note(tmp_path, line):
    assert _read(tmp_path, FIRST + line + "\n").notes == ()


def test_four_numbers_without_heights_are_a_status_or_refused(tmp_path):
    told = _refused(tmp_path, FIRST + '$ns_ at 1 "$node_(0) setdest 10 20 5 1.37"\n')
    assert told.startswith("x.tcl:3: found setdest with four numbers, the last of them 1.37, in a file without Z_")


def test_a_status_beside_heights_is_said(tmp_path):
    legs = '$ns_ at 1 "$node_(0) setdest 10 20 1.5 0"\n$ns_ at 9 "$node_(0) setdest 5 6 1.5 2"\n'
    notes = _read(tmp_path, f"{FIRST}$node_(0) set Z_ 0.0\n{legs}").notes
    assert any("like a status" in note for note in notes)
    high = FIRST + '$node_(0) set Z_ 0.0\n$ns_ at 1 "$node_(0) setdest 5 6 9 2.0"\n'
    assert _read(tmp_path, high).notes == ()


def test_heights_of_some_are_said(tmp_path):
    high = FIRST + "$node_(0) set Z_ 3\n"
    leg = '$ns_ at 1 "$node_(0) setdest 5 6 {}"\n'
    [note] = _read(tmp_path, f"{high}$node_(1) set X_ 1\n$node_(1) set Y_ 1\n").notes
    assert "1 host (1) without Z_, while others have one" in note
    [note] = _read(tmp_path, high + leg.format("1") + leg.format("9 1.5").replace("at 1", "at 2")).notes
    assert "three are read as x y speed, four as x y z speed" in note
    notes = _read(tmp_path, FIRST + leg.format("1") + leg.format("9 1")).notes
    assert any("three are read as x y speed, four as x y speed status" in note for note in notes)


def test_packed_params_count_too(tmp_path):
    mobility.textfile.write_text(tmp_path / "x.params.gz", "nn=2\n")
    assert "1 nodes, but nn=2 in x.params.gz" in _refused(tmp_path, "0 1 1 60 9 9\n", "x.movements")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("name", "text"), [("x.movements", "0 1 1 60 9 9\n0 2 2 60 3 3"), ("x.tcl", "$node_(0) set X_ 5\n$node_(0) set Y_ 6")])
def test_a_file_whose_last_line_has_no_end_may_be_cut_off_and_is_told(tmp_path, name, text, packed):
    path = tmp_path / (name + ".gz" if packed else name)
    for end, told in (("", 1), ("\n", 0), ("\r\n", 0), ("\r", 0)):
        path.write_bytes(gzip.compress((text + end).encode()) if packed else (text + end).encode())
        notes = mobility.read(path).notes
        assert len(notes) == told and all("the last line (2) has no line end" in note for note in notes)


@pytest.mark.parametrize(("params", "told"), [
    ("nn=1\nduration: 600\n", "1 line of x.params next to it (line 2) is ignored; expected key=value"),
    ("nn=1\nduration 600\nfast\n", "2 lines of x.params next to it (line 2) are ignored"),
    ("nn=1\nx=5m\n", "x=5m in x.params next to it is not a length in m"), ("nn=1\ny=0\n", "y=0 in x.params next to it is not a length"),
    ("nn=1\nz=5\n", "hosts reach z = 500 m, but x.params next to it says z=5"),
])
def test_params_that_say_something_in_vain_are_told(tmp_path, params, told):
    (tmp_path / "x.params").write_text(params)
    [note] = _read(tmp_path, "#3D\n0 1 1 0 60 9 9 500\n", "x.movements").notes
    assert told in note
