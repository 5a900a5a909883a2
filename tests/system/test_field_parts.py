"""Parts of a walk that nobody copied: the card of a device, pieces of its records, their begin or their end. All of it is said."""
from __future__ import annotations

from pathlib import Path

import pytest

from emulation.collect import collect
from node.config import NodeConfig
from tests.system.test_field import a_life, record, reports, write


def notes(folder: Path, **files: list[dict | bytes]) -> list[str]:
    folder.mkdir(exist_ok=True)
    return collect([write(folder / "in", **files)], folder / "run", NodeConfig()).notes


def with_neighbor(life: list[dict], other: int, epoch: int = 100) -> list[dict]:
    """With the records of a two-way neighbor that has published nothing."""
    node = life[0]["node"]
    met = [record(1.5, node, "neighbor_up", neighbor=other, epoch=epoch), record(9.5, node, "datagram_heard", other=other, epoch=epoch, counter=7)]
    return sorted([*life, *met], key=lambda r: r["t"])


def test_a_device_that_others_heard_and_whose_card_is_not_here_is_named(tmp_path):
    said = "heard by nodes 0, 1, and no records of it are here: what it published and received is missing; give its file, too"
    both = {"n0": with_neighbor(reports(a_life(0, 1)), 2), "n1": with_neighbor(reports(a_life(1, 0)), 2)}
    assert notes(tmp_path / "a", **both) == [f"node 2: {said}"]
    old = notes(tmp_path / "b", **both, n2=a_life(2, None, epoch=90, wall=1_600_000_000.0))
    assert f"node 2, life 100: {said}" in old  # its file is there, of another day
    assert not notes(tmp_path / "c", **both, n2=with_neighbor(reports(a_life(2, None)), 0))


def test_a_device_that_was_heard_on_another_walk_alone_is_not_missed(tmp_path):
    def days(node: int, other: int) -> list[dict]:
        return with_neighbor(a_life(node, other), 2) + a_life(node, other, epoch=200, wall=1_700_086_400.0, until=300)

    cards = write(tmp_path / "in", n0=days(0, 1), n1=days(1, 0))
    assert not any("heard by" in note for note in collect([cards], tmp_path / "2", NodeConfig(), 2).notes)
    assert any("node 2: heard by nodes 0, 1" in note for note in collect([cards], tmp_path / "1", NodeConfig(), 1).notes)


def continued(life: list[dict], at: float, piece: int) -> list[dict]:
    """The last piece of records that were rotated at `at`: it begins with what still stands."""
    return [record(at, life[0]["node"], "continued", piece=piece, carried=3), *life[:3], *(r for r in life if r["t"] >= at)]


@pytest.mark.parametrize(("piece", "there"), [(2, []), (5, []), (3, [1]), (9_000_000_000_000_000, [1])])
def test_pieces_that_were_not_copied_are_missed_also_right_before_the_file_itself(tmp_path, piece, there):
    life = reports(a_life(0, 1))
    cards = write(tmp_path / "in", n0=continued(life, 30.0, piece), n1=reports(a_life(1, 0)))
    for number in there:
        write(tmp_path / "piece", n0=[r for r in life if r["t"] < 15.0])
        (tmp_path / "piece" / "0.jsonl").rename(cards / f"0.jsonl.{number}")
    found = collect([cards], tmp_path / "run", NodeConfig()).notes
    assert f"node 0: 0.jsonl.{piece - 1} missing among the pieces of its records; what it did then is unknown" in found
    assert any(note.startswith(f"node 0: no records from {'14.5' if there else '0.1'} to 30.0 s") for note in found)


@pytest.mark.parametrize(("kept", "told"), [
    (lambda t: t < 0.2 or t >= 30.0, "0.1 to 30.0"), (lambda t: t < 30.0 or t > 74.9, "29.5 to 75.0"), (lambda t: not 20.0 < t < 40.0, "20.0 to 40.0")])
def test_records_that_are_missing_behind_the_start_or_before_the_end_of_a_life_are_missed(tmp_path, kept, told):
    life = [r for r in reports(a_life(0, 1)) if kept(r["t"])]
    assert notes(tmp_path, n0=life, n1=reports(a_life(1, 0))) == [
        f"node 0: no records from {told} s: it stood still, or records are missing, and what it did then is unknown"]


@pytest.mark.parametrize(("jump", "until", "told"), [(100.0, 30, True), (2.5, 30, True), (-100.0, 30, False), (1.0, 30, False), (100.0, 60, False)])
def test_a_wall_clock_that_jumps_ahead_when_nobody_is_heard_any_more_may_mean_sleep(tmp_path, jump, until, told):
    life = [r for r in reports(a_life(0, 1)) if r["kind"] != "delivered" or r["t"] <= until]
    looks = [record(t, 0, "clock", wall=1_700_000_000.0 + t + (jump if t > 40 else 0.0)) for t in (20.0, 40.0, 50.0)]
    found = notes(tmp_path, n0=sorted([*life, *looks], key=lambda r: r["t"]), n1=reports(a_life(1, 0)))
    assert found == [f"node 0: its wall clock jumped ahead by {jump} s before 50.0 s, and it heard nobody after that: the clock was set, or the "
                     "host slept; if it slept, all that it recorded later lies that much too early here"] * told
