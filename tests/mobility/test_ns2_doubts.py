"""What an ns-2 file leaves open: cars that depart from a stop, legs behind the end that its parameters declare."""

from __future__ import annotations

import pytest

import mobility


def _notes(tmp_path, text, name, **beside) -> list[str]:
    (tmp_path / name).write_text(text)
    for ending, of in beside.items():
        (tmp_path / f"{name.partition('.')[0]}.{ending}").write_text(of)
    return list(mobility.read(tmp_path / name).notes)


def _car(car: int, begin: int, speed: float) -> list[tuple[float, str]]:
    """As SUMO's traceExporter writes a car that departs at `begin` with this speed: each second the place that it has then."""
    node, x = f"$node_({car})", 100.0 * car
    lines = [(begin, f"{node} set X_ {x}\n{node} set Y_ 50.0\n{node} set Z_ 0")]
    for t in range(begin, 60):
        lines.append((t, f'$ns_ at {t}.0 "{node} setdest {x:.2f} 50.00 {speed:.2f}"'))
        speed = min(speed + 2.0, 10.0)
        x += speed
    return lines


@pytest.mark.parametrize("speed", [0.0, 5.0])
@pytest.mark.parametrize("by_time", [True, False])
def test_cars_that_come_late_are_told_with_whatever_speed_they_depart(tmp_path, speed, by_time):
    lines = [line for car in range(3) for line in _car(car, 5 * car, speed)]
    text = "\n".join(line for _, line in (sorted(lines, key=lambda line: line[0]) if by_time else lines)) + "\n"
    [note] = _notes(tmp_path, text, "mobility.tcl")
    assert note.startswith("2 hosts (1, 2) with a first setdest to where they are, as SUMO writes for a car that appears then: they stay at their")
    (tmp_path / "activity.tcl").write_text("".join(f'$ns_ at {5.0 * car} "$g({car}) start"\n' for car in range(3)))
    assert not any("as SUMO writes" in note for note in mobility.read(tmp_path / "mobility.tcl").notes)
    at_once = "\n".join(line for car in range(3) for _, line in _car(car, 0, speed)) + "\n"
    assert not _notes(tmp_path, at_once, "together.tcl"), "all come at 0"


LEGS = '$node_(0) set X_ 1\n$node_(0) set Y_ 1\n$ns_ at 5 "$node_(0) setdest 9 9 1"\n$ns_ at {} "$node_(0) setdest 30 9 1"\n'


@pytest.mark.parametrize(("last", "told"), [(900, True), (100.5, True), (100, False), (99, False)])
def test_legs_behind_the_end_that_the_parameters_declare_are_told(tmp_path, last, told):
    notes = _notes(tmp_path, LEGS.format(last), "x.ns_movements", ns_params="set val(duration) 100.0\n")
    assert notes == [f"its last setdest is at {last} s, and x.ns_params beside it says that it lasts 100 s: is it of the same run?"] * told
