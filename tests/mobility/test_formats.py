"""Reading and writing BonnMotion and ns-2: round trips, dialects, and errors that name file and line."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mobility
from mobility import TraceError, trace

coordinates = st.floats(-1e4, 1e4, allow_subnormal=False).map(lambda value: round(value, 6))


@st.composite
def movements(draw, dimensions=None, jumps=True, absence=True):
    d = dimensions or draw(st.sampled_from([2, 3]))
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        steps = draw(st.lists(st.floats(0.0 if jumps else 0.5, 50.0).map(lambda v: round(v, 5)), max_size=6))
        times = np.cumsum([draw(st.sampled_from([0.0, 0.0, 3.25])), *steps])
        points = draw(st.lists(st.tuples(*[coordinates] * d), min_size=len(times), max_size=len(times)))
        lives = (
            draw(st.sampled_from([None, [(2.0, 9.5)], [(-np.inf, 5.0), (8.0, np.inf)]])) if absence else None
        )
        parts.append(mobility.Trajectory(times, np.array(points), lives))
    return mobility.Movement([str(k) for k in range(len(parts))], parts, draw(st.integers(0, 400)) / 4)


def _same(one: mobility.Movement, other: mobility.Movement, tolerance: float) -> None:
    assert (one.names, one.duration, one.dimensions) == (other.names, other.duration, other.dimensions)
    for a, b in zip(one.trajectories, other.trajectories):
        end = max(a.times[-1], b.times[-1], *a.lives[np.isfinite(a.lives)], 0.0) + 1
        for t in [*a.times, *np.linspace(0, end, 23)]:
            if tolerance or not (np.isclose(t, a.times).sum() > 1):  # at a jump either side may hold
                assert a.position(t) == pytest.approx(b.position(t), abs=tolerance, nan_ok=True), t


@settings(max_examples=80, deadline=None)
@given(movements(absence=False), st.sampled_from(["x.movements", "x.movements.gz"]))
def test_bonnmotion_reads_back_bit_by_bit(tmp_path_factory, movement, name):
    path = tmp_path_factory.mktemp("bm") / name
    mobility.write(movement, path)
    back = mobility.read(path)
    assert (back.names, back.duration, back.dimensions) == (
        movement.names,
        movement.duration,
        movement.dimensions,
    )
    for a, b in zip(movement.trajectories, back.trajectories):
        assert (a.times == b.times).all() and (a.points == b.points).all()


@settings(max_examples=80, deadline=None)
@given(movements(dimensions=2))
def test_bonnmotion_keeps_who_is_there(tmp_path_factory, movement):
    path = tmp_path_factory.mktemp("da") / "x.movements"
    mobility.write(movement, path)
    back = mobility.read(path)
    _same(movement, back, 1e-6)


@settings(max_examples=80, deadline=None)
@given(movements(jumps=False, absence=False))
def test_ns2_reads_back_within_rounding(tmp_path_factory, movement):
    path = tmp_path_factory.mktemp("ns") / "x.ns_movements"
    mobility.write(movement, path)
    back = mobility.read(path)
    assert (back.names, back.duration) == (movement.names, movement.duration)
    for t in np.linspace(0.0, 310.0, 57):
        one, other = movement.positions(t), back.positions(t)
        assert one[:, : back.dimensions] == pytest.approx(other, abs=1e-5)
        assert not one[:, back.dimensions :].any()  # a file with all z at 0 is flat


def test_gzip_is_the_same_every_time(tmp_path):
    movement = mobility.random_waypoint(3, (10, 10), (1, 2), (0, 1), 20, seed=1)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        mobility.write(movement, tmp_path / folder / "x.movements.gz")
    assert (tmp_path / "a/x.movements.gz").read_bytes() == (tmp_path / "b/x.movements.gz").read_bytes()


def test_ns2_cannot_say_absence_or_jumps(tmp_path):
    here = mobility.Trajectory(np.zeros(1), np.zeros((1, 2)), [(0.0, 5.0)])
    with pytest.raises(TraceError, match="absent at times, which ns-2 cannot express; use BonnMotion"):
        mobility.write(mobility.Movement(["0"], [here], 9.0), tmp_path / "x.ns_movements")
    jump = mobility.Trajectory(np.array([0.0, 1.0, 1.0]), np.array([[0.0, 0], [1, 0], [5, 5]]))
    with pytest.raises(TraceError, match="jumps at 1 s"):
        mobility.write(mobility.Movement(["0"], [jump], 9.0), tmp_path / "x.ns_movements")
    high = mobility.Trajectory(np.zeros(1), np.zeros((1, 3)), [(0.0, 5.0)])
    with pytest.raises(TraceError, match="absent hosts in 3D"):
        mobility.write(mobility.Movement(["0"], [high], 9.0), tmp_path / "x.movements")


# ---- dialects of ns-2 ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        '$node_(3) set X_ 0\n$node_(3) set Y_ 0\n$ns_ at 1 "$node_(3) setdest 10 0 2"',
        '$ns at 1.0 " $n(3) setdest 10 0 2 "\r\n$n(3) set Y_ 0\r\n$n(3) set X_ 0\r\n',
        '$ns_ at 1 "\\$node(3) setdest 10.0 0.0 2.0"; # to the east\n\n#$ns_ at 2 "$node(3) setdest 0 0 9"',
        "$ns at 1 {$n3 setdest 1e1 0 2}\n$n3 set X_ 0 ;# NSG2\n",
        'set god_ [God instance]\n$god_ set-dist 0 1 1\n$ns_ at 1 "$god_ set-dist 1 2 1"\n'
        '$ns_ at 1 "$node_(3) setdest 7 7 7"\n$ns_ at 1 "$node_(3) setdest 10 0 2"',
        '$ns_ at 4 "$node_(3) setdest 10 0 2"\n$ns_ at 1 "$node_(3) setdest 10 0 2"\n',
        '$ns_ at 1 "$node_(03) setdest 10 0 2 0.0"\n',  # a status, as nothing is placed in z
    ],
)
def test_ns2_dialects_say_the_same(tmp_path, text):
    path = tmp_path / "x.tcl"
    path.write_bytes(text.encode())
    movement = mobility.read(path)
    assert (movement.names, movement.dimensions, movement.duration) == (["3"], 2, 6.0)
    assert movement.positions(0.5).tolist() == [[0, 0]]
    assert movement.positions(3.5) == pytest.approx(np.array([[5, 0]]))
    assert movement.positions(60.0).tolist() == [[10, 0]]


def test_ns2_speed_zero_stops_and_a_leg_is_cut_short(tmp_path):
    path = tmp_path / "x.tcl"
    path.write_text(
        '$ns_ at 0 "$node_(0) setdest 10 0 1"\n$ns_ at 4 "$node_(0) setdest 99 0 0"\n'
        '$ns_ at 6 "$node_(0) setdest 4 8 2"\n$ns_ at 7 "$node_(0) setdest 0 2 2"\n'
    )
    track = mobility.read(path).trajectories[0]
    assert track.position(5.0).tolist() == [4, 0]
    assert track.position(6.5).tolist() == [4, 1]
    assert track.position(8.0).tolist() == [2, 2]
    assert track.times[-1] == 9.0


def test_ns2_four_numbers_are_3d_where_z_is_placed(tmp_path):
    path = tmp_path / "x.tcl"
    path.write_text('$node_(0) set Z_ 3\n$ns_ at 0 "$node_(0) setdest 0 4 3 2"\n')
    movement = mobility.read(path)
    assert (movement.dimensions, movement.positions(1.0).tolist(), movement.duration) == (3, [[0, 2, 3]], 2.0)


def test_ns2_ids_in_the_order_of_numbers_and_names_last(tmp_path):
    path = tmp_path / "x.tcl"
    path.write_text("".join(f"$node_({name}) set X_ 1\n" for name in ("10", "9", "b", "2", "a")))
    assert mobility.read(path).names == ["2", "9", "10", "a", "b"]


def test_ns2_params_declare_the_duration(tmp_path):
    (tmp_path / "x.ns_movements").write_text("$node_(0) set X_ 1\n")
    (tmp_path / "x.ns_params").write_text("set val(x) 10\nset val(duration) 77.5\n")
    assert mobility.read(tmp_path / "x.ns_movements").duration == 77.5


# ---- dialects of BonnMotion ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "params", "where"),
    [
        ("0 1 2 10 11 2\n", None, [[6, 2]]),
        ("\n# by hand\n0 1 2 10 11 2", None, [[6, 2]]),
        ("0 1 2 10 11 2\r\n# end\r\n", None, [[6, 2]]),
        ("\t0  1.0e0 2 10 11 2  ", None, [[6, 2]]),
        ("#3D\n0 1 2 3 10 11 2 3\n", None, [[6, 2, 3]]),
        ("0 1 2 3 10 11 2 3\n", "J=3D\n", [[6, 2, 3]]),
        ("10 1 2\n", None, [[1, 2]]),
        ("0\n1\n2\n0\n10\n11\n2\n0\n0\n5\n5\n2\n10\n6\n5\n0\n", None, [[6, 2], [np.nan, np.nan]]),
    ],
)
def test_bonnmotion_dialects(tmp_path, text, params, where):
    path = tmp_path / "x.movements"
    path.write_bytes(text.encode())
    if params:
        (tmp_path / "x.params").write_text(params)
    assert mobility.read(path).positions(5.0) == pytest.approx(np.array(where), nan_ok=True)


def test_bonnmotion_params_declare_the_duration_even_of_a_gzipped_file(tmp_path):
    (tmp_path / "x.movements.gz").write_bytes(gzip.compress(b"0 1 2\n"))
    (tmp_path / "x.params").write_text("model=Static\nduration=300.0\n")
    assert mobility.read(tmp_path / "x.movements.gz").duration == 300.0


# ---- errors ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.movements", "0 1 2\n0 1 zwei\n", ':2: found "zwei"; expected numbers'),
        ("x.movements", "0 1 2\n0 1 nan\n", ':2: found "nan"; expected a finite number'),
        ("x.movements", "0 1 2 3 4\n", ":1: found 5 numbers; expected a multiple of 3, `t x y` for each waypoint"),
        ("x.movements", "0 1 2 3 1 1 2 3\n", '(if it is 3D, give a first line "#3D"'),
        (
            "x.movements",
            "#3D\n0 1 2 3 1 1\n",
            ":2: found 6 numbers; expected a multiple of 4, `t x y z` for each waypoint (if it is 2D",
        ),
        ("x.movements", "# x\n\n0 1 2 5 1 2 4 1 2\n", ":3: found time 4 after 5; expected times that never decrease"),
        ("x.movements", "# nothing\n", "found no node"),
        ("x.movements", "", "found no node"),
        ("x.movements", "0\n1\n2\n0\n5\n", "a multiple of 4, `t x y status` (DisasterArea)"),
        ("x.movements", "0\n1\n2\n7\n", ":4: found status 7; expected 0, 1 or 2 (DisasterArea)"),
        ("x.tcl", "puts hello\n", "found no node"),
        ("x.tcl", "\n$node_(0) set X_ here\n", ':2: found "here"; expected a number'),
        ("x.tcl", "$node_(0) set X_\n", ":1: found X_ without a number"),
        ("x.tcl", '$ns_ at 1 "$node_(0) setdest 1 2"\n', ":1: found setdest with 2 numbers; expected x y speed"),
        ("x.tcl", '$ns_ at 1 "$node_(0) setdest 1 2 3 4 5"\n', ":1: found setdest with 5 numbers"),
        ("x.tcl", '$ns_ at 1 "$node_(0) setdest 1 2 -3"\n', ":1: found speed -3; expected 0 m/s (stop) or more"),
        ("x.tcl", '$ns_ at 1 "$node_($i) setdest 1 2 3"\n', ':1: found "$node_($i)"; expected a node, such as $node_(0)'),
        ("x.tcl", '$ns_ at $t "$node_(0) setdest 1 2 3"\n', ':1: found "$t"; expected a number'),
        ("x.tcl", "$node_(0) setdest 1 2 3\n", "`$ns_ at TIME"),
        ("x.tcl", '$ns_ at 5 "$node_(0) set X_ 3"\n', ":1: found X_ set at a time"),
        ("x.xyz", "0 1 2\n", 'the name does not indicate the format; give "bonnmotion" or "ns2"'),
    ],
)
def test_errors_name_file_line_finding_and_cure(tmp_path, name, text, problem):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(TraceError) as caught:
        mobility.read(path)
    assert str(caught.value).startswith(str(path))
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_of_files(tmp_path):
    for name, data, problem in (
        ("a.movements.gz", b"\x1f\x8bgarbage", "damaged gzip file"),
        ("b.movements", b"\xff\xfe\x00", "not a UTF-8 text file"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(TraceError, match=problem):
            mobility.read(tmp_path / name)
    (tmp_path / "cut.movements.gz").write_bytes(gzip.compress(b"0 1 2\n" * 1000)[:30])
    with pytest.raises(TraceError, match="damaged gzip file"):
        mobility.read(tmp_path / "cut.movements.gz")
    with pytest.raises(TraceError, match="no such file"):
        mobility.read(tmp_path / "absent.movements")
    with pytest.raises(TraceError, match="cannot be read"):
        mobility.read(tmp_path, "bonnmotion")
    with pytest.raises(TraceError, match='format "gpx"; give "bonnmotion" or "ns2"'):
        mobility.read(tmp_path / "x.movements", "gpx")
    (tmp_path / "d.movements").write_text("0 1 2\n")
    (tmp_path / "d.params").write_text("duration=long\n")
    with pytest.raises(TraceError, match=r"d\.params: found duration=long; expected a number of seconds"):
        mobility.read(tmp_path / "d.movements")
    movement = mobility.random_waypoint(1, (1, 1), (1, 1), (0, 0), 1, 1)
    with pytest.raises(TraceError, match="cannot be written"):
        mobility.write(movement, tmp_path / "no" / "x.movements")


def test_the_page_has_each_format_with_its_endings():
    page = (Path(__file__).resolve().parents[2] / "docs" / "mobility.md").read_text(encoding="utf-8")
    formats, endings = (re.search(rf"^\| {row} \| (.*) \|$", page, re.MULTILINE).group(1).split(" | ")
                        for row in ("`format`", "recognized by its name"))
    told = {name.strip("`"): set(re.findall(r"`(\.\w+)`", cell)) - {".gz"} for name, cell in zip(formats, endings, strict=True)}
    assert told == {name: set(trace.FORMATS[name].ENDINGS) for name in told} and len(told) > 1
