"""Numbers and comments of a BonnMotion file that mean something else than `t x y` in s and m: they are told, and the usual is not."""

from __future__ import annotations

import numpy as np
import pytest

import mobility


def _notes(tmp_path, text, **options) -> list[str]:
    (tmp_path / "x.movements").write_text(text)
    return list(mobility.read(tmp_path / "x.movements", **options).notes)


def _walks(hosts: int = 4, points: int = 6, seed: int = 1) -> list[np.ndarray]:
    """(points, 3): t, x, y within 50 to 300 m, 10 s apart."""
    draw = np.random.default_rng(seed)
    return [np.column_stack((10.0 * np.arange(points), draw.uniform(50, 300, (points, 2)).round(2))) for _ in range(hosts)]


def _text(walks: list[np.ndarray], head: str = "") -> str:
    return head + "".join(" ".join(map(repr, walk.ravel().tolist())) + "\n" for walk in walks)


@pytest.mark.parametrize(("place", "at"), [
    ((0, 0), {1: [3]}), ((0, 0), {0: [2, 3], 2: [5]}), ((-9999, -9999), {1: [0, 1]}), ((999999, 999999), {0: [5], 3: [0]}), ((-1000, 50), {2: [0, 5]})])
def test_a_place_that_stands_for_none_is_told(tmp_path, place, at):
    walks = _walks()
    for host, points in at.items():
        walks[host][points, 1:] = place
    count = sum(map(len, at.values()))
    told = f"{count} of 24 places are {place[0]}, {place[1]}, {'far from' if any(place) else 'below'} all others"
    assert [note for note in _notes(tmp_path, _text(walks)) if note.startswith(told)]


@pytest.mark.parametrize(("place", "at"), [
    ((0, 0), {1: [0]}),  # somebody begins there
    ((900, 900), {1: [0, 1, 2, 3, 4, 5]}),  # somebody stands there, which `check` tells where nobody hears it
    ((400, 300), {1: [2, 3]}),  # a little outside, with a pause
    ((0, 60), {1: [3, 4]}),
])
def test_places_of_hosts_are_not_taken_for_none(tmp_path, place, at):
    walks = _walks()
    for host, points in at.items():
        walks[host][points, 1:] = place
    assert not any("all others" in note for note in _notes(tmp_path, _text(walks)))


def test_a_corner_that_others_touch_is_a_place(tmp_path):
    walks = _walks()
    walks[1][3, 1:] = 0
    walks[2][4, 1] = 0
    assert not _notes(tmp_path, _text(walks))


@pytest.mark.parametrize("seed", range(20))
def test_random_walks_are_not_doubted(tmp_path, seed):
    movement = mobility.random_waypoint(10, (300, 300), (0.5, 2), (0, 30), duration=600, seed=seed)
    mobility.write(movement, tmp_path / "x.movements")
    assert not any(word in note for note in mobility.read(tmp_path / "x.movements").notes for word in ("all others", "of a clock", "columns"))


def _with_heights(walks: list[np.ndarray], of) -> list[np.ndarray]:
    return [np.column_stack((walk, of(walk))) for walk in walks]


def _speeds(walk: np.ndarray) -> np.ndarray:
    return np.hypot(*np.diff(walk[:, 1:], axis=0).T) / np.diff(walk[:, 0])


@pytest.mark.parametrize(("of", "told"), [
    (lambda walk: [*_speeds(walk), 0.0], True), (lambda walk: [0.0, *_speeds(walk)], True), (lambda walk: [*(1.05 * _speeds(walk)), 1.0], True),
    (lambda walk: np.full(len(walk), 1.5), False), (lambda walk: np.linspace(9, 3, len(walk)), False)])
def test_speeds_that_stand_as_heights_are_told(tmp_path, of, told):
    notes = _notes(tmp_path, _text(_with_heights(_walks(), of)), dimensions=3)
    assert [note for note in notes if "are the speeds of its legs" in note] == notes and bool(notes) == told


def test_times_of_a_clock_are_told(tmp_path):
    walks = _walks(points=20)
    for walk in walks:
        walk[:, 0] = [115_800 + 100 * (k // 6) + 10 * (k % 6) if k < 12 else 120_000 + 100 * ((k - 12) // 6) + 10 * ((k - 12) % 6) for k in range(20)]
    assert any("hours, minutes and seconds in one number (115800 to 120110)" in note for note in _notes(tmp_path, _text(walks)))
    for begin, step in ((115_800, 10), (0, 10), (20_000, 100), (20_000, 50), (40_000, 7), (1_700_000_000, 10)):
        for walk in walks:
            walk[:, 0] = begin + step * np.arange(20)
        assert not any("of a clock" in note for note in _notes(tmp_path, _text(walks))), (begin, step)


@pytest.mark.parametrize(("columns", "told"), [([0, 1, 2, 3, 4, 5], True), ([1, 2, 3, 4, 5, 6], True), ([0, 1, 2, 4, 5, 6], False), ([0, 1, 2], False)])
def test_a_first_line_of_names_of_columns_is_told(tmp_path, columns, told):
    notes = _notes(tmp_path, " ".join(map(str, columns)) + "\n" + _text(_walks(points=3)))
    assert any("as names of columns do: it is read as host 0" in note for note in notes) == told


@pytest.mark.parametrize(("comment", "told"), [
    ("# x y t", "names columns x, y, t: they are read as t, x, y"), ("# t lat lon", "names columns t, lat, lon"), ("#time,longitude,latitude", "names columns"),
    ("# node t x y", "names columns node, t, x, y"), ("# t x y speed", "names columns t, x, y, speed"), ("# x0 y0 t0 x1 y1 t1", "names columns x, y, t:"),
    ("# t [s] x [m] y [m]", ""), ("# t x y", ""), ("# Time x y t x y ..", ""), ("# t0 x0 y0 t1 x1 y1", ""), ("# node trajectories: t x y", ""),
    ("# x and y of each host, by time", ""), ("# made on x86 in 2024", ""),
    ("# time[ms] x[cm] y[cm]", "speaks of ms: times are read in s"), ("# t x_km y_km", "speaks of km"), ("# places in degrees", "speaks of degrees"),
    ("# t x y (ft)", "speaks of ft"), ("# in a min. area", ""), ("# duration 900", "about duration is ignored"),
])
def test_comments_that_name_other_columns_or_units_are_told(tmp_path, comment, told):
    notes = _notes(tmp_path, _text(_walks(), comment + "\n"))
    assert len(notes) == bool(told) and all("comment in line 1 " in note[:22] and told in note for note in notes)
    assert not any("names columns" in note for note in _notes(tmp_path, _text(_with_heights(_walks(), lambda walk: 1.5 + 0 * walk[:, 0]), "#3D\n# t x y z\n")))


def test_the_columns_of_disaster_area_are_its_own(tmp_path):
    rows = "0\n1\n1\n0\n9\n5\n5\n0\n"
    assert not any("names columns" in note for note in _notes(tmp_path, "# t x y status\n" + rows))
    assert any("names columns t, x, y, z: they are read as t, x, y, status" in note for note in _notes(tmp_path, "# t x y z\n" + rows))


@pytest.mark.parametrize(("labels", "told"), [
    (["ann", "bob", "eve", "joe"], True), (["12", "13", "14", "15"], True), (["user_7", "user_3", "user_1", "user_0"], True), (["car 1:", "car 2:", "car 3:", "car 4:"], True),
    (["car 0", "car 1", "car 2", "car 3"], False), (["0", "1", "2", "3"], False), (["walker", "walker", "walker", "walker"], False), (["ann", "", "eve", "joe"], False)])
def test_comments_that_could_be_names_of_hosts_are_told(tmp_path, labels, told):
    text = "".join(f"# {label}\n{_text([walk])}" for label, walk in zip(labels, _walks()))
    assert any("a comment stands before each host, as its name could (line 1)" in note for note in _notes(tmp_path, text)) == told
