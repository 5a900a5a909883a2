"""Every BonnMotion and ns-2 file of tests/data, against facts found by other programs."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import mobility
from mobility.textfile import read_lines

DATA = Path(__file__).resolve().parents[1] / "data"
TRACES = DATA / "traces"
FOLDERS = ("bonnmotion", "ns2", "odd")
FORMATS = {"BonnMotion movements": "bonnmotion", "ns-2 movement": "ns2"}  # by how the facts begin


def _files() -> dict[str, tuple[str, dict]]:
    """path -> (format, facts)"""
    found = {}
    for path, facts in json.loads((TRACES / "expected.json").read_text()).items():
        for begin, format in FORMATS.items():
            if path.startswith(FOLDERS) and str(facts.get("format")).startswith(begin):
                found[path] = (format, facts)
    return found


FILES = _files()


def _read(path: str, format: str) -> mobility.Movement:
    """A trace without SUMO's activity file, of which the facts about its movement know nothing."""
    if "ns2mobility" not in path:
        return mobility.read(TRACES / path, format)
    with tempfile.TemporaryDirectory() as folder:
        return mobility.read(shutil.copy(TRACES / path, folder), format)


def _ids(names: list[str]) -> list[str]:
    return names if len(names) <= 10 else [*names[:2], "...", names[-1]]


def test_all_are_there():
    on_disk = {
        str(path.relative_to(TRACES))
        for folder in FOLDERS
        for path in (TRACES / folder).iterdir()
        if not path.name.endswith(("params", "config.tcl", "activity.tcl", ".csv", ".one", ".xml"))
    }
    assert len(FILES) >= 40
    assert on_disk == set(FILES)


def test_each_file_of_the_data_has_its_origin_and_licence_beside_it():
    """As the page beside the files says; and a clone stays small."""
    page = (DATA / "README.md").read_text(encoding="utf-8")
    licences = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", page.partition("## Files")[0], re.MULTILINE)
    told = {}
    for folder, rows in re.findall(r"^### (\S+)/\n\n(.*?)(?=\n\n###|\Z)", page, re.MULTILINE | re.DOTALL):
        for name, origin, licence in re.findall(r"^\| `([^`]+)` \| (\S.*) \| (\S+) \|$", rows, re.MULTILINE):
            told[f"{folder}/{name}"] = licence
    assert set(told.values()) <= {name for names in licences for name in names.split(", ")}
    files = [path for path in DATA.rglob("*") if path.is_file()]
    ours = {DATA / "README.md", TRACES / "expected.json", *(DATA / "licences").iterdir()}
    assert set(told) == {path.relative_to(DATA).as_posix() for path in set(files) - ours}
    assert sum(path.stat().st_size for path in files) < 6_000_000


@pytest.mark.parametrize("path", FILES)
def test_nodes_positions_and_links(path):
    format, facts = FILES[path]
    movement = _read(path, format)
    assert len(movement) == facts["nodes"]
    if "node_ids" in facts:
        assert _ids(movement.names) == facts["node_ids"]
    for place in facts.get("positions", []):
        found = movement.positions(place["t"])[movement.names.index(place["node"])]
        wanted = [place[axis] for axis in "xyz" if axis in place]
        assert len(wanted) == movement.dimensions
        assert found == pytest.approx(wanted, abs=1e-6)  # the facts are rounded to 1e-6 m
        alone = movement.trajectories[movement.names.index(place["node"])].position(place["t"])
        assert alone == pytest.approx(found, abs=1e-9)
    for fact in facts.get("links", []):
        places = movement.positions(fact["t"])
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        assert movement.present(fact["t"]).sum() == fact["present"]
        assert ((apart <= fact["radius"]).sum() - len(places)) // 2 == fact["links"]


@pytest.mark.parametrize("path", [path for path, (_, facts) in FILES.items() if facts.get("bbox")])
def test_box_of_all_waypoints(path):
    """What the file records: all of it for BonnMotion, for ns-2 as far as the facts' author played it."""
    format, facts = FILES[path]
    movement = _read(path, format)
    if facts.get("played_until"):
        movement = movement.window(0.0, facts["played_until"])
    points = np.vstack([trajectory.points for trajectory in movement.trajectories])
    wanted = np.array(facts["bbox"])[: movement.dimensions]
    assert np.abs(points.min(axis=0) - wanted[:, 0]).max() <= 0.0051  # rounded to 0.01 m
    assert np.abs(points.max(axis=0) - wanted[:, 1]).max() <= 0.0051


@pytest.mark.parametrize("path", FILES)
def test_duration(path):
    """What the file beside it declares, or else the end of the last leg."""
    format, facts = FILES[path]
    movement = _read(path, format)
    last = max(trajectory.times[-1] for trajectory in movement.trajectories)
    declared = facts.get("declared_duration")
    if path.startswith("ns2/bm_") and path != "ns2/bm_doc_rwp_10.ns_movements":
        beside = (TRACES / path.split(".ns_movements")[0]).with_suffix(".ns_params").read_text()
        declared = float(beside.split("duration)")[1])
    if "core" in path and (header := re.search(r"max time: ([\d.]+)", "\n".join(read_lines(TRACES / path)))):
        declared = float(header[1])
    assert movement.duration == pytest.approx(last if declared is None else declared)
    for key in ("t_last", "all_motion_ends"):
        if facts.get(key) is not None:
            assert last == pytest.approx(facts[key], abs=1e-5)


SAME = [
    "rwp50_ped",
    "rwp100_strip",
    "gm25",
    "manh30",
    "rpgm40",
    "rwp3d_15",
    "static20",
    "ssrwp30",
    "doc_rwp_10",
]


@pytest.mark.parametrize("name", SAME)
def test_ns2_export_is_the_same_movement_moved_by_ten_meters(name):
    ns2 = next((TRACES / "ns2").glob(f"bm_{name}.ns_movements*"))
    one, other = mobility.read(TRACES / f"bonnmotion/{name}.movements.gz"), mobility.read(ns2)
    for t in np.linspace(0, one.duration, 97):
        assert np.abs(one.positions(t) + 10.0 - other.positions(t)).max() < 1e-6


def test_disaster_area_nodes_leave_and_return():
    """DisasterArea's dialect, one number a line: status 2 ends a stay, status 1 begins the next."""
    movement = mobility.read(TRACES / "bonnmotion/da150_one_number_per_line.movements.gz")
    assert (len(movement), movement.duration) == (150, 600.0)
    assert sum(len(trajectory.times) for trajectory in movement.trajectories) == 6303
    lives = [trajectory.lives for trajectory in movement.trajectories]
    ends, begins = (np.isfinite(np.vstack(lives)[:, k]).sum() for k in (1, 0))
    # the file has 134 1s and 156 2s: 8 on first waypoints, 10 after another 2 at the end
    assert (ends, begins) == (156 - 8 - 10, 134)
    assert (~movement.present(0.0)).sum() == 8
    for t in (100.0, 300.0, 599.0):
        present = movement.present(t)
        assert 0 < present.sum() < 150
        assert np.isnan(movement.positions(t)[~present]).all()
        assert not np.isnan(movement.positions(t)[present]).any()


def test_a_host_under_way_at_time_zero():
    """Negative times are played: The ONE's warm-up leaves nodes in the middle of a leg."""
    movement = mobility.read(TRACES / "ns2/one_s_warmup_negative_times.txt.gz", "ns2")
    moving = [trajectory.velocity(0.0) for trajectory in movement.trajectories]
    assert sum(np.linalg.norm(v) > 0 for v in moving) > 5
    assert min(trajectory.times[0] for trajectory in movement.trajectories) == -80.0


def test_set_dist_lines_agree_with_contacts():
    """setdest's own hop counts: every change of `set-dist i j` to or from 1 is a contact's end at 250 m.

    setdest works in steps, so its instants are compared to 1e-6 s and one that lies at a
    direction change may be told late; all of this file agree.
    """
    path = TRACES / "ns2/setdest_sd2_30.txt.gz"
    contacts = mobility.read(path, "ns2").contacts(250.0, 0.0, 250.0)
    wanted: dict[tuple[int, int], list[float]] = {}
    hops: dict[tuple[int, int], int] = {}
    for line in read_lines(path):
        words = line.replace('"', " ").split()
        if "set-dist" not in words or line.startswith("#"):
            continue
        at = words.index("set-dist")
        i, j, now = map(int, words[at + 1 : at + 4])
        t = float(words[2]) if words[1] == "at" else 0.0
        if (now == 1) != (hops.get((i, j), 0) == 1) and t <= 250.0:
            wanted.setdefault((i, j), []).append(t)
        hops[i, j] = now
    found: dict[tuple[int, int], list[float]] = {}
    for contact in contacts:
        pair = found.setdefault((int(contact.i), int(contact.j)), [])
        pair += [t for t in (contact.up, contact.down) if t < 250.0]
    assert set(found) == set(wanted)
    for pair, instants in wanted.items():
        assert sorted(found[pair]) == pytest.approx(instants, abs=1e-4)
